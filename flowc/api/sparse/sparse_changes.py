"""`tf.sparse`: sparse tensors from others: reordered, reshaped, cut, joined, added, rows filled.

In: `SparseTensor`s. Out: others. Every function raises `TypeError` for what is no `SparseTensor`
where it takes one; a run raises `InvalidArgumentError` for places outside, and for sizes that do
not fit together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.selection import gather
from flowc.api.arrays.shaping import concat, expand_dims, stack
from flowc.api.framework.basics import cast, identity
from flowc.api.framework.composites import SparseTensor, SparseTensorValue
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope
from flowc.api.math.reductions import one_of
from flowc.api.sparse.sparse_ops import sparse_tensor_to_dense
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.shape_inference import constant_elements


def checked(value: Any) -> SparseTensor:
    if isinstance(value, SparseTensorValue):
        return SparseTensor(*value)
    if not isinstance(value, SparseTensor):
        raise TypeError(f"Input must be a SparseTensor. Received: {value!r}")
    return value


def sparse_reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The same elements in row-major order of their places. A sparse tensor of any dtype. Raises
    `TypeError` for what is not sparse."""
    given = checked(sp_input)
    found = call("SparseReorder", given.indices, given.values, given.dense_shape, name=name)
    return SparseTensor(found[0], found[1], identity(given.dense_shape))


def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """The same elements in their order in a tensor of other sizes, of which one may be -1. A sparse
    tensor of any dtype. Raises `TypeError` for what is not sparse, `ValueError` for sizes that are
    known not to fit; a run raises `InvalidArgumentError`."""
    given = checked(sp_input)
    sizes = cast(shape, dtypes.i64)
    before, after = constant_elements(given.dense_shape), constant_elements(sizes)
    if before is not None and after is not None and -1 not in after:
        held, wanted = math.prod(before.tolist()), math.prod(after.tolist())
        if held != wanted:
            raise ValueError(
                f"Cannot reshape a tensor with {held} elements to shape {after.tolist()} "
                f"({wanted} elements)."
            )
    with name_scope(name, "SparseReshape", [given.values]) as scope:
        found = call("SparseReshape", given.indices, given.dense_shape, sizes, name=scope)
        return SparseTensor(found.output_indices, identity(given.values), found.output_shape)


def sparse_slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """The elements from `start` on, in a tensor of `size` or less: int64[rank] each. Of any dtype.
    Raises `TypeError` for what is not sparse."""
    given = checked(sp_input)
    bounds = (as_tensor(start, dtypes.i64), as_tensor(size, dtypes.i64))
    with name_scope(name, "SparseSlice", [given.values]) as scope:
        parts = (given.indices, given.values, given.dense_shape)
        return SparseTensor(*call("SparseSlice", *parts, *bounds, name=scope))


