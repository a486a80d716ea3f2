"""What a Plan is: ordered steps, nested where they repeat or depend on a condition, and places.

In: planner.py makes it from a fused Computation. Out: the driver is emitted from it. Invariants: a
value is written before it is read; two values share memory only when their lifetimes do not meet,
or when one is a changed copy of the other that nobody reads again; a slot's size is an expression
over the sizes of the inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

import numpy as np

from flowc.dataclass import dataclass
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Symbol, substitute, symbols_of
from flowc.passes.analysis.aliasing import root_of

ALIGNMENT = 64
Bounds = Mapping[Symbol, Dim | None]


class Side(Enum):
    """Where a value's memory is and where a kernel runs: host or device."""

    HOST = "host"
    DEVICE = "device"


HOST, DEVICE = Side.HOST, Side.DEVICE


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


@dataclass(slots=True)
class Slot:
    """Bytes of the arena, in use from the time `first` until `last`: steps are numbered in order,
    those of bodies within their loop or branch. Slots that are never in use at the same time may
    be the same bytes (`arena_layout.py`)."""

    size: Dim
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Local:
    """A few bytes of the stack, for a scalar of a loop or a branch."""

    number: int


@dataclass(frozen=True, slots=True)
class Cell:
    """A pointer to bytes of the arena, which loops exchange with those of cells of equal size."""

    number: int


@dataclass(frozen=True, slots=True)
class Heap:
    """A block acquired when its size becomes known, which no bound foretells. It is kept for later
    values and iterations as long as it is large enough, and loops exchange it with other blocks."""

    block: int


@dataclass(frozen=True, slots=True, eq=False)
class ConstantPlace:
    """Bytes among the weights. `array` is the value, row-major."""

    array: np.ndarray


Place = Input | Output | Arena | Local | Cell | Heap | ConstantPlace


@dataclass(frozen=True, slots=True)
class Needs:
    """Bytes that the kernels of a cluster need beside its values: `scratch` for each worker,
    `workspace` shared by the cluster's launches."""

    scratch: Dim = 0
    workspace: Dim = 0


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Launches the kernels of a cluster. `late_scratch`: where each worker's scratch is when its
    size is known too late for the arena.

    A kernel that updates an input finds its bytes in output 0: because both have one place, or
    because the step copies them there first.
    """

    node: Node
    needs: Needs = Needs()
    workspace: Place | None = None
    late_scratch: Heap | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CallHost:
    """Calls a function of Python, which may find sizes, and copies what it returns."""

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
    """Copies a value to a place: the caller's buffer for a result, or what a loop carries. `side`:
    in whose memory."""

    value: Value
    target: Place
    side: Side = HOST


@dataclass(frozen=True, slots=True, eq=False)
class Transfer:
    """Copies a value from one side's memory of `source` to the other's, `side`, of `target`."""

    value: Value
    source: Place
    target: Place
    side: Side


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """Runs `body` while `condition` holds.

    Carried values are at the places of the body's parameters. At the end of an iteration all of
    `exchanged` (a cell or block takes the pointer of another) and `assigned` (a scalar is
    replaced by a value of the body, in the memory of a side) happen at once.
    """

    node: Node
    condition: Region
    body: Region
    exchanged: tuple[tuple[Place, Place], ...]
    assigned: tuple[tuple[Place, Value, Side], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """Runs one of two regions, which leave the outputs of the node at equal places."""

    node: Node
    then: Region
    otherwise: Region


Step = Run | CallHost | ReadSizes | WriteSizes | Copy | Transfer | Loop | Branch


@dataclass(slots=True, eq=False)
class Region:
    """The steps of a Computation in order. `places` of its values (a reshape has its source's);
    `bounds`: the upper bound of each data-dependent size that may be used, None for unbounded."""

    computation: Computation
    steps: list[Step] = field(default_factory=list[Step])
    places: dict[Value, Place] = field(default_factory=dict[Value, Place])
    bounds: dict[Symbol, Dim | None] = field(default_factory=dict[Symbol, Dim | None])

    def place_of(self, value: Value) -> Place:
        return self.places[root_of(value)]


@dataclass(slots=True)
class Plan:
    """`top`: the steps of the whole run; the arena's `slots`; the sizes in bytes of what its
    `cells` hold and of the `locals`; how many `blocks` there are; `scratch`: bytes that one worker
    needs at most, at the `scratch_times`; `in_place`: parameters whose memory is overwritten, each
    with its result, which has no other. `on_device`: the clusters whose kernels a device runs, and
    `sides`: whose memory each place is in, where it is not the host's alone. `resident`: inputs and
    outputs for which the caller gives memory of the device."""

    top: Region
    slots: list[Slot] = field(default_factory=list[Slot])
    cells: list[Dim] = field(default_factory=list[Dim])
    locals: list[int] = field(default_factory=list[int])
    blocks: int = 0
    scratch: Dim = 0
    scratch_times: list[int] = field(default_factory=list[int])
    in_place: tuple[tuple[int, int], ...] = ()
    on_device: frozenset[Node] = frozenset()
    sides: dict[Place, frozenset[Side]] = field(default_factory=dict[Place, frozenset[Side]])
    resident: frozenset[Place] = frozenset()

    def is_on(self, place: Place, side: Side) -> bool:
        """Whether a place has memory on a side."""
        if not self.on_device:
            return side == HOST
        return side in self.sides.get(place, ())

    @property
    def computation(self) -> Computation:
        return self.top.computation

    @property
    def steps(self) -> list[Step]:
        return self.top.steps

    @property
    def places(self) -> dict[Value, Place]:
        return self.top.places

    def bounded(self, dim: Dim) -> Dim | None:
        """The upper bound of an expression over sizes of the run; None where there is none."""
        return upper_bound(dim, self.top.bounds)


def upper_bound(dim: Dim, bounds: Bounds) -> Dim | None:
    """The upper bound of an expression; None where a size in it has none."""
    for _ in range(64):
        late = [n for n in symbols_of(dim) if n in bounds]
        if not late:
            return dim
        bound = bounds[late[0]]
        if bound is None:
            return None
        dim = substitute(dim, {late[0]: bound})
    return None


def bytes_of(value: Value) -> Dim:
    return value.type.size * value.type.dtype.held_size


def rough(size: Dim) -> int:
    """A size to rank others by, with every symbol taken as 64."""
    found = substitute(size, dict.fromkeys(symbols_of(size), 64))
    assert isinstance(found, int)
    return found


def most_assigned(region: Region) -> int:
    """The most scalars that any loop carries from one iteration to the next."""
    most = 0
    for step in region.steps:
        match step:
            case Loop(condition=condition, body=body):
                inner = max(most_assigned(condition), most_assigned(body))
                most = max(most, len(step.assigned), inner)
            case Branch(then=then, otherwise=otherwise):
                most = max(most, most_assigned(then), most_assigned(otherwise))
            case Run() | CallHost() | ReadSizes() | WriteSizes() | Copy() | Transfer():
                pass
    return most
