"""Ops called by name: by their reference, by their lowering, or to infer the types of a node."""

from __future__ import annotations

from typing import Any

import numpy as np
from node_evaluation import apply_op
from tensor_types import tensor_type

from flowc import dtypes
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.op import call_reference
from flowc.ops import op_named

CONV = {"strides": (1, 1, 1, 1), "padding": "VALID"}


def reference(name: str, *arrays: Any, **attrs: Any) -> list[np.ndarray]:
    """What the record's NumPy reference gives."""
    op = op_named(name)
    assert op.reference is not None
    inputs = [np.asarray(a) for a in arrays]
    return call_reference(
        op, op.reference, inputs, attrs, [dtypes.as_dtype(a.dtype) for a in inputs]
    )


def both(name: str, *arrays: Any, **attrs: Any) -> list[np.ndarray]:
    """The reference's outputs, once the lowering has given the same."""
    expected = reference(name, *arrays, **attrs)
    lowered = apply_op(op_named(name), [np.asarray(a) for a in arrays], attrs)
    for want, got in zip(expected, lowered, strict=True):
        assert want.dtype == got.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6)
    return expected


def axes(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def infer(name: str, *operands: Any, **attrs: Any) -> Node:
    """A node with parameters for dims such as "f32[batch,3]" and constants for arrays."""
    b = Builder(("layer/op",))
    values: list[Value] = []
    for i, operand in enumerate(operands):
        if isinstance(operand, np.ndarray):
            values.append(b.const(operand))
        else:
            dtype, dims = operand
            values.append(b.parameter(f"x{i}", tensor_type(dtype, dims)))
    return b.emit(op_named(name), values, attrs)
