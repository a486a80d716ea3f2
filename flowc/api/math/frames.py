"""Signals cut into frames that overlap, and put together again; their spectra over time.

In: signals [..., samples]. Out: frames [..., frames, frame_length], or spectra of them. The lengths
and steps of frames are known when the graph is built.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import range as range_of
from flowc.api.arrays.filling import zeros_like
from flowc.api.arrays.selection import gather, where
from flowc.api.arrays.shaping import concat, expand_dims, pad, reshape, shape, transpose
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise
from flowc.api.math.reductions import reduce_sum
from flowc.api.math.spectral import irfft, rfft
from flowc.api.math.window_functions import hann_window
from flowc.errors import InvalidArgumentError
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.shape_inference import constant_elements

Window = Callable[..., Tensor]


def _number(value: Any, what: str) -> int:
    """An int that is known when the graph is built. Raises `ValueError` for one that is not."""
    found = constant_elements(as_tensor(value, name=what))
    if found is None or found.ndim:
        raise ValueError(f"{what} must be a scalar that is known when the graph is built")
    return int(found)


def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Frames of `frame_length` samples along `axis`, each `frame_step` after the one before: two
    axes in the place of one. `pad_end`: the last frames are filled up with `pad_value`. Of any
    dtype. Raises `ValueError` for lengths that are no scalars known when the graph is built, and
    `InvalidArgumentError` for a step below 1."""
    with name_scope(name, "frame", [signal]):
        tensor = as_tensor(signal, name="signal")
        length, step = _number(frame_length, "frame_length"), _number(frame_step, "frame_step")
        if step < 1:
            raise InvalidArgumentError(f"frame_step must be positive, found {step}")
        rank = tensor.shape.with_rank_at_least(1).ndims
        if rank is None:
            raise ValueError("frame needs a signal of known rank")
        place = axis % rank
        samples: Any = tensor.shape[place].value
        samples = shape(tensor)[place] if samples is None else samples
        if pad_end:
            count = -(-samples // step)
            missing = _at_least_zero(length + step * (count - 1) - samples)
            ends = [[0, 0]] * place + [[0, missing]] + [[0, 0]] * (rank - place - 1)
            tensor = pad(tensor, ends, constant_values=pad_value)
        else:
            count = _at_least_zero(1 + (samples - length) // step)
        starts = expand_dims(range_of(count) * step, 1)
        return gather(tensor, starts + expand_dims(range_of(length), 0), axis=place)


def _at_least_zero(number: Any) -> Any:
    return elementwise.maximum(0, number) if isinstance(number, Tensor) else max(0, number)


def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Tensor:
    """Frames [..., frames, frame_length] put together, each `frame_step` after the one before:
    samples of several frames are summed. Of numeric dtypes. Raises `ValueError` for less than two
    dimensions and a step that is no scalar."""
    with name_scope(name, "overlap_and_add", [signal]):
        frames = as_tensor(signal, name="signal")
        step = _number(frame_step, "frame_step")
        rank = frames.shape.with_rank_at_least(2).ndims
        length = None if rank is None else frames.shape[-1].value
        if rank is None or length is None:
            raise ValueError("overlap_and_add needs frames of known rank and length")
        parts = -(-length // step)  # of a frame, each as long as a step
        sizes = shape(frames)
        outer, count = sizes[:-2], sizes[-2]
        kept = [[0, 0]] * (rank - 2)
        # Part k of a frame belongs k steps later: in rows that are one longer than they are put
        # together to, the next row begins one step later.
        padded = pad(frames, [*kept, [0, parts], [0, parts * step - length]])
        split = reshape(padded, concat([outer, [count + parts, parts, step]], 0))
        lead = list(range(rank - 2))
        transposed = transpose(split, [*lead, rank - 1, rank - 2, rank])
        flat = reshape(transposed, concat([outer, [(count + parts) * parts, step]], 0))
        shorter = flat[..., : (count + parts - 1) * parts, :]
        rows = reshape(shorter, concat([outer, [parts, count + parts - 1, step]], 0))
        total = reshape(reduce_sum(rows, -3), concat([outer, [(count + parts - 1) * step]], 0))
        return total[..., : length + step * (count - 1)]


def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """The spectra [..., frames, fft_length // 2 + 1] of frames of signals. `fft_length`: the next
    power of two of the frames' length by default; `window_fn`: None for no window. `signals`:
    float32 or float64 [..., samples]; complex. Raises `ValueError` for other dtypes and shapes."""
    with name_scope(name, "stft", [signals]):
        frames = frame(signals, frame_length, frame_step, pad_end)
        length = _number(frame_length, "frame_length")
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return rfft(frames, [_fft_length(fft_length, length)])


def _fft_length(given: Any, frame_length: int) -> int:
    if given is not None:
        return _number(given, "fft_length")
    return int(2 ** np.ceil(np.log2(frame_length)))


def inverse_stft(
    stfts: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """The signals of spectra that `stft` made: equal to the first ones where `window_fn` is
    `inverse_stft_window_fn(frame_step)`. complex64 or complex128 [..., frames, bins] -> floats
    [..., samples]. Raises `ValueError` for other dtypes and shapes."""
    with name_scope(name, "inverse_stft", [stfts]):
        spectra = as_tensor(stfts, name="stfts")
        length = _number(frame_length, "frame_length")
        frames = irfft(spectra, [_fft_length(fft_length, length)])
        missing = length - _fft_length(fft_length, length)
        if missing > 0:
            rank = frames.shape.with_rank_at_least(2).ndims or 2
            frames = pad(frames, [[0, 0]] * (rank - 1) + [[0, missing]])
        elif missing < 0:
            frames = frames[..., :length]
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return overlap_and_add(frames, frame_step)


def inverse_stft_window_fn(
    frame_step: Any, forward_window_fn: Window = hann_window, name: str | None = None
) -> Window:
    """The function of the window with which `inverse_stft` undoes an `stft` that had the window
    `forward_window_fn`. Raises nothing: the function raises `ValueError` for a length without a
    window."""

    def inverse_window(frame_length: Any, dtype: Any = dtypes.f32) -> Tensor:
        with name_scope(name, "inverse_stft_window_fn"):
            length = _number(frame_length, "frame_length")
            step = _number(frame_step, "frame_step")
            forward = forward_window_fn(length, dtype=dtype)
            overlaps = -(-length // step)
            squares = pad(elementwise.square(forward), [[0, overlaps * step - length]])
            sums = reduce_sum(reshape(squares, [overlaps, step]), 0)
            around = reshape(gather(expand_dims(sums, 0), [0] * overlaps), [overlaps * step])
            total = around[:length]
            none = elementwise.equal(total, 0.0)
            return where(none, zeros_like(forward), forward / total)

    return inverse_window
