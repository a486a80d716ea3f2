"""Puts nodes that change a value after those that read it, so that it is changed in place.

In: a Computation of clusters. Out: the same nodes in another order: an update of a buffer (an
element pushed, popped or set), or a loop that carries on with it, stands behind all readers of the
buffer that do not depend on it. Elsewhere the order stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flowc.ir.bodies import size_definitions, sizes_used
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.traversal import inputs_first, reachable
from flowc.options import Options
from flowc.passes.analysis.aliasing import root_of, updated_input

Order = dict[Node, list[Node]]  # for a node, those that must stand before it


def order_updates(c: Computation, options: Options) -> Computation:
    """The Computation itself where every update stands well."""
    changed = {node: values for node in c.nodes if (values := _changed_values(node))}
    if not changed:
        return c
    before = _dependencies(c)
    position = {node: i for i, node in enumerate(c.nodes)}
    readers = _readers(c)
    moved = False
    for node, values in changed.items():
        for value in values:
            for reader in readers[value]:
                late = position[reader] > position[node]
                if not late or value in changed.get(reader, ()):
                    continue
                if not _depends(reader, node, before):
                    before[node].append(reader)
                    moved = True
    if not moved:
        return c
    return replace(c, nodes=tuple(inputs_first(c.nodes, before.__getitem__)))


def _changed_values(node: Node) -> tuple[Value, ...]:
    """The values whose memory a node takes over where nobody reads them later."""
    if node.op.name == "while":
        return tuple(map(root_of, node.inputs[: node.attrs["carried"]]))
    value = updated_input(node)
    return () if value is None else (root_of(value),)


def _readers(c: Computation) -> dict[Value, list[Node]]:
    """For each value the nodes that read its bytes, also through reshapes."""
    found: dict[Value, list[Node]] = {v: [] for node in c.nodes for v in node.outputs}
    for node in c.nodes:
        for value in dict.fromkeys(map(root_of, node.inputs)):
            found[value].append(node)
    return found


def _dependencies(c: Computation) -> Order:
    """What each node needs: its inputs, the sizes that it uses, the effects before it."""
    definers = size_definitions(c)
    found: Order = {}
    for node in c.nodes:
        sizes: Iterable[Node] = (definers[s] for s in sizes_used(node) if s in definers)
        needed = dict.fromkeys((*(v.node for v in node.inputs), *node.after, *sizes))
        needed.pop(node, None)
        found[node] = list(needed)
    return found


def _depends(node: Node, other: Node, before: Order) -> bool:
    """Whether a node must stand behind another one."""
    return other in reachable([node], before.__getitem__)
