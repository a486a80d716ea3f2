"""The parts of the Box-Muller transform, which makes normal numbers of pairs of uniform ones.

In: uniform numbers in [0, 1). Out: `normal_radius` = sqrt(-2 log(max(u, 1e-7))) of the first, and
`normal_sin`, `normal_cos` = sin and cos of 2 pi u of the second. f32: logarithm, sine and cosine
are computed in f64 and rounded once, so they are the nearest f32, as a good libm gives them too;
the angle is an f32 (TensorFlow's is).
"""

from __future__ import annotations

import math

from flowc import dtypes
from flowc.codegen.llvm.quantity import FORMAT64, Quantity
from flowc.codegen.math.expression import Emitter
from flowc.codegen.math.table import define
from flowc.codegen.math.trigonometric import COS64, HALF_PI, SIN64

SMALLEST = 1e-7
_HALF_PI_TAIL = 6.123233995736766e-17


@define("normal_radius")
def normal_radius(e: Emitter, u: Quantity) -> Quantity:
    u = e.at_least(u, SMALLEST)
    wide = e.call("log_f64", e.convert(u, dtypes.f64) if e.is_f32 else u)
    return e.sqrt((e.convert(wide, dtypes.f32) if e.is_f32 else wide) * -2.0)


def _circle_f32(e: Emitter, u: Quantity, *, cosine: bool) -> Quantity:
    angle = e.convert(e.convert(u, dtypes.f64) * (2 * math.pi), dtypes.f32)
    x = e.convert(angle, dtypes.f64)
    shift = FORMAT64.rounding_shift
    rounded = e.fma(x, 1 / HALF_PI, shift)
    turns = rounded - shift
    r = e.fma(turns, -_HALF_PI_TAIL, e.fma(turns, -HALF_PI, x))
    z = r * r
    sine = e.fma(r * z, e.polynomial(z, SIN64), r)
    cosine_value = e.fma(z * z, e.polynomial(z, COS64), e.fma(z, -0.5, 1.0))
    quadrant = rounded.bits()
    if cosine:
        quadrant = quadrant + 1
    value = e.select((quadrant & 1).equals(0), sine, cosine_value)
    sign = (quadrant & 2) << 62
    return e.convert((value.bits() ^ sign).as_float(), dtypes.f32)


@define("normal_sin", 1, (dtypes.f32,))
def normal_sin_f32(e: Emitter, u: Quantity) -> Quantity:
    return _circle_f32(e, u, cosine=False)


@define("normal_cos", 1, (dtypes.f32,))
def normal_cos_f32(e: Emitter, u: Quantity) -> Quantity:
    return _circle_f32(e, u, cosine=True)


@define("normal_sin", 1, (dtypes.f64,), loops=True)
def normal_sin_f64(e: Emitter, u: Quantity) -> Quantity:
    return e.call("sin_f64", u * (2 * math.pi))


@define("normal_cos", 1, (dtypes.f64,), loops=True)
def normal_cos_f64(e: Emitter, u: Quantity) -> Quantity:
    return e.call("cos_f64", u * (2 * math.pi))
