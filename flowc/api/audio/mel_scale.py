"""The mel scale: a matrix that takes spectra to bands that are as wide as ears hear them.

Source: O'Shaughnessy, "Speech communication" (1987): mel = 1127 ln(1 + f / 700).
"""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.arrays.linspace import linspace
from flowc.api.arrays.shaping import expand_dims, pad, reshape, split
from flowc.api.framework.basics import cast
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise
from flowc.api.math.frames import frame
from flowc.dtypes import DType
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


def _mel(hertz: Any) -> Tensor:
    return 1127.0 * elementwise.log(1.0 + hertz / 700.0)


def _check(bands: int, rate: Any, low: float, high: float, dtype: DType) -> None:
    if bands <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {bands}")
    if low < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {low}")
    if low >= high:
        raise ValueError(f"lower_edge_hertz {low:.1f} >= upper_edge_hertz {high:.1f}")
    if not isinstance(rate, Tensor):
        if rate <= 0.0:
            raise ValueError(f"sample_rate must be positive. Got: {rate}")
        if high > rate / 2:
            raise ValueError(
                "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). "
                f"Got {high} for sample_rate: {rate}"
            )
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {dtype!r}")


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: Any = dtypes.f32,
    name: str | None = None,
) -> Tensor:
    """Weights [num_spectrogram_bins, num_mel_bins]: triangles over mel, from the lower to the upper
    edge, of a spectrum that reaches to half of the sample rate. Raises `ValueError` for edges that
    are not in order or beyond that, and for a dtype that is not of floats."""
    kind = dtypes.as_dtype(dtype)
    _check(num_mel_bins, sample_rate, lower_edge_hertz, upper_edge_hertz, kind)
    with name_scope(name, "linear_to_mel_weight_matrix"):
        rate = cast(sample_rate, kind)
        low, high = (as_tensor(x, kind) for x in (lower_edge_hertz, upper_edge_hertz))
        zero = as_tensor(0.0, kind)
        hertz = linspace(zero, rate / 2.0, num_spectrogram_bins)[1:]  # the first bin is silence
        mel = expand_dims(_mel(hertz), 1)
        edges = frame(linspace(_mel(low), _mel(high), num_mel_bins + 2), 3, 1)
        left, middle, right = (reshape(t, [1, num_mel_bins]) for t in split(edges, 3, 1))
        rising = (mel - left) / (middle - left)
        falling = (right - mel) / (right - middle)
        weights = elementwise.maximum(zero, elementwise.minimum(rising, falling))
        return pad(weights, [[1, 0], [0, 0]])
