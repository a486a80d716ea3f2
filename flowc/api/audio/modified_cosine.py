"""The modified discrete cosine transform of sounds, and the way back.

Frames overlap by half, and a window whose squares add up to 1 there makes the way back exact.
Source: Princen and Bradley, "Analysis/synthesis filter bank design" (1986).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from flowc.api.arrays.shaping import concat, reverse, split
from flowc.api.framework.scopes import name_scope
from flowc.api.math.cosine_transforms import dct
from flowc.api.math.frames import frame, overlap_and_add
from flowc.api.math.window_functions import vorbis_window
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor

Window = Callable[..., Tensor]


def _window(function: Window | None, length: int, frames: Tensor) -> Any:
    return math.sqrt(0.5) if function is None else function(length, dtype=frames.dtype)


def mdct(
    signals: Any,
    frame_length: int,
    window_fn: Window | None = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Floats [..., frames, frame_length / 2] of signals [..., samples]. `window_fn`: a function of
    a length and a dtype; None: the root of a half everywhere. `pad_end`: zeros behind the signals,
    so that no sample is left out; `norm`: None or "ortho".

    Raises `ValueError` for lengths that are no multiple of 4, and for another norm."""
    with name_scope(name, "mdct", [signals, frame_length]):
        values = as_tensor(signals, name="signals")
        if frame_length % 4:
            raise ValueError("The frame length must be a multiple of 4.")
        frames = frame(values, frame_length, frame_length // 2, pad_end=pad_end)
        frames = frames * _window(window_fn, frame_length, frames)
        a, b, c, d = split(frames, 4, -1)
        folded = concat([-reverse(c, [-1]) - d, a - reverse(b, [-1])], -1)
        return dct(folded, type=4, norm=norm)


def inverse_mdct(
    mdcts: Any,
    window_fn: Window | None = vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Signals [..., samples] of what `mdct` made of them [..., frames, half], with the same window
    and norm; the first and last half of a frame are not those of the signal. Raises `ValueError`
    for another norm, and for a number of coefficients that is unknown."""
    with name_scope(name, "inverse_mdct", [mdcts]):
        values = as_tensor(mdcts, name="mdcts")
        half = values.shape[-1].value
        if half is None:
            raise ValueError("inverse_mdct needs rows of known length")
        found = dct(values, type=4, norm=norm)
        found = found if norm == "ortho" else found * (0.5 / half)
        first, second = split(found, 2, -1)
        frames = concat([second, -reverse(second, [-1]), -reverse(first, [-1]), -first], -1)
        frames = frames * _window(window_fn, 2 * half, frames)
        return overlap_and_add(frames, half)
