"""Gradients of a Graph's operations, as new operations under TensorFlow's names.

In: an operation, and the gradients of its outputs. Out: the gradients of its inputs, made by the
gradient of the op's record in a name scope `<operation>_grad`. Invariant: every operation made is
of a type that TensorFlow registers; where a size is unknown, ops on shapes compute it in the run.

`op_gradient` is one step. The walk that gradients of whole graphs need goes back from the ys over
the operations that xs reach, in an order in which an operation comes after all its consumers; sums
(`AddN`) what the consumers give an output; asks for `op_gradient`, or follows a loop, a branch or a
function back; and keeps a gather's gradient as rows and their indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import UnimplementedError
from flowc.graph.building.conversion import constant_array, constant_tensor
from flowc.graph.building.creation import create
from flowc.graph.op_info import node_attrs, with_defaults
from flowc.graph.operation import Operation
from flowc.graph.shape_inference import constant_elements
from flowc.graph.tensor import Tensor
from flowc.ir.dims import Dim
from flowc.ir.op import Attrs, Op, input_spans
from flowc.ops import tf_op
from flowc.ops.gradients import Dims, GradientBuilder, input_gradients

# What TensorFlow's Python functions call the operations that they make.
NAMES = {
    "ConcatV2": "concat",
    "OnesLike": "ones_like",
    "Pack": "stack",
    "Range": "range",
    "Transpose": "transpose",
    "Unpack": "unstack",
    "ZerosLike": "zeros_like",
}


class GraphGradients(GradientBuilder):
    """Gradients as operations of the default graph."""

    def apply(self, op: Op, inputs: Sequence[Any], attrs: Attrs) -> Any:
        if op.is_internal:
            raise UnimplementedError(
                f"the gradient takes {op.tf_name}, which TensorFlow has no op for"
            )
        spans = zip(op.signature.inputs, input_spans(op, len(inputs), attrs))
        grouped = [
            list(inputs[start:stop]) if arg.is_list or arg.number_attr else inputs[start]
            for arg, (start, stop) in spans
        ]
        outputs = create(op.tf_name, grouped, attrs, NAMES.get(op.tf_name)).outputs
        return outputs[0] if len(outputs) == 1 else outputs

    def const(self, value: Any, dtype: DType | None = None) -> Tensor:
        return constant_tensor(constant_array(value, dtype), "Const")

    def sizes(self, dims: Sequence[Dim], dtype: DType = dtypes.i32) -> Tensor:
        return self.const(np.array(dims, dtype.numpy))

    def dims_of(self, x: Tensor) -> Dims:
        return x.shape.sizes

    def elements_of(self, x: Tensor) -> np.ndarray | None:
        return constant_elements(x)


class _ForwardOperation:
    """An operation as gradients of records see it."""

    def __init__(self, operation: Operation, op: Op) -> None:
        self.op = op
        self.name = operation.name
        self.inputs = operation.inputs
        self.outputs = operation.outputs
        self.attrs: Attrs = with_defaults(op, node_attrs(op, operation.attrs, {}))

    @property
    def output(self) -> Tensor:
        (output,) = self.outputs
        return output


def op_gradient(operation: Operation, *grad_ys: Tensor | None) -> list[Tensor | None]:
    """The gradient of each input of an operation, None where nothing flows back.

    `grad_ys`: the gradient of each output; None counts as zeros. Raises `LookupError` for an op
    that has no gradient, `UnimplementedError` for a case that its gradient does not cover.
    """
    record = tf_op(operation.type)
    if record is None or record.gradient is None:
        raise LookupError(
            f"No gradient defined for operation '{operation.name}' (op type: {operation.type})"
        )
    graph = operation.graph
    with graph.as_default(), graph.name_scope(f"{operation.name}_grad"):
        b = GraphGradients()
        given = zip(operation.outputs, grad_ys, strict=True)
        dys = [_zeros(b, y) if dy is None else dy for y, dy in given]
        return input_gradients(b, _ForwardOperation(operation, record), *dys)


def _zeros(b: GraphGradients, y: Tensor) -> Tensor | None:
    """Zeros for an output through which gradients flow."""
    dtype = y.dtype
    return (
        b.zeros_like(y) if dtype is not None and (dtype.is_floating or dtype.is_complex) else None
    )
