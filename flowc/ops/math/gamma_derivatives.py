"""IgammaGradA and RandomGammaGrad: what the parameter of a gamma distribution does.

In: parameters a and places x, or numbers that were drawn. Out: the derivative of P(a, x) by a, and
of a drawn number by the parameter that it was drawn for. Invariant: computed in f64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.ir.dims import ceildiv
from flowc.ir.lowering import Decompose, Native
from flowc.ir.op import define
from flowc.ops.kernels import gamma_derivatives as kernels
from flowc.ops.math.elementwise import broadcast_dims

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

Array = np.ndarray[Any, Any]


def _digamma(x: float) -> float:
    found = 0.0
    while x < 20:
        found -= 1 / x
        x += 1
    square = 1 / (x * x)
    tail = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return found + math.log(x) - 0.5 / x - tail


def _by_sum(a: float, x: float) -> float:
    """d P(a, x) / da, as P is the sum of x^(a + n) e^-x / gamma(a + n + 1)."""
    if x == 0:
        return 0.0
    if not (x > 0 and a > 0):
        return math.nan
    power = math.log(x)
    exponents = (a + n for n in range(400))
    return math.fsum(
        math.exp(e * power - x - math.lgamma(e + 1)) * (power - _digamma(e + 1)) for e in exponents
    )


def _by_density(a: float, x: float) -> float:
    return -_by_sum(a, x) / math.exp((a - 1) * math.log(x) - x - math.lgamma(a))


def _reference(function: Callable[[float, float], float]) -> Callable[[Array, Array], Array]:
    def defined(a: float, x: float) -> float:
        try:
            return function(a, x)
        except (ArithmeticError, ValueError):  # poles, and numbers beside the domain
            return math.nan

    def reference(a: Array, x: Array) -> Array:
        return np.vectorize(defined, otypes=[np.float64])(a, x).astype(a.dtype)

    return reference


def _lower(sample: bool) -> Callable[[Node], Native]:
    def lower(node: Node) -> Native:
        n = node.output.type.size
        return Native(
            kernels.gamma_derivative,
            arguments=(n,),
            parallel=ceildiv(n, kernels.UNIT),
            constants={
                "UNIT": kernels.UNIT,
                "SAMPLE": int(sample),
                "TERMS": kernels.TERMS,
                "EXACT": np.float64(kernels.EXACT),
                "LARGE": np.float64(kernels.LARGE),
            },
            functions=("digamma_f64", "exp_f64", "lgamma_f64", "log_f64"),
        )

    return lower


def _build(name: str) -> Decompose:
    def build(b: Builder, node: Node) -> Value:
        a, x = (b.broadcast_to(v, node.output.dims) for v in node.inputs)
        return (
            b.gamma_derivative(a, x) if name == "IgammaGradA" else b.gamma_number_derivative(a, x)
        )

    return Decompose(build)


_PAIRS = ("T[2,3]~positive T[2,3]~positive", "T[4]=[0.3,2,5,9] T[4]=[4,1.5,7,2]")
for _name, _tf, _inner, _function, _sample in (
    ("igamma_grad_a", "IgammaGradA(a: T, x: T; T: {f32, f64}) -> z: T", "gamma_derivative",
     _by_sum, False),
    ("random_gamma_grad", "RandomGammaGrad(alpha: T, sample: T; T: {f32, f64}) -> output: T",
     "gamma_number_derivative", _by_density, True),
):  # fmt: skip
    define(
        _inner,
        f"_{''.join(w.title() for w in _inner.split('_'))}(a: T, x: T; T: {{f32, f64}}) -> z: T",
        infer=lambda c: c.dims(0),
        lowering=_lower(_sample),
        reference=_reference(_function),
        examples=(*_PAIRS, "f64[0] f64[0]"),
    )
    define(
        _name,
        _tf,
        infer=broadcast_dims,
        lowering=_build(_tf.partition("(")[0]),
        reference=_reference(_function),
        examples=(*_PAIRS, "T[2,1]=[1,3] T[1,2]=[0.5,2]", "f32[0] f32[0]"),
    )
