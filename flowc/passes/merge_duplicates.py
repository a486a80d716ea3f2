"""Common subexpression elimination: nodes that compute the same become one.

In: any Computation. Out: one node for each op, inputs and attrs. Large constants are equal by
identity, small ones by value. Nodes with effects and random numbers stay apart.
"""

from __future__ import annotations

from typing import Any

from flowc.ir.bodies import nodes_within
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node
from flowc.ir.rewrite import rewrite_nodes
from flowc.options import Options
from flowc.passes.analysis.attr_keys import attrs_key

APART = frozenset({"stateful", "random"})


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
    return node.op, attrs_key(node)
