"""Constant propagation into bodies, and loops and branches that are decided.

In: any Computation. Out: one whose bodies make the constants and sizes that they were given, and
know them; without branches whose condition is known, without loops that never run; whose loops do
not carry constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.ir.bodies import bodies_of
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.rewrite import Rewriter, fitted_attrs, inline, rewrite_nodes
from flowc.options import Options
from flowc.passes.fold_constants import fold_from

Make = Callable[[Rewriter], Value]
SAME_LIMIT = 4096  # bytes: constants up to this size are compared by value


def simplify_control_flow(c: Computation, options: Options) -> Computation:
    """Outer bodies first: what they come to know, the bodies in them may be given."""

    def rule(b: Rewriter, node: Node) -> Sequence[Value] | None:
        if node.op.name == "if":
            return _simplify_if(b, node, options)
        if node.op.name == "while":
            return _simplify_while(b, node, options)
        return None

    if not any(n.op.name in ("while", "if") for n in c.nodes):
        return c
    return rewrite_nodes(c, rule)


def _simplify_if(b: Rewriter, node: Node, options: Options) -> Sequence[Value] | None:
    condition, *inputs = node.inputs
    if condition.constant is not None:
        taken = fitted_attrs(node)["then" if condition.constant else "otherwise"]
        return inline(b, taken, inputs, node.after)
    known = {i: _known(b, v) for i, v in enumerate(inputs)}
    makes = {i: make for i, make in known.items() if make is not None}
    conditions = [i for i, v in enumerate(inputs) if v is condition]
    bodies: dict[str, Computation] = {}
    for name, body in bodies_of(node).items():
        truth = _constant(np.bool_(name == "then"), condition.type.dtype)
        bodies[name] = _entered(body, makes | dict.fromkeys(conditions, truth), options)
    left = [v for i, v in enumerate(inputs) if i not in makes and i not in conditions]
    return b.replace_bodies(node, bodies, [condition, *left])


def _simplify_while(b: Rewriter, node: Node, options: Options) -> Sequence[Value] | None:
    carried: int = node.attrs["carried"]
    condition, body = node.attrs["condition"], node.attrs["body"]
    if _never_runs(node, options):
        return node.inputs[:carried]
    makes: dict[int, Make] = {}
    for i, value in enumerate(node.inputs[carried:], carried):
        make = _known(b, value)
        if make is not None:
            makes[i] = make
    bodies = {
        "condition": _entered(condition, makes, options),
        "body": _constants_stay(_entered(body, makes, options), node.inputs),
    }
    left = [v for i, v in enumerate(node.inputs) if i not in makes]
    return b.replace_bodies(node, bodies, left)


def _known(b: Rewriter, value: Value) -> Make | None:
    """How to make a value again in a body, if it is a constant or its elements are sizes."""
    origin = value.node.origin
    array = value.constant
    if array is not None:
        return _constant(array, value.type.dtype, origin)
    content = b.content(value) if value.type.rank <= 1 else None
    if content is None:
        return None

    def make(inner: Rewriter) -> Value:
        inner.origin = origin
        return inner.holding(content, value.type)

    return make


def _constant(array: Any, dtype: DType, origin: tuple[str, ...] = ()) -> Make:
    def make(inner: Rewriter) -> Value:
        inner.origin = origin
        return inner.const(array, dtype)

    return make


def _entered(body: Computation, makes: dict[int, Make], options: Options) -> Computation:
    """The body with some of its parameters made in it, and what follows from them."""
    if not makes:
        return body
    given = {body.parameters[i]: make for i, make in makes.items()}
    return simplify_control_flow(fold_from(body, given, options), options)


def _constants_stay(body: Computation, inputs: Sequence[Value]) -> Computation:
    """Results that are the constants that the loop starts with are their own parameters."""
    results = list(body.results)
    for k, (result, start) in enumerate(zip(body.results, inputs)):
        own, now, first = body.parameters[k].output, result.constant, start.constant
        if own.type == result.type and now is not None and first is not None and _same(now, first):
            results[k] = own
    if all(a is b for a, b in zip(results, body.results)):
        return body
    return replace(body, results=tuple(results))


def _same(x: np.ndarray, y: np.ndarray) -> bool:
    if x is y:
        return True
    if x.dtype != y.dtype or x.shape != y.shape or x.nbytes > SAME_LIMIT or x.dtype.hasobject:
        return False
    return x.tobytes() == y.tobytes()


def _never_runs(node: Node, options: Options) -> bool:
    """Whether the condition is false for the values that a loop starts with."""
    condition = node.attrs["condition"]
    if any(n.has_effects for n in condition.nodes):
        return False
    given = {
        p: _constant(v.constant, v.type.dtype)
        for p, v in zip(condition.parameters, node.inputs)
        if v.constant is not None
    }
    (first,) = fold_from(condition, given, options).results
    return first.constant is not None and not first.constant
