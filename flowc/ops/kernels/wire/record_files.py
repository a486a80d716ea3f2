"""The native kernel of TFRecord files: where records are, with their checksums verified.

In: bytes, and where a record begins in them. Out: where the bytes of each begin and end, up to the
first that has a fault or is not whole. Invariant: checksums are CRC32C, masked as TensorFlow does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts by dtype.
    i64: Any = None
    u64: Any = None


# -- functions that kernels inline


def checksum(data: Any, tables: Any, at: int, stop: int) -> int:
    """The masked CRC-32C of bytes. `tables`: what a byte adds, for each of the eight places in a
    word."""
    crc = i64(0xFFFFFFFF)
    while at + 8 <= stop:
        low = tables[7 * 256 + ((crc ^ data[at]) & 255)]
        low = low ^ tables[6 * 256 + ((crc >> 8 ^ data[at + 1]) & 255)]
        low = low ^ tables[5 * 256 + ((crc >> 16 ^ data[at + 2]) & 255)]
        low = low ^ tables[4 * 256 + ((crc >> 24 ^ data[at + 3]) & 255)]
        high = tables[3 * 256 + i64(data[at + 4])]
        high = high ^ tables[2 * 256 + i64(data[at + 5])]
        high = high ^ tables[256 + i64(data[at + 6])]
        crc = low ^ high ^ tables[i64(data[at + 7])]
        at += 8
    while at < stop:
        crc = crc >> 8 ^ tables[(crc ^ data[at]) & 255]
        at += 1
    crc = crc ^ 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def little_endian(data: Any, at: int, size: int) -> int:
    value = i64(0)
    for i in range(size):
        value = value | i64(data[at + i]) << (8 * i)
    return value


# -- kernels


def scan_records(
    data: Any, tables: Any, spans: Any, found: Any,
    at: int, size: int, most: int, begin: int, end: int,
) -> None:  # fmt: skip
    """At most `most` records of `data`, which has `size` bytes; `found[0]`: how many."""
    count = 0
    goes_on = True
    while goes_on and count < most and at + 16 <= size:
        length = little_endian(data, at, 8)
        wanted = little_endian(data, at + 8, 4)
        goes_on = False
        if 0 <= length <= size - at - 16:
            check = checksum(data, tables, at, at + 8)
            if check == wanted:
                start = at + 12
                stop = start + length
                wanted = little_endian(data, stop, 4)
                check = checksum(data, tables, start, stop)
                if check == wanted:
                    spans[2 * count] = start
                    spans[2 * count + 1] = stop
                    count += 1
                    at = stop + 4
                    goes_on = True
    found[0] = count
