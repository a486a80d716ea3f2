"""A run as a sequence of native segments and host steps that may block.

In: what is asked of a graph, and what is fed. Out: its segments, each a fetch set of its own, which
run one after another: what one computes and a later one needs is fed to that. Invariants: a node
with an effect is in one segment; a segment has either steps that may block or variables; a tensor
has one value in all segments, but for a name of a variable's memory (`v/read`), which is read anew.
Where a run has both a producer and a consumer of one state (`run([q.dequeue(), q.enqueue(x)])`),
each step at such a state is a segment of its own, and operations that depend on the same of these
steps are one: while one waits, the others go on.

A fetch set without steps that may block is one segment. So is one with TensorFlow 1's loops, one
with a conditional of TensorFlow 1 of which parts would be in several segments (its tensors may be
dead), and one in which a reference to a variable would pass from one segment to another.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.graph import Operation, Tensor
from flowc.graph.control_types import FRAME_TYPES, MERGE, SWITCH, SWITCH_N
from flowc.graph.op_info import has_trait
from flowc.ir.traversal import inputs_first

HANDLES = (dtypes.resource, dtypes.variant)
CONTROL = FRAME_TYPES | {SWITCH_N}
_LOOPS = CONTROL - SWITCH - MERGE


def _versions(*types: str) -> frozenset[str]:
    return frozenset(name + version for name in types for version in ("", "V2"))


# Steps at a queue or its like that add elements to it, or close it, and those that take some out.
_PRODUCERS = _versions(
    *("QueueEnqueue", "QueueEnqueueMany", "QueueClose", "Stage"),
    *("BarrierInsertMany", "BarrierClose", "AccumulatorApplyGradient"),
    *("SparseAccumulatorApplyGradient", "ResourceAccumulatorApplyGradient"),
    *("MapStage", "OrderedMapStage"),
)
_KEYED = [
    f"{kind}{end}" for kind in ("Map", "OrderedMap") for end in ("Unstage", "UnstageNoKey", "Peek")
]
_CONSUMERS = _versions(
    *("QueueDequeue", "QueueDequeueMany", "QueueDequeueUpTo", "Unstage", "StagePeek"),
    *("BarrierTakeMany", "ReaderRead", "ReaderReadUpTo", "AccumulatorTakeGradient"),
    *("SparseAccumulatorTakeGradient", "ResourceAccumulatorTakeGradient"),
    *_KEYED,
)
# Steps that can be retried: while they wait they have changed nothing. One that adds several
# elements may have added some.
_RETRIABLE = _versions(
    *("QueueEnqueue", "QueueDequeue", "QueueDequeueMany", "QueueDequeueUpTo"),
    *("Stage", "Unstage", "StagePeek", "MapStage", "OrderedMapStage", *_KEYED),
)


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Tensors to compute and operations to run, where `done` ran before. `feeds`: what it needs of
    what is fed and of what earlier segments computed. `after`: the segments that run before it.
    `may_wait`: it is a step that may wait for others of the same run; `is_retriable`: one that can
    be tried without waiting, and again later. `by_python`: it is computed without native code.
    `varying`: those of the feeds whose sizes differ from run to run."""

    tensors: tuple[Tensor, ...]
    operations: tuple[Operation, ...]
    feeds: tuple[Tensor, ...] = ()
    done: frozenset[Operation] = frozenset()
    after: frozenset[Segment] = frozenset()
    may_wait: bool = False
    is_retriable: bool = False
    by_python: bool = False
    varying: frozenset[Tensor] = frozenset()

    def needs(self, fed: Collection[Tensor]) -> list[Operation]:
        """The operations that run, each after what it depends on."""
        ends = [*(t.op for t in self.tensors if t not in fed), *self.operations]
        return needed(ends, fed, self.done)


def may_block(asked: Segment, fed: Collection[Tensor]) -> bool:
    """Whether what is asked has a step that may block."""
    return any(has_trait(op.type, "may_block") for op in asked.needs(fed))


def segments_of(asked: Segment, fed: Collection[Tensor]) -> list[Segment]:
    """The segments of what is asked, which has a step that may block, in order; none where it is
    one."""
    order = asked.needs(fed)
    ends = _steps_before(order, fed, asked.done)
    if not (ends or any(map(_has_state, order))) or any(op.type in _LOOPS for op in order):
        return []
    levels = _Levels(order, fed, asked.done)
    places = _places(levels, ends)
    if _is_branch_cut(order, fed, asked.done, places):
        return []
    crossing = _crossing(order, fed, places)
    if any(t.is_ref or t.base_dtype in HANDLES for t in crossing):
        return []
    return _in_order(asked, order, fed, levels, places, crossing)


