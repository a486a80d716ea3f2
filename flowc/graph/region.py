"""The nodes of one frame and branch, extracted into one scope.

In: keys of the nodes that are wanted. Out: what their outputs are bound to. Nodes are emitted when
what they need is there; among those that are ready plain nodes go first, in the order in which the
graph created them, then loops and conditionals. So effects that nothing orders have one order,
the same in every run. Conditionals on one predicate that are ready together become one.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.errors import UnsupportedError
from flowc.graph.branches import build_if
from flowc.graph.frames import (
    ALWAYS,
    ENTER,
    EXIT,
    MERGE,
    SWITCH,
    ControlFlow,
    Frame,
    Guard,
)
from flowc.graph.loops import build_loop
from flowc.graph.scope import Scope
from flowc.graph.sources import ARGUMENT, Ref, Source
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound

if TYPE_CHECKING:
    from flowc.graph.extract import Extraction

PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2"})
Unit = Any  # the key of a node (of a Merge: that of its conditional), or a Frame: a whole loop


class Region:
    """`context`: the guard under which the region's nodes run. `outer`: the region around a branch
    (same frame, smaller context), or the one in which a loop stands."""

    def __init__(
        self,
        extraction: Extraction,
        scope: Scope,
        source: Source,
        flow: ControlFlow,
        depth: int,
        frame: Frame | None = None,
        context: Guard = ALWAYS,
        outer: Region | None = None,
    ) -> None:
        self.extraction = extraction
        self.scope = scope
        self.source = source
        self.flow = flow
        self.depth = depth
        self.frame = frame if frame is not None else flow.top
        self.context = context
        self.outer = outer
        self.values: dict[Ref, Bound] = {}
        self.known: dict[Ref, bool] = {}  # predicates that are decided here
        self.done: set[Unit] = set()

    # -- what refs are bound to

    def bound(self, ref: Ref) -> Bound | None:
        """What an output is bound to here, captured from outside where it stands there; None for
        what has no value."""
        ref = self._behind_switches(ref)
        if ref in self.values:
            return self.values[ref]
        if ref in self.known:
            self.values[ref] = self.scope.b.const(np.bool_(self.known[ref]))
            return self.values[ref]
        key, _ = ref
        found: Bound | None = None
        if self.outer is not None:
            if self.outer.frame is self.frame:
                found = self.outer.bound(ref)
            elif key != ARGUMENT and self._is_enter(key):
                found = self.outer.bound(self.source.node(key).inputs[0])
            if found is not None:
                if self.scope is not self.outer.scope:
                    found = self.scope.capture(found)
                self.values[ref] = found
        return found

    def value(self, ref: Ref) -> Value:
        """The Value of an output; a variable is read. Raises `UnsupportedError` for handles."""
        found = self.bound(ref)
        if not isinstance(found, Value):
            found = self.extraction.read(self.scope, found, self.source.name(ref[0]))
        return found

    def _behind_switches(self, ref: Ref) -> Ref:
        """Within a branch a Switch passes its input on."""
        while not self.flow.is_plain and ref not in self.flow.fed and ref[0] != ARGUMENT:
            node = self.source.node(ref[0])
            if node.type not in SWITCH:
                break
            ref = node.inputs[0]
        return ref

    def _is_enter(self, key: Any) -> bool:
        return not self.flow.is_plain and self.source.node(key).type in ENTER

    # -- what there is to do

    def run(self, roots: Iterable[Any]) -> None:
        """Emits everything that the roots need and that stands in this region."""
        before = self._collect(roots)
        waiting = {unit: len(needs) for unit, needs in before.items()}
        users: dict[Unit, list[Unit]] = {unit: [] for unit in before}
        for unit, needs in before.items():
            for need in needs:
                users[need].append(unit)
        ready = [self._rank(u) for u, count in waiting.items() if not count]
        heapq.heapify(ready)
        while ready:
            _, _, unit = heapq.heappop(ready)
            units = [unit]
            if self._is_conditional(unit):
                units = self._gather(unit, ready)
                self._emit_conditional(units)
            elif isinstance(unit, Frame):
                self._emit_loop(unit)
            else:
                self.extraction.emit_node(self, unit)
            for finished in units:
                self.done.add(finished)
                for user in users[finished]:
                    waiting[user] -= 1
                    if not waiting[user]:
                        heapq.heappush(ready, self._rank(user))
        left = [u for u in before if u not in self.done]
        if left:
            name = self.source.name(left[0].enters[0] if isinstance(left[0], Frame) else left[0])
            raise UnsupportedError(f"node '{name}' waits for itself", node=name)

    def _rank(self, unit: Unit) -> tuple[int, int, Unit]:
        if isinstance(unit, Frame):
            return (1, min(map(self.source.order, unit.enters)), unit)
        return (int(self._is_conditional(unit)), self.source.order(unit), unit)

    def _is_conditional(self, unit: Unit) -> bool:
        if self.flow.is_plain or isinstance(unit, Frame):
            return False
        return self.source.node(unit).type in MERGE

    def _collect(self, roots: Iterable[Any]) -> dict[Unit, list[Unit]]:
        """Every unit that the roots need here, with the units that it waits for."""
        found: dict[Unit, list[Unit]] = {}
        stack = [self._unit(k) for k in self._keys((), roots) if self._is_here(k)]
        while stack:
            unit = stack.pop()
            if unit in found or unit in self.done:
                continue
            needs = dict.fromkeys(self._unit(k) for k in self._needs(unit) if self._is_here(k))
            found[unit] = [n for n in needs if n not in self.done]
            stack += [n for n in found[unit] if n not in found]
        return found

    def _unit(self, key: Any) -> Unit:
        """The loop whose Exit a node is, or the node itself."""
        if not self.flow.is_plain and self.source.node(key).type in EXIT:
            return self.flow.loop_of(key)
        return key

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
        if self.outer is not None and self.outer.frame is self.frame:
            return not self.flow.node_guard(key) <= self.outer.context
        return True

    def _needs(self, unit: Unit) -> list[Any]:
        """Keys of the nodes that must have been emitted before a unit."""
        if isinstance(unit, Frame):
            return self._keys_of_loop(unit)
        node = self.source.node(unit)
        if self._is_conditional(unit):
            predicate, _, _ = self.flow.choice(unit)
            return self._around(self._keys((predicate, *node.inputs), node.controls))
        return self._keys(node.inputs, node.controls)

    def _keys_of_loop(self, frame: Frame) -> list[Any]:
        refs = [self.source.node(k).inputs[0] for k in frame.enters]
        controls = [c for k in frame.enters for c in self.source.node(k).controls]
        return self._keys(refs, controls)

    def _around(self, keys: Iterable[Any]) -> list[Any]:
        """The nodes outside of a conditional that its branches read or wait for."""
        found: dict[Any, None] = {}
        seen: set[Any] = set()
        stack = list(keys)
        while stack:
            key = stack.pop()
            if key in seen:
                continue
            seen.add(key)
            if self.flow.node_guard(key) <= self.context:
                found[key] = None
                continue
            unit = self._unit(key)
            if isinstance(unit, Frame):
                stack += self._keys_of_loop(unit)
            else:
                node = self.source.node(unit)
                stack += self._keys(node.inputs, node.controls)
        return list(found)

    def _keys(self, refs: Iterable[Ref], controls: Iterable[Any]) -> list[Any]:
        """The nodes behind refs and control inputs; a Switch stands for what it reads."""
        found: list[Any] = []
        waits = list(controls)
        for ref in refs:
            while ref not in self.flow.fed and ref[0] != ARGUMENT:
                node = self.source.node(ref[0])
                if node.type not in SWITCH:
                    found.append(ref[0])
                    break
                waits += node.controls
                ref = node.inputs[0]
        for key in waits:
            node = self.source.node(key)
            if node.type in PLACEHOLDERS and (key, 0) in self.flow.fed:
                continue
            if node.type in SWITCH:
                found += self._keys(node.inputs, node.controls)
            else:
                found.append(key)
        return found

    # -- conditionals

    def _gather(self, unit: Unit, ready: list[tuple[int, int, Unit]]) -> list[Unit]:
        """The unit, and every other conditional that is ready and has the same predicate."""
        predicate = self.flow.choice(unit)[0]
        same = [
            entry
            for entry in ready
            if self._is_conditional(entry[2]) and self.flow.choice(entry[2])[0] == predicate
        ]
        for entry in same:
            ready.remove(entry)
        heapq.heapify(ready)
        return [unit, *(entry[2] for entry in sorted(same, key=lambda e: e[1]))]

    def _emit_conditional(self, merges: Sequence[Any]) -> None:
        name = self.source.name(merges[0])
        self.scope.b.origin = tuple(self.source.name(m) for m in merges)
        predicate = self.flow.choice(merges[0])[0]
        wanted: list[tuple[list[Ref], list[int]]] = []
        for branch in (1, 0):
            refs: list[Ref] = []
            indices: list[int] = []
            for merge in merges:
                sides = self.flow.choice(merge)[1 + branch]
                if len(sides) != 1:
                    raise UnsupportedError(
                        f"node '{self.source.name(merge)}' (Merge) joins "
                        f"{len(self.source.node(merge).inputs)} values: flowc takes two",
                        node=self.source.name(merge),
                    )
                refs.append(self.source.node(merge).inputs[sides[0]])
                indices.append(sides[0])
            wanted.append((refs, indices))
        indexed = [m for m in merges if (m, 1) in self.flow.read_refs]

        def trace(branch: int, refs: list[Ref], indices: list[int], scope: Scope) -> list[Bound]:
            inner = self._branch(scope, predicate, branch)
            inner.run([r[0] for r in refs])
            results: list[Bound] = [inner.merged(r, name) for r in refs]
            for merge in indexed:
                results.append(scope.b.const(np.int32(indices[merges.index(merge)])))
            return results

        (then_refs, then_at), (else_refs, else_at) = wanted
        results = build_if(
            self.scope,
            name,
            self.value(predicate),
            lambda scope: trace(1, then_refs, then_at, scope),
            lambda scope: trace(0, else_refs, else_at, scope),
        )
        for merge, result in zip(merges, results):
            self.values[(merge, 0)] = result
        for merge, result in zip(indexed, results[len(merges) :]):
            self.values[(merge, 1)] = result

    def merged(self, ref: Ref, name: str) -> Bound:
        found = self.bound(ref)
        if found is None:
            raise UnsupportedError(
                f"node '{name}' (Merge) reads '{self.source.name(ref[0])}', which has no value "
                "that flowc can compute",
                node=name,
            )
        return found

    def _branch(self, scope: Scope, predicate: Ref, branch: int) -> Region:
        inner = Region(
            self.extraction,
            scope,
            self.source,
            self.flow,
            self.depth,
            self.frame,
            self.context | {(predicate, branch)},
            self,
        )
        inner.known[predicate] = bool(branch)
        return inner

    def under(self, ref: Ref, key: Any) -> tuple[Ref, int] | None:
        """The first predicate and branch that a root outside of the context stands under."""
        guard = self.flow.guard(ref) if ref[1] >= 0 else self.flow.node_guard(key)
        left = [g for g in guard if g not in self.context]
        if not left:
            return None
        # The outermost: the one whose predicate needs the fewest others.
        return min(left, key=lambda g: (len(self.flow.guard(g[0])), g[1], str(g[0])))

    def run_dead(self, roots: Sequence[Any], ref: Ref | None) -> Bound | None:
        """Roots that stand in a branch which no Merge joins: run only when it is taken. With a
        `ref`, its value; the run fails where the branch is not taken."""
        found = self.under(ref if ref is not None else (roots[0], -1), roots[0])
        if found is None:
            self.run(roots)
            return None if ref is None else self.bound(ref)
        predicate, branch = found
        self.run([predicate[0]])
        name = self.source.name(roots[0])
        self.scope.b.origin = (name,)
        taken: list[Bound] = []

        def live(scope: Scope) -> list[Bound]:
            inner = self._branch(scope, predicate, branch)
            inner.run(inner._around([k for k in roots]))
            value = inner.run_dead(roots, ref)
            taken[:] = [value] if isinstance(value, Value) else []
            return list(taken)

        def dead(scope: Scope) -> list[Bound]:
            zeros: list[Bound] = []
            for value in taken:
                assert isinstance(value, Value)
                dims = tuple(d if scope.knows(d) else 0 for d in value.dims)
                zeros.append(scope.zeros(value.type.dtype, dims))
            return zeros

        condition = self.value(predicate)
        b = self.scope.b
        if not branch:
            condition = b.logical_not(condition)
        if ref is not None:
            check = b.check(condition, message=f"{name}: Retval[0] does not have value")
            del check
            self.scope.note_effect(b.nodes[-1])
        results = build_if(self.scope, name, condition, live, dead)
        return results[0] if results else None

    # -- loops

    def _emit_loop(self, frame: Frame) -> None:
        """One loop: what its Exits are bound to."""
        name = self.source.name(frame.condition) if frame.condition is not None else frame.name
        merges = list(frame.merges)
        starts = [self._start(frame, m) for m in merges]
        if frame.condition is None:
            # Values that enter a frame and leave it: no loop variable, no loop.
            self._exits(frame, self)
            return
        self.scope.b.origin = (name,)
        trace = _FrameTrace(self, frame, merges)
        names = [self._variable_name(frame, m) for m in merges]
        found = build_loop(self.scope, name, names, starts, trace, self._unchanged(frame, merges))
        after = self._inside(frame, self.scope)
        for merge, bound in zip(merges, found):
            after.values[(merge, 0)] = bound
        self._exits(frame, after)

    def _inside(self, frame: Frame, scope: Scope) -> Region:
        return Region(
            self.extraction, scope, self.source, self.flow, self.depth, frame, ALWAYS, self
        )

    def _start(self, frame: Frame, merge: Any) -> Bound:
        initial, _ = frame.merges[merge]
        key = initial[0]
        ref = self.source.node(key).inputs[0] if self._is_enter(key) else initial
        found = self.bound(ref)
        if found is None:
            name = self.source.name(merge)
            raise UnsupportedError(
                f"loop variable '{name}' starts as '{self.source.name(ref[0])}', which has no "
                "value that flowc can compute",
                node=name,
            )
        return found

    def _exits(self, frame: Frame, after: Region) -> None:
        """Binds the Exits; what only leaves the loop is computed after it."""
        exits = [(k, self.source.node(k).inputs[0]) for k in frame.exits]
        after.run([k for _, ref in exits for k in after._keys([ref], ())])
        for key, ref in exits:
            found = after.bound(ref)
            if found is not None:
                self.values[(key, 0)] = found

    def _variable_name(self, frame: Frame, merge: Any) -> str:
        """A name for a loop variable: that of what it starts as, else that of its Merge."""
        key = frame.merges[merge][0][0]
        node = self.source.node(key)
        start = node.inputs[0][0] if node.inputs else ARGUMENT
        for candidate in (start, key, merge):
            if candidate == ARGUMENT:
                continue
            name = self.source.node(candidate).name.rsplit("/", 1)[-1]
            kind = self.source.node(candidate).type
            if not name.startswith((kind, "Const", "Enter", "Merge", "zeros", "ones")):
                return name
        return self.source.node(merge).name.rsplit("/", 1)[-1].replace("Merge", "var")

    def _unchanged(self, frame: Frame, merges: Sequence[Any]) -> set[int]:
        """Loop variables whose next value is plainly themselves."""
        found: set[int] = set()
        for i, merge in enumerate(merges):
            ref = frame.merges[merge][1]
            while True:
                ref = self._behind_switches(ref)
                if ref == (merge, 0):
                    found.add(i)
                if ref == (merge, 0) or ref[0] == ARGUMENT:
                    break
                node = self.source.node(ref[0])
                if node.type not in ("Identity", "RefIdentity"):
                    break
                ref = node.inputs[0]
        return found


class _FrameTrace:
    """A loop of a frame as something to trace."""

    def __init__(self, region: Region, frame: Frame, merges: Sequence[Any]) -> None:
        self.region = region
        self.frame = frame
        self.merges = merges

    def inside(self, scope: Scope, variables: Sequence[Bound]) -> Region:
        inner = self.region._inside(self.frame, scope)
        for merge, bound in zip(self.merges, variables):
            inner.values[(merge, 0)] = bound
        return inner

    def condition(self, scope: Scope, variables: Sequence[Bound]) -> Value:
        inner = self.inside(scope, variables)
        (ref,) = self.region.source.node(self.frame.condition).inputs
        inner.run([ref[0]])
        return inner.value(ref)

    def body(self, scope: Scope, variables: Sequence[Bound]) -> Sequence[Bound]:
        inner = self.inside(scope, variables)
        inner.known[(self.frame.condition, 0)] = True
        refs = [self.frame.merges[m][1] for m in self.merges]
        waits = [k for m in self.merges for k in self._waits(m)]
        inner.run([*(k for r in refs for k in inner._keys([r], ())), *waits])
        name = self.region.source.name
        return [inner.merged(r, name(m)) for r, m in zip(refs, self.merges)]

    def _waits(self, merge: Any) -> Sequence[Any]:
        """What the NextIteration of a variable waits for beside its value."""
        node = self.region.source.node(merge)
        nexts = [k for k, _ in node.inputs if not self.region._is_enter(k)]
        return [c for k in nexts for c in self.region.source.node(k).controls]
