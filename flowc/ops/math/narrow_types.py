"""Floats of 8 bits and integers of 4 bits: what their bits say.

In: a ScalarBuilder, and an element or a number. Out: the number, or the element.
Invariant: floats are rounded to the nearest, ties to even; one that is too large becomes infinite,
or NaN where the format has no infinity. Integers keep their low 4 bits.
"""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType


@dataclass(frozen=True, slots=True)
class Float8:
    """A float of 8 bits: how many bits its mantissa has, its exponent's bias, and the codes of the
    greatest finite number, of what is greater, and of NaN."""

    mantissa: int
    bias: int
    greatest: int
    beyond: int
    nan: int


FORMATS = {
    dtypes.f8e5m2: Float8(2, 15, 0x7B, 0x7C, 0x7E),
    dtypes.f8e4m3fn: Float8(3, 7, 0x7E, 0x7F, 0x7F),
}
_WORDS = {dtypes.f32: (dtypes.u32, 23, 127), dtypes.f64: (dtypes.u64, 52, 1023)}


def is_cast_of_narrow(source: DType, target: DType) -> bool:
    """Whether TensorFlow casts one to the other; it does where neither is narrow."""
    if target in FORMATS:
        return source.is_floating or source in FORMATS
    if target.is_narrow:
        return source.is_integer or source in (dtypes.i4, dtypes.u4)
    return source not in (dtypes.i4, dtypes.u4) or target.is_integer


def decode(k: Any, element: Any, dtype: DType) -> Any:
    """The number (f32, or i8 and u8) that an element means."""
    bits = k.bitcast(element, dtypes.u8)
    if dtype not in FORMATS:
        low = k.bitwise_and(bits, 15)
        return low if dtype is dtypes.u4 else k.sub(k.bitwise_xor(k.cast(low, dtypes.i8), 8), 8)
    if dtype is dtypes.f8e5m2:  # the upper half of an f16
        half = k.shift_left(k.cast(bits, dtypes.u16), k.const(8, dtypes.u16))
        return k.cast(k.bitcast(half, dtypes.f16), dtypes.f32)
    form, word = FORMATS[dtype], k.cast(bits, dtypes.u32)
    size = k.bitwise_and(word, 0x7F)
    # As an f32 it is too small by the difference of the biases, subnormal or not.
    scaled = k.bitcast(k.shift_left(size, k.const(23 - form.mantissa, dtypes.u32)), dtypes.f32)
    value = k.mul(scaled, 2.0 ** (127 - form.bias))
    value = k.select(k.eq(size, form.nan), k.const(float("nan"), dtypes.f32), value)
    sign = k.shift_left(k.bitwise_and(word, 0x80), k.const(24, dtypes.u32))
    return k.bitcast(k.bitwise_or(k.bitcast(value, dtypes.u32), sign), dtypes.f32)


def encode(k: Any, value: Any, dtype: DType) -> Any:
    """The element that is nearest to a number."""
    if dtype in FORMATS:
        code = _float_code(k, value, dtype)
    else:
        code = k.bitwise_and(k.cast(value, dtypes.u8), 15)
    return k.bitcast(code, dtype)


def _float_code(k: Any, value: Any, dtype: DType) -> Any:
    if value.dtype is not dtypes.f64:
        value = k.cast(value, dtypes.f32)
    form, (word, mantissa, bias) = FORMATS[dtype], _WORDS[value.dtype]
    bits = k.bitcast(value, word)
    size = k.bitwise_and(bits, 2 ** (8 * word.size - 1) - 1)
    # Normal numbers: the mantissa is rounded where it is, a carry goes into the exponent.
    dropped = k.const(mantissa - form.mantissa, word)
    odd = k.bitwise_and(k.shift_right(size, dropped), 1)
    rounded = k.add(k.add(size, odd), 2 ** (mantissa - form.mantissa - 1) - 1)
    code = k.sub(k.shift_right(rounded, dropped), (bias - form.bias) << form.mantissa)
    # Subnormal numbers: a sum with a number whose last bit is theirs rounds them.
    shift = k.const(2.0 ** (mantissa + 1 - form.bias - form.mantissa), value.dtype)
    absolute = k.bitcast(size, value.dtype)
    small = k.sub(k.bitcast(k.add(absolute, shift), word), k.bitcast(shift, word))
    code = k.select(k.lt(absolute, 2.0 ** (1 - form.bias)), small, code)
    code = k.select(k.gt(code, form.greatest), k.const(form.beyond, word), code)
    code = k.select(k.ne(value, value), k.const(form.nan, word), code)
    sign = k.bitwise_and(k.shift_right(bits, k.const(8 * word.size - 8, word)), 0x80)
    return k.cast(k.bitwise_or(code, sign), dtypes.u8)
