"""Roots, exponentials, logarithms, trigonometric and hyperbolic functions, real and complex."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc.ir.op import Op
from flowc.ops.gradients import (
    Gradient,
    GradientBuilder,
    binary_gradient,
    conjugate,
    unary_gradient,
)
from flowc.ops.math import complex_functions as cf
from flowc.ops.math.elementwise import Array, broadcast_dims, map_op, real_or_complex

_SINGLES = ("T[17]", "T[2,3]", "T[]", "T[0]")


def _function(
    tf_name: str,
    expr: Any,
    reference: Callable[..., Any],
    gradient: Gradient,
    domain: str = "",
) -> Op:
    """A function of one number; `expr` is the name of a primitive or an expression."""
    real = expr if callable(expr) else lambda k, x: getattr(k, expr)(x)
    imaginary = getattr(cf, f"complex_{tf_name.lower()}")
    shown = tuple(f"{e}~{domain}" for e in _SINGLES) if domain else _SINGLES
    return map_op(
        tf_name.lower(),
        f"{tf_name}(x: T; T: FLOAT_COMPLEX) -> y: T",
        real_or_complex(real, imaginary),
        reference,
        gradient=gradient,
        examples=shown,
    )


def _asin_slope(b: GradientBuilder, x: Any, y: Any) -> Any:
    return b.reciprocal(b.sqrt(b.sub(1, b.square(x))))


sqrt = _function(
    "Sqrt", "sqrt", np.sqrt, lambda b, node, dy: b.sqrt_grad(node.output, dy), "positive"
)
rsqrt = _function(
    "Rsqrt",
    "rsqrt",
    lambda x: 1 / np.sqrt(x),
    lambda b, node, dy: b.rsqrt_grad(node.output, dy),
    "positive",
)
exp = _function("Exp", "exp", np.exp, unary_gradient(lambda b, x, y: y))
expm1 = _function("Expm1", "expm1", np.expm1, unary_gradient(lambda b, x, y: b.exp(x)))
log = _function("Log", "log", np.log, unary_gradient(lambda b, x, y: b.reciprocal(x)), "positive")
log1p = _function(
    "Log1p",
    "log1p",
    np.log1p,
    unary_gradient(lambda b, x, y: b.reciprocal(b.add(1, x))),
    "positive",
)
sin = _function("Sin", "sin", np.sin, unary_gradient(lambda b, x, y: b.cos(x)))
cos = _function("Cos", "cos", np.cos, unary_gradient(lambda b, x, y: b.neg(b.sin(x))))
tan = _function(
    "Tan", "tan", np.tan, unary_gradient(lambda b, x, y: b.square(b.reciprocal(b.cos(x))))
)
asin = _function(
    "Asin",
    "asin",
    np.arcsin,
    unary_gradient(_asin_slope),
    "unit",
)
acos = _function(
    "Acos",
    "acos",
    np.arccos,
    unary_gradient(lambda b, x, y: b.neg(_asin_slope(b, x, y))),
    "unit",
)
atan = _function(
    "Atan",
    "atan",
    np.arctan,
    unary_gradient(lambda b, x, y: b.reciprocal(b.add(1, b.square(x)))),
)
sinh = _function("Sinh", "sinh", np.sinh, unary_gradient(lambda b, x, y: b.cosh(x)))
cosh = _function("Cosh", "cosh", np.cosh, unary_gradient(lambda b, x, y: b.sinh(x)))
tanh = _function(
    "Tanh", "tanh", np.tanh, lambda b, node, dy: b.tanh_grad(conjugate(b, node.output), dy)
)
asinh = _function(
    "Asinh", "asinh", np.arcsinh, unary_gradient(lambda b, x, y: b.reciprocal(b.cosh(y)))
)
acosh = _function(
    "Acosh",
    "acosh",
    np.arccosh,
    unary_gradient(lambda b, x, y: b.reciprocal(b.sinh(y))),
    "positive",
)
atanh = _function(
    "Atanh",
    "atanh",
    np.arctanh,
    unary_gradient(lambda b, x, y: b.reciprocal(b.sub(1, b.square(x)))),
    "unit",
)


def _sigmoid(x: Array) -> Array:
    decay = np.exp(-np.abs(x)) if x.dtype.kind == "f" else None
    if decay is None:
        return 1 / (1 + np.exp(-x))
    return np.where(x >= 0, 1 / (1 + decay), decay / (1 + decay)).astype(x.dtype)


sigmoid = _function(
    "Sigmoid",
    "sigmoid",
    _sigmoid,
    lambda b, node, dy: b.sigmoid_grad(conjugate(b, node.output), dy),
)


# -- gradients as TensorFlow's own ops: of y = f(x) and dy


def _conjugated(k: Any, x: Any) -> Any:
    return cf.conjugate(k, x) if x.dtype.is_complex else x


def _gradient_op(tf_name: str, expr: Any, reference: Any, domain: str = "") -> Op:
    """z = dy * f'(x), in terms of y = f(x)."""
    suffix = f"~{domain}" if domain else ""
    return map_op(
        f"{tf_name.lower()}_grad",
        f"{tf_name}Grad(y: T, dy: T; T: FLOAT_COMPLEX) -> z: T",
        expr,
        reference,
        infer=broadcast_dims,
        examples=(f"T[17]{suffix} T[17]", f"T[2,3]{suffix} T[2,3]", f"T[]{suffix} T[]"),
    )


