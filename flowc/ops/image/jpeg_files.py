"""JPEG files, read and written by Pillow, and read by simplejpeg where it is installed.

In: a file, how many channels are wanted (0: those that it has), by how much it is made smaller, and
which part of it is wanted. Out: u8[height, width, channels]. Invariant: the pixels are those of
libjpeg's methods. simplejpeg has the fast one, too, which is TensorFlow's default; Pillow has only
the accurate one, which differs from it by a few units where files keep noise.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ops.image.pillow import FAULTS, opened, pillow

Array = np.ndarray[Any, Any]
MAGIC = b"\xff\xd8\xff"
FAULT = "jpeg::Uncompress failed. Invalid JPEG data or crop window."
MOST_PIXELS = 1 << 26  # of an image that is read before Pillow has looked at it
_END = b"\xff\xd9"
# Markers of frames: their heads say how large an image is.
_FRAMES = frozenset((0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF))


def decode_jpeg(
    data: bytes,
    channels: int,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    dct_method: str = "",
    crop: Sequence[int] | None = None,
) -> Array:
    """`crop`: top, left, height and width of the part wanted. Raises `InvalidArgumentError` for
    what is damaged, for a part that is not inside, and for four channels."""
    if channels == 4:
        raise InvalidArgumentError("JPEG does not support 4 channels")
    pillow()  # it has to be there, to say what is wrong with a file
    file = data + _END if try_recover_truncated else data
    pixels = _fast_pixels(file, channels, dct_method) if ratio == 1 and fancy_upscaling else None
    if pixels is None:
        pixels = _pixels_by_pillow(file, channels, ratio, fancy_upscaling, dct_method)
    if crop is not None:
        pixels = _cropped(pixels, crop)
    if channels == 3 and pixels.shape[2] == 1:
        pixels = np.broadcast_to(pixels, (*pixels.shape[:2], 3))
    return np.ascontiguousarray(pixels)


def _pixels_by_pillow(
    file: bytes, channels: int, ratio: int, fancy_upscaling: bool, dct_method: str
) -> Array:
    """Raises `InvalidArgumentError`."""
    image = opened(file, "JPEG", FAULT)
    if image.mode == "CMYK" and channels == 1:
        raise InvalidArgumentError(FAULT)
    spread = channels != 1 and image.mode == "RGB" and _largest_sampling(image) > 1
    try:
        if spread and not fancy_upscaling and ratio == 1:
            pixels = _plainly_upscaled(file)
        else:
            found = None
            if ratio == 1 and not fancy_upscaling:
                found = _fast_pixels(file, channels, dct_method)
            mode = "L" if channels == 1 else None
            pixels = _pixels(image, mode, ratio) if found is None else found
    except FAULTS:
        raise InvalidArgumentError(FAULT) from None
    return _without_black(pixels) if pixels.shape[2] == 4 else pixels


@cache
def _fast_decoder() -> Any:
    """The module simplejpeg; None where it is not installed."""
    try:
        return import_module("simplejpeg")
    except ImportError:
        return None


def _fast_pixels(data: bytes, channels: int, dct_method: str) -> Array | None:
    """The pixels by simplejpeg; None where it is not installed, or has an objection, so that Pillow
    says what is wrong."""
    module = _fast_decoder()
    if module is None:
        return None
    try:
        height, width, found, _ = module.decode_jpeg_header(data)
        if found not in ("YCbCr", "RGB", "Gray") or height * width > MOST_PIXELS:
            return None
        colors = "GRAY" if channels == 1 or found == "Gray" else "RGB"
        return module.decode_jpeg(data, colors, fastdct=dct_method != "INTEGER_ACCURATE")
    except ValueError:
        return None


def _pixels(image: Any, mode: str | None, ratio: int) -> Array:
    """In another colour space and smaller, as libjpeg does it while it reads."""
    width, height = image.size
    if ratio > 1 or mode is not None:
        # Pillow takes the largest of 1, 2, 4 and 8 that is at most size // wanted.
        image.draft(mode, (width / (ratio + 0.5), height / (ratio + 0.5)))
    pixels = np.asarray(image)
    return pixels[:, :, None] if pixels.ndim == 2 else pixels


def _largest_sampling(image: Any) -> int:
    return max(size for _, *sizes, _ in image.layer for size in sizes)


def _plainly_upscaled(data: bytes) -> Array:
    """Each colour of a smaller plane given to the pixels that it stands for, nothing between them.
    Of an image made half as large, libjpeg gives colours of half the size as they are."""
    image = opened(data, "JPEG", FAULT)
    (_, across, down, _), *others = image.layer
    if (across, down) != (2, 2) or any((h, v) != (1, 1) for _, h, v, _ in others):
        return _pixels(image, None, 1)
    light = _pixels(image, "YCbCr", 1)[:, :, 0].astype(np.int64)
    small = _pixels(opened(data, "JPEG", FAULT), "YCbCr", 2)[:, :, 1:].astype(np.int64) - 128
    blue, red = np.moveaxis(
        small.repeat(2, 0).repeat(2, 1)[: light.shape[0], : light.shape[1]], 2, 0
    )
    half = 1 << 15
    colors = (
        light + ((91881 * red + half) >> 16),
        light + ((-22554 * blue - 46802 * red + half) >> 16),
        light + ((116130 * blue + half) >> 16),
    )
    return np.clip(np.stack(colors, -1), 0, 255).astype(np.uint8)


def _without_black(pixels: Array) -> Array:
    """Cyan, magenta, yellow and black as red, green and blue."""
    light = 255 - pixels.astype(np.int32)
    return (light[:, :, :3] * light[:, :, 3:] // 255).astype(np.uint8)


def _cropped(pixels: Array, window: Sequence[int]) -> Array:
    top, left, height, width = window
    inside = top >= 0 and left >= 0 and height > 0 and width > 0
    if not inside or top + height > pixels.shape[0] or left + width > pixels.shape[1]:
        raise InvalidArgumentError(FAULT)
    return pixels[top : top + height, left : left + width]


def jpeg_shape(data: bytes) -> tuple[int, int, int]:
    """Height, width and channels, as the head of the file says. Raises `InvalidArgumentError`."""
    at = 2
    while data.startswith(MAGIC) and at + 9 < len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker in _FRAMES:
            sizes = [int.from_bytes(data[at + i : at + i + 2], "big") for i in (5, 7)]
            return sizes[0], sizes[1], data[at + 9]
        # Fill bytes stand alone; other markers of a head have a length.
        at += 1 if marker == 0xFF else 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    raise InvalidArgumentError(f"Invalid JPEG data, size {len(data)}")


def encode_jpeg(
    pixels: Array,
    quality: int,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density: tuple[float, float] = (300, 300),
    xmp_metadata: str = "",
) -> bytes:
    """u8[height, width, 1 or 3] as a file. `density`: pixels an inch."""
    single = pixels.shape[2] == 1
    image = pillow().fromarray(np.ascontiguousarray(pixels[:, :, 0] if single else pixels))
    more: dict[str, Any] = {"xmp": xmp_metadata.encode()} if xmp_metadata else {}
    found = io.BytesIO()
    image.save(
        found,
        "JPEG",
        quality=quality,
        progressive=progressive,
        optimize=optimize_size,
        subsampling="4:2:0" if chroma_downsampling else "4:4:4",
        dpi=density,
        **more,
    )
    return found.getvalue()
