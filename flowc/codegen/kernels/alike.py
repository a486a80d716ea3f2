"""Clusters that compute the same share their loop nests: graphs repeat their layers.

In: a cluster of loops, and what makes its launches. Out: its launches: those of an earlier cluster
that computes the same from values of the same types, with its own values in their place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from flowc.codegen.kernels.kernel import Launch, Operand
from flowc.ir.computation import Computation, Node, Value
from flowc.passes.analysis.attr_keys import attrs_key

Launches = tuple[Launch, ...]


class AlikeLaunches:
    """The launches of the first cluster of each kind, and that cluster."""

    def __init__(self) -> None:
        self._made: dict[Any, tuple[Node, Launches]] = {}

    def of(self, node: Node, make: Callable[[Node], Launches]) -> Launches:
        """The launches of a cluster. `make` depends on nothing but what the cluster says."""
        if node.attrs["kind"] != "loop" or node.sizes or node.after:
            return make(node)
        key = _key(node)
        if key in self._made:
            return _in_place(*self._made[key], node)
        launches = make(node)
        # What may fail names the nodes.
        if not any(x.errors or x.sizes or x.epilogue is not None for x in launches):
            self._made[key] = node, launches
        return launches


def _key(cluster: Node) -> Any:
    """A key that is equal for clusters that differ in names and in the values that they read."""
    body: Computation = cluster.attrs["body"]
    numbers = {n: i for i, n in enumerate(body.nodes)}
    place: Callable[[Value], tuple[int, int]] = lambda v: (numbers[v.node], v.index)
    nodes = tuple(
        (
            n.op.name,
            attrs_key(n, ("name",) if n.op.name == "parameter" else ()),
            tuple(map(place, n.inputs)),
            tuple(numbers[a] for a in n.after),
            n.types,
            n.sizes,
        )
        for n in body.nodes
    )
    ends = tuple(numbers[p] for p in body.parameters), tuple(map(place, body.results))
    # Of values that are read twice, kernels may know that they are one.
    inputs = tuple(cluster.inputs.index(v) for v in cluster.inputs)
    return attrs_key(cluster, ("body",)), inputs, cluster.types, nodes, ends, body.constraints


def _in_place(first: Node, launches: Launches, node: Node) -> Launches:
    """The launches of the first cluster, for another one."""
    theirs = dict(zip((*first.inputs, *first.outputs), (*node.inputs, *node.outputs)))
    own: Callable[[Operand], Operand] = lambda x: theirs[x] if isinstance(x, Value) else x
    return tuple(
        replace(x, operands=tuple(map(own, x.operands)), nodes=node.origin) for x in launches
    )
