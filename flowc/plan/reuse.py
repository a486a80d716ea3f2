"""Buffer aliasing: which values take over the memory of dead ones, through loops and branches.

In: a Computation of clusters, and which of its parameters it may overwrite. Out: a `Reuse`, from
which planner.py places values. Invariant: a value is taken over at most once, at its last use, by
an output of the step that uses it.

A kernel that updates an input takes its place; a loop's output that of the initial value; a
branch's output that of an operand that one of the branches returns, changed or not. Values linked
so have one place, which `demand` fits to all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from flowc.dataclass import dataclass
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Symbol
from flowc.ir.lowering import Host, View
from flowc.passes.analysis.aliasing import root_of, updated_input
from flowc.plan.plan import Bounds, bytes_of, upper_bound

# What a place must allow: anything will do, loops exchange it, its size is found by the run.
PLAIN, EXCHANGED, GROWABLE = range(3)
SCALAR_BYTES = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Carry:
    """How a loop hands a value to its next iteration. `source`: the carried parameter whose place
    holds it at the end of the body (None: it is written to a place of its own)."""

    source: int | None
    demand: int


def is_scalar(value: Value) -> bool:
    """Whether copying the value costs no more than exchanging pointers to it."""
    return bytes_of(value) in SCALAR_BYTES


def steps_of(c: Computation) -> list[Node]:
    """The nodes that do something. Sizes that only reshapes take are never written."""
    readers = [n for n in c.nodes if not isinstance(n.lowering, View)]
    read = {root_of(v) for n in readers for v in n.inputs} | set(map(root_of, c.results))
    return [
        n
        for n in c.nodes
        if n.op.name in ("cluster", "read_sizes", "while", "if")
        or isinstance(n.lowering, Host)
        or (n.op.name == "sizes" and n.output in read)
    ]


def defined_bounds(c: Computation) -> dict[Symbol, Dim | None]:
    """The bounds of the sizes that a Computation's own nodes define."""
    return {size: bound for node in c.nodes for size, bound in node.sizes}


