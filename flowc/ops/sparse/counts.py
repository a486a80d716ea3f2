"""Counts of the numbers in the rows of tensors, dense, sparse or ragged.

In: numbers, and weights of the same shape or none. Out: host steps that give dense counts, or
sparse tensors of them. Invariant: no number is negative, but where TensorFlow leaves those out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.sparse.sparse_places import check_sparse

Array = np.ndarray[Any, Any]


def _check_numbers(values: Array) -> None:
    if np.any(values < 0):
        raise InvalidArgumentError("Input values must all be non-negative")


def _counted(
    rows: Array, values: Array, weights: Array, shape: Sequence[int], binary: bool, dtype: DType
) -> Array:
    """How often, or with what weights, each number occurs in each row; those that have no
    place there are left out."""
    if weights.size and weights.size != values.size:
        raise InvalidArgumentError("Input indices and weights must have the same size.")
    if shape[1] < 0:
        raise InvalidArgumentError(f"size ({shape[1]}) must be non-negative")
    found = np.zeros(shape, dtype.numpy)
    kept = (values >= 0) & (values < shape[1])
    if binary:
        found[rows[kept], values[kept]] = 1
    else:
        own = weights.reshape(-1)[kept] if weights.size else 1
        np.add.at(found, (rows[kept], values[kept]), own)
    return found


def _sparse_bincount(
    inputs: Sequence[Any], types: Sequence[DType], *, binary_output: bool
) -> list[Array]:
    indices, values, sizes, size, weights = inputs
    flat = len(sizes) == 1
    if flat:
        _check_numbers(values)  # TensorFlow leaves negative ones out of the counts of rows
    outside = np.flatnonzero(np.any((indices < 0) | (indices >= sizes), axis=1))
    if len(outside):
        at = outside[0]
        raise InvalidArgumentError(
            f"Sparse index tuple indices[{at}, :] = {indices[at].tolist()} is out of bounds"
        )
    rows = np.zeros(len(values), np.int64) if flat else indices[:, 0]
    count = 1 if flat else int(sizes[0])
    found = _counted(rows, values, weights, (count, int(size)), binary_output, types[0])
    return [found[0] if flat else found]


def _size_of(c: Inference, i: int) -> Any:
    c.need_rank(i, 0)
    known = c.content(i)
    if known is None:
        return c.fresh("size")
    size = known[()]
    if isinstance(size, (int, np.integer)):
        if size < 0:
            raise c.fail(f"size ({size}) must be non-negative")
        return int(size)
    return size


def _infer_sparse_bincount(c: Inference) -> Dims:
    check_sparse(c, 0, 1, 2)
    size = _size_of(c, 3)
    return (size,) if c.dims(2)[0] == 1 else (c.fresh("rows"), size)


host_op(
    "sparse_bincount",
    "SparseBincount(indices: i64, values: Tidx, dense_shape: i64, size: Tidx, weights: T; Tidx:"
    " {i32, i64}, T: {i32, i64, f32, f64}, binary_output: bool = False) -> output: T",
    _sparse_bincount,
    infer=_infer_sparse_bincount,
)


def _rows_of(splits: Array, count: int) -> Array:
    if splits[0] != 0:
        raise InvalidArgumentError(f"Splits must start with 0, not with {splits[0]}")
    if splits[-1] != count:
        raise InvalidArgumentError(
            f"Splits must end with the number of values, got {splits[-1]} instead of {count}"
        )
    lengths = np.diff(splits)
    if np.any(lengths < 0):
        raise InvalidArgumentError(f"Splits must not decrease, got {splits.tolist()}")
    return np.repeat(np.arange(len(splits) - 1), lengths)


def _ragged_bincount(
    inputs: Sequence[Any], types: Sequence[DType], *, binary_output: bool
) -> list[Array]:
    splits, values, size, weights = inputs
    values = values.reshape(-1)
    _check_numbers(values)
    rows = _rows_of(splits, len(values))
    shape = (len(splits) - 1, int(size))
    return [_counted(rows, values, weights, shape, binary_output, types[0])]


def _infer_ragged_bincount(c: Inference) -> Dims:
    c.need_rank(0, 1)
    if c.dims(0)[0] == 0:
        raise c.fail("Splits must be non-empty")
    return (c.dims(0)[0] - 1, _size_of(c, 2))


host_op(
    "ragged_bincount",
    "RaggedBincount(splits: i64, values: Tidx, size: Tidx, weights: T; Tidx: {i32, i64}, T: {i32,"
    " i64, f32, f64}, binary_output: bool = False) -> output: T",
    _ragged_bincount,
    infer=_infer_ragged_bincount,
)


def _sparse_counts(
    rows: Iterator[tuple[int, int, Any]], count: int, flat: bool, dtype: DType, settings: Any
) -> list[Array]:
    """Adds up the weights of equal numbers in each row: the indices, sums and shape of a sparse
    tensor [rows, numbers]. `rows`: (row, number, weight) of every element."""
    least, most, binary = settings
    sums: dict[tuple[int, int], Any] = {}
    largest = 0
    for row, number, weight in rows:
        if number < 0:
            raise InvalidArgumentError("Input values must all be non-negative")
        if most >= 0 and number >= most:
            continue
        largest = max(largest, number + 1)
        sums[row, number] = 1 if binary else sums.get((row, number), 0) + weight
    width = most if most > 0 else max(largest, least, 0)
    order = sorted(sums)
    places = np.array([place[1:] if flat else place for place in order], np.int64)
    return [
        places.reshape(len(order), 1 if flat else 2),
        np.array([sums[place] for place in order], dtype.numpy),
        np.array([width] if flat else [count, width], np.int64),
    ]


def _weights(weights: Array, values: Array, name: str = "values") -> list[Any]:
    if not weights.size:
        return [1] * values.size
    if weights.shape != values.shape:
        raise InvalidArgumentError(
            f"Weights and {name} must have the same shape. Weight shape: {list(weights.shape)}; "
            f"{name} shape: {list(values.shape)}"
        )
    return weights.reshape(-1).tolist()


def _dense_count(
    inputs: Sequence[Any], types: Sequence[DType], *, minlength: int, maxlength: int,
    binary_output: bool,
) -> list[Array]:  # fmt: skip
    values, weights = map(np.asarray, inputs)
    if values.ndim not in (1, 2):
        raise InvalidArgumentError(
            f"Input must be a 1 or 2-dimensional tensor. Got: {list(values.shape)}"
        )
    flat = values.ndim == 1
    table = values.reshape(1, -1) if flat else values
    rows = np.repeat(np.arange(len(table)), table.shape[1]).tolist()
    triples = zip(rows, table.reshape(-1).tolist(), _weights(weights, values, "data"))
    return _sparse_counts(
        iter(triples), len(table), flat, types[1], (minlength, maxlength, binary_output)
    )


def _sparse_count(
    inputs: Sequence[Any], types: Sequence[DType], *, minlength: int, maxlength: int,
    binary_output: bool,
) -> list[Array]:  # fmt: skip
    indices, values, sizes, weights = inputs
    if not len(sizes) or indices.shape != (len(values), len(sizes)):
        raise InvalidArgumentError(
            f"Sparse indices of shape {list(indices.shape)} do not fit {len(values)} values and a"
            f" dense shape of {len(sizes)} dims"
        )
    if np.any((indices < 0) | (indices >= sizes)):
        raise InvalidArgumentError(f"Sparse indices outside of the dense shape {sizes.tolist()}")
    flat = len(sizes) == 1
    rows = [0] * len(values) if flat else indices[:, 0].tolist()
    triples = zip(rows, values.tolist(), _weights(weights, values))
    count = 1 if flat else int(sizes[0])
    return _sparse_counts(
        iter(triples), count, flat, types[1], (minlength, maxlength, binary_output)
    )


def _ragged_count(
    inputs: Sequence[Any], types: Sequence[DType], *, minlength: int, maxlength: int,
    binary_output: bool,
) -> list[Array]:  # fmt: skip
    splits, values, weights = inputs[0].reshape(-1), inputs[1].reshape(-1), inputs[2].reshape(-1)
    if len(splits) < 2:
        raise InvalidArgumentError("Must provide at least 2 elements for the splits argument")
    rows = _rows_of(splits, len(values)).tolist()
    triples = zip(rows, values.tolist(), _weights(weights, values))
    return _sparse_counts(
        iter(triples), len(splits) - 1, False, types[1], (minlength, maxlength, binary_output)
    )


def _rank_of_sparse(c: Inference) -> Any:
    check_sparse(c, 0, 1, 2)
    return c.dims(2)[0]


def _infer_counts(c: Inference, rank: Any) -> list[Dims]:
    count = c.fresh("n")
    return [(count, rank), (count,), (rank,)]


_COUNTS = (
    "T: {i32, i64}, minlength: int >= -1 = -1, maxlength: int >= -1 = -1, binary_output: bool,"
    " output_type: {i32, i64, f32, f64}"
)
for _word, _inputs, _function, _rank in (
    ("Dense", "values: T", _dense_count, lambda c: c.rank(0)),
    ("Sparse", "indices: i64, values: T, dense_shape: i64", _sparse_count, _rank_of_sparse),
    ("Ragged", "splits: i64, values: T", _ragged_count, lambda c: 2),
):
    host_op(
        f"{_word.lower()}_counts",
        f"{_word}CountSparseOutput({_inputs}, weights: output_type; {_COUNTS}) ->"
        " output_indices: i64, output_values: output_type, output_dense_shape: i64",
        _function,
        infer=lambda c, rank=_rank: _infer_counts(c, rank(c)),
    )
