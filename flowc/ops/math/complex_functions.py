"""Transcendental functions of complex numbers, written in real scalar primitives.

In: a ScalarBuilder and complex scalars. Out: complex scalars on TensorFlow's (C++'s) branches.
The formulas are those of W. Kahan, "Branch cuts for complex elementary functions" (1987), where a
plain one would lose the sign of zero or cancel.
"""

from __future__ import annotations

import math
from typing import Any


def _parts(k: Any, z: Any) -> tuple[Any, Any]:
    return k.real(z), k.imag(z)


def conjugate(k: Any, z: Any) -> Any:
    return k.complex(k.real(z), k.neg(k.imag(z)))


def times_i(k: Any, z: Any) -> Any:
    x, y = _parts(k, z)
    return k.complex(k.neg(y), x)


def over_i(k: Any, z: Any) -> Any:
    x, y = _parts(k, z)
    return k.complex(y, k.neg(x))


def copy_sign(k: Any, magnitude: Any, sign: Any) -> Any:
    """`magnitude` (not negative) with the sign of `sign`; 1/-0 is below 0."""
    one = k.const(1, sign.dtype)
    negative = k.logical_or(k.lt(sign, 0), k.logical_and(k.eq(sign, 0), k.lt(k.div(one, sign), 0)))
    return k.select(negative, k.neg(magnitude), magnitude)


def magnitude(k: Any, z: Any) -> Any:
    """|z|, which neither overflows nor underflows on the way."""
    x, y = k.abs(k.real(z)), k.abs(k.imag(z))
    large, small = k.max(x, y), k.min(x, y)
    regular = k.logical_and(k.gt(large, 0), k.is_finite(large))
    ratio = k.div(small, k.select(regular, large, k.const(1, x.dtype)))
    found = k.mul(large, k.sqrt(k.add(k.mul(ratio, ratio), 1)))
    infinite = k.logical_or(k.is_inf(x), k.is_inf(y))
    found = k.select(infinite, k.const(math.inf, x.dtype), found)
    return k.select(k.eq(large, 0), large, found)


def angle(k: Any, z: Any) -> Any:
    return k.atan2(k.imag(z), k.real(z))


def complex_exp(k: Any, z: Any) -> Any:
    x, y = _parts(k, z)
    scale = k.exp(x)
    # A real argument stays real, even where exp(x) is infinite.
    sine = k.select(k.eq(y, 0), y, k.mul(scale, k.sin(y)))
    return k.complex(k.mul(scale, k.cos(y)), sine)


def complex_expm1(k: Any, z: Any) -> Any:
    x, y = _parts(k, z)
    half = k.sin(k.mul(y, 0.5))
    grown = k.expm1(x)
    # e^x cos y - 1 = expm1(x) cos y - 2 sin^2(y/2)
    real = k.sub(k.mul(grown, k.cos(y)), k.mul(k.mul(half, half), 2))
    return k.complex(real, k.mul(k.exp(x), k.sin(y)))


def complex_log(k: Any, z: Any) -> Any:
    return k.complex(k.log(magnitude(k, z)), angle(k, z))


def complex_log1p(k: Any, z: Any) -> Any:
    x, y = _parts(k, z)
    # |1+z|^2 - 1 = x(2+x) + y^2, exact near 0 where log(|1+z|) cancels.
    near = k.mul(k.log1p(k.add(k.mul(x, k.add(x, 2)), k.mul(y, y))), 0.5)
    shifted = k.complex(k.add(x, 1), y)
    small = k.logical_and(k.lt(k.abs(x), 0.5), k.lt(k.abs(y), 0.5))
    return k.complex(k.select(small, near, k.log(magnitude(k, shifted))), k.atan2(y, k.add(x, 1)))


def complex_sqrt(k: Any, z: Any) -> Any:
    x, y = _parts(k, z)
    zero = k.const(0, x.dtype)
    root = k.sqrt(k.mul(k.add(magnitude(k, z), k.abs(x)), 0.5))
    other = k.select(k.eq(root, 0), zero, k.div(k.abs(y), k.mul(root, 2)))
    forward = k.ge(x, 0)
    real = k.select(forward, root, other)
    imag = k.select(forward, other, root)
    return k.complex(real, copy_sign(k, imag, y))


def complex_reciprocal(k: Any, z: Any) -> Any:
    return k.div(k.const(1, z.dtype), z)


def complex_rsqrt(k: Any, z: Any) -> Any:
    return complex_reciprocal(k, complex_sqrt(k, z))


def complex_sinh(k: Any, z: Any) -> Any:
    x, y = _parts(k, z)
    return k.complex(k.mul(k.sinh(x), k.cos(y)), k.mul(k.cosh(x), k.sin(y)))


def complex_cosh(k: Any, z: Any) -> Any:
    x, y = _parts(k, z)
    return k.complex(k.mul(k.cosh(x), k.cos(y)), k.mul(k.sinh(x), k.sin(y)))


