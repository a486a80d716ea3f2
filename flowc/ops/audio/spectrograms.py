"""AudioSpectrogram and Mfcc: how loud which pitches are, frame by frame.

In: samples [samples, channels]; spectrograms [channels, frames, bins]. Out: f32 spectrograms,
coefficients [channels, frames, coefficients]. Invariant: numbers are computed in f64 and rounded
once, as TensorFlow does. Source of the mel scale: O'Shaughnessy, 1127 ln(1 + f / 700).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.dims import Dim, as_dim, floordiv, maximum
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose
from flowc.ir.op import define
from flowc.ir.types import Dims

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

Array = np.ndarray[Any, Any]
FLOOR = 1e-12  # of what a filter lets through, before its logarithm
_LARGEST = 1 << 20  # samples of a window


# -- spectrograms


def _length(window: int) -> int:
    """The next power of two."""
    return 1 << (window - 1).bit_length()


def _infer_spectrogram(c: Inference) -> Dims:
    c.need_rank(0, 2)
    window, stride = c.attrs["window_size"], c.attrs["stride"]
    if not 1 < window <= _LARGEST:
        raise c.fail(f"window size must be > 1, got {window}")
    if stride <= 0:
        raise c.fail(f"stride must be strictly positive, got {stride}")
    samples, channels = c.dims(0)
    frames = floordiv(maximum(samples - window + stride, as_dim(0)), as_dim(stride))
    return (channels, frames, _length(window) // 2 + 1)


def _window(size: int) -> Array:
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)


def _spectrogram(b: Builder, node: Node) -> Value:
    window, stride = node.attrs["window_size"], node.attrs["stride"]
    _, frames, _ = node.output.dims
    rows = b.transpose(node.inputs[0], np.array([1, 0], np.int32))
    starts = b.mul(_count(b, frames), b.const(np.int64(stride)))
    places = b.add(b.reshape(starts, (frames, 1)), b.const(np.arange(window)))
    found = b.cast(b.gather(rows, places, b.const(np.int32(1))), DstT=dtypes.f64)
    weighted = b.mul(found, b.const(_window(window)))
    filled = b.pad(weighted, b.const(np.array([[0, 0], [0, 0], [0, _length(window) - window]])))
    length = b.const(np.array([_length(window)], np.int32))
    spectrum = b.rfft(filled, length, Treal=dtypes.f64, Tcomplex=dtypes.c128)
    real, imag = (part(spectrum, Tout=dtypes.f64) for part in (b.real, b.imag))
    power = b.cast(b.add(b.mul(real, real), b.mul(imag, imag)), DstT=dtypes.f32)
    return power if node.attrs["magnitude_squared"] else b.sqrt(power)


def _count(b: Builder, size: Dim) -> Value:
    """0 to before `size`."""
    zero, one = b.const(np.int64(0)), b.const(np.int64(1))
    return b.reshape(b.range(zero, b.scalar_size(size, dtypes.i64), one), (size,))


def _spectrogram_reference(
    samples: Array, *, window_size: int, stride: int, magnitude_squared: bool
) -> Array:
    frames = max(samples.shape[0] - window_size + stride, 0) // stride
    places = stride * np.arange(frames)[:, None] + np.arange(window_size)
    found = samples.T[:, places].astype(np.float64) * _window(window_size)
    spectrum = np.fft.rfft(found, _length(window_size))
    power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
    return power if magnitude_squared else np.sqrt(power)


define(
    "audio_spectrogram",
    "AudioSpectrogram(input: f32; window_size: int, stride: int, magnitude_squared: bool = False)"
    " -> spectrogram: f32",
    infer=_infer_spectrogram,
    lowering=Decompose(_spectrogram),
    reference=_spectrogram_reference,
    examples=(
        "f32[40,2]~unit; window_size=9, stride=4",
        "f32[70,1]~unit; window_size=16, stride=16, magnitude_squared=True",
        "f32[3,2]; window_size=5, stride=2",
    ),
)


# -- mel-frequency cepstral coefficients


def _infer_mfcc(c: Inference) -> Dims:
    c.need_ranks(3, 0)
    low, high = (c.attrs[f"{end}_frequency_limit"] for end in ("lower", "upper"))
    bands, count = c.attrs["filterbank_channel_count"], c.attrs["dct_coefficient_count"]
    if not 0 < count <= bands or bands > _LARGEST or not 0 <= low < high < np.inf:
        raise c.fail(
            f"Mfcc initialization failed for channel count {bands}, dct coefficient count {count} "
            f"and frequencies from {low} to {high}"
        )
    channels, frames, bins = c.dims(0)
    if isinstance(bins, int) and bins < 2:
        raise c.fail(f"Mfcc initialization failed: {bins} bins of a spectrogram")
    return (channels, frames, count)


_NO_RATE = "Mfcc initialization failed: sample_rate must be positive"


def _mel(frequency: Any) -> Any:
    return 1127.0 * np.log1p(frequency / 700.0)


def _centers(attrs: Any) -> Array:
    """The lower limit, the middle of each band, and the end of the last one, in mel."""
    low, high = (_mel(float(attrs[f"{end}_frequency_limit"])) for end in ("lower", "upper"))
    count = attrs["filterbank_channel_count"]
    return low + (high - low) / (count + 1) * np.arange(count + 2)


def _cosines(bands: int, count: int) -> Array:
    angles = np.pi / bands * np.arange(count) * (np.arange(bands)[:, None] + 0.5)
    return np.sqrt(2 / bands) * np.cos(angles)


def _bank(b: Builder, node: Node) -> Value:
    """What each band takes of each bin: a triangle over mel, of the bins between the limits."""
    bins = node.inputs[0].dims[2]
    rate = b.cast(node.inputs[1], DstT=dtypes.f64)
    share = b.const(np.float64(0.5))
    step = b.real_div(
        b.mul(rate, share), b.cast(b.scalar_size(bins - 1, dtypes.i64), DstT=dtypes.f64)
    )
    places = b.cast(_count(b, bins), DstT=dtypes.f64)
    frequency = b.real_div(b.mul(places, step), b.const(np.float64(700)))
    mel = b.reshape(b.mul(b.log1p(frequency), b.const(np.float64(1127))), (bins, 1))
    centers = _centers(node.attrs)
    left, middle, right = (b.const(centers[i : len(centers) - 2 + i]) for i in range(3))
    rising = b.real_div(b.sub(mel, left), b.sub(middle, left))
    falling = b.real_div(b.sub(right, mel), b.sub(right, middle))
    # The first band begins where bins do, the last one ends where they do.
    first, last = np.zeros(len(centers) - 2, np.bool_), np.zeros(len(centers) - 2, np.bool_)
    first[0], last[-1] = True, True
    is_rising = b.logical_and(
        b.less_equal(mel, middle), b.logical_or(b.greater(mel, left), b.const(first))
    )
    is_falling = b.logical_and(
        b.greater(mel, middle), b.logical_or(b.less_equal(mel, right), b.const(last))
    )
    zero = b.const(np.float64(0))
    bank = b.select_v2(is_rising, rising, b.select_v2(is_falling, falling, zero))
    low, high = (
        b.real_div(b.const(np.float64(node.attrs[f"{end}_frequency_limit"])), step)
        for end in ("lower", "upper")
    )
    start = b.floor(b.add(low, b.const(np.float64(1.5))))
    inside = b.logical_and(b.greater_equal(places, start), b.less_equal(places, b.floor(high)))
    return b.select_v2(b.reshape(inside, (bins, 1)), bank, zero)


def _mfcc(b: Builder, node: Node) -> Value:
    channels, frames, bins = node.inputs[0].dims
    bands = node.attrs["filterbank_channel_count"]
    b.check(b.greater(node.inputs[1], b.const(np.int32(0))), message=_NO_RATE)
    loud = b.sqrt(b.cast(node.inputs[0], DstT=dtypes.f64))
    rows = b.reshape(loud, (channels * frames, bins))
    heard = b.mat_mul(rows, _bank(b, node))
    least = b.const(np.float64(FLOOR))
    heard = b.select_v2(b.less(heard, least), least, heard)
    cosines = _cosines(bands, node.attrs["dct_coefficient_count"])
    found = b.mat_mul(b.log(heard), b.const(cosines))
    return b.cast(b.reshape(found, node.output.dims), DstT=dtypes.f32)


def _coefficients(spectrogram: Array, rate: float, attrs: Any) -> Array:
    bins = spectrogram.shape[2]
    step, centers = 0.5 * rate / (bins - 1), _centers(attrs)
    bands = attrs["filterbank_channel_count"]
    bank = np.zeros((bins, bands))
    start = int(1.5 + attrs["lower_frequency_limit"] / step)
    for place in range(start, min(int(attrs["upper_frequency_limit"] / step) + 1, bins)):
        mel = _mel(place * step)
        # The band whose middle is next below; -1 for none.
        band = min(int(np.searchsorted(centers[1:], mel)), bands) - 1
        share = (centers[band + 2] - mel) / (centers[band + 2] - centers[band + 1])
        if band >= 0:
            bank[place, band] = share
        if band + 1 < bands:
            bank[place, band + 1] = 1 - share
    heard = np.sqrt(spectrogram.astype(np.float64)) @ bank
    heard = np.where(heard < FLOOR, FLOOR, heard)
    return (np.log(heard) @ _cosines(bands, attrs["dct_coefficient_count"])).astype(np.float32)


def _reference(
    spectrogram: Array, sample_rate: Array, *, upper_frequency_limit: float,
    lower_frequency_limit: float, filterbank_channel_count: int, dct_coefficient_count: int,
) -> Array:  # fmt: skip
    if sample_rate <= 0:
        raise InvalidArgumentError(_NO_RATE)
    attrs = {
        "upper_frequency_limit": upper_frequency_limit,
        "lower_frequency_limit": lower_frequency_limit,
        "filterbank_channel_count": filterbank_channel_count,
        "dct_coefficient_count": dct_coefficient_count,
    }
    return _coefficients(spectrogram, float(sample_rate), attrs)


define(
    "mfcc",
    "Mfcc(spectrogram: f32, sample_rate: i32; upper_frequency_limit: float = 4000.0,"
    " lower_frequency_limit: float = 20.0, filterbank_channel_count: int = 40,"
    " dct_coefficient_count: int = 13) -> output: f32",
    infer=_infer_mfcc,
    lowering=Decompose(_mfcc),
    reference=_reference,
    examples=(
        "f32[2,3,65]~positive i32[]=16000",
        "f32[1,2,33]~positive i32[]=8000; upper_frequency_limit=3000.0,"
        " lower_frequency_limit=200.0, filterbank_channel_count=7, dct_coefficient_count=7",
        "f32[0,3,9] i32[]=8000",
    ),
)
