"""The parameters of bodies: which ones they need, and the bodies with fewer of them.

In: a loop or conditional, or one body and some of its results. Out: the node with fewer inputs;
positions of parameters, and Computations. Invariant: bodies compute the same; the node's input for
a removed parameter is removed with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from flowc.ir.bodies import bodies_of, free_sizes
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Symbol
from flowc.ir.rewrite import Rewriter, needed_nodes, rewrite_nodes

PruneBody = Callable[[Computation], Computation]


class BodyPruning(ABC):
    """A loop or conditional that is changed step by step: `inputs` are what its bodies are given,
    `outputs` the place of each original output among those of now, or the value that it is."""

    def __init__(self, node: Node, prune_body: PruneBody) -> None:
        self.node = node
        self.prune_body = prune_body
        self.bodies: dict[str, Computation] = dict(bodies_of(node))
        self.carried: int = node.attrs.get("carried", 0)
        self.varying: tuple[Symbol, ...] = node.attrs.get("varying", ())
        self.outputs: list[int | Value] = list(range(len(node.outputs)))
        first = node.op.name == "if"  # behind the condition
        self.before, self.inputs = node.inputs[:first], list(node.inputs[first:])

    def run(self, b: Rewriter, used: set[int], sizes: Sequence[int]) -> Sequence[Value] | None:
        """What takes the place of the outputs. `used`: those that are read; `sizes`: which of the
        node's sizes are."""
        inside = self.varying or [size for size, _ in self.node.sizes]
        read = {inside[i] for i in sizes}
        changed = False
        while self.step(used, read):
            changed = True
        if not changed:
            return None
        inputs = (*self.before, *self.inputs)
        made = b.replace_bodies(
            self.node, self.bodies, inputs, self.sizes_left(), **self.changed_attrs()
        )
        assert made is not None
        return [made[o] if isinstance(o, int) else o for o in self.outputs]

    @abstractmethod
    def step(self, used: set[int], sizes: set[Symbol]) -> bool:
        """Drops what it finds of the outputs and sizes that are not read, and of the inputs;
        whether there was anything. `sizes` are those that the bodies know."""

    def changed_attrs(self) -> dict[str, Any]:
        return {}

    def sizes_left(self) -> Sequence[Symbol] | None:
        """The sizes that the node still defines; None where its types tell."""
        return None

    def join_inputs(self) -> bool:
        """Inputs that are the same value, and not carried, become one."""
        first: dict[Value, int] = {}
        places = {i: first.setdefault(v, i) for i, v in enumerate(self.inputs) if i >= self.carried}
        same = {i: j for i, j in places.items() if i != j}
        if same:
            self.bodies = {n: joined_parameters(body, same) for n, body in self.bodies.items()}
            self.inputs = [v for i, v in enumerate(self.inputs) if i not in same]
        return bool(same)

    def choose(self, order: Sequence[int], results: Mapping[str, Sequence[Value]]) -> None:
        """Gives the bodies some of their inputs, in this order, and takes these results."""
        for name, body in self.bodies.items():
            self.bodies[name] = with_parameters(
                body, order, results.get(name, body.results), self.prune_body
            )
        self.inputs = [self.inputs[k] for k in order]


def needed_by(
    body: Computation, roots: Sequence[Value], prune_body: PruneBody
) -> tuple[set[int], set[Symbol]]:
    """Which parameters, and which sizes from outside, some of the results and the effects need."""
    c = replace(body, results=tuple(roots))
    if any(bodies_of(n) for n in body.nodes):
        c = prune_body(c)  # a loop inside needs less when less of it is read
    needed = needed_nodes(c, {v.node for v in c.results})
    nodes = tuple(n for n in c.nodes if n in needed)
    read = {i for i, p in enumerate(c.parameters) if p in needed}
    return read, free_sizes(Computation((), nodes, (), c.constraints))


def with_parameters(
    body: Computation, order: Sequence[int], results: Sequence[Value], prune_body: PruneBody
) -> Computation:
    """The body with some of its parameters, in another order, and some of its results."""
    c = prune_body(replace(body, results=tuple(results)))
    chosen = tuple(c.parameters[i] for i in order)
    gone = set(c.parameters).difference(chosen)
    nodes = tuple(n for n in c.nodes if n not in gone)
    return Computation(chosen, nodes, c.results, c.constraints)


def joined_parameters(body: Computation, same: dict[int, int]) -> Computation:
    """The body with the parameters of `same` read as those that they repeat."""
    first = {body.parameters[i]: body.parameters[j].output for i, j in same.items()}
    nodes = body.parameters + tuple(n for n in body.nodes if n.op.name != "parameter")
    return rewrite_nodes(replace(body, nodes=nodes), lambda b, _: first.get(b.old))
