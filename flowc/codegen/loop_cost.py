"""What loop kernels cost, roughly: how much of a range makes a chunk worth a thread."""

from __future__ import annotations

from flowc.ir.computation import Computation
from flowc.ir.dims import Dim, floordiv, maximum

CHUNK_NANOSECONDS = 40_000  # work worth handing to another thread

DEAR = {
    *("exp", "expm1", "log", "log1p", "pow", "sqrt", "rsqrt", "div", "sigmoid"),
    *("lgamma", "digamma", "erf", "erfc", "erfinv", "tanh", "sinh", "cosh"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh"),
}


def cost_of(body: Computation) -> float:
    """Rough nanoseconds an element, on one core: memory, simple and dear operations."""
    memory = 0.15 * (len(body.parameters) + len(body.results))
    return memory + sum(0.6 if n.op.name in DEAR else 0.06 for n in body.nodes)


def is_dear(body: Computation) -> bool:
    """Whether the body computes more than it moves."""
    return any(n.op.name in DEAR for n in body.nodes)


def grain(cost: float, inner: Dim = 1) -> Dim:
    """How many steps of the shared range make a chunk worth a thread."""
    steps = max(1, int(CHUNK_NANOSECONDS / cost))
    if isinstance(inner, int):
        return max(1, steps // max(1, inner))
    return maximum(1, floordiv(steps, maximum(1, inner)))
