"""Accumulators of gradients: ConditionalAccumulator and SparseConditionalAccumulator.

In: gradients, each with the step that it was computed for. Out: their mean or sum, once there are
enough. Invariants: what is older than the accumulator's step is dropped; taking begins the next
step.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Value
from flowc.ir.extraction import Extractor
from flowc.ir.host_run import HostRun, scalar_of
from flowc.ir.inference import Inference
from flowc.ir.op import Attrs
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.queues.handles import (
    REFERENCE,
    RESOURCE,
    Handle,
    Shape,
    define_handle,
    define_step,
    find_state,
    infer_scalars,
    no_outputs,
    scalars,
)

Array = np.ndarray[Any, Any]


class Accumulator:
    """Dense gradients of one shape."""

    def __init__(self, handle: Handle) -> None:
        self.count = 0
        self._changed = threading.Condition()
        self._step = 0
        self._is_mean = handle.attrs["reduction_type"] == "MEAN"
        shape = handle.attrs["shape"]
        self._shape: Shape | None = None if shape is None else tuple(shape)
        self._total: Array | None = None

    def set_step(self, step: int) -> None:
        with self._changed:
            self._step = step

    def apply(self, step: int, *gradient: Array) -> None:
        """Adds a gradient, unless it is stale."""
        with self._changed:
            if step < self._step:
                return
            self._add(*gradient)
            self.count += 1
            self._changed.notify_all()

    def take(self, run: HostRun, required: int) -> list[Array]:
        """The gradients' mean or sum, once `required` have come; the next step begins."""
        if required <= 0:
            raise InvalidArgumentError(
                f"Argument num_required must be positive, but was {required}"
            )
        with self._changed:
            run.wait(self._changed, lambda: self.count >= required)
            found = self._taken()
            self.count = 0
            self._step += 1
            return found

    def _add(self, gradient: Array) -> None:
        held = None if self._total is None else self._total.shape
        for expected in (self._shape, held):
            if expected is not None and not _fits(expected, gradient.shape):
                raise InvalidArgumentError(
                    f"Shape mismatch: expected {shown_dims(expected)}, got "
                    f"{shown_dims(gradient.shape)}"
                )
        self._total = gradient if self._total is None else self._total + gradient

    def _taken(self) -> list[Array]:
        total, self._total = self._total, None
        assert total is not None
        return [_divided(total, self.count) if self._is_mean else np.asarray(total)]

    def close(self) -> None:
        with self._changed:
            self._total = None


class SparseAccumulator(Accumulator):
    """Slices of gradients by their indices; the mean is that of those that have the index. Indices
    that one gradient has twice stay two, as in TensorFlow: the first joins the first one held."""

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._slices: list[tuple[int, Array, int]] = []  # index, sum, and of how many
        self._slice_shape: tuple[int, ...] | None = None

    def _add(self, indices: Array, values: Array, shape: Array) -> None:
        self._check(indices, values, [int(d) for d in shape])
        self._slice_shape = values.shape[1:]
        given = [(index, value.copy(), 1) for index, value in zip(indices.tolist(), values)]
        self._slices = _merged(self._slices, given)

    def _check(self, indices: Array, values: Array, shape: Sequence[int]) -> None:
        if indices.ndim != 1:
            raise InvalidArgumentError(
                f"Input indices should be vector but received shape: {shown_dims(indices.shape)}"
            )
        if not values.ndim:
            raise InvalidArgumentError("Values cannot be 0-dimensional.")
        if len(indices) != len(values):
            raise InvalidArgumentError(
                f"Expected {len(indices)} non-empty input values, got {len(values)}"
            )
        expected = list(self._shape or ())
        if len(shape) and len(shape) < len(expected):
            raise InvalidArgumentError(
                f"Shape mismatch: expected shape rank at least {len(expected)}, got {len(shape)}"
            )
        for axis, (mine, given) in enumerate(zip(expected, shape)):
            if mine is not None and mine != given:
                raise InvalidArgumentError(
                    f"Shape mismatch: expected shape dim {axis} to be {mine}, got {given}"
                )
        rows = shape[0] if len(shape) else expected[0] if expected else None
        for k, index in enumerate(indices.tolist()):
            if index < 0 or (rows is not None and index >= rows):
                raise InvalidArgumentError(
                    f"Shape mismatch: index of slice {k} exceeded limits of shape; index is "
                    f"{index} exceeded {rows}"
                )
        inner = expected[1:] if self._slice_shape is None else self._slice_shape
        if values.ndim - 1 < len(inner) or (
            self._slice_shape is not None and values.ndim - 1 != len(inner)
        ):
            least = "at least " if self._slice_shape is None else ""
            raise InvalidArgumentError(
                f"Shape mismatch: expected values rank {least}{len(inner) + 1}, got {values.ndim}"
            )
        for axis, (mine, given) in enumerate(zip(inner, values.shape[1:]), 1):
            if mine is not None and mine != given:
                raise InvalidArgumentError(
                    f"Shape mismatch: expected values dim {axis} to be {mine}, got {given}"
                )

    def _taken(self) -> list[Array]:
        order = [index for index, _, _ in self._slices]
        slices = [x for _, x, _ in self._slices]
        if self._is_mean:
            slices = [_divided(x, count) for _, x, count in self._slices]
        inner = self._slice_shape or ()
        rows = self._shape[0] if self._shape else None
        self._slices, self._slice_shape = [], None
        sizes = np.array([-1 if rows is None else rows, *inner], np.int64)
        values = np.stack(slices) if slices else np.zeros((0, *inner))
        return [np.array(order, np.int64), values, sizes]


