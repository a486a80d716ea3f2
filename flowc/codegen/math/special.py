"""Bessel functions, Dawson's integral, the exponential and Fresnel integrals, and the dilogarithm.

All are piecewise polynomials in f64, chosen by select; f32 is computed in f64. Near the zeros of
oscillating functions the error is small against the function's size nearby, not against its value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from flowc import dtypes
from flowc.codegen.llvm.quantity import Quantity
from flowc.codegen.math import special_coefficients as fit
from flowc.codegen.math.double_double import exact_product
from flowc.codegen.math.exponential import INF, NAN
from flowc.codegen.math.expression import Emitter
from flowc.codegen.math.gamma import sin_cos_pi
from flowc.codegen.math.table import define, define_through_f64

_F64 = (dtypes.f64,)
_EULER = 0.5772156649015329


def _exp(e: Emitter, x: Quantity) -> Quantity:
    return e.call("exp_f64", x)


def _i_scaled(e: Emitter, x: Quantity, order: int) -> Quantity:
    """exp(-|x|) I(|x|) of order 0 or 1, with the sign of x for order 1."""
    a = e.abs(x)
    near = e.polynomial(a * 0.25 - 1.0, fit.I1E_NEAR if order else fit.I0E_NEAR)
    near = near * a if order else e.select(a < 2.0**-28, 1.0 - a, near)
    far = e.polynomial(16.0 / a - 1.0, fit.I1E_FAR if order else fit.I0E_FAR) / e.sqrt(a)
    value = e.select(a <= 8.0, near, far)
    return e.copysign(value, x) if order else value


def _i(e: Emitter, x: Quantity, order: int) -> Quantity:
    # exp in two factors, for it overflows before the product does.
    half = _exp(e, e.abs(x) * 0.5)
    return e.select(e.abs(x) < INF, _i_scaled(e, x, order) * half * half, x if order else e.abs(x))


def _k(e: Emitter, x: Quantity, order: int, *, scaled: bool) -> Quantity:
    """K(x) of order 0 or 1, times exp(x) if `scaled`; infinite for x <= 0."""
    t = x * x * 0.5 - 1.0
    log = e.call("log_f64", x * 0.5)
    if order:
        near = e.polynomial(t, fit.K1_NEAR) / x + log * x * e.polynomial(t, fit.I1_SMALL)
    else:
        near = e.polynomial(t, fit.K0_NEAR) - log * e.polynomial(t, fit.I0_SMALL)
    far = e.polynomial(4.0 / x - 1.0, fit.K1E_FAR if order else fit.K0E_FAR) / e.sqrt(x)
    is_near = x <= 2.0
    factor = _exp(e, e.select(is_near, x, 0.0) if scaled else -e.select(is_near, 0.0 * x, x))
    value = e.select(is_near, near, far) * factor
    return e.select(x <= 0.0, e.like(x, INF), value)


def _far_j_y(e: Emitter, x: Quantity, order: int, *, second: bool) -> Quantity:
    """J(x) or (`second`) Y(x) from modulus and phase, for x > 8."""
    inverse = 1.0 / x
    t = inverse * inverse * 128.0 - 1.0
    p = e.polynomial(t, fit.P1 if order else fit.P0)
    q = e.polynomial(t, fit.Q1 if order else fit.Q0) * inverse
    sine, cosine = e.call("sin_f64", x), e.call("cos_f64", x)
    total, difference = sine + cosine, sine - cosine
    # cos and sin of x - pi/4 or x - 3 pi/4, times sqrt(2).
    phase_cos, phase_sin = (difference, -total) if order else (total, difference)
    wave = p * phase_sin + q * phase_cos if second else p * phase_cos - q * phase_sin
    return wave * e.sqrt(inverse) * (1 / math.sqrt(math.pi))


def _near_j(e: Emitter, a: Quantity, order: int) -> Quantity:
    t = a * a * (1 / 32) - 1.0
    if order:
        return a * e.polynomial(t, fit.J1_NEAR)
    return e.select(a < 2.0**-28, e.like(a, 1.0), e.polynomial(t, fit.J0_NEAR))


def _j(e: Emitter, x: Quantity, order: int) -> Quantity:
    a = e.abs(x)
    far = _far_j_y(e, e.at_least(a, 8.0), order, second=False)
    value = e.select(a <= 8.0, _near_j(e, a, order), far)
    if not order:
        return value
    return _flip(e, value, x)


def _flip(e: Emitter, value: Quantity, x: Quantity) -> Quantity:
    return (value.bits() ^ (x.bits() & -(2**63))).as_float()


def _y(e: Emitter, x: Quantity, order: int) -> Quantity:
    t = x * x * (1 / 32) - 1.0
    log = e.call("log_f64", x) * _near_j(e, x, order)
    if order:
        near = x * e.polynomial(t, fit.Y1_NEAR) + (log - 1.0 / x) * (2 / math.pi)
    else:
        near = e.polynomial(t, fit.Y0_NEAR) + log * (2 / math.pi)
    far = _far_j_y(e, e.at_least(x, 8.0), order, second=True)
    return e.select(x <= 0.0, e.like(x, -INF), e.select(x <= 8.0, near, far))


@define("dawsn", 1, _F64)
def dawsn(e: Emitter, x: Quantity) -> Quantity:
    """exp(-x**2) times the integral of exp(t**2) from 0 to x."""
    a = e.abs(x)
    z = a * a
    near = a * e.polynomial(z * 0.5 - 1.0, fit.DAWSON_NEAR)
    middle = e.polynomial((a - 3.5) * (1 / 1.5), fit.DAWSON_MIDDLE)
    far = e.polynomial(50.0 / z - 1.0, fit.DAWSON_FAR) / a
    value = e.select(a <= 2.0, near, e.select(a <= 5.0, middle, far))
    return e.copysign(value, x)


@define("expint", 1, _F64)
def expint(e: Emitter, x: Quantity) -> Quantity:
    """Ei(x) for x > 0; NaN below 0, as TensorFlow's Expint."""
    inverse = 1.0 / x
    near = x * e.polynomial(x * (1 / 3) - 1.0, fit.EI_NEAR) + (e.call("log_f64", x) + _EULER)
    middle = e.polynomial((x - 12.0) * (1 / 6), fit.EI_MIDDLE)
    centre, radius = (1 / 18 + 1 / 62) / 2, (1 / 18 - 1 / 62) / 2
    far = e.polynomial((inverse - centre) * (1 / radius), fit.EI_FAR)
    last = e.polynomial(inverse * 124.0 - 1.0, fit.EI_LAST)
    tail = e.select(x <= 18.0, middle, e.select(x <= 62.0, far, last))
    half = _exp(e, x * 0.5)
    value = e.select(x <= 6.0, near, tail * inverse * half * half)
    value = e.select(x < 0.0, e.like(x, NAN), value)
    value = e.select(x.equals(0.0), e.like(x, -INF), value)
    return e.select(x.equals(INF), x, value)