def _in_order(
    asked: Segment,
    order: Sequence[Operation],
    fed: Collection[Tensor],
    levels: _Levels,
    places: Mapping[Operation, Place],
    crossing: Sequence[Tensor],
) -> list[Segment]:
    # Fetched contents of variables are read in the last segment that touches variables.
    late = max((place for place in places.values() if place[0] % 2 == 0), default=Place(0))
    wanted = {t: places[t.op] for t in crossing}
    wanted |= {t: places.get(t.op, late) for t in asked.tensors if t not in fed}
    operands = _operands(fed, levels, places)
    wanted |= {t: Place(level) for t, level in operands.items() if t not in wanted}
    reading = (Place(level - 1) for level, read in levels.read.items() if read)
    found: dict[Place, Segment] = {}
    for place in sorted({*places.values(), *wanted.values(), *reading}):
        level, depth, _ = place
        given = dict.fromkeys(t for t, where in wanted.items() if where == place)
        if place == Place(level):
            given |= dict.fromkeys(levels.read.get(level + 1, ()))
        inside = [op for op in order if places.get(op) == place]
        ends = _ends(inside, fed)
        done = frozenset(op for op in order if places.get(op, place) < place)
        ran = done | asked.done
        cut = {*fed, *levels.read.get(level, ()), *(t for t in crossing if t.op in done)}
        waits = depth % 2 == 1
        if waits:
            cut |= operands.keys()
        runs = needed([*(t.op for t in given), *ends], cut, ran)
        feeds = tuple(dict.fromkeys(t for op in runs for t in op.inputs if t in cut))
        before = {places[o] for op in runs for o in _before(op, fed) if o in done}
        after = frozenset(
            earlier
            for where, earlier in found.items()
            if where in before
            or not {*earlier.tensors}.isdisjoint(feeds)
            or (level % 2 == 0 and where[0] % 2 == 0)
        )
        is_retriable = waits and inside[0].type in _RETRIABLE
        found[place] = Segment(tuple(given), tuple(ends), feeds, ran, after, waits, is_retriable)
    return list(found.values()) if len(found) > 1 else []


class Place(NamedTuple):
    """Where an operation runs. `depth`: odd for a step that is a segment of its own; it grows with
    the steps of that kind that it depends on. `number` tells segments of one depth apart."""

    level: int
    depth: int = 0
    number: int = 0


def _places(
    levels: _Levels, ends: Mapping[Operation, frozenset[Operation]]
) -> dict[Operation, Place]:
    """The place of each operation that has a level. `ends`: what `_steps_before` found."""
    numbers: dict[Any, int] = {}
    found: dict[Operation, Place] = {}
    for op, level in levels.of.items():
        if not ends or level % 2 == 0:
            found[op] = Place(level)
            continue
        steps = ends[op]
        is_step = op.type in _PRODUCERS or op.type in _CONSUMERS
        number = 0 if not (steps or is_step) else len(numbers) + 1
        number = numbers.setdefault(op if is_step else steps, number)
        found[op] = Place(level, 2 * len(steps) + is_step, number)
    return found


def _steps_before(
    order: Sequence[Operation], fed: Collection[Tensor], done: Collection[Operation]
) -> dict[Operation, frozenset[Operation]]:
    """The producers and consumers that each operation depends on, where some of one state do not
    depend on each other, so that one may wait for the other; nothing where there are none."""
    producers = [op for op in order if op.type in _PRODUCERS]
    consumers = [op for op in order if op.type in _CONSUMERS]
    states = [{s for op in ops for s in _states(op)} for ops in (producers, consumers)]
    if states[0].isdisjoint(states[1]):
        return {}
    steps, found = {*producers, *consumers}, dict[Operation, frozenset[Operation]]()
    for op in order:
        before = _before(op, fed, done)
        found[op] = frozenset(steps.intersection(before)).union(*(found[o] for o in before))
    for x, y in itertools.product(producers, consumers):
        if x not in found[y] and y not in found[x] and _states(x) & _states(y):
            return found
    return {}


def _states(op: Operation) -> set[object]:
    """The names of the states that a step reads or changes."""
    handles = [t.op for t in op.inputs if t.is_ref or t.base_dtype in HANDLES]
    found = set[object]()
    for handle in handles or [op]:
        while handle.inputs and has_trait(handle.type, "identity"):
            handle = handle.inputs[0].op
        attrs = handle.attrs
        found.add((attrs.get("container") or "", attrs.get("shared_name") or handle.name))
    return found


def _operands(
    fed: Collection[Tensor], levels: _Levels, places: Mapping[Operation, Place]
) -> dict[Tensor, int]:
    """Operands of steps with a segment of their own that have no segment, as they are recomputed
    where they are needed. Such a step runs no native code, so they are computed at the begin of its
    level."""
    return {
        t: place.level
        for op, place in places.items()
        if place.depth % 2
        for t in op.inputs
        if t not in fed and t.op not in places and t.op not in levels.aliases
        if t.op.inputs and not t.is_ref and t.base_dtype not in HANDLES
    }


def _crossing(
    order: Sequence[Operation], fed: Collection[Tensor], places: Mapping[Operation, Place]
) -> list[Tensor]:
    """Tensors that one segment computes and a later one reads."""
    found = {
        t: None
        for op in order
        for t in op.inputs
        if t not in fed and t.op in places and places[t.op] != places.get(op)
    }
    return list(found)