def _merged(
    held: list[tuple[int, Array, int]], given: list[tuple[int, Array, int]]
) -> list[tuple[int, Array, int]]:
    """Two lists of slices as one by their indices, whose equal ones are added pair by pair."""
    found: list[tuple[int, Array, int]] = []
    i = j = 0
    while i < len(held) and j < len(given):
        (mine, total, count), (index, value, _) = held[i], given[j]
        both = mine == index
        found.append((mine, total + value, count + 1) if both else min(held[i], given[j], key=_at))
        i, j = i + (mine <= index), j + (index <= mine)
    return found + held[i:] + given[j:]


def _at(a_slice: tuple[int, Array, int]) -> int:
    return a_slice[0]


def _divided(total: Array, count: int) -> Array:
    found = np.asarray(total / total.dtype.type(count))
    return found.astype(total.dtype)


def _fits(expected: Sequence[int | None], shape: Sequence[int]) -> bool:
    same = zip(expected, shape)
    return len(expected) == len(shape) and all(x is None or x == y for x, y in same)


_KINDS: dict[str, type[Accumulator]] = {
    "ConditionalAccumulator": Accumulator,
    "SparseConditionalAccumulator": SparseAccumulator,
}


def _accumulator(run: HostRun, text: bytes) -> Accumulator:
    return find_state(run, text, "accumulator", Accumulator, _KINDS)


# -- steps


def _apply(
    inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun, has_known_shape: bool = True
) -> list[Array]:
    text, step, *given = inputs
    gradient = [np.asarray(array) for array in given]
    if len(gradient) == 3:  # of slices: indices, values and the shape of all
        gradient[2] = gradient[2].reshape(-1)[: None if has_known_shape else 0]
    _accumulator(run, text).apply(int(scalar_of(step, "local_step")), *gradient)
    return []


def _take(inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun) -> list[Array]:
    found = _accumulator(run, inputs[0]).take(run, int(scalar_of(inputs[1], "num_required")))
    return [array.astype(dtype.numpy, copy=False) for array, dtype in zip(found, types)]


def _count(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    return [np.array(_accumulator(run, inputs[0]).count, np.int32)]


def _set_step(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    _accumulator(run, inputs[0]).set_step(int(scalar_of(inputs[1], "new_global_step")))
    return []


# -- records


def _dense(x: Extractor, handle: Handle, values: Sequence[Value], attrs: Attrs) -> Any:
    shape = handle.attrs["shape"]
    return [None if shape is None else tuple(shape)]


def _sparse(x: Extractor, handle: Handle, values: Sequence[Value], attrs: Attrs) -> Any:
    shape = handle.attrs["shape"]
    if shape is None or len(shape) < 2:  # the gradients' rank is at least that of the shape
        return [(None,), None, (None,)]
    return [(None,), (None, *shape[1:]), (len(shape),)]


def _infer_nothing(c: Inference) -> list[Dims]:
    return []


_DTYPES = (
    "dtype: {f32, f64, i32, u8, i16, i8, c64, i64, qi8, qu8, qi32, bf16, qi16, qu16, u16, c128,"
    " f16, u32, u64}"
)
_ATTRS = (
    f'; {_DTYPES}, shape: shape, container: string = "", shared_name: string = "",'
    ' reduction_type: {"MEAN", "SUM"} = "MEAN"'
)


def _forms(op_type: str) -> dict[str, str]:
    return {REFERENCE: op_type, RESOURCE: f"Resource{op_type}"}


define_handle(
    "conditional_accumulator",
    f"ConditionalAccumulator({_ATTRS})",
    forms=_forms("ConditionalAccumulator"),
)
define_handle(
    "sparse_conditional_accumulator",
    f"SparseConditionalAccumulator({_ATTRS})",
    forms={REFERENCE: "SparseConditionalAccumulator"},
)
define_step(
    "accumulator_apply_gradient",
    f"AccumulatorApplyGradient(handle: HANDLE, local_step: i64, gradient: dtype; {_DTYPES})",
    _apply,
    no_outputs,
    infer=_infer_nothing,
    forms=_forms("AccumulatorApplyGradient"),
)
define_step(
    "accumulator_take_gradient",
    f"AccumulatorTakeGradient(handle: HANDLE, num_required: i32; {_DTYPES}) -> average: dtype",
    _take,
    _dense,
    forms=_forms("AccumulatorTakeGradient"),
)
define_step(
    "accumulator_num_accumulated",
    "AccumulatorNumAccumulated(handle: HANDLE) -> num_accumulated: i32",
    _count,
    scalars(1),
    infer=infer_scalars(1),
    forms=_forms("AccumulatorNumAccumulated"),
)
define_step(
    "accumulator_set_global_step",
    "AccumulatorSetGlobalStep(handle: HANDLE, new_global_step: i64)",
    _set_step,
    no_outputs,
    infer=_infer_nothing,
    forms=_forms("AccumulatorSetGlobalStep"),
)
define_step(
    "sparse_accumulator_apply_gradient",
    "SparseAccumulatorApplyGradient(handle: HANDLE, local_step: i64, gradient_indices: i64,"
    f" gradient_values: dtype, gradient_shape: i64; {_DTYPES}, has_known_shape: bool)",
    _apply,
    no_outputs,
    ("has_known_shape",),
    infer=_infer_nothing,
    forms={REFERENCE: "SparseAccumulatorApplyGradient"},
)
define_step(
    "sparse_accumulator_take_gradient",
    f"SparseAccumulatorTakeGradient(handle: HANDLE, num_required: i32; {_DTYPES})"
    " -> (indices: i64, values: dtype, shape: i64)",
    _take,
    _sparse,
    forms={REFERENCE: "SparseAccumulatorTakeGradient"},
)
