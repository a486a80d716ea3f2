"""BMP files without compression: 8 bits a pixel (taken for gray), 24 and 32.

In: a file, how many channels are wanted (0: those that it has). Out: u8[height, width, channels].
Invariant: what TensorFlow reads, which does not look at palettes.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from flowc.errors import InvalidArgumentError

Array = np.ndarray[Any, Any]
MAGIC = b"BM"
_HEAD = 32
_MOST = 1 << 29  # elements of an image


def decode_bmp(data: bytes, channels: int) -> Array:
    """Raises `InvalidArgumentError` for what is cut, for sizes that cannot be, and for other
    kinds of pixels."""
    if channels == 1:
        raise InvalidArgumentError("`channels` must be 0, 3 or 4 for BMP, but got 1")
    if len(data) < _HEAD:
        raise InvalidArgumentError(
            f"Incomplete bmp content, requires at least {_HEAD} bytes to find the header size, "
            f"width, height, and bpp, got {len(data)} bytes"
        )
    start, _, width, height, _, bits = struct.unpack("<IIiiHH", data[10:30])
    count, rows = bits // 8, abs(height)
    if count not in (1, 3, 4):
        raise InvalidArgumentError(
            f"Number of channels inherent in the image must be 1, 3 or 4, was {count}"
        )
    if width <= 0:
        raise InvalidArgumentError("Width must be positive")
    if not height or width * rows * max(count, channels) > _MOST:
        raise InvalidArgumentError(f"BMP: a width of {width} and a height of {height} cannot be")
    size = (width * count + 3) // 4 * 4  # rows are whole words
    missing = start + size * rows - len(data)
    if missing > 0:
        raise InvalidArgumentError(
            "Input size should match (header_size + row_size * abs_height) but they differ by "
            f"{-missing}"
        )
    lines = np.frombuffer(data, np.uint8, size * rows, start).reshape(rows, size)
    pixels = lines[:, : width * count].reshape(rows, width, count)
    if height > 0:
        pixels = pixels[::-1]  # from below
    return _with_channels(pixels, channels)


def _with_channels(pixels: Array, channels: int) -> Array:
    """From blue, green, red (and alpha), or gray."""
    count = pixels.shape[2]
    wanted = channels or count
    if count == 1:
        colors = np.broadcast_to(pixels, (*pixels.shape[:2], min(wanted, 3)))
    else:
        colors = pixels[:, :, 2::-1]
    if wanted < 4:
        return np.ascontiguousarray(colors)
    alpha = pixels[:, :, 3:] if count == 4 else np.full_like(pixels[:, :, :1], 255)
    return np.concatenate([colors, alpha], 2)
