"""Error, gamma, zeta, beta and Bessel functions.

Their references come from SciPy, which a compiler without it does not need, or are less exact than
the kernels, as Python's lgamma is about 1 and 2: such ops are never folded (trait `no_fold`), so
that results do not depend on what is installed, or on what is known when compiling.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from flowc.ir.inference import Inference
from flowc.ir.op import Op
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder, binary_gradient, unary_gradient
from flowc.ops.math.elementwise import Array, broadcast_dims, map_op

Slope = Callable[[GradientBuilder, Any, Any], Any]

_TESTS: dict[str, Callable[[Array], Array]] = {
    "eq": lambda x: x == 0,
    "lt": lambda x: x < 0,
    "le": lambda x: x <= 0,
    "is_inf": np.isinf,
}
_BESSEL_OUTSIDE: dict[str, tuple[str, float]] = {
    "i0": ("is_inf", math.nan),
    "i1": ("is_inf", math.nan),
    **{order: ("le", math.inf) for order in ("k0", "k0e", "k1", "k1e")},
    **{order: ("le", -math.inf) for order in ("y0", "y1")},
}
_BESSEL_ORDERS = ("i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k0e", "k1", "k1e", "y0", "y1")


def _scipy(name: str, result: int | None = None) -> Callable[..., Any]:
    """A function of SciPy, or one result of those that it gives."""

    def reference(*arrays: Array) -> Any:
        from scipy import special

        found = getattr(special, name)(*arrays)
        return found if result is None else found[result]

    return reference


def _by_element(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of the standard library's math module on every element, in double precision."""
    each = np.frompyfunc(function, 1, 1)
    return lambda x: np.asarray(each(x.astype(np.float64))).astype(np.float64)


def _unary(
    tf_name: str,
    reference: Callable[..., Any],
    slope: Slope | None = None,
    *,
    domain: str = "finite",
    folds: bool = False,
    outside: tuple[str, float] | None = None,
) -> Op:
    """`slope`: the derivative at x, where y = f(x); `outside`: a test of x (a comparison with 0, or
    is_inf), and what TensorFlow gives where it holds."""
    name = re.sub("(?<=[a-z])(?=[A-Z])", "_", tf_name).lower()

    def expr(k: Any, x: Any) -> Any:
        found = getattr(k, name)(x)
        if outside is None:
            return found
        test = getattr(k, outside[0])
        holds = test(x) if outside[0] == "is_inf" else test(x, 0)
        return k.select(holds, k.const(outside[1], x.dtype), found)

    def with_outside(x: Array) -> Any:
        found = reference(x)
        return found if outside is None else np.where(_TESTS[outside[0]](x), outside[1], found)

    return map_op(
        name,
        f"{tf_name}(x: T; T: FLOAT) -> y: T",
        expr,
        with_outside,
        gradient=None if slope is None else unary_gradient(slope),
        traits=() if folds else ("no_fold",),
        examples=tuple(f"T[{d}]~{domain}" for d in ("17", "2,3", "", "0")),
    )


def _gaussian(b: GradientBuilder, x: Any, factor: float, power: float) -> Any:
    """factor * exp(power * x^2)."""
    return b.mul(b.exp(b.mul(b.square(x), power)), factor)


_unary(
    "Erf",
    _by_element(math.erf),
    lambda b, x, y: _gaussian(b, x, 2 / math.sqrt(math.pi), -1),
    folds=True,
)
_unary(
    "Erfc",
    _by_element(math.erfc),
    lambda b, x, y: _gaussian(b, x, -2 / math.sqrt(math.pi), -1),
    folds=True,
)
_unary(
    "Erfinv",
    _scipy("erfinv"),
    lambda b, x, y: _gaussian(b, y, math.sqrt(math.pi) / 2, 1),
    domain="unit",
)
_unary(
    "Ndtri",
    _scipy("ndtri"),
    lambda b, x, y: _gaussian(b, y, math.sqrt(2 * math.pi), 0.5),
    domain="prob",
)