def _is_branch_cut(
    order: Sequence[Operation],
    fed: Collection[Tensor],
    done: Collection[Operation],
    places: Mapping[Operation, Place],
) -> bool:
    """Whether what may be dead would pass from one segment to another: something that a `Switch`
    of TensorFlow 1 gives, as long as no `Merge` has joined it with the other side."""
    if not any(op.type in SWITCH for op in order):
        return False
    conditions: dict[Operation, frozenset[Any]] = {}  # that must hold, or the operation is dead
    for op in order:
        each = [_conditions(t, conditions) for t in op.inputs if t not in fed]
        waits = [conditions[c] for c in op.control_inputs if c not in done]
        joined = frozenset.intersection if op.type in MERGE and each else frozenset().union
        conditions[op] = joined(*each).union(*waits)
        before = [t.op for t, held in zip((t for t in op.inputs if t not in fed), each) if held]
        before += [c for c in op.control_inputs if c not in done and conditions[c]]
        if any(o in places and places[o] != places.get(op) for o in before):
            return True
    return False


def _conditions(
    tensor: Tensor, conditions: Mapping[Operation, frozenset[Any]]
) -> frozenset[tuple[Tensor, int]]:
    """(predicate, side) of each conditional that a tensor is in."""
    op = tensor.op
    if op.type not in SWITCH:
        return conditions[op]
    predicate = op.inputs[1]
    while has_trait(predicate.op.type, "identity"):
        predicate = predicate.op.inputs[0]
    return conditions[op] | {(predicate, tensor.value_index)}


def _has_state(op: Operation) -> bool:
    """Whether an operation is a variable, or draws from a stream of random numbers, whose state is
    one."""
    return has_trait(op.type, "variable") or has_trait(op.type, "random")


def _before(
    op: Operation, fed: Collection[Tensor], done: Collection[Operation] = ()
) -> list[Operation]:
    waits = [c for c in op.control_inputs if c not in done]
    return [*(t.op for t in op.inputs if t not in fed), *waits]


def needed(
    ends: Iterable[Operation], fed: Collection[Tensor], done: Collection[Operation] = ()
) -> list[Operation]:
    """What `ends` depend on, themselves too, each after what it depends on itself."""
    return inputs_first(ends, lambda op: _before(op, fed, done))


class _Levels:
    """The segment of each operation (`of`): an odd one for what may block, an even one for what
    touches variables; the others follow what they depend on.

    Operations without a segment are rematerialized in each that needs them: variables and aliases
    of their memory (`aliases`), what depends on constants alone, and sizes that follow from feeds.
    `read`: the variables whose contents each odd segment is fed with, as the segment before it
    reads them.
    """

    def __init__(
        self, order: Sequence[Operation], fed: Collection[Tensor], done: Collection[Operation]
    ) -> None:
        self._fed, self._done = fed, done
        self.of: dict[Operation, int] = {}
        self.aliases: set[Operation] = set()
        self.read: dict[int, dict[Tensor, None]] = {}
        for op in order:
            before = _before(op, fed, done)
            touches = any(o in self.aliases for o in before)
            if self._is_rematerialized(op, before):
                if touches or has_trait(op.type, "variable"):
                    self.aliases.add(op)
                continue
            least = max((self.of[o] for o in before if o in self.of), default=0)
            if has_trait(op.type, "may_block"):
                least += 1 - least % 2
                held = [t for t in op.inputs if t not in fed and t.base_dtype not in HANDLES]
                contents = [t for t in held if t.op in self.aliases]
                self.read.setdefault(least, {}).update(dict.fromkeys(contents))
            elif touches or has_trait(op.type, "random"):
                least += least % 2
            self.of[op] = least
        self._drop_empty_start()

    def _drop_empty_start(self) -> None:
        """Without a segment 0 where it would touch no variables: its operations join segment 1."""
        first = [op for op, level in self.of.items() if level == 0]
        touching = [
            op
            for op in first
            if has_trait(op.type, "random")
            or any(o in self.aliases for o in _before(op, self._fed, self._done))
        ]
        if not touching and not self.read.get(1):
            self.of |= dict.fromkeys(first, 1)

    def _is_rematerialized(self, op: Operation, before: Sequence[Operation]) -> bool:
        if has_trait(op.type, "variable"):
            return True
        if has_trait(op.type, "stateful") or has_trait(op.type, "may_block"):
            return False
        if any(o in self.of for o in before):
            return False
        if any(o in self.aliases for o in before):
            # As in TensorFlow: an alias of the variable's memory.
            return has_trait(op.type, "identity") and not op.control_inputs
        return all(t not in self._fed for t in op.inputs) or all(map(_is_size, op.outputs))


def _is_size(tensor: Tensor) -> bool:
    rank = tensor.shape.ndims
    return tensor.base_dtype in (dtypes.i32, dtypes.i64) and rank is not None and rank < 2


def _ends(ops: Sequence[Operation], fed: Collection[Tensor]) -> list[Operation]:
    """The operations of a segment that no other one of them depends on."""
    used = {o for op in ops for o in _before(op, fed)}
    return [op for op in ops if op not in used]
