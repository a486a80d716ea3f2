"""Schedules a fused Computation and gives every value a place.

In: a Computation of clusters, structure and reshapes. Out: a Plan, which the driver is emitted
from. Invariants: a value is written before it is read; two values share arena bytes only when their
lifetimes do not meet; a slot's size is an expression over sizes known when it is acquired.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Expr, ceildiv, is_nonnegative, maximum, substitute, symbols_of
from flowc.ir.lowering import View

ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Input:
    """The caller's buffer for a parameter."""

    index: int


@dataclass(frozen=True, slots=True)
class Output:
    """The caller's buffer for a result."""

    index: int


@dataclass(frozen=True, slots=True)
class Arena:
    """A slot of the run's one arena."""

    slot: int


@dataclass(frozen=True, slots=True)
class Heap:
    """A block acquired when its size becomes known, which no bound foretells."""

    block: int


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """Bytes among the weights. `array` is the value, row-major."""

    array: np.ndarray


Place = Input | Output | Arena | Heap | Constant


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Launches the kernel of a cluster."""

    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class ReadSizes:
    """Binds sizes to the elements of an integer value."""

    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class WriteSizes:
    """Writes a vector of sizes."""

    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """Copies a value to a result's buffer."""

    value: Value
    output: int


Step = Run | ReadSizes | WriteSizes | Copy


@dataclass(frozen=True, slots=True)
class Needs:
    """Bytes that the kernels of a cluster need beside its values: `scratch` for each worker,
    `workspace` shared by the cluster's launches."""

    scratch: Dim = 0
    workspace: Dim = 0


@dataclass(slots=True)
class Slot:
    """Bytes of the arena: `size` covers every value that uses it. `last_use`: a step's number."""

    size: Dim
    last_use: int


@dataclass(slots=True)
class Plan:
    """`places` of values (a reshape has its source's), `steps` in order, arena `slots`, `scratch`:
    bytes that one worker needs at most; `workspace` places by cluster; `heap` block sizes, among
    them scratch whose size the run finds (`late_scratch`, for each worker). `bounds`: the upper
    bound of each data-dependent size, None where there is none."""

    computation: Computation
    steps: list[Step] = field(default_factory=list[Step])
    places: dict[Value, Place] = field(default_factory=dict[Value, Place])
    slots: list[Slot] = field(default_factory=list[Slot])
    heap: list[Dim] = field(default_factory=list[Dim])
    scratch: Dim = 0
    workspace: dict[Node, Place] = field(default_factory=dict[Node, Place])
    late_scratch: dict[Node, Heap] = field(default_factory=dict[Node, Heap])
    bounds: dict[str, Dim | None] = field(default_factory=dict[str, Dim | None])

    @property
    def arena_bytes(self) -> Dim:
        total: Dim = 0
        for slot in self.slots:
            total = total + slot.size
        return total

    def bounded(self, dim: Dim) -> Dim | None:
        """The upper bound of an expression over sizes; None where there is none."""
        for _ in range(64):
            late = [n for n in symbols_of(dim) if n in self.bounds]
            if not late:
                return dim
            bound = self.bounds[late[0]]
            if bound is None:
                return None
            dim = substitute(dim, {late[0]: bound})
        return None


def bytes_of(value: Value) -> Dim:
    return value.type.size * value.type.dtype.size


def root_of(value: Value) -> Value:
    """The value whose bytes this one is: reshapes move no data."""
    while isinstance(value.node.lowering, View):
        value = value.node.inputs[0]
    return value


