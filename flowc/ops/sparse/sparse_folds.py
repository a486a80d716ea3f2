"""Sparse tensors folded over axes, made a softmax of, and combined with dense tensors.

In: places [n, rank], values [n] and sizes [rank], which the run knows. Out: host steps. Invariant:
what is not there is 0, and takes no part in an extremum or a softmax.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError, UnimplementedError
from flowc.ir.inference import Inference, NeedsContent, OpenShapes
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.sparse.sparse_places import (
    NUMERIC,
    ORDERED,
    Array,
    check_sizes,
    check_sparse,
    linear,
    numbered,
    results,
)

Steps = Callable[..., list[Array]]


# -- folds


def _folded_axes(axes: Sequence[int], rank: int) -> list[int]:
    for axis in axes:
        if not -rank <= axis < rank:
            raise InvalidArgumentError(
                f"Invalid reduction dimension {axis}, for input with {rank} dimensions."
            )
    return sorted({a % rank for a in axes}) if len(axes) else list(range(rank))


def _fold(inputs: Sequence[Any], choose: Any) -> tuple[Array, Array, list[int], list[int]]:
    """Places of groups among the kept axes, their values, kept and folded axes."""
    indices, values, sizes, axes = inputs
    check_sizes(sizes)
    folded = _folded_axes(np.asarray(axes).reshape(-1).tolist(), len(sizes))
    kept = [a for a in range(len(sizes)) if a not in folded]
    flat = numbered(indices[:, kept], [int(sizes[a]) for a in kept])
    _, first, inverse = np.unique(flat, return_index=True, return_inverse=True)
    found = values[first].copy()
    if choose is np.add:
        found[:] = 0
    choose.at(found, inverse, values)
    return indices[first][:, kept], found, kept, folded


def _dense_fold(choose: Any) -> Steps:
    def function(inputs: Sequence[Any], _: Sequence[DType], *, keep_dims: bool) -> list[Array]:
        places, values, kept, folded = _fold(inputs, choose)
        sizes = inputs[2]
        found = np.zeros([int(sizes[a]) for a in kept], values.dtype)
        outside = ((places < 0) | (places >= found.shape)).any(axis=1)
        if outside.any():
            raise InvalidArgumentError(
                f"Index {places[outside][0].tolist()} is outside of the sizes {list(found.shape)}"
            )
        found.reshape(-1)[linear(places, found.shape)] = values
        return results(np.expand_dims(found, tuple(folded)) if keep_dims else found)

    return function


def _sparse_fold(choose: Any) -> Steps:
    def function(inputs: Sequence[Any], _: Sequence[DType], *, keep_dims: bool) -> list[Array]:
        places, values, kept, folded = _fold(inputs, choose)
        sizes = inputs[2][kept]
        if keep_dims:
            whole = np.zeros((len(values), len(inputs[2])), np.int64)
            whole[:, kept] = places
            sizes = inputs[2].copy()
            sizes[folded] = 1
            places = whole
        return results(places, values, sizes)

    return function


def _kept_axes(c: Inference, open_shapes: OpenShapes) -> list[int | None]:
    """The axes of the result: which of the input each is, None for a folded one of size 1."""
    check_sparse(c, 0, 1, 2)
    rank = c.dims(2)[0]
    if not isinstance(rank, int):
        fault = "the rank of a sparse tensor that is folded must be known when it is compiled"
        raise NeedsContent(fault, node=c.node_name, shapes=open_shapes)
    folded = _folded_axes(list(c.need_ints(3, open_shapes)), rank)
    axes = [None if axis in folded else axis for axis in range(rank)]
    return axes if c.attrs["keep_dims"] else [axis for axis in axes if axis is not None]


def _infer_dense_fold(c: Inference) -> Dims:
    """The sizes that stay; fresh ones where the run knows them."""
    axes = _kept_axes(c, [None])
    sizes = c.content(2)

    def size(axis: int | None) -> Any:
        if axis is None:
            return 1
        if sizes is None or not isinstance(sizes[axis], (int, np.integer)):
            return c.fresh("n")
        return int(sizes[axis])

    return tuple(map(size, axes))


def _infer_sparse_fold(c: Inference) -> list[Dims]:
    rank = len(_kept_axes(c, [(None, None), (None,), (None,)]))
    count = c.fresh("n", c.dims(1)[0])
    return [(count, rank), (count,), (rank,)]


def _sum_gradient(b: Any, node: Any, dy: Any) -> Any:
    """Each value gets the gradient at its place."""
    indices, _, shape, axes = node.inputs
    dims, known = b.dims_of(shape), b.elements_of(axes)
    if dims is None or not isinstance(dims[0], int) or known is None:
        raise UnimplementedError(
            "the gradient of SparseReduceSum needs constant axes and a known rank", node=node.name
        )
    folded = np.zeros(dims[0], bool)
    folded[_folded_axes(known.reshape(-1).tolist(), dims[0])] = True
    kept = b.select_v2(folded, np.ones(dims[0], np.int64), shape)
    places = b.mul(indices, (~folded).astype(np.int64))
    return None, b.gather_nd(b.reshape(dy, kept), places), None, None


_FOLD = "input_indices: i64, input_values: T, input_shape: i64, reduction_axes: i32"
for _word, _choose, _kinds in (("Sum", np.add, NUMERIC), ("Max", np.maximum, ORDERED)):
    host_op(
        f"sparse_reduce_{_word.lower()}",
        f"SparseReduce{_word}({_FOLD}; keep_dims: bool = False, T: {_kinds}) -> output: T",
        _dense_fold(_choose),
        infer=_infer_dense_fold,
        gradient=_sum_gradient if _choose is np.add else None,
    )
    host_op(
        f"sparse_reduce_{_word.lower()}_sparse",
        f"SparseReduce{_word}Sparse({_FOLD}; keep_dims: bool = False, T: {_kinds}) ->"
        " output_indices: i64, output_values: T, output_shape: i64",
        _sparse_fold(_choose),
        infer=_infer_sparse_fold,
    )


# -- a softmax of each row


def _rows(indices: Array, sizes: Array) -> Array:
    flat = numbered(indices[:, :-1], sizes[:-1].tolist())
    return np.unique(flat, return_inverse=True)[1]


def _softmax(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    indices, values, sizes = inputs
    if len(sizes) < 2:
        raise InvalidArgumentError("Input should have rank >= 2, but got: " + str(sizes.tolist()))
    check_sizes(sizes)
    rows = _rows(indices, sizes)
    count = int(rows.max(initial=-1)) + 1
    wide = values.astype(np.float64)
    most = np.full(count, -np.inf)
    np.maximum.at(most, rows, wide)
    powers = np.exp(wide - most[rows])
    return results((powers / np.bincount(rows, powers, count)[rows]).astype(values.dtype))


def _softmax_gradient(b: Any, node: Any, dy: Any) -> Any:
    """(dy - the sum of dy y over the row) y, as sparse tensors of the same places."""
    indices, _, shape = node.inputs
    y = node.output
    products = b.mul(dy, y)
    last = np.array([-1], np.int32)
    sums = b.neg(b.sparse_reduce_sum(indices, products, shape, last, keep_dims=True))
    return None, b.mul(b.sparse_dense_cwise_add(indices, dy, shape, sums), y), None


def _infer_values(c: Inference) -> Dims:
    check_sparse(c, 0, 1, 2)
    return c.dims(1)


host_op(
    "sparse_softmax",
    "SparseSoftmax(sp_indices: i64, sp_values: T, sp_shape: i64; T: {f16, f32, f64}) -> output: T",
    _softmax,
    infer=_infer_values,
    gradient=_softmax_gradient,
)


# -- with dense tensors, which broadcast to the sparse one


def _at_places(indices: Array, sizes: Array, dense: Array) -> Array:
    own = [1] * (len(sizes) - dense.ndim) + list(dense.shape)
    fits = len(own) == len(sizes) and all(d in (1, s) for d, s in zip(own, sizes.tolist()))
    if not fits:
        raise InvalidArgumentError(
            "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: "
            f"[{','.join(map(str, sizes))}] vs. [{','.join(map(str, dense.shape))}]"
        )
    if len(indices) and (indices.min() < 0 or np.any(indices >= sizes)):
        raise InvalidArgumentError("Provided indices are out-of-bounds w.r.t. dense side")
    places = np.where(np.array(own) == 1, 0, indices)
    return dense.reshape(own)[tuple(places.T)]


def _with_dense(combine: Any) -> Steps:
    def function(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
        indices, values, sizes, dense = inputs
        other = _at_places(indices, sizes, np.asarray(dense))
        with np.errstate(all="ignore"):
            return results(combine(values, other).astype(values.dtype))

    return function


def _quotient(x: Array, y: Array) -> Array:
    if not np.all(y):
        raise InvalidArgumentError(
            "SparseDenseCwiseDiv cannot divide by zero, but input dense tensor contains zero"
        )
    return x // y if x.dtype.kind in "iu" else x / y


def _places_in_dense(b: Any, indices: Any, shape: Any, dense: Any) -> tuple[Any, Any]:
    """Where in the dense tensor the number of each value is, and the sizes of that tensor: an axis
    along which it was broadcast has 0 places, and one that it does not have none."""
    own = b.shape_of(dense, dtype=dtypes.i64)
    added = b.reshape(b.sub(b.size(shape), b.size(own)), (1,))
    aligned = b.concat(b.fill(added, b.const(np.int64(1))), own, np.int32(0))
    places = b.floor_div(indices, b.floor_div(shape, aligned))
    begin = b.concat(b.const(np.zeros(1, np.int32)), added, np.int32(0))
    return b.slice(places, begin, (-1, -1)), own


def _summed(b: Any, places: Any, values: Any, own: Any, dense: Any) -> Any:
    return b.sparse_tensor_dense_add(places, values, own, b.zeros_like(dense))


def _mul_gradient(b: Any, node: Any, dy: Any) -> Any:
    indices, values, shape, dense = node.inputs
    places, own = _places_in_dense(b, indices, shape, dense)
    by_values = b.sparse_dense_cwise_mul(indices, dy, shape, dense)
    return None, by_values, None, _summed(b, places, b.mul(dy, values), own, dense)


def _div_gradient(b: Any, node: Any, dy: Any) -> Any:
    indices, _, shape, dense = node.inputs
    places, own = _places_in_dense(b, indices, shape, dense)
    by_values = b.sparse_dense_cwise_div(indices, dy, shape, dense)
    change = b.neg(b.mul(by_values, node.output))
    return None, by_values, None, _summed(b, places, change, own, dense)


for _word, _combine, _gradient in (
    ("Add", np.add, None),
    ("Mul", np.multiply, _mul_gradient),
    ("Div", _quotient, _div_gradient),
):
    host_op(
        f"sparse_dense_cwise_{_word.lower()}",
        f"SparseDenseCwise{_word}(sp_indices: i64, sp_values: T, sp_shape: i64, dense: T;"
        f" T: {NUMERIC}) -> output: T",
        _with_dense(_combine),
        infer=_infer_values,
        gradient=_gradient,
    )
