"""sin, cos and tan, right for arguments of any size.

f32: x = m * 2**e with a 24-bit integer m, and a table holds (2**e * 2/pi) mod 4 for every exponent
as a 28-bit head, whose product with m is exact, and a 53-bit tail. So one branch-free reduction in
f64 serves every argument.

f64: up to 2**20 a Cody-Waite reduction in three parts; beyond, by a branch, the product with a
192-bit window of the bits of 2/pi (Payne and Hanek).
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

from llvmlite import ir

from flowc import dtypes
from flowc.codegen.llvm.quantity import FORMAT32, FORMAT64, Quantity
from flowc.codegen.math.double_double import exact_product, exact_sum, quick_sum
from flowc.codegen.math.exponential import INF, NAN
from flowc.codegen.math.expression import Emitter
from flowc.codegen.math.table import define

HALF_PI = math.pi / 2
_HALF_PI_TAIL = 6.123233995736766e-17

# (sin(r) - r) / r**3 and (cos(r) - 1 + r**2/2) / r**4 in powers of r**2, |r| <= pi/4.
_SIN32 = (-0.16666655, 0.008332173, -0.00019516652)
_COS32 = (0.041666646, -0.0013887362, 2.443776e-05)
# The same to 2**-47, for tan in f32 ...
_SIN48 = (
    -0.16666666666631316, 0.008333333325218592, -0.00019841263792039681, 2.7555350854292465e-06,
    -2.4761132563948837e-08,
)  # fmt: skip
_COS48 = (
    0.04166666666660162, -0.001388888887819006, 2.4801580933868036e-05, -2.7555560149992413e-07,
    2.0647282154066906e-09,
)  # fmt: skip
# ... and to 2**-58.
SIN64 = (
    -0.16666666666666632, 0.008333333333322314, -0.0001984126982972515, 2.7557313662040305e-06,
    -2.505075326203509e-08, 1.589650481187614e-10,
)  # fmt: skip
COS64 = (
    0.0416666666666666, -0.0013888888888873997, 2.480158728939769e-05, -2.7557314326529717e-07,
    2.087571959715735e-09, -1.1359449561243159e-11,
)  # fmt: skip


@functools.cache
def two_over_pi_bits(bits: int) -> int:
    """floor(2/pi * 2**bits), pi by Machin's formula in integers."""
    guard = bits + 64

    def inverse_atan(n: int) -> int:
        term = total = (1 << guard) // n
        square, odd, sign = n * n, 1, 1
        while term:
            term //= square
            odd, sign = odd + 2, -sign
            total += sign * (term // odd)
        return total

    pi = 4 * (4 * inverse_atan(5) - inverse_atan(239))
    return (2 << (guard + bits)) // pi


@functools.cache
def _reduction_table() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """For each biased f32 exponent, head and tail of (2**e * 2/pi) mod 4."""
    precision = 400
    source = two_over_pi_bits(precision)
    heads, tails = [], []
    for biased in range(256):
        scale = Fraction(2) ** (max(biased, 1) - FORMAT32.bias - FORMAT32.mantissa)
        value = (Fraction(source, 1 << precision) * scale) % 4
        drop = math.frexp(float(value))[1] - 28
        head = Fraction(math.floor(value / Fraction(2) ** drop)) * Fraction(2) ** drop
        heads.append(float(head))
        tails.append(float(value - head))
    return tuple(heads), tuple(tails)


def _reduce_f32(e: Emitter, x: Quantity) -> tuple[Quantity, Quantity]:
    """|x| = (quadrant + r / (pi/2)) * pi/2: r in f64, |r| <= pi/4, and the quadrant's low bits."""
    bits = x.bits() & 0x7FFFFFFF
    exponent = bits.shift_right_logical(23)
    implicit = e.select(exponent.equals(0), e.like(bits, 0), 1 << 23)
    mantissa = e.from_signed((bits & 0x7FFFFF) | implicit, FORMAT64.type)
    heads, tails = _reduction_table()
    product = mantissa * e.table("flowc_two_over_pi_head", heads, exponent)
    rest = mantissa * e.table("flowc_two_over_pi_tail", tails, exponent)
    shift = FORMAT64.rounding_shift
    rounded = (product + rest) + shift
    turns = ((product - (rounded - shift)) + rest) * HALF_PI
    return turns, e.resize(rounded.bits(), 32)


def _finite_or_nan(e: Emitter, x: Quantity, result: Quantity) -> Quantity:
    return e.select(e.abs(x) < INF, result, e.like(x, NAN))


def _flip_sign(e: Emitter, value: Quantity, sign: Quantity) -> Quantity:
    """`value` with its sign bit xor the top bit of the integer `sign`."""
    top = -(1 << (value.format.width - 1))
    return (value.bits() ^ (sign & top)).as_float()


def _sin_cos_f32(e: Emitter, x: Quantity, *, cosine: bool) -> Quantity:
    wide, quadrant = _reduce_f32(e, x)
    r = e.convert(wide, dtypes.f32)
    z = r * r
    sine = e.fma(r * z, e.polynomial(z, _SIN32), r)
    cosine_value = e.fma(z * z, e.polynomial(z, _COS32), e.fma(z, -0.5, 1.0))
    if cosine:
        quadrant = quadrant + 1
    value = e.select((quadrant & 1).equals(0), sine, cosine_value)
    sign = quadrant << 30
    result = _flip_sign(e, value, sign if cosine else sign ^ x.bits())
    return _finite_or_nan(e, x, result)


@define("sin", 1, (dtypes.f32,))
def sin_f32(e: Emitter, x: Quantity) -> Quantity:
    return _sin_cos_f32(e, x, cosine=False)


@define("cos", 1, (dtypes.f32,))
def cos_f32(e: Emitter, x: Quantity) -> Quantity:
    return _sin_cos_f32(e, x, cosine=True)


@define("tan", 1, (dtypes.f32,))
def tan_f32(e: Emitter, x: Quantity) -> Quantity:
    r, quadrant = _reduce_f32(e, x)
    z = r * r
    sine = e.fma(r * z, e.polynomial(z, _SIN48), r)
    cosine = e.fma(z * z, e.polynomial(z, _COS48), e.fma(z, -0.5, 1.0))
    even = (quadrant & 1).equals(0)
    ratio = e.select(even, sine, -cosine) / e.select(even, cosine, sine)
    return _finite_or_nan(e, x, _flip_sign(e, e.convert(ratio, dtypes.f32), x.bits()))


_WINDOW = 192  # bits of (2**e * 2/pi) mod 4: 2 before the point
_LARGEST = 971  # of the exponent e in x = m * 2**e with a 53-bit m
_HALF_PI_PARTS = (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21)


@functools.cache
def _two_over_pi_words() -> tuple[int, ...]:
    """2/pi in 64-bit words, the lowest first, as signed numbers."""
    bits = two_over_pi_bits(_LARGEST + _WINDOW - 2)
    words = [(bits >> (64 * i)) % 2**64 for i in range(23)]
    return tuple(w - 2**64 if w >= 2**63 else w for w in words)


def _pack(e: Emitter, high: Quantity, low: Quantity, quadrant: Quantity) -> Quantity:
    """Three results as one integer, for a branch yields one value."""
    wide = e.resize(high.bits(), 192) | (e.resize(low.bits(), 192) << 64)
    return wide | (e.resize(quadrant, 192) << 128)


def _reduce_near(e: Emitter, x: Quantity) -> Quantity:
    first, second, third = _HALF_PI_PARTS
    shift = FORMAT64.rounding_shift
    rounded = e.fma(x, 2 / math.pi, shift)
    n = rounded - shift
    rest = exact_sum(x - n * first, -(n * second))
    result = quick_sum(rest.high, rest.low - n * third)
    return _pack(e, result.high, result.low, rounded.bits())


def _reduce_far(e: Emitter, x: Quantity) -> Quantity:
    bits = x.bits()
    exponent = bits.shift_right_logical(52) & 0x7FF
    mantissa = (bits & ((1 << 52) - 1)) | (1 << 52)
    place = (_LARGEST + FORMAT64.bias + 52) - exponent
    place = e.select(place < 0, e.like(place, 0), place)
    word = place.shift_right_logical(6)
    words = e.constant(ir.IntType(256), 0)
    for i in range(4):
        part = e.table("flowc_two_over_pi_words", _two_over_pi_words(), word + i)
        words = words | (e.resize(part, 256) << (64 * i))
    window = e.resize(words.shift_right_logical(e.resize(place & 63, 256)), _WINDOW)
    turns = e.resize(mantissa, _WINDOW) * window
    quadrant = turns.shift_right_logical(_WINDOW - 2)
    quadrant = quadrant + (turns.shift_right_logical(_WINDOW - 3) & 1)
    fraction = turns << 2
    negative = fraction < 0
    size = e.select(negative, -fraction, fraction)
    zeros = e.count_leading_zeros(size)
    size = size << zeros
    high = e.from_unsigned(e.resize(size.shift_right_logical(_WINDOW - 53), 64), FORMAT64.type)
    low = e.from_unsigned(
        e.resize(size.shift_right_logical(_WINDOW - 106), 64) & (2**53 - 1), FORMAT64.type
    )
    scale = e.power_of_two(-e.resize(zeros, 64) - 53, FORMAT64)
    high = high * scale
    low = low * (scale * 2.0**-53)
    product = exact_product(high, e.like(high, HALF_PI))
    result = quick_sum(product.high, product.low + (high * _HALF_PI_TAIL + low * HALF_PI))
    sign = e.select(negative, e.like(high, -1.0), 1.0)
    return _pack(e, result.high * sign, result.low * sign, e.resize(quadrant, 64))


def _reduce_f64(e: Emitter, x: Quantity) -> tuple[Quantity, Quantity, Quantity]:
    """|x| = quadrant * pi/2 + high + low."""
    a = e.abs(x)
    packed = e.either(a < 2.0**20, lambda: _reduce_near(e, a), lambda: _reduce_far(e, a))
    high = e.resize(packed, 64).as_float()
    low = e.resize(packed.shift_right_logical(64), 64).as_float()
    return high, low, e.resize(packed.shift_right_logical(128), 64)


def _sine_of_sum(e: Emitter, high: Quantity, low: Quantity) -> Quantity:
    z = high * high
    return high + e.fma(z * high, e.polynomial(z, SIN64), low * e.fma(z, -0.5, 1.0))


def _cosine_of_sum(e: Emitter, high: Quantity, low: Quantity) -> Quantity:
    z = high * high
    half = z * 0.5
    lead = 1.0 - half
    return lead + (((1.0 - lead) - half) + (z * z * e.polynomial(z, COS64) - high * low))


def _sin_cos_f64(e: Emitter, x: Quantity, *, cosine: bool) -> Quantity:
    high, low, quadrant = _reduce_f64(e, x)
    if cosine:
        quadrant = quadrant + 1
    even = (quadrant & 1).equals(0)
    value = e.select(even, _sine_of_sum(e, high, low), _cosine_of_sum(e, high, low))
    sign = quadrant << 62
    return _finite_or_nan(e, x, _flip_sign(e, value, sign if cosine else sign ^ x.bits()))


@define("sin", 1, (dtypes.f64,), loops=True)
def sin_f64(e: Emitter, x: Quantity) -> Quantity:
    return _sin_cos_f64(e, x, cosine=False)


@define("cos", 1, (dtypes.f64,), loops=True)
def cos_f64(e: Emitter, x: Quantity) -> Quantity:
    return _sin_cos_f64(e, x, cosine=True)


@define("tan", 1, (dtypes.f64,), loops=True)
def tan_f64(e: Emitter, x: Quantity) -> Quantity:
    high, low, quadrant = _reduce_f64(e, x)
    sine, cosine = _sine_of_sum(e, high, low), _cosine_of_sum(e, high, low)
    even = (quadrant & 1).equals(0)
    ratio = e.select(even, sine, -cosine) / e.select(even, cosine, sine)
    return _finite_or_nan(e, x, _flip_sign(e, ratio, x.bits()))
