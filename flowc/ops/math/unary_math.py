"""Roots, exponentials, logarithms, trigonometric and hyperbolic functions, real and complex."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc.ir.lowering import Elementwise
from flowc.ir.op import Op, define
from flowc.ops.gradients import (
    Gradient,
    GradientBuilder,
    binary_gradient,
    conjugate,
    unary_gradient,
)
from flowc.ops.math import complex_functions as cf
from flowc.ops.math.elementwise import (
    Array,
    broadcast_dims,
    map_op,
    primitive,
    real_or_complex,
    widened,
)

_SINGLES = ("T[17]", "T[2,3]", "T[]", "T[0]")


def _function(
    tf_name: str, reference: Callable[..., Any], gradient: Gradient, domain: str = ""
) -> Op:
    """A function of one number, which is the primitive of its name."""
    name = tf_name.lower()
    shown = tuple(f"{e}~{domain}" for e in _SINGLES) if domain else _SINGLES
    return map_op(
        name,
        f"{tf_name}(x: T; T: FLOAT_COMPLEX) -> y: T",
        real_or_complex(primitive(name), getattr(cf, f"complex_{name}")),
        reference,
        gradient=gradient,
        examples=shown,
    )


def _asin_slope(b: GradientBuilder, x: Any, y: Any) -> Any:
    return b.reciprocal(b.sqrt(b.sub(1, b.square(x))))


# Each with its derivative at x, where y = f(x), and the domain of its examples.
for _row in (
    ("Exp", np.exp, lambda b, x, y: y),
    ("Expm1", np.expm1, lambda b, x, y: b.exp(x)),
    ("Log", np.log, lambda b, x, y: b.reciprocal(x), "positive"),
    ("Log1p", np.log1p, lambda b, x, y: b.reciprocal(b.add(1, x)), "positive"),
    ("Sin", np.sin, lambda b, x, y: b.cos(x)),
    ("Cos", np.cos, lambda b, x, y: b.neg(b.sin(x))),
    ("Tan", np.tan, lambda b, x, y: b.square(b.reciprocal(b.cos(x)))),
    ("Asin", np.arcsin, _asin_slope, "unit"),
    ("Acos", np.arccos, lambda b, x, y: b.neg(_asin_slope(b, x, y)), "unit"),
    ("Atan", np.arctan, lambda b, x, y: b.reciprocal(b.add(1, b.square(x)))),
    ("Sinh", np.sinh, lambda b, x, y: b.cosh(x)),
    ("Cosh", np.cosh, lambda b, x, y: b.sinh(x)),
    ("Asinh", np.arcsinh, lambda b, x, y: b.reciprocal(b.cosh(y))),
    ("Acosh", np.arccosh, lambda b, x, y: b.reciprocal(b.sinh(y)), "positive"),
    ("Atanh", np.arctanh, lambda b, x, y: b.reciprocal(b.sub(1, b.square(x))), "unit"),
):
    _tf_name, _of_array, _slope, *_domain = _row
    _function(_tf_name, _of_array, unary_gradient(_slope), *_domain)

sqrt = _function("Sqrt", np.sqrt, lambda b, node, dy: b.sqrt_grad(node.output, dy), "positive")
rsqrt = _function(
    "Rsqrt",
    lambda x: 1 / np.sqrt(x),
    lambda b, node, dy: b.rsqrt_grad(node.output, dy),
    "positive",
)
tanh = _function("Tanh", np.tanh, lambda b, node, dy: b.tanh_grad(conjugate(b, node.output), dy))


def _sigmoid(x: Array) -> Array:
    decay = np.exp(-np.abs(x)) if x.dtype.kind == "f" else None
    if decay is None:
        return 1 / (1 + np.exp(-x))
    return np.where(x >= 0, 1 / (1 + decay), decay / (1 + decay)).astype(x.dtype)


sigmoid = _function(
    "Sigmoid",
    _sigmoid,
    lambda b, node, dy: b.sigmoid_grad(conjugate(b, node.output), dy),
)


# -- gradients as TensorFlow's own ops: of y = f(x) and dy


def _conjugated(k: Any, x: Any) -> Any:
    return cf.conjugate(k, x) if x.dtype.is_complex else x


def _gradient_op(
    tf_name: str, expr: Any, reference: Any, gradient: Gradient, domain: str = ""
) -> Op:
    """z = dy * f'(x), in terms of y = f(x)."""
    suffix = f"~{domain}" if domain else ""
    return map_op(
        f"{tf_name.lower()}_grad",
        f"{tf_name}Grad(y: T, dy: T; T: FLOAT_COMPLEX) -> z: T",
        expr,
        reference,
        infer=broadcast_dims,
        gradient=gradient,
        examples=(f"T[17]{suffix} T[17]", f"T[2,3]{suffix} T[2,3]", f"T[]{suffix} T[]"),
    )


