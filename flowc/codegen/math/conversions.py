"""Conversions between element types that LLVM's own casts do not give as TensorFlow does.

f16 and bf16 are carried as their 16 bits and converted by bit arithmetic, which every target has;
to nearest even, NaN stays NaN. Floats become integers towards zero; out of range and NaN as
TensorFlow's vector code on x86-64 has it: the "integer indefinite" value (the smallest one) of i32
and i64, and for 8 and 16 bits that value saturated to the narrower range.
"""

from __future__ import annotations

from flowc import dtypes
from flowc.codegen.llvm.quantity import F32, F64, Quantity
from flowc.codegen.math.expression import Emitter
from flowc.codegen.math.table import define_one
from flowc.dtypes import DType

_SIGN16 = 0x8000


@define_one("f16_to_f32", (dtypes.f16,), dtypes.f32, dtype=dtypes.f32)
def f16_to_f32(e: Emitter, h: Quantity) -> Quantity:
    wide = e.resize(h, 32)
    magnitude = (wide & 0x7FFF) << 13
    # Read with f32's exponent bias the number is 2**112 too small; scaling is exact, and makes
    # f16's subnormals normal. They pass through an integer conversion, for a processor that
    # flushes subnormals would take the reinterpreted ones for zero.
    scaled = (magnitude + ((127 - 15) << 23)).as_float()
    subnormal = e.from_signed(wide & 0x3FF, F32) * 2.0**-24
    value = e.select((wide & 0x7C00).equals(0), subnormal, scaled).bits()
    value = e.select((wide & 0x7C00).equals(0x7C00), magnitude | 0x7F800000, value)
    return (value | ((wide & _SIGN16) << 16)).as_float()


@define_one("f32_to_f16", (dtypes.f32,), dtypes.f16, dtype=dtypes.f32)
def f32_to_f16(e: Emitter, x: Quantity) -> Quantity:
    bits = x.bits()
    magnitude = bits & 0x7FFFFFFF
    odd = magnitude.shift_right_logical(13) & 1
    normal = (magnitude + (((15 - 127) << 23) + 0xFFF) + odd).shift_right_logical(13)
    # Adding 0.5 moves a subnormal's bits to the bottom of the mantissa, rounded to nearest even.
    moved = (magnitude.as_float() + 0.5).bits() - 0x3F000000
    result = e.select(magnitude < (113 << 23), moved, normal)
    result = e.select(magnitude >= (143 << 23), e.like(bits, 0x7C00), result)
    result = e.select(magnitude > 0x7F800000, e.like(bits, 0x7E00), result)
    return e.resize(result | (bits.shift_right_logical(16) & _SIGN16), 16)


@define_one("bf16_to_f32", (dtypes.bf16,), dtypes.f32, dtype=dtypes.f32)
def bf16_to_f32(e: Emitter, h: Quantity) -> Quantity:
    return (e.resize(h, 32) << 16).as_float()


@define_one("f32_to_bf16", (dtypes.f32,), dtypes.bf16, dtype=dtypes.f32)
def f32_to_bf16(e: Emitter, x: Quantity) -> Quantity:
    bits = x.bits()
    high = bits.shift_right_logical(16)
    rounded = (bits + (high & 1) + 0x7FFF).shift_right_logical(16)
    return e.resize(e.select(x.is_nan(), (high & _SIGN16) | 0x7FC0, rounded), 16)


def _truncate(e: Emitter, x: Quantity, width: int) -> Quantity:
    """To a signed integer towards zero; the smallest one for NaN and anything out of range."""
    limit = 2.0 ** (width - 1)
    # The bounds are exact in both formats; f64 holds -2**31 - 0.5, which truncates into range.
    above = x > -limit - 1.0 if x.type == F64 and width == 32 else x >= -limit
    inside = above & (x < limit)
    converted = e.to_signed(e.select(inside, x, 0.0), width)
    return e.select(inside, converted, -(2 ** (width - 1)))


def _to_small(e: Emitter, x: Quantity, low: int, high: int, width: int) -> Quantity:
    wide = _truncate(e, x, 32)
    wide = e.select(wide < low, e.like(wide, low), wide)
    wide = e.select(wide > high, e.like(wide, high), wide)
    return e.resize(wide, width)


def _to_unsigned(e: Emitter, x: Quantity, width: int) -> Quantity:
    """The signed conversion, except in the upper half, which is reached from its own bottom."""
    half = 2.0 ** (width - 1)
    upper = (x >= half) & (x < 2.0 * half)
    sign = -(2 ** (width - 1))
    return e.select(upper, _truncate(e, x - half, width) ^ sign, _truncate(e, x, width))


def _to_bool(e: Emitter, x: Quantity) -> Quantity:
    return e.select(x.differs(0.0), e.constant(dtypes.bool_, 1), 0)


def _float_to_integer(e: Emitter, x: Quantity, target: DType) -> Quantity:
    bits = target.size * 8
    match target.kind:
        case "bool":
            return _to_bool(e, x)
        case "int" if bits >= 32:
            return _truncate(e, x, bits)
        case "uint" if bits >= 32:
            return _to_unsigned(e, x, bits)
        case "int":
            return _to_small(e, x, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, bits)
        case _:
            return _to_small(e, x, 0, 2**bits - 1, bits)


def _define_float_to_integer(source: DType, target: DType) -> None:
    @define_one(f"{source}_to_{target}", (source,), target, dtype=source)
    def convert(e: Emitter, x: Quantity) -> Quantity:
        return _float_to_integer(e, x, target)


for _source in (dtypes.f32, dtypes.f64):
    for _target in (*dtypes.INTS, *dtypes.UINTS, dtypes.bool_):
        _define_float_to_integer(_source, _target)