def _fresnel(e: Emitter, x: Quantity, *, cosine: bool) -> Quantity:
    a = e.at_most(e.abs(x), 2.0**60)
    square = exact_product(a, a)
    z = square.high
    t = z * z * 0.125 - 1.0
    if cosine:
        near = a * e.polynomial(t, fit.FRESNEL_COS)
    else:
        near = a * z * e.polynomial(t, fit.FRESNEL_SIN)
    # sin and cos of pi a**2 / 2, with a**2 / 2 reduced to [-1, 1] while it is exact.
    turns = z * 0.5 - e.rint(z * 0.25) * 2.0 + square.low * 0.5
    sine, cosine_value, _ = sin_cos_pi(e, e.abs(turns))
    sine = _flip(e, sine, turns)
    cosine_value = e.select(e.abs(turns) > 0.5, -cosine_value, cosine_value)
    inverse = 1.0 / a
    u = inverse * inverse * 8.0 - 1.0
    f = e.polynomial(u, fit.FRESNEL_F) * inverse * (1 / math.pi)
    g = e.polynomial(u, fit.FRESNEL_G) * inverse * inverse * inverse * (1 / math.pi**2)
    if cosine:
        far = (f * sine - g * cosine_value) + 0.5
    else:
        far = 0.5 - (f * cosine_value + g * sine)
    return e.copysign(e.select(a <= 2.0, near, far), x)


@define("fresnel_cos", 1, _F64)
def fresnel_cos(e: Emitter, x: Quantity) -> Quantity:
    """The integral of cos(pi t**2 / 2) from 0 to x."""
    return _fresnel(e, x, cosine=True)


@define("fresnel_sin", 1, _F64)
def fresnel_sin(e: Emitter, x: Quantity) -> Quantity:
    """The integral of sin(pi t**2 / 2) from 0 to x."""
    return _fresnel(e, x, cosine=False)


@define("spence", 1, _F64)
def spence(e: Emitter, x: Quantity) -> Quantity:
    """Li2(1 - x), by x -> 1/x and x -> 1 - x brought to [1/2, 1]; NaN below 0."""
    inverts = x > 1.0
    u = e.select(inverts, 1.0 / x, x)
    log = e.call("log_f64", u)
    log_rest = e.call("log1p_f64", -u)
    reflects = u < 0.5
    y = -e.select(reflects, log_rest, log)
    series = e.polynomial(y * y * (2 / 0.4806) - 1.0, fit.SPENCE)
    core = y * (1.0 + y * (y * series - 0.25))
    product = e.select(u.equals(0.0), 0.0 * x, log * log_rest)
    value = e.select(reflects, math.pi**2 / 6 - product - core, core)
    return e.select(inverts, log * log * -0.5 - value, value)


def _define_bessel() -> Sequence[str]:
    for order in (0, 1):
        define(f"bessel_i{order}e", 1, _F64)(lambda e, x, n=order: _i_scaled(e, x, n))
        define(f"bessel_i{order}", 1, _F64)(lambda e, x, n=order: _i(e, x, n))
        define(f"bessel_k{order}", 1, _F64)(lambda e, x, n=order: _k(e, x, n, scaled=False))
        define(f"bessel_k{order}e", 1, _F64)(lambda e, x, n=order: _k(e, x, n, scaled=True))
        define(f"bessel_j{order}", 1, _F64, loops=True)(lambda e, x, n=order: _j(e, x, n))
        define(f"bessel_y{order}", 1, _F64, loops=True)(lambda e, x, n=order: _y(e, x, n))
    return [f"bessel_{kind}" for kind in ("i0", "i0e", "i1", "i1e", "k0", "k0e", "k1", "k1e")]


for _name in (*_define_bessel(), "dawsn", "expint", "fresnel_cos", "fresnel_sin", "spence"):
    define_through_f64(_name)
for _name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"):
    define_through_f64(_name, loops=True)
