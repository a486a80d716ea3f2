"""What loop kernels cost, roughly: how much of a range makes a chunk worth a thread.

In: bodies of clusters. Out: nanoseconds an element, on one core. A node costs what the scalar
primitives cost that its lowering asks for (`flowc.ir.scalar.Primitive.cost`).
"""

from __future__ import annotations

from flowc.codegen.kernels.builder import NestBuilder
from flowc.codegen.kernels.nest import Name, Scalar
from flowc.codegen.kernels.scalars import KernelScalars
from flowc.ir.computation import Computation, Node
from flowc.ir.dims import Dim, floordiv, maximum
from flowc.ir.lowering import Elementwise, Reduction
from flowc.ir.scalar import DIVIDED, PRIMITIVES, SIMPLE

CHUNK_NANOSECONDS = 40_000  # work worth handing to another thread
MEMORY = 0.15  # an element that is read or written


class _Costs(KernelScalars):
    """Adds up the primitives that a lowering asks for."""

    def __init__(self) -> None:
        super().__init__(NestBuilder())
        self.total = 0.0

    def _primitive(self, name: str, scalars: tuple[Scalar, ...], result: str) -> Scalar:
        self.total += PRIMITIVES[name].cost
        return super()._primitive(name, scalars, result)


def cost_of_node(node: Node) -> float:
    """What one element of a node costs beyond its inputs."""
    costs = _Costs()
    elements = [Name(f"x{i}", v.type.dtype) for i, v in enumerate(node.inputs)]
    match node.lowering:
        case Elementwise(expr):
            expr(costs, *elements)
        case Reduction(prepare=prepare) if prepare is not None:
            prepare(costs, *elements)
    return max(SIMPLE, costs.total)


def cost_of(body: Computation) -> float:
    """Rough nanoseconds an element, on one core: memory and operations."""
    memory = MEMORY * (len(body.parameters) + len(body.results))
    return memory + sum(cost_of_node(n) for n in body.nodes)


def is_dear(node: Node) -> bool:
    """Whether computing an element takes longer than reading it."""
    return cost_of_node(node) >= DIVIDED


def grain(cost: float, inner: Dim = 1) -> Dim:
    """How many steps of the shared range make a chunk worth a thread."""
    steps = max(1, int(CHUNK_NANOSECONDS / cost))
    if isinstance(inner, int):
        return max(1, steps // max(1, inner))
    return maximum(1, floordiv(steps, maximum(1, inner)))
