"""Evaluates what is known when compiling.

In: any Computation. Out: nodes whose inputs are all constants become constants, by the NumPy
reference of their record; values whose elements are known sizes become constants or `sizes` nodes.
Results that would be much larger than what they are made from stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from flowc.errors import InvalidArgumentError, ResourceExhaustedError
from flowc.ir.builder import NEVER_FOLDED, Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.lowering import Structural
from flowc.ir.op import call_reference
from flowc.ir.rewrite import Rewriter, refined, rewrite_nodes
from flowc.options import Options

GROWTH_LIMIT = 1 << 16  # bytes that a folded result may have beyond its inputs'


def fold_constants(c: Computation, options: Options) -> Computation:
    return fold_from(c, {})


def fold_from(c: Computation, given: Mapping[Node, Callable[[Rewriter], Value]]) -> Computation:
    """Folds what is known, where `given` says how some parameters are made now.

    What follows from elements that became known (sizes above all) is inferred again.
    """
    known: set[Value] = set()

    def rule(b: Rewriter, node: Node) -> Value | Sequence[Value] | None:
        make = given.get(b.old)
        if make is not None:
            new = make(b)
            known.add(new)
            return new
        new = _fold(b, node)
        if new is not None:
            known.update((new,) if isinstance(new, Value) else new)
        elif not known.isdisjoint(node.inputs):
            # The outputs may be known in part: sizes in a shape, say.
            new = refined(b, node)
            known.update(v for v in new or node.outputs if b.content(v) is not None)
        return new

    return rewrite_nodes(c, rule)


def _fold(b: Rewriter, node: Node) -> Value | Sequence[Value] | None:
    if node.op.name == "read_sizes":
        return None  # `rewrite_nodes` looks after those
    if (
        isinstance(node.op.lowering, Structural)
        or node.op.traits & NEVER_FOLDED
        or not node.outputs
    ):
        return None
    known = _known_sizes(b, node)
    if known is not None:
        return known
    arrays = [v.constant for v in node.inputs]
    if node.op.reference is None or node.after or any(a is None for a in arrays):
        return None
    if not all(t.is_static for t in node.types):
        return None
    grown = sum(int(t.size) * t.dtype.size for t in node.types)
    if grown > GROWTH_LIMIT + sum(a.nbytes for a in arrays if a is not None):
        return None
    dtypes = [v.type.dtype for v in node.inputs]
    try:
        with np.errstate(all="ignore"):
            results = call_reference(node.op, node.op.reference, arrays, node.attrs, dtypes)
    except (InvalidArgumentError, ResourceExhaustedError):
        return None  # elements at fault (an index out of range) fail the run that reaches them
    return [
        b.const(np.asarray(r, t.dtype.numpy).reshape(t.static_dims), t.dtype)
        for r, t in zip(results, node.types)
    ]


def _known_sizes(b: Builder, node: Node) -> list[Value] | None:
    """The outputs from the sizes that they hold, when shape arithmetic has found them all."""
    if any(v.type.rank > 1 for v in node.outputs):
        return None
    contents = [b.content(v) for v in node.outputs]
    known = [c for c in contents if c is not None]
    if len(known) != len(contents):
        return None
    return [b.holding(elements, v.type) for v, elements in zip(node.outputs, known)]
