"""Loops of frames under extraction: what `build_loop` traces, and what the Exits are bound to.

In: the region in which a loop stands, and its frame. Out: bindings of the Exits in that region.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flowc.extract.body_builder import BodyBuilder
from flowc.extract.frames.dependencies import Unit
from flowc.extract.frames.frames import LoopFrame
from flowc.extract.node_source import ARGUMENT, Ref
from flowc.extract.trace.loop_names import (
    LoopVariable,
    NameHint,
    counts,
    given_name,
    variable_names,
)
from flowc.extract.trace.loops import build_loop
from flowc.graph.control_types import PASSING
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, ListValue

if TYPE_CHECKING:
    from flowc.extract.region_extractor import RegionExtractor


def emit_loop(region: RegionExtractor, frame: LoopFrame) -> None:
    """Emits one loop, and what leaves it."""
    if frame.condition is None:
        # Values that enter a frame and leave it: no loop variable, no loop.
        _bind_exits(region, frame, region.inside(frame, region.scope))
        return
    name = region.source.name(frame.condition)
    region.scope.b.origin = (name,)
    merges = list(frame.merges)
    starts = [_start(region, frame, m) for m in merges]
    variables = [_variable(region, frame, m, bound) for m, bound in zip(merges, starts)]
    around = region.source.node(frame.condition).name.rpartition("/")[0]
    names = variable_names(variables, around, region.scope)
    trace = FrameTrace(region, frame)
    unchanged = _unchanged(region, frame)
    memory = region.extraction.loop_memory
    found = build_loop(region.scope, name, names, starts, trace, memory, unchanged)
    after = trace.inside(region.scope, found[: len(merges)], found[len(merges) :])
    _bind_exits(region, frame, after)


def _start(region: RegionExtractor, frame: LoopFrame, merge: Any) -> Bound:
    initial, _ = frame.merges[merge]
    ref = region.source.node(initial[0]).inputs[0] if region.is_enter(initial[0]) else initial
    return region.required(ref, merge)


def _bind_exits(region: RegionExtractor, frame: LoopFrame, after: RegionExtractor) -> None:
    """Binds the Exits; what only leaves the loop is computed after it."""
    exits = [(k, region.source.node(k).inputs[0]) for k in frame.exits]
    after.run(after.dependencies.keys([ref for _, ref in exits], ()))
    for key, ref in exits:
        found = after.bound(ref)
        if found is not None:
            region.values[(key, 0)] = found


def _variable(region: RegionExtractor, frame: LoopFrame, merge: Any, start: Bound) -> LoopVariable:
    """Hints for the name of a loop variable: its initial value, the nodes that read it after the
    loop, and its next value in the body."""
    found = LoopVariable(kind="list" if isinstance(start, ListValue) else "var")
    initial, following = frame.merges[merge]
    if initial[0] != ARGUMENT and region.is_enter(initial[0]):
        initial = region.source.node(initial[0]).inputs[0]
    found.hints += _hint(region, _behind(region, initial), in_scope=True)
    for key in frame.exits:
        if region.dependencies.behind_switches(region.source.node(key).inputs[0]) == (merge, 0):
            found.hints += [
                NameHint(n, "Identity", False) for n in region.flow.names_given((key, 0))
            ]
    made = _behind(region, following)
    found.hints += _hint(region, made, in_scope=False)
    found.counts = _counts(region, merge, made)
    return found


def _hint(region: RegionExtractor, ref: Ref, in_scope: bool) -> list[NameHint]:
    if ref[0] == ARGUMENT:
        return []
    node = region.source.node(ref[0])
    return [NameHint(node.name, node.type, in_scope)]


def _behind(region: RegionExtractor, ref: Ref, through_named: bool = False) -> Ref:
    """What switches and unnamed identities pass on."""
    ref = region.dependencies.behind_switches(ref)
    while ref[0] != ARGUMENT and region.source.node(ref[0]).type in PASSING:
        node = region.source.node(ref[0])
        hint = NameHint(node.name, node.type, False)
        if not through_named and given_name(hint) is not None:
            break
        ref = region.dependencies.behind_switches(node.inputs[0])
    return ref


def _counts(region: RegionExtractor, merge: Any, made: Ref) -> bool:
    """Whether an integer is made of itself and of constants."""
    if made[0] == ARGUMENT:
        return False
    read = [_behind(region, ref) for ref in region.source.node(made[0]).inputs]
    return counts(region.source, made[0], read, (merge, 0))


def _unchanged(region: RegionExtractor, frame: LoopFrame) -> set[int]:
    """Loop variables whose next value is plainly themselves."""
    merges = enumerate(frame.merges.items())
    return {i for i, (m, (_, ref)) in merges if _behind(region, ref, through_named=True) == (m, 0)}


class FrameTrace:
    """A loop of a frame as something to trace (`flowc.extract.trace.loops.LoopTrace`)."""

    def __init__(self, region: RegionExtractor, frame: LoopFrame) -> None:
        self.region = region
        self.frame = frame
        self.key = frame
        self.checked: set[Unit] = set()  # what the condition emits, where it is kept
        self.shared: list[Ref] = []  # what is read of that elsewhere

    def inside(
        self, scope: BodyBuilder, variables: Sequence[Bound], kept: Sequence[Bound]
    ) -> RegionExtractor:
        inner = self.region.inside(self.frame, scope)
        for merge, bound in zip(self.frame.merges, variables):
            inner.values[(merge, 0)] = bound
        if kept:
            inner.done |= self.checked
            inner.values.update(zip(self.shared, kept[1:], strict=True))
        return inner

    def condition(self, scope: BodyBuilder, variables: Sequence[Bound]) -> Value:
        return self._condition(self.inside(scope, variables, ()))

    def _condition(self, inner: RegionExtractor) -> Value:
        (ref,) = inner.source.node(self.frame.condition).inputs
        inner.run([ref[0]])
        return inner.value(ref)

    def kept(self, scope: BodyBuilder, variables: Sequence[Bound]) -> list[Bound]:
        inner = self.inside(scope, variables, ())
        condition = self._condition(inner)
        self.checked = inner.done
        found = {ref: inner.bound(ref) for ref in self._read_elsewhere(inner)}
        self.shared = [ref for ref, bound in found.items() if bound is not None]
        return [condition, *(bound for bound in found.values() if bound is not None)]

    def _read_elsewhere(self, inner: RegionExtractor) -> list[Ref]:
        """Outputs of what the condition emits that other nodes of the loop read."""
        flow = inner.flow
        found: dict[Ref, None] = {}
        for key in sorted(flow.needed, key=inner.source.order):
            if key == self.frame.condition or inner.dependencies.unit(key) in inner.done:
                continue
            for ref in inner.source.node(key).inputs:
                for read in (inner.dependencies.behind_switches(ref), flow.predicate(ref)):
                    if read[0] != ARGUMENT and inner.dependencies.unit(read[0]) in inner.done:
                        found[read] = None
        return list(found)

    def body(
        self, scope: BodyBuilder, variables: Sequence[Bound], kept: Sequence[Bound]
    ) -> Sequence[Bound]:
        inner = self.inside(scope, variables, kept)
        inner.known[(self.frame.condition, 0)] = True
        nexts = {m: ref for m, (_, ref) in self.frame.merges.items()}
        waits = [k for m in nexts for k in self._waits(m)]
        inner.run(inner.dependencies.keys(nexts.values(), waits))
        return [inner.required(ref, m) for m, ref in nexts.items()]

    def _waits(self, merge: Any) -> Sequence[Any]:
        """What the NextIteration of a variable waits for beside its value."""
        node = self.region.source.node(merge)
        nexts = [k for k, _ in node.inputs if not self.region.is_enter(k)]
        return [c for k in nexts for c in self.region.source.node(k).controls]
