"""Switch and Merge under extraction: Merges become `if` nodes, and so does what no Merge joins.

In: a region and the Merges, or the roots, in question. Out: what they are bound to. Invariant: a
branch holds what only it needs; what stands outside of it was emitted before, and always runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.extract.body_builder import BodyBuilder
from flowc.extract.frames.merge_decision import Choice, Decision, ends_of, predicates_of, stable
from flowc.extract.node_source import Ref
from flowc.extract.trace.branches import build_if
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound

if TYPE_CHECKING:
    from flowc.extract.region_extractor import RegionExtractor


def emit_merges(region: RegionExtractor, merges: Sequence[Any]) -> None:
    """Binds the outputs of Merges that one predicate decides, or of one that has no choice."""
    region.scope.b.origin = tuple(region.source.name(m) for m in merges)
    choices = [region.flow.choice(m) for m in merges]
    results = _joined(region, merges, choices)
    for merge, result in zip(merges, results):
        region.values[(merge, 0)] = result
    for merge, result in zip(_indexed(region, merges), results[len(merges) :]):
        region.values[(merge, 1)] = result


def _indexed(region: RegionExtractor, merges: Sequence[Any]) -> list[Any]:
    """The Merges whose second output, the position of the input taken, is asked for."""
    return [m for m in merges if (m, 1) in region.flow.read_refs]


def _joined(
    region: RegionExtractor, merges: Sequence[Any], choices: Sequence[Choice]
) -> list[Bound]:
    """The values of Merges, then the positions that are asked for."""
    first = choices[0]
    if not isinstance(first, Decision):
        return _taken(region, merges, choices)
    name = region.source.name(merges[0])
    condition = condition_of(region, first.predicate, name)
    known = region.scope.b.content(condition)  # of ranks and sizes, if not of a constant
    if known is not None:
        _need_outside(region, merges, _sides(choices, 1 - int(known)))
        region.decide(first.predicate, bool(known))
        return _taken(region, merges, _sides(choices, int(known)))

    def trace(scope: BodyBuilder, branch: int) -> list[Bound]:
        inner = region.branch(scope, first.predicate, branch)
        found = _taken(inner, merges, _sides(choices, branch))
        region.finish(inner)
        return found

    return build_if(
        region.scope, name, condition, lambda scope: trace(scope, 1), lambda scope: trace(scope, 0)
    )


def _need_outside(
    region: RegionExtractor, merges: Sequence[Any], choices: Sequence[Choice]
) -> None:
    """Computes what the branches that are known not to be taken read from outside: TensorFlow runs
    it, and it may fail."""
    refs = [region.source.node(m).inputs[i] for m, c in zip(merges, choices) for i in ends_of(c)]
    for key in region.around(region.dependencies.keys(refs, ())):
        for ref in region.flow.read_outputs(key):
            home = region
            while (around := home.outer) is not None and around.frame is home.frame:
                if around.bound(ref) is None:
                    break
                home = around
            found = home.bound(ref)
            if isinstance(found, Value):
                home.scope.need(found)


def _sides(choices: Sequence[Choice], branch: int) -> list[Choice]:
    return [c.sides[branch] for c in choices if isinstance(c, Decision)]


def _taken(
    region: RegionExtractor, merges: Sequence[Any], choices: Sequence[Choice]
) -> list[Bound]:
    """What Merges are bound to where the choices are what is left to decide."""
    refs = [[region.source.node(m).inputs[i] for i in ends_of(c)] for m, c in zip(merges, choices)]
    ready = [r[0] for r, c in zip(refs, choices) if not isinstance(c, Decision)]
    region.run([ref[0] for ref in ready if not region.left_of(region.flow.guard(ref))])
    values: list[Bound] = []
    indices: list[Bound] = []
    for merge, choice, ends in zip(merges, choices, refs):
        if isinstance(choice, Decision):
            needs = region.dependencies.keys([*predicates_of(choice), *ends], ())
            region.run(region.around(needs))
            value, *index = _joined(region, [merge], [choice])
        else:
            name = region.source.name(merge)
            found = emit_where_alive(region, ends[0][0], ends[0], f"{name}: no input is alive")
            value = region.required(ends[0], merge) if found is None else found
            index = [region.scope.b.const(np.int32(choice))]
        values.append(value)
        indices += index if _indexed(region, [merge]) else []
    return [*values, *indices]


def condition_of(region: RegionExtractor, predicate: Ref, name: str) -> Value:
    """The value of a predicate. `name`: the node that it decides."""
    found = region.value(predicate)
    if found.type.rank == 0 and found.type.dtype is dtypes.bool_:
        return found
    shape = ",".join(str(d) for d in found.type.dims)
    fault = f"The second input must be a scalar, but it has shape [{shape}]"
    if not found.type.rank:
        fault = "A predicate must be a bool"
    raise InvalidArgumentError(
        f"{fault}: '{region.source.name(predicate[0])}', which decides '{name}', is {found.type}",
        node=name,
    )


def emit_where_alive(
    region: RegionExtractor, root: Any, ref: Ref | None = None, fault: str = ""
) -> Bound | None:
    """A root that may stand in a branch which no Merge joins: it runs when that is taken. With a
    `ref`, its value; the run ends in an error, which says `fault`, where the branch is not taken.
    """
    guard = region.flow.guard(ref) if ref is not None else region.flow.node_guard(root)
    left = region.left_of(guard)
    if not left:
        region.run([root])
        return None if ref is None else region.extraction.current(region.scope, region.bound(ref))
    # The outermost: the one whose predicate needs the fewest others.
    predicate, branch = min(left, key=lambda g: (len(region.flow.guard(g[0])), stable(g)))
    region.run([predicate[0], *region.around([root])])
    name = region.source.name(root)
    b = region.scope.b
    b.origin = (name,)
    taken: list[Value] | None = None

    def live(scope: BodyBuilder) -> list[Bound]:
        nonlocal taken
        inner = region.branch(scope, predicate, branch)
        value = emit_where_alive(inner, root, ref, fault)
        taken = [value] if isinstance(value, Value) else []
        region.finish(inner)
        return [*taken]

    def dead(scope: BodyBuilder) -> list[Bound]:
        if ref is None:
            return []
        if taken is None:
            live(BodyBuilder(scope))  # for the types only: nothing of it is kept
        found = taken or []
        dims = [tuple(d if scope.knows(d) else 0 for d in v.dims) for v in found]
        return [scope.zeros(v.type.dtype, ds) for v, ds in zip(found, dims)]

    condition = condition_of(region, predicate, name)
    known = b.content(condition)
    if known is not None and bool(known) == bool(branch):
        region.decide(predicate, bool(branch))
        return emit_where_alive(region, root, ref, fault)
    if not branch:
        condition = b.logical_not(condition)
    if ref is not None:
        b.check(condition, message=fault)
        region.scope.note_effect(b.nodes[-1])
    results = build_if(region.scope, name, condition, live, dead)
    return results[0] if results else None
