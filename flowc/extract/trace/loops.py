"""Loops under extraction: traced until the types of the carried values reach a fixed point.

In: what the loop variables start as, and how to trace condition and body with given bindings. Out:
one `while` node and what the variables are bound to after it.

The work list is the loop itself: each trace may show that a variable is loop-invariant (its next
value is itself: it is captured), that the body changes a resource (which is carried beside the
variables), that a dim differs from one iteration to the next (it becomes a symbol of its own), or
that the elements of a list do. Each finding is followed by another trace, which starts from what is
known; what is known only grows, so that the traces end.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import field, replace
from typing import Protocol

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.errors import InternalError, InvalidArgumentError, UnsupportedError
from flowc.extract.body_builder import BodyBuilder
from flowc.extract.lists.loop_composites import CarriedColumns
from flowc.extract.lists.loop_lists import CarriedLists, Slot, Varying, as_start
from flowc.extract.trace.loop_names import part_names
from flowc.ir.computation import Value
from flowc.ir.dims import Symbol, expression, fresh_symbol
from flowc.ir.extraction import (
    Bound,
    ListValue,
    Resource,
    values_of,
    with_values,
)
from flowc.ir.op import op_named
from flowc.ir.types import TensorType

TRACE_LIMIT = 64


class LoopTrace(Protocol):
    """How a loop is traced, whatever it was written as. `key`: the same for the same loop whenever
    it is traced, as it is anew with each trace of a loop around it."""

    @property
    def key(self) -> Hashable: ...

    def condition(self, scope: BodyBuilder, variables: Sequence[Bound]) -> Value: ...

    def kept(self, scope: BodyBuilder, variables: Sequence[Bound]) -> list[Bound]:
        """The condition, and what else `body` must know of it where it must not compute it again
        (the condition changes state)."""
        ...

    def body(
        self, scope: BodyBuilder, variables: Sequence[Bound], kept: Sequence[Bound]
    ) -> Sequence[Bound]: ...


@dataclass(frozen=True, slots=True, eq=False)
class _Rotated:
    """A loop whose condition changes state: computed before the loop and at the end of each
    iteration, and carried with all that is kept of it, behind the `count` loop variables."""

    trace: LoopTrace
    count: int

    @property
    def key(self) -> Hashable:
        return (self.trace.key, "rotated")

    def condition(self, scope: BodyBuilder, variables: Sequence[Bound]) -> Value:
        going = variables[self.count]
        assert isinstance(going, Value)
        return going

    def kept(self, scope: BodyBuilder, variables: Sequence[Bound]) -> list[Bound]:
        raise AssertionError("the condition of a rotated loop is a variable")

    def body(
        self, scope: BodyBuilder, variables: Sequence[Bound], kept: Sequence[Bound]
    ) -> Sequence[Bound]:
        results = self.trace.body(scope, variables[: self.count], variables[self.count :])
        return [*results, *self.trace.kept(scope, results)]


class _ConditionChangesState(Exception):
    """The loop must be rotated."""


@dataclass(slots=True)
class _Found:
    """What earlier traces have shown."""

    invariant: set[int]
    lists: CarriedLists
    columns: CarriedColumns
    resources: dict[Resource, None] = field(default_factory=dict[Resource, None])
    varying: Varying = field(default_factory=dict[tuple[Slot, int, int], Symbol])


@dataclass(frozen=True, slots=True)
class Findings:
    """What is kept of `_Found` for the next trace of the same loop: an inner loop is traced again
    with each trace of the loops around it, and starts from what was found before."""

    invariant: frozenset[int]
    resources: tuple[Resource, ...]
    varying: frozenset[tuple[Slot, int, int]]


LoopMemory = dict[Hashable, Findings]


@dataclass(slots=True)
class _LoopTraced:
    """One trace: scopes, carried parameters, the condition and the carried results."""

    starts: dict[Slot, Bound]
    scopes: tuple[BodyBuilder, BodyBuilder]
    parameters: tuple[list[Value], list[Value]]
    condition: Value
    ends: dict[Slot, Bound]
    changed: set[int]  # variables that were taken for invariant, and are not


@dataclass(eq=False)
class _LoopBuilder:
    scope: BodyBuilder
    name: str
    names: Sequence[str]
    initial: Sequence[Bound]
    trace: LoopTrace
    memory: LoopMemory
    invariant: Collection[int]

    def __post_init__(self) -> None:
        resources = [i for i, bound in enumerate(self.initial) if isinstance(bound, Resource)]
        self.always = {*self.invariant, *resources}
        self.found = self.remembered()

    def remembered(self) -> _Found:
        """Where to begin: with what the last trace of this loop showed. Each trace checks it."""
        last = self.memory.get(self.trace.key)
        if last is None:
            return self.nothing_found()
        known = {r: None for r in last.resources if self.scope.find(r) is not None}
        sizes: Varying = {
            key: fresh_symbol("n")
            for key in sorted(last.varying, key=lambda k: (str(k[0]), *k[1:]))
            if self.has_axis(*key, known)
        }
        lists = CarriedLists(self.scope, sizes)
        invariant = self.always | last.invariant
        return _Found(invariant, lists, CarriedColumns(self.scope), known, sizes)

    def nothing_found(self) -> _Found:
        sizes: Varying = {}
        lists = CarriedLists(self.scope, sizes)
        return _Found(set(self.always), lists, CarriedColumns(self.scope), varying=sizes)

    def has_axis(self, slot: Slot, part: int, axis: int, resources: Collection[Resource]) -> bool:
        if isinstance(slot, tuple):
            return False
        if isinstance(slot, int):
            bound: Bound | None = self.initial[slot] if slot < len(self.initial) else None
        else:
            bound = self.scope.find(slot) if slot in resources else None
        values = () if bound is None else values_of(bound)
        return part < len(values) and axis < len(values[part].dims)

    def run(self) -> list[Bound]:
        for _ in range(TRACE_LIMIT):
            traced = self.once()
            if traced.changed:
                self.memory.pop(self.trace.key, None)
                self.found = self.nothing_found()
            elif not self.learned(traced):
                found = self.found
                self.memory[self.trace.key] = Findings(
                    frozenset(found.invariant), tuple(found.resources), frozenset(found.varying)
                )
                return self.emit(traced)
        raise InternalError(f"the types of loop '{self.name}' do not settle", node=self.name)

    # -- one trace

    def once(self) -> _LoopTraced:
        starts: dict[Slot, Bound] = {}
        for i, bound in enumerate(self.initial):
            if i not in self.found.invariant:
                for slot, part in self.found.columns.slots(i, bound):
                    starts[slot] = self.typed(slot, part)
        for resource in self.found.resources:
            contents = self.scope.held(resource)
            if contents is None:
                raise UnsupportedError(
                    f"{resource.kind} '{resource.name}' gets its first contents in loop "
                    f"'{self.name}'",
                    node=self.name,
                )
            starts[resource] = self.typed(resource, contents)
        scopes = (BodyBuilder(self.scope, iterates=True), BodyBuilder(self.scope, iterates=True))
        parameters: tuple[list[Value], list[Value]] = ([], [])
        variables: list[list[Bound]] = []
        for scope, made in zip(scopes, parameters):
            scope.b.origin = self.scope.b.origin
            variables.append(self.bind(scope, starts, made))
        condition = self.trace.condition(scopes[0], variables[0])
        if scopes[0].replaced or scopes[0].last_effect is not None:
            raise _ConditionChangesState
        results = list(self.trace.body(scopes[1], variables[1], ()))
        if len(results) != len(self.initial):
            raise InvalidArgumentError(
                f"the body of loop '{self.name}' gives {len(results)} values for "
                f"{len(self.initial)} variables",
                node=self.name,
            )
        ends: dict[Slot, Bound] = {}
        for slot in starts:
            if isinstance(slot, Resource):
                end = scopes[1].find(slot)
            elif isinstance(slot, tuple):
                end = self.found.columns.column(slot, results[slot[0]], scopes[1])
            else:
                end = results[slot]
            assert end is not None
            start = starts[slot]
            if isinstance(start, ListValue) and isinstance(end, ListValue):
                end = as_start(start, end, scopes[1])
            ends[slot] = end
        changed = {
            i
            for i in self.found.invariant - self.always
            if values_of(results[i]) != values_of(variables[1][i])
        }
        return _LoopTraced(starts, scopes, parameters, condition, ends, changed)

    def typed(self, slot: Slot, bound: Bound) -> Bound:
        """What a variable starts as."""
        return self.found.lists.typed(slot, bound) if isinstance(bound, ListValue) else bound

    def bind(self, scope: BodyBuilder, starts: dict[Slot, Bound], made: list[Value]) -> list[Bound]:
        """The parameters of a body, and what the loop variables are bound to in it."""
        inside: dict[Slot, Bound] = {}
        for slot, bound in starts.items():
            values: list[Value] = []
            given = slot.info.get("label") if isinstance(slot, Resource) else None
            name = (given or self.name_of(slot)).rsplit("/", 1)[-1] or "variable"
            for part, (value, ending) in enumerate(zip(values_of(bound), part_names(bound))):
                type_ = self.carried_type(slot, part, value.type)
                values.append(scope.b.parameter(name + ending, type_))
            made += values
            inside[slot] = with_values(bound, values)
        variables: list[Bound] = []
        for i, bound in enumerate(self.initial):
            found = self.found.columns.variable(i, inside)
            variables.append(scope.capture(bound) if found is None else found)
        for slot, bound in inside.items():
            if isinstance(slot, Resource):
                scope.contents[slot] = bound
        return variables

    def carried_type(self, slot: Slot, part: int, start: TensorType) -> TensorType:
        found = [self.found.varying.get((slot, part, axis)) for axis in range(start.rank)]
        dims = [d if s is None else expression(s) for s, d in zip(found, start.dims)]
        return start.with_dims(dims)

    # -- what a trace shows

    def learned(self, traced: _LoopTraced) -> bool:
        """Whether the trace showed something that asks for another one."""
        body = traced.scopes[1]
        resources = [r for r in body.replaced if r not in self.found.resources]
        if resources:
            # What the body read of them was their first contents: nothing else of it counts.
            self.found.resources.update(dict.fromkeys(resources))
            self.found.invariant = set(self.always)
            return True
        noted = False
        position = 0
        still: set[int] = set()
        for slot, start in traced.starts.items():
            count = len(values_of(start))
            parameters = traced.parameters[1][position : position + count]
            position += count
            end = traced.ends[slot]
            if isinstance(slot, int) and values_of(end) == tuple(parameters) and count:
                still.add(slot)
                continue
            if isinstance(slot, int) and self.found.columns.grows(slot, end):
                continue
            noted |= self.compare(slot, start, parameters, end, body)
        if self.found.columns.take_grown() or noted:
            self.found.invariant = set(self.always)
            return True
        self.found.invariant |= still
        return bool(still)

    def compare(
        self, slot: Slot, start: Bound, parameters: list[Value], end: Bound, body: BodyBuilder
    ) -> bool:
        """Notes how the value after an iteration differs in type from the one before it; whether
        it does in a way that was not noted before."""
        if isinstance(start, ListValue) and isinstance(end, ListValue):
            noted = self.found.lists.compare_numbers(slot, start, end)
            if self.found.lists.compare_elements(slot, start, end, body):
                return True
        elif type(start) is not type(end):
            raise InvalidArgumentError(
                f"variable {self.shown(slot)} of loop '{self.name}' changes between a list and a "
                "tensor",
                node=self.name,
            )
        else:
            noted = False
        for part, (parameter, value) in enumerate(zip(parameters, values_of(end), strict=True)):
            if parameter.type.dtype is not value.type.dtype or parameter.type.rank != (
                value.type.rank
            ):
                raise InvalidArgumentError(
                    f"variable {self.shown(slot)} of loop '{self.name}' enters the loop as "
                    f"{values_of(start)[part].type}, but is {value.type} after one iteration",
                    node=self.name,
                    hint="give it from the start the dtype and rank that it has later: tf.cast, "
                    "tf.reshape or tf.expand_dims around its initial value",
                )
            for axis, (old, new) in enumerate(zip(parameter.dims, value.dims)):
                key = (slot, part, axis)
                if old != new and key not in self.found.varying:
                    self.found.varying[key] = fresh_symbol("n")
                    noted = True
        return noted

    def shown(self, slot: Slot) -> str:
        return f"'{self.name_of(slot)}'"

    def name_of(self, slot: Slot) -> str:
        if isinstance(slot, Resource):
            return slot.name
        return self.names[slot[0] if isinstance(slot, tuple) else slot]

    # -- the node

    def emit(self, traced: _LoopTraced) -> list[Bound]:
        self.check_lengths(traced)
        condition, body = traced.scopes
        captures = list(dict.fromkeys((*condition.captures(), *body.captures())))
        ends = [v for bound in traced.ends.values() for v in values_of(bound)]
        attrs = {
            "condition": condition.computation(
                traced.parameters[0], captures, [self.as_scalar(traced.condition)]
            ),
            "body": body.computation(traced.parameters[1], captures, ends),
            "carried": len(ends),
            "varying": tuple(self.found.varying.values()),
            "Tout": tuple(v.type.dtype for v in ends),
        }
        starts = [v for bound in traced.starts.values() for v in values_of(bound)]
        node = self.scope.b.emit(op_named("while"), (*starts, *captures), attrs)
        if body.last_effect is not None:
            self.scope.note_effect(node)
        outputs = list(node.outputs)
        after: dict[Slot, Bound] = {}
        for slot, bound in traced.ends.items():
            count = len(values_of(bound))
            found = with_values(bound, outputs[:count])
            outputs = outputs[count:]
            if isinstance(found, ListValue):
                first = self.initial[slot] if isinstance(slot, int) else None
                assumed = isinstance(first, ListValue) and first.assumed
                found = replace(found, assumed=assumed)
            after[slot] = found
            if isinstance(slot, Resource):
                self.scope.replace(slot, after[slot])
        columns = self.found.columns
        return [columns.variable(i, after) or bound for i, bound in enumerate(self.initial)]

    def check_lengths(self, traced: _LoopTraced) -> None:
        """Raises `UnsupportedError` for a list whose length the loop changes while the shape of its
        elements is unknown."""
        for slot, start in traced.starts.items():
            end = traced.ends[slot]
            if not isinstance(start, ListValue) or not isinstance(end, ListValue):
                continue
            if end.held is None and end.rows != start.rows:
                raise UnsupportedError(
                    f"loop '{self.name}' changes the length of list {self.shown(slot)}, whose "
                    "elements have no shape",
                    node=self.name,
                    hint="give the shape of elements where the list, or the lists that are put "
                    "into it, are made",
                )

    def as_scalar(self, condition: Value) -> Value:
        if condition.type.rank == 0 and condition.type.dtype is dtypes.bool_:
            return condition
        raise InvalidArgumentError(
            f"the condition of loop '{self.name}' must be a bool scalar, found {condition.type}",
            node=self.name,
        )


def build_loop(
    scope: BodyBuilder,
    name: str,
    names: Sequence[str],
    initial: Sequence[Bound],
    trace: LoopTrace,
    memory: LoopMemory,
    invariant: Collection[int] = (),
) -> list[Bound]:
    """What the variables of a loop are bound to after it; then, where its condition changes state,
    what is kept of that. `names`: of the variables; `invariant`: those that are known never to
    change; `memory`: what earlier traces of loops have shown."""
    rotated = _Rotated(trace, len(initial))
    if rotated.key not in memory:
        try:
            return _LoopBuilder(scope, name, names, initial, trace, memory, invariant).run()
        except _ConditionChangesState:
            pass
    kept = trace.kept(scope, initial)
    names = [*names, *(f"kept{i}" for i in range(len(kept)))]
    builder = _LoopBuilder(scope, name, names, [*initial, *kept], rotated, memory, invariant)
    return builder.run()
