"""The sorted table that checkpoints keep their index in (the format of LevelDB).

In: a whole file. Out: (key, value) pairs in the order of the file.
Invariant: every block's checksum is verified before a byte of it is believed; every length is
checked against the bytes that are there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import google_crc32c
import numpy as np

from flowc.checkpoint.snappy import decompress
from flowc.encoding.wire import FileBytes, varint
from flowc.errors import DataLossError

FOOTER = 48
MAGIC = 0xDB4775248B80FB57
TRAILER = 5  # compression type, checksum
_MASK_DELTA = 0xA282EAD8


def masked_crc(data: bytes | memoryview) -> int:
    """The CRC-32C of `data`, masked as files store it."""
    return mask(crc(data))


def crc(data: bytes | memoryview, before: int = 0) -> int:
    """The CRC-32C of `data`, going on from `before`."""
    if not len(data):
        return before
    return google_crc32c.extend(before, np.frombuffer(data, np.uint8))


def mask(value: int) -> int:
    return ((value >> 15 | value << 17) + _MASK_DELTA) & 0xFFFFFFFF


def damage(region: FileBytes, at: int, message: str) -> DataLossError:
    return DataLossError(
        f"{region.name}, byte {region.base + at}: {message}",
        hint="the file is damaged or incomplete: copy it again from where it was made",
    )


def is_table(region: FileBytes) -> bool:
    """Whether a file ends as tables do."""
    tail = bytes(region.view[-8:])
    return len(region) >= FOOTER and struct.unpack("<Q", tail)[0] == MAGIC


def read_table(region: FileBytes) -> Iterator[tuple[bytes, memoryview]]:
    """Every (key, value) of a table. Raises `DataLossError` where it is damaged."""
    if len(region) < FOOTER:
        raise damage(region, 0, f"a table takes at least {FOOTER} bytes, found {len(region)}")
    if not is_table(region):
        raise damage(region, len(region) - 8, "this is no table: the magic number is missing")
    at = len(region) - FOOTER
    _, at = _handle(region, region.view, at)
    index, _ = _handle(region, region.view, at)
    last = b""
    for key, value in _entries(_block(region, index), region, index[0]):
        handle, _ = _handle(region, value, 0)
        for key, content in _entries(_block(region, handle), region, handle[0]):
            if key <= last and last:
                raise damage(region, handle[0], f"key {key[:80]!r} stands behind {last[:80]!r}")
            last = key
            yield key, content


def _varint(region: FileBytes, view: memoryview, at: int) -> tuple[int, int]:
    try:
        return varint(view, at)
    except (IndexError, ValueError):
        raise damage(region, 0, "a number in the table is cut off") from None


def _handle(region: FileBytes, view: memoryview, at: int) -> tuple[tuple[int, int], int]:
    """((offset, size) of a block, position behind it)."""
    offset, at = _varint(region, view, at)
    size, at = _varint(region, view, at)
    if offset + size + TRAILER > len(region) - FOOTER:
        raise damage(
            region, 0, f"a block of {size} bytes at {offset} in a file of {len(region)} bytes"
        )
    return (offset, size), at


def _block(region: FileBytes, handle: tuple[int, int]) -> memoryview:
    """The verified, uncompressed content of a block."""
    offset, size = handle
    end = offset + size
    stored = struct.unpack("<I", region.view[end + 1 : end + TRAILER])[0]
    found = masked_crc(region.view[offset : end + 1])
    if found != stored:
        raise damage(region, offset, f"checksum of a block: {found:08x}, stored {stored:08x}")
    match region.view[end]:
        case 0:
            return region.view[offset:end]
        case 1:
            try:
                return memoryview(decompress(bytes(region.view[offset:end])))
            except ValueError as error:
                raise damage(region, offset, str(error)) from None
        case other:
            raise damage(region, offset, f"a block of compression type {other}; known are 0 and 1")


def _entries(
    block: memoryview, region: FileBytes, offset: int
) -> Iterator[tuple[bytes, memoryview]]:
    if len(block) < 4:
        raise damage(region, offset, "a block without its restart points")
    restarts = struct.unpack("<I", block[-4:])[0]
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise damage(
            region, offset, f"a block of {len(block)} bytes with {restarts} restart points"
        )
    at = 0
    key = b""
    while at < end:
        shared, at = _varint(region, block, at)
        fresh, at = _varint(region, block, at)
        length, at = _varint(region, block, at)
        if shared > len(key) or at + fresh + length > end:
            raise damage(region, offset, "an entry of a block reaches beyond it")
        key = key[:shared] + bytes(block[at : at + fresh])
        at += fresh
        yield key, block[at : at + length]
        at += length
