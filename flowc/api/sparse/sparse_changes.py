"""`tf.sparse`: sparse tensors from others: reordered, reshaped, cut, joined, added, rows filled.

In: `SparseTensor`s. Out: others. Every function raises `TypeError` for what is no `SparseTensor`
where it takes one; a run raises `InvalidArgumentError` for places outside, and for sizes that do
not fit together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import zeros_like
from flowc.api.arrays.selection import gather
from flowc.api.arrays.shaping import concat, expand_dims, stack
from flowc.api.framework.assertions import assert_less_equal
from flowc.api.framework.basics import cast, identity
from flowc.api.framework.composites import SparseTensor, SparseTensorValue
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import control_dependencies, name_scope
from flowc.api.math.elementwise import maximum
from flowc.api.math.reductions import one_of, reduce_max
from flowc.api.sparse.sparse_ops import checked, sparse_tensor_to_dense
from flowc.graph import Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor
from flowc.graph.shape_inference import constant_elements


def sparse_reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The same elements in row-major order of their places. A sparse tensor of any dtype. Raises
    `TypeError` for what is not sparse."""
    given = checked(sp_input)
    found = call("SparseReorder", given.indices, given.values, given.dense_shape, name=name)
    if given.shape.is_fully_defined():
        return SparseTensor(found[0], found[1], given.shape.as_list())
    ordered = SparseTensor(found[0], found[1], identity(given.dense_shape))
    ordered.set_shape(given.shape)
    return ordered


def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """The same elements in their order in a tensor of other sizes, of which one may be -1. A sparse
    tensor of any dtype. Raises `TypeError` for what is not sparse, `ValueError` for sizes that are
    known not to fit; a run raises `InvalidArgumentError`."""
    given = checked(sp_input)
    sizes = cast(shape, dtypes.i64)
    with name_scope(name, "SparseReshape", [given.values]) as scope:
        found = call("SparseReshape", given.indices, given.dense_shape, sizes, name=scope)
        after = constant_elements(sizes)
        static = None if after is None else _reshaped(given.shape, after.tolist())
        return SparseTensor(
            found.output_indices,
            identity(given.values),
            found.output_shape if static is None else as_tensor(static, dtypes.i64, "Const"),
        )


