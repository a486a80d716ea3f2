"""Shapes as messages print them. Imports nothing, so that who builds graphs may import it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def shown_dims(dims: Iterable[Any] | None, unknown: str = "<unknown>") -> str:
    """Dims (of a size that is not known: None) as TensorFlow's messages print shapes: `[2,?]`;
    `unknown` for an unknown rank."""
    if dims is None:
        return unknown
    return f"[{','.join('?' if d is None else str(d) for d in dims)}]"
