"""Between floats and the integers that stand for them in a range.

In: operands of an arithmetic `k` (`arithmetic.py`): floats or integers, and both ends of a range.
Out: the others. Invariant: each formula rounds where TensorFlow's CPU kernels do, which have two
ways: element by element in f64, and by vectors in f32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType

FIXED_POINT = 16  # bits behind the point where 32 bits become 8
# The last numbers of an f32 that an i32 holds.
_LEAST_I32, _MOST_I32 = -2.147483648e9, 2.147483520e9


def ends_of(dtype: DType) -> tuple[int, int]:
    """The least and the largest integer."""
    found = np.iinfo(dtype.carrier.numpy)
    return int(found.min), int(found.max)


def steps_of(dtype: DType) -> float:
    """How many steps are between the ends of a range."""
    least, most = ends_of(dtype)
    return float(most - least)


def round_away(k: Any, x: Any) -> Any:
    """To the nearest integer, halves away from zero."""
    size = abs(x)
    below = k.floor(size)
    whole = below + k.where(size - below >= 0.5, k.const(1, k.dtype(x)), 0.0)
    return k.where(x < 0.0, -whole, whole)


def lowered(k: Any, x: Any, low: Any, high: Any, dtype: DType) -> Any:
    """i64: the steps of `dtype` that f32 numbers are at, those beyond its ends too."""
    wide = dtypes.f64
    scale = (steps_of(dtype) + 1) / (k.cast(high - low, wide) * _adjustment(dtype))
    at = round_away(k, k.cast(x, wide) * scale) - round_away(k, k.cast(low, wide) * scale)
    found = k.cast(at, dtypes.i64) + ends_of(dtype)[0]
    return k.where(k.equal(low, high), k.const(ends_of(dtype)[0], dtypes.i64), found)


def _adjustment(dtype: DType) -> float:
    return (steps_of(dtype) + 1) / steps_of(dtype)


def to_steps(k: Any, x: Any, low: Any, high: Any, dtype: DType) -> Any:
    """f32 numbers as integers of `dtype`, element by element."""
    least, most = ends_of(dtype)
    inside = k.minimum(k.maximum(lowered(k, x, low, high, dtype), least), most)
    return k.cast(inside, dtype.carrier)


def as_number(k: Any, x: Any, dtype: DType) -> Any:
    """Integers in a wider dtype, by way of f32, which is how TensorFlow's type of 32-bit ones
    becomes any other."""
    return k.cast(k.cast(x, dtypes.f32), dtype)


def from_steps(k: Any, x: Any, low: Any, high: Any) -> Any:
    """Integers as f32 numbers, element by element."""
    dtype, wide = k.dtype(x), dtypes.f64
    scale = k.cast(high - low, wide) * _adjustment(dtype) / (steps_of(dtype) + 1)
    narrow = k.cast(scale, dtypes.f32)
    start = k.cast(round_away(k, low / narrow) * narrow, wide)
    offset = as_number(k, x, wide) - float(ends_of(dtype)[0])
    found = k.cast(start + offset * scale, dtypes.f32)
    return k.where(k.equal(low, high), low, found)


def vector_from_steps(k: Any, x: Any, low: Any, high: Any) -> Any:
    """Integers as f32 numbers, by vectors."""
    dtype = k.dtype(x)
    scale = k.cast(k.cast(high - low, dtypes.f64) / steps_of(dtype), dtypes.f32)
    start = k.where(k.equal(low, high), low, round_away(k, low / scale) * scale)
    return k.cast(x, dtypes.f32) * scale + (start - scale * float(ends_of(dtype)[0]))


def vector_to_steps(k: Any, x: Any, low: Any, high: Any, dtype: DType) -> Any:
    """f32 numbers as integers of `dtype`, by vectors."""
    least, most = (float(e) for e in ends_of(dtype))
    wide = k.const(steps_of(dtype), dtypes.f64) / k.cast(high - low, dtypes.f64)
    scale = k.where(k.equal(low, high), 0.0, k.cast(wide, dtypes.f32))
    first = round_away(k, low * scale) - least
    at = round_away(k, x * scale) - first
    inside = k.minimum(k.maximum(at, max(least, _LEAST_I32)), min(most, _MOST_I32))
    return k.cast(k.cast(inside, dtypes.i32), dtype.carrier)


def requantized(k: Any, x: Any, old: tuple[Any, Any], new: tuple[Any, Any], dtype: DType) -> Any:
    """Integers of one range as those of another one, by vectors."""
    if k.dtype(x) is dtypes.i32 and dtype.carrier is dtypes.u8:
        return _narrowed(k, x, old, new)
    return vector_to_steps(k, vector_from_steps(k, x, *old), *new, dtype)


def _narrowed(k: Any, x: Any, old: tuple[Any, Any], new: tuple[Any, Any]) -> Any:
    """32 bits as 8, in whole numbers with FIXED_POINT bits behind the point."""
    one, wide, whole = float(1 << FIXED_POINT), dtypes.f64, dtypes.i64
    reach = new[1] - new[0]
    empty, far = k.equal(reach, k.const(0, dtypes.f32)), k.cast(reach, wide)
    inverse = k.where(empty, 0.0, k.cast(k.const(255.0, wide) / far, dtypes.f32))
    scale = k.cast(k.cast(old[1] - old[0], wide) * (255.0 * one) / far, whole)
    middle = k.cast((old[0] + old[1]) / 2.0 * inverse * one, whole)
    start = k.cast(round_away(k, k.cast(new[0], wide) * 255.0 * one / far), whole)
    nothing = k.const(0, whole)
    shift = middle - k.where(empty, nothing, start) + (1 << (FIXED_POINT - 1))
    at = k.shift_right(as_number(k, x, whole) * k.where(empty, nothing, scale), 32) + shift
    inside = k.minimum(k.maximum(k.shift_right(at, FIXED_POINT), 0), 255)
    return k.cast(inside, dtypes.u8)


def rescaled(k: Any, x: Any, old: tuple[Any, Any], new: tuple[Any, Any]) -> Any:
    """8 bits as 32, by the distance of two steps."""
    byte = dtypes.u8
    first, second = (
        lowered(k, from_steps(k, k.const(step, byte), *old), *new, dtypes.i32) for step in (0, 1)
    )
    least, most = ends_of(dtypes.i32)
    step = k.cast(k.cast(second - first, dtypes.i32), dtypes.i64)
    at = first + k.cast(x, dtypes.i64) * step
    return k.cast(k.minimum(k.maximum(at, least), most), dtypes.i32)


def product_range(k: Any, ranges: tuple[Any, ...], kinds: tuple[DType, DType]) -> tuple[Any, Any]:
    """The range of i32 products of two quantised numbers, whose ends are `ranges`."""
    a = (ranges[1] - ranges[0]) / steps_of(kinds[0])
    b = (ranges[3] - ranges[2]) / steps_of(kinds[1])
    least, most = ends_of(dtypes.i32)
    return a * b * float(least), a * b * float(most)
