"""Pillow, which reads and writes the image files that flowc does not read and write by itself.

In: the bytes of a file, and its format. Out: Pillow's image of it. Invariant: importing this does
not import Pillow, which only the extra `images` installs.
"""

from __future__ import annotations

import io
from typing import Any

from flowc.errors import InvalidArgumentError, UnimplementedError

# What Pillow raises for files that are damaged, by format and depth of the damage.
FAULTS = (OSError, SyntaxError, ValueError, EOFError, IndexError)
KEPT = 4  # blocks of at most 16 MiB


def pillow() -> Any:
    """The module `PIL.Image`. Raises `UnimplementedError` where Pillow is not installed."""
    try:
        from PIL import Image
    except ImportError:
        raise UnimplementedError(
            "images of this format are read and written by Pillow, which is not installed",
            hint="pip install 'flowc[images]'",
        ) from None
    # Memory of an image that is gone serves the next one: to map it anew takes as long as to decode
    # a small photograph. What a program or PILLOW_BLOCKS_MAX chose stays.
    if not Image.core.get_blocks_max():
        Image.core.set_blocks_max(KEPT)
    return Image


def opened(data: bytes, kind: str, fault: str) -> Any:
    """Pillow's image of a file, of which only the head is read yet. Raises `InvalidArgumentError`
    with `fault` for what is none, or too large for any memory."""
    image = pillow()
    try:
        return image.open(io.BytesIO(data), formats=[kind])
    except (*FAULTS, image.DecompressionBombError):
        raise InvalidArgumentError(fault) from None
