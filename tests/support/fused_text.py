"""A fused Computation is all that its kernels are made of: its text compiles to the same ones."""

from __future__ import annotations

from collections.abc import Iterator

from flowc.codegen.program import launches_of
from flowc.codegen.targets import target_named
from flowc.ir.bodies import bodies_of
from flowc.ir.computation import Computation, Node
from flowc.ir.text.form import parse_computation, print_computation, weights_of
from flowc.ir.verifier import verify
from flowc.options import Options


def assert_text_compiles_back(fused: Computation) -> None:
    """Prints, parses, checks and prints again; kernels, their ints and messages are the same."""
    text = print_computation(fused, exact=True)
    again = parse_computation(text, weights_of(fused))
    assert print_computation(again, exact=True) == text
    verify(again, "text", lowered=True)
    assert uses(again) == uses(fused)


def uses(c: Computation, target: str = Options().target) -> list[tuple[object, ...]]:
    """What the clusters launch on a target, in their order."""
    launches = launches_of(c, target_named(target))
    return [
        (x.kernel.key, x.epilogue and x.epilogue.kernel.key, x.ints, x.total, x.errors)
        for node in clusters(c)
        for launch in launches[node]
        for x in (launch, *launch.calls)
    ]


def clusters(c: Computation) -> Iterator[Node]:
    for node in c.nodes:
        if node.op.name == "cluster":
            yield node
        else:
            for body in bodies_of(node).values():
                yield from clusters(body)
