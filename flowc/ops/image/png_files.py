"""PNG files: pixels of 8 and 16 bits, read by Pillow and by NumPy, written by NumPy.

In: a file, how many channels are wanted (0: those that it has), whether 16 bits are. Out: u8 or
u16[height, width, channels]. Invariant: what TensorFlow (libpng) reads, to the bit.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ops.image.pillow import FAULTS, opened

Array = np.ndarray[Any, Any]
MAGIC = b"\x89PNG\r\n\x1a\n"
_HEAD = "Invalid PNG. Failed to initialize decoder."
_GRAY, _RGB, _PALETTE, _GRAY_ALPHA, _RGBA = 0, 2, 3, 4, 6  # the header's colour types
CHANNELS = {_GRAY: 1, _RGB: 3, _GRAY_ALPHA: 2, _RGBA: 4}
_LUMA = np.array([9797, 19234, 3737])  # of 1 << 15: libpng's weights of red, green and blue
_MOST = 1 << 29  # elements of an image, as in TensorFlow


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The type and content of each chunk. Raises `ValueError` where one is cut or damaged."""
    at = len(MAGIC)
    while at < len(data):
        head = data[at : at + 8]
        size = int.from_bytes(head[:4], "big")
        content, check = data[at + 8 : at + 8 + size], data[at + 8 + size : at + 12 + size]
        is_critical = head[4:5].isupper()
        if len(check) < 4 or (
            is_critical
            and zlib.crc32(content, zlib.crc32(head[4:])) != int.from_bytes(check, "big")
        ):
            raise ValueError("a chunk is damaged")
        yield head[4:], content
        if head[4:] == b"IEND":
            return
        at += 12 + size


def decode_png(data: bytes, channels: int, deep: bool) -> Array:
    """Raises `InvalidArgumentError` for what is no PNG, and for one that is damaged."""
    if len(data) < 33 or data[12:16] != b"IHDR" or zlib.crc32(data[12:29]) != _number(data, 29):
        raise InvalidArgumentError(_HEAD)
    width, height, depth, color = struct.unpack(">IIBB", data[16:26])
    if not width or not height or width * height * max(channels, 1) > _MOST:
        raise InvalidArgumentError(_HEAD)
    damaged = f"Invalid PNG data, size {len(data)}"
    try:
        chunks = list(_chunks(data))
        if depth == 16:
            pixels, clear = _deep_pixels(chunks, damaged), _clear(chunks)
        else:
            pixels, clear = _shallow_pixels(data, color, channels, damaged)
    except (*FAULTS, zlib.error, KeyError):
        raise InvalidArgumentError(damaged) from None
    found = _with_channels(pixels, channels, clear, depth)
    if deep and found.dtype == np.uint8:
        return found * np.uint16(257)
    return (found >> 8).astype(np.uint8) if not deep and found.dtype == np.uint16 else found


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big")


def _clear(chunks: list[tuple[bytes, bytes]]) -> Array | None:
    """The colour of 16 bits that is transparent, if one is."""
    found = [np.frombuffer(content, ">u2") for kind, content in chunks if kind == b"tRNS"]
    return found[0] if found else None


def _shallow_pixels(
    data: bytes, color: int, channels: int, fault: str
) -> tuple[Array, Array | None]:
    """u8 pixels, and the colour that is transparent, if one is."""
    image = opened(data, "PNG", fault)
    clear = image.info.get("transparency")
    if color == _PALETTE:
        with_alpha = clear is not None and channels in (0, 4)
        return np.asarray(image.convert("RGBA" if with_alpha else "RGB")), None
    if image.mode == "1":
        image, clear = image.convert("L"), None if clear is None else 255 * clear
    pixels = np.asarray(image)
    pixels = pixels if pixels.ndim == 3 else pixels[:, :, None]
    return pixels, None if clear is None else np.array(clear).reshape(-1)


def _with_channels(pixels: Array, channels: int, clear: Array | None, depth: int) -> Array:
    """The wanted channels of pixels that are gray, gray with alpha, RGB or RGBA. An alpha that the
    file has not is the largest number of its depth, as in TensorFlow."""
    count = pixels.shape[2]
    if channels in (0, count):
        return pixels
    colors = pixels[:, :, : count - 1] if count in (2, 4) else pixels
    if channels == 1:
        return np.ascontiguousarray(colors) if colors.shape[2] == 1 else _gray(colors)
    alpha = pixels[:, :, count - 1 :]
    if count in (1, 3):
        alpha = np.full_like(alpha, (1 << depth) - 1)
        if clear is not None:
            alpha[(colors == clear).all(-1)] = 0
    colors = np.broadcast_to(colors, (*colors.shape[:2], 3))
    return np.ascontiguousarray(colors if channels == 3 else np.concatenate([colors, alpha], 2))


