"""Schedules a fused Computation and gives every value a place.

In: a Computation of clusters, structure, reshapes, loops and branches. Out: a Plan. A region is
planned with the places of its parameters given, and with places wanted for its results; what it
took from the pools of free memory is free again when it ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, ceildiv, maximum
from flowc.ir.lowering import Host
from flowc.passes.analysis.aliasing import root_of
from flowc.plan.plan import (
    ALIGNMENT,
    HOST,
    Arena,
    Branch,
    CallHost,
    Cell,
    ConstantPlace,
    Copy,
    Heap,
    Input,
    Local,
    Loop,
    Needs,
    Output,
    Place,
    Plan,
    ReadSizes,
    Region,
    Run,
    Slot,
    Step,
    WriteSizes,
    bytes_of,
    upper_bound,
)
from flowc.plan.reuse import EXCHANGED, GROWABLE, PLAIN, Reuse, is_scalar


class _Pools:
    """All memory of a Plan, and what of it is free. `time`: the number of the step that is planned;
    a slot serves one value, and those that take its place."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.time = 0
        self.free_cells: dict[Dim, list[int]] = {}
        self.free_locals: dict[int, list[int]] = {}
        self.free_blocks: list[int] = []

    def slot(self, size: Dim) -> Arena:
        self.plan.slots.append(Slot(_room(size), self.time, self.time))
        return Arena(len(self.plan.slots) - 1)

    def cell(self, size: Dim) -> Cell:
        size = _room(size)
        free = self.free_cells.get(size)
        if free:
            return Cell(free.pop())
        self.plan.cells.append(size)
        return Cell(len(self.plan.cells) - 1)

    def local(self, size: Dim) -> Local:
        assert isinstance(size, int)  # a scalar is of its dtype's size
        free = self.free_locals.get(size)
        if free:
            return Local(free.pop())
        self.plan.locals.append(size)
        return Local(len(self.plan.locals) - 1)

    def block(self) -> Heap:
        if self.free_blocks:
            return Heap(self.free_blocks.pop())
        self.plan.blocks += 1
        return Heap(self.plan.blocks - 1)

    def release(self, place: Place) -> None:
        match place:
            case Arena(slot):
                self.plan.slots[slot].last = self.time
            case Cell(number):
                self.free_cells.setdefault(self.plan.cells[number], []).append(number)
            case Local(number):
                self.free_locals.setdefault(self.plan.locals[number], []).append(number)
            case Heap(block):
                self.free_blocks.append(block)
            case Input() | Output() | ConstantPlace():
                pass


def _room(size: Dim) -> Dim:
    """The bytes of a piece of the arena. A size can be negative in a branch that is not taken."""
    return maximum(ceildiv(size, ALIGNMENT) * ALIGNMENT, 0)


