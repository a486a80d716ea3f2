"""pow, square roots, rounding, and division with a remainder for floats."""

from __future__ import annotations

from flowc import dtypes
from flowc.codegen.llvm.quantity import FORMAT64, Quantity
from flowc.codegen.math import double_double as dd
from flowc.codegen.math.double_double import DoubleDouble
from flowc.codegen.math.exponential import (
    INF,
    LN2,
    LOG2_E,
    LOG_ATANH64,
    NAN,
    exp_of_sum,
    split_exponent,
)
from flowc.codegen.math.expression import Emitter
from flowc.codegen.math.table import define

# (exp(t) - 1 - t) / t**2 on [-ln2/2, ln2/2]; error 2**-34.
_EXP = (
    0.5000000077890134, 0.16666666860857024, 0.041666269942883416, 0.00833326432891558,
    0.0013946074309471373, 0.0001991839597328112,
)  # fmt: skip
# (log((1 + s)/(1 - s)) - 2*s) / s**3 in powers of s**2; error 2**-44.
_LOG = (
    0.6666666667589001, 0.3999999558768298, 0.2857211315835797, 0.2217600681722676,
    0.1958696706221641,
)  # fmt: skip

# The same from s**5 on: (log((1 + s)/(1 - s)) - 2 s - 2/3 s**3) / s**5.
LOG_ATANH64_TAIL = LOG_ATANH64[1:]
# ln 2 as 32 bits, whose product with an exponent is exact, and the rest; and LN2's own error.
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LN2_TAIL = 2.3190468138462996e-17


@define("sqrt")
def sqrt(e: Emitter, x: Quantity) -> Quantity:
    return e.sqrt(x)


@define("rsqrt")
def rsqrt(e: Emitter, x: Quantity) -> Quantity:
    return 1.0 / e.sqrt(x)


@define("floor")
def floor(e: Emitter, x: Quantity) -> Quantity:
    return e.floor(x)


@define("ceil")
def ceil(e: Emitter, x: Quantity) -> Quantity:
    return e.ceil(x)


@define("trunc")
def trunc(e: Emitter, x: Quantity) -> Quantity:
    return e.trunc(x)


@define("rint")
def rint(e: Emitter, x: Quantity) -> Quantity:
    """To nearest, halves to even: TensorFlow's Rint and Round."""
    return e.rint(x)


