"""Crosses of features: SparseCross, its forms V2 and Hashed, RaggedCross.

In: columns, sparse (places [n, 2], values [n], sizes [2]), ragged (values, splits) and dense [rows,
values]. Out: of each row every way to take one value from each column, the last column's values
changing fastest, as a sparse or ragged tensor of words or of hashes. Invariant: the hashes are
TensorFlow's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.host_run import held, scalar_of, vector_of
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.ragged.ragged_tensors import check_splits
from flowc.ops.strings.hashes import fingerprints, sip_hashes
from flowc.ops.strings.string_values import check_count

Array = np.ndarray[Any, Any]
_FACTOR = 0xC6A4A7935BD1E995
_WORD = 2**64 - 1
_LARGEST = 2**63 - 1
Rows = dict[int, list[Any]]  # the values of the rows that have any


def _joined_hashes(first: int, second: int) -> int:
    """The fingerprint of two fingerprints."""
    mixed = second * _FACTOR & _WORD
    found = (first ^ _FACTOR ^ ((mixed ^ mixed >> 47) * _FACTOR & _WORD)) * _FACTOR & _WORD
    found = (found ^ found >> 47) * _FACTOR & _WORD
    return found ^ found >> 47


def _by_row(indices: Array, values: Sequence[Any], rows: int) -> Rows:
    found: Rows = {}
    for row, value in zip(indices[:, 0].tolist(), values, strict=True):
        if 0 <= row < rows:
            found.setdefault(row, []).append(value)
    return found


def _numbers(values: Array) -> list[Any]:
    """The fingerprints of texts; numbers as they are."""
    if values.dtype == object:
        return fingerprints(values.tolist()).tolist()
    return values.view(np.uint64).tolist()


def _words(values: Array) -> list[Any]:
    if values.dtype == object:
        return values.tolist()
    return [b"%d" % value for value in values.tolist()]


def _hashes_of_words(hashes: Callable[[Sequence[bytes]], Array], values: Array) -> list[Any]:
    """The hashes of texts; of numbers those of their low four bytes, which TensorFlow reads."""
    words = values.tolist()
    if values.dtype != object:
        words = [(word & 0xFFFFFFFF).to_bytes(4, "little") for word in words]
    return hashes(words).tolist()


def _check_matrix(places: Array, values: Array, shape: Array) -> None:
    if places.ndim != 2:
        raise InvalidArgumentError(
            f"Input indices should be a matrix but received shape {list(places.shape)}"
        )
    for name, vector in (("values", values), ("shapes", shape)):
        if vector.ndim != 1:
            raise InvalidArgumentError(
                f"Input {name} should be a vector but received shape {list(vector.shape)}"
            )
    if places.shape[1] != 2 or len(shape) != 2:
        raise InvalidArgumentError(
            f"Expected D2 of index to be 2 got {places.shape[1]}, and the shape {shape.tolist()}"
        )
    if len(places) != len(values):
        raise InvalidArgumentError(f"Expected size of values to be {len(places)} got {len(values)}")


Read = Callable[[Array], list[Any]]


def _sparse_column(places: Array, values: Array, rows: int, read: Read) -> Rows:
    return _by_row(places, read(values), rows)


def _dense_column(column: Array, rows: int, read: Read) -> Rows:
    at = np.indices(column.shape).reshape(2, -1).T
    return _by_row(at, read(np.ascontiguousarray(column).reshape(-1)), rows)


def _ragged_column(values: Array, splits: Array, read: Read) -> Rows:
    items, ends = read(values), splits.tolist()
    return {row: items[a:b] for row, (a, b) in enumerate(pairwise(ends)) if a < b}


def _check_dense(columns: Sequence[Array]) -> None:
    for column in columns:
        if column.ndim != 2:
            raise InvalidArgumentError(
                f"Dense inputs should be a matrix but received shape {list(column.shape)}"
            )


def _columns(
    inputs: Sequence[Any], count: int, read: Read, read_dense: Read
) -> tuple[list[Rows], int]:
    """The values of each column by row, and how many rows there are."""
    arrays = [held(x) for x in inputs]
    places, rest = arrays[:count], arrays[count:]
    given, shapes, dense = rest[:count], rest[count : 2 * count], rest[2 * count :]
    for column in zip(places, given, shapes):
        _check_matrix(*column)
    _check_dense(dense)
    counts = {int(shape[0]) for shape in shapes} | {len(column) for column in dense}
    if len(counts) > 1 or min(counts, default=0) < 0:
        raise InvalidArgumentError(f"Expected batch size {min(counts)}, got {max(counts)}")
    rows = max(counts, default=0)
    found = [_sparse_column(p, v, rows, read) for p, v in zip(places, given)]
    return [*found, *(_dense_column(column, rows, read_dense) for column in dense)], rows


Ways = Sequence[Any]  # one value of each column


def _crossed(
    columns: Sequence[Rows], one: Callable[[Ways], Any], dtype: DType
) -> tuple[Array, list[int], list[int]]:
    """The feature crosses of all rows one after another (`one` makes each from a value of every
    column); the numbers of the rows that have any; and how many each of these has."""
    crossed = sorted(set.intersection(*map(set, columns))) if columns else []
    lengths = [math.prod(len(column[row]) for column in columns) for row in crossed]
    check_count(sum(lengths), "crosses")
    ways = [product(*(column[row] for column in columns)) for row in crossed]
    values = np.empty(sum(lengths), dtype.numpy)
    values[:] = [one(taken) for several in ways for taken in several]
    return values, crossed, lengths


def _as_sparse(
    columns: Sequence[Rows], rows: int, one: Callable[[Ways], Any], dtype: DType
) -> list[Array]:
    values, crossed, lengths = _crossed(columns, one, dtype)
    places = np.empty((len(values), 2), np.int64)
    places[:, 0] = np.repeat(crossed, lengths)
    places[:, 1] = [place for length in lengths for place in range(length)]
    return [places, values, np.array([rows, max(lengths, default=0)], np.int64)]


def _joined_words(taken: Ways) -> bytes:
    return b"_X_".join(taken)


def _bucket_of(taken: Ways, start: int | None, buckets: int) -> int:
    """The joined fingerprints of values, behind a first one where there is one."""
    found, *others = taken if start is None else (start & _WORD, *taken)
    for number in others:
        found = _joined_hashes(found, number)
    return found % (buckets if buckets > 0 else _LARGEST)


def _cross(
    inputs: Sequence[Any],
    types: Sequence[DType],
    *,
    N: int,
    num_buckets: int,
    hash_key: int,
) -> list[Array]:
    is_hashed = types[1] is dtypes.i64  # whatever `hashed_output` says
    read = _numbers if is_hashed else _words
    columns, rows = _columns(inputs, N, read, read)
    join = partial(_bucket_of, start=hash_key, buckets=num_buckets)
    return _as_sparse(columns, rows, join if is_hashed else _joined_words, types[1])


def _cross_words(inputs: Sequence[Any], types: Sequence[DType], *, N: int) -> list[Array]:
    *given, separator = inputs
    word = held(separator)
    if word.ndim:
        raise InvalidArgumentError(
            f"Input separator should be a scalar. Received: {list(word.shape)}"
        )
    columns, rows = _columns(given, N, _words, _words)
    join: Callable[[Ways], bytes] = bytes(word[()]).join
    return _as_sparse(columns, rows, join, types[1])


def _cross_hashes(inputs: Sequence[Any], types: Sequence[DType], *, N: int) -> list[Array]:
    *given, buckets, is_strong, salt = inputs
    key = vector_of(salt, "salt")
    if len(key) != 2:
        raise InvalidArgumentError(f'Input "salt" must have length 2 but has length {len(key)}')
    strong = bool(scalar_of(is_strong, "strong_hash"))
    hashes = partial(sip_hashes, key=key) if strong else fingerprints
    read = partial(_hashes_of_words, hashes)
    columns, rows = _columns(given, N, read, read if strong else _numbers)
    count = int(scalar_of(buckets, "num_buckets"))
    return _as_sparse(columns, rows, partial(_bucket_of, start=None, buckets=count), types[1])


def _infer(c: Inference) -> list[Dims]:
    count = c.attrs["N"]
    for k in range(count):
        for name, i, rank in (
            ("indices should be a matrix", k, 2),
            ("values should be a vector", count + k, 1),
            ("shapes should be a vector", 2 * count + k, 1),
        ):
            fault = f"Input {name}: Shape must be rank {rank} but is rank {c.rank(i)}"
            c.need_rank(i, rank, fault)
        c.equal(c.dims(k)[0], c.dims(count + k)[0])
        c.equal(c.dims(k)[1], 2, f"Expected D2 of index to be 2 got {c.dims(k)[1]}")
    for i in range(3 * count, 3 * count + len(c.attrs["dense_types"])):
        if c.rank(i) != 2:
            raise c.fail(f"Dense inputs should be a matrix but received rank {c.rank(i)}")
    crosses = c.fresh("n")
    return [(crosses, 2), (crosses,), (2,)]


_COLUMNS = "indices: N*i64, values: sparse_types, shapes: N*i64, dense_inputs: dense_types"
_TYPES = "sparse_types: list({i64, string}) >= 0, dense_types: list({i64, string}) >= 0"

host_op(
    "sparse_cross",
    f"SparseCross({_COLUMNS}; N: int >= 0, hashed_output: bool, num_buckets: int >= 0,"
    f" hash_key: int, {_TYPES}, out_type: {{i64, string}}, internal_type: {{i64, string}}) ->"
    " output_indices: i64, output_values: out_type, output_shape: i64",
    _cross,
    infer=_infer,
)
host_op(
    "sparse_cross_v2",
    f"SparseCrossV2({_COLUMNS}, sep: string; N: int >= 0, {_TYPES}) -> output_indices: i64,"
    " output_values: string, output_shape: i64",
    _cross_words,
    infer=_infer,
)
host_op(
    "sparse_cross_hashed",
    f"SparseCrossHashed({_COLUMNS}, num_buckets: i64, strong_hash: bool, salt: i64; N: int >= 0,"
    f" {_TYPES}) -> output_indices: i64, output_values: i64, output_shape: i64",
    _cross_hashes,
    infer=_infer,
)


# -- ragged


def _cross_ragged(
    inputs: Sequence[Any],
    types: Sequence[DType],
    *,
    Nsparse: int,
    ragged_values_types: Sequence[DType],
    input_order: str,
    num_buckets: int,
    hash_key: int,
) -> list[Array]:
    is_hashed = types[0] is dtypes.i64
    read = _numbers if is_hashed else _words
    arrays = iter([held(x) for x in inputs])
    values, splits = ([next(arrays) for _ in ragged_values_types] for _ in range(2))
    places, given, shapes = ([next(arrays) for _ in range(Nsparse)] for _ in range(3))
    dense = list(arrays)
    for items, ends in zip(values, splits):
        check_splits(ends, len(items))
    for column in zip(places, given, shapes):
        _check_matrix(*column)
    _check_dense(dense)
    counts = {len(ends) - 1 for ends in splits} | {int(shape[0]) for shape in shapes}
    counts |= {len(column) for column in dense}
    if len(counts) > 1 or min(counts, default=0) < 0:
        raise InvalidArgumentError("inputs must all have the same batch dimension size.")
    rows = max(counts, default=0)
    check_count(rows, "rows of crosses")
    kinds = {
        "R": iter([_ragged_column(v, ends, read) for v, ends in zip(values, splits)]),
        "S": iter([_sparse_column(p, v, rows, read) for p, v in zip(places, given)]),
        "D": iter([_dense_column(column, rows, read) for column in dense]),
    }
    columns = [next(kinds[kind]) for kind in input_order]
    join = partial(_bucket_of, start=hash_key, buckets=num_buckets)
    crosses, crossed, lengths = _crossed(columns, join if is_hashed else _joined_words, types[0])
    ends = np.zeros(rows + 1, np.int64)
    ends[np.array(crossed, np.int64) + 1] = lengths
    return [crosses, np.cumsum(ends).astype(types[1].numpy)]


def _infer_ragged(c: Inference) -> list[Dims]:
    sparse, dense = c.attrs["Nsparse"], len(c.attrs["dense_types"])
    ragged, splits = len(c.attrs["ragged_values_types"]), len(c.attrs["ragged_splits_types"])
    if ragged != splits:
        raise c.fail("ragged values and splits must have the same length.")
    if sparse != len(c.attrs["sparse_values_types"]):
        raise c.fail("sparse indices and values must have the same length")
    order = c.attrs["input_order"]
    if sorted(order) != sorted("R" * ragged + "S" * sparse + "D" * dense):
        raise c.fail(f"input_order '{order}' must name each of the inputs once: R, S or D")
    ranks = (*(1,) * 2 * ragged, *(2,) * sparse, *(1,) * 2 * sparse, *(2,) * dense)
    for i, rank in enumerate(ranks):
        if c.rank(i) != rank:
            raise c.fail(
                "tf.ragged.cross only supports inputs with rank=2: Shape must be rank "
                f"{rank} but is rank {c.rank(i)}"
            )
    columns = [c.dims(ragged + i)[0] - 1 for i in range(ragged)]
    columns += [c.dims(i)[0] for i in range(len(ranks) - dense, len(ranks))]
    for column in columns[1:]:
        c.equal(columns[0], column, "inputs must all have the same batch dimension size.")
    rows = columns[0] + 1 if columns else c.fresh("splits") if sparse else 1
    return [(c.fresh("n"),), (rows,)]


host_op(
    "ragged_cross",
    "RaggedCross(ragged_values: ragged_values_types, ragged_row_splits: ragged_splits_types,"
    " sparse_indices: Nsparse*i64, sparse_values: sparse_values_types, sparse_shape: Nsparse*i64,"
    " dense_inputs: dense_types; Nsparse: int >= 0, input_order: string, hashed_output: bool,"
    " num_buckets: int >= 0, hash_key: int, ragged_values_types: list({i64, string}) >= 0,"
    " ragged_splits_types: list({i32, i64}) >= 0, sparse_values_types: list({i64, string}) >= 0,"
    " dense_types: list({i64, string}) >= 0, out_values_type: {i64, string}, out_row_splits_type:"
    " {i32, i64}) -> output_values: out_values_type, output_row_splits: out_row_splits_type",
    _cross_ragged,
    infer=_infer_ragged,
)
