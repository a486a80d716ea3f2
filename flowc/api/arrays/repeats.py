"""Elements repeated, and sequences compared."""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import range as range_of
from flowc.api.arrays.selection import gather
from flowc.api.arrays.shaping import broadcast_to, concat, expand_dims, reshape, shape, stack, tile
from flowc.api.framework.composites import SparseTensor, SparseTensorValue
from flowc.api.framework.scopes import name_scope
from flowc.api.math.reductions import cumsum
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Each element along `axis` as often as `repeats` says: one number for all, or one for each.
    None: the elements of the flat tensor. Of any dtype. Raises `ValueError` for shapes that do not
    fit."""
    with name_scope(name, "Repeat", [input, repeats]):
        tensor = as_tensor(input, name="data")
        if axis is None or tensor.shape.ndims == 0:
            tensor, axis = reshape(tensor, [-1]), 0
        rank = tensor.shape.with_rank_at_least(1).ndims
        if axis < 0 and rank is None:
            raise ValueError("repeat needs a tensor of known rank for a negative axis")
        place = axis + (rank or 0) if axis < 0 else axis
        counts = as_tensor(repeats, dtypes.i32, "repeats")
        if counts.shape.ndims == 0 and rank is not None:
            return _as_often(tensor, counts, place)
        each = broadcast_to(counts, expand_dims(shape(tensor)[place], 0))
        ends = cumsum(each)
        length = ends[-1:] if ends.shape.as_list() != [0] else as_tensor([0])
        places = range_of(reshape(length, []))
        rows = reshape(ends, [1, -1])
        found = output("UpperBound", rows, reshape(places, [1, -1]), out_type=dtypes.i32)
        return gather(tensor, reshape(found, [-1]), axis=place)


def _as_often(tensor: Tensor, count: Tensor, axis: int) -> Tensor:
    """Each element along `axis` of a tensor of known rank `count` times."""
    rank, sizes = len(tensor.shape), shape(tensor)
    each = stack([count if k == axis + 1 else 1 for k in range(rank + 1)])
    tiled = tile(expand_dims(tensor, axis + 1), each)
    return reshape(tiled, concat([sizes[:axis], [sizes[axis] * count], sizes[axis + 1 :]], 0))


def edit_distance(
    hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance"
) -> Tensor:
    """The least number of insertions, deletions and replacements that make each sequence of
    `hypothesis`, the last axis of a sparse tensor, that of `truth`; divided by the length of the
    latter with `normalize`. Raises `TypeError` for what is no sparse tensor."""
    for given, what in ((hypothesis, "Hypothesis"), (truth, "Truth")):
        if not isinstance(given, SparseTensor | SparseTensorValue):
            raise TypeError(f"{what} must be a SparseTensor.")
    parts = [part for t in (hypothesis, truth) for part in (t.indices, t.values, t.dense_shape)]
    return output("EditDistance", *parts, normalize=normalize, name=name)
