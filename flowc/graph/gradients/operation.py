"""The gradient of one operation of a Graph, as new operations under TensorFlow's names.

In: an operation, and the gradients of its outputs. Out: the gradients of its inputs, made by the
gradient of the op's record in a name scope `<operation>_grad`. Invariant: every operation made is
of a type that TensorFlow registers; where a size is unknown, ops on shapes compute it in the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import UnimplementedError
from flowc.graph.building.conversion import as_tensor, constant_array, constant_tensor
from flowc.graph.building.creation import create, output
from flowc.graph.default import get_default_graph
from flowc.graph.gradients.handles import holder_of
from flowc.graph.gradients.rows import ROW_GRADIENTS
from flowc.graph.indexed_slices import IndexedSlices
from flowc.graph.op_info import node_attrs, with_defaults
from flowc.graph.operation import Operation
from flowc.graph.shape_inference import constant_elements
from flowc.graph.tensor import Tensor
from flowc.ir.dims import Dim
from flowc.ir.op import Attrs, Op, input_spans
from flowc.ops import tf_op
from flowc.ops.gradients import Dims, GradientBuilder, input_gradients, same_gradient

Gradient = Tensor | IndexedSlices
# What TensorFlow's Python functions and operators call the operations that they make.
NAMES = {
    "AddV2": "add",
    "ConcatV2": "concat",
    "FloorDiv": "floordiv",
    "Mul": "mul",
    "OnesLike": "ones_like",
    "Pack": "stack",
    "Range": "range",
    "RealDiv": "truediv",
    "Sub": "sub",
    "Transpose": "transpose",
    "Unpack": "unstack",
    "ZerosLike": "zeros_like",
}


class GraphGradients(GradientBuilder):
    """Gradients as operations of the default graph; `op_type`: of what."""

    def __init__(self, op_type: str) -> None:
        self._op_type = op_type

    def apply(self, op: Op, inputs: Sequence[Any], attrs: Attrs) -> Any:
        if op.tf_name == "Neg" and isinstance(inputs[0], IndexedSlices):
            rows = inputs[0]
            return IndexedSlices(output("Neg", rows.values), rows.indices, rows.dense_shape)
        if op.is_internal:
            raise UnimplementedError(
                f"the gradient takes {op.tf_name}, which TensorFlow has no op for"
            )
        spans = zip(op.signature.inputs, input_spans(op, len(inputs), attrs))
        grouped = [
            list(inputs[start:stop]) if arg.is_list or arg.number_attr else inputs[start]
            for arg, (start, stop) in spans
        ]
        name = NAMES.get(op.tf_name)
        if name in ("mul", "truediv") and self._op_type in (op.tf_name, "Square"):
            name = None
        outputs = create(op.tf_name, grouped, attrs, name, numbers_fit=True).outputs
        return outputs[0] if len(outputs) == 1 else outputs

    def const(self, value: Any, dtype: DType | None = None) -> Tensor:
        return constant_tensor(constant_array(value, dtype), "Const")

    def sizes(self, dims: Sequence[Dim], dtype: DType = dtypes.i32) -> Tensor:
        return constant_tensor(constant_array(np.array(dims, dtype.numpy)), "Shape")

    def dims_of(self, x: Tensor) -> Dims:
        if x.base_dtype is dtypes.resource:  # those of the variable behind a handle
            return holder_of(x).attrs.get("shape")
        return x.shape.sizes

    def elements_of(self, x: Tensor) -> np.ndarray | None:
        return constant_elements(x)

    def is_zero(self, x: Tensor) -> bool:
        if x.op.type == "Fill":
            x = x.op.inputs[1]
        return x.op.type == "ZerosLike" or super().is_zero(x)

    def after(self, dy: Gradient) -> AbstractContextManager[Any]:
        return get_default_graph().control_dependencies([dy.op])

    def sum_to_operands(
        self, x: Tensor, y: Tensor, dx: Gradient | None, dy: Gradient | None
    ) -> tuple[Gradient | None, Gradient | None]:
        have, other = x.shape.sizes, y.shape.sizes
        if have is not None and have == other and None not in have:
            return dx, dy
        sizes = [self.shape_of(x), self.shape_of(y)]
        axes = _axes_of_broadcasts(have, other)
        if axes is None:
            axes = self.broadcast_gradient_args(*sizes)
        found = [
            None if g is None else self._folded(g, *how)
            for g, how in zip((dx, dy), zip(sizes, axes))
        ]
        return found[0], found[1]

    def _folded(self, gradient: Gradient, sizes: Tensor, axes: Any) -> Gradient:
        """A gradient summed over `axes` and reshaped to `sizes`. `axes`: a list, a vector that the
        run computes, or None where the gradient has these sizes already."""
        if axes is None:
            return gradient
        if isinstance(axes, list):
            axes = np.array(axes, np.int32)
        return self.reshape(self.sum(gradient, axes, keep_dims=True), sizes)

    def sum_rows(self, rows: Tensor, indices: Tensor, x: Tensor) -> IndexedSlices:
        return IndexedSlices(rows, indices, self.shape_of(x))


def _axes_of_broadcasts(x: Dims, y: Dims) -> list[list[int] | None] | None:
    """The axes along which each of two shapes is broadcast to the other, or None for one that is
    not; None where only the run can say."""
    if x is None or y is None:
        return None
    rank = max(len(x), len(y))
    pairs = zip((1,) * (rank - len(x)) + x, (1,) * (rank - len(y)) + y)
    found: tuple[list[int], list[int]] = ([], [])
    for axis, (one, other) in enumerate(pairs):
        if one == 1 != other:
            found[0].append(axis)
        elif other == 1 != one:
            found[1].append(axis)
        elif one is None or other is None:
            return None
    return [axes if axes or len(dims) < rank else None for axes, dims in zip(found, (x, y))]


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


# Whose gradients pass what they are given on, sum it or negate it: rows stay rows.
_KEEP_ROWS = frozenset(
    {"AccumulateNV2", "Add", "AddN", "AddV2", "BiasAdd", "BiasAddV1", "IdentityN", "Neg", "Sub"}
)
# Whose gradients reshape what they are given: they make the whole tensor without a warning.
_RESHAPED = frozenset({"ExpandDims", "Gather", "GatherV2", "Reshape", "Squeeze"})
TRAINABLE = frozenset({dtypes.resource, dtypes.variant, *dtypes.FLOATS, *dtypes.COMPLEX})


def is_trainable(tensor: Tensor) -> bool:
    """Whether gradients flow through a tensor."""
    return tensor.base_dtype in TRAINABLE


def no_gradient_defined(operation: Operation) -> LookupError:
    return LookupError(
        f"No gradient defined for operation '{operation.name}' (op type: {operation.type})"
    )


def record_gradient(operation: Operation, *grad_ys: Gradient | None) -> list[Any]:
    """The gradient of each input of an operation, None where nothing flows back, in the scope that
    the default graph is in; `grad_ys`: of each output that gradients flow through. Raises
    `UnimplementedError` for a case that the record's gradient does not cover."""
    record = tf_op(operation.type)
    assert record is not None and record.gradient is not None
    forward = _ForwardOperation(operation, record)
    if operation.type in ROW_GRADIENTS and isinstance(grad_ys[0], IndexedSlices):
        return ROW_GRADIENTS[operation.type](operation, grad_ys[0])
    passes = record.gradient is same_gradient or operation.type in _KEEP_ROWS
    dys = grad_ys if passes else [_dense(operation, dy) for dy in grad_ys]
    return input_gradients(GraphGradients(operation.type), forward, *dys)


def _dense(operation: Operation, dy: Gradient | None) -> Tensor | None:
    if isinstance(dy, IndexedSlices):
        return dy.dense() if operation.type in _RESHAPED else as_tensor(dy)
    return dy
