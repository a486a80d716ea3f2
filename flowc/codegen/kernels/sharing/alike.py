"""Clusters that compute the same share their launches: graphs repeat their layers.

In: a cluster of loops, or of a product or convolution, and what makes its launches. Out: its
launches: those of an earlier cluster that computes the same from values of the same types, with its
own values in their place, and its own weights packed as that one's are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from flowc.codegen.kernels.kernel import Launch, Operand, PackedConstant
from flowc.ir.computation import Computation, Node, Value
from flowc.passes.analysis.attr_keys import attrs_key

Launches = tuple[Launch, ...]
_KINDS = ("loop", "matmul", "convolution", "filter_gradient")


class AlikeLaunches:
    """The launches of the first cluster of each kind, and that cluster."""

    def __init__(self) -> None:
        self._made: dict[Any, tuple[Node, Launches]] = {}

    def of(
        self, node: Node, make: Callable[[Node], Launches], algorithm: str | None = None
    ) -> Launches:
        """The launches of a cluster. `make` depends on nothing but what the cluster says, and on
        the algorithm that it is to be computed by."""
        if node.attrs["kind"] not in _KINDS or node.sizes or node.after:
            return make(node)
        key = algorithm, _key(node)
        if key in self._made:
            return self._in_place(*self._made[key], node)
        launches = make(node)
        if all(map(_is_shared, launches)):
            self._made[key] = node, launches
        return launches

    def _in_place(self, first: Node, launches: Launches, node: Node) -> Launches:
        """The launches of the first cluster, for another one."""
        theirs = dict(zip((*first.inputs, *first.outputs), (*node.inputs, *node.outputs)))

        def own(x: Operand) -> Operand:
            match x:
                case Value():
                    return theirs[x]
                case PackedConstant(value):
                    return replace(x, value=theirs[value])
                case _:
                    return x

        def made(x: Launch) -> Launch:
            epilogue = x.epilogue
            if epilogue is not None:
                epilogue = replace(epilogue, operands=tuple(map(own, epilogue.operands)))
            operands = tuple(map(own, x.operands))
            return replace(x, operands=operands, epilogue=epilogue, nodes=node.origin)

        return tuple(map(made, launches))


def _is_shared(launch: Launch) -> bool:
    """Whether clusters that are alike may share the launch: it has no constants of its own, and no
    errors, which name nodes."""
    late = launch.epilogue.operands if launch.epilogue is not None else ()
    own = any(isinstance(x, np.ndarray) for x in (*launch.operands, *late))
    return not (own or launch.errors or launch.sizes or launch.calls)


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
    known = tuple(v.constant is not None for v in cluster.inputs)  # which may be packed
    rest = inputs, known, cluster.types, nodes, ends, body.constraints
    return attrs_key(cluster, ("body",)), *rest
