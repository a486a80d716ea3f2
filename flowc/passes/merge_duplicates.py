"""Common subexpression elimination: nodes that compute the same become one.

In: any Computation. Out: one node for each op, inputs and attrs; sizes that only the run finds,
such as how many places are true, are those of the first. Large constants are equal by identity,
small ones by value. Nodes with effects and random numbers stay apart.
"""

from __future__ import annotations

from typing import Any

from flowc.ir.bodies import bodies_of, nodes_within
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node
from flowc.ir.dims import lone_symbol
from flowc.ir.rewrite import rewrite_nodes
from flowc.options import Options
from flowc.passes.analysis.attr_keys import attrs_key

APART = frozenset({"stateful", "random"})


def merge_duplicates(c: Computation, options: Options) -> Computation:
    seen: dict[Any, Node] = {}

    def merge(b: Builder, node: Node) -> Any:
        key = _key(node) if _shows_sizes(node) else None
        if key is None:
            return None
        first = seen.setdefault((key, node.inputs), node)
        return None if first is node else list(first.outputs)

    return rewrite_nodes(c, merge)


def value_key(node: Node) -> Any:
    """The key of value numbering: equal for nodes that do the same with their inputs; None for
    those that stay apart, and for those that define sizes."""
    return None if node.sizes else _key(node)


def _shows_sizes(node: Node) -> bool:
    """Whether the types of the outputs say all sizes that a node defines, as those of what takes
    its place have to. Bodies name sizes, too."""
    if not node.sizes:
        return True
    shown = {lone_symbol(d) for v in node.outputs for d in v.dims}
    return not bodies_of(node) and all(size in shown for size, _ in node.sizes)


def _key(node: Node) -> Any:
    if node.op.name == "parameter" or node.after or not node.outputs:
        return None
    if any(n.op.traits & APART for n in nodes_within(node)):
        return None
    return node.op, attrs_key(node)
