"""Segments in order whose number only the run knows: it is counted first.

In: at extraction, the inputs of a segment op without a number of segments. Out: the same sums as of
segments in any order, of which there are as many as the last id says. Invariant: ids that do not
increase, or begin below 0, end the run, as they do where they are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.extraction import Extractor

Emit = Callable[[Extractor, Sequence[Value], Any], tuple[Value, ...]]


def _known(b: Builder, ids: Value) -> bool:
    content = b.content(ids)
    return content is not None and content.dtype.kind in "iu"


def _count(x: Extractor, ids: Value) -> Value:
    """The number of segments: one more than the last id, which is checked to be >= 0."""
    b, (n,) = x.b, ids.dims
    zero, one = (b.const(np.int64(k)) for k in (0, 1))
    behind_none = b.concat(
        b.const(np.full(1, -1, np.int64)), b.cast(ids, DstT=dtypes.i64), np.int32(0)
    )
    last = b.reshape(b.slice(behind_none, b.sizes((n,), dtypes.i64), np.ones(1, np.int64)), ())
    count = b.maximum(b.add(last, one), zero)
    some = b.minimum(b.scalar_size(n, dtypes.i64), one)
    b.check(b.greater_equal(count, some), message="segment ids must be >= 0")
    x.effect(b.nodes[-1])
    return count


def counted_segments(fold: str) -> Emit:
    """`on_data` of the segment op that folds rows so."""

    def emit(x: Extractor, inputs: Sequence[Value], attrs: Any) -> tuple[Value, ...]:
        b, (data, ids) = x.b, inputs
        if ids.type.rank != 1 or _known(b, ids):
            return (getattr(b, f"segment_{fold}")(data, ids),)
        count = _count(x, ids)
        ids = b.checked_places(ids, count, kind="segments")
        if fold in ("sum", "prod"):
            return (getattr(b, f"unsorted_segment_{fold}")(data, ids, count),)
        ones = b.broadcast_to(b.const(1, data.type.dtype), ids.dims)
        rows = b.unsorted_segment_sum(ones, ids, count)
        one_a_row = (*rows.dims, *(1,) * (data.type.rank - 1))
        rows = b.reshape(rows, one_a_row)
        if fold == "mean":
            total = b.unsorted_segment_sum(data, ids, count)
            return (b.div_no_nan(total, rows),)
        found = getattr(b, f"unsorted_segment_{fold}")(data, ids, count)
        zero = b.const(0, data.type.dtype)
        return (b.select_v2(b.equal(rows, zero), zero, found),)

    return emit


def counted_sparse_segments(fold: str) -> Emit:
    """The `on_data` of SparseSegmentSum and its like. `fold`: "sum", "mean" or "sqrt_n"."""

    def emit(x: Extractor, inputs: Sequence[Value], attrs: Any) -> tuple[Value, ...]:
        b, (data, indices, ids) = x.b, inputs
        name = f"sparse_segment_{fold}"
        if ids.type.rank != 1 or _known(b, ids):
            return (getattr(b, name)(data, indices, ids),)
        counted = getattr(b, f"{name}_with_num_segments")
        return (counted(data, indices, ids, _count(x, ids)),)

    return emit
