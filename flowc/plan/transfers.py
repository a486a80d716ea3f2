"""Copies between the memory of the host and that of a device, put into a Plan where they are due.

In: a Plan of one memory, and the clusters that run on the device. Out: the same Plan, in which
every place that both sides touch has a copy on each, and `Transfer` steps bring a copy up to date
before it is read. Invariant: what a step reads on its side is what was last written on any side,
whichever way branches and loops went.

A forward dataflow analysis over which sides hold a valid copy of each place: the state after a
conditional is the intersection of both branches. A loop fixes one side, its home, for each value
that it carries; values that it only reads are copied to every side that reads them before the first
iteration.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from flowc.dataclass import dataclass
from flowc.errors import InternalError
from flowc.ir.computation import Node, Value
from flowc.passes.analysis.aliasing import root_of
from flowc.plan.plan import (
    DEVICE,
    HOST,
    Branch,
    CallHost,
    ConstantPlace,
    Copy,
    Input,
    Loop,
    Output,
    Place,
    Plan,
    ReadSizes,
    Region,
    Run,
    Side,
    Step,
    Transfer,
    WriteSizes,
)
from flowc.plan.reuse import is_scalar

Sides = frozenset[Side]
State = dict[Place, Sides]
_BOTH: Sides = frozenset((HOST, DEVICE))


def place_on_devices(
    plan: Plan, on_device: Collection[Node], variables: Sequence[tuple[int, int | None]] = ()
) -> None:
    """Lets clusters run on the device, and changes the plan to fit. A plan that has no such cluster
    stays as it is.

    `variables`: inputs that the caller can keep on the device, each with the output that replaces
    it. Those that the device alone reads and writes are `Plan.resident`."""
    plan.on_device = frozenset(on_device)
    if plan.on_device:
        _Transfers(plan).run(variables)


def crossing_places(plan: Plan) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The inputs and the outputs that only `Transfer` steps touch on the host, so that the caller
    may have them on the device."""
    touched = {place for place, side in accesses(plan, plan.top) if side == HOST}
    touched |= plan.resident | set(_copied_on_host(plan.top))
    touched |= {place for i, k in plan.in_place for place in (Input(i), Output(k))}
    c = plan.computation
    taken = (i for i in range(len(c.parameters)) if Input(i) not in touched)
    given = (k for k in range(len(c.results)) if Output(k) not in touched)
    return tuple(taken), tuple(given)


def _copied_on_host(region: Region) -> Iterator[Place]:
    """The places that the host reads or writes to copy what is there."""
    for step in region.steps:
        match step:
            case Copy(value, target, side) if side == HOST:
                yield from (region.place_of(value), target)
            case Loop(condition=condition, body=body, assigned=assigned):
                for place, value, side in assigned:
                    if side == HOST:
                        yield from (place, body.place_of(value))
                yield from _copied_on_host(condition)
                yield from _copied_on_host(body)
            case Branch(then=then, otherwise=otherwise):
                yield from _copied_on_host(then)
                yield from _copied_on_host(otherwise)
            case Run() | CallHost() | ReadSizes() | WriteSizes() | Copy() | Transfer():
                pass


@dataclass(frozen=True, slots=True)
class _Carried:
    """A value that a loop carries: its `place` before each iteration, the value and the place that
    hold it after one, its home."""

    start: Value
    place: Place
    result: Value
    following: Place
    home: Side


