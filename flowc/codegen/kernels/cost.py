"""What loops cost, roughly, from what their nests apply.

In: bodies of clusters. Out: nanoseconds an element, on one core. A node costs what the scalar
primitives in its part of a nest cost (`flowc.ir.scalar.Primitive.cost`).
"""

from __future__ import annotations

from collections.abc import Sequence

from flowc.codegen.kernels.builder import NestBuilder
from flowc.codegen.kernels.nest import Apply, Let, Name, Statement, parts_of, statements_within
from flowc.codegen.kernels.scalars import KernelScalars
from flowc.dataclass import dataclass
from flowc.ir.computation import Computation, Node
from flowc.ir.lowering import Elementwise, Reduction
from flowc.ir.scalar import DIVIDED, PRIMITIVES, SIMPLE

MEMORY = 0.15  # an element that is read or written


def cost_of_block(body: Sequence[Statement]) -> float:
    """What the primitives of a block cost together, each once."""
    return sum(
        PRIMITIVES[part.op].cost
        for statement in statements_within(body)
        if isinstance(statement, Let)
        for part in parts_of(statement.value)
        if isinstance(part, Apply) and part.op in PRIMITIVES
    )


def cost_of_node(node: Node) -> float:
    """What one element of a node costs beyond its inputs."""
    match node.lowering:
        case Elementwise(expr):
            build = expr
        case Reduction(prepare=prepare) if prepare is not None:
            build = prepare
        case _:
            return SIMPLE
    nest = NestBuilder()
    build(KernelScalars(nest), *(Name(f"x{i}", v.type.dtype) for i, v in enumerate(node.inputs)))
    return max(SIMPLE, cost_of_block(nest.body))


@dataclass(frozen=True, slots=True)
class BodyCost:
    """`nodes`: what an element of each costs. `element`: one of the results, with its memory."""

    nodes: dict[Node, float]
    element: float

    def is_compute_bound(self, node: Node) -> bool:
        """Whether computing an element takes longer than reading it."""
        return self.nodes[node] >= DIVIDED

    @property
    def has_compute_bound(self) -> bool:
        return any(cost >= DIVIDED for cost in self.nodes.values())


def body_cost(body: Computation) -> BodyCost:
    nodes = {n: cost_of_node(n) for n in body.nodes}
    memory = MEMORY * (len(body.parameters) + len(body.results))
    return BodyCost(nodes, memory + sum(nodes.values()))
