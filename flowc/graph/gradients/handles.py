"""What is behind the handle of a variable.

In: a handle, perhaps passed on by loops and branches. Out: the operation that says what it holds,
and the dtype of that. Invariant: nothing is added to the graph.
"""

from __future__ import annotations

from flowc import dtypes
from flowc.dtypes import DType
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor

HELD = "_held"  # attr of a function's argument: the dtype of the variable behind a handle


def gradient_dtype(tensor: Tensor) -> DType:
    """The dtype of a tensor's gradient: for a handle, that of the variable behind it."""
    if tensor.base_dtype is dtypes.resource:
        attrs = holder_of(tensor).attrs
        return attrs.get(HELD, attrs.get("dtype"))
    assert tensor.base_dtype is not None
    return tensor.base_dtype


def holder_of(handle: Tensor) -> Operation:
    """The operation that says what is behind a handle, which loops and branches pass on."""
    while True:
        op = handle.op
        if op.attrs.get(HELD, op.attrs.get("dtype")) not in (None, dtypes.resource):
            return op
        is_loop = op.type in ("StatelessWhile", "While")
        handle = op.inputs[handle.value_index if is_loop else 0]
