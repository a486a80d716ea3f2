"""Arithmetic of one operand: sign, magnitude, squares, reciprocals, rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.ir import dims
from flowc.ir.op import Op
from flowc.ops.gradients import (
    GradientBuilder,
    binary_gradient,
    conjugate,
    no_gradient,
    unary_gradient,
)
from flowc.ops.math import complex_functions
from flowc.ops.math.elementwise import Array, broadcast_dims, map_op

_SINGLES = ("T[17]", "T[2,3]", "T[]", "T[0]")
_magnitudes = np.frompyfunc(lambda x: dims.maximum(x, -x), 1, 1)


def _unary(name: str, tf: str, expr: Any, reference: Any, **rest: Any) -> Op:
    rest.setdefault("examples", _SINGLES)
    return map_op(name, tf, expr, reference, **rest)


def _rounding(name: str, tf: str, expr: Any, reference: Any) -> Op:
    return _unary(name, tf, expr, reference, gradient=no_gradient, traits=("idempotent",))


neg = _unary(
    "neg",
    "Neg(x: T; T: {bf16, f16, f32, f64, i8, i16, i32, i64, c64, c128}) -> y: T",
    lambda k, x: k.neg(x),
    np.negative,
    gradient=lambda b, node, dy: b.neg(dy),
    traits=("involution",),
    content=True,
)

abs_ = _unary(
    "abs",
    "Abs(x: T; T: {bf16, f16, f32, f64, i8, i16, i32, i64}) -> y: T",
    lambda k, x: k.abs(x),
    lambda x: _magnitudes(x) if x.dtype == object else np.abs(x),
    gradient=lambda b, node, dy: b.mul(dy, b.sign(node.inputs[0])),
    traits=("idempotent",),
    content=True,
)


def _sign_expr(k: Any, x: Any) -> Any:
    if not x.dtype.is_complex:
        return k.sign(x)
    magnitude = complex_functions.magnitude(k, x)
    divisor = k.select(k.eq(magnitude, 0), k.const(1, magnitude.dtype), magnitude)
    return k.complex(k.div(k.real(x), divisor), k.div(k.imag(x), divisor))


# x / |x| for complex x, and 0 at 0.
sign = _unary(
    "sign",
    "Sign(x: T; T: {bf16, f16, f32, f64, i8, i16, i32, i64, c64, c128}) -> y: T",
    _sign_expr,
    np.sign,
    gradient=lambda b, node, dy: (b.zeros_like(node.inputs[0]),),
    traits=("idempotent",),
)

square = _unary(
    "square",
    "Square(x: T; T: NUMBER) -> y: T",
    lambda k, x: k.mul(x, x),
    lambda x: x * x,
    gradient=unary_gradient(lambda b, x, y: b.mul(x, b.const(2, x.dtype))),
    content=True,
)


# TensorFlow has no CPU kernel for the reciprocal of integers.
reciprocal = _unary(
    "reciprocal",
    "Reciprocal(x: T; T: FLOAT_COMPLEX) -> y: T",
    lambda k, x: k.div(k.const(1, x.dtype), x),
    lambda x: 1 / x,
    gradient=lambda b, node, dy: b.reciprocal_grad(node.output, dy),
    aliases=("Inv",),
)


def _reciprocal_grad_reference(y: Array, dy: Array) -> Array:
    y = np.conj(y)
    return np.where(dy == 0, np.zeros((), y.dtype), -dy * y * y)


def _reciprocal_grad_expr(k: Any, y: Any, dy: Any) -> Any:
    y = complex_functions.conjugate(k, y) if y.dtype.is_complex else y
    return k.select(k.eq(dy, 0), k.const(0, y.dtype), k.mul(k.mul(k.neg(dy), y), y))


def _reciprocal_second(b: GradientBuilder, y: Any, dy: Any, z: Any, g: Any) -> Sequence[Any]:
    y = conjugate(b, y)
    by_y = b.mul(b.mul(b.mul(conjugate(b, g), -2), dy), y)
    return by_y, b.reciprocal_grad(y, g)


# 0 where dy is 0, even if y is infinite.
reciprocal_grad = _unary(
    "reciprocal_grad",
    "ReciprocalGrad(y: T, dy: T; T: FLOAT_COMPLEX) -> z: T",
    _reciprocal_grad_expr,
    _reciprocal_grad_reference,
    infer=broadcast_dims,
    gradient=binary_gradient(_reciprocal_second),
    aliases=("InvGrad",),
    examples=("T[17] T[17]", "T[2,3] T[2,3]", "T[] T[]"),
)


floor = _rounding("floor", "Floor(x: T; T: FLOAT) -> y: T", lambda k, x: k.floor(x), np.floor)
ceil = _rounding("ceil", "Ceil(x: T; T: FLOAT) -> y: T", lambda k, x: k.ceil(x), np.ceil)
rint = _rounding("rint", "Rint(x: T; T: FLOAT) -> y: T", lambda k, x: k.rint(x), np.rint)

# Halves to even, as Rint. TensorFlow's CPU kernel makes 0 of every integer: integers are refused.
round_ = _rounding(
    "round",
    "Round(x: T; T: FLOAT) -> y: T",
    lambda k, x: k.rint(x),
    np.rint,
)
