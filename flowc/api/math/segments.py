"""Sums and means of rows by segment, in any order of segments or of chosen rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowc.api.arrays.filling import ones
from flowc.api.arrays.shaping import concat, reshape, shape
from flowc.api.framework.raw_ops import named
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise
from flowc.api.math.reductions import unsorted_segment_sum
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


def unsorted_segment_mean(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The mean of the elements of each of `num_segments` segments; 0 for those without any."""
    with name_scope(name, "UnsortedSegmentMean"):
        values, counts = _with_counts(data, segment_ids, num_segments)
        return unsorted_segment_sum(values, segment_ids, num_segments) / counts


def unsorted_segment_sqrt_n(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The sum of the elements of each segment divided by the root of their number."""
    with name_scope(name, "UnsortedSegmentSqrtN"):
        values, counts = _with_counts(data, segment_ids, num_segments)
        return unsorted_segment_sum(values, segment_ids, num_segments) / elementwise.sqrt(counts)


def _with_counts(data: Any, segment_ids: Any, num_segments: Any) -> tuple[Tensor, Tensor]:
    """The data, and the number of elements of each segment, at least 1, to divide its sums by."""
    values, ids = as_tensor(data), as_tensor(segment_ids)
    rank = ids.shape.with_rank_at_least(0).ndims
    if rank is None or values.shape.ndims is None:
        raise ValueError("means of segments need data and segment_ids of known ranks")
    each = ones(shape(ids), values.dtype)
    counts = unsorted_segment_sum(each, ids, num_segments)
    trailing = concat([[-1], [1] * (values.shape.ndims - rank)], 0)
    return values, elementwise.maximum(reshape(counts, trailing), 1)


def _sparse(op_type: str, function_name: str, what: str) -> Callable[..., Tensor]:
    def function(
        data: Any,
        indices: Any,
        segment_ids: Any,
        name: str | None = None,
        num_segments: Any = None,
        sparse_gradient: bool = False,
    ) -> Tensor:
        if num_segments is None:
            return output(op_type, data, indices, segment_ids, name=name)
        with_number = f"{op_type}WithNumSegments"
        return output(with_number, data, indices, segment_ids, num_segments, name=name)

    doc = f"The {what} of the rows `indices` of `data` by segment; `segment_ids` are sorted."
    return named(function, function_name, doc)


sparse_segment_sum = _sparse("SparseSegmentSum", "sparse_segment_sum", "sum")
sparse_segment_mean = _sparse("SparseSegmentMean", "sparse_segment_mean", "mean")
sparse_segment_sqrt_n = _sparse(
    "SparseSegmentSqrtN", "sparse_segment_sqrt_n", "sum divided by the root of the number"
)
