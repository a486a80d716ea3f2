"""Dead code elimination, in and around the bodies of loops and branches.

In: any Computation. Out: one without identities and dead nodes; whose loops carry only what
iterations change and what a used output or the condition needs; whose bodies read every input that
they are given, and each value once; whose branches have only outputs that are read and that differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowc.ir.bodies import sizes_used
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Symbol, symbols_of
from flowc.ir.pattern import Rewrite, apply_rewrites, keeps_type, op
from flowc.ir.rewrite import Rewriter, prune_nodes, rewrite_nodes
from flowc.options import Options
from flowc.passes.pruning.body_parameters import PruneBody
from flowc.passes.pruning.dead_branch_values import BranchPruning
from flowc.passes.pruning.dead_carries import LoopPruning


def prune(c: Computation, options: Options) -> Computation:
    if any("identity" in n.op.traits for n in c.nodes):
        c = apply_rewrites(c, RULES)
    return _pruned(c, {})


RULES = (Rewrite("drop_identity", op("", "x", trait="identity"), "x", keeps_type),)


Known = dict[tuple[object, ...], Computation]


def _pruned(c: Computation, known: Known) -> Computation:
    """`known`: what bodies become. A loop asks more than once, and so do the loops around it."""
    key = _key(c)
    found = known.get(key)
    if found is None:
        found = known[key] = _swept(c, known)
        known[_key(found)] = found
    return found


def _key(c: Computation) -> tuple[object, ...]:
    return (c.parameters, c.nodes, c.results, c.constraints)


def _swept(c: Computation, known: Known) -> Computation:
    """Sweeps until nothing goes: what a loop no longer reads may free what was before it."""
    while True:
        c = prune_nodes(c)
        changed = _prune_nodes_with_bodies(c, lambda body: _pruned(body, known))
        if changed is c:
            return c
        c = changed


def _prune_nodes_with_bodies(c: Computation, prune_body: PruneBody) -> Computation:
    """Takes from loops and branches the inputs and outputs that they do not need."""
    if not any(n.op.name in ("while", "if") for n in c.nodes):
        return c
    users, results, sizes = c.users(), set(c.results), _sizes_read(c)

    def rule(b: Rewriter, node: Node) -> Sequence[Value] | None:
        old = b.old
        if old.op.name not in ("while", "if"):
            return None
        used = {v.index for v in old.outputs if users[v] or v in results}
        read = [i for i, (size, _) in enumerate(old.sizes) if size in sizes]
        pruning = LoopPruning if old.op.name == "while" else BranchPruning
        return pruning(node, prune_body).run(b, used, read)

    return rewrite_nodes(c, rule)


def _sizes_read(c: Computation) -> set[Symbol]:
    """The sizes that nodes and results use."""
    if not any(n.sizes for n in c.nodes):
        return set()
    found: set[Symbol] = set()
    for node in c.nodes:
        found |= sizes_used(node)
    dims = [d for v in c.results for d in v.dims] + [d for pair in c.constraints for d in pair]
    return found.union(symbols_of(*dims))