def _fmod_steps(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    """fmod of finite |x| >= |y| > 0 as integers: shifts the remainder as far as it can go, divides,
    and repeats, so that at most 190 divisions reach any exponent."""
    f = x.format
    wide = 64

    def parts(v: Quantity) -> tuple[Quantity, Quantity]:
        bits = e.resize(v.bits() & ((1 << (f.width - 1)) - 1), wide)
        exponent = bits.shift_right_logical(f.mantissa)
        subnormal = exponent.equals(0)
        mantissa = bits & ((1 << f.mantissa) - 1)
        mantissa = e.select(subnormal, mantissa, mantissa | (1 << f.mantissa))
        return mantissa, e.select(subnormal, e.like(exponent, 1), exponent)

    mx, ex = parts(x)
    my, ey = parts(y)
    room = wide - 1 - (f.mantissa + 1)

    def step(state: tuple[Quantity, ...]) -> tuple[list[Quantity], Quantity]:
        remainder, left = state
        shift = e.select(left < room, left, room)
        remainder = (remainder << shift).remainder_unsigned(my)
        left = left - shift
        return [remainder, left], left > 0

    remainder, _ = e.loop([mx.remainder_unsigned(my), ex - ey], step, 256)
    # remainder * 2**(ey - bias - mantissa): as its leading bit stands, normal or subnormal.
    up = e.count_leading_zeros(remainder | 1) - (wide - 1 - f.mantissa)
    up = e.select(up < ey - 1, up, ey - 1)
    exponent = ey - up - 1
    bits = (remainder << up) + (exponent << f.mantissa)
    bits = e.select(remainder.equals(0), e.like(bits, 0), bits)
    return e.resize(bits, f.width).as_float()


@define("truncatemod", 2, loops=True)
def fmod(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    """C's fmod, exact. The sign is that of x."""
    ax, ay = e.abs(x), e.abs(y)
    regular = (ax < INF) & (ay > 0.0) & (ay < INF)
    short = (ax < ay * 2.0**24) & (ay < 2.0**100) & (ay > 2.0**-100)

    def quick() -> Quantity:
        """By one division in f64, whose quotient may be off by one: all steps are exact."""
        wx, wy = e.convert(ax, dtypes.f64), e.convert(ay, dtypes.f64)
        rest = wx - e.trunc(wx / wy) * wy
        rest = e.select(rest < 0.0, rest + wy, rest)
        return e.convert(e.select(rest >= wy, rest - wy, rest), dtypes.f32)

    def exact() -> Quantity:
        below = ax < ay
        usable = regular & ~below
        rest = _fmod_steps(e, e.select(usable, ax, 1.0), e.select(usable, ay, 1.0))
        return e.select(below, ax, rest)

    result = e.either(regular & short, quick, exact) if e.is_f32 else exact()
    result = e.select(regular, result, e.like(x, NAN))
    result = e.select(ay.equals(INF) & (ax < INF), ax, result)
    result = e.copysign(result, x)
    return e.select(x.is_nan() | y.is_nan(), x + y, result)


@define("floormod", 2, loops=True)
def floormod(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    """fmod moved to the divisor's sign, as TensorFlow's FloorMod."""
    rest = e.call(f"truncatemod_{e.dtype}", x, y)
    moved = rest.differs(0.0) & ((rest < 0.0) ^ (y < 0.0))
    return e.select(moved, rest + y, rest)


@define("floordiv", 2)
def floordiv(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    return e.floor(x / y)


@define("truncatediv", 2)
def truncatediv(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    return e.trunc(x / y)


@define("xdivy", 2)
def xdivy(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    return e.select(x.equals(0.0), x, x / y)


@define("xlogy", 2)
def xlogy(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    return e.select(x.equals(0.0), x, x * e.call(f"log_{e.dtype}", y))


@define("xlog1py", 2)
def xlog1py(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    return e.select(x.equals(0.0), x, x * e.call(f"log1p_{e.dtype}", y))


def _pow_fixups(e: Emitter, x: Quantity, y: Quantity, magnitude: Quantity) -> Quantity:
    """C's rules for signs and special values, given |x|**y."""
    half = y * 0.5
    whole = e.floor(y).equals(y)
    odd = whole & e.floor(half).differs(half)
    result = e.select(odd, e.copysign(magnitude, x), magnitude)
    undefined = (x < 0.0) & (x > -INF) & ~whole
    result = e.select(undefined, e.like(x, NAN), result)
    return e.select(x.equals(1.0) | y.equals(0.0), e.like(x, 1.0), result)


@define("pow", 2, (dtypes.f32,))
def pow_f32(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    """2**(y log2|x|) in f64: the product needs 24 + 8 good bits."""
    a, wide_y = e.convert(e.abs(x), dtypes.f64), e.convert(y, dtypes.f64)
    m, k = split_exponent(e, a)
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    log2 = e.fma(s * e.fma(z, e.polynomial(z, _LOG), 2.0), LOG2_E, k)
    log2 = e.select(a < INF, log2, a)
    log2 = e.select(a.equals(0.0), e.like(a, -INF), log2)
    product = log2 * wide_y
    # 1 to an infinite power is 1, not infinity times 0.
    product = e.select(a.equals(1.0) & ~wide_y.is_nan(), e.like(a, 0.0), product)
    power = e.at_most(e.at_least(product, -200.0), 200.0)
    shift = FORMAT64.rounding_shift + FORMAT64.bias
    rounded = power + shift
    t = (power - (rounded - shift)) * LN2
    scale = (rounded.bits() << FORMAT64.mantissa).as_float()
    series = e.fma(t * t, e.polynomial(t, _EXP), t + 1.0)
    return _pow_fixups(e, x, y, e.convert(series * scale, dtypes.f32))


def _log_double(e: Emitter, a: Quantity) -> DoubleDouble:
    """log(a) for positive normal a to about 2**-66: its first two terms in two words each."""
    m, k = split_exponent(e, a)
    top = m - 1.0
    s = dd.divide(DoubleDouble(top, e.like(m, 0.0)), dd.exact_sum(e.like(m, 1.0), m))
    z = dd.multiply(s, s)
    cube = dd.multiply(z, s)
    third = DoubleDouble(e.like(m, 0.6666666666666666), e.like(m, 3.700743415417188e-17))
    rest = cube.high * z.high * e.polynomial(z.high, LOG_ATANH64_TAIL)
    series = dd.multiply(cube, third)
    series = dd.quick_sum(series.high, series.low + rest)
    log_m = dd.add(DoubleDouble(s.high * 2.0, s.low * 2.0), series)
    log_k = dd.quick_sum(k * _LN2_HIGH, k * _LN2_LOW)
    return dd.add(log_k, log_m)


@define("pow", 2, (dtypes.f64,))
def pow_f64(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    a = e.abs(x)
    subnormal = a < FORMAT64.smallest_normal
    log = _log_double(e, e.select(subnormal, a * 2.0**54, a))
    lift = dd.exact_product(e.select(subnormal, e.like(x, -54.0), 0.0), e.like(x, LN2))
    low = lift.low + e.select(subnormal, e.like(x, -54.0 * _LN2_TAIL), 0.0)
    log = dd.add(DoubleDouble(lift.high, low), log)
    # Whatever is not 1 has a logarithm above 2**-54: larger exponents overflow all the same.
    limited = e.at_most(e.at_least(y, -(2.0**66)), 2.0**66)
    product = dd.multiply(log, DoubleDouble(limited, e.like(y, 0.0)))
    low = e.select(e.abs(product.high) < 1100.0, product.low, 0.0)
    magnitude = exp_of_sum(e, product.high, low)
    grows = y > 0.0
    magnitude = e.select(a.equals(INF), e.select(grows, a, 0.0), magnitude)
    magnitude = e.select(a.equals(0.0), e.select(grows, a, e.like(a, INF)), magnitude)
    magnitude = e.select(x.is_nan() | y.is_nan(), x + y, magnitude)
    return _pow_fixups(e, x, y, magnitude)


@define("nextafter", 2)
def nextafter(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    """The neighbour of x towards y; y where they are equal."""
    bits = x.bits()
    away = (x < y).equals(bits >= 0)
    moved = (bits + e.select(away, e.like(bits, 1), -1)).as_float()
    tiny = e.copysign(e.like(bits, 1).as_float(), y)
    result = e.select(x.equals(0.0), tiny, moved)
    result = e.select(x.equals(y), y, result)
    return e.select(x.is_nan() | y.is_nan(), x + y, result)


@define("fma", 3)
def fma(e: Emitter, x: Quantity, y: Quantity, z: Quantity) -> Quantity:
    """x * y + z, fused where the target fuses."""
    return e.fma(x, y, z)
