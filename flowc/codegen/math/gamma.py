"""lgamma and digamma (branch-free), the incomplete gamma and beta functions, zeta and polygamma.

f32 is computed in f64. The incomplete functions and zeta are series or continued fractions in a
loop that ends by itself or at a fixed count.
"""

from __future__ import annotations

import math

from flowc import dtypes
from flowc.codegen.llvm.quantity import Quantity
from flowc.codegen.math import lgamma_rows
from flowc.codegen.math.exponential import INF, NAN
from flowc.codegen.math.expression import Emitter
from flowc.codegen.math.table import define, define_through_f64
from flowc.codegen.math.trigonometric import COS64, SIN64

_F64 = (dtypes.f64,)
_EPSILON = 2.0**-53
_TINY = 1e-300
_MOST_STEPS = 5000
_LOWEST_ZETA = 1e6  # zeta sums one term for each unit below 0

# Bernoulli numbers: Stirling's series B[2k] / (2k (2k-1)), digamma's B[2k] / 2k.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
_STIRLING = tuple(b / (k * (k - 1)) for k, b in zip(range(2, 18, 2), _BERNOULLI))
_DIGAMMA = tuple(b / k for k, b in zip(range(2, 18, 2), _BERNOULLI))
_SHIFTED = 10.0  # from here on the asymptotic series hold to the last bit


def sin_cos_pi(e: Emitter, a: Quantity) -> tuple[Quantity, Quantity, Quantity]:
    """|sin(pi a)|, |cos(pi a)|, and a's signed distance from the nearest integer, for a >= 0."""
    distance = a - e.rint(a)
    f = e.abs(distance)
    swap = f > 0.25
    r = e.select(swap, 0.5 - f, f) * math.pi
    z = r * r
    sine = e.fma(r * z, e.polynomial(z, SIN64), r)
    cosine = e.fma(z * z, e.polynomial(z, COS64), e.fma(z, -0.5, 1.0))
    return e.select(swap, cosine, sine), e.select(swap, sine, cosine), distance


def _shifted(e: Emitter, x: Quantity) -> tuple[Quantity, Quantity]:
    """y in [0.75, 2.5] a whole number away from x in [0, 10), and gamma(x) / gamma(y) or, for
    x < 0.75, x itself."""
    small = x < 0.75
    y, product = e.select(small, x + 1.0, x), e.like(x, 1.0)
    for i in range(1, 9):
        above = x >= i + 1.5
        product = e.select(above, product * (x - float(i)), product)
        y = e.select(above, x - float(i), y)
    return y, e.select(small, x, product)


def _shifted_to_two(e: Emitter, x: Quantity) -> tuple[Quantity, Quantity]:
    """y in [1.5, 2.5] a whole number away from x in [0, 10), and gamma(x) / gamma(y) or, for
    x < 1.5, its inverse, which has no rounding next to the root at 1."""
    tiny, small = x < 0.5, x < 1.5
    y = e.select(tiny, x + 2.0, e.select(small, x + 1.0, x))
    product = e.select(tiny, x * (x + 1.0), e.select(small, x, 1.0))
    for i in range(1, 9):
        above = x >= i + 1.5
        product = e.select(above, product * (x - float(i)), product)
        y = e.select(above, x - float(i), y)
    return y, product


def _lgamma_positive(
    e: Emitter,
    x: Quantity,
    y: Quantity,
    product: Quantity,
    polynomial: Quantity,
    inverse: Quantity,
    small: Quantity,
) -> Quantity:
    """From 10 on by Stirling's series, below as (y - 1)(y - 2) p(y) and a product's logarithm,
    which is taken off where x is `small`.

    `inverse` is 1 / x where x is at least 10.
    """
    large = x >= _SHIFTED
    log = e.call("log_f64", e.select(large, x, product))
    series = inverse * e.polynomial(inverse * inverse, _STIRLING)
    stirling = (x - 0.5) * log - x + (0.5 * math.log(2 * math.pi) + series)
    middle = (y - 1.0) * (y - 2.0) * polynomial + e.select(small, -log, log)
    result = e.select(large, stirling, middle)
    return e.select(x.equals(INF), x, result)


def _with_negative(
    e: Emitter, x: Quantity, sine: Quantity, positive: Quantity, below: Quantity
) -> Quantity:
    result = e.select(x < 0.0, below, positive)
    pole = (x < 0.0) & (sine.equals(0.0) | x.equals(-INF))
    return e.select(pole, e.like(x, INF), result)


