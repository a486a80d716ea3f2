"""`tf.compat`: strings and bytes, numbers and paths, as TensorFlow converts them."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Raises `TypeError` for what is neither text nor bytes."""
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Raises `TypeError` for what is neither text nor bytes."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Text of anything: bytes are decoded, other values are converted with `str`."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


def dimension_value(dimension: Any) -> int | None:
    """The size that a `Dimension` or a number says; None where it is unknown."""
    return getattr(dimension, "value", dimension)


def dimension_at_index(shape: Any, index: int) -> Any:
    """The `Dimension` of a shape at an index; an unknown one where the rank is unknown."""
    from flowc.graph import Dimension

    return Dimension(None) if shape.ndims is None else shape.dims[index]


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Always True: flowc reads and writes the newest forms of graphs."""
    return True
