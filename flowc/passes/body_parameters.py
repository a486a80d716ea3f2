"""The parameters of one body: which ones it needs, and the body with fewer of them.

In: a body, and some of its results. Out: positions of parameters, and Computations. Invariant: a
body means what it meant; callers drop the inputs of its node that stand for dropped parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowc.ir.bodies import bodies_of, free_sizes
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Symbol
from flowc.ir.rewrite import Rewriter, needed_nodes, rewrite_nodes

PruneBody = Callable[[Computation], Computation]


def needed_by(
    body: Computation, roots: Sequence[Value], prune_body: PruneBody
) -> tuple[set[int], set[Symbol]]:
    """Which parameters, and which sizes from outside, some of the results and the effects need."""
    c = Computation(body.parameters, body.nodes, tuple(roots), body.constraints)
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
    c = prune_body(Computation(body.parameters, body.nodes, tuple(results), body.constraints))
    chosen = tuple(c.parameters[i] for i in order)
    gone = set(c.parameters).difference(chosen)
    nodes = tuple(n for n in c.nodes if n not in gone)
    return Computation(chosen, nodes, c.results, c.constraints)


def repeated(inputs: Sequence[Value], start: int) -> dict[int, int]:
    """Of the inputs from `start` on, those that are the same value as an earlier one."""
    first: dict[Value, int] = {}
    places = {i: first.setdefault(v, i) for i, v in enumerate(inputs[start:], start)}
    return {i: j for i, j in places.items() if i != j}


def joined_parameters(body: Computation, same: dict[int, int]) -> Computation:
    """The body with the parameters of `same` read as those that they repeat."""
    places = {p: i for i, p in enumerate(body.parameters)}
    nodes = body.parameters + tuple(n for n in body.nodes if n not in places)
    order = iter(nodes)
    found: dict[int, Value] = {}

    def rule(b: Rewriter, node: Node) -> Value | None:
        i = places.get(next(order))
        if i in same:
            return found[same[i]]
        if i is not None:
            found[i] = node.output
        return None

    return rewrite_nodes(Computation(body.parameters, nodes, body.results, body.constraints), rule)