@define("lgamma", 1, (dtypes.f32,))
def lgamma_f32(e: Emitter, x: Quantity) -> Quantity:
    """log|gamma(x)| in f64; below 0 by reflection: log pi - log|sin(pi x)| - lgamma(1 - x)."""
    x = e.convert(x, dtypes.f64)
    a = e.abs(x)
    argument = e.select(x < 0.0, a + 1.0, x)
    y, product = _shifted_to_two(e, argument)
    polynomial = e.polynomial(y - 2.0, lgamma_rows.NEAR_TWO)
    less = argument < 1.5
    positive = _lgamma_positive(e, argument, y, product, polynomial, 1.0 / argument, less)
    sine, _, _ = sin_cos_pi(e, a)
    below = math.log(math.pi) - e.call("log_f64", sine) - positive
    return e.convert(_with_negative(e, x, sine, positive, below), dtypes.f32)


def _lgamma_row(e: Emitter, row: Quantity, d: Quantity) -> tuple[Quantity, Quantity, Quantity]:
    """A row of the table: its root, the distance of d from there, and its polynomial at d."""
    start = e.to_signed(row, 64) * lgamma_rows.WIDTH
    high, low, middle, *coefficients = (
        e.table("flowc_lgamma_rows", lgamma_rows.rows(), start + k)
        for k in range(lgamma_rows.WIDTH)
    )
    z = d - middle
    polynomial = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        polynomial = e.fma(polynomial, z, c)
    return high, (d - high) - low, polynomial


@define("lgamma", 1, _F64)
def lgamma(e: Emitter, x: Quantity) -> Quantity:
    """log|gamma(x)|; below 0 by reflection: log(pi / |x sin(pi x)|) - lgamma(-x). About the
    roots, where these cancel, t p(d) - log(d / root), where d is the distance from the pole and t
    that from the root. The logarithm's argument is then 1 + t / root. From -2.8 to -2.5, where
    these cancel too, the argument is 1, and in the valley between two roots t also."""
    a = e.abs(x)
    sine, _, distance = sin_cos_pi(e, a)
    n = e.select(x > lgamma_rows.VALLEY, e.like(x, 2.0), a - distance)
    d = x + n
    reach = e.select(n < 3.5, e.like(x, 1.0), lgamma_rows.REACH)
    rooted = (x < lgamma_rows.FIRST) & (n <= lgamma_rows.LAST) & (e.abs(d) <= reach)

    tiny = (x < 0.0) & (a < 0.75)
    argument = e.select(tiny, a + 1.0, a)
    y, product = _shifted(e, argument)
    plain = (x > lgamma_rows.SLOPE) & (x < lgamma_rows.VALLEY_END)
    valley = plain & (x > lgamma_rows.VALLEY)
    row = n * 2.0 - e.select(d > 0.0, e.like(x, 1.0), 0.0)
    row = e.select(plain, e.select(valley, e.like(x, 2.0), 3.0), row)
    row = e.select(rooted, row, e.select(y < 1.5, e.like(x, 0.0), 1.0))
    root, t, polynomial = _lgamma_row(e, row, e.select(rooted, d, y))

    close = rooted & ~plain & (e.abs(t - root * 0.25) < e.abs(root) * 0.75)
    top = e.select(rooted, e.select(close, t, e.select(plain, root, d)), math.pi)
    ratio = top / e.select(rooted, root, e.select(tiny, sine, sine * a))
    near_one = ratio + 1.0
    log = e.call("log_f64", e.select(close, near_one, ratio))
    inverse = 1.0 / e.select(close, near_one, argument)
    rounding = e.select(close, (ratio - (near_one - 1.0)) * inverse, 0.0)
    positive = _lgamma_positive(e, argument, y, product, polynomial, inverse, argument < 0.75)
    near_root = e.select(valley, 1.0, t) * polynomial - (log + rounding)
    below = e.select(rooted, near_root, log - positive)
    return _with_negative(e, x, sine, positive, below)


@define("digamma", 1, _F64)
def digamma(e: Emitter, x: Quantity) -> Quantity:
    """Recurrence up to 10 as one fraction, then the asymptotic series; NaN at the poles."""
    reflects = x <= 0.0
    a = e.abs(x)
    y = e.select(reflects, a + 1.0, x)
    top, bottom = e.like(y, 0.0), e.like(y, 1.0)
    for _ in range(10):
        below = y < _SHIFTED
        top = e.select(below, e.fma(top, y, bottom), top)
        bottom = e.select(below, bottom * y, bottom)
        y = e.select(below, y + 1.0, y)
    inverse = 1.0 / y
    z = inverse * inverse
    series = e.fma(z, e.polynomial(z, _DIGAMMA), inverse * 0.5)
    value = e.call("log_f64", y) - series - top / bottom
    sine, cosine, distance = sin_cos_pi(e, a)
    # -pi / tan(pi x) at x = -a, whose sign is that of the distance to the nearest integer.
    reflected = value + e.copysign(cosine / sine * math.pi, distance)
    value = e.select(reflects, reflected, value)
    return e.select(reflects & distance.differs(0.0) | (x > 0.0), value, NAN)


