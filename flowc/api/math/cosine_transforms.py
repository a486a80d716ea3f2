"""Discrete cosine transforms along the last axis, by Fourier transforms of real numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.shaping import concat, pad, roll, shape
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise
from flowc.api.math.spectral import irfft, rfft
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor

_INVERSES = {1: 1, 2: 3, 3: 2, 4: 4}


def dct(
    input: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete cosine transform of type 1 to 4 of rows of float32 or float64. `n`: to which
    length the rows are cut or filled with zeros; `norm`: None or `"ortho"`.

    Raises `NotImplementedError` for another axis than the last, `ValueError` for another type or
    norm and for rows of unknown length."""
    tensor = as_tensor(input)
    _check(tensor, type, n, axis, norm)
    with name_scope(name, "dct", [tensor]):
        return _transformed(tensor, type, n, norm == "ortho")


def idct(
    input: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `dct` of the same type, but for a factor where `norm` is not `"ortho"`. Raises
    what `dct` raises."""
    tensor = as_tensor(input)
    _check(tensor, type, n, axis, norm)
    with name_scope(name, "dct", [tensor]):
        return _transformed(tensor, _INVERSES[type], n, norm == "ortho")


def _check(tensor: Tensor, type: int, n: int | None, axis: int, norm: str | None) -> None:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if type not in _INVERSES:
        raise ValueError("Types I, II, III and IV (I)DCT are supported.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")
    length = tensor.shape.with_rank_at_least(1)[-1].value
    if length is None:
        raise ValueError("dct needs rows of known length")
    if type == 1 and norm == "ortho":
        raise ValueError("Normalization is not supported for the Type-I DCT.")
    if type == 1 and length < 2:
        raise ValueError("Type-I DCT requires the dimension to be greater than one.")


def _transformed(tensor: Tensor, type: int, n: int | None, ortho: bool) -> Tensor:
    rows = _of_length(tensor, tensor.shape[-1].value or 0, n)
    length = rows.shape[-1].value or 0
    real = (rows.dtype or dtypes.f32).numpy
    if type == 1:
        return elementwise.real(rfft(concat([rows, rows[..., -2:0:-1]], -1)))
    if type == 4:
        odd = _transformed(rows, 2, 2 * length, ortho=False)[..., 1::2]
        return odd * (math.sqrt(0.5) / math.sqrt(length)) if ortho else odd
    # A transform of rows twice as long, turned by half a step.
    turns = np.exp((-1j if type == 2 else 1j) * np.arange(length) * np.pi * 0.5 / length)
    factors = as_tensor((2.0 * turns).astype(np.result_type(real, np.complex64)))
    first, others = (0.5, math.sqrt(0.5)) if type == 2 else (1.0, math.sqrt(0.5))
    weights = np.full(length, others)
    weights[:1] = first
    if type == 2:
        spectrum = rfft(rows, [2 * length])[..., :length] * factors
        found = elementwise.real(spectrum)
        return found * as_tensor((weights / math.sqrt(length)).astype(real)) if ortho else found
    scale = weights * math.sqrt(length) if ortho else np.full(length, float(length))
    scaled = rows * as_tensor(scale.astype(real))
    spectrum = factors * elementwise.complex(scaled, scaled * 0.0)
    return irfft(spectrum, [2 * length])[..., :length]


def _of_length(tensor: Tensor, length: int, n: int | None) -> Tensor:
    if n is None or n == length:
        return tensor
    if n < length:
        return tensor[..., :n]
    rank = tensor.shape.ndims or 1
    return pad(tensor, [[0, 0]] * (rank - 1) + [[0, n - length]])


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """Mel-frequency cepstral coefficients [..., bins] of logarithmic mel spectrograms. Raises
    `ValueError` without bins."""
    with name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        tensor = as_tensor(log_mel_spectrograms)
        bins = tensor.shape.with_rank_at_least(1)[-1].value
        if bins == 0:
            raise ValueError("num_mel_bins must be positive. Got: log_mel_spectrograms of 0 bins")
        return dct(tensor, type=2) / math.sqrt(2.0 * (bins or 1))


def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """The axes (all, for None) turned so that the frequency 0 is in their middle. Of any dtype.
    Raises `ValueError` for an axis out of range."""
    with name_scope(name, "fftshift") as scope:
        return _shifted(x, axes, scope, lambda size: size // 2)


def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `fftshift`. Raises as it does."""
    with name_scope(name, "ifftshift") as scope:
        return _shifted(x, axes, scope, lambda size: -(size // 2))


def _shifted(x: Any, axes: Any, name: str, shift: Any) -> Tensor:
    tensor = as_tensor(x)
    rank = tensor.shape.ndims
    if rank is None:
        raise ValueError("shifts need a tensor of known rank")
    chosen = list(range(rank)) if axes is None else np.ravel(axes).tolist()
    for axis in chosen:
        if not -rank <= axis < rank:
            raise ValueError(f"axis {axis} is out of bounds for a tensor of rank {rank}")
    sizes = shape(tensor)
    shifts = [shift(tensor.shape[axis].value or sizes[axis]) for axis in chosen]
    return roll(tensor, shifts, chosen, name=name)
