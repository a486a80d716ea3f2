"""asin, acos, atan and atan2: one minimax polynomial each, after a reduction by select."""

from __future__ import annotations

import math

from flowc.codegen.llvm.quantity import FORMAT32, FORMAT64, Quantity
from flowc.codegen.math.exponential import INF
from flowc.codegen.math.expression import Emitter
from flowc.codegen.math.table import define

HALF_PI = math.pi / 2

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


def _asin_tail(e: Emitter, z: Quantity) -> Quantity:
    return z * e.polynomial(z, _ASIN[z.format])


@define("asin")
def asin(e: Emitter, x: Quantity) -> Quantity:
    """Above 1/2 by asin(a) = pi/2 - 2 asin(sqrt((1 - a)/2))."""
    a = e.abs(x)
    outer = a > 0.5
    z = e.select(outer, (1.0 - a) * 0.5, a * a)
    s = e.select(outer, e.sqrt(z), a)
    value = e.fma(s, _asin_tail(e, z), s)
    # pi/2 is a sum of two numbers here too: its rounding error would show.
    folded = HALF_PI - (value * 2.0 - _half_pi_tail(x))
    return e.copysign(e.select(outer, folded, value), x)


def _half_pi_tail(x: Quantity) -> float:
    return 6.123233995736766e-17 if x.format is FORMAT64 else -4.371139e-08


@define("acos")
def acos(e: Emitter, x: Quantity) -> Quantity:
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


def _atan_ratio(e: Emitter, numerator: Quantity, denominator: Quantity) -> Quantity:
    """atan(numerator / denominator) for 0 <= numerator <= denominator, by one division."""
    steep = numerator > denominator * 0.4142135623730950488
    top = e.select(steep, numerator - denominator, numerator)
    bottom = e.select(steep, numerator + denominator, denominator)
    t = top / bottom
    z = t * t
    value = e.fma(t * z, e.polynomial(z, _ATAN[t.format]), t)
    return e.select(steep, value + HALF_PI / 2, value)


@define("atan")
def atan(e: Emitter, x: Quantity) -> Quantity:
    a = e.abs(x)
    steep = a > 1.0
    one = e.like(x, 1.0)
    value = _atan_ratio(e, e.select(steep, one, a), e.select(steep, a, one))
    value = e.select(steep, HALF_PI - (value - _half_pi_tail(x)), value)
    return e.copysign(e.select(a < 2.0**-30, a, value), x)


@define("atan2", 2)
def atan2(e: Emitter, y: Quantity, x: Quantity) -> Quantity:
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
