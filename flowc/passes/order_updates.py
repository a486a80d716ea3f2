"""Puts nodes that change a value after those that read it, so that it is changed in place.

In: a Computation of clusters. Out: the same nodes in another order: an update of a buffer (an
element pushed, popped or set), or a loop that carries on with it, stands behind all readers of the
buffer that do not depend on it. Elsewhere the order stays.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import replace

from flowc.ir.aliasing import root_of, updated_input
from flowc.ir.bodies import size_definitions, sizes_used
from flowc.ir.computation import Computation, Node, Value
from flowc.options import Options

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
    return replace(c, nodes=tuple(_sorted(c, before, position)))


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
    stack, seen = [node], {node}
    while stack:
        found = stack.pop()
        if found is other:
            return True
        for needed in before[found]:
            if needed not in seen:
                seen.add(needed)
                stack.append(needed)
    return False


def _sorted(c: Computation, before: Order, position: dict[Node, int]) -> Iterable[Node]:
    """The nodes in their old order, except that each waits for what must stand before it."""
    waiting = {node: len(needed) for node, needed in before.items()}
    after: Order = {node: [] for node in c.nodes}
    for node, needed in before.items():
        for other in needed:
            after[other].append(node)
    ready = [position[node] for node in c.nodes if not waiting[node]]
    heapq.heapify(ready)
    while ready:
        node = c.nodes[heapq.heappop(ready)]
        yield node
        for other in after[node]:
            waiting[other] -= 1
            if not waiting[other]:
                heapq.heappush(ready, position[other])
