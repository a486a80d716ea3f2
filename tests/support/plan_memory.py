"""A Plan carried out without kernels: whether what a step reads is still what was written there.

In: a Plan and a number for each of its sizes. Out: nothing, or an AssertionError. Every write wipes
out what stood in the same bytes of the arena, and workers' scratch all behind where it begins.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from flowc.codegen.program import launches_of, needs_of
from flowc.codegen.targets import target_named
from flowc.ir.computation import Computation, Value
from flowc.ir.dims import Dim, evaluate, symbols_of
from flowc.options import Options
from flowc.passes.analysis.aliasing import root_of, updated_input
from flowc.passes.pipeline import run_passes
from flowc.plan.arena_layout import lay_out
from flowc.plan.plan import (
    Arena,
    Branch,
    CallHost,
    Copy,
    Loop,
    Place,
    Plan,
    ReadSizes,
    Region,
    Run,
    WriteSizes,
    bytes_of,
    upper_bound,
)
from flowc.plan.planner import make_plan

_Written = dict[Value, object]


def plan_without_code(c: Computation, options: Options | None = None) -> Plan:
    """The plan of a Computation, whose kernels nobody compiles."""
    fused = run_passes(c, options or Options())
    launches = launches_of(fused, target_named("x86-64-v3", exact=False))
    return make_plan(fused, {node: needs_of(found) for node, found in launches.items()})


def check_memory(plan: Plan, sizes: Sequence[int] = (1, 5, 64)) -> None:
    """No step of a plan reads what another has overwritten."""
    for size in sizes:
        _Memory(plan, size).check()


class _Memory:
    """`held`: what each slot holds; None: it was overwritten by what stands in the same bytes."""

    def __init__(self, plan: Plan, size: int) -> None:
        self.plan = plan
        self.size = size
        room = [self._number(slot.size) for slot in plan.slots]
        layout = lay_out(plan.slots, plan.scratch_times)
        self.starts, last, self.scratch = layout.place(room, 0, operator.add, max)
        self.ends = [start + size for start, size in zip(self.starts, room)]
        assert last == max(self.ends, default=0)
        self.held: dict[int, object | None] = {}

    def _number(self, dim: Dim) -> int:
        named = dict.fromkeys(symbols_of(dim), self.size)
        return dim if isinstance(dim, int) else evaluate(dim, named)

    def check(self) -> None:
        self._region(self.plan.top)

    def _write(self, region: Region, place: Place, value: Value | None = None) -> object | None:
        """Overwrites a place, if it is a slot, and says by what."""
        if not isinstance(place, Arena):
            return None
        start, end = self.starts[place.slot], self.ends[place.slot]
        for slot in self.held:
            if self.starts[slot] < end and start < self.ends[slot]:
                self.held[slot] = None
        if value is not None:
            needed = upper_bound(bytes_of(value), region.bounds)
            assert needed is not None and self._number(needed) <= end - start, value
        found = self.held[place.slot] = object()
        return found

    def _read(self, region: Region, written: _Written, value: Value) -> None:
        root = root_of(value)
        place = region.places.get(root)
        if isinstance(place, Arena):
            found = self.held.get(place.slot)
            assert found is not None and found is written[root], f"{root!r} is gone from {place}"

    def _region(self, region: Region) -> None:
        written: _Written = {}

        def note(value: Value) -> None:
            """What a slot holds is the value from here on."""
            place = region.places.get(value)
            if isinstance(place, Arena):
                found = self.held[place.slot]
                assert found is not None, f"{value!r} was never whole in {place}"
                written[value] = found

        for parameter in region.computation.parameters:
            note(parameter.output)
        for step in region.steps:
            match step:
                case Copy(value, target):
                    self._read(region, written, value)
                    self._write(region, target, value)
                case Run() | CallHost() | ReadSizes() | WriteSizes():
                    self._step(region, written, step)
                case Loop(node, condition, body):
                    for value in node.inputs[node.attrs["carried"] :]:
                        self._read(region, written, value)
                    for _ in range(2):
                        self._region(condition)
                        self._region(body)
                    self._region(condition)
                    for value in node.outputs:
                        note(value)
                case Branch(node, then, otherwise):
                    self._read(region, written, node.inputs[0])
                    before = dict(self.held)
                    self._region(then)
                    left, self.held = self.held, before
                    self._region(otherwise)
                    both = left.keys() & self.held.keys()
                    for slot in both:  # what either has overwritten is gone
                        if left[slot] is None:
                            self.held[slot] = None
                    for value in node.outputs:
                        note(value)
                case _:
                    raise AssertionError(step)
        for value in region.computation.results:
            self._read(region, written, value)

    def _step(
        self, region: Region, written: _Written, step: Run | CallHost | ReadSizes | WriteSizes
    ) -> None:
        node = step.node
        for value in node.inputs:
            self._read(region, written, value)
        if isinstance(step, Run):
            if step.needs.scratch != 0 and step.late_scratch is None:
                for slot in self.held:
                    if self.ends[slot] > self.scratch:
                        self.held[slot] = None
            if step.workspace is not None:
                self._write(region, step.workspace)
        outputs = [v for v in node.outputs if v in region.places]
        for value in outputs:
            found = self._write(region, region.places[value], value)
            if found is not None:
                written[value] = found
        changed = updated_input(node)
        # What a step reads and what it writes are there together.
        for value in (*(v for v in node.inputs if v is not changed), *outputs):
            self._read(region, written, value)
