"""Fields of protobuf messages as bytes: a number and its content, one field after another.

In: field numbers and contents. Out: bytes of a message. Invariant: what is written is what protobuf
writes for the same fields in the same order.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from flowc.encoding.wire import BYTES, FIXED32, FIXED64, VARINT, varint_bytes

WORD = (1 << 64) - 1


def _tag(field: int, kind: int) -> bytes:
    return varint_bytes(field << 3 | kind)


def varint_field(field: int, number: int) -> bytes:
    return _tag(field, VARINT) + varint_bytes(number & WORD)


def double_field(field: int, number: float) -> bytes:
    return _tag(field, FIXED64) + struct.pack("<d", number)


def float_field(field: int, number: float) -> bytes:
    return _tag(field, FIXED32) + struct.pack("<f", number)


def bytes_field(field: int, content: bytes) -> bytes:
    return _tag(field, BYTES) + varint_bytes(len(content)) + content


def doubles_field(field: int, numbers: Sequence[float]) -> bytes:
    """A packed list."""
    return bytes_field(field, struct.pack(f"<{len(numbers)}d", *numbers)) if numbers else b""


def given(field: bytes, present: object) -> bytes:
    """A field that a message leaves out where it is 0, false or empty."""
    return field if present else b""
