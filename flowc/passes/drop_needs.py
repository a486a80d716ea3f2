"""Removes `needed` nodes, which keep values alive for the errors that computing them may raise,
where there can be no error.

In: any Computation. Out: one with a `needed` node only for values that may fail and that nothing
else has computed. The values that cannot fail are then dead code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowc.ir.bodies import bodies_of
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.lowering import Decompose
from flowc.ir.rewrite import Rewriter, needed_nodes, prune_nodes, rewrite_nodes
from flowc.options import Options
from flowc.passes.analysis.failures import may_fail

NEEDED = "needed"  # the op


def drop_needs(c: Computation, options: Options) -> Computation:
    asked = {n for n in c.nodes if n.op.name == NEEDED}
    if not asked:
        return c
    others = tuple(n for n in c.nodes if n not in asked)
    rest = Computation(c.parameters, others, c.results, c.constraints)
    alive = needed_nodes(rest, {v.node for v in c.results})
    read = {v for n in others if n in alive for v in n.inputs} | set(c.results)

    def computed_anyway(value: Value) -> bool:
        """Whether a value is computed even if this node goes; of loops and branches only outputs
        that are read are."""
        return value.node in alive and (value in read or not bodies_of(value.node))

    def rule(b: Rewriter, node: Node) -> Sequence[Value] | None:
        return () if b.old in asked and not _may_fail(b.old.inputs, computed_anyway) else None

    found = rewrite_nodes(c, rule)
    return c if found is c else prune_nodes(found)


def _may_fail(values: Sequence[Value], computed_anyway: Callable[[Value], bool]) -> bool:
    """Whether what has to be computed for these values alone may fail."""
    stack, seen = list(values), set[Value]()
    while stack:
        value = stack.pop()
        node = value.node
        if value in seen or node.op.name in ("const", "parameter") or computed_anyway(value):
            continue
        if isinstance(node.lowering, Decompose) or may_fail(node):
            return True
        seen.add(value)
        stack += node.inputs
    return False