def _lgamma(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


_unary(
    "Lgamma",
    _by_element(_lgamma),
    lambda b, x, y: b.digamma(x),
)


_unary(
    "Digamma",
    _scipy("digamma"),
    lambda b, x, y: b.polygamma(1, x),
    outside=("eq", math.nan),
)


# -- functions of several numbers


def _pair(name: str, tf: str, gradient: Any, reference: Any, examples: tuple[str, ...]) -> Op:
    return map_op(
        name,
        tf,
        lambda k, x, y: getattr(k, name)(x, y),
        reference,
        infer=broadcast_dims,
        gradient=gradient,
        traits=("no_fold",),
        examples=examples,
    )


_GAMMA_PAIRS = ("T[2,3]~positive T[3]~positive", "T[4,1]~positive T[1,5]~positive", "T[]=2 T[]=3")


def _gamma_density(b: GradientBuilder, a: Any, x: Any, dz: Any) -> Any:
    """dz * x^(a-1) e^-x / gamma(a)."""
    power = b.mul(b.sub(a, 1), b.log(x))
    return b.mul(dz, b.exp(b.sub(b.sub(power, x), b.lgamma(a))))


igamma = _pair(
    "igamma",
    "Igamma(a: T, x: T; T: FLOAT) -> z: T",
    binary_gradient(
        lambda b, a, x, z, dz: (b.mul(dz, b.igamma_grad_a(a, x)), _gamma_density(b, a, x, dz))
    ),
    _scipy("gammainc"),
    _GAMMA_PAIRS,
)
igammac = _pair(
    "igammac",
    "Igammac(a: T, x: T; T: FLOAT) -> z: T",
    binary_gradient(
        lambda b, a, x, z, dz: (
            b.neg(b.mul(dz, b.igamma_grad_a(a, x))),
            b.neg(_gamma_density(b, a, x, dz)),
        )
    ),
    _scipy("gammaincc"),
    _GAMMA_PAIRS,
)
zeta = _pair(
    "zeta",
    "Zeta(x: T, q: T; T: {f32, f64}) -> z: T",
    binary_gradient(
        lambda b, x, q, z, dz: (None, b.mul(dz, b.neg(b.mul(x, b.zeta(b.add(x, 1), q)))))
    ),
    _scipy("zeta"),
    ("T[3]=[2,3.5,8] T[3]~positive", "T[2,1]=[[1.5],[4]] T[1,3]~positive", "T[]=2 T[]=1"),
)


polygamma = _pair(
    "polygamma",
    "Polygamma(a: T, x: T; T: {f32, f64}) -> z: T",
    binary_gradient(lambda b, a, x, z, dz: (None, b.mul(dz, b.polygamma(b.add(a, 1), x)))),
    _scipy("polygamma"),
    ("T[3]=[0,1,4] T[3]~positive", "T[2,1]=[[1],[2]] T[1,3]~positive", "T[]=1 T[]=2"),
)
next_after = map_op(
    "next_after",
    "NextAfter(x1: T, x2: T; T: {f64, f32} = f32) -> output: T",
    lambda k, x, y: k.nextafter(x, y),
    np.nextafter,
    infer=broadcast_dims,
    gradient=binary_gradient(lambda b, x, y, z, dz: (dz, b.zeros_like(dz))),
    examples=("T[2,3] T[3]", "T[4,1] T[1,5]", "T[] T[7]", "T[3]=[0,0,1] T[3]=[1,-1,1]"),
)


def _infer_betainc(c: Inference) -> Dims:
    """All inputs have one shape, except those that are scalars."""
    dims: Dims = ()
    for i in range(3):
        if dims and c.rank(i) not in (0, len(dims)):
            raise c.fail(f"input {i} must be a scalar or have the shape of the others")
        if c.rank(i):
            dims = tuple(c.equal(x, y) for x, y in zip(dims, c.dims(i))) if dims else c.dims(i)
    return dims


def _betainc_gradient(b: GradientBuilder, node: Forward, dz: Any) -> Any:
    p, q, x = node.inputs
    beta = b.sub(b.add(b.lgamma(p), b.lgamma(q)), b.lgamma(b.add(p, q)))
    power = b.add(b.xlog1py(b.sub(q, 1), b.neg(x)), b.xlogy(b.sub(p, 1), x))
    return None, None, b.sum_to_shape_of(b.mul(dz, b.exp(b.sub(power, beta))), x)


betainc = map_op(
    "betainc",
    "Betainc(a: T, b: T, x: T; T: {f32, f64}) -> z: T",
    lambda k, a, b, x: k.betainc(a, b, x),
    _scipy("betainc"),
    infer=_infer_betainc,
    gradient=_betainc_gradient,
    traits=("no_fold",),
    examples=(
        "T[2,3]~positive T[2,3]~positive T[2,3]~prob",
        "T[]=2 T[5]~positive T[5]~prob",
        "T[]=2 T[]=3 T[]=0.25",
    ),
)


# -- Bessel functions and other integrals


def _beside(
    at: float, value: float, b: GradientBuilder, x: Any, slope: Callable[[Any], Any]
) -> Any:
    """A slope that has a value at a place where its formula has none."""
    is_there = b.equal(x, at)
    elsewhere = b.select_v2(is_there, b.const(at + 1, x.dtype), x)
    return b.select_v2(is_there, b.const(value, x.dtype), slope(elsewhere))


_beside_zero = partial(_beside, 0, 0.5)


_BESSEL_SLOPES: dict[str, Slope] = {
    "i0": lambda b, x, y: b.bessel_i1(x),
    "i1": lambda b, x, y: _beside_zero(b, x, lambda x: b.sub(b.bessel_i0(x), b.real_div(y, x))),
    "i1e": lambda b, x, y: _beside_zero(
        b, x, lambda x: b.sub(b.bessel_i0e(x), b.mul(y, b.add(b.sign(x), b.reciprocal(x))))
    ),
    "k1e": lambda b, x, y: b.sub(b.mul(y, b.sub(1, b.reciprocal(x))), b.bessel_k0e(x)),
    "i0e": lambda b, x, y: b.sub(b.bessel_i1e(x), b.mul(b.sign(x), y)),
    "j0": lambda b, x, y: b.neg(b.bessel_j1(x)),
    "j1": lambda b, x, y: _beside_zero(b, x, lambda x: b.sub(b.bessel_j0(x), b.real_div(y, x))),
    "k0": lambda b, x, y: b.neg(b.bessel_k1(x)),
    "k0e": lambda b, x, y: b.sub(y, b.bessel_k1e(x)),
    "k1": lambda b, x, y: b.sub(b.neg(b.bessel_k0(x)), b.real_div(y, x)),
    "y0": lambda b, x, y: b.neg(b.bessel_y1(x)),
    "y1": lambda b, x, y: b.sub(b.bessel_y0(x), b.real_div(y, x)),
}

for _order in _BESSEL_ORDERS:
    _unary(
        f"Bessel{_order.capitalize()}",
        _scipy(_order),
        _BESSEL_SLOPES.get(_order),
        domain="positive" if _order[0] in "ky" else "finite",
        outside=_BESSEL_OUTSIDE.get(_order),
    )

_unary(
    "Dawsn",
    _scipy("dawsn"),
    lambda b, x, y: b.sub(1, b.mul(b.mul(x, y), 2)),
)
_unary(
    "Expint",
    _scipy("expi"),
    lambda b, x, y: b.real_div(b.exp(x), x),
    domain="positive",
    outside=("lt", math.nan),
)


_unary(
    "FresnelCos",
    _scipy("fresnel", 1),
    lambda b, x, y: b.cos(b.mul(b.square(x), math.pi / 2)),
)
_unary(
    "FresnelSin",
    _scipy("fresnel", 0),
    lambda b, x, y: b.sin(b.mul(b.square(x), math.pi / 2)),
)
_unary(
    "Spence",
    _scipy("spence"),
    lambda b, x, y: _beside(1, -1, b, x, lambda x: b.real_div(b.log(x), b.sub(1, x))),
    domain="positive",
)
