"""Reductions of ragged tensors.

In: a `RaggedTensor` and an axis. Out: a tensor, or a `RaggedTensor` where ragged axes stay.
Invariant: rows that are too short, or empty, add nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import ones_like
from flowc.api.arrays.filling import range as range_of
from flowc.api.arrays.selection import gather
from flowc.api.arrays.shaping import concat, expand_dims, shape
from flowc.api.framework.basics import cast
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise, reductions
from flowc.graph import Tensor

_SEGMENTS: dict[str, Callable[..., Tensor]] = {
    "Sum": reductions.unsorted_segment_sum,
    "Prod": reductions.unsorted_segment_prod,
    "Max": reductions.unsorted_segment_max,
    "Min": reductions.unsorted_segment_min,
}
_OF_TRUTH = {"All": "Min", "Any": "Max"}


def reduce_rows(ragged: Any, fold: str, whole: Callable[..., Tensor], axis: Any, keep: bool) -> Any:
    """The reduction named `fold`, which `whole` computes of tensors, along one axis or all. Raises
    `ValueError` for several axes, for one out of range, and for the outer ones of rows of rows."""
    with name_scope(None, f"RaggedReduce{fold}", [ragged.flat_values]):
        if axis is None:
            return whole(ragged.flat_values, None, keep)
        if isinstance(axis, list | tuple) and len(axis) == 1:
            (axis,) = axis
        rank = ragged.shape.ndims
        if not isinstance(axis, int) or rank is None or not -rank <= axis < rank:
            raise ValueError(
                f"axis {axis} of a RaggedTensor of rank {rank}: expected one axis in "
                f"[-{rank}, {rank})"
            )
        return _along(ragged, fold, whole, axis % rank, keep)


def _along(ragged: Any, fold: str, whole: Callable[..., Tensor], axis: int, keep: bool) -> Any:
    if axis > ragged.ragged_rank:
        values = whole(ragged.flat_values, axis - ragged.ragged_rank, keep)
        return ragged.with_flat_values(values)
    if ragged.ragged_rank > 1 and axis > 1:
        return ragged.with_values(_along(ragged.values, fold, whole, axis - 1, keep))
    if ragged.ragged_rank > 1:
        raise ValueError(
            f"axis {axis} of a RaggedTensor of {ragged.ragged_rank} ragged axes is not provided: "
            f"expected one of {list(range(2, ragged.ragged_rank + 1))}, or None"
        )
    rows, lengths = ragged.value_rowids(), ragged.row_lengths()
    if axis == 1:
        places, count = rows, ragged.nrows()
    else:
        count = reductions.reduce_max(concat([lengths, [0]], 0))
        places = range_of(shape(rows, out_type=rows.dtype)[0]) - gather(ragged.row_starts(), rows)
    found = _folded(ragged.values, fold, places, count)
    return expand_dims(found, axis) if keep else found


def _folded(values: Tensor, fold: str, places: Tensor, count: Tensor) -> Tensor:
    if fold in _OF_TRUTH:
        numbers = _SEGMENTS[_OF_TRUTH[fold]](cast(values, dtypes.i32), places, count)
        # Of no element, the least and the greatest number stand for what begins a fold.
        return numbers > 0
    if fold == "Mean":
        total, met = (reductions.unsorted_segment_sum(v, places, count) for v in (
            values, ones_like(values)))  # fmt: skip
        return elementwise.truediv(total, met)
    if fold not in _SEGMENTS:
        raise ValueError(f"reduce_{fold.lower()} of rows of different lengths is not provided")
    return _SEGMENTS[fold](values, places, count)
