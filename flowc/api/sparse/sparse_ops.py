"""`tf.sparse`: sparse tensors made dense, and products with them.

In: a `SparseTensor` (or the value of one), whose indices are in order where an op says so. Out:
tensors, or another one.
Every function raises `TypeError` for what is no `SparseTensor` where it takes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import range as range_of
from flowc.api.arrays.selection import gather, gather_nd, where
from flowc.api.arrays.shaping import reshape, transpose
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.basics import cast, identity
from flowc.api.framework.composites import SparseTensor, SparseTensorValue
from flowc.api.framework.scopes import name_scope
from flowc.api.math.elementwise import not_equal
from flowc.api.math.reductions import one_of, reduce_sum
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import create, output


def checked(value: Any) -> SparseTensor:
    if isinstance(value, SparseTensorValue):
        return SparseTensor(*value)
    if not isinstance(value, SparseTensor):
        raise TypeError(f"Input must be a SparseTensor. Received: {value!r}")
    return value


def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """A tensor of `output_shape` with `sparse_values` [n] at `sparse_indices` [n, rank] (integers),
    and `default_value`, a scalar of their dtype, elsewhere. A run raises `InvalidArgumentError` for
    places outside, or (`validate_indices`) not in order."""
    return output(
        "SparseToDense",
        sparse_indices,
        output_shape,
        sparse_values,
        default_value,
        validate_indices=validate_indices,
        name=name,
    )


def sparse_tensor_to_dense(
    sp_input: SparseTensor,
    default_value: Any = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """The whole tensor, with `default_value` (0, or an empty string) where nothing is kept. Raises
    `TypeError` for what is no `SparseTensor`; a run raises as that of `sparse_to_dense`."""
    given = checked(sp_input)
    if default_value is None:
        default_value = "" if given.dtype is dtypes.string else 0
    if not isinstance(default_value, str | bytes | Tensor):
        default_value = cast(as_tensor(default_value), given.dtype)
    return sparse_to_dense(
        given.indices, given.dense_shape, given.values, default_value, validate_indices, name
    )


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """The elements that are not 0, as a `SparseTensor`. Of any dtype and shape. Raises nothing for
    tensors."""
    with name_scope(name, "dense_to_sparse", [tensor]):
        value = as_tensor(tensor)
        zero = "" if value.base_dtype is dtypes.string else cast(as_tensor(0), value.dtype)
        places = where(not_equal(value, zero))
        return SparseTensor(places, gather_nd(value, places), shape_of(value, None, dtypes.i64))


def sparse_retain(sp_input: SparseTensor, to_retain: Any) -> SparseTensor:
    """The elements for which `to_retain`, bool[number of elements], holds. Raises `TypeError` for
    what is no `SparseTensor`, `ValueError` for another number of elements."""
    given, kept = checked(sp_input), as_tensor(to_retain)
    given.values.shape.with_rank(1).assert_is_compatible_with(kept.shape.with_rank(1))
    places = reshape(where(kept), [-1])
    rows, values = gather(given.indices, places), gather(given.values, places)
    return SparseTensor(rows, values, identity(given.dense_shape))


def sparse_tensor_dense_matmul(
    sp_a: Any,
    b: Any,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product [m, n] of a sparse matrix [m, k] and a dense one [k, n] of one dtype, in this
    order or the other, each adjoint first if asked. Raises `TypeError` where neither is a
    `SparseTensor`; a run raises `InvalidArgumentError` for places outside."""
    if isinstance(b, SparseTensor | SparseTensorValue):  # a b = (b' a')'
        if adjoint_a == adjoint_b:
            adjoint_a, adjoint_b = not adjoint_a, not adjoint_b
        return transpose(sparse_tensor_dense_matmul(b, sp_a, adjoint_a, adjoint_b, name))
    given = checked(sp_a)
    with name_scope(name, "SparseTensorDenseMatMul", [given.values, b]):
        parts = (given.indices, given.values, given.dense_shape)
        return output(
            "SparseTensorDenseMatMul",
            *parts,
            as_tensor(b),
            adjoint_a=adjoint_a,
            adjoint_b=adjoint_b,
        )


