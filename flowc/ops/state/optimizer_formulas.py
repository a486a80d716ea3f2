"""The formulas of optimizers: what one step makes of a variable and its slots.

In: Terms of what the op takes, by name, and its attrs. Out: Terms of the new contents, by name.
Invariant: the arithmetic is that of TensorFlow's CPU kernels, in the dtype of the variable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.op import Attrs


class Term:
    """A value in a formula: the operators of arithmetic build nodes."""

    def __init__(self, b: Builder, value: Value) -> None:
        self.b = b
        self.value = value

    def make(self, op: str, *others: Any, **attrs: Any) -> Term:
        plain = [o.value if isinstance(o, Term) else o for o in others]
        return Term(self.b, getattr(self.b, op)(self.value, *plain, **attrs))

    def __add__(self, other: Any) -> Term:
        return self.make("add", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Term:
        return self.make("sub", other)

    def __rsub__(self, other: Any) -> Term:
        return Term(self.b, self.b.sub(other, self.value))

    def __mul__(self, other: Any) -> Term:
        return self.make("mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Term:
        return self.make("real_div", other)

    def __neg__(self) -> Term:
        return self.make("neg")

    def __abs__(self) -> Term:
        return self.make("abs")

    def squared(self) -> Term:
        return self.make("square")

    def sqrt(self) -> Term:
        return self.make("sqrt")

    def rsqrt(self) -> Term:
        return self.make("rsqrt")

    def sign(self) -> Term:
        return self.make("sign")

    def exp(self) -> Term:
        return self.make("exp")

    def max(self, other: Any) -> Term:
        return self.make("maximum", other)

    def power(self, exponent: Term) -> Term:
        return self.make("pow", exponent)


Formula = Callable[[Any, Attrs], Mapping[str, Term]]


def gradient_descent(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    return {"var": t.var - t.delta * t.alpha}


def _proximal(prox: Term, rate: Term, l1: Term, l2: Term) -> Term:
    """The point that L1 and L2 regularisation pull `prox` to."""
    return prox.sign() * (abs(prox) - rate * l1).max(0) / (1 + l2 * rate)


def proximal_gradient_descent(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    return {"var": _proximal(t.var - t.delta * t.alpha, t.alpha, t.l1, t.l2)}


def momentum(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    accum = t.accum * t.momentum + t.grad
    if attrs["use_nesterov"]:
        return {"accum": accum, "var": t.var - (t.grad * t.lr + accum * t.momentum * t.lr)}
    return {"accum": accum, "var": t.var - accum * t.lr}


def keras_momentum(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    accum = t.accum * t.momentum - t.grad * t.lr
    if attrs["use_nesterov"]:
        return {"accum": accum, "var": t.var + (accum * t.momentum - t.grad * t.lr)}
    return {"accum": accum, "var": t.var + accum}


def adagrad(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    accum = t.accum + t.grad.squared() if attrs["update_slots"] else t.accum
    return {"accum": accum, "var": t.var - t.grad * t.lr * accum.rsqrt()}


def adagrad_with_epsilon(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    accum = t.accum + t.grad.squared() if attrs["update_slots"] else t.accum
    return {"accum": accum, "var": t.var - t.grad * t.lr / (accum.sqrt() + t.epsilon)}


def proximal_adagrad(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    accum = t.accum + t.grad.squared()
    rate = accum.rsqrt() * t.lr
    return {"accum": accum, "var": _proximal(t.var - t.grad * rate, rate, t.l1, t.l2)}


def adagrad_da(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    total = t.gradient_accumulator + t.grad
    squares = t.gradient_squared_accumulator + t.grad.squared()
    step = t.global_step.make("cast", DstT=t.var.value.type.dtype)
    shrunk = total.sign() * (abs(total) - step * t.l1).max(0)
    var = -(t.lr * shrunk) / (t.l2 * step * t.lr + squares.sqrt())
    return {"gradient_accumulator": total, "gradient_squared_accumulator": squares, "var": var}


def adadelta(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    accum = t.accum * t.rho + t.grad.squared() * (1 - t.rho)
    update = (t.accum_update + t.epsilon).sqrt() * (accum + t.epsilon).rsqrt() * t.grad
    changes = t.accum_update * t.rho + update.squared() * (1 - t.rho)
    return {"accum": accum, "accum_update": changes, "var": t.var - update * t.lr}


def _is_half(power: Term) -> bool:
    """Whether a learning rate power is known to be -0.5."""
    known = power.value.constant
    return known is not None and float(known) == -0.5


def ftrl(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    def root(x: Term) -> Term:
        return x.sqrt() if _is_half(t.lr_power) else x.power(-t.lr_power)

    grad = t.grad
    if hasattr(t, "l2_shrinkage"):
        grad = grad + 2 * t.l2_shrinkage * t.var
    accum = t.accum + t.grad.squared()
    growth = root(accum) - root(t.accum)
    if attrs["multiply_linear_by_lr"]:
        linear = t.linear + grad * t.lr - growth * t.var
        pull, slope = t.l1 * t.lr, root(accum) + 2 * t.l2 * t.lr
    else:
        linear = t.linear + grad - growth / t.lr * t.var
        pull, slope = t.l1, root(accum) / t.lr + 2 * t.l2
    var = -(linear.sign() * (abs(linear) - pull).max(0)) / slope
    return {"accum": accum, "linear": linear, "var": var}


def adam(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    rate = t.lr * (1 - t.beta2_power).sqrt() / (1 - t.beta1_power)
    m = t.m + (t.grad - t.m) * (1 - t.beta1)
    v = t.v + (t.grad.squared() - t.v) * (1 - t.beta2)
    found = {"m": m, "v": v}
    if hasattr(t, "vhat"):
        found["vhat"] = t.vhat.max(v)
        return {**found, "var": t.var - m * rate / (found["vhat"].sqrt() + t.epsilon)}
    ahead = t.grad * (1 - t.beta1) + t.beta1 * m if attrs["use_nesterov"] else m
    return {**found, "var": t.var - ahead * rate / (v.sqrt() + t.epsilon)}


def ada_max(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    m = t.m + (t.grad - t.m) * (1 - t.beta1)
    v = (t.v * t.beta2).max(abs(t.grad))
    return {"m": m, "v": v, "var": t.var - t.lr / (1 - t.beta1_power) * (m / (v + t.epsilon))}


def rms_prop(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    ms = t.ms + (t.grad.squared() - t.ms) * (1 - t.rho)
    found = {"ms": ms}
    spread = ms + t.epsilon
    if hasattr(t, "mg"):
        found["mg"] = t.mg + (t.grad - t.mg) * (1 - t.rho)
        spread = ms - found["mg"].squared() + t.epsilon
    mom = t.mom * t.momentum + t.grad * t.lr * spread.rsqrt()
    return {**found, "mom": mom, "var": t.var - mom}


def add_sign(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    m = t.m * t.beta + t.grad * (1 - t.beta)
    agreement = t.grad.sign() * m.sign()
    return {"m": m, "var": t.var - t.lr * (t.alpha + t.sign_decay * agreement) * t.grad}


def power_sign(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    m = t.m * t.beta + t.grad * (1 - t.beta)
    scale = (t.logbase * t.sign_decay * t.grad.sign() * m.sign()).exp()
    return {"m": m, "var": t.var - t.lr * scale * t.grad}
