"""Records of TFRecord files found by a native kernel, where it is worth compiling.

In: bytes, and where a record begins in them. Out: sound records, and where the next one begins.
Invariant: no byte is given whose checksum was not verified; the first record that has a fault, or
is not whole, is left to the reader of single records, which reports the error.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from flowc import dtypes
from flowc.ir.host_run import HostRun, StepKernel
from flowc.ops.kernels.wire.record_files import scan_records

FEWEST = 8  # records
LONG = 1 << 11  # bytes, for which the machine's own instruction for checksums is faster
_HEADER = 12
_SCAN = StepKernel(scan_records, (dtypes.u8, dtypes.i64, dtypes.i64, dtypes.i64), 3)
_POLYNOMIAL = 0x82F63B78  # of CRC32C, its bits reversed


@cache
def _tables() -> np.ndarray:
    """What a byte adds to the checksum of what follows it: i64[8, 256], for the eight places in a
    word."""
    values = np.arange(256, dtype=np.int64)
    for _ in range(8):
        values = np.where(values & 1, values >> 1 ^ _POLYNOMIAL, values >> 1)
    found = [values]
    for _ in range(7):
        found.append(values[found[-1] & 255] ^ found[-1] >> 8)
    return np.stack(found)


def sound_records(run: HostRun, data: bytes, at: int, count: int) -> tuple[list[bytes], int] | None:
    """At most `count` records."""
    if count < FEWEST or len(data) - at < _HEADER:
        return None
    if int.from_bytes(data[at : at + 8], "little") > LONG:
        return None
    scan = run.kernel(_SCAN, count)
    if scan is None:
        return None
    spans = np.empty(2 * count + 1, np.int64)
    scan(
        (np.frombuffer(data, np.uint8), _tables(), spans, spans[2 * count :]),
        (at, len(data), count),
    )
    found = int(spans[-1])
    places = iter(spans[: 2 * found].tolist())
    records = [data[a:b] for a, b in zip(places, places)]
    return records, int(spans[2 * found - 1]) + 4 if found else at