def _reshaped(before: TensorShape, after: list[int]) -> list[int] | None:
    """The sizes of a tensor of shape `before` in the form `after`, of which one may be -1; None
    where they are not known."""
    held = before.num_elements()
    if held is None:
        return None
    if after.count(-1) > 1:
        raise ValueError(f"At most one dimension can be inferred (-1). Found: {after}")
    wanted = math.prod(size for size in after if size != -1)
    if -1 in after:
        if not wanted:
            return None
        at = after.index(-1)
        after = [*after[:at], held // wanted, *after[at + 1 :]]
        wanted *= after[at]
    if held != wanted:
        raise ValueError(
            f"Cannot reshape a tensor with {held} elements to shape {after} ({wanted} elements)."
        )
    return after


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
    """Sparse tensors joined along an axis. Their other sizes are the same, or, if `expand` says so,
    become the greatest of them. Raises `ValueError` for two axes."""
    place: Any = one_of(axis, "axis", concat_dim, "concat_dim")
    expand = bool(expand_nonconcat_dim or expand_nonconcat_dims)
    given = [checked(item) for item in sp_inputs]
    if len(given) == 1:
        return given[0]
    sizes = [t.dense_shape for t in given]
    if expand:
        most = reduce_max(stack(sizes), 0)
        along = slice(place, None if place == -1 else place + 1)
        after = [] if place == -1 else [most[place + 1 :]]
        sizes = [concat([most[:place], own[along], *after], 0) for own in sizes]
    found = call(
        "SparseConcat",
        [t.indices for t in given],
        [t.values for t in given],
        sizes,
        concat_dim=place,
        name=name,
    )
    static = _joined([t.shape for t in given], place, expand)
    if static.is_fully_defined():
        return SparseTensor(found[0], found[1], as_tensor(static.as_list(), dtypes.i64, "Const"))
    joined = SparseTensor(*found)
    joined.set_shape(static)
    return joined


def _joined(shapes: Sequence[TensorShape], place: int, expand: bool) -> TensorShape:
    """What is known of the shape of sparse tensors that are joined."""
    if any(s.ndims != shapes[0].ndims for s in shapes) or not shapes[0].ndims:
        return TensorShape(None)
    if not -shapes[0].ndims <= place < shapes[0].ndims:
        return TensorShape(None)  # a run says it
    columns = [list(column) for column in zip(*(s.as_list() for s in shapes))]
    sizes = [None if None in c else max(c) if expand else c[0] for c in columns]
    along = columns[place]
    sizes[place] = None if None in along else sum(along)
    return TensorShape(sizes)


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
    neither is sparse or the dtypes differ, `ValueError` for shapes that are known to; a run raises
    `InvalidArgumentError` for other shapes."""
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
        second = checked(b)
        limit = as_tensor(0 if least is None else least, real, "threshold")
        found = call("SparseAdd", *_parts(first), *_parts(second), limit)
        static = first.shape.merge_with(second.shape)
        sizes = static.as_list() if static.is_fully_defined() else found[2]
        return SparseTensor(found[0], found[1], sizes)
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
    permutation, of which only the length is checked. Raises `TypeError` for what is not sparse,
    `ValueError` for another length."""
    with name_scope(name, "SparseTranspose"):
        given = checked(sp_input)
        if perm is None:
            rank = given.dense_shape.shape.with_rank(1)[0].value
            if rank is None:
                raise ValueError("sparse_transpose needs perm for a tensor of unknown rank")
            perm = list(range(rank))[::-1]
        perm = as_tensor(perm)
        perm.shape.assert_is_compatible_with(given.dense_shape.shape)
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
    with name_scope(name, "expand_dims"):
        column = zeros_like(given.indices[:, :1])
        indices = concat([given.indices[:, :place], column, given.indices[:, place:]], 1)
        one = as_tensor([1], dtypes.i64, "new_shape")
        sizes = concat([given.dense_shape[:place], one, given.dense_shape[place:]], 0)
        found = SparseTensor(indices, given.values, sizes)
    static = given.shape.as_list()
    found.set_shape([*static[:place], 1, *static[place:]])
    return found


def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """The same elements in a tensor of `new_shape`, which holds the old one, or of the least shape
    that holds them, if None. Raises `ValueError` for a shape that is known to hold less; a run
    raises `InvalidArgumentError`."""
    given = checked(sp_input)
    indices, values = identity(given.indices), identity(given.values)
    if new_shape is None:
        most = reduce_max(indices, axis=0) + 1
        return SparseTensor(indices, values, maximum(cast(0, dtypes.i64), most))
    sizes = as_tensor(new_shape)
    sizes.shape.with_rank(1).assert_is_compatible_with(given.dense_shape.shape)
    sizes = cast(sizes, dtypes.i64)
    known = constant_elements(sizes)
    if known is None or not given.shape.is_fully_defined():
        with control_dependencies([assert_less_equal(given.dense_shape, sizes)]):
            return SparseTensor(indices, values, identity(sizes))
    if any(old > new for old, new in zip(given.shape.as_list(), known)):
        raise ValueError(
            "Requested new_shape should have dimension sizes >= sp_input.shape.  Found new_shape "
            f"({known.tolist()}), sp_input.shape ({given.shape.as_list()})."
        )
    return SparseTensor(indices, values, known)


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
    are integers; floats are cut off. Raises `TypeError` for what is not sparse and sizes of another
    form than the ids, `ValueError` for lists of different lengths."""
    several = isinstance(sp_ids, list | tuple) and not isinstance(sp_ids, SparseTensorValue)
    if not several and isinstance(vocab_size, list | tuple):
        raise TypeError(f"vocab_size has to be a Tensor or Python int. Found {type(vocab_size)}")
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