def _second_gradient(name: str, by_y: Callable[[GradientBuilder, Any, Any, Any], Any]) -> Gradient:
    """The gradient of an op that computes a gradient from (y, dy). `by_y(b, y, dy, g)` is that of
    y; that of dy is the op itself."""

    def product(b: GradientBuilder, y: Any, dy: Any, z: Any, g: Any) -> Sequence[Any]:
        y = conjugate(b, y)
        return by_y(b, y, conjugate(b, dy), g), getattr(b, name)(y, g)

    return binary_gradient(product)


def _sigmoid_second(b: GradientBuilder, y: Any, dy: Any, g: Any) -> Any:
    both = b.mul(g, dy)
    return b.sub(both, b.mul(b.mul(2, both), y))


tanh_grad = _gradient_op(
    "Tanh",
    lambda k, y, dy: k.mul(dy, k.sub(k.const(1, y.dtype), k.mul(y, y))),
    lambda y, dy: dy * (1 - y * y),
    _second_gradient("tanh_grad", lambda b, y, dy, g: b.mul(b.mul(b.mul(g, -2), dy), y)),
)
sigmoid_grad = _gradient_op(
    "Sigmoid",
    lambda k, y, dy: k.mul(k.mul(dy, y), k.sub(k.const(1, y.dtype), y)),
    lambda y, dy: dy * y * (1 - y),
    _second_gradient("sigmoid_grad", _sigmoid_second),
)


# These two conjugate a complex y themselves; for the two above that is the caller's part.
def _sqrt_second(b: GradientBuilder, y: Any, dy: Any, z: Any, g: Any) -> Sequence[Any]:
    share = b.real_div(g, y)
    return b.neg(b.mul(conjugate(b, share), z)), b.mul(share, 0.5)


# TensorFlow gives 0 for a dy of 0, whatever y is: what `where` leaves out spoils no gradient.
def _sqrt_grad_expr(k: Any, y: Any, dy: Any) -> Any:
    found = k.div(k.mul(k.const(0.5, y.dtype), dy), _conjugated(k, y))
    return k.select(k.eq(dy, 0), k.const(0, y.dtype), found)


def _sqrt_grad(y: Array, dy: Array) -> Array:
    found = dy * np.asarray(0.5, dy.dtype) / np.conj(y)
    return np.where(dy == 0, np.zeros((), dy.dtype), found)


sqrt_grad = _gradient_op(
    "Sqrt", _sqrt_grad_expr, _sqrt_grad, binary_gradient(_sqrt_second), "positive"
)


def _rsqrt_grad_expr(k: Any, y: Any, dy: Any) -> Any:
    y = _conjugated(k, y)
    found = k.mul(k.mul(k.const(-0.5, y.dtype), dy), k.mul(k.mul(y, y), y))
    return k.select(k.eq(dy, 0), k.const(0, y.dtype), found)