def _gamma_prefix(e: Emitter, a: Quantity, x: Quantity) -> Quantity:
    """x**a exp(-x) / gamma(a)."""
    return e.call("exp_f64", a * e.call("log_f64", x) - x - e.call("lgamma_f64", a))


def _gamma_series(e: Emitter, a: Quantity, x: Quantity) -> Quantity:
    """The lower function, regularised, by its power series: for x up to about a."""

    def step(state: tuple[Quantity, ...]) -> tuple[list[Quantity], Quantity]:
        r, term, total = state
        r = r + 1.0
        term = term * (x / r)
        total = total + term
        return [r, term, total], term > total * _EPSILON

    one = e.like(a, 1.0)
    total = e.loop([a, one, one], step, _MOST_STEPS)[2]
    return total * _gamma_prefix(e, a, x) / a


def _nonzero(e: Emitter, x: Quantity) -> Quantity:
    return e.select(e.abs(x) < _TINY, e.like(x, _TINY), x)


def _gamma_fraction(e: Emitter, a: Quantity, x: Quantity) -> Quantity:
    """The upper function, regularised, by Lentz's continued fraction: for x above a and 1."""

    def step(state: tuple[Quantity, ...]) -> tuple[list[Quantity], Quantity]:
        i, b, c, d, h = state
        i, b = i + 1.0, b + 2.0
        numerator = i * (a - i)
        d = 1.0 / _nonzero(e, numerator * d + b)
        c = _nonzero(e, b + numerator / c)
        change = c * d
        return [i, b, c, d, h * change], e.abs(change - 1.0) > 2.0 * _EPSILON

    b = x + 1.0 - a
    d = 1.0 / _nonzero(e, b)
    h = e.loop([e.like(a, 0.0), b, e.like(a, 1 / _TINY), d, d], step, _MOST_STEPS)[4]
    return h * _gamma_prefix(e, a, x)


def _incomplete_gamma(e: Emitter, a: Quantity, x: Quantity, *, upper: bool) -> Quantity:
    valid = (a > 0.0) & (x >= 0.0)
    ends = x.equals(0.0) | x.equals(INF) | a.equals(INF)
    regular = valid & ~ends
    a1, x1 = e.select(regular, a, 1.0), e.select(regular, x, 1.0)
    fraction = (x1 > 1.0) & (x1 > a1)
    part = e.either(fraction, lambda: _gamma_fraction(e, a1, x1), lambda: _gamma_series(e, a1, x1))
    # The fraction is the upper part, the series the lower one.
    result = e.select(fraction if upper else ~fraction, part, 1.0 - part)
    at_end = e.select(x.equals(INF) & (a < INF), e.like(x, float(not upper)), float(upper))
    result = e.select(valid, e.select(ends, at_end, result), NAN)
    if upper:
        return e.select(a.equals(INF) & x.equals(INF), e.like(x, 0.0), result)
    return e.select(x.equals(0.0), x, result)


@define("igamma", 2, _F64, loops=True)
def igamma(e: Emitter, a: Quantity, x: Quantity) -> Quantity:
    """The regularised lower incomplete gamma function P(a, x)."""
    return _incomplete_gamma(e, a, x, upper=False)


@define("igammac", 2, _F64, loops=True)
def igammac(e: Emitter, a: Quantity, x: Quantity) -> Quantity:
    """The regularised upper incomplete gamma function Q(a, x)."""
    return _incomplete_gamma(e, a, x, upper=True)


