"""The nodes of one frame and branch, extracted into one body.

In: keys of the nodes that are wanted. Out: what their outputs are bound to. A work list: nodes are
emitted when what they need is there; among those that are ready plain nodes go first, in the order
in which the graph created them, then loops and conditionals. So effects that nothing orders have
one order, the same in every run. Conditionals on one predicate that are ready together become one.
Invariant: a node is emitted in the outermost region under whose guard it runs.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.errors import UnsupportedError
from flowc.extract.body_builder import BodyBuilder
from flowc.extract.frames.conditionals import emit_merges, emit_where_alive
from flowc.extract.frames.dependencies import Dependencies, Unit
from flowc.extract.frames.early_reads import Read
from flowc.extract.frames.frames import ControlFlow, LoopFrame
from flowc.extract.frames.merge_decision import ALWAYS, Guard
from flowc.extract.node_lowering import emit_node
from flowc.extract.node_source import ARGUMENT, NodeSource, Ref
from flowc.extract.trace.frame_loops import emit_loop
from flowc.graph.control_types import ENTER
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, Resource

if TYPE_CHECKING:
    from flowc.extract.program import Extraction

LEVELS = 80  # Python allows a thousand calls in each other; a level takes up to twelve


@dataclass(eq=False)
class RegionExtractor:
    """`context`: the guard under which the region's nodes run. `outer`: the region around a branch
    (same frame, smaller context), or the one in which a loop stands."""

    extraction: Extraction
    scope: BodyBuilder
    source: NodeSource
    flow: ControlFlow
    frame: LoopFrame
    callers: tuple[str, ...] = ()
    context: Guard = ALWAYS
    outer: RegionExtractor | None = None

    def __post_init__(self) -> None:
        self.dependencies = Dependencies(self.source, self.flow)
        self.values: dict[Ref, Bound] = {}
        self.known: dict[Ref, bool] = {}  # predicates that are decided here
        self.done: set[Unit] = set()
        self.changing: list[Unit] = []  # of those done what changed resources of outside
        self.kept: dict[Ref, Resource] = {}  # what such units in finished branches gave
        self.finished: set[Any] = set()  # their keys: they do not run again
        self.early: dict[Read, Resource] = {}  # what reads see that come before an assignment

    # -- what refs are bound to

    def bound(self, ref: Ref) -> Bound | None:
        """What an output is bound to here, captured from outside where it stands there; None for
        what has no value."""
        ref = self.dependencies.behind_switches(ref)
        if ref in self.values:
            return self.values[ref]
        if ref in self.known:
            self.values[ref] = self.scope.b.const(np.bool_(self.known[ref]))
            return self.values[ref]
        if ref in self.kept:
            return self.scope.find(self.kept[ref])
        key, _ = ref
        found: Bound | None = None
        if self.outer is not None:
            if self.outer.frame is self.frame:
                found = self.outer.bound(ref)
            elif key != ARGUMENT and self.is_enter(key):
                found = self.outer.bound(self.source.node(key).inputs[0])
            if found is not None:
                if self.scope is not self.outer.scope:
                    found = self._captured(found)
                self.values[ref] = found
        return found

    def _captured(self, bound: Bound) -> Bound:
        """Something of the region outside; what shares a variable's memory there does so here."""
        inside = self.scope.capture(bound)
        shared = self.extraction.shared
        if isinstance(bound, Value) and isinstance(inside, Value) and bound in shared:
            shared[inside] = shared[bound]
        return inside

    def value(self, ref: Ref) -> Value:
        """The Value of an output; a variable is read. Raises `UnsupportedError` for handles."""
        found = self.bound(ref)
        if not isinstance(found, Value):
            found = self.extraction.read(self.scope, found, self.source.name(ref[0]))
        return found

    def required(self, ref: Ref, reader: Any) -> Bound:
        """What an output is bound to, which the node `reader` cannot do without."""
        found = self.extraction.current(self.scope, self.bound(ref))
        if found is None:
            name, kind = self.source.name(reader), self.source.node(reader).type
            raise UnsupportedError(
                f"node '{name}' ({kind}) reads '{self.source.name(ref[0])}', which has no value "
                "that flowc can compute",
                node=name,
            )
        return found

    def seen(self, reader: Any, ref: Ref) -> Bound | None:
        """What a node finds in an input: a variable as it was before what comes after the node."""
        bound = self.bound(ref)
        if self.extraction.early is None:
            return bound
        variable = self.extraction.shared.get(bound) if isinstance(bound, Value) else bound
        if not isinstance(variable, Resource) or variable.kind != "variable":
            return bound
        kept = self.kept_for((reader, variable.name)) if self.extraction.early.before else None
        if isinstance(bound, Resource):
            return kept or bound
        return self.extraction.current(self.scope, bound, kept)

    def kept_for(self, read: Read) -> Resource | None:
        """What holds a variable's value for a read that comes before an assignment, once that was
        extracted."""
        region: RegionExtractor | None = self
        while region is not None:
            if read in region.early:
                return region.early[read]
            region = region.outer
        return None

    def keep_for_reads(self, assignment: Any) -> None:
        """Before an assignment: keeps what its variable holds for the reads that come before it,
        and are extracted after it. Those that wait for it find what it gives."""
        region: RegionExtractor | None
        early = self.extraction.early
        if early is None or not early.before:
            return
        for read in early.behind.get(assignment, ()):
            region = self
            while region is not None:
                region.early.pop(read, None)
                region = region.outer
        for read in early.before.get(assignment, ()):
            variable = self.extraction.variables.get(read[1])
            region = self
            while region is not None and not region._holds(read[0]):
                region = region.outer
            while region is not None and variable is not None:
                region._keep(read, variable)
                inside = region.frame is self.frame and variable not in region.scope.replaced
                region = region.outer if inside else None

    def _keep(self, read: Read, variable: Resource) -> None:
        contents = self.scope.held(variable)
        if contents is None or read in self.early:
            return
        self.early[read] = kept = Resource("variable", variable.name, variable.info)
        self.scope.created[kept] = self.scope.guard
        self.scope.contents[kept] = contents

    def _holds(self, key: Any) -> bool:
        """Whether a node stands in this region, or in one inside of it."""
        frame, guard = self.flow.frame(key), self.flow.node_guard(key)
        while frame is not self.frame:
            if frame.parent is None:
                return False
            frame, guard = frame.parent, self.flow.loop_guards.get(frame, ALWAYS)
        return self.context <= guard

    def left_of(self, guard: Guard) -> list[tuple[Ref, int]]:
        """The branches that a guard asks for beyond those in which this region stands."""
        return [g for g in guard if g not in self.context]

    def around(self, keys: Iterable[Any]) -> list[Any]:
        """The nodes outside of a conditional that its branches read or wait for."""
        return self.dependencies.around(keys, self.context)

    def is_enter(self, key: Any) -> bool:
        return not self.flow.is_plain and self.source.node(key).type in ENTER

    # -- what there is to do

    def run(self, roots: Iterable[Any]) -> None:
        """Emits everything that the roots need and that stands in this region. Regions inside are
        run while it is. Raises `UnsupportedError` where that are too many in each other."""
        extraction = self.extraction
        if extraction.level == LEVELS:
            raise UnsupportedError(
                f"loops, conditionals and calls are nested too deeply: flowc takes {LEVELS} levels"
            )
        extraction.level += 1
        try:
            self._emit_all(self._collect(roots))
        finally:
            extraction.level -= 1

    def _emit_all(self, before: Mapping[Unit, Sequence[Unit]]) -> None:
        """Emits units, each after those that it waits for. An assignment lets reads that come
        before it go first, so that it may change its variable in place, unless none can."""
        held = self._reads_before(before)
        waiting = {unit: len(needs) for unit, needs in before.items()}
        users: dict[Unit, list[Unit]] = {unit: [] for unit in before}
        for awaited in (before, held):
            for unit, needs in awaited.items():
                for need in needs:
                    users[need].append(unit)
        for unit, reads in held.items():
            waiting[unit] += len(reads)
        ready: list[tuple[int, int, Unit]] = []
        alike: dict[Ref, list[Unit]] = {}  # the conditionals among them, by predicate

        def push(unit: Unit) -> None:
            heapq.heappush(ready, self.dependencies.priority(unit))
            decision = self.dependencies.decision(unit)
            if decision is not None:
                alike.setdefault(decision.predicate, []).append(unit)

        for unit, count in waiting.items():
            if not count:
                push(unit)
        while ready or (held and self._release(held, before, push)):
            _, _, unit = heapq.heappop(ready)
            if unit in self.done:
                continue  # emitted together with another one
            decision = self.dependencies.decision(unit)
            units = [unit]
            if decision is not None:
                units = sorted(alike.pop(decision.predicate), key=self.source.order)
            self._emit(units)
            for finished in units:
                self.done.add(finished)
                for user in users[finished]:
                    waiting[user] -= 1
                    if not waiting[user]:
                        push(user)
        left = {u: [n for n in needs if n not in self.done] for u, needs in before.items()}
        left = {u: needs for u, needs in left.items() if u not in self.done}
        if left:
            raise self.dependencies.circle(left)

    def _reads_before(self, units: Collection[Unit]) -> dict[Unit, list[Unit]]:
        """For each assignment among units those of them that read its variable before it."""
        early = self.extraction.early
        if early is None or not early.before:
            return {}
        found: dict[Unit, list[Unit]] = {}
        for unit in units:
            reads = dict.fromkeys(read for read, _ in early.before.get(unit, ()) if read in units)
            if reads:
                found[unit] = list(reads)
        return found

    def _release(
        self,
        held: dict[Unit, list[Unit]],
        before: Mapping[Unit, Sequence[Unit]],
        push: Callable[[Unit], None],
    ) -> bool:
        """Lets the first assignment go that waits for nothing but reads: they wait for others."""
        free = [u for u in held if u not in self.done and self.done.issuperset(before[u])]
        if free:
            first = min(free, key=self.dependencies.priority)
            del held[first]
            push(first)
        return bool(free)

    def _emit(self, units: Sequence[Unit]) -> None:
        """Emits a loop, a node, or conditionals of one predicate."""
        if self.dependencies.is_merge(units[0]):
            emit_merges(self, units)
            return
        before = self.scope.changes
        self.scope.touched.clear()
        if isinstance(units[0], LoopFrame):
            emit_loop(self, units[0])
        else:
            emit_node(self, units[0])
        if self.scope.changes != before:
            self.changing.append(units[0])
            # It does not run again for a conditional to come, so nor may what reads these.
            self.scope.settled |= self.scope.touched
        if not isinstance(units[0], LoopFrame):
            for key in self.dependencies.loose(self.source.node(units[0]), self.context):
                # A pushed element is nobody's; what is popped comes where its branch reads it.
                if (key, 0) not in self.flow.read_refs:
                    emit_where_alive(self, key)

    def _collect(self, roots: Iterable[Any]) -> dict[Unit, list[Unit]]:
        """Every unit that the roots need here, with the units that it waits for."""
        found: dict[Unit, list[Unit]] = {}
        stack = self._units_here(self.dependencies.keys((), roots))
        while stack:
            unit = stack.pop()
            if unit in found or unit in self.done:
                continue
            needs = dict.fromkeys(self._units_here(self.dependencies.of(unit, self.context)))
            found[unit] = [n for n in needs if n not in self.done]
            stack += [n for n in found[unit] if n not in found]
        return found

    def _units_here(self, keys: Iterable[Any]) -> list[Unit]:
        """The units of those nodes that are to be emitted in this region."""
        return [self.dependencies.unit(k) for k in keys if self._is_here(k)]

    def _is_here(self, key: Any) -> bool:
        """Whether a node is to be emitted in this region (and not outside of it)."""
        if self.flow.is_plain:
            return True
        if self.frame.parent is not None and (
            self.source.node(key).type in ENTER
            or key in self.frame.merges
            or key == self.frame.condition
        ):
            return False
        if key in self.finished:
            return False
        if self.outer is not None and self.outer.frame is self.frame:
            if self.flow.node_guard(key) <= self.outer.context:
                return False
            return not self.outer.has_finished(key)
        return True

    def has_finished(self, key: Any) -> bool:
        """Whether a node that changes something ran in a branch inside or beside this region."""
        if key in self.finished:
            return True
        around = self.outer
        return around is not None and around.frame is self.frame and around.has_finished(key)

    def finish(self, inner: RegionExtractor) -> None:
        """Ends a branch of this region. The units in it that had effects count as done, and their
        outputs are bound here, so that later conditionals on the same predicate read them. A Value
        is kept like the contents of a resource, which branches hand on."""
        for unit in inner.changing:
            self.changing.append(unit)
            for key in unit.exits if isinstance(unit, LoopFrame) else (unit,):
                self.finished.add(key)
                for ref in self.flow.read_outputs(key):
                    value = inner.bound(ref)
                    if isinstance(value, Resource) and value not in inner.scope.created:
                        self.values[ref] = value
                    elif (known := _known_bool(inner.scope, value)) is not None:
                        self.known[ref] = known  # also for what it decides in a branch to come
                    elif isinstance(value, Value):
                        self.kept[ref] = kept = Resource("value", self.source.name(key))
                        self.scope.created[kept] = self.scope.guard
                        self.scope.contents[kept] = self.scope.stand_in(value)
                        inner.scope.replace(kept, value)

    # -- regions inside this one

    def branch(self, scope: BodyBuilder, predicate: Ref, branch: int) -> RegionExtractor:
        """One side of a conditional, in which its predicate is known."""
        inner = self._inner(scope, self.frame, self.context | {(predicate, branch)})
        if scope is not self.scope:
            scope.guard = inner.context
        inner.known[predicate] = bool(branch)
        return inner

    def decide(self, predicate: Ref, value: bool) -> None:
        """From here on this region is the branch that is always taken: what stands in it runs once,
        for all conditionals on this predicate."""
        self.context |= {(predicate, int(value))}
        self.known[predicate] = value

    def inside(self, frame: LoopFrame, scope: BodyBuilder) -> RegionExtractor:
        """The inside of a loop: its condition, its body, or what leaves it."""
        return self._inner(scope, frame, ALWAYS)

    def beside(self, scope: BodyBuilder) -> RegionExtractor:
        """A region of the same frame and branch, in a scope inside of this one."""
        return self._inner(scope, self.frame, self.context)

    def _inner(self, scope: BodyBuilder, frame: LoopFrame, context: Guard) -> RegionExtractor:
        return replace(self, scope=scope, frame=frame, context=context, outer=self)


def _known_bool(scope: BodyBuilder, bound: Bound | None) -> bool | None:
    """The one element of a bool that is known when the program is compiled."""
    if not isinstance(bound, Value) or bound.type.dtype is not dtypes.bool_ or bound.type.rank:
        return None
    content = scope.b.content(bound)
    return None if content is None else bool(content)
