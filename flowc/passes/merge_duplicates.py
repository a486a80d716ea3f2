"""One node for equal work.

In: any Computation. Out: nodes with the same op, inputs and attrs become one; large constants are
equal by identity, small ones by value. Effects and random draws stay apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from flowc.ir.bodies import nodes_within
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node
from flowc.ir.dims import Expr
from flowc.ir.rewrite import rewrite_nodes
from flowc.ir.scalar_body import ScalarBody
from flowc.options import Options

APART = frozenset({"stateful", "random"})
SMALL = 4096  # bytes: constants up to this size are compared by value


def merge_duplicates(c: Computation, options: Options) -> Computation:
    seen: dict[Any, Node] = {}

    def merge(b: Builder, node: Node) -> Any:
        work = work_of(node)
        if work is None:
            return None
        first = seen.setdefault((work, node.inputs), node)
        return None if first is node else list(first.outputs)

    return rewrite_nodes(c, merge)


def work_of(node: Node) -> Any:
    """A key that is equal for nodes that do the same with their inputs; None for those apart."""
    if node.op.name == "parameter" or node.sizes or node.after or not node.outputs:
        return None
    if any(n.op.traits & APART for n in nodes_within(node)):
        return None
    return node.op, _attrs_key(node)


def _attrs_key(node: Node) -> Any:
    return tuple(sorted((n, _key(v)) for n, v in node.attrs.items()))


def _key(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        array = cast(np.ndarray, value)
        if array.nbytes > SMALL or array.dtype.hasobject:
            return f"array at {id(array)}"
        return f"{array.dtype} {array.shape} {array.tobytes()!r}"
    if isinstance(value, Computation):
        return f"body at {id(value)}"
    if isinstance(value, (tuple, list)):
        return tuple(map(_key, cast(Sequence[Any], value)))
    if isinstance(value, Expr):
        return value  # which is told from others of equal text
    if isinstance(value, ScalarBody):
        return repr(value), tuple(i.dims for i in value.instructions)
    return repr(value)