class _Transfers:
    """`state`: the sides on which each place is up to date. `homes`: those of the places that the
    open loops write for their next iterations."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.state: State = {}
        self.homes: dict[Place, Side] = {}

    def run(self, variables: Sequence[tuple[int, int | None]]) -> None:
        top = self.plan.top
        self.plan.resident = frozenset(self._resident(variables))
        self._region(top)
        changed = {k for _, k in self.plan.in_place}
        for k, value in enumerate(top.computation.results):
            place = top.place_of(value)
            if k in changed or place == Output(k):
                side = DEVICE if place in self.plan.resident else HOST
                self._bring(top.steps, value, place, side)
        self._join_exchanged()

    def _resident(self, variables: Sequence[tuple[int, int | None]]) -> Iterator[Place]:
        """The places of variables that stay on the device between runs."""
        touched: dict[Place, set[Side]] = {}
        for place, side in accesses(self.plan, self.plan.top):
            touched.setdefault(place, set()).add(side)
        c = self.plan.computation
        for i, k in variables:
            value, place = c.parameters[i].output, Input(i)
            if touched.get(place) != {DEVICE} or not isinstance(value.type.size, int):
                continue
            if k is None or (i, k) in self.plan.in_place:
                yield place
            elif touched.get(Output(k)) == {DEVICE} and c.results[k].dims == value.dims:
                yield place
                yield Output(k)

    def _join_exchanged(self) -> None:
        """Places that exchange pointers have memory on the same sides."""
        pairs = [pair for loop in _loops(self.plan.top) for pair in loop.exchanged]
        changed = True
        while changed:
            changed = False
            for x, y in pairs:
                joined = self._sides(x) | self._sides(y)
                changed |= joined != self._sides(x) or joined != self._sides(y)
                self.plan.sides[x] = self.plan.sides[y] = joined

    # -- what is up to date where

    def _sides(self, place: Place) -> Sides:
        return self.plan.sides.get(place, frozenset())

    def _touch(self, place: Place, *sides: Side) -> None:
        self.plan.sides[place] = self._sides(place) | set(sides)

    def _valid(self, place: Place) -> Sides:
        match place:
            case ConstantPlace():
                return _BOTH
            case Input():
                start: Side = DEVICE if place in self.plan.resident else HOST
                return self.state.get(place, frozenset((start,)))
            case _ if place in self.state:
                return self.state[place]
            case _:
                raise InternalError(f"{place} is read before anything is written there")

    def _bring(self, steps: list[Step], value: Value, place: Place, side: Side) -> None:
        """Has a side's copy of a place up to date."""
        valid = self._valid(place)
        self._touch(place, side)
        if side not in valid:
            self._touch(place, *valid)
            steps.append(Transfer(value, place, place, side))
            self.state[place] = valid | {side}

    def _wrote(self, place: Place, side: Side) -> None:
        self._touch(place, side)
        self.state[place] = frozenset((side,))

    # -- steps

    def _region(self, region: Region) -> None:
        steps: list[Step] = []
        initial: dict[Step, Side] = {}  # copies of what loops start from
        for number, step in enumerate(region.steps):
            if isinstance(step, Loop):
                initial |= self._initial_copies(step, region.steps[:number])
        for step in region.steps:
            match step:
                case Copy():
                    steps.append(self._copied(region, step, initial.get(step)))
                case Loop():
                    self._loop(region, steps, step)
                case Branch():
                    self._branch(region, steps, step)
                case Transfer():
                    raise InternalError("a plan is placed on devices once")
                case Run() | CallHost() | ReadSizes() | WriteSizes():
                    self._plain(region, steps, step)
        region.steps = steps

    def _plain(
        self, region: Region, steps: list[Step], step: Run | CallHost | ReadSizes | WriteSizes
    ) -> None:
        side = _side(self.plan, step)
        for value in step.node.inputs:
            self._bring(steps, root_of(value), region.place_of(value), side)
        steps.append(step)
        for value in step.node.outputs:
            self._wrote(region.places[value], side)
        if isinstance(step, Run):
            for place in (step.workspace, step.late_scratch):
                if place is not None:
                    self._touch(place, side)

    def _copied(self, region: Region, step: Copy, home: Side | None) -> Step:
        """A copy within one memory, or from one to the other: to the home of what a loop carries,
        to the host what the caller wants, else to where the value is."""
        source, target = region.place_of(step.value), step.target
        valid = self._valid(source)
        if isinstance(target, Output):
            side: Side = DEVICE if target in self.plan.resident else HOST
        else:
            side = home or self.homes.get(target) or (HOST if HOST in valid else DEVICE)
        self._wrote(target, side)
        if side in valid:
            self._touch(source, side)
            return Copy(step.value, target, side)
        self._touch(source, *valid)
        return Transfer(step.value, source, target, side)

    def _branch(self, region: Region, steps: list[Step], step: Branch) -> None:
        tested = step.node.inputs[0]
        self._bring(steps, root_of(tested), region.place_of(tested), HOST)
        before = dict(self.state)
        ends: list[State] = []
        for inner in (step.then, step.otherwise):
            self.state = dict(before)
            self._region(inner)
            ends.append(self.state)
        for value, *results in zip(
            step.node.outputs, step.then.computation.results, step.otherwise.computation.results
        ):
            place = region.places[value]
            if not ends[0][place] & ends[1][place]:
                for inner, end, result in zip((step.then, step.otherwise), ends, results):
                    self.state = end
                    self._bring(inner.steps, result, place, DEVICE)
        self.state = {p: ends[0][p] & ends[1][p] for p in ends[0].keys() & ends[1].keys()}
        steps.append(step)

    # -- loops

    def _initial_copies(self, loop: Loop, before: Sequence[Step]) -> dict[Step, Side]:
        """The copies right before a loop, with the homes of what they write."""
        homes = {carried.place: carried.home for carried in self._carried(loop)}
        found: dict[Step, Side] = {}
        for step in reversed(before):
            if not isinstance(step, Copy):
                break
            if step.target in homes:
                found[step] = homes[step.target]
        return found

    def _carried(self, loop: Loop) -> list[_Carried]:
        count: int = loop.node.attrs["carried"]
        own = [p.output for p in loop.body.computation.parameters[:count]]
        results = loop.body.computation.results
        taken = dict(loop.exchanged)
        found: list[_Carried] = []
        touches = [*accesses(self.plan, loop.condition), *accesses(self.plan, loop.body)]
        for start, value, result in zip(loop.node.inputs, own, results):
            place = loop.body.places[value]
            following = taken.get(place, place)
            if is_scalar(value):
                following = loop.body.place_of(result)
            touching = {side for touched, side in touches if touched in (place, following)}
            scalar_on_host = is_scalar(value) and HOST in touching
            home: Side = DEVICE if DEVICE in touching and not scalar_on_host else HOST
            found.append(_Carried(start, place, result, following, home))
        return found

    def _loop(self, region: Region, steps: list[Step], loop: Loop) -> None:
        node = loop.node
        every = self._carried(loop)
        for carried in every:
            self._bring(steps, carried.start, carried.place, carried.home)
            self.state[carried.place] = frozenset((carried.home,))
        touched = {*accesses(self.plan, loop.condition), *accesses(self.plan, loop.body)}
        for value in node.inputs[node.attrs["carried"] :]:
            place = region.place_of(value)
            for side in (HOST, DEVICE):
                if (place, side) in touched:
                    self._bring(steps, root_of(value), place, side)
        self._region(loop.condition)
        (tested,) = loop.condition.computation.results
        self._bring(loop.condition.steps, tested, loop.condition.place_of(tested), HOST)
        after = dict(self.state)
        outer, self.homes = self.homes, dict(self.homes)
        self.homes |= {carried.following: carried.home for carried in every}
        self._region(loop.body)
        for carried in every:
            self._bring(loop.body.steps, carried.result, carried.following, carried.home)
        self.homes, self.state = outer, after
        sides = {carried.place: carried.home for carried in every}
        assigned = [(place, value, sides[place]) for place, value, _ in loop.assigned]
        for place, value, side in assigned:
            self._touch(place, side)
            self._touch(loop.body.place_of(value), side)
        steps.append(replace(loop, assigned=tuple(assigned)))


