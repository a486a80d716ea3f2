"""Crosses of features: SparseCross.

In: sparse columns (places [n, 2], values [n], sizes [2]) and dense ones [rows, values]. Out: of
each row every way to take one value from each column, the last column's values changing fastest, as
a sparse tensor of words or of hashes. Invariant: the hashes are TensorFlow's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.lowering import Host
from flowc.ir.op import Inference, define
from flowc.ir.types import Dims
from flowc.ops.strings.hashes import fingerprints
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


def _columns(inputs: Sequence[Any], count: int, is_hashed: bool) -> tuple[list[Rows], int]:
    """The values of each column by row, and how many rows there are."""
    places, rest = inputs[:count], inputs[count:]
    given, shapes, dense = rest[:count], rest[count : 2 * count], rest[2 * count :]
    if any(len(shape) != 2 for shape in shapes) or any(p.shape[1] != 2 for p in places):
        raise InvalidArgumentError("Expected sparse columns of rank 2")
    counts = {int(shape[0]) for shape in shapes} | {len(column) for column in dense}
    if len(counts) > 1 or min(counts, default=0) < 0:
        raise InvalidArgumentError(f"Expected batch size {min(counts)}, got {max(counts)}")
    read = _numbers if is_hashed else _words
    rows = max(counts, default=0)
    found = [_by_row(p, read(np.asarray(v)), rows) for p, v in zip(places, given)]
    for column in dense:
        at = np.indices(column.shape).reshape(2, -1).T
        found.append(_by_row(at, read(np.ascontiguousarray(column).reshape(-1)), rows))
    return found, rows


def _cross(
    inputs: Sequence[Any],
    types: Sequence[DType],
    *,
    N: int,
    num_buckets: int,
    hash_key: int,
) -> list[Array]:
    is_hashed = types[1] is dtypes.i64  # whatever `hashed_output` says

    def one(taken: Sequence[Any]) -> Any:
        if not is_hashed:
            return b"_X_".join(taken)
        found = hash_key & _WORD
        for number in taken:
            found = _joined_hashes(found, number)
        return found % (num_buckets or _LARGEST)

    columns, rows = _columns(inputs, N, is_hashed)
    crossed = sorted(set.intersection(*map(set, columns))) if columns else []
    lengths = [math.prod(len(column[row]) for column in columns) for row in crossed]
    check_count(sum(lengths), "crosses")
    ways = [product(*(column[row] for column in columns)) for row in crossed]
    values = np.empty(sum(lengths), types[1].numpy)
    values[:] = [one(taken) for several in ways for taken in several]
    places = np.empty((len(values), 2), np.int64)
    places[:, 0] = np.repeat(crossed, lengths)
    places[:, 1] = [place for length in lengths for place in range(length)]
    return [places, values, np.array([rows, max(lengths, default=0)], np.int64)]


def _infer(c: Inference) -> list[Dims]:
    count = c.attrs["N"]
    for k in range(count):
        c.need_rank(k, 2, f"Shape must be rank 2 but is rank {c.rank(k)}")
        c.need_rank(count + k, 1, f"Shape must be rank 1 but is rank {c.rank(count + k)}")
        c.equal(c.dims(k)[0], c.dims(count + k)[0])
    crosses = c.fresh("n")
    return [(crosses, 2), (crosses,), (2,)]


define(
    "sparse_cross",
    "SparseCross(indices: N*i64, values: sparse_types, shapes: N*i64, dense_inputs:"
    " dense_types; N: int >= 0, hashed_output: bool, num_buckets: int >= 0, hash_key: int,"
    " sparse_types: list({i64, string}) >= 0, dense_types: list({i64, string}) >= 0,"
    " out_type: {i64, string}, internal_type: {i64, string}) -> output_indices: i64,"
    " output_values: out_type, output_shape: i64",
    infer=_infer,
    lowering=Host(
        _cross,
        "SparseCross",
        ("N", "num_buckets", "hash_key"),
        only_reads=True,
    ),
)
