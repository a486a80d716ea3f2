"""Reductions of ragged tensors.

In: a `RaggedTensor` and an axis. Out: a tensor, or a `RaggedTensor` where ragged axes stay.
Invariant: rows that are too short, or empty, add nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import ones_like, zeros
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
    """The reduction named `fold`, which `whole` computes of tensors, along axes or all of them.
    Raises `ValueError` for an axis out of range."""
    with name_scope(None, f"RaggedReduce{fold}", [ragged.flat_values]):
        if axis is None:
            return whole(ragged.flat_values, None, keep)
        axes = list(axis) if isinstance(axis, list | tuple) else [axis]
        rank = ragged.shape.ndims
        for n in axes:
            if not isinstance(n, int) or rank is None or not -rank <= n < rank:
                raise ValueError(f"axis={n} out of bounds: expected -{rank}<=axis<{rank}")
        inner_first = sorted({n % rank for n in axes}, reverse=True)
        if fold == "Mean" and len(inner_first) > 1:
            ones = ragged.with_flat_values(ones_like(ragged.flat_values))
            sums = (_along_all(x, "Sum", inner_first, keep) for x in (ragged, ones))
            return elementwise.truediv(*sums)
        return _along_all(ragged, fold, inner_first, keep, whole)


def _along_all(
    ragged: Any, fold: str, axes: Sequence[int], keep: bool, whole: Any = reductions.reduce_sum
) -> Any:
    for axis in axes:
        if isinstance(ragged, Tensor):
            ragged = whole(ragged, axis, keep)
        else:
            ragged = _along(ragged, fold, whole, axis, keep)
    return ragged


def _along(ragged: Any, fold: str, whole: Callable[..., Tensor], axis: int, keep: bool) -> Any:
    if axis > ragged.ragged_rank:
        values = whole(ragged.flat_values, axis - ragged.ragged_rank, keep)
        return ragged.with_flat_values(values)
    if axis > 1:
        return ragged.with_values(_along(ragged.values, fold, whole, axis - 1, keep))
    rows, lengths = ragged.value_rowids(), ragged.row_lengths()
    if axis == 1:
        places, count = rows, ragged.nrows()
    else:
        count = reductions.reduce_max(concat([lengths, [0]], 0))
        places = range_of(shape(rows, out_type=rows.dtype)[0]) - gather(ragged.row_starts(), rows)
    found = _folded(ragged.values, fold, places, count)
    return expand_dims(found, axis) if keep else found


def _folded(values: Any, fold: str, places: Tensor, count: Tensor) -> Any:
    """What the values (or the rows) of each place come to, for `count` places."""
    if isinstance(values, Tensor):
        return _folded_values(values, fold, places, count)
    # The numbers of one position, in the rows of one place: a row is as long as its longest.
    lengths = values.row_lengths()
    longest = elementwise.maximum(reductions.unsorted_segment_max(lengths, places, count), 0)
    splits = concat([zeros([1], longest.dtype), reductions.cumsum(longest)], 0)
    rows = values.value_rowids()
    within = range_of(shape(rows, out_type=rows.dtype)[0]) - gather(values.row_starts(), rows)
    inner = gather(splits, gather(places, rows)) + within
    return type(values)(_folded(values.values, fold, inner, splits[-1]), splits)


def _folded_values(values: Tensor, fold: str, places: Tensor, count: Tensor) -> Tensor:
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
