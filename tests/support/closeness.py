"""How near two results must be: bits for whole numbers, units in the last place for floats.

In: two arrays and a Closeness. Out: what differs, in words, or None. NaN and infinities must stand
at equal places. Complex numbers are compared as points: their distance in units of their magnitude.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from flowc import dtypes


@dataclass(frozen=True, slots=True)
class Closeness:
    """`ulps`: units in the last place, of the element or (`of_largest`) of the largest element:
    where terms cancel, the error is relative to the terms. `half`: the same for f16 and bf16."""

    ulps: float
    of_largest: bool = False
    half: float = 1


def difference(found: np.ndarray, expected: np.ndarray, near: Closeness) -> str | None:
    """Describes the worst difference beyond what is allowed; None where there is none."""
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return (
            f"found {dtypes.as_dtype(found.dtype)}{list(found.shape)}, "
            f"expected {dtypes.as_dtype(expected.dtype)}{list(expected.shape)}"
        )
    kind = dtypes.as_dtype(found.dtype)
    if not (kind.is_floating or kind.is_complex):
        wrong = found != expected
    else:
        with np.errstate(all="ignore"):
            wrong = ~_near(found, expected, near)
    if not np.any(wrong):
        return None
    place = np.unravel_index(int(np.argmax(wrong)), found.shape)
    where = f"[{','.join(map(str, place))}]" if place else ""
    return (
        f"{np.count_nonzero(wrong)} of {found.size} elements differ, the first{where}: "
        f"found {found[place]}, expected {expected[place]}"
    )


def _near(found: np.ndarray, expected: np.ndarray, near: Closeness) -> np.ndarray:
    limits = ml_dtypes.finfo(dtypes.as_dtype(found.dtype).real_dtype.numpy)
    wide = np.complex128 if found.dtype.kind == "c" else np.float64
    x, y = found.astype(wide), expected.astype(wide)
    finite = np.isfinite(x) & np.isfinite(y)
    magnitude = np.abs(np.where(finite, y, 0))
    if near.of_largest and magnitude.size:
        magnitude = np.full_like(magnitude, magnitude.max())
    exponent = np.floor(np.log2(np.maximum(magnitude, float(limits.tiny))))
    ulps = near.half if found.dtype.itemsize == 2 else near.ulps
    allowed = ulps * np.exp2(exponent) * float(limits.eps)
    return np.where(finite, np.abs(x - y) <= allowed, _same(x, y))


def _same(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Equal, or NaN both; part by part for complex numbers."""
    if x.dtype.kind == "c":
        return _same(np.real(x), np.real(y)) & _same(np.imag(x), np.imag(y))
    return (x == y) | (np.isnan(x) & np.isnan(y))


def flushed(array: np.ndarray) -> np.ndarray:
    """Subnormal numbers as zeros of their sign, which is how TensorFlow sets its processor up. (f16
    is computed in f32, where its subnormal numbers are normal ones.)"""
    kind = dtypes.as_dtype(array.dtype)
    if kind.is_complex:
        parts = flushed(np.real(array)) + 1j * flushed(np.imag(array))
        return parts.astype(array.dtype)
    if not kind.is_floating or kind is dtypes.f16:
        return array
    tiny = ml_dtypes.finfo(array.dtype).tiny
    return np.where(np.abs(array) < tiny, np.copysign(array * 0, array), array).astype(array.dtype)