class _RegionPlanner:
    """Plans one Computation. `wanted`: for each result the place where it must be in the end (None:
    wherever), and whether the region may use that place from its start."""

    def __init__(
        self,
        pools: _Pools,
        needs: Mapping[Node, Needs],
        reuse: Reuse,
        given: Sequence[Place],
        wanted: Sequence[tuple[Place, bool] | None],
        *,
        nested: bool,
    ) -> None:
        self.pools = pools
        self.needs = needs
        self.reuse = reuse
        self.nested = nested
        self.wanted = wanted
        self.region = Region(reuse.c, bounds=dict(reuse.bounds))
        self.places = self.region.places
        self.held: dict[Place, int] = {}  # when each place that this region took is free again
        self.ending: dict[int, list[Place]] = {}
        for node, place in zip(reuse.c.parameters, given, strict=True):
            self.places[node.output] = place
        for node in reuse.c.nodes:
            if node.op.name == "const":
                self.places[node.output] = ConstantPlace(node.attrs["value"])
        self.assigned = self._assign_results()

    def run(self) -> Region:
        for number, node in enumerate(self.reuse.steps):
            self.pools.time += 1
            match node.op.name:
                case "cluster":
                    self._emit(self._run_step(number, node))
                case "read_sizes":
                    self._emit(ReadSizes(node))
                case "sizes":
                    self._place(node.output)
                    self._emit(WriteSizes(node))
                case "while":
                    self._emit(self._loop(number, node))
                case "if":
                    self._emit(self._branch(node))
                case _:
                    for value in node.outputs:
                        self._place(value)
                    self._emit(CallHost(node))
            self._release(number)
        for value, want in zip(self.reuse.c.results, self.wanted, strict=True):
            if want is not None and self.region.place_of(value) != want[0]:
                self._emit(Copy(value, want[0]))
        for place in self.held:
            self.pools.release(place)
        self._name_reshapes()
        return self.region

    def _emit(self, step: Step) -> None:
        self.region.steps.append(step)

    def _name_reshapes(self) -> None:
        """Reshapes stand where their source does."""
        for node in self.reuse.c.nodes:
            for value in (*node.inputs, *node.outputs):
                root = root_of(value)
                if value is not root and root in self.places:
                    self.places[value] = self.places[root]

    def _assign_results(self) -> dict[Value, Place]:
        """Values that are computed where a result is wanted: by the first of the values that stand
        at one place one after another."""
        assigned: dict[Value, Place] = {}
        for value, want in zip(self.reuse.c.results, self.wanted, strict=True):
            if want is None or not want[1]:
                continue
            head = self.reuse.head_of(value)
            if head in self.places or head in assigned:
                continue
            if self._suits(want[0], head):
                assigned[head] = want[0]
        return assigned

    def _suits(self, place: Place, head: Value) -> bool:
        demand = self.reuse.demand[head]
        match place:
            case Output():
                # One of unbounded size is allocated by the step that computes it.
                node = head.node
                makes = node.op.name in ("cluster", "sizes") or isinstance(node.lowering, Host)
                alone = head not in self.reuse.taken and makes
                return demand == PLAIN or (demand == GROWABLE and alone)
            case Arena() | Local():
                return demand == PLAIN
            case Cell():
                return demand <= EXCHANGED
            case Input() | Heap() | ConstantPlace():
                return True

    # -- memory

    def _bounded(self, dim: Dim) -> Dim | None:
        return upper_bound(dim, self.reuse.bounds)

    def _hold(self, place: Place, last: int) -> None:
        self.held[place] = last
        self.ending.setdefault(last, []).append(place)

    def _release(self, number: int) -> None:
        for place in self.ending.pop(number, ()):
            if self.held.get(place) == number:
                del self.held[place]
                self.pools.release(place)

    def _fresh(self, value: Value, demand: int) -> Place:
        """A place of the kind that is needed, for values of one type."""
        size = self._bounded(bytes_of(value))
        if demand == GROWABLE or size is None:
            return self.pools.block()
        if self.nested and is_scalar(value):
            return self.pools.local(size)
        return self.pools.cell(size) if demand == EXCHANGED else self.pools.slot(size)

    def _place(self, value: Value) -> Place:
        """Places an output of a step."""
        last = self.reuse.last[value]
        source = self.reuse.takes.get(value)
        if source is not None:
            place = self.places[source]
            if place in self.held:
                self._hold(place, last)
        elif value in self.assigned:
            place = self.assigned[value]
        else:
            place = self._fresh(value, self.reuse.demand[value])
            self._hold(place, last)
        self.places[value] = place
        return place

    # -- steps

    def _run_step(self, number: int, node: Node) -> Run:
        for value in node.outputs:
            self._place(value)
        needs = self.needs[node]
        workspace: Place | None = None
        late: Heap | None = None
        if needs.workspace != 0:
            known = self._bounded(needs.workspace)
            workspace = self.pools.block() if known is None else self.pools.slot(known)
            self._hold(workspace, number)
        # Every worker's scratch is one piece of the arena, unless its size is known too late.
        known = self._bounded(needs.scratch)
        if known is None:
            late = self.pools.block()
            self._hold(late, number)
        elif known != 0:
            plan = self.pools.plan
            plan.scratch = maximum(plan.scratch, known)
            plan.scratch_times.append(self.pools.time)
        return Run(node, needs, workspace, late)

    def _branch(self, node: Node) -> Branch:
        wanted: list[tuple[Place, bool] | None] = []
        for value in node.outputs:
            place = self._place(value)
            wanted.append((place, value not in self.reuse.takes))
        given = [self.region.place_of(v) for v in node.inputs[1:]]
        then, otherwise = (self._nested(b, given, wanted) for b in self.reuse.bodies[node])
        return Branch(node, then, otherwise)

    def _nested(
        self,
        reuse: Reuse,
        given: Sequence[Place],
        wanted: Sequence[tuple[Place, bool] | None],
    ) -> Region:
        return _RegionPlanner(self.pools, self.needs, reuse, given, wanted, nested=True).run()

    def _loop(self, number: int, node: Node) -> Loop:
        condition, body = self.reuse.bodies[node]
        count: int = node.attrs["carried"]
        own = [p.output for p in body.c.parameters[:count]]
        current: list[Place] = []
        for i, value in enumerate(node.outputs):
            current.append(self._carried_place(own[i], value))
            if value not in self.reuse.takes:
                self._emit(Copy(node.inputs[i], current[i]))
        sources = self._sources(node, current)
        following: dict[int, Place] = {}
        for i in range(count):
            if sources[i] is None and not is_scalar(own[i]):
                following[i] = self._like(current[i])
                self._hold(following[i], number)
        wanted = [(following[i], True) if i in following else None for i in range(count)]
        given = [*current, *(self.region.place_of(v) for v in node.inputs[count:])]
        tested = self._nested(condition, given, [None])
        repeated = self._nested(body, given, wanted)
        ending: dict[Place, Place] = {}
        for i, source in enumerate(sources):
            if not is_scalar(own[i]):
                ending[current[i]] = following[i] if source is None else current[source]
        assigned = [
            (place, value, HOST)
            for i, (place, value) in enumerate(zip(current, body.c.results))
            if is_scalar(own[i]) and repeated.place_of(value) != place
        ]
        return Loop(node, tested, repeated, self._exchange(ending), tuple(assigned))

    def _carried_place(self, own: Value, output: Value) -> Place:
        """Where a loop carries a value: always on the stack if it is a scalar."""
        if not is_scalar(own):
            return self._place(output)
        place = self.pools.local(bytes_of(own))
        self._hold(place, self.reuse.last[output])
        self.places[output] = place
        return place

    def _sources(self, node: Node, current: list[Place]) -> list[int | None]:
        """For each carried value the one whose place holds it at the end of the body. Places of
        different kinds are not exchanged."""
        return [
            None
            if carry.source is None
            or (carry.source != i and self._kind(current[i]) != self._kind(current[carry.source]))
            else carry.source
            for i, carry in enumerate(self.reuse.carries[node])
        ]

    def _kind(self, place: Place) -> tuple[str, Dim]:
        match place:
            case Cell(number):
                return "cell", self.pools.plan.cells[number]
            case Heap():
                return "block", 0
            case Input() | Output() | Arena() | Local() | ConstantPlace():
                return repr(place), 0

    def _like(self, place: Place) -> Place:
        if isinstance(place, Cell):
            return self.pools.cell(self.pools.plan.cells[place.number])
        assert isinstance(place, Heap), place
        return self.pools.block()

    def _exchange(self, ending: dict[Place, Place]) -> tuple[tuple[Place, Place], ...]:
        """Which place takes the pointer of which: places that hold nothing any more take what is
        left, so that the pointers are only ever permuted."""
        moves = {to: source for to, source in ending.items() if to != source}
        used = set(moves.values())
        left = [p for p in moves if p not in used]
        for place in used:
            if place not in moves:
                source = next(p for p in left if self._kind(p) == self._kind(place))
                left.remove(source)
                moves[place] = source
        return tuple(moves.items())


