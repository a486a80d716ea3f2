"""Arithmetic on numbers: sums, products, quotients, remainders, powers, extrema.

Integers wrap. An integer divisor of 0 and a negative integer exponent end the run with
InvalidArgumentError, in TensorFlow's words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir import dims
from flowc.ir.dims import Dim
from flowc.ir.op import Op
from flowc.ops.gradients import GradientBuilder, binary_gradient, conjugate, no_gradient
from flowc.ops.math.complex_functions import complex_pow
from flowc.ops.math.elementwise import Array, broadcast_dims, map_op, real_or_complex

_ZERO_DIVISOR = "Integer division by zero"
_NEGATIVE_POWER = "Integers to negative integer powers are not allowed"
_PAIRS = ("T[2,3] T[3]", "T[4,1] T[1,5]", "T[] T[7]", "T[0,2] T[1,2]", "T[1] T[1]")
_QUOTIENTS = tuple(f"T[{a}] T[{b}]~nonzero" for a, b in (("2,3", "3"), ("4,1", "1,5"), ("", "17")))


def _pair(name: str, tf: str, expr: Any, reference: Any, **rest: Any) -> Op:
    rest.setdefault("examples", _PAIRS)
    return map_op(name, tf, expr, reference, infer=broadcast_dims, **rest)


add = _pair(
    "add",
    "AddV2(x: T, y: T; T: NUMBER) -> z: T",
    lambda k, x, y: k.add(x, y),
    np.add,
    gradient=binary_gradient(lambda b, x, y, z, dy: (dy, dy)),
    traits=("commutative", "associative"),
    content=True,
)

sub = _pair(
    "sub",
    "Sub(x: T, y: T; T: NUMBER) -> z: T",
    lambda k, x, y: k.sub(x, y),
    np.subtract,
    gradient=binary_gradient(lambda b, x, y, z, dy: (dy, b.neg(dy))),
    content=True,
)


def _product_gradient(b: GradientBuilder, x: Any, y: Any, z: Any, dy: Any) -> Sequence[Any]:
    factors = [dy, conjugate(b, x)]
    dims = b.dims_of(x)
    if dims is None or None in dims or dims != b.dims_of(y):
        factors.reverse()  # as TensorFlow writes it
    return b.mul(dy, conjugate(b, y)), b.mul(*factors)


mul = _pair(
    "mul",
    "Mul(x: T, y: T; T: NUMBER) -> z: T",
    lambda k, x, y: k.mul(x, y),
    np.multiply,
    gradient=binary_gradient(_product_gradient),
    traits=("commutative", "associative"),
    content=True,
)

# 0 where y is 0, even if x is infinite or NaN.
mul_no_nan = _pair(
    "mul_no_nan",
    "MulNoNan(x: T, y: T; T: FLOAT_COMPLEX) -> z: T",
    lambda k, x, y: k.select(k.eq(y, 0), k.const(0, x.dtype), k.mul(x, y)),
    lambda x, y: np.where(y == 0, np.zeros((), x.dtype), x * y),
    gradient=binary_gradient(
        lambda b, x, y, z, dy: (
            b.mul_no_nan(dy, conjugate(b, y)),
            b.mul_no_nan(conjugate(b, x), dy),
        )
    ),
)


def _squared_difference_gradient(
    b: GradientBuilder, x: Any, y: Any, z: Any, dy: Any
) -> Sequence[Any]:
    dx = b.mul(b.mul(dy, 2), b.sub(x, y))
    return dx, b.neg(dx)


squared_difference = _pair(
    "squared_difference",
    "SquaredDifference(x: T, y: T; T: {bf16, f16, f32, f64, i32, i64, c64, c128}) -> z: T",
    real_or_complex(
        lambda k, x, y: k.mul(k.sub(x, y), k.sub(x, y)),
        lambda k, x, y: _squared_magnitude(k, k.sub(x, y)),
    ),
    lambda x, y: (x - y) * np.conj(x - y),
    gradient=binary_gradient(_squared_difference_gradient),
    traits=("commutative",),
)


def _squared_magnitude(k: Any, x: Any) -> Any:
    real, imag = k.real(x), k.imag(x)
    square = k.add(k.mul(real, real), k.mul(imag, imag))
    return k.complex(square, k.const(0, square.dtype))


# -- quotients and remainders


def _checked(k: Any, primitive: str, x: Any, y: Any) -> Any:
    """An integer quotient or remainder; a divisor of 0 ends the run, and counts as 1 until then."""
    valid = k.ne(y, 0)
    k.check(valid, _ZERO_DIVISOR)
    return getattr(k, primitive)(x, k.select(valid, y, k.const(1, y.dtype)))


def _of_integers(primitive: str, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """The checked primitive for integers, another expression for floats."""

    def expr(k: Any, x: Any, y: Any) -> Any:
        return _checked(k, primitive, x, y) if x.dtype.is_integer else otherwise(k, x, y)

    return expr


def _refuse_zero(y: Array) -> None:
    if np.any(np.asarray(y == 0)):
        raise InvalidArgumentError(_ZERO_DIVISOR)


def _is_exact(x: Array) -> bool:
    return x.dtype.kind in "iuO"


def _floor_quotient(x: Dim, y: Dim) -> Dim:
    return -x // -y if isinstance(y, int) and y < 0 else x // y


def _trunc_quotient(x: Dim, y: Dim) -> Dim:
    if isinstance(y, int) and y < 0:
        x, y = -x, -y
    return dims.maximum(x, 0) // y - dims.maximum(-x, 0) // y


_floor_quotients = np.frompyfunc(_floor_quotient, 2, 1)
_trunc_quotients = np.frompyfunc(_trunc_quotient, 2, 1)
_maxima = np.frompyfunc(dims.maximum, 2, 1)
_minima = np.frompyfunc(dims.minimum, 2, 1)


def _floor_div(x: Array, y: Array) -> Array:
    if x.dtype == object or y.dtype == object:
        _refuse_zero(y)
        return np.asarray(_floor_quotients(x, y), object)
    if _is_exact(x):
        _refuse_zero(y)
        return np.floor_divide(x, y)
    return np.floor(x / y)


def _floor_mod(x: Array, y: Array) -> Array:
    if x.dtype == object or y.dtype == object:
        return x - _floor_div(x, y) * y
    if _is_exact(x):
        _refuse_zero(y)
        return np.remainder(x, y)
    rest = np.fmod(x, y)
    return np.where((rest != 0) & ((y < 0) != (rest < 0)), rest + y, rest)


def _truncated(x: Array, y: Array) -> Array:
    _refuse_zero(y)
    if x.dtype == object or y.dtype == object:
        return np.asarray(_trunc_quotients(x, y), object)
    inexact = np.fmod(x, y) != 0
    return np.floor_divide(x, y) + (inexact & ((x < 0) != (y < 0))).astype(x.dtype)


def _truncate_mod(x: Array, y: Array) -> Array:
    if x.dtype == object or y.dtype == object:
        return x - _truncated(x, y) * y
    if _is_exact(x):
        _refuse_zero(y)
    return np.fmod(x, y)


def _quotient_gradient(b: GradientBuilder, x: Any, y: Any, z: Any, dy: Any) -> Sequence[Any]:
    x, y = conjugate(b, x), conjugate(b, y)
    dx = b.real_div(dy, y)
    return dx, b.mul(dy, b.real_div(b.real_div(b.neg(x), y), y))


def _remainder_gradient(rounded: str) -> Any:
    return binary_gradient(lambda b, x, y, z, dy: (dy, b.mul(dy, b.neg(getattr(b, rounded)(x, y)))))


# For integers Div truncates; TensorFlow has no CPU kernel that divides integers by RealDiv.
div = _pair(
    "div",
    "Div(x: T, y: T; T: NUMBER) -> z: T",
    _of_integers("truncdiv", lambda k, x, y: k.div(x, y)),
    lambda x, y: _truncated(x, y) if _is_exact(x) else np.true_divide(x, y),
    gradient=binary_gradient(_quotient_gradient),
    content=True,
    examples=_QUOTIENTS,
)

real_div = _pair(
    "real_div",
    "RealDiv(x: T, y: T; T: FLOAT_COMPLEX) -> z: T",
    lambda k, x, y: k.div(x, y),
    np.true_divide,
    gradient=binary_gradient(_quotient_gradient),
    examples=_QUOTIENTS,
)

# 0 where y is 0, whatever x is.
div_no_nan = _pair(
    "div_no_nan",
    "DivNoNan(x: T, y: T; T: FLOAT_COMPLEX) -> z: T",
    lambda k, x, y: k.select(k.eq(y, 0), k.const(0, x.dtype), k.div(x, y)),
    lambda x, y: np.where(y == 0, np.zeros((), x.dtype), x / y),
    gradient=binary_gradient(
        lambda b, x, y, z, dy: (
            b.div_no_nan(dy, conjugate(b, y)),
            b.neg(b.mul(dy, conjugate(b, b.div_no_nan(z, y)))),
        )
    ),
)

floor_div = _pair(
    "floor_div",
    "FloorDiv(x: T, y: T; T: REAL) -> z: T",
    _of_integers("floordiv", lambda k, x, y: k.floor(k.div(x, y))),
    _floor_div,
    gradient=no_gradient,
    content=True,
    examples=_QUOTIENTS,
    rounds_each_step=True,  # a half's quotient may round up to a whole number
)

floor_mod = _pair(
    "floor_mod",
    "FloorMod(x: T, y: T; T: REAL) -> z: T",
    _of_integers("floormod", lambda k, x, y: k.floormod(x, y)),
    _floor_mod,
    gradient=_remainder_gradient("floor_div"),
    content=True,
    examples=_QUOTIENTS,
)

truncate_div = _pair(
    "truncate_div",
    "TruncateDiv(x: T, y: T; T: REAL) -> z: T",
    _of_integers("truncdiv", lambda k, x, y: k.trunc(k.div(x, y))),
    lambda x, y: _truncated(x, y) if _is_exact(x) else np.trunc(x / y),
    gradient=no_gradient,
    content=True,
    examples=_QUOTIENTS,
)

truncate_mod = _pair(
    "truncate_mod",
    "TruncateMod(x: T, y: T; T: {i32, i64, bf16, f16, f32, f64}) -> z: T",
    _of_integers("truncmod", lambda k, x, y: k.truncmod(x, y)),
    _truncate_mod,
    gradient=_remainder_gradient("truncate_div"),
    content=True,
    examples=_QUOTIENTS,
)

mod = _pair(
    "mod",
    "Mod(x: T, y: T; T: {i32, i64, f16, bf16, f32, f64}) -> z: T",
    _of_integers("truncmod", lambda k, x, y: k.truncmod(x, y)),
    _truncate_mod,
    gradient=_remainder_gradient("truncate_div"),
    content=True,
    examples=_QUOTIENTS,
)


# -- powers and extrema


def _pow_expr(k: Any, x: Any, y: Any) -> Any:
    if x.dtype.is_complex:
        return complex_pow(k, x, y)
    if x.dtype.is_floating:
        return k.pow(x, y)
    valid = k.ge(y, 0)
    k.check(valid, _NEGATIVE_POWER)
    return k.pow(x, k.select(valid, y, k.const(0, y.dtype)))


def _pow(x: Array, y: Array) -> Array:
    if x.dtype.kind in "iu" and np.any(y < 0):
        raise InvalidArgumentError(_NEGATIVE_POWER)
    return np.power(x, y)


def _pow_gradient(b: GradientBuilder, x: Any, y: Any, z: Any, dy: Any) -> Sequence[Any]:
    dtype = x.dtype
    cx, cy, cz = conjugate(b, x), conjugate(b, y), conjugate(b, z)
    dx = b.mul(b.mul(dy, cy), b.pow(cx, b.sub(cy, 1)))
    if dtype.is_integer:
        return dx, None
    # log(x) has no meaning where x is not positive; TensorFlow lets nothing flow to y there.
    zero = b.const(0, dtype)
    inside = b.not_equal(x, zero) if dtype.is_complex else b.greater(x, zero)
    log = b.select_v2(inside, b.log(b.select_v2(inside, cx, b.const(1, dtype))), zero)
    return dx, b.mul(b.mul(dy, cz), log)


pow_ = _pair(
    "pow",
    "Pow(x: T, y: T; T: {bf16, f32, f16, f64, i8, i16, i32, i64, c64, c128}) -> z: T",
    _pow_expr,
    _pow,
    gradient=binary_gradient(_pow_gradient),
    examples=("T[2,3]~positive T[3]~small", "T[4,1]~small T[1,5]~small", "T[] T[7]~small"),
)


def _extremum_gradient(comparison: str) -> Any:
    def product(b: GradientBuilder, x: Any, y: Any, z: Any, dy: Any) -> Sequence[Any]:
        zero = b.const(0, x.dtype)
        chosen = getattr(b, comparison)(x, y)
        return b.select_v2(chosen, dy, zero), b.select_v2(chosen, zero, dy)

    return binary_gradient(product)


maximum = _pair(
    "maximum",
    "Maximum(x: T, y: T; T: REAL) -> z: T",
    lambda k, x, y: k.max(x, y),
    lambda x, y: _maxima(x, y) if object in (x.dtype, y.dtype) else np.maximum(x, y),
    gradient=_extremum_gradient("greater_equal"),
    traits=("commutative", "associative"),
    content=True,
)

minimum = _pair(
    "minimum",
    "Minimum(x: T, y: T; T: REAL) -> z: T",
    lambda k, x, y: k.min(x, y),
    lambda x, y: _minima(x, y) if object in (x.dtype, y.dtype) else np.minimum(x, y),
    gradient=_extremum_gradient("less_equal"),
    traits=("commutative", "associative"),
    content=True,
)