def _rsqrt_grad(y: Array, dy: Array) -> Array:
    y = np.conj(y)
    found = np.asarray(-0.5, dy.dtype) * dy * (y * y * y)
    return np.where(dy == 0, np.zeros((), dy.dtype), found)


def _rsqrt_second(b: GradientBuilder, y: Any, dy: Any, z: Any, g: Any) -> Sequence[Any]:
    y = conjugate(b, y)
    by_y = b.mul(b.mul(b.mul(conjugate(b, g), -1.5), dy), b.square(y))
    return by_y, b.rsqrt_grad(y, g)


rsqrt_grad = _gradient_op(
    "Rsqrt", _rsqrt_grad_expr, _rsqrt_grad, binary_gradient(_rsqrt_second), "positive"
)


def _atan2_gradient(b: GradientBuilder, y: Any, x: Any, z: Any, dz: Any) -> Sequence[Any]:
    scale = b.real_div(dz, b.add(b.square(x), b.square(y)))
    return b.mul(scale, x), b.neg(b.mul(scale, y))


atan2 = map_op(
    "atan2",
    "Atan2(y: T, x: T; T: FLOAT) -> z: T",
    primitive("atan2"),
    np.arctan2,
    infer=broadcast_dims,
    gradient=binary_gradient(_atan2_gradient),
    examples=("T[2,3] T[3]", "T[4,1] T[1,5]", "T[] T[7]"),
)


def _zero_times(name: str, tf_name: str, expr: Any, function: Any, gradient: Any) -> Op:
    """x * f(y), or x / y, that is 0 where x is 0 whatever y is. Halves are rounded twice: f(y) is
    one, too."""

    def reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            if function is None:
                found = widened(x) / widened(y)
            else:
                found = widened(x) * widened(function(widened(y)).astype(y.dtype))
        return np.where(x == 0, np.zeros((), x.dtype), found.astype(x.dtype))

    return define(
        name,
        f"{tf_name}(x: T, y: T; T: FLOAT_COMPLEX) -> z: T",
        lowering=Elementwise(
            lambda k, x, y: k.select(k.eq(x, 0), k.const(0, x.dtype), expr(k, x, y))
        ),
        reference=reference,
        infer=broadcast_dims,
        gradient=binary_gradient(gradient),
        examples=("T[2,3] T[3]~positive", "T[4,1] T[1,5]~positive", "T[]=0.0 T[7]~positive"),
    )


def _where_nonzero(b: GradientBuilder, x: Any, y: Any) -> Any:
    """y, or 0 where x is 0 (at the shape of both)."""
    zero = b.const(0, x.dtype)
    return b.select_v2(b.not_equal(x, zero), y, zero)


_log = real_or_complex(primitive("log"), cf.complex_log)
_log1p = real_or_complex(primitive("log1p"), cf.complex_log1p)

xdivy = _zero_times(
    "xdivy",
    "Xdivy",
    lambda k, x, y: k.div(x, y),
    None,
    lambda b, x, y, z, dz: (
        b.mul(dz, _where_nonzero(b, x, b.reciprocal(y))),
        b.mul(dz, b.neg(b.xdivy(x, b.square(y)))),
    ),
)
xlogy = _zero_times(
    "xlogy",
    "Xlogy",
    lambda k, x, y: k.mul(x, _log(k, y)),
    np.log,
    lambda b, x, y, z, dz: (
        b.mul(dz, _where_nonzero(b, x, b.log(y))),
        b.mul(dz, b.xdivy(x, y)),
    ),
)
xlog1py = _zero_times(
    "xlog1py",
    "Xlog1py",
    lambda k, x, y: k.mul(x, _log1p(k, y)),
    np.log1p,
    lambda b, x, y, z, dz: (
        b.mul(dz, _where_nonzero(b, x, b.log1p(y))),
        b.mul(dz, b.xdivy(x, b.add(y, 1))),
    ),
)
