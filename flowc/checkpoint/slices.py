"""Slices of partitioned tensors: their keys in a table, and where they lie in the whole.

In: a TensorSliceProto. Out: (start, length) a dimension, and the key that the slice is stored
under.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from flowc.dataclass import dataclass
from flowc.errors import DataLossError, InvalidArgumentError

Extents = tuple[tuple[int, int], ...]  # (start, length) of each dimension
Place = tuple[slice, ...]  # where a slice lies in the whole
FULL = -1  # a length: the whole dimension

_HEADERS = (
    (0, 0), (0x80, 0), (0xC0, 0), (0xE0, 0), (0xF0, 0), (0xF8, 0),
    (0xFC, 0), (0xFE, 0), (0xFF, 0), (0xFF, 0x80), (0xFF, 0xC0),
)  # fmt: skip

_SPEC = re.compile(r"((?:\d+ )*)((?:-|\d+,\d+)(?::(?:-|\d+,\d+))*)?")


@dataclass(frozen=True, slots=True)
class Part:
    """A slice of a tensor whose whole shape is `shape`."""

    shape: tuple[int, ...]
    extents: Extents

    @property
    def place(self) -> Place | None:
        """The slice as Python slices of the whole, or None where it does not fit in."""
        return resolve(self.extents, self.shape)


def parse_part(text: str) -> Part | None:
    """The part that TensorFlow's text for it names: `5 3 0,2:-` is two rows, and all columns, of a
    tensor [5, 3]; None for another text."""
    found = _SPEC.fullmatch(text)
    if found is None:
        return None
    shape = tuple(map(int, found[1].split()))
    extents: list[tuple[int, int]] = []
    for word in (found[2] or "").split(":") if found[2] else []:
        start, _, length = word.partition(",")
        extents.append((0, FULL) if word == "-" else (int(start), int(length)))
    return Part(shape, tuple(extents)) if len(extents) == len(shape) else None


def fill_extents(proto: Any, extents: Extents) -> None:
    """Writes extents into a TensorSliceProto; a dimension that is whole has none."""
    for start, length in extents:
        extent = proto.extent.add()
        if length != FULL:
            extent.start, extent.length = start, length


def extents_of(proto: Any) -> Extents:
    """The extents of a slice; a dimension without a length is whole."""
    return tuple(
        (e.start, e.length if e.WhichOneof("has_length_hack") else FULL) for e in proto.extent
    )


def whole_place(shape: Sequence[int]) -> Place:
    return tuple(slice(0, size) for size in shape)


def resolve(extents: Extents, shape: Sequence[int]) -> Place | None:
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


def gathered(
    wanted: Place, stored: Iterable[tuple[Place, Callable[[], np.ndarray]]], dtype: np.dtype[Any]
) -> np.ndarray | None:
    """A region of a tensor, from the parts that it is stored in and what reads them; None where
    they do not cover it, each element once. No more is allocated than what was read."""
    found: list[tuple[Place, np.ndarray]] = []
    for place, read in stored:
        common = [slice(max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(place, wanted)]
        if all(c.start < c.stop for c in common):
            found.append((_within(common, wanted), read()[(*_within(common, place), ...)]))
    shape = tuple(w.stop - w.start for w in wanted)
    if sum(part.size for _, part in found) != math.prod(shape):
        return None
    if not cover(shape, [place for place, _ in found]):
        return None
    whole = np.empty(shape, dtype)
    for place, part in found:
        whole[place] = part
    return whole


def _within(region: Sequence[slice], place: Place) -> Place:
    """A region of the whole as a region of the slice around it."""
    return tuple(slice(r.start - p.start, r.stop - p.start) for r, p in zip(region, place))


def incomplete(
    where: str, name: str, shape: Sequence[int], wanted: Place
) -> DataLossError | InvalidArgumentError:
    """The error of a tensor, or a region of it, that its slices do not cover."""
    if wanted == whole_place(shape):
        return DataLossError(
            f"{where}: the slices of tensor {name!r} {list(shape)} do not make it whole"
        )
    region = ":".join(f"{w.start},{w.stop - w.start}" for w in wanted)
    return InvalidArgumentError(
        f"Does not have sufficient slices for partitioned tensor {name} to restore in slice_spec: "
        f"{region} ({where})"
    )


def cover(shape: Sequence[int], places: Sequence[Place]) -> bool:
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