class Reuse:
    """`steps` in order; `last`: for each root the number of the step that reads it last;
    `takes[v]`: the value whose place v takes; `bodies`: those of loops and branches; `carries`: how
    loops hand on what they carry."""

    def __init__(self, c: Computation, owned: Collection[Value], bounds: Bounds) -> None:
        self.c = c
        self.bounds = {**bounds, **defined_bounds(c)}
        self.steps = steps_of(c)
        self.last = self._last_uses()
        self.owned = set(owned)
        self.takes: dict[Value, Value] = {}
        self.taken: dict[Value, Value] = {}
        self.bodies: dict[Node, tuple[Reuse, Reuse]] = {}
        self.carries: dict[Node, list[Carry]] = {}
        for number, node in enumerate(self.steps):
            match node.op.name:
                case "cluster":
                    self._link_update(number, node)
                case "while":
                    self._link_loop(number, node)
                case "if":
                    self._link_branch(number, node)
                case _:
                    pass
            self.owned.update(node.outputs)
        self.demand = self._demands()

    def head_of(self, value: Value) -> Value:
        """The first of the values that stood where this one stands."""
        value = root_of(value)
        while value in self.takes:
            value = self.takes[value]
        return value

    def is_late(self, value: Value) -> bool:
        """Whether no bound foretells the size."""
        return upper_bound(bytes_of(value), self.bounds) is None

    def _last_uses(self) -> dict[Value, int]:
        last: dict[Value, int] = {}
        for number, node in enumerate(self.steps):
            last.update((root_of(v), number) for v in node.inputs)
            for value in node.outputs:
                last.setdefault(value, number)
        last.update((root_of(v), len(self.steps)) for v in self.c.results)
        return last

    # -- what takes over what

    def _dies(self, value: Value, number: int, node: Node) -> bool:
        """Whether a step may overwrite an input: it is ours, and nothing else reads it."""
        root = root_of(value)
        reads = sum(root_of(v) is root for v in node.inputs)
        return root in self.owned and self.last[root] == number and reads == 1

    def _link(self, output: Value, value: Value) -> None:
        root = root_of(value)
        self.takes[output], self.taken[root] = root, output

    def _fits(self, output: Value, value: Value, *, grows: bool = False) -> bool:
        """Whether one place can hold both: sizes are equal, or the place is made to grow."""
        root = root_of(value)
        if bytes_of(output) == bytes_of(root):
            return True
        head = self.head_of(root)
        if head.node.op.name in ("parameter", "while") and is_scalar(head):
            return False  # scalars of loops do not grow
        return grows or self.is_late(output) or self.is_late(root)

    def _link_update(self, number: int, node: Node) -> None:
        value = updated_input(node)
        if value is None or not self._dies(value, number, node):
            return
        if self._fits(node.outputs[0], value):
            self._link(node.outputs[0], value)

    def _link_loop(self, number: int, node: Node) -> None:
        count = node.attrs["carried"]
        outside = {**self.bounds, **dict.fromkeys(node.attrs["varying"])}
        body: Computation = node.attrs["body"]
        own = [p.output for p in body.parameters[:count]]
        inner = Reuse(body, own, outside)
        self.bodies[node] = (Reuse(node.attrs["condition"], (), outside), inner)
        self.carries[node] = _carries(inner, own)
        for i, carry in enumerate(self.carries[node]):
            value = node.inputs[i]
            if is_scalar(own[i]) or not self._dies(value, number, node):
                continue
            if self._fits(own[i], value, grows=carry.demand == GROWABLE):
                self._link(node.outputs[i], value)

    def _link_branch(self, number: int, node: Node) -> None:
        operands = node.inputs[1:]
        dying = [j for j, v in enumerate(operands) if self._dies(v, number, node)]
        bodies: list[Reuse] = []
        for name in ("then", "otherwise"):
            branch: Computation = node.attrs[name]
            own = [branch.parameters[j].output for j in dying]
            bodies.append(Reuse(branch, own, self.bounds))
        self.bodies[node] = (bodies[0], bodies[1])
        returned: dict[int, set[int]] = {}  # by operand: the results that stand in its place
        for body in bodies:
            index = {p.output: j for j, p in enumerate(body.c.parameters)}
            for k, value in enumerate(body.c.results):
                j = index.get(body.head_of(value))
                if j is not None:
                    returned.setdefault(j, set()).add(k)
        for j in dying:
            results = returned.get(j, set())
            if len(results) != 1:
                continue
            output = node.outputs[next(iter(results))]
            if output not in self.takes and self._fits(output, operands[j]):
                self._link(output, operands[j])

    # -- what places must allow

    def _demands(self) -> dict[Value, int]:
        demand: dict[Value, int] = {}
        inside: dict[Value, int] = {}  # what branches do with an operand that they may overwrite
        values = [p.output for p in self.c.parameters]
        for node in reversed(self.steps):
            own = self._own_demands(node)
            for value, least in zip(node.outputs, own):
                demand[value] = self._demand(value, max(least, inside.get(value, 0)), demand)
            if node.op.name == "if":
                for j, value in enumerate(node.inputs[1:]):
                    root = root_of(value)
                    for body in self.bodies[node]:
                        parameter = body.c.parameters[j].output
                        if parameter in body.owned:
                            found = max(inside.get(root, 0), body.demand[parameter])
                            inside[root] = found
        for value in values:
            demand[value] = self._demand(value, inside.get(value, 0), demand)
        return demand

    def _demand(self, value: Value, least: int, demand: dict[Value, int]) -> int:
        """That of the value and of those that take its place one after another."""
        if self.is_late(value):
            return GROWABLE
        following = self.taken.get(value)
        return max(least, demand[following]) if following is not None else least

    def _own_demands(self, node: Node) -> Sequence[int]:
        """What the bodies of a node ask of its outputs' places."""
        if node.op.name == "while":
            return [carry.demand for carry in self.carries[node]]
        found = [PLAIN] * len(node.outputs)
        if node.op.name == "if":
            for body in self.bodies[node]:
                for k, value in enumerate(body.c.results):
                    found[k] = max(found[k], body.demand.get(body.head_of(value), PLAIN))
        return found


def _carries(body: Reuse, own: list[Value]) -> list[Carry]:
    """How each carried value of a loop gets its next value; `own` are the body's parameters for
    them."""
    heads = [body.head_of(v) for v in body.c.results]
    sources: list[int | None] = [i if h is own[i] else None for i, h in enumerate(heads)]
    index = {p: j for j, p in enumerate(own)}
    for i, head in enumerate(heads):
        j = index.get(head)
        if sources[i] is None and j is not None and j not in sources and _may_swap(body, own, i, j):
            sources[i] = j
    demand = [body.demand[p] for p in own]
    for i, head in enumerate(heads):
        if is_scalar(own[i]):
            continue
        j = sources[i]
        least = GROWABLE if body.is_late(body.c.results[i]) else EXCHANGED if j != i else PLAIN
        written = body.demand[head] if head in body.owned and head not in index else PLAIN
        demand[i] = max(demand[i], least, written)
        if j is not None and j != i:
            demand[j] = max(demand[j], EXCHANGED)
    for _ in own:  # places that are exchanged are of one kind
        for i, j in enumerate(sources):
            if j is not None:
                demand[i] = demand[j] = max(demand[i], demand[j])
    return [Carry(source, least) for source, least in zip(sources, demand)]


def _may_swap(body: Reuse, own: list[Value], i: int, j: int) -> bool:
    """Whether the place of one carried value can become that of another."""
    if is_scalar(own[i]) or is_scalar(own[j]):
        return False
    late = body.is_late(own[i]) and body.is_late(own[j])
    return late or bytes_of(own[i]) == bytes_of(own[j])