def sparse_fill_empty_rows(
    sp_input: Any, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """The elements, and the default at column 0 of each row without any; and bool[rows], which rows
    these are. A sparse matrix of any dtype. Raises `TypeError` for a default of another dtype."""
    given = checked(sp_input)
    with name_scope(name, "SparseFillEmptyRows", [given.values]):
        default = as_tensor(default_value, given.values.dtype)
        parts = (given.indices, given.values, given.dense_shape)
        found = call("SparseFillEmptyRows", *parts, default)
        filled = SparseTensor(found.output_indices, found.output_values, given.dense_shape)
        return filled, found.empty_row_indicator


def sparse_concat(
    axis: int | None = None,
    sp_inputs: Sequence[Any] = (),
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: int | None = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Sparse tensors joined along an axis. Raises `ValueError` for `expand_nonconcat_dims`, which
    is not provided."""
    place = one_of(axis, "axis", concat_dim, "concat_dim")
    if expand_nonconcat_dim or expand_nonconcat_dims:
        raise ValueError("sparse_concat: expand_nonconcat_dims is not provided")
    given = [checked(item) for item in sp_inputs]
    if len(given) == 1:
        return given[0]
    found = call(
        "SparseConcat",
        [t.indices for t in given],
        [t.values for t in given],
        [t.dense_shape for t in given],
        concat_dim=place,
        name=name,
    )
    return SparseTensor(*found)


def sparse_split(
    keyword_required: Any = None,
    sp_input: Any = None,
    num_split: int | None = None,
    axis: Any = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:
    """A sparse tensor cut along an axis into parts as equal as can be. Raises `ValueError` for what
    is missing."""
    place = one_of(axis, "axis", split_dim, "split_dim")
    if sp_input is None or num_split is None or place is None:
        raise ValueError("sparse_split needs sp_input, num_split and axis, by keyword")
    given = checked(sp_input)
    parts = (given.indices, given.values, given.dense_shape)
    found = call(
        "SparseSplit", as_tensor(place, dtypes.i64), *parts, num_split=num_split, name=name
    )
    return [SparseTensor(*row) for row in zip(*found)]


def sparse_add(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """The sum of two tensors of which one at least is sparse: sparse if both are, without sums
    below the threshold in magnitude. Of one shape and numeric dtype. Raises `TypeError` where
    neither is sparse or the dtypes differ; a run raises `InvalidArgumentError` for other shapes."""
    least = one_of(threshold, "threshold", thresh, "thresh")
    if not any(isinstance(x, SparseTensor | SparseTensorValue) for x in (a, b)):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if isinstance(a, SparseTensor | SparseTensorValue):
        first = checked(a)
        if not isinstance(b, SparseTensor | SparseTensorValue):
            return call("SparseTensorDenseAdd", *_parts(first), b)
        real = first.values.dtype
        if real is not None and real.is_complex:
            real = real.real_dtype
        limit = as_tensor(0 if least is None else least, real)
        return SparseTensor(*call("SparseAdd", *_parts(first), *_parts(checked(b)), limit))
    return call("SparseTensorDenseAdd", *_parts(checked(b)), a)


def _parts(given: SparseTensor) -> tuple[Tensor, Tensor, Tensor]:
    return given.indices, given.values, given.dense_shape


def _extremum(op_type: str, a: Any, b: Any, name: str | None) -> SparseTensor:
    one, other = checked(a), checked(b)
    found = call(op_type, *_parts(one), *_parts(other), name=name)
    return SparseTensor(found[0], found[1], one.dense_shape)


def sparse_maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The greater one at each place; what is not kept is 0. Two sparse tensors of one shape and one
    real dtype. Raises `TypeError` for others; a run raises `InvalidArgumentError` for other shapes.
    """
    return _extremum("SparseSparseMaximum", sp_a, sp_b, name)


def sparse_minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The lesser one at each place; what is not kept is 0. Two sparse tensors of one shape and one
    real dtype. Raises `TypeError` for others; a run raises `InvalidArgumentError` for other shapes.
    """
    return _extremum("SparseSparseMinimum", sp_a, sp_b, name)


def sparse_transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """The axes in the order of `perm`, reversed if None. Of any dtype. `perm` is a
    permutation, which nobody checks. Raises `TypeError` for what is not sparse."""
    with name_scope(name, "SparseTranspose"):
        given = checked(sp_input)
        if perm is None:
            rank = given.dense_shape.shape.with_rank(1)[0].value
            if rank is None:
                raise ValueError("sparse_transpose needs perm for a tensor of unknown rank")
            perm = list(range(rank))[::-1]
        indices, sizes = gather(given.indices, perm, axis=1), gather(given.dense_shape, perm)
        return sparse_reorder(SparseTensor(indices, given.values, sizes))


def sparse_expand_dims(sp_input: Any, axis: int | None = None, name: str | None = None) -> Any:
    """With a dimension of size 1 at `axis`, -1 if None. Of any dtype. Raises `ValueError` for an
    axis out of range."""
    given = checked(sp_input)
    rank = given.dense_shape.shape.with_rank(1)[0].value
    if rank is None:
        raise ValueError("sparse_expand_dims needs a tensor of known rank")
    place = -1 if axis is None else axis
    if not -rank - 1 <= place <= rank:
        raise ValueError(f"axis {place} is not in [{-rank - 1}, {rank}]")
    place = place + rank + 1 if place < 0 else place
    with name_scope(name, "SparseExpandDims"):
        one = as_tensor(np.ones(1, np.int64))
        sizes = concat([given.dense_shape[:place], one, given.dense_shape[place:]], 0)
        return sparse_reshape(given, sizes)


def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """The same elements in a tensor of `new_shape`, which holds the old one. Raises `ValueError`
    without it."""
    given = checked(sp_input)
    if new_shape is None:
        from flowc.api.math.elementwise import maximum
        from flowc.api.math.reductions import reduce_max

        most = reduce_max(given.indices, axis=0) + 1
        return SparseTensor(given.indices, given.values, maximum(most, cast(0, dtypes.i64)))
    sizes = cast(as_tensor(new_shape), dtypes.i64)
    return SparseTensor(given.indices, given.values, sizes)


def sparse_to_indicator(sp_input: Any, vocab_size: int, name: str | None = None) -> Tensor:
    """bool[..., vocab_size]: which numbers the last axis of a sparse tensor of integers has; floats
    are cut off. Raises `TypeError` for what is not sparse."""
    given = checked(sp_input)
    with name_scope(name, "SparseToIndicator", [given.values]):
        ones = given.with_values(cast(given.values * 0 + 1, dtypes.bool_))
        merged = sparse_merge(given, ones, vocab_size)
        return sparse_tensor_to_dense(merged, default_value=False, validate_indices=False)


def sparse_merge(
    sp_ids: Any,
    sp_values: Any,
    vocab_size: Any,
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """The values of one sparse tensor at the places that others of the same form name: the last
    axis becomes that of the ids, of size `vocab_size`; of several ids as many axes. The ids
    are integers; floats are cut off. Raises `TypeError` for what is not sparse, `ValueError` for
    lists of different lengths."""
    several = isinstance(sp_ids, list | tuple) and not isinstance(sp_ids, SparseTensorValue)
    ids = [checked(item) for item in (sp_ids if several else [sp_ids])]
    sizes = list(vocab_size) if several else [vocab_size]
    values = checked(sp_values)
    if len(ids) != len(sizes):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    with name_scope(name, "SparseMerge", [values.values]):
        columns = []
        for item in ids:
            column = item.values
            if column.dtype is not dtypes.i64:
                column = cast(column, dtypes.i64)
            columns.append(expand_dims(column, 1))
        ends = [cast(size, dtypes.i64) for size in sizes]
        indices = concat([ids[0].indices[:, :-1], *columns], 1)
        shape = concat([values.dense_shape[:-1], stack(ends)], 0)
        found = SparseTensor(indices, values.values, shape)
        if already_sorted:
            return found
        ordered = sparse_reorder(found)
        return SparseTensor(ordered.indices, ordered.values, shape)
