"""Activations of neural networks, and TensorFlow's ops for their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc.ir.computation import Node
from flowc.ir.lowering import Elementwise, Lowering
from flowc.ir.op import Op, define
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.math.elementwise import Array, equal_dims, map_op, numpy_reference, same_dims

_SINGLES = ("T[17]", "T[2,3]", "T[]", "T[0]")
_PAIRS = ("T[17] T[17]", "T[2,3] T[2,3]", "T[] T[]")
_SELU_SCALE = 1.0507009873554804934193349852946
_SELU_SCALE_ALPHA = 1.7580993408473768599402175208123


def _activation(name: str, tf: str, expr: Any, reference: Any, **rest: Any) -> Op:
    def gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
        return getattr(b, f"{name}_grad")(dy, node.output if from_output else node.inputs[0])

    from_output = rest.pop("from_output", False)
    return map_op(name, tf, expr, reference, gradient=gradient, examples=_SINGLES, **rest)


Curvature = Callable[[GradientBuilder, Any, Any, Any], Any]


def _gradient(
    name: str, tf: str, expr: Any, reference: Any, curvature: Curvature | None = None
) -> Op:
    """The op that computes the gradient of an activation. Its inputs, of one shape, are the
    gradients, and the features or outputs. `curvature(b, dy, x, g)`: the gradient of the second
    input; without it the op has none, as in TensorFlow."""

    def gradient(b: GradientBuilder, node: Forward, g: Any) -> Sequence[Any]:
        dy, x = node.inputs
        return getattr(b, name)(g, x), None if curvature is None else curvature(b, dy, x, g)

    found = None if curvature is None else gradient
    return map_op(name, tf, expr, reference, infer=equal_dims, gradient=found, examples=_PAIRS)


def _straight(b: GradientBuilder, dy: Any, x: Any, g: Any) -> Any:
    return b.zeros_like(x)


def _where_negative(b: GradientBuilder, dy: Any, y: Any, g: Any) -> Any:
    return b.select_v2(b.less(y, 0), b.mul(g, dy), b.zeros_like(y))


relu = _activation(
    "relu",
    "Relu(features: T; T: REAL) -> activations: T",
    lambda k, x: k.max(x, 0),
    lambda x: np.maximum(x, np.zeros((), x.dtype)),
    from_output=True,
    traits=("idempotent",),
)
relu6 = _activation(
    "relu6",
    "Relu6(features: T; T: REAL) -> activations: T",
    lambda k, x: k.min(k.max(x, 0), 6),
    lambda x: np.minimum(np.maximum(x, np.zeros((), x.dtype)), np.asarray(6, x.dtype)),
    from_output=True,
    traits=("idempotent",),
)
elu = _activation(
    "elu",
    "Elu(features: T; T: FLOAT) -> activations: T",
    lambda k, x: k.select(k.lt(x, 0), k.expm1(x), x),
    lambda x: np.where(x < 0, np.expm1(x), x),
    from_output=True,
)
selu = _activation(
    "selu",
    "Selu(features: T; T: FLOAT) -> activations: T",
    lambda k, x: k.select(k.lt(x, 0), k.mul(k.expm1(x), _SELU_SCALE_ALPHA), k.mul(x, _SELU_SCALE)),
    lambda x: np.where(
        x < 0, x.dtype.type(_SELU_SCALE_ALPHA) * np.expm1(x), x.dtype.type(_SELU_SCALE) * x
    ),
    from_output=True,
)
softplus = _activation(
    "softplus",
    "Softplus(features: T; T: FLOAT) -> activations: T",
    lambda k, x: k.add(k.max(x, 0), k.log1p(k.exp_negative(k.neg(k.abs(x))))),
    lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
)
softsign = _activation(
    "softsign",
    "Softsign(features: T; T: FLOAT) -> activations: T",
    lambda k, x: k.div(x, k.add(k.abs(x), 1)),
    lambda x: x / (1 + np.abs(x)),
)


def _mask(k: Any, condition: Any, dy: Any) -> Any:
    """dy times 1 or 0, so that NaN stays NaN, as in TensorFlow."""
    return k.mul(dy, k.cast(condition, dy.dtype))


relu_grad = _gradient(
    "relu_grad",
    "ReluGrad(gradients: T, features: T; T: REAL) -> backprops: T",
    lambda k, dy, x: _mask(k, k.gt(x, 0), dy),
    lambda dy, x: dy * (x > 0).astype(dy.dtype),
    _straight,
)
relu6_grad = _gradient(
    "relu6_grad",
    "Relu6Grad(gradients: T, features: T; T: REAL) -> backprops: T",
    lambda k, dy, x: _mask(k, k.logical_and(k.gt(x, 0), k.lt(x, 6)), dy),
    lambda dy, x: dy * ((x > 0) & (x < 6)).astype(dy.dtype),
    _straight,
)
elu_grad = _gradient(
    "elu_grad",
    "EluGrad(gradients: T, outputs: T; T: FLOAT) -> backprops: T",
    lambda k, dy, y: k.select(k.lt(y, 0), k.mul(k.add(y, 1), dy), dy),
    lambda dy, y: np.where(y < 0, (y + 1) * dy, dy),
    _where_negative,
)
selu_grad = _gradient(
    "selu_grad",
    "SeluGrad(gradients: T, outputs: T; T: FLOAT) -> backprops: T",
    lambda k, dy, y: k.mul(
        dy,
        k.select(k.lt(y, 0), k.add(y, _SELU_SCALE_ALPHA), k.const(_SELU_SCALE, y.dtype)),
    ),
    lambda dy, y: np.where(
        y < 0, dy * (y + y.dtype.type(_SELU_SCALE_ALPHA)), dy * y.dtype.type(_SELU_SCALE)
    ),
    _where_negative,
)
softplus_grad = _gradient(
    "softplus_grad",
    "SoftplusGrad(gradients: T, features: T; T: FLOAT) -> backprops: T",
    lambda k, dy, x: k.div(dy, k.add(k.exp(k.neg(x)), 1)),
    lambda dy, x: dy / (np.exp(-x) + 1),
    lambda b, dy, x, g: b.real_div(b.mul(g, dy), b.add(b.add(b.exp(b.neg(x)), 2), b.exp(x))),
)


def _softsign_slope(x: Array) -> Array:
    return 1 + np.abs(x)


softsign_grad = _gradient(
    "softsign_grad",
    "SoftsignGrad(gradients: T, features: T; T: FLOAT) -> backprops: T",
    lambda k, dy, x: k.div(dy, k.mul(k.add(k.abs(x), 1), k.add(k.abs(x), 1))),
    lambda dy, x: dy / (_softsign_slope(x) * _softsign_slope(x)),
)


# -- the leaky ReLU has a slope


def _sloped(choose: Callable[[Any, float], Callable[..., Any]]) -> Callable[[Node], Lowering]:
    return lambda node: Elementwise(
        lambda k, *x: choose(k, float(np.float32(node.attrs["alpha"])))(*x)
    )


def _leaky(x: Array, *, alpha: float) -> Array:
    return np.where(x > 0, x, x * x.dtype.type(np.float32(alpha)))


def _leaky_grad(dy: Array, x: Array, *, alpha: float) -> Array:
    return np.where(x > 0, dy, dy * dy.dtype.type(np.float32(alpha)))


leaky_relu = define(
    "leaky_relu",
    "LeakyRelu(features: T; alpha: float = 0.2, T: FLOAT = f32) -> activations: T",
    infer=same_dims,
    lowering=_sloped(lambda k, alpha: lambda x: k.select(k.gt(x, 0), x, k.mul(x, alpha))),
    reference=numpy_reference(_leaky),
    gradient=lambda b, node, dy: b.with_attrs_of(node, "leaky_relu_grad", dy, node.inputs[0]),
    examples=("T[17]", "T[2,3]; alpha=0.01", "T[]; alpha=1.5", "T[0]", "T[5]; alpha=-1.0"),
)

leaky_relu_grad = define(
    "leaky_relu_grad",
    "LeakyReluGrad(gradients: T, features: T; alpha: float = 0.2, T: FLOAT = f32) -> backprops: T",
    infer=equal_dims,
    lowering=_sloped(lambda k, alpha: lambda dy, x: k.select(k.gt(x, 0), dy, k.mul(dy, alpha))),
    reference=numpy_reference(_leaky_grad),
    gradient=lambda b, node, g: (
        b.with_attrs_of(node, "leaky_relu_grad", g, node.inputs[1]),
        b.zeros_like(node.inputs[1]),
    ),
    examples=("T[17] T[17]", "T[2,3] T[2,3]; alpha=0.01", "T[] T[]"),
)
