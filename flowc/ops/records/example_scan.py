"""Batches of `Example` messages read by a native kernel, where it is worth compiling.

In: serialized examples, the keys and dtypes of features. Out: the values of each feature, or None
where protobuf is to read the messages: the kernel knows only what writers usually write, and what
is wrong with an example is found and said one way. Invariant: values are those that protobuf gives.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.encoding.example_parts import BYTES_LIST, FLOAT_LIST
from flowc.ir.host_run import HostRun, StepKernel
from flowc.ops.kernels.wire.examples import scan_examples
from flowc.ops.records.features import KINDS, Values
from flowc.ops.strings.string_values import strings_of

FEWEST = 8  # examples, for which it takes less than protobuf
MOST_BYTES = 1 << 20  # of them: for longer ones protobuf takes no longer
_U8, _I64 = dtypes.u8, dtypes.i64
_SCAN = StepKernel(
    scan_examples, (_U8, _I64, _U8, _I64, _I64, _I64, _I64, _I64, _U8, _I64, _I64), 2
)


def scanned_values(
    items: Sequence[bytes], lists: Sequence[tuple[str, DType, int | None]], run: HostRun
) -> dict[str, Values] | None:
    """The values of features by key. `lists`: keys and dtypes, and how many values each example
    must have, None for any number."""
    count = len(items)
    keys = [key for key, _, _ in lists]
    if count < FEWEST or not keys or len(set(keys)) < len(keys):
        return None
    if not all(key.isascii() and dtype in KINDS for key, dtype, _ in lists):
        return None
    scan = run.kernel(_SCAN, count)
    if scan is None:
        return None
    joined = b"".join(items)
    size = len(joined)
    if size > MOST_BYTES:
        return None
    ends = np.cumsum(np.fromiter(map(len, items), np.int64, count))
    kinds = [KINDS[dtype] for _, dtype, _ in lists]
    key_bytes = "".join(keys).encode()
    counts = np.empty((len(keys), count), np.int64)
    ints, spans = np.empty(size + 1, np.int64), np.empty(size + 1, np.int64)
    floats, status = np.empty(size + 1, np.uint8), np.empty(1, np.int64)
    arrays = (
        np.frombuffer(joined, np.uint8),
        ends,
        np.frombuffer(key_bytes, np.uint8),
        np.cumsum(list(map(len, keys))),
        np.array(kinds),
        np.empty((len(keys), count, 2), np.int64),
        counts,
        ints,
        floats,
        spans,
        status,
    )
    scan(arrays, (count, len(keys)))
    if status[0]:
        return None
    found: dict[str, Values] = {}
    at = {kind: 0 for kind in KINDS.values()}
    for (key, _, wanted), kind, here in zip(lists, kinds, counts):
        if wanted is not None and (not wanted or (here != wanted).any()):
            return None
        start = at[kind]
        stop = at[kind] = start + int(here.sum())
        if kind == BYTES_LIST:
            places = iter(spans[2 * start : 2 * stop].tolist())
            flat = strings_of([joined[a:b] for a, b in zip(places, places)], (stop - start,))
        elif kind == FLOAT_LIST:
            flat = floats[4 * start : 4 * stop].view("<f4").copy()
        else:
            flat = ints[start:stop].copy()
        found[key] = Values(flat, here)
    return found