def complex_tanh(k: Any, z: Any) -> Any:
    """Kahan's ctanh: t = tan y, b = 1 + t^2, s = sinh x; far out its limit, lest it overflow."""
    x, y = _parts(k, z)
    tangent = k.tan(y)
    secant = k.add(k.mul(tangent, tangent), 1)
    s = k.sinh(x)
    r = k.sqrt(k.add(k.mul(s, s), 1))
    below = k.add(k.mul(k.mul(secant, s), s), 1)
    far = k.gt(k.abs(x), 15 if x.dtype.size == 4 else 25)
    real = k.select(
        far, copy_sign(k, k.const(1, x.dtype), x), k.div(k.mul(k.mul(secant, r), s), below)
    )
    decay = k.exp(k.mul(k.abs(x), -2))
    limit = k.mul(k.mul(k.mul(k.sin(y), k.cos(y)), 4), decay)
    return k.complex(real, k.select(far, limit, k.div(tangent, below)))


def complex_sin(k: Any, z: Any) -> Any:
    x, y = _parts(k, z)
    return k.complex(k.mul(k.sin(x), k.cosh(y)), k.mul(k.cos(x), k.sinh(y)))


def complex_cos(k: Any, z: Any) -> Any:
    x, y = _parts(k, z)
    return k.complex(k.mul(k.cos(x), k.cosh(y)), k.neg(k.mul(k.sin(x), k.sinh(y))))


def complex_tan(k: Any, z: Any) -> Any:
    return over_i(k, complex_tanh(k, times_i(k, z)))


def complex_asinh(k: Any, z: Any) -> Any:
    x, y = _parts(k, z)
    plus = complex_sqrt(k, k.complex(k.sub(k.const(1, x.dtype), y), x))  # sqrt(1 + iz)
    minus = complex_sqrt(k, k.complex(k.add(y, 1), k.neg(x)))  # sqrt(1 - iz)
    (a, b), (c, d) = _parts(k, plus), _parts(k, minus)
    real = k.asinh(k.sub(k.mul(c, b), k.mul(d, a)))
    return k.complex(real, k.atan2(y, k.sub(k.mul(a, c), k.mul(b, d))))


def complex_asin(k: Any, z: Any) -> Any:
    return over_i(k, complex_asinh(k, times_i(k, z)))


def complex_acos(k: Any, z: Any) -> Any:
    x, y = _parts(k, z)
    one = k.const(1, x.dtype)
    minus = complex_sqrt(k, k.complex(k.sub(one, x), k.neg(y)))  # sqrt(1 - z)
    plus = complex_sqrt(k, k.complex(k.add(x, 1), y))  # sqrt(1 + z)
    (a, b), (c, d) = _parts(k, minus), _parts(k, plus)
    real = k.mul(k.atan2(a, c), 2)
    # imag of conj(sqrt(1 + z)) * sqrt(1 - z)
    return k.complex(real, k.asinh(k.sub(k.mul(c, b), k.mul(d, a))))


def complex_acosh(k: Any, z: Any) -> Any:
    x, y = _parts(k, z)
    minus = complex_sqrt(k, k.complex(k.sub(x, 1), y))  # sqrt(z - 1)
    plus = complex_sqrt(k, k.complex(k.add(x, 1), y))  # sqrt(z + 1)
    (a, b), (c, d) = _parts(k, minus), _parts(k, plus)
    real = k.asinh(k.add(k.mul(a, c), k.mul(b, d)))  # of conj(sqrt(z - 1)) * sqrt(z + 1)
    return k.complex(real, k.mul(k.atan2(b, c), 2))


def complex_atanh(k: Any, z: Any) -> Any:
    x, y = _parts(k, z)
    one, size = k.const(1, x.dtype), k.abs(x)
    before, after = k.sub(one, size), k.add(one, size)
    square = k.mul(y, y)
    # |1+z|^2 / |1-z|^2 = 1 + 4x / |1-z|^2, for the x > 0 of z or -z: the function is odd.
    ratio = k.div(k.mul(size, 4), k.add(k.mul(before, before), square))
    real = copy_sign(k, k.mul(k.log1p(ratio), 0.25), x)
    imag = k.mul(k.atan2(k.mul(y, 2), k.sub(k.mul(before, after), square)), 0.5)
    return k.complex(real, imag)


def complex_atan(k: Any, z: Any) -> Any:
    return over_i(k, complex_atanh(k, times_i(k, z)))


def complex_sigmoid(k: Any, z: Any) -> Any:
    one = k.const(1, z.dtype)
    return k.div(one, k.add(one, complex_exp(k, k.neg(z))))


def complex_pow(k: Any, z: Any, w: Any) -> Any:
    """exp(w log z); 1 for w = 0, and 0 for z = 0 where w's real part is positive."""
    dtype = z.dtype
    zero, one = k.const(0, dtype), k.const(1, dtype)
    log = complex_log(k, k.select(k.eq(z, zero), one, z))
    grown = complex_exp(k, k.mul(w, log))
    at_zero = k.select(k.gt(k.real(w), 0), zero, k.div(one, zero))
    found = k.select(k.eq(z, zero), at_zero, grown)
    return k.select(k.eq(w, zero), one, found)
