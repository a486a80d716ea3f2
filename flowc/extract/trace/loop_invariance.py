"""Loop invariance of sizes: which are the same in every iteration of the loops around them.

In: a body under construction, and sizes that are known in it. Out: whether each is loop-invariant:
computed from no carried value and no random number. Sizes of the top level are constant during a
run. Invariant: conservative; a size is called invariant only where that is certain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowc.ir.bodies import bodies_of
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, Symbol, symbols_of

if TYPE_CHECKING:
    from flowc.extract.body_builder import BodyBuilder

CHANGING = frozenset({"stateful", "random"})


def is_loop_invariant(scope: BodyBuilder, dim: Dim, home: Builder | None = None) -> bool:
    """Whether a size is the same in every iteration of the loops around a scope: all of them, or
    those inside of the scope that `home` builds."""
    around = scope
    while around.outer is not None and around.b is not home:
        around = around.outer
    return all(_steady_size(scope, size, around) for size in symbols_of(dim))


def _steady_size(scope: BodyBuilder, size: Symbol, top: BodyBuilder) -> bool:
    definer: BodyBuilder | None = None
    around: BodyBuilder | None = scope
    within = True  # whether the scopes looked at are inside of the top one
    fixed = False
    while around is not None:
        if around.b.defines_size(size):
            definer, fixed = around, not within or around is top
        within = within and around is not top
        around = around.outer
    if definer is None or fixed:
        return fixed
    for node in definer.b.nodes:
        if any(own == size for own, _ in node.sizes):
            return _steady_node(definer, node, top)
    return False  # a dim of a carried value, which each iteration finds anew


def _steady_node(scope: BodyBuilder, node: Node, top: BodyBuilder) -> bool:
    """Whether what a node computes is the same in every iteration of the loops around it."""
    if scope is top:
        return True
    pending, seen = [node], {node}
    while pending:
        found = pending.pop()
        if found.op.name == "parameter":
            if not _is_invariant_parameter(scope, found.output, top):
                return False
            continue
        bodies = bodies_of(found).values()
        if found.op.traits & CHANGING or any(n.has_effects for c in bodies for n in c.nodes):
            return False
        if found.op.name == "sizes":
            sizes = symbols_of(*found.attrs["dims"])
            if not all(_steady_size(scope, size, top) for size in sizes):
                return False
        for value in found.inputs:
            if value.node not in seen:
                seen.add(value.node)
                pending.append(value.node)
    return True


def _is_invariant_parameter(scope: BodyBuilder, parameter: Value, top: BodyBuilder) -> bool:
    """Whether a parameter stands for a value of outside that is the same in every iteration."""
    assert scope.outer is not None
    for outside, inside in scope.captured.items():
        if inside is parameter:
            return _steady_node(scope.outer, outside.node, top)
    return False
