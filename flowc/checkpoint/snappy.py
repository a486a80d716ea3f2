"""Decompression of snappy blocks.

In: a compressed block. Out: its bytes; `ValueError` for a block that is damaged.
Invariant: memory is bounded by the size that the block states, which is checked against what its
bytes could at most expand to.
"""

from __future__ import annotations

from flowc.encoding.wire import varint

MAX_EXPANSION = 64  # a copy of 64 bytes takes 3: no block grows by more than about 22


def decompress(block: bytes) -> bytes:
    """The content of a raw snappy block."""
    try:
        size, at = varint(memoryview(block), 0)
    except (IndexError, ValueError):
        raise ValueError("a snappy block does not state its size") from None
    if size > MAX_EXPANSION * len(block):
        raise ValueError(f"a snappy block of {len(block)} bytes cannot hold {size}")
    out = bytearray()
    try:
        while at < len(block):
            tag = block[at]
            at += 1
            if tag & 3 == 0:
                length, at = _literal_length(block, tag, at)
                if at + length > len(block):
                    raise ValueError("a snappy literal is cut off")
                out += block[at : at + length]
                at += length
            else:
                offset, length, at = _copy(block, tag, at)
                if not 0 < offset <= len(out):
                    raise ValueError("a snappy copy reaches before the block")
                _append_copy(out, offset, length)
            if len(out) > size:
                break
    except IndexError:
        raise ValueError("a snappy block is cut off") from None
    if len(out) != size:
        raise ValueError(f"a snappy block states {size} bytes and holds {len(out)}")
    return bytes(out)


def _literal_length(block: bytes, tag: int, at: int) -> tuple[int, int]:
    length = tag >> 2
    if length < 60:
        return length + 1, at
    extra = length - 59
    if at + extra > len(block):
        raise IndexError
    return int.from_bytes(block[at : at + extra], "little") + 1, at + extra


def _copy(block: bytes, tag: int, at: int) -> tuple[int, int, int]:
    """(offset, length, position behind the element)."""
    if tag & 3 == 1:
        return (tag >> 5) << 8 | block[at], (tag >> 2 & 7) + 4, at + 1
    width = 2 if tag & 3 == 2 else 4
    if at + width > len(block):
        raise IndexError
    return int.from_bytes(block[at : at + width], "little"), (tag >> 2) + 1, at + width


def _append_copy(out: bytearray, offset: int, length: int) -> None:
    start = len(out) - offset
    if offset >= length:
        out += out[start : start + length]
    else:  # the copy overlaps itself: a repeated pattern
        pattern = bytes(out[start:])
        out += (pattern * (length // offset + 1))[:length]
