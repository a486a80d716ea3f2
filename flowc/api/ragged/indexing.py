"""`rows[key]` of a `RaggedTensor`: the rows, and the values within them, that a key names.

In: rows of different lengths, and an index, a slice, `...`, `newaxis` or several of them, the first
of which are of the rows. Out: a Tensor where no axis of different lengths is left, else a
RaggedTensor. Invariant: positions count as in a list of Python: from the end where they are
negative, and slices end where the row ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc.api.arrays.filling import zeros
from flowc.api.arrays.selection import gather, where_v2
from flowc.api.arrays.shaping import concat, expand_dims, size
from flowc.api.framework.basics import cast
from flowc.api.framework.raw_ops import call
from flowc.api.math.elementwise import maximum, minimum
from flowc.api.ragged.ragged_tensor import RaggedTensor
from flowc.graph import Tensor

_ALL = slice(None)


def pick(rows: Any, keys: Sequence[Any]) -> Any:
    """What the keys name: the first is of the rows, the others of their axes in turn."""
    if not isinstance(rows, RaggedTensor):
        return rows[tuple(keys)] if keys else rows
    if not keys:
        return rows
    first, *inner = keys
    if first is Ellipsis:
        return pick(rows, _without_ellipsis(keys, rows.shape.ndims))
    if first is None:
        found = pick(rows, inner)
        if isinstance(found, Tensor):
            return expand_dims(found, 0)
        return RaggedTensor.from_uniform_row_length(found, found.nrows(), 1, validate=False)
    if isinstance(first, slice):
        return _pick_within(_some_rows(rows, first), inner)
    splits = rows.row_splits
    start, limit = splits[:-1][first], splits[1:][first]
    return pick(rows.values[start:limit], inner)


def _pick_within(rows: Any, keys: Sequence[Any]) -> Any:
    """What the keys name in each of the rows; all rows stay. Raises `ValueError` for one position
    of an axis of different lengths."""
    if not keys:
        return rows
    if not isinstance(rows, RaggedTensor):
        return rows[(_ALL, *keys)]
    first, *inner = keys
    if first is Ellipsis:
        return _pick_within(rows, _without_ellipsis(keys, rows.values.shape.ndims))
    if first is None:
        found = _pick_within(rows, inner)
        return RaggedTensor.from_uniform_row_length(found, 1, found.nrows(), validate=False)
    if not isinstance(first, slice):
        raise ValueError(
            "Cannot index into an inner ragged dimension: some rows may not have that position; a "
            "slice, such as rows[:, i:i + 1], takes what there is"
        )
    cut = rows if first == _ALL else _slice_of_each(rows, first)
    return cut.with_values(_pick_within(cut.values, inner))


def _without_ellipsis(keys: Sequence[Any], axes: int | None) -> list[Any]:
    """The keys, whose first is `...`, with one axis more named, or without it where all are."""
    if axes is None:
        raise ValueError("`...` of a ragged tensor of unknown rank: name all axes")
    named = sum(key is not None for key in keys) - 1
    if named > axes:
        raise IndexError(f"Too many indices for RaggedTensor: {named} for {axes} axes")
    return list(keys[1:]) if named == axes else [_ALL, *keys]


def _some_rows(rows: RaggedTensor, key: slice) -> RaggedTensor:
    if key == _ALL:
        return rows
    splits = rows.row_splits
    starts, limits = splits[:-1][key], splits[1:][key]
    if key.step is not None and not (isinstance(key.step, int) and key.step == 1):
        return _ranges(rows.values, starts, limits, 1)
    # Of rows side by side the values are, too; where no row is left, one split, 0, is.
    none = zeros([1], splits.dtype)[size(starts) :]
    ends = concat([none, starts[:1], limits], 0)
    return RaggedTensor(rows.values[ends[0] : ends[-1]], ends - ends[0])


def _slice_of_each(rows: RaggedTensor, key: slice) -> RaggedTensor:
    """The same slice of each row."""
    if any(isinstance(end, float | str | bytes | list) for end in (key.start, key.stop)):
        raise TypeError("slice offsets must be integers or None")
    starts, limits = rows.row_splits[:-1], rows.row_splits[1:]
    step = 1 if key.step is None else key.step
    low, high = _by_sign(step, starts, starts - 1), _by_sign(step, limits, limits - 1)

    def place(offset: Any) -> Any:
        by = cast(offset, starts.dtype)
        return _by_sign(offset, minimum(starts + by, high), maximum(limits + by, low))

    begin = _by_sign(step, starts, limits - 1) if key.start is None else place(key.start)
    end = _by_sign(step, limits, starts - 1) if key.stop is None else place(key.stop)
    return _ranges(rows.values, begin, end, step)


def _by_sign(number: Any, positive: Tensor, negative: Tensor) -> Any:
    """One of two: `positive` for 0, too."""
    if isinstance(number, int):
        return positive if number >= 0 else negative
    return where_v2(number >= 0, positive, negative)


def _ranges(values: Any, starts: Tensor, limits: Tensor, step: Any) -> RaggedTensor:
    """Rows of the values from each start to each limit."""
    dtype = starts.dtype
    splits, places = call("RaggedRange", starts, limits, cast(step, dtype), Tsplits=dtype)
    return RaggedTensor(_at(values, places), splits)


def _at(values: Any, places: Tensor) -> Any:
    if not isinstance(values, RaggedTensor):
        return gather(values, places)
    splits = values.row_splits
    return _ranges(values.values, gather(splits[:-1], places), gather(splits[1:], places), 1)
