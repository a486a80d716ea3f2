"""`tf.nn`: rows of tables, and sums of them.

In: tables (also in parts), numbers of rows. Out: the rows, or one row for each row of a sparse
matrix of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import ones_like
from flowc.api.arrays.filling import range as range_
from flowc.api.arrays.selection import dynamic_partition, dynamic_stitch, gather, unique, where
from flowc.api.arrays.shaping import concat, rank, reshape, size
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.basics import cast, identity
from flowc.api.framework.composites import SparseTensor
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise as m
from flowc.api.math.reductions import (
    reduce_sum,
    segment_sum,
    sparse_segment_mean,
    sparse_segment_sqrt_n,
    sparse_segment_sum,
)
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """The rows `ids` of a table, which may be a list of its parts or a partitioned variable.

    `partition_strategy`: row n is in part n modulo the number of parts (`mod`), or the parts follow
    one another (`div`). `max_norm`: rows of a larger norm are scaled down to it. Raises
    `ValueError` for no parts and other strategies.
    """
    parts = list(params) if _is_several(params) else [params]
    if not parts:
        raise ValueError("params must be specified")
    with name_scope(name, "embedding_lookup", [*parts, ids]) as scope:
        rows = as_tensor(ids, name="ids")
        if len(parts) == 1:
            found = gather(parts[0], rows, name=scope)
            return identity(found if max_norm is None else _clipped(found, rows, max_norm))
        flat = reshape(rows, [-1])
        part, local = _places(flat, parts, partition_strategy)
        part = cast(part, dtypes.i32)
        wanted = dynamic_partition(local, part, len(parts))
        places = dynamic_partition(range_(size(flat)), part, len(parts))
        found = [gather(p, w) for p, w in zip(parts, wanted, strict=True)]
        stitched = dynamic_stitch(places, found)
        row = as_tensor(parts[0]).shape[1:]
        row_sizes = row if row.is_fully_defined() else shape_of(parts[0])[1:]
        whole = reshape(stitched, concat([shape_of(rows), row_sizes], 0), name=scope)
        whole.set_shape(rows.shape.concatenate(row))
        return whole if max_norm is None else _clipped(whole, rows, max_norm)


def _is_several(params: Any) -> bool:
    return isinstance(params, list | tuple) or hasattr(params, "_get_variable_list")


def _places(flat: Tensor, parts: Sequence[Any], strategy: str) -> tuple[Tensor, Tensor]:
    """(the part that a row is in, its number there)"""
    count = len(parts)
    if strategy == "mod":
        return flat % count, flat // count
    if strategy != "div":
        raise ValueError(
            "Only 'div' and 'mod' are supported as partition strategies. Received "
            f"partition_strategy={strategy}"
        )
    total: Any = 0
    for part in parts:
        known = part.shape[0].value
        total = total + (cast(shape_of(part)[0], flat.dtype) if known is None else known)
    least, longer = total // count, total % count
    place = m.maximum(flat // (least + 1), (flat - longer) // least)
    local = where(m.less(place, longer), flat % (least + 1), (flat - longer) % least)
    return place, local


def _clipped(rows: Tensor, ids: Tensor, norm: float) -> Tensor:
    """Rows, scaled down where their Euclidean norm is larger than `norm`."""
    known = ids.shape.ndims, rows.shape.ndims
    first, last = known
    if first is None or last is None:
        axes: Any = range_(rank(ids), rank(rows))
    else:
        axes = list(range(first, last))
    squares = reduce_sum(rows * rows, axis=axes, keepdims=True)
    positive = m.greater(squares, 0)
    safe = where(positive, squares, ones_like(squares))
    length = where(positive, m.sqrt(safe), squares)
    return rows * norm / m.maximum(length, norm)


def embedding_lookup_sparse(
    params: Any,
    sp_ids: SparseTensor,
    sp_weights: SparseTensor | None,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
) -> Tensor:
    """For each row of `sp_ids`, the rows of the table that it names, combined: `sum`, `mean` (the
    default) or `sqrtn` (the sum divided by the norm of the weights).

    `sp_weights`: what each row of the table is multiplied with. Raises `TypeError` for ids or
    weights that are not sparse, `ValueError` for another combiner. [rows of `sp_ids`, ...] in the
    dtype of the table.
    """
    combiner = "mean" if combiner is None else combiner
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError(f"sp_ids must be SparseTensor, got {type(sp_ids)}")
    if not isinstance(sp_weights, SparseTensor | None):
        raise TypeError(f"sp_weights must be either None or SparseTensor, got {type(sp_weights)}")
    with name_scope(name, "embedding_lookup_sparse"):
        segments = cast(sp_ids.indices[:, 0], dtypes.i32)
        ids, places = unique(sp_ids.values)
        rows = embedding_lookup(params, ids, partition_strategy, max_norm=max_norm)
        if sp_weights is None:
            function = {"sum": sparse_segment_sum, "mean": sparse_segment_mean}
            return function.get(combiner, sparse_segment_sqrt_n)(rows, places, segments)
        weights = cast(sp_weights.values, rows.dtype)
        deep = (rows.shape.ndims or 2) - 1
        weights = reshape(weights, concat([shape_of(weights), [1] * deep], 0))
        total = segment_sum(gather(rows, places) * weights, segments)
        if combiner == "sum":
            return total
        if combiner == "mean":
            return m.div(total, segment_sum(weights, segments))
        return m.div(total, m.sqrt(segment_sum(weights * weights, segments)))
