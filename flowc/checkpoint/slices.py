"""Slices of partitioned tensors: their keys in a table, and where they lie in the whole.

In: a TensorSliceProto. Out: (start, length) a dimension, and the key that the slice is stored
under.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Extents = tuple[tuple[int, int], ...]  # (start, length) of each dimension
FULL = -1  # a length: the whole dimension

_HEADERS = (
    (0, 0), (0x80, 0), (0xC0, 0), (0xE0, 0), (0xF0, 0), (0xF8, 0),
    (0xFC, 0), (0xFE, 0), (0xFF, 0), (0xFF, 0x80), (0xFF, 0xC0),
)  # fmt: skip


def extents_of(proto: Any) -> Extents:
    """The extents of a slice; a dimension without a length is whole."""
    return tuple(
        (e.start, e.length if e.WhichOneof("has_length_hack") else FULL) for e in proto.extent
    )


def resolve(extents: Extents, shape: Sequence[int]) -> tuple[slice, ...] | None:
    """The slice as Python slices of a tensor of this shape, or None where it does not fit in."""
    if len(extents) != len(shape):
        return None
    found: list[slice] = []
    for (start, length), size in zip(extents, shape):
        stop = size if length == FULL and start == 0 else start + length
        if start < 0 or length < FULL or not start <= stop <= size:
            return None
        found.append(slice(start, stop))
    return tuple(found)


def cover(shape: Sequence[int], places: Sequence[tuple[slice, ...]]) -> bool:
    """Whether places fill a tensor of this shape, each element once."""
    filled = np.zeros(shape, np.bool_)
    for place in places:
        if filled[place].any():
            return False
        filled[place] = True
    return bool(filled.all())


def slice_key(name: str, extents: Extents) -> bytes:
    """The key of a slice: an order-preserving code of (0, name, rank, extents)."""
    out = bytearray(_number(0))
    for byte in name.encode():
        out += {0: b"\x00\xff", 0xFF: b"\xff\x00"}.get(byte, bytes([byte]))
    out += b"\x00\x01"
    out += _number(len(extents))
    for start, length in extents:
        out += _signed(start) + _signed(length)
    return bytes(out)


def _number(value: int) -> bytes:
    content = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([len(content)]) + content


def _signed(value: int) -> bytes:
    magnitude = ~value if value < 0 else value
    length = magnitude.bit_length() // 7 + 1
    content = bytearray(value.to_bytes(10, "big", signed=True)[-length:])
    first, second = _HEADERS[length]
    content[0] ^= first
    if length > 1:
        content[1] ^= second
    return bytes(content)
