"""Fields of protobuf messages, as event files need them: number and content to bytes."""

from __future__ import annotations

import struct

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _tag(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def varint_field(field: int, number: int) -> bytes:
    return _tag(field, VARINT) + _varint(number)


def double_field(field: int, number: float) -> bytes:
    return _tag(field, FIXED64) + struct.pack("<d", number)


def float_field(field: int, number: float) -> bytes:
    return _tag(field, FIXED32) + struct.pack("<f", number)


def bytes_field(field: int, content: bytes) -> bytes:
    return _tag(field, BYTES) + _varint(len(content)) + content


def scalar_summary(tag: str, number: float) -> bytes:
    """A Summary of one number."""
    value = bytes_field(1, tag.encode()) + float_field(2, number)
    return bytes_field(1, value)
