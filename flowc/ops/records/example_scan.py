"""Batches of `Example` messages read by a native kernel, where it is worth compiling.

In: serialized examples, and what is wanted of them. Out: the features as tensors, or None where
protobuf is to read the messages: the kernel knows only what writers usually write, and what is
wrong with an example is found and said one way. Invariant: values are those that protobuf gives.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.encoding.example_parts import BYTES_LIST, FLOAT_LIST, INT64_LIST
from flowc.ir.host_run import HostRun, StepKernel
from flowc.ops.kernels.wire.examples import scan_examples
from flowc.ops.records.features import KINDS, Array, Parsed, Shape, Values, Wanted, filled_up

FEWEST = 8  # examples, for which it takes less than protobuf
MOST_KEPT = 1 << 18  # elements of an array
MOST_BYTES = 1 << 20  # of them: for longer ones protobuf takes no longer
ANY = -1  # number of values
_U8, _I64 = dtypes.u8, dtypes.i64
_SCAN = StepKernel(
    scan_examples,
    (_U8, _I64, _U8, *[_I64] * 7, _U8, *[_I64] * 3),  # bytes: messages, keys and floats
    3,
)


@dataclass(frozen=True, slots=True)
class _WantedKeys:
    """What the kernel is told of keys. `missing`: how many values of each kind stand for those of a
    message that lacks all keys of known sizes."""

    kinds: list[int]
    arrays: Sequence[Array]
    missing: dict[int, int]


@lru_cache(maxsize=256)
def _keys(wanted: Sequence[tuple[str, DType, int]]) -> _WantedKeys | None:
    """`wanted`: keys, dtypes, and how many values each message has. None where protobuf is to
    compare them."""
    keys, found, sizes = [list(part) for part in zip(*wanted)] if wanted else ([], [], [])
    if not keys or len(set(keys)) < len(keys) or 0 in sizes:
        return None
    if not all(key.isascii() and dtype in KINDS for key, dtype in zip(keys, found)):
        return None
    kinds = [KINDS[dtype] for dtype in found]
    missing = dict.fromkeys(KINDS.values(), 0)
    for kind, size in zip(kinds, sizes):
        missing[kind] += max(0, size)
    names, ends = "".join(keys).encode(), np.cumsum(list(map(len, keys)))
    arrays = (np.frombuffer(names, np.uint8), ends, np.array(kinds), np.array(sizes))
    return _WantedKeys(kinds, arrays, missing)


def _wanted_keys(wanted: Wanted) -> tuple[tuple[str, DType, int], ...]:
    dense = [(key, dtype, _size(shape)) for key, dtype, shape, _ in wanted.dense]
    ragged = [(key, dtype, ANY) for key, dtype, _ in wanted.ragged]
    return (*[(key, dtype, ANY) for key, dtype in wanted.sparse], *dense, *ragged)


def _size(shape: Shape) -> int:
    return ANY if _is_open(shape) else math.prod(_sizes(shape))


def _is_open(shape: Shape) -> bool:
    return bool(shape) and shape[0] is None


def _sizes(shape: Shape) -> list[int]:
    return [size or 0 for size in shape]


class _ThreadMemory(threading.local):
    """Memory of this thread that kernels write to. A system gives new memory page by page, which
    takes longer than the kernel itself."""

    def __init__(self) -> None:
        self._held: dict[str, Array] = {}

    def of(self, name: str, size: int, dtype: type) -> Array:
        """An array of at least so many elements, which holds anything."""
        found = self._held.get(name)
        if found is None or len(found) < size:
            found = np.empty(size, dtype)
            if size <= MOST_KEPT:
                self._held[name] = found
        return found


_memory = _ThreadMemory()


class _ScannedMessages:
    """What the kernel finds in messages, key after key. One at a time in a thread."""

    def __init__(self, data: bytes, count: int, keys: _WantedKeys, sparse: int) -> None:
        size, missing = len(data) + 1, keys.missing
        self._data, self._count = data, count
        self._counts = np.empty((len(keys.kinds), count), np.int64)
        self._totals = np.empty((len(keys.kinds), 3), np.int64)
        self._ints = _memory.of("ints", size + count * missing[INT64_LIST], np.int64)
        self._floats = _memory.of("floats", size + 4 * count * missing[FLOAT_LIST], np.uint8)
        self._spans = _memory.of("spans", size + 2 * count * missing[BYTES_LIST], np.int64)
        self._indices = _memory.of("indices", 2 * size if sparse else 0, np.int64)
        self._given = zip(keys.kinds, self._counts)
        self._pairs = 0
        self._at = dict.fromkeys(KINDS.values(), 0)

    @property
    def arrays(self) -> Sequence[Array]:
        """What the kernel writes."""
        found = (self._counts, self._totals, self._ints, self._floats)
        return (*found, self._spans, self._indices)

    def totals(self) -> list[list[int]]:
        """For each key how many values there are, the most of a message, and how many lack it."""
        return self._totals.tolist()

    def next(self, total: int, shape: Sequence[int]) -> tuple[Array, Array]:
        """The values of the next key, in an array of their own, and how many each message has."""
        kind, counts = next(self._given)
        start = self._at[kind]
        stop = self._at[kind] = start + total
        if kind == FLOAT_LIST:
            return self._floats[4 * start : 4 * stop].view("<f4").reshape(shape).copy(), counts
        if kind == INT64_LIST:
            return self._ints[start:stop].reshape(shape).copy(), counts
        data, places = self._data, iter(self._spans[2 * start : 2 * stop].tolist())
        found = np.empty(shape, object)
        found.reshape(-1)[:] = [data[a:b] for a, b in zip(places, places)]
        return found, counts

    def indices(self, count: int) -> Array:
        """The indices [count, 2] of the next `count` values of sparse features."""
        start = self._pairs
        self._pairs += count
        return self._indices[2 * start : 2 * self._pairs].reshape(count, 2).copy()


def scanned_features(items: Sequence[bytes], wanted: Wanted, run: HostRun) -> Parsed | None:
    """The features of all examples."""
    count, sparse = len(items), len(wanted.sparse)
    keys = _keys(_wanted_keys(wanted)) if count >= FEWEST else None
    scan = None if keys is None else run.kernel(_SCAN, count)
    if keys is None or scan is None:
        return None
    data = b"".join(items)
    if len(data) + count * sum(keys.missing.values()) > MOST_BYTES:
        return None
    found, status = _ScannedMessages(data, count, keys, sparse), np.empty(1, np.int64)
    lengths = np.fromiter(map(len, items), np.int64, count)
    places = np.empty((len(keys.kinds), count, 2), np.int64)
    told = (np.frombuffer(data, np.uint8), lengths, *keys.arrays, places)
    scan((*told, *found.arrays, status), (count, len(keys.kinds), sparse))
    return None if status[0] else _parsed(found, count, wanted)


def _parsed(scan: _ScannedMessages, count: int, wanted: Wanted) -> Parsed | None:
    """The tensors; None where protobuf is to say what is wrong with an example."""
    found, totals = Parsed(), iter(scan.totals())
    for _ in wanted.sparse:
        total, longest, _ = next(totals)
        values, _ = scan.next(total, (total,))
        found.indices.append(scan.indices(total))
        found.values.append(values)
        found.shapes.append(np.array((count, longest), np.int64))
    for _, _, shape, default in wanted.dense:
        total, _, missing = next(totals)
        sizes = _sizes(shape)
        if _is_open(shape):
            values, counts = scan.next(total, (total,))
            size = math.prod(sizes[1:])
            if size and (counts % size).any():
                return None
            found.dense.append(filled_up(Values(values, counts), sizes[1:], default))
            continue
        values, counts = scan.next(total, (count, *sizes))
        if missing:
            if default.size * count != total:
                return None
            values[counts < 0] = default.reshape(sizes)
        found.dense.append(values)
    for _, _, split_dtype in wanted.ragged:
        total, _, _ = next(totals)
        values, counts = scan.next(total, (total,))
        found.ragged_values.append(values)
        found.ragged_splits.append(Values(values, counts).splits(split_dtype))
    return found
