"""sin, cos, tan and their inverses, right for arguments of any size.

f32: x = m * 2**e with a 24-bit integer m, and a table holds (2**e * 2/pi) mod 4 for every exponent
as a 28-bit head, whose product with m is exact, and a 53-bit tail. So one branch-free reduction in
f64 serves every argument.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

from flowc import dtypes
from flowc.codegen.math.exponential import INF, NAN
from flowc.codegen.math.expression import FORMAT32, FORMAT64, Emitter, Value
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
_SIN64 = (
    -0.16666666666666632, 0.008333333333322314, -0.0001984126982972515, 2.7557313662040305e-06,
    -2.505075326203509e-08, 1.589650481187614e-10,
)  # fmt: skip
_COS64 = (
    0.0416666666666666, -0.0013888888888873997, 2.480158728939769e-05, -2.7557314326529717e-07,
    2.087571959715735e-09, -1.1359449561243159e-11,
)  # fmt: skip
# (asin(x) - x) / x**3 in powers of x**2 on [0, 1/2].
_ASIN = {
    FORMAT32: (0.16666755, 0.074951984, 0.045483083, 0.024115436, 0.042277336),
    FORMAT64: (
        0.16666666666665347, 0.0750000000035202, 0.0446428568157986, 0.030381959658132052,
        0.022371745469624893, 0.017359895526007526, 0.013883342464665422, 0.012181691968912346,
        0.006473792426718344, 0.01967708877946152, -0.01645862646308302, 0.03207349355890213,
    ),
}  # fmt: skip
# (atan(t) - t) / t**3 in powers of t**2 for |t| <= tan(pi/8).
_ATAN = {
    FORMAT32: (-0.33333316, 0.1999848, -0.14243644, 0.105943605, -0.06078997),
    FORMAT64: (
        -0.333333333333332, 0.19999999999953239, -0.1428571428015902, 0.11111110781465654,
        -0.09090897697020912, 0.07692059075382394, -0.06663090417697828, 0.058477851987090095,
        -0.050388137440458586, 0.03805154388269797, -0.017892376888385512,
    ),
}  # fmt: skip


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


def _reduce_f32(e: Emitter, x: Value) -> tuple[Value, Value]:
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


def _finite_or_nan(e: Emitter, x: Value, result: Value) -> Value:
    return e.select(e.abs(x) < INF, result, e.like(x, NAN))


def _flip_sign(e: Emitter, value: Value, sign: Value) -> Value:
    """`value` with its sign bit xor the top bit of the integer `sign`."""
    top = -(1 << (value.format.width - 1))
    return (value.bits() ^ (sign & top)).as_float()


def _sin_cos_f32(e: Emitter, x: Value, *, cosine: bool) -> Value:
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
def sin_f32(e: Emitter, x: Value) -> Value:
    return _sin_cos_f32(e, x, cosine=False)


@define("cos", 1, (dtypes.f32,))
def cos_f32(e: Emitter, x: Value) -> Value:
    return _sin_cos_f32(e, x, cosine=True)


@define("tan", 1, (dtypes.f32,))
def tan_f32(e: Emitter, x: Value) -> Value:
    r, quadrant = _reduce_f32(e, x)
    z = r * r
    sine = e.fma(r * z, e.polynomial(z, _SIN48), r)
    cosine = e.fma(z * z, e.polynomial(z, _COS48), e.fma(z, -0.5, 1.0))
    even = (quadrant & 1).equals(0)
    ratio = e.select(even, sine, -cosine) / e.select(even, cosine, sine)
    return _finite_or_nan(e, x, _flip_sign(e, e.convert(ratio, dtypes.f32), x.bits()))


def _asin_tail(e: Emitter, z: Value) -> Value:
    return z * e.polynomial(z, _ASIN[z.format])


@define("asin")
def asin(e: Emitter, x: Value) -> Value:
    """Above 1/2 by asin(a) = pi/2 - 2 asin(sqrt((1 - a)/2))."""
    a = e.abs(x)
    outer = a > 0.5
    z = e.select(outer, (1.0 - a) * 0.5, a * a)
    s = e.select(outer, e.sqrt(z), a)
    value = e.fma(s, _asin_tail(e, z), s)
    # pi/2 is a sum of two numbers here too: its rounding error would show.
    folded = HALF_PI - (value * 2.0 - _half_pi_tail(x))
    return e.copysign(e.select(outer, folded, value), x)


def _half_pi_tail(x: Value) -> float:
    return _HALF_PI_TAIL if x.format is FORMAT64 else -4.371139e-08


@define("acos")
def acos(e: Emitter, x: Value) -> Value:
    a = e.abs(x)
    outer = a > 0.5
    z = e.select(outer, (1.0 - a) * 0.5, a * a)
    s = e.select(outer, e.sqrt(z), a)
    value = e.fma(s, _asin_tail(e, z), s)
    tail = _half_pi_tail(x)
    signed = e.copysign(value, x)
    inner = HALF_PI - (signed - tail)
    doubled = value * 2.0
    folded = e.select(x < 0.0, 2.0 * HALF_PI - (doubled - 2.0 * tail), doubled)
    return e.select(outer, folded, inner)


def _atan_ratio(e: Emitter, numerator: Value, denominator: Value) -> Value:
    """atan(numerator / denominator) for 0 <= numerator <= denominator, by one division."""
    steep = numerator > denominator * 0.4142135623730950488
    top = e.select(steep, numerator - denominator, numerator)
    bottom = e.select(steep, numerator + denominator, denominator)
    t = top / bottom
    z = t * t
    value = e.fma(t * z, e.polynomial(z, _ATAN[t.format]), t)
    return e.select(steep, value + HALF_PI / 2, value)


@define("atan")
def atan(e: Emitter, x: Value) -> Value:
    a = e.abs(x)
    steep = a > 1.0
    one = e.like(x, 1.0)
    value = _atan_ratio(e, e.select(steep, one, a), e.select(steep, a, one))
    value = e.select(steep, HALF_PI - (value - _half_pi_tail(x)), value)
    return e.copysign(e.select(a < 2.0**-30, a, value), x)


@define("atan2", 2)
def atan2(e: Emitter, y: Value, x: Value) -> Value:
    ay, ax = e.abs(y), e.abs(x)
    steep = ay > ax
    small, large = e.select(steep, ax, ay), e.select(steep, ay, ax)
    both_infinite = small.equals(INF)
    # Near the ends of the range, sums inside overflow and quotients lose bits: scale both.
    huge, faint = large > 2.0**100, large < 2.0**-80
    factor = e.select(huge, e.like(x, 2.0**-40), e.select(faint, e.like(x, 2.0**40), 1.0))
    numerator = e.select(both_infinite, e.like(x, 1.0), small * factor)
    denominator = e.select(both_infinite | large.equals(0.0), e.like(x, 1.0), large * factor)
    value = _atan_ratio(e, numerator, denominator)
    tail = _half_pi_tail(x)
    value = e.select(steep, HALF_PI - (value - tail), value)
    negative = x.bits() < 0
    value = e.select(negative, 2.0 * HALF_PI - (value - 2.0 * tail), value)
    value = e.copysign(value, y)
    return e.select(x.is_nan() | y.is_nan(), x + y, value)
