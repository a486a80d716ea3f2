"""`tf.nn`: rows of tables, and sums of them.

In: tables (also in parts), numbers of rows. Out: the rows, or one row for each row of a sparse
matrix of numbers. Invariant: the nodes are TensorFlow's, beside the table that they read.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import ones, ones_like, zeros_like
from flowc.api.arrays.filling import range as range_
from flowc.api.arrays.selection import dynamic_partition, gather, unique, where
from flowc.api.arrays.shaping import (
    concat,
    expand_dims,
    rank,
    reshape,
    size,
    slice_,
    stack,
    tile,
)
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.basics import cast, constant, identity
from flowc.api.framework.composites import SparseTensor
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise as m
from flowc.api.math.reductions import reduce_prod, reduce_sum, segment_sum
from flowc.api.sparse.sparse_changes import sparse_fill_empty_rows, sparse_reshape
from flowc.api.sparse.sparse_ops import sparse_retain
from flowc.api.training.clipping import clip_by_norm
from flowc.api.variables.resource_variables import ResourceVariable
from flowc.graph import Tensor, TensorShape, get_default_graph
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


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
    if params is None:
        raise ValueError("params must be specified")
    if hasattr(ids, "with_flat_values"):
        flat = ids.flat_values
        found = embedding_lookup(params, flat, partition_strategy, name, validate_indices, max_norm)
        return ids.with_flat_values(found)
    parts = _parts(params)
    if not parts:
        raise ValueError("Length of params is currently 0. Need at least one param.")
    with name_scope(name, "embedding_lookup", [*parts, ids]) as scope:
        if not any(isinstance(p, ResourceVariable) for p in parts):
            parts = [as_tensor(part, name=f"params_{i}") for i, part in enumerate(parts)]
        rows = as_tensor(ids, name="ids")
        if len(parts) == 1:
            with _beside(parts[0]):
                found = _clipped(gather(parts[0], rows, name=scope), rows, max_norm)
            return identity(found)
        return _of_parts(parts, rows, partition_strategy, max_norm, scope)


def _of_parts(
    parts: Sequence[Any], rows: Tensor, strategy: str, max_norm: float | None, scope: str
) -> Tensor:
    flat = reshape(rows, [-1])
    order = range_(size(flat))
    part, local = _places(flat, parts, strategy)
    part = cast(part, dtypes.i32)
    wanted = dynamic_partition(local, part, len(parts))
    places = dynamic_partition(order, part, len(parts))
    found = []
    for held, ids in zip(parts, wanted, strict=True):
        with _beside(held):
            found.append(gather(held, ids))
    stitched = output("ParallelDynamicStitch", places, found, name=scope)
    row = _shape(parts[0])[1:]
    for other in parts[1:]:
        row = row.merge_with(_shape(other)[1:])
    row_sizes: Any = row
    if not row.is_fully_defined():
        with _beside(parts[0]):
            sizes = shape_of(parts[0])
        row_sizes = sizes[1:]
    whole = reshape(stitched, concat([shape_of(rows), row_sizes], 0))
    whole.set_shape(rows.shape.concatenate(row))
    return _clipped(whole, rows, max_norm)


def _parts(params: Any) -> list[Any]:
    several = isinstance(params, list | tuple) or hasattr(params, "_get_variable_list")
    return list(params) if several else [params]


def _shape(part: Any) -> TensorShape:
    return part.shape


def _beside(part: Any) -> AbstractContextManager[None]:
    """Operations made inside stand where the table does."""
    return get_default_graph().colocate_with(
        part.handle if isinstance(part, ResourceVariable) else part
    )


def _places(flat: Tensor, parts: Sequence[Any], strategy: str) -> tuple[Tensor, Tensor]:
    """(the part that a row is in, its number there)"""
    count = len(parts)
    if strategy == "mod":
        return flat % count, flat // count
    if strategy != "div":
        raise ValueError(
            f"Unrecognized partition strategy: {strategy}. Must be one of either `mod` or `div`."
        )
    known: list[Any] = [_shape(part)[0].value for part in parts]
    if None not in known:
        total = constant(sum(known), flat.dtype)
    else:
        sizes: list[Any] = []
        for part, rows in zip(parts, known, strict=True):
            with _beside(part):
                sizes.append(shape_of(part)[0] if rows is None else rows)
        total = reduce_sum(cast(stack(sizes), flat.dtype))
    least, longer = total // count, total % count
    place = m.maximum(flat // (least + 1), (flat - longer) // least)
    local = where(m.less(place, longer), flat % (least + 1), (flat - longer) % least)
    return place, local


def _clipped(rows: Tensor, ids: Tensor, norm: float | None) -> Tensor:
    """Rows, scaled down where their Euclidean norm is larger than `norm`."""
    if norm is None:
        return rows
    known: tuple[Any, Any] = (
        ids.shape.ndims,
        rows.shape.ndims,
    )  # 0 is taken for unknown, as TensorFlow does
    axes: Any = list(range(*known)) if all(known) else None
    if axes is None:
        axes = range_(known[0] or rank(ids), known[1] or rank(rows))
    return clip_by_norm(rows, norm, axes=axes)


def embedding_lookup_sparse(
    params: Any,
    sp_ids: SparseTensor,
    sp_weights: SparseTensor | None,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """For each row of `sp_ids`, the rows of the table that it names, combined: `sum`, `mean` (the
    default) or `sqrtn` (the sum divided by the norm of the weights).

    `sp_weights`: what each row of the table is multiplied with. `allow_fast_lookup`: the gradient
    of a table in one part is dense. Raises `TypeError` for ids or weights that are not sparse,
    `ValueError` for another combiner. [rows of `sp_ids`, ...] in the dtype of the table.
    """
    combiner = "mean" if combiner is None else combiner
    if combiner not in _SUMS:
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    parts = _parts(params)
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError(f"sp_ids must be SparseTensor, got {type(sp_ids)}")
    if not isinstance(sp_weights, SparseTensor | None):
        raise TypeError(f"sp_weights must be either None or SparseTensor, got {type(sp_weights)}")
    with name_scope(name, "embedding_lookup_sparse", [*parts, sp_ids]) as scope:
        segments, ids = sp_ids.indices[:, 0], sp_ids.values
        whole = len(parts) == 1 and not isinstance(parts[0], ResourceVariable)
        if whole:
            parts = [as_tensor(parts[0], name="params")]
        fast = whole and max_norm is None and (allow_fast_lookup or sp_weights is None)
        if fast and parts[0].device == segments.device:
            rows, places, keeps_rows = as_tensor(parts[0]), ids, not allow_fast_lookup
        else:
            ids, places = unique(ids)
            rows = embedding_lookup(parts, ids, partition_strategy, max_norm=max_norm)
            keeps_rows = False
        if sp_weights is not None:
            return _weighted(rows, places, sp_weights.values, segments, combiner, scope)
        return output(
            _SUMS[combiner], rows, places, segments, sparse_gradient=keeps_rows, name=scope
        )


_SUMS = {"sum": "SparseSegmentSum", "mean": "SparseSegmentMean", "sqrtn": "SparseSegmentSqrtN"}


def _weighted(
    rows: Tensor, places: Tensor, weights: Tensor, segments: Tensor, combiner: str, scope: str
) -> Tensor:
    segments = cast(segments, dtypes.i32)
    chosen = gather(rows, places)
    kind = chosen.dtype
    if kind in (dtypes.f16, dtypes.bf16):
        chosen = cast(chosen, dtypes.f32)
    weights = cast(weights, chosen.dtype)
    deep, known = expand_dims(rank(chosen) - 1, 0), weights.shape
    sizes = shape_of(weights)
    weights = reshape(weights, concat([sizes, ones(deep, sizes.dtype)], 0))
    if chosen.shape.ndims is not None:
        weights.set_shape(known.concatenate([1] * (chosen.shape.ndims - 1)))
    chosen = chosen * weights
    if combiner == "sum":
        found = segment_sum(chosen, segments, name=scope)
    else:
        total = segment_sum(chosen, segments)
        weight = segment_sum(weights if combiner == "mean" else m.pow(weights, 2), segments)
        weight = weight if combiner == "mean" else m.sqrt(weight)
        found = m.div_no_nan(total, weight, name=scope)
    return cast(found, kind)


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: SparseTensor,
    sparse_weights: SparseTensor | None = None,
    combiner: str | None = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """`embedding_lookup_sparse` of the ids that are not negative and whose weight is more than 0
    (for `sum`: any weight). A row without such ids gets the row `default_id` of the table, or zeros
    where that is None.

    `sparse_ids` [..., n] of any rank, and `sparse_weights` of the same indices; the result is
    [..., columns of the table]. Raises `ValueError` for no table and another combiner, `TypeError`
    for what is not sparse.
    """
    parts = [] if embedding_weights is None else _parts(embedding_weights)
    if not parts:
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    for given in (sparse_ids, sparse_weights):
        if not isinstance(given, SparseTensor | None) or sparse_ids is None:
            raise TypeError(f"sparse_ids and sparse_weights must be SparseTensors, got {given}")
    kind = None if sparse_weights is None else sparse_weights.values.dtype
    parts = [
        p if isinstance(p, ResourceVariable) and kind in (None, p.dtype) else as_tensor(p, kind)
        for p in parts
    ]
    values = [*parts, sparse_ids, sparse_weights]
    with name_scope(name, "embedding_lookup", values) as scope:
        whole = sparse_ids.dense_shape
        dims = whole.shape[0].value
        last = (size(whole) if dims is None else dims) - 1
        flat = [reduce_prod(slice_(whole, [0], [last])), gather(whole, last)]
        ids, weights = _valid(sparse_reshape(sparse_ids, flat), sparse_weights, combiner != "sum")
        ids, is_empty = sparse_fill_empty_rows(ids, default_id or 0)
        if weights is not None:
            weights = sparse_fill_empty_rows(weights, 1.0)[0]
        found = embedding_lookup_sparse(
            parts,
            ids,
            weights,
            combiner=combiner,
            partition_strategy=partition_strategy,
            name=None if default_id is None else scope,
            max_norm=max_norm,
            allow_fast_lookup=allow_fast_lookup,
        )
        if default_id is None:
            empty = tile(reshape(is_empty, [-1, 1]), stack([1, shape_of(found)[1]]))
            found = where(empty, zeros_like(found), found, name=scope)
        outer = slice_(cast(whole, dtypes.i32), [0], [last])
        result = reshape(found, concat([outer, slice_(shape_of(found), [1], [-1])], 0))
        if dims is not None:
            result.set_shape(TensorShape([None] * (dims - 1)).concatenate(found.shape[1:]))
        return result


def _valid(
    ids: SparseTensor, weights: SparseTensor | None, positive: bool
) -> tuple[SparseTensor, SparseTensor | None]:
    """The ids that are not negative and, if asked for, have positive weights."""
    kept = m.greater_equal(ids.values, 0)
    if weights is None:
        return sparse_retain(ids, kept), None
    weights = SparseTensor(ids.indices, weights.values, ids.dense_shape)
    kept = m.logical_and(kept, ones_like(weights.values, dtypes.bool_))
    ids, weights = sparse_retain(ids, kept), sparse_retain(weights, kept)
    if positive:
        kept = m.greater(weights.values, 0)
        ids, weights = sparse_retain(ids, kept), sparse_retain(weights, kept)
    return ids, weights
