"""`tf.ConditionalAccumulator`, `tf.SparseConditionalAccumulator`: gradients of several workers.

In: gradients, with the step that each was computed for. Out: their mean (or sum), when there are
enough. Invariant: a stale gradient changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.api.framework.basics import cast, constant
from flowc.api.framework.raw_ops import call
from flowc.dtypes import as_dtype
from flowc.graph import Operation, Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import create, output
from flowc.graph.indexed_slices import IndexedSlices


class ConditionalAccumulatorBase:
    """What both kinds have. `prefix`: of their op types. A run raises `InvalidArgumentError` for
    gradients of another shape."""

    _prefix = ""

    def __init__(self, dtype: Any, shape: Any, accumulator_ref: Tensor) -> None:
        self._dtype = as_dtype(dtype)
        self._shape = TensorShape(shape)
        self._accumulator_ref = accumulator_ref
        self._name = accumulator_ref.op.name.rpartition("/")[2]

    @property
    def accumulator_ref(self) -> Tensor:
        """The handle."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> Any:
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """How many gradients have come since one was taken: int32[]."""
        op_type = f"{self._prefix}AccumulatorNumAccumulated"
        return output(op_type, self._accumulator_ref, name=name or f"{self._name}_NumAccumulated")

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Operation:
        """Sets the step: gradients of earlier ones are dropped from now on."""
        step = cast(_plain(new_global_step), dtypes.i64)
        op_type = f"{self._prefix}AccumulatorSetGlobalStep"
        return create(op_type, [self._accumulator_ref, step], None, name)


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Dense gradients. `reduction_type`: "MEAN" or "SUM". Raises `ValueError` for another one."""

    _prefix = "Resource"

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        ref = output(
            "ResourceConditionalAccumulator",
            dtype=as_dtype(dtype),
            shape=TensorShape(shape),
            shared_name=shared_name or "",
            reduction_type=reduction_type,
            name=name,
        )
        super().__init__(dtype, shape, ref)

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """Adds a gradient; does nothing where its step is before the accumulator's. A run raises
        `InvalidArgumentError` for another shape."""
        gradient = as_tensor(grad, self._dtype)
        gradient.shape.assert_is_compatible_with(self._shape)
        step = cast(_plain(local_step), dtypes.i64)
        inputs = [self._accumulator_ref, step, gradient]
        return create("ResourceAccumulatorApplyGradient", inputs, None, name)

    def take_grad(self, num_required: Any, name: str | None = None) -> Tensor:
        """The mean or sum of the gradients; a run waits until `num_required` have come. Raises
        `InvalidArgumentError` for fewer than one."""
        found = call(
            "ResourceAccumulatorTakeGradient",
            self._accumulator_ref,
            num_required,
            dtype=self._dtype,
            name=name,
        )
        found.set_shape(self._shape)
        return found


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Gradients of which only some rows are given. The mean of a row is that of the gradients that
    have it. A run raises `InvalidArgumentError` for gradients of another shape or with indices out
    of range."""

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        ref = output(
            "SparseConditionalAccumulator",
            dtype=as_dtype(dtype),
            shape=TensorShape(shape),
            shared_name=shared_name or "",
            reduction_type=reduction_type,
            name=name,
        )
        super().__init__(dtype, shape, ref)

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: Any = 0, name: str | None = None
    ) -> Operation:
        """Adds a gradient of IndexedSlices, as `apply_grad`."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: Any,
        grad_values: Any,
        grad_shape: Any = None,
        local_step: Any = 0,
        name: str | None = None,
    ) -> Operation:
        """Adds a gradient: `grad_values[n, ...]` at `grad_indices[n]` of a tensor of `grad_shape`.
        Does nothing where its step is before the accumulator's. A run raises `InvalidArgumentError`
        for other shapes."""
        step = cast(_plain(local_step), dtypes.i64)
        is_known = grad_shape is not None
        inputs = [
            self._accumulator_ref,
            step,
            cast(grad_indices, dtypes.i64),
            grad_values,
            cast(grad_shape if is_known else [], dtypes.i64),
        ]
        attrs = {"has_known_shape": is_known, "dtype": self._dtype}
        return create("SparseAccumulatorApplyGradient", inputs, attrs, name)

    def take_grad(self, num_required: Any, name: str | None = None) -> Any:
        """(indices, values, shape) of the mean or sum of the gradients; a run waits until
        `num_required` have come."""
        return call(
            "SparseAccumulatorTakeGradient",
            self._accumulator_ref,
            num_required,
            dtype=self._dtype,
            name=name,
        )

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """As `take_grad`, as IndexedSlices."""
        found: Sequence[Tensor] = self.take_grad(num_required, name)
        indices, values, sizes = found
        return IndexedSlices(values, indices, sizes)


def _plain(step: Any) -> Any:
    """A Python number as a constant of its own, a variable as what is read of it, as TensorFlow
    makes them."""
    return constant(step) if isinstance(step, int) else as_tensor(step)
