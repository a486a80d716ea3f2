"""`x[a:b:c, ..., newaxis]` as a StridedSlice.

In: a tensor and what stands between the brackets. Out: the operation that TensorFlow makes of it.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.graph.building.conversion import as_tensor, constant_array, constant_tensor
from flowc.graph.building.creation import output, shape_tensor
from flowc.graph.default import name_scope
from flowc.graph.shape import Dimension
from flowc.graph.tensor import Tensor

_FAULT = (
    "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
    "tf.int32/tf.int64 tensors are valid indices"
)


MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


class _Spec:
    """The begin, end and stride of each entry, and the masks."""

    def __init__(self) -> None:
        self.begin: list[Any] = []
        self.end: list[Any] = []
        self.strides: list[Any] = []
        self.masks: dict[str, int] = dict.fromkeys(MASKS, 0)

    def add(self, begin: Any, end: Any, stride: Any, *masks: str) -> None:
        for mask in masks:
            self.masks[mask] |= 1 << len(self.begin)
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)


def subscript(tensor: Tensor, key: Any) -> Tensor:
    """`tensor[key]`. Raises `TypeError` for entries that are no index, `ValueError` (`ShapeError`)
    for indices outside the static shape."""
    if _is_mask(key):
        return boolean_mask(tensor, key)
    spec = _Spec()
    for entry in key if isinstance(key, list | tuple) else [key]:
        _add_entry(spec, entry)
    with name_scope(None, "strided_slice", [tensor]) as scope:
        if not spec.begin:
            empty = np.zeros(0, np.int32)
            parts = [as_tensor(empty, name="stack") for _ in builtins.range(3)]
        else:
            dtype = _index_dtype([*spec.begin, *spec.end, *spec.strides])
            columns = (spec.begin, spec.end, spec.strides)
            parts = [_stacked(column, dtype) for column in columns]
        return output("StridedSlice", tensor, *parts, name=scope, **spec.masks)


def _stacked(column: list[Any], dtype: DType | None) -> Tensor:
    if dtype is dtypes.i64 and any(isinstance(v, Tensor) for v in column):
        column = [
            output("Cast", v, DstT=dtype)
            if isinstance(v, Tensor) and v.base_dtype is not dtype
            else v
            for v in column
        ]
    return as_tensor(column, dtype, name="stack")


def _index_dtype(values: list[Any]) -> DType | None:
    """The dtype of begin, end and strides alike: i64 where an index is, else TensorFlow's own."""
    for value in values:
        if getattr(value, "dtype", None) in (dtypes.i64, np.dtype(np.int64)):
            return dtypes.i64 if isinstance(value, Tensor) else None
    return None


def _is_mask(key: Any) -> bool:
    if isinstance(key, bool):
        return True
    dtype = getattr(key, "dtype", None)
    return dtype is dtypes.bool_ or (isinstance(key, np.ndarray) and key.dtype == bool)


def _add_entry(spec: _Spec, entry: Any) -> None:
    if isinstance(entry, slice):
        bounds = [_number(v) for v in (entry.start, entry.stop, entry.step)]
        masks = [m for m, v in zip(("begin_mask", "end_mask"), bounds) if v is None]
        spec.add(*_completed(bounds), *masks)
    elif entry is Ellipsis:
        if spec.masks["ellipsis_mask"]:
            raise ValueError("Multiple ellipses in slice spec not allowed")
        spec.add(0, 0, 1, "ellipsis_mask")
    elif entry is None:
        spec.add(0, 0, 1, "new_axis_mask")
    else:
        index = _number(entry)
        spec.add(index, index + 1, 1, "shrink_axis_mask")


def _completed(bounds: list[Any]) -> list[Any]:
    """Begin, end and stride with what was left out; beside tensors, as constants of their dtype."""
    tensors = [v.base_dtype for v in bounds if isinstance(v, Tensor)]
    plain = [d if v is None else v for v, d in zip(bounds, (0, 0, 1))]
    if not tensors:
        return plain
    dtype = dtypes.i64 if dtypes.i64 in tensors else tensors[0]
    return [
        constant_tensor(constant_array(p, dtype), "Const") if v is None else p
        for v, p in zip(bounds, plain)
    ]


def _number(value: Any) -> Any:
    """A bound or index. Raises `TypeError` for what is none."""
    if isinstance(value, Dimension):
        return value.value
    if value is None or (isinstance(value, int | np.integer) and not isinstance(value, bool)):
        return value if value is None else int(value)
    if isinstance(value, Tensor):
        if value.dtype is not None and value.dtype.is_integer and value.shape.ndims in (None, 0):
            return value
    elif isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iu":
        return int(value)
    raise TypeError(f"{_FAULT}, got {value!r}")


def boolean_mask(
    tensor: Any, mask: Any, name: str = "boolean_mask", axis: int | None = None
) -> Tensor:
    """The elements (slices) of `tensor` at which `mask` is true.

    Raises `ValueError` for a mask of unknown or zero rank, or whose sizes do not fit."""
    with name_scope(name, "boolean_mask", [tensor, mask]):
        value, keep = as_tensor(tensor, name="tensor"), as_tensor(mask, name="mask")
        count = keep.shape.ndims
        if count == 0:
            raise ValueError("mask cannot be scalar.")
        if count is None:
            raise ValueError("Number of mask dimensions must be specified, even if some dimensions "
                             "are None. E.g. shape=[None] is ok, but not shape=None.")  # fmt: skip
        at = 0 if axis is None else axis
        value.shape[at : at + count].assert_is_compatible_with(keep.shape)
        leading = output("Prod", shape_tensor(value)[at : at + count], [0])
        rest = shape_tensor(value)[:at], shape_tensor(value)[at + count :]
        flat = output("ConcatV2", [rest[0], [leading], rest[1]], 0, name="concat")
        rows = output("Reshape", value, flat)
        chosen = output("Where", output("Reshape", keep, [-1]))
        chosen = output("Squeeze", chosen, squeeze_dims=[1])
        return output("GatherV2", rows, chosen, at)