def _gray(colors: Array) -> Array:
    """libpng rounds down in 8 bits, to the nearest in 16."""
    half = 1 << 14 if colors.dtype == np.uint16 else 0
    return ((colors.astype(np.int64) @ _LUMA + half) >> 15).astype(colors.dtype)[:, :, None]


# -- 16 bits


def _deep_pixels(chunks: list[tuple[bytes, bytes]], fault: str) -> Array:
    """u16 pixels. Gray and gray with alpha are what Pillow reads when it takes the bytes for
    channels of 8 bits; it has nothing of six or eight bytes a pixel."""
    width, height, _, color, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[0][1])
    count = CHANNELS[color]
    if count > 2 and interlaced:
        raise InvalidArgumentError(f"{fault}: interlaced colours of 16 bits are not read")
    if count > 2:
        rows = zlib.decompress(b"".join(content for kind, content in chunks if kind == b"IDAT"))
        return _unfiltered(rows, height, width, count)
    head = bytearray(chunks[0][1])
    head[8], head[9] = 8, _GRAY_ALPHA if count == 1 else _RGBA
    kept = [(kind, content) for kind, content in chunks if kind in (b"IDAT", b"IEND")]
    image = opened(png_file([(b"IHDR", bytes(head)), *kept]), "PNG", fault)
    return np.asarray(image).reshape(height, width, -1).view(">u2").astype(np.uint16)


def _unfiltered(data: bytes, height: int, width: int, count: int) -> Array:
    """The pixels of filtered rows: bytes that were predicted from those to the left and above."""
    step, size = 2 * count, 2 * count * width
    rows = np.frombuffer(data, np.uint8, height * (size + 1)).reshape(height, size + 1)
    found = np.zeros((height + 1, width + 1, step), np.uint8)
    for row in range(height):
        given = rows[row, 1:].reshape(width, step)
        above, line = found[row], found[row + 1]
        match rows[row, 0]:
            case 0:
                line[1:] = given
            case 1:
                line[1:] = np.cumsum(given, 0, dtype=np.uint8)
            case 2:
                line[1:] = given + above[1:]
            case 3:
                for i in range(width):
                    left = line[i].astype(np.int16)
                    line[i + 1] = given[i] + ((left + above[i + 1]) >> 1).astype(np.uint8)
            case 4:
                for i in range(width):
                    line[i + 1] = given[i] + _paeth(line[i], above[i + 1], above[i])
            case _:
                raise ValueError("an unknown filter")
    return np.ascontiguousarray(found[1:, 1:]).view(">u2").astype(np.uint16)


def _paeth(left: Array, above: Array, corner: Array) -> Array:
    """Which of the three neighbours is nearest to left + above - corner."""
    a, b, c = (x.astype(np.int16) for x in (left, above, corner))
    to_a, to_b, to_c = abs(b - c), abs(a - c), abs(a + b - 2 * c)
    nearest = np.where((to_a <= to_b) & (to_a <= to_c), a, np.where(to_b <= to_c, b, c))
    return nearest.astype(np.uint8)


# -- written


def png_file(chunks: list[tuple[bytes, bytes]]) -> bytes:
    parts = [MAGIC]
    for kind, content in chunks:
        check = zlib.crc32(content, zlib.crc32(kind))
        parts += [struct.pack(">I", len(content)), kind, content, struct.pack(">I", check)]
    return b"".join(parts)


def encode_png(pixels: Array, compression: int = -1) -> bytes:
    """u8 or u16[height, width, 1 to 4 channels] as a PNG file. `compression`: zlib's, 0 to 9."""
    height, width, channels = pixels.shape
    size = pixels.dtype.itemsize
    color = {n: color for color, n in CHANNELS.items()}[channels]
    head = struct.pack(">IIBBBBB", width, height, 8 * size, color, 0, 0, 0)
    rows = np.ascontiguousarray(pixels.astype(f">u{size}")).view(np.uint8).reshape(height, -1)
    step = channels * size
    changes = rows.copy()
    changes[:, step:] -= rows[:, :-step]  # the filter 1: from the pixel to the left
    filtered = np.concatenate([np.ones((height, 1), np.uint8), changes], 1)
    packed = zlib.compress(filtered.tobytes(), compression)
    return png_file([(b"IHDR", head), (b"IDAT", packed), (b"IEND", b"")])
