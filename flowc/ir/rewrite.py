"""Copying a Computation with changes: what passes are written with.

`rewrite_nodes(c, rule)` calls `rule(b, node)` for every node in order, with inputs already mapped
to the new Computation; the rule returns None (keep), a value, or a list of values that take the
place of the node's outputs. The same Computation comes back when no rule fired.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value

Rule = Callable[[Builder, Node], Value | Sequence[Value] | None]


def rewrite_nodes(c: Computation, rule: Rule) -> Computation:
    """The Computation after one sweep of a rule; `c` itself when it never fired.

    A rule sees the node with its new inputs; what it builds is stamped with the node's origin, and
    `b.use_counts` says how often the values that existed before are read.
    """
    b = Builder()
    counts = _use_counts(c)
    b.constraints = list(c.constraints)
    values: dict[Value, Value] = {}
    nodes: dict[Node, Node | None] = {}
    changed = False
    for old in c.nodes:
        inputs = tuple(values[v] for v in old.inputs)
        node = old
        if inputs != old.inputs or any(nodes[n] is not n for n in old.after):
            after = tuple(n for n in (nodes[a] for a in old.after) if n is not None)
            node = Node(old.op, inputs, old.attrs, old.types, after, old.origin, old.sizes)
        b.origin = old.origin
        start = len(b.nodes)
        mark = b.nodes[-1] if b.nodes else None
        replacement = rule(b, node)
        if replacement is None:
            while b.nodes and b.nodes[-1] is not mark:
                b.nodes.pop()  # what the rule tried; sizes that it read stand further up
            b.append(node)
            if old.op.name == "parameter":
                b.parameters.append(node)
            new = node.outputs
            nodes[old] = node
        else:
            changed = True
            new = (replacement,) if isinstance(replacement, Value) else tuple(replacement)
            last = b.nodes[-1] if len(b.nodes) > start else None
            nodes[old] = last if last is not None or not new else new[0].node
        for before, now in zip(old.outputs, new, strict=True):
            values[before] = now
            b.use_counts[now] = b.use_counts.get(now, 0) + counts[before]
    if not changed:
        return c
    return b.build([values[v] for v in c.results])


def _use_counts(c: Computation) -> dict[Value, int]:
    counts = {v: 0 for n in c.nodes for v in n.outputs}
    for node in c.nodes:
        for v in node.inputs:
            counts[v] += 1
    for v in c.results:
        counts[v] += 1
    return counts


def prune_nodes(c: Computation, keep: Iterable[Node] = ()) -> Computation:
    """Drops nodes that no result, effect or size needs; parameters stay."""
    needed: set[Node] = {v.node for v in c.results} | set(keep)
    size_definitions = {name: n for n in c.nodes for name, _ in n.sizes}
    for node in reversed(c.nodes):
        if node.op.name == "parameter" or "stateful" in node.op.traits:
            needed.add(node)
        if node in needed:
            needed.update(v.node for v in node.inputs)
            needed.update(node.after)
            if size_definitions:
                needed.update(_size_sources(node, size_definitions))
    if len(needed) == len(c.nodes):
        return c
    nodes = tuple(n for n in c.nodes if n in needed)
    return Computation(c.parameters, nodes, c.results, c.constraints)


def _size_sources(node: Node, definitions: dict[str, Node]) -> set[Node]:
    from flowc.ir.dims import symbols_of

    names: set[str] = set()
    dims = [d for t in node.types for d in t.dims]
    dims += [d for d in node.attrs.get("dims", ()) if not isinstance(d, int)]
    dims += [bound for _, bound in node.sizes if bound is not None]
    for dim in dims:
        names.update(symbols_of(dim))
    return {definitions[n] for n in names if n in definitions}
