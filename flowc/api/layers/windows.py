"""The arguments that convolutions and pooling share: sizes along spatial axes, padding, layout.

Out: checked values. Every function raises `ValueError` for what does not fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LAYOUTS = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
CHANNELS_FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def per_axis(value: Any, rank: int, name: str) -> tuple[int, ...]:
    """One positive number for each spatial axis, where one may stand for all."""
    given = value if isinstance(value, list | tuple | np.ndarray) else (value,) * rank
    if len(given) != rank or not all(isinstance(v, int | np.integer) for v in given):
        raise ValueError(
            f"The `{name}` argument must be a tuple of {rank} integers. Received: {value}"
        )
    if any(v < 1 for v in given):
        raise ValueError(
            f"The `{name}` argument must be a tuple of {rank} integers. Received: {value} "
            "including values that do not satisfy `value > 0`."
        )
    return tuple(int(v) for v in given)


def checked_padding(padding: Any) -> str:
    found = str(padding).lower()
    if found not in ("valid", "same"):
        raise ValueError(
            'The `padding` argument must be a list/tuple or one of "valid", "same" (or "causal", '
            f"only for `Conv1D). Received: {padding}"
        )
    return found


def checked_format(data_format: str) -> str:
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(
            'The `data_format` argument must be one of "channels_first", "channels_last". '
            f"Received: {data_format}"
        )
    return data_format


def layout_of(data_format: str, rank: int) -> str:
    return (CHANNELS_FIRST if data_format == "channels_first" else LAYOUTS)[rank]


def every_axis(sizes: tuple[int, ...], data_format: str) -> list[int]:
    """Sizes along the spatial axes, with a 1 for the batch and one for the channels."""
    return [1, 1, *sizes] if data_format == "channels_first" else [1, *sizes, 1]
