"""Sets in the rows of tensors, dense, sparse or ragged: unions and the like, sizes, counts.

In: the last dim of a tensor holds sets, or numbers that are counted. Out: host steps that give
sparse tensors [n, rank], their values in ascending order, or counts. Invariant: groups of both
operands have the same sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.sparse.sparse_places import check_places, check_sparse

Array = np.ndarray[Any, Any]
Group = tuple[int, ...]
TYPES = "{i8, i16, i32, i64, u8, u16, string}"
CHANGES: dict[str, Callable[[set[Any], set[Any]], set[Any]]] = {
    "a-b": lambda a, b: a - b,
    "b-a": lambda a, b: b - a,
    "intersection": lambda a, b: a & b,
    "union": lambda a, b: a | b,
}


def _checked_change(name: str) -> Callable[[set[Any], set[Any]], set[Any]]:
    found = CHANGES.get(name.lower())
    if found is None:
        raise InvalidArgumentError(f"Invalid set_operation {name}.")
    return found


def _dense_sets(x: Array) -> tuple[dict[Group, set[Any]], Group]:
    if x.ndim < 2:
        raise InvalidArgumentError(f"Invalid input set1 rank {x.ndim}, expected at least 2")
    sizes = x.shape[:-1]
    return {at: set(x[at].tolist()) for at in np.ndindex(*sizes)}, sizes


def _sparse_sets(parts: Sequence[Array], validate: bool) -> tuple[dict[Group, set[Any]], Group]:
    indices, values, sizes = parts
    if validate:
        check_places(indices, sizes)
    found: dict[Group, set[Any]] = {}
    for place, value in zip(indices[:, :-1].tolist(), values.tolist()):
        found.setdefault(tuple(place), set()).add(value)
    return found, tuple(sizes[:-1].tolist())


def _changed(
    a: tuple[dict[Group, set[Any]], Group], b: tuple[dict[Group, set[Any]], Group],
    change: Callable[[set[Any], set[Any]], set[Any]], dtype: DType,
) -> list[Array]:  # fmt: skip
    if a[1] != b[1]:
        raise InvalidArgumentError(
            f"Mismatched group shapes {list(a[1])} vs. {list(b[1])} of the sets"
        )
    places: list[Group] = []
    values: list[Any] = []
    most = 0
    for group in sorted({*a[0], *b[0]}):
        found = sorted(change(a[0].get(group, set()), b[0].get(group, set())))
        most = max(most, len(found))
        places += [(*group, i) for i in range(len(found))]
        values += found
    rank = len(a[1]) + 1
    held = np.empty(len(values), object) if dtype.name == "string" else None
    if held is not None:
        held[:] = values
    return [
        np.array(places, np.int64).reshape(len(places), rank),
        np.array(values, dtype.numpy) if held is None else held,
        np.array([*a[1], most], np.int64),
    ]


def _result_dims(c: Inference, rank: Any) -> list[Dims]:
    count = c.fresh("n")
    return [(count, rank), (count,), (rank,)]


def _dense_dense(
    inputs: Sequence[Any], types: Sequence[DType], *, set_operation: str, validate_indices: bool
) -> list[Array]:
    a, b = inputs
    change = _checked_change(set_operation)
    return _changed(_dense_sets(a), _dense_sets(b), change, types[1])


def _dense_sparse(
    inputs: Sequence[Any], types: Sequence[DType], *, set_operation: str, validate_indices: bool
) -> list[Array]:
    a, *b = inputs
    change = _checked_change(set_operation)
    return _changed(_dense_sets(a), _sparse_sets(b, validate_indices), change, types[1])


def _sparse_sparse(
    inputs: Sequence[Any], types: Sequence[DType], *, set_operation: str, validate_indices: bool
) -> list[Array]:
    a, b = inputs[:3], inputs[3:]
    change = _checked_change(set_operation)
    first, second = (_sparse_sets(x, validate_indices) for x in (a, b))
    return _changed(first, second, change, types[1])


def _infer_operation(name: str) -> Callable[[Inference], list[Dims]]:
    def infer(c: Inference) -> list[Dims]:
        second = 1
        if name == "SparseToSparse":
            check_sparse(c, 0, 1, 2)
            second = 3
        if name != "DenseToDense":
            check_sparse(c, second, second + 1, second + 2)
        return _result_dims(c, c.dims(0)[1] if second == 3 else c.rank(0))

    return infer


_SETTINGS = f"set_operation: string, validate_indices: bool = True, T: {TYPES}"
_SPARSE = "set{0}_indices: i64, set{0}_values: T, set{0}_shape: i64"
for _tf_name, _inputs, _function in (
    ("DenseToDense", "set1: T, set2: T", _dense_dense),
    ("DenseToSparse", f"set1: T, {_SPARSE.format(2)}", _dense_sparse),
    ("SparseToSparse", f"{_SPARSE.format(1)}, {_SPARSE.format(2)}", _sparse_sparse),
):
    host_op(
        {
            "DenseToDense": "dense_to_dense_sets",
            "DenseToSparse": "dense_to_sparse_sets",
            "SparseToSparse": "sparse_to_sparse_sets",
        }[_tf_name],
        f"{_tf_name}SetOperation({_inputs}; {_SETTINGS}) -> result_indices: i64,"
        " result_values: T, result_shape: i64",
        _function,
        infer=_infer_operation(_tf_name),
    )


def _set_size(inputs: Sequence[Any], _: Sequence[DType], *, validate_indices: bool) -> list[Array]:
    if np.any(inputs[2] < 0):
        raise InvalidArgumentError(f"set_shape must not be negative, got {inputs[2].tolist()}")
    sets, sizes = _sparse_sets(inputs, validate_indices)
    found = np.zeros(sizes, np.int32)
    for group, own in sets.items():
        if not all(0 <= i < n for i, n in zip(group, sizes)):
            raise InvalidArgumentError(
                f"there is no set at {list(group)} in a tensor of sets of shape {list(sizes)}"
            )
        found[group] = len(own)
    return [found]


def _infer_size(c: Inference) -> Dims:
    check_sparse(c, 0, 1, 2)
    rank = c.dims(2)[0]
    if not isinstance(rank, int):
        raise c.fail("the rank of sets must be known")
    return tuple(c.fresh("n") for _ in range(rank - 1))


host_op(
    "set_size",
    "SetSize(set_indices: i64, set_values: T, set_shape: i64; validate_indices: bool = True, T:"
    f" {TYPES}) -> size: i32",
    _set_size,
    infer=_infer_size,
)


# -- counts


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
    """(row, number, weight) of each number as a sparse tensor of sums."""
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