def accesses(plan: Plan, region: Region) -> Iterator[tuple[Place, Side]]:
    """The places that the steps of a region read or write, with the sides that do; copies aside."""
    for step in region.steps:
        match step:
            case Copy() | Transfer():
                pass
            case Loop(condition=condition, body=body):
                yield from accesses(plan, condition)
                yield from accesses(plan, body)
                (tested,) = condition.computation.results
                yield condition.place_of(tested), HOST
            case Branch(node, then, otherwise):
                yield region.place_of(node.inputs[0]), HOST
                yield from accesses(plan, then)
                yield from accesses(plan, otherwise)
            case Run() | CallHost() | ReadSizes() | WriteSizes():
                side = _side(plan, step)
                for value in (*step.node.inputs, *step.node.outputs):
                    yield region.place_of(value), side


def _side(plan: Plan, step: Run | CallHost | ReadSizes | WriteSizes) -> Side:
    return DEVICE if step.node in plan.on_device else HOST


def _loops(region: Region) -> Iterator[Loop]:
    for step in region.steps:
        match step:
            case Loop(condition=condition, body=body):
                yield step
                yield from _loops(condition)
                yield from _loops(body)
            case Branch(then=then, otherwise=otherwise):
                yield from _loops(then)
                yield from _loops(otherwise)
            case Run() | CallHost() | ReadSizes() | WriteSizes() | Copy() | Transfer():
                pass
