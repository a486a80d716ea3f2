"""GIF files: their frames as TensorFlow lays them over each other.

In: a file. Out: u8[frames, height, width, 3]. Invariants: a frame is drawn over the one before it,
whatever the file says of disposal; where it is transparent, that one stays; before the first one
everything is black. Pillow unpacks one frame at a time, of a file that holds nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from flowc.dataclass import dataclass
from flowc.errors import InvalidArgumentError
from flowc.ops.image.pillow import FAULTS, opened

Array = np.ndarray[Any, Any]
MAGIC = b"GIF8"
_EXTENSION, _IMAGE, _CONTROL, _END = 0x21, 0x2C, 0xF9, b";"
_MOST = 1 << 28  # elements of all frames


@dataclass(frozen=True, slots=True)
class _Picture:
    """Where it lies, its colours [n, 3], the one of them that is transparent, and its data from the
    descriptor of the image on."""

    left: int
    top: int
    width: int
    height: int
    colors: Array
    clear: int | None
    data: bytes


def _size(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "little")


def _table(data: bytes, at: int, flags: int) -> tuple[Array, int]:
    """The colours of a table that the flags announce, and where it ends."""
    count = 2 << (flags & 7) if flags & 0x80 else 0
    table = data[at : at + 3 * count]
    if len(table) < 3 * count:
        raise IndexError
    return np.frombuffer(table, np.uint8).reshape(count, 3), at + 3 * count


def _after_blocks(data: bytes, at: int) -> int:
    """Where a row of data blocks ends. Raises `IndexError` where the file does."""
    while data[at]:
        at += 1 + data[at]
    return at + 1


def _frames(data: bytes) -> Iterator[_Picture]:
    """The frames that are whole; an IndexError tells of one that is not."""
    shared, at = _table(data, 13, data[10])
    clear = None
    while at < len(data) and data[at : at + 1] != _END:
        if data[at] == _EXTENSION:
            if data[at + 1] == _CONTROL:
                clear = data[at + 6] if data[at + 3] & 1 else None
            at = _after_blocks(data, at + 2)
            continue
        if data[at] != _IMAGE:
            raise IndexError
        left, top, width, height = (_size(data, at + 1 + 2 * i) for i in range(4))
        own, start = _table(data, at + 10, data[at + 9])
        end = _after_blocks(data, start + 1)
        yield _Picture(left, top, width, height, own if len(own) else shared, clear, data[at:end])
        at, clear = end, None


def _indices(head: bytes, frame: _Picture, fault: str) -> Array:
    """The colours' numbers, unpacked by Pillow from a file of gray colours and this frame alone."""
    size = b"".join(n.to_bytes(2, "little") for n in (frame.width, frame.height))
    gray = bytes(i for i in range(256) for _ in range(3))
    image = frame.data[:1] + bytes(4) + size + bytes([frame.data[9] & 0x40])
    start = 10 + (3 * (2 << (frame.data[9] & 7)) if frame.data[9] & 0x80 else 0)
    file = head[:6] + size + b"\xf7\0\0" + gray + image + frame.data[start:] + _END
    return np.asarray(opened(file, "GIF", fault))


def decode_gif(data: bytes, first_only: bool = False) -> Array:
    """Raises `InvalidArgumentError` where no frame is whole."""
    fault = f"Invalid GIF data (size {len(data)})"
    frames: list[_Picture] = []
    try:
        for frame in _frames(data):
            frames.append(frame)
            if first_only:
                break
    except IndexError:
        pass  # what is whole is shown
    if not frames:
        raise InvalidArgumentError(f"{fault}, failed to slurp gif file: it ends within a frame")
    width, height = _size(data, 6) or frames[0].width, _size(data, 8) or frames[0].height
    if width * height * 3 * len(frames) > _MOST or not width * height:
        raise InvalidArgumentError(f"{fault}: {len(frames)} frames of {height}x{width}")
    found = np.zeros((len(frames), height, width, 3), np.uint8)
    for k, frame in enumerate(frames):
        if k:
            found[k] = found[k - 1]
        try:
            _draw(found[k], frame, _indices(data, frame, fault))
        except FAULTS:
            raise InvalidArgumentError(f"{fault}: frame {k} is damaged") from None
    return found


def _draw(canvas: Array, frame: _Picture, indices: Array) -> None:
    part = canvas[frame.top : frame.top + frame.height, frame.left : frame.left + frame.width]
    indices = indices[: part.shape[0], : part.shape[1]]
    shown = np.ones(indices.shape, np.bool_) if frame.clear is None else indices != frame.clear
    part[shown] = frame.colors[indices[shown]]