@define("zeta", 2, _F64, loops=True)
def zeta(e: Emitter, x: Quantity, q: Quantity) -> Quantity:
    """Hurwitz's zeta, sum((q + k)**-x), by Euler and Maclaurin; NaN for x < 1."""
    whole = e.floor(x).equals(x)
    pole = (q <= 0.0) & e.floor(q).equals(q)
    valid = (x > 1.0) & (pole | (q > 0.0) | (whole & (q > -_LOWEST_ZETA)))
    usable = valid & ~pole & (q < INF) & (x < INF)
    s, a0 = e.select(usable, x, 2.0), e.select(usable, q, 1.0)

    def power(base: Quantity, exponent: Quantity) -> Quantity:
        return e.call("pow_f64", base, exponent)

    def step(state: tuple[Quantity, ...]) -> tuple[list[Quantity], Quantity]:
        a, total = state
        term = power(a, -s)
        total = total + term
        a = a + 1.0
        # The asymptotic tail holds to the last bit from a = s + 12 on.
        return [a, total], (a < 1.0) | ((a < s + 12.0) & (term > total * _EPSILON))

    a, total = e.loop([a0, e.like(a0, 0.0)], step, int(_LOWEST_ZETA) + 1000)
    head = power(a, -s)
    total = total + head * a / (s - 1.0) + head * 0.5
    factor, term = s, head / a
    inverse = 1.0 / (a * a)
    for k, bernoulli in enumerate(_BERNOULLI):
        total = total + term * factor * (bernoulli / math.factorial(2 * k + 2))
        low = s + float(2 * k + 1)
        factor = factor * low * (low + 1.0)
        term = term * inverse
    one = e.like(x, 1.0)
    limit = e.select(q < 1.0, e.like(x, INF), e.select(q.equals(1.0), one, 0.0))
    total = e.select(x.equals(INF), limit, total)
    total = e.select(q.equals(INF), e.like(x, 0.0), total)
    even = e.floor(x * 0.5).equals(x * 0.5)
    total = e.select(pole, e.select(even, e.like(x, INF), NAN), total)
    total = e.select(valid, total, NAN)
    return e.select(x.equals(1.0), e.like(x, INF), total)


@define("polygamma", 2, _F64, loops=True)
def polygamma(e: Emitter, n: Quantity, x: Quantity) -> Quantity:
    """The n-th derivative of digamma; NaN unless n is a whole number from 0."""
    valid = (n >= 0.0) & e.floor(n).equals(n)
    odd = e.floor(n * 0.5).differs(n * 0.5) | n.equals(INF)
    factorial = e.call("exp_f64", e.call("lgamma_f64", n + 1.0))
    value = factorial * e.call("zeta_f64", n + 1.0, x)
    value = e.select(odd, value, -value)
    value = e.select(n.equals(0.0), e.call("digamma_f64", x), value)
    return e.select(valid, value, NAN)


def _beta_fraction(e: Emitter, a: Quantity, b: Quantity, x: Quantity) -> Quantity:
    """The continued fraction of the incomplete beta function, by Lentz, two steps at a time."""

    def advance(numerator: Quantity, c: Quantity, d: Quantity) -> tuple[Quantity, Quantity]:
        return (
            _nonzero(e, numerator / c + 1.0),
            1.0 / _nonzero(e, numerator * d + 1.0),
        )

    def step(state: tuple[Quantity, ...]) -> tuple[list[Quantity], Quantity]:
        m, c, d, h = state
        m = m + 1.0
        twice = a + m * 2.0
        even = m * (b - m) * x / ((twice - 1.0) * twice)
        c, d = advance(even, c, d)
        h = h * (c * d)
        odd = -((a + m) * (a + b + m) * x / (twice * (twice + 1.0)))
        c, d = advance(odd, c, d)
        change = c * d
        return [m, c, d, h * change], e.abs(change - 1.0) > 2.0 * _EPSILON

    one = e.like(a, 1.0)
    d = 1.0 / _nonzero(e, 1.0 - (a + b) * x / (a + 1.0))
    return e.loop([one * 0.0, one, d, d], step, _MOST_STEPS)[3]


@define("betainc", 3, _F64, loops=True)
def betainc(e: Emitter, a: Quantity, b: Quantity, x: Quantity) -> Quantity:
    """The regularised incomplete beta function I_x(a, b)."""
    valid = (a > 0.0) & (b > 0.0) & (a < INF) & (b < INF) & (x >= 0.0) & (x <= 1.0)
    inside = valid & (x > 0.0) & (x < 1.0)
    a1, b1 = e.select(inside, a, 1.0), e.select(inside, b, 1.0)
    x1 = e.select(inside, x, 0.5)
    swap = x1 > (a1 + 1.0) / (a1 + b1 + 2.0)
    p, r = e.select(swap, b1, a1), e.select(swap, a1, b1)
    t = e.select(swap, 1.0 - x1, x1)
    gammas = e.call("lgamma_f64", a1 + b1) - e.call("lgamma_f64", a1) - e.call("lgamma_f64", b1)
    logs = a1 * e.call("log_f64", x1) + b1 * e.call("log1p_f64", -x1)
    part = e.call("exp_f64", gammas + logs) * _beta_fraction(e, p, r, t) / p
    result = e.select(swap, 1.0 - part, part)
    at_end = (x.equals(0.0) | x.equals(1.0)) & ~((a <= 0.0) | (b <= 0.0))
    return e.select(inside, result, e.select(at_end, x, NAN))


for _name, _arity, _loops in (
    ("digamma", 1, False),
    ("igamma", 2, True),
    ("igammac", 2, True),
    ("zeta", 2, True),
    ("polygamma", 2, True),
    ("betainc", 3, True),
):
    define_through_f64(_name, _arity, loops=_loops)