def sparse_reduce_sum(
    sp_input: SparseTensor,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The sum over `axis` (all axes, if None), as a dense tensor. Raises `TypeError` for what is no
    `SparseTensor`, and as `reduce_sum`."""
    axes = one_of(axis, "axis", reduction_axes, "reduction_axes")
    keep = bool(one_of(keepdims, "keepdims", keep_dims, "keep_dims"))
    given = checked(sp_input)  # whose elements at one place are summed, too
    dense = output("ScatterNd", given.indices, given.values, given.dense_shape)
    return reduce_sum(dense, axes, keep)


def sparse_reduce_max(
    sp_input: SparseTensor,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The greatest of the elements that are kept, over `axis` (all axes, if None), as a dense
    tensor of a real dtype, 0 where none is. Raises `TypeError` for what is no `SparseTensor`; a run
    raises `InvalidArgumentError` for axes outside."""
    axes = one_of(axis, "axis", reduction_axes, "reduction_axes")
    keep = one_of(keepdims, "keepdims", keep_dims, "keep_dims")
    return _folded("SparseReduceMax", sp_input, axes, keep)[0]


def sparse_reduce_sum_sparse(
    sp_input: SparseTensor,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> SparseTensor:
    """The sum over `axis` (all axes, if None), as a sparse tensor. Raises as
    `sparse_reduce_max`."""
    axes = one_of(axis, "axis", reduction_axes, "reduction_axes")
    keep = one_of(keepdims, "keepdims", keep_dims, "keep_dims")
    return SparseTensor(*_folded("SparseReduceSumSparse", sp_input, axes, keep))


def sparse_reduce_max_sparse(
    sp_input: SparseTensor,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> SparseTensor:
    """The greatest of the elements that are kept, over `axis` (all axes, if None), as a sparse
    tensor. Raises as `sparse_reduce_max`."""
    axes = one_of(axis, "axis", reduction_axes, "reduction_axes")
    keep = one_of(keepdims, "keepdims", keep_dims, "keep_dims")
    return SparseTensor(*_folded("SparseReduceMaxSparse", sp_input, axes, keep))


def _folded(op_type: str, value: Any, axes: Any, keep: bool | None) -> Sequence[Tensor]:
    given = checked(value)
    rank = given.dense_shape.shape.with_rank(1)[0].value
    if axes is None and rank is None:
        axes = range_of(0, output("Size", given.dense_shape, name="Rank"))
    elif axes is None:
        axes = as_tensor(np.arange(rank, dtype=np.int32), name="Const")
    parts = (given.indices, given.values, given.dense_shape, axes)
    return create(op_type, parts, {"keep_dims": bool(keep)}).outputs


def sparse_softmax(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """The softmax of the elements that are kept, along the last axis; of floats of rank 2 or more.
    Raises `TypeError` for what is no `SparseTensor`; a run raises `InvalidArgumentError` for other
    ranks and for places not in order."""
    given = checked(sp_input)
    with name_scope(name, "SparseSoftmax", [given.indices, given.values]):
        parts = (given.indices, given.values, given.dense_shape)
        return given.with_values(output("SparseSoftmax", *parts))


def sparse_eye(
    num_rows: Any, num_columns: Any = None, dtype: Any = dtypes.f32, name: str | None = None
) -> SparseTensor:
    """Ones on the main diagonal, kept as a sparse tensor [num_rows, num_columns]; square without
    `num_columns`. Raises `TypeError` for what is no dtype."""
    with name_scope(name, "eye", [num_rows, num_columns]):
        sizes = [cast(n, dtypes.i64) for n in (num_rows, num_columns) if n is not None]
        rows, columns = sizes[0], sizes[-1]
        count = output("Minimum", rows, columns)
        places = range_of(count)
        ones_there = output("Fill", [count], as_tensor(1, dtypes.as_dtype(dtype)))
        return SparseTensor(output("Pack", [places, places], axis=1), ones_there, [rows, columns])
