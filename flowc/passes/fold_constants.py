"""Evaluates what is known when compiling.

In: any Computation. Out: nodes whose inputs are all constants become constants, by the NumPy
reference of their record; values whose elements are known sizes become constants or `sizes` nodes.
Results that would be much larger than what they are made from stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.lowering import Structural
from flowc.ir.op import call_reference
from flowc.ir.options import Options
from flowc.ir.rewrite import rewrite_nodes

GROWTH_LIMIT = 1 << 16  # bytes that a folded result may have beyond its inputs'
NEVER = frozenset({"stateful", "random", "no_fold"})


def fold_constants(c: Computation, options: Options) -> Computation:
    return rewrite_nodes(c, _fold)


def _fold(b: Builder, node: Node) -> Value | Sequence[Value] | None:
    if isinstance(node.lowering, Structural) or node.op.traits & NEVER or not node.outputs:
        return None
    known = _known_sizes(b, node)
    if known is not None:
        return known
    arrays = [v.constant for v in node.inputs]
    if node.op.reference is None or node.after or any(a is None for a in arrays):
        return None
    if not all(t.is_static for t in node.types):
        return None
    grown = sum(int(t.size) * t.dtype.size for t in node.types)  # type: ignore[arg-type]
    if grown > GROWTH_LIMIT + sum(a.nbytes for a in arrays if a is not None):
        return None
    dtypes = [v.type.dtype for v in node.inputs]
    try:
        with np.errstate(all="ignore"):
            results = call_reference(node.op, node.op.reference, arrays, node.attrs, dtypes)
    except InvalidArgumentError:
        return None  # elements at fault (an index out of range) fail the run that reaches them
    return [
        b.const(np.asarray(r, t.dtype.numpy).reshape(t.static_dims), t.dtype)
        for r, t in zip(results, node.types)
    ]


def _known_sizes(b: Builder, node: Node) -> Value | None:
    """The value from the sizes that it holds, when shape arithmetic has found them all."""
    if len(node.outputs) != 1 or node.output.type.rank > 1:
        return None
    elements = b.content(node.output)
    if elements is None:
        return None
    sizes = b.sizes(tuple(elements.reshape(-1)), node.output.type.dtype)
    return sizes if node.output.type.rank == 1 else b.reshape(sizes, ())