class _Planner:
    def __init__(self, c: Computation, needs: Mapping[Node, Needs]) -> None:
        self.plan = Plan(c)
        self.c = c
        self.needs = needs
        self.free: list[int] = []

    def run(self) -> Plan:
        plan, c = self.plan, self.c
        for node in c.nodes:
            plan.bounds.update(node.sizes)
        self._schedule()
        last = self._last_uses()
        self._place_ends()
        for number, step in enumerate(plan.steps):
            match step:
                case Run(node):
                    for value in node.outputs:
                        self._place(value, number, last)
                    needs = self.needs[node]
                    self._place_scratch(node, needs.scratch)
                    if needs.workspace != 0:
                        plan.workspace[node] = self._place_workspace(needs.workspace, number)
                case WriteSizes(node):
                    self._place(node.output, number, last)
                case _:
                    pass
            self._release(number)
        for value in list(last):
            root = root_of(value)
            if value is not root and root in plan.places:
                plan.places[value] = plan.places[root]
        return plan

    def _schedule(self) -> None:
        """Steps in the order of the nodes. Sizes that only reshapes take are never written."""
        readers = [n for n in self.c.nodes if not isinstance(n.lowering, View)]
        read = {root_of(v) for n in readers for v in n.inputs} | set(map(root_of, self.c.results))
        for node in self.c.nodes:
            match node.op.name:
                case "cluster":
                    self.plan.steps.append(Run(node))
                case "read_sizes":
                    self.plan.steps.append(ReadSizes(node))
                case "sizes" if node.output in read:
                    self.plan.steps.append(WriteSizes(node))
                case _:
                    pass

    def _last_uses(self) -> dict[Value, int]:
        """For each value's root the last step that reads it."""
        last: dict[Value, int] = {}
        for number, step in enumerate(self.plan.steps):
            if isinstance(step, Copy):
                continue
            for value in step.node.inputs:
                last[root_of(value)] = number
                last[value] = number
            for value in step.node.outputs:
                last.setdefault(value, number)
        for value in self.c.results:
            last[root_of(value)] = len(self.plan.steps)
            last[value] = len(self.plan.steps)
        return last

    def _place_ends(self) -> None:
        """Parameters and constants where they are; results in the caller's buffers."""
        plan = self.plan
        for i, parameter in enumerate(self.c.parameters):
            plan.places[parameter.output] = Input(i)
        for node in self.c.nodes:
            if node.op.name == "const":
                plan.places[node.output] = Constant(node.attrs["value"])
        for i, value in enumerate(self.c.results):
            root = root_of(value)
            if root in plan.places:
                plan.steps.append(Copy(value, i))
            else:
                plan.places[root] = Output(i)

    def _place(self, value: Value, number: int, last: dict[Value, int]) -> None:
        if value in self.plan.places:
            return
        size = self.plan.bounded(bytes_of(value))
        if size is None:
            self.plan.places[value] = Heap(len(self.plan.heap))
            self.plan.heap.append(bytes_of(value))
            return
        self.plan.places[value] = Arena(self._slot(size, last.get(value, number)))

    def _place_scratch(self, node: Node, size: Dim) -> None:
        """Every worker's scratch is one piece of the arena, unless its size is known too late."""
        known = self.plan.bounded(size)
        if known is None:
            self.plan.late_scratch[node] = Heap(len(self.plan.heap))
            self.plan.heap.append(size)
        else:
            self.plan.scratch = maximum(self.plan.scratch, known)

    def _place_workspace(self, size: Dim, number: int) -> Place:
        known = self.plan.bounded(size)
        if known is None:
            self.plan.heap.append(size)
            return Heap(len(self.plan.heap) - 1)
        return Arena(self._slot(known, number))

    def _slot(self, size: Dim, last_use: int) -> int:
        """A free slot that fits best, a free one made larger, or a new one."""
        size = ceildiv(size, ALIGNMENT) * ALIGNMENT
        slots = self.plan.slots
        fitting = [i for i in self.free if is_nonnegative(slots[i].size - size)]
        if fitting:
            chosen = min(fitting, key=lambda i: _rough(slots[i].size))
        elif self.free:
            chosen = max(self.free, key=lambda i: _rough(slots[i].size))
            slots[chosen].size = maximum(slots[chosen].size, size)
        else:
            slots.append(Slot(size, last_use))
            return len(slots) - 1
        self.free.remove(chosen)
        slots[chosen].last_use = last_use
        return chosen

    def _release(self, number: int) -> None:
        for i, slot in enumerate(self.plan.slots):
            if slot.last_use <= number and i not in self.free:
                self.free.append(i)


def _rough(size: Dim) -> int:
    """A size to rank slots by, with every symbol taken as 64."""
    if isinstance(size, Expr):
        size = substitute(size, {n: 64 for n in symbols_of(size)})
    return size if isinstance(size, int) else 1 << 40


def make_plan(c: Computation, needs: Mapping[Node, Needs]) -> Plan:
    """The plan of a fused Computation. `needs`: for each cluster the memory of its kernels."""
    return _Planner(c, needs).run()