def make_plan(
    c: Computation, needs: Mapping[Node, Needs], state: Sequence[tuple[int, int]] = ()
) -> Plan:
    """The plan of a fused Computation. `needs`: for each cluster, also those in bodies, the memory
    of its kernels. `state`: parameters and the results that replace them in the end; where the
    computation only changes parts of one, the result stands in the parameter's memory
    (`Plan.in_place`), and nothing is written to its output."""
    plan = Plan(Region(c))
    plan.in_place = _changed_in_place(c, state)
    owned = [c.parameters[i].output for i, _ in plan.in_place]
    elsewhere = {k for _, k in plan.in_place}
    given = [Input(i) for i in range(len(c.parameters))]
    wanted = [None if k in elsewhere else (Output(k), True) for k in range(len(c.results))]
    reuse = Reuse(c, owned, {})
    plan.top = _RegionPlanner(_Pools(plan), needs, reuse, given, wanted, nested=False).run()
    return plan


def _changed_in_place(
    c: Computation, state: Sequence[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """The parameters that are overwritten by nothing but what replaces them."""
    found = tuple(state)
    while found:
        reuse = Reuse(c, [c.parameters[i].output for i, _ in found], {})
        kept = tuple(pair for pair in found if _stands_in(reuse, *pair))
        if kept == found:
            break
        found = kept
    return found


def _stands_in(reuse: Reuse, i: int, k: int) -> bool:
    held, result = reuse.c.parameters[i].output, root_of(reuse.c.results[k])
    if is_scalar(held) or result is held:
        return False
    return reuse.head_of(result) is held and reuse.demand[held] == PLAIN
