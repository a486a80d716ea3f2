"""exp, expm1, log, log1p, sigmoid and the hyperbolic functions.

All are branch-free. Reductions are Cody-Waite: the high part of ln 2 has so few bits that its
product with the exponent is exact, with or without a fused multiply-add. Polynomials are minimax
(Remez) in the form noted beside them.
"""

from __future__ import annotations

from flowc.codegen.llvm.quantity import FORMAT32, FORMAT64, FloatFormat, Quantity
from flowc.codegen.math.expression import Emitter
from flowc.codegen.math.table import define
from flowc.dataclass import dataclass

LOG2_E = 1.4426950408889634
LN2 = 0.6931471805599453
INF = float("inf")
NAN = float("nan")

# (exp(r) - 1 - r) / r**2 on [-ln2/2, ln2/2]; relative error of exp 2**-28 and 2**-64.
_EXP32 = (0.5, 0.16666518, 0.041666206, 0.008368953, 0.0013950599)
_EXP64 = (
    0.5, 0.16666666666666685, 0.04166666666666673, 0.008333333333316621, 0.0013888888888858235,
    0.00019841269897358485, 2.480158737408167e-05, 2.755723393125037e-06, 2.7557233104931787e-07,
    2.511234825413349e-08, 2.0927014487566914e-09,
)  # fmt: skip
# (log(1 + f) - f + f**2/2) / f**3 on [sqrt(1/2) - 1, sqrt(2) - 1]; error 2**-30.
_LOG32 = (
    0.3333331, -0.24999985, 0.20002246, -0.16669318, 0.14218259, -0.123828895, 0.118748285,
    -0.117996685, 0.069228105,
)  # fmt: skip
# (log((1 + s)/(1 - s)) - 2*s) / s**3 as a polynomial in s**2; error 2**-65.
LOG_ATANH64 = (
    0.6666666666666666, 0.4000000000000633, 0.2857142856905909, 0.22222222650888396,
    0.1818177533471437, 0.1538710534098361, 0.1324978700410162, 0.13254358630531318,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _ExpConstants:
    """`high`: beyond it exp is infinite. `gone`: 2**n and anything near it rounds to 0 for
    n <= -gone, the exponent of the smallest subnormal less 2."""

    ln2_high: float
    ln2_low: float
    polynomial: tuple[float, ...]
    high: float
    gone: int


_EXP = {
    FORMAT32: _ExpConstants(0.693359375, -2.12194440e-4, _EXP32, 89.0, 151),
    FORMAT64: _ExpConstants(0.693145751953125, 1.42860682030941723212e-6, _EXP64, 710.0, 1076),
}
_LN2_SPLIT = {
    FORMAT32: (0.693359375, -2.12194440e-4),
    FORMAT64: (6.93147180369123816490e-01, 1.90821492927058770002e-10),
}


def _reduce(e: Emitter, x: Quantity, bias: int, factor: float = 1.0) -> tuple[Quantity, Quantity]:
    """factor*x = n ln2 + factor*r: r, and n + bias in the low bits of an integer.

    `factor`, a power of two or -1, costs nothing: it joins the constants.
    """
    f, c = x.format, _EXP[x.format]
    shift = f.rounding_shift + bias
    rounded = e.fma(x, LOG2_E * factor, shift)
    n = rounded - shift
    r = e.fma(n, -c.ln2_high / factor, x)
    return e.fma(n, -c.ln2_low / factor, r), rounded.bits()


def _exp_minus_1(e: Emitter, r: Quantity) -> Quantity:
    """exp(r) - 1 for a reduced r."""
    return e.fma(r * r, e.polynomial(r, _EXP[r.format].polynomial), r)


def _exp_reduced(e: Emitter, r: Quantity, factor: float = 1.0, scale: float = 1.0) -> Quantity:
    """scale*exp(factor*r) for a reduced r. A `scale` that is a power of two costs nothing."""
    series = (1.0, 1.0, *_EXP[r.format].polynomial)
    return e.polynomial(r, [c * scale * factor**k for k, c in enumerate(series)])


def exp_of_sum(
    e: Emitter, x: Quantity, low: Quantity | None = None, *, negative: bool = False
) -> Quantity:
    """exp(x + low) for any x; `negative`: x is at most 0, which saves the upper clamp.

    `low` is what rounding took from x, at most an ulp or so.

    2**n may be no normal number, so below 0 n is raised by `lift` and the result lowered again,
    which rounds only once. Far below, as in a masked softmax, the raised 2**n is the float of bits
    0, so that nothing underflows: that costs a hundred cycles.
    """
    f, c = x.format, _EXP[x.format]
    # Above 0 the scale is halved, for 2**(bias+1) is no number; the last factor makes up for it.
    halved = 0 if negative else 1
    lift = c.gone - f.bias + halved
    below = x < 0.0
    x = e.at_least(x, -c.gone * LN2)
    if not negative:
        x = e.at_most(x, c.high)
    r, n = _reduce(e, x, f.bias - halved + (lift if negative else 0))
    if low is not None:
        r = r + low
    scale = n << f.mantissa
    if negative:
        return _exp_reduced(e, r, scale=2.0**-lift) * scale.as_float()
    y = _exp_reduced(e, r)
    lifted = e.select(below, e.constant(f.bits, lift << f.mantissa), 0)
    factor = e.select(below, e.like(x, 2.0 ** (halved - lift)), 2.0**halved)
    return y * (scale + lifted).as_float() * factor


@define("exp")
def exp(e: Emitter, x: Quantity) -> Quantity:
    return exp_of_sum(e, x)


@define("exp_negative")
def exp_negative(e: Emitter, x: Quantity) -> Quantity:
    """exp(x) for an x of at most 0, with a third fewer instructions than exp has."""
    return exp_of_sum(e, x, negative=True)


@define("sigmoid")
def sigmoid(e: Emitter, x: Quantity) -> Quantity:
    """1 / (1 + exp(-x)), both sides times 2**-mantissa: so exp(-x) is finite wherever the result
    is not 0, and infinite beyond."""
    f, c = x.format, _EXP[x.format]
    one = 2.0**-f.mantissa
    x = e.at_most(e.at_least(x, -c.gone * LN2), 2.0 * f.mantissa)
    r, n = _reduce(e, x, f.bias - f.mantissa, -1.0)
    return one / e.fma((n << f.mantissa).as_float(), _exp_reduced(e, r, -1.0), one)


@define("expm1")
def expm1(e: Emitter, x: Quantity) -> Quantity:
    f, c = x.format, _EXP[x.format]
    # Beyond the top exponent the scale is halved and the result doubled; -1 no longer matters.
    top = x > c.high - 1.5
    r, n = _reduce(e, e.at_most(e.at_least(x, -45.0), c.high), f.bias)
    halved = e.select(top, e.constant(f.bits, -(1 << f.mantissa)), 0)
    scale = ((n << f.mantissa) + halved).as_float()
    result = e.fma(scale, _exp_minus_1(e, r), scale - 1.0) * e.select(top, e.like(x, 2.0), 1.0)
    return e.copysign(result, x)


@define("tanh")
def tanh(e: Emitter, x: Quantity) -> Quantity:
    """u / (u + 1) with u = (exp(2|x|) - 1)/2; beyond the clamp it is 1 to the last bit."""
    f, c = x.format, _EXP[x.format]
    a = e.at_most(e.abs(x), 10.0 if e.is_f32 else 22.0)
    r, n = _reduce(e, a, f.bias, 2.0)
    scale = (n << f.mantissa).as_float()
    series = e.polynomial(r, [2.0 ** (k + 1) * v for k, v in enumerate(c.polynomial)])
    u = e.fma(scale, e.fma(r * r, series, r), e.fma(scale, 0.5, -0.5))
    return e.copysign(u / (u + 1.0), x)


def split_exponent(e: Emitter, x: Quantity) -> tuple[Quantity, Quantity]:
    """x = m * 2**k for a positive normal x, m in [sqrt(1/2), sqrt(2)): m, and k as a float."""
    f = x.format
    root_half = 0x3F3504F3 if f is FORMAT32 else 0x3FE6A09E667F3BCD
    one = f.bias << f.mantissa
    moved = x.bits() + (one - root_half)
    m = ((moved & ((1 << f.mantissa) - 1)) + root_half).as_float()
    # The biased exponent becomes the low mantissa bits of 2**mantissa: no integer conversion,
    # which 64-bit lanes have only on AVX-512.
    anchor = (f.bias + f.mantissa) << f.mantissa
    k = (moved.shift_right_logical(f.mantissa) | anchor).as_float()
    return m, k - (2.0**f.mantissa + f.bias)


def log_of_parts(e: Emitter, f: Quantity, k: Quantity) -> Quantity:
    """log(2**k * (1 + f)) for f in [sqrt(1/2) - 1, sqrt(2) - 1)."""
    high, low = _LN2_SPLIT[f.format]
    square = f * f
    if f.format is FORMAT32:
        y = f * square * e.polynomial(f, _LOG32)
        y = e.fma(k, low, y)
        y = e.fma(square, -0.5, y)
        return e.fma(k, high, f + y)
    s = f / (f + 2.0)
    z = s * s
    half = square * 0.5
    tail = e.fma(s, e.fma(z, e.polynomial(z, LOG_ATANH64), half), k * low)
    return e.fma(k, high, f - (half - tail))


@define("log")
def log(e: Emitter, x: Quantity) -> Quantity:
    f = x.format
    subnormal = x < f.smallest_normal
    lift = f.mantissa + 1
    m, k = split_exponent(e, e.select(subnormal, x * 2.0**lift, x))
    k = k - e.select(subnormal, e.like(x, float(lift)), 0.0)
    result = log_of_parts(e, m - 1.0, k)
    result = e.select(x < INF, result, x)
    result = e.select(x < 0.0, e.like(x, NAN), result)
    return e.select(x.equals(0.0), e.like(x, -INF), result)


def log1p_inside(e: Emitter, x: Quantity) -> Quantity:
    """log(1 + x) for -1 < x < inf, without its sign at zero."""
    f = x.format
    u = x + 1.0
    m, k = split_exponent(e, u)
    # 1 + x = 2**k (1 + g), and g = 2**-k x + (2**-k - 1) rounds once: the product is exact.
    scale = e.power_of_two(-_small_integer(e, k), f)
    g = e.fma(scale, x, scale - 1.0)
    # Beyond 2**mantissa+1 the 1 is lost anyway, and 2**-k may be no normal number.
    return log_of_parts(e, e.select(x > 2.0 ** (f.mantissa + 2), m - 1.0, g), k)


def _small_integer(e: Emitter, k: Quantity) -> Quantity:
    """The integer held by the integral float `k`, |k| < 2**(mantissa-1), modulo small powers."""
    f: FloatFormat = k.format
    return (k + f.rounding_shift).bits()


@define("log1p")
def log1p(e: Emitter, x: Quantity) -> Quantity:
    result = e.copysign(log1p_inside(e, x), x)
    result = e.select(x < INF, result, x)
    result = e.select(x < -1.0, e.like(x, NAN), result)
    return e.select(x.equals(-1.0), e.like(x, -INF), result)


def _half_exp_parts(e: Emitter, a: Quantity) -> tuple[Quantity, Quantity]:
    """(exp(a) - 1)/2 and exp(a)/2 for a >= 0, infinite only where the latter is."""
    f, c = a.format, _EXP[a.format]
    r, n = _reduce(e, e.at_most(a, c.high + 0.5), f.bias - 2)
    quarter = (n << f.mantissa).as_float()
    p = _exp_minus_1(e, r)
    return e.fma(quarter, p, quarter - 0.25) * 2.0, e.fma(quarter, p, quarter) * 2.0


@define("sinh")
def sinh(e: Emitter, x: Quantity) -> Quantity:
    """(t + t/(t+1))/2 with t = exp(|x|) - 1; for tiny x, x itself (t/2 may lose bits there)."""
    a = e.abs(x)
    h, half_exp = _half_exp_parts(e, a)
    result = h + h / (h * 2.0 + 1.0)
    result = e.select(a > 20.0, half_exp, result)
    return e.copysign(e.select(a < 2.0**-30, a, result), x)


@define("cosh")
def cosh(e: Emitter, x: Quantity) -> Quantity:
    _, half_exp = _half_exp_parts(e, e.abs(x))
    return half_exp + 0.25 / half_exp


@define("asinh")
def asinh(e: Emitter, x: Quantity) -> Quantity:
    """log1p(a + a**2 / (1 + sqrt(a**2 + 1))); for large a, log(a) + ln 2."""
    a = e.abs(x)
    large = a > 2.0 ** (x.format.mantissa + 5)
    square = a * a
    t = a + square / (e.sqrt(square + 1.0) + 1.0)
    result = log1p_inside(e, e.select(large, a, t))
    result = result + e.select(large, e.like(x, LN2), 0.0)
    return e.copysign(e.select(a < INF, result, a), x)


@define("acosh")
def acosh(e: Emitter, x: Quantity) -> Quantity:
    """log1p(t + sqrt(2 t + t**2)) with t = x - 1; for large x, log(x) + ln 2."""
    large = x > 2.0 ** (x.format.mantissa + 5)
    t = x - 1.0
    inner = e.select(large, x, t + e.sqrt(e.fma(t, t, t * 2.0)))
    result = log1p_inside(e, inner) + e.select(large, e.like(x, LN2), 0.0)
    result = e.select(x < INF, result, x)
    return e.select(x < 1.0, e.like(x, NAN), result)


@define("atanh")
def atanh(e: Emitter, x: Quantity) -> Quantity:
    a = e.abs(x)
    result = log1p_inside(e, a * 2.0 / (1.0 - a)) * 0.5
    result = e.select(a < 2.0**-30, a, result)
    result = e.select(a.equals(1.0), e.like(x, INF), result)
    return e.copysign(e.select(a <= 1.0, result, NAN), x)