tanh_grad = _gradient_op(
    "Tanh",
    lambda k, y, dy: k.mul(dy, k.sub(k.const(1, y.dtype), k.mul(y, y))),
    lambda y, dy: dy * (1 - y * y),
)
sigmoid_grad = _gradient_op(
    "Sigmoid",
    lambda k, y, dy: k.mul(k.mul(dy, y), k.sub(k.const(1, y.dtype), y)),
    lambda y, dy: dy * y * (1 - y),
)
# These two conjugate a complex y themselves; for the two above that is the caller's part.
sqrt_grad = _gradient_op(
    "Sqrt",
    lambda k, y, dy: k.div(k.mul(k.const(0.5, y.dtype), dy), _conjugated(k, y)),
    lambda y, dy: dy * np.asarray(0.5, dy.dtype) / np.conj(y),
    "positive",
)


def _rsqrt_grad_expr(k: Any, y: Any, dy: Any) -> Any:
    y = _conjugated(k, y)
    found = k.mul(k.mul(k.const(-0.5, y.dtype), dy), k.mul(k.mul(y, y), y))
    return k.select(k.eq(dy, 0), k.const(0, y.dtype), found)


def _rsqrt_grad(y: Array, dy: Array) -> Array:
    y = np.conj(y)
    found = np.asarray(-0.5, dy.dtype) * dy * (y * y * y)
    return np.where(dy == 0, np.zeros((), dy.dtype), found)


rsqrt_grad = _gradient_op("Rsqrt", _rsqrt_grad_expr, _rsqrt_grad, "positive")


def _atan2_gradient(b: GradientBuilder, y: Any, x: Any, z: Any, dz: Any) -> Sequence[Any]:
    scale = b.real_div(dz, b.add(b.square(x), b.square(y)))
    return b.mul(scale, x), b.neg(b.mul(scale, y))


atan2 = map_op(
    "atan2",
    "Atan2(y: T, x: T; T: FLOAT) -> z: T",
    lambda k, y, x: k.atan2(y, x),
    np.arctan2,
    infer=broadcast_dims,
    gradient=binary_gradient(_atan2_gradient),
    examples=("T[2,3] T[3]", "T[4,1] T[1,5]", "T[] T[7]"),
)


def _zero_times(name: str, tf_name: str, expr: Any, function: Any, gradient: Any) -> Op:
    """x * f(y), or x / y, that is 0 where x is 0 whatever y is."""
    return map_op(
        name,
        f"{tf_name}(x: T, y: T; T: FLOAT_COMPLEX) -> z: T",
        lambda k, x, y: k.select(k.eq(x, 0), k.const(0, x.dtype), expr(k, x, y)),
        lambda x, y: np.where(x == 0, np.zeros((), x.dtype), function(x, y)),
        infer=broadcast_dims,
        gradient=binary_gradient(gradient),
        examples=("T[2,3] T[3]~positive", "T[4,1] T[1,5]~positive", "T[]=0.0 T[7]~positive"),
    )


def _where_nonzero(b: GradientBuilder, x: Any, y: Any) -> Any:
    """y, or 0 where x is 0 (at the shape of both)."""
    zero = b.const(0, x.dtype)
    return b.select_v2(b.not_equal(x, zero), y, zero)


def _log(k: Any, x: Any) -> Any:
    return cf.complex_log(k, x) if x.dtype.is_complex else k.log(x)


def _log1p(k: Any, x: Any) -> Any:
    return cf.complex_log1p(k, x) if x.dtype.is_complex else k.log1p(x)


xdivy = _zero_times(
    "xdivy",
    "Xdivy",
    lambda k, x, y: k.div(x, y),
    lambda x, y: x / y,
    lambda b, x, y, z, dz: (
        b.mul(dz, _where_nonzero(b, x, b.reciprocal(y))),
        b.mul(dz, b.neg(b.xdivy(x, b.square(y)))),
    ),
)
xlogy = _zero_times(
    "xlogy",
    "Xlogy",
    lambda k, x, y: k.mul(x, _log(k, y)),
    lambda x, y: x * np.log(y),
    lambda b, x, y, z, dz: (
        b.mul(dz, _where_nonzero(b, x, b.log(y))),
        b.mul(dz, b.xdivy(x, y)),
    ),
)
xlog1py = _zero_times(
    "xlog1py",
    "Xlog1py",
    lambda k, x, y: k.mul(x, _log1p(k, y)),
    lambda x, y: x * np.log1p(y),
    lambda b, x, y, z, dz: (
        b.mul(dz, _where_nonzero(b, x, b.log1p(y))),
        b.mul(dz, b.xdivy(x, b.add(y, 1))),
    ),
)
