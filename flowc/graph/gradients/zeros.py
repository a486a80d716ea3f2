"""Zeros that stand for gradients: of what nothing flows back into.

In: shapes, or tensors that have them. Out: tensors of zeros, as the nodes that TensorFlow makes.
"""

from __future__ import annotations

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.graph.building import control_nodes
from flowc.graph.building.contexts import CondContext
from flowc.graph.building.conversion import as_tensor, constant_array, constant_tensor
from flowc.graph.building.creation import output
from flowc.graph.control_types import SWITCH
from flowc.graph.default import get_default_graph
from flowc.graph.gradients.handles import gradient_dtype
from flowc.graph.gradients.operation import is_trainable
from flowc.graph.operation import Operation
from flowc.graph.shape import TensorShape
from flowc.graph.tensor import Tensor

SMALL = 1000  # elements that are written out as a constant


def constant_zeros(shape: TensorShape, dtype: DType, name: str = "Const") -> Tensor:
    """One constant of a known shape."""
    return constant_tensor(constant_array(0, dtype, shape), name, dtype)


def zeros(shape: TensorShape | Tensor, dtype: DType) -> Tensor:
    """Zeros of a known shape, or of the sizes in a vector."""
    if isinstance(shape, TensorShape) and (shape.num_elements() or 0) < SMALL:
        return constant_zeros(shape, dtype, "zeros")
    with get_default_graph().name_scope("zeros") as scope:
        if isinstance(shape, TensorShape):
            shape = as_tensor(shape)
        zero = constant_tensor(np.zeros((), dtype.numpy), "Const", dtype)
        return output("Fill", shape, zero, name=scope)


def sizes_of(tensor: Tensor) -> Tensor:
    """The sizes of a tensor, or of the variable behind a handle, when it is run."""
    if tensor.base_dtype is dtypes.resource:
        return output("VariableShape", tensor)
    return output("Shape", tensor, name="Shape")


def zeros_of(tensor: Tensor) -> Tensor | None:
    """Zeros for an output through which gradients flow, else None."""
    if not is_trainable(tensor) or tensor.base_dtype is dtypes.variant:
        return None
    context = tensor.op.control_flow_context
    if tensor.op.type in SWITCH and isinstance(context, CondContext):
        return _zeros_of_branch(tensor.op, context)
    if tensor.base_dtype is dtypes.resource:
        return zeros(sizes_of(tensor), gradient_dtype(tensor))
    return output("ZerosLike", tensor, name="zeros_like")


def zeros_of_value(tensor: Tensor) -> Tensor | None:
    """`zeros_of` an input or output of a function, which may be a list: then a list of zeros."""
    if tensor.base_dtype is dtypes.variant and _may_be_list(tensor):
        return output("ZerosLike", tensor, name="zeros_like")
    return zeros_of(tensor)


def _may_be_list(tensor: Tensor) -> bool:
    """Whether a variant can be a list, whose elements gradients flow into."""
    while tensor.op.type in ("StatelessWhile", "While"):
        tensor = tensor.op.inputs[tensor.value_index]
    op_type = tensor.op.type
    return not ("Dataset" in op_type or op_type.startswith(("Iterator", "Optional")))


def _zeros_of_branch(op: Operation, context: CondContext) -> Tensor:
    """Zeros that are alive where the branch behind a Switch is not taken."""
    data = op.inputs[0]
    other = control_nodes.switch(data, context.pred)[1 - context.branch]
    pivot = control_nodes.identity(other)
    if data.base_dtype is dtypes.resource:
        with op.graph.control_dependencies([pivot]):
            return zeros(sizes_of(other), gradient_dtype(data))
    sizes = sizes_of(other)
    with op.graph.control_dependencies([pivot]):
        return zeros(sizes, gradient_dtype(data))
