"""A run as a sequence of native segments and host steps that may block.

In: what is asked of a graph, and what is fed. Out: its segments, each a fetch set of its own, which
run one after another: what one computes and a later one needs is fed to that. Invariants: a node
with an effect is in one segment; a segment has either steps that may block or variables; a tensor
has one value in all segments, but for a name of a variable's memory (`v/read`), which is read anew.

A fetch set that has no need of it is one segment: so is one with TensorFlow 1's switches and
loops, whose tensors may be dead, and one in which a reference to a variable passes from one segment
to another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from flowc import dtypes
from flowc.graph import Operation, Tensor
from flowc.graph.control_types import FRAME_TYPES, SWITCH_N
from flowc.graph.op_info import has_trait
from flowc.ir.traversal import inputs_first

HANDLES = (dtypes.resource, dtypes.variant)
CONTROL = FRAME_TYPES | {SWITCH_N}


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Tensors to compute and operations to run, where `done` ran before. `feeds`: what it needs of
    what is fed and of what earlier segments computed."""

    tensors: tuple[Tensor, ...]
    operations: tuple[Operation, ...]
    feeds: tuple[Tensor, ...] = ()
    done: frozenset[Operation] = frozenset()

    def needs(self, fed: Collection[Tensor]) -> list[Operation]:
        """The operations that run, each after what it depends on."""
        ends = [*(t.op for t in self.tensors if t not in fed), *self.operations]
        return needed(ends, fed, self.done)


def may_block(
    tensors: Sequence[Tensor], operations: Sequence[Operation], fed: Collection[Tensor]
) -> bool:
    """Whether what is asked has a step that may block."""
    ends = [*(t.op for t in tensors if t not in fed), *operations]
    return any(has_trait(op.type, "may_block") for op in needed(ends, fed))


def segments_of(
    tensors: Sequence[Tensor], operations: Sequence[Operation], fed: Collection[Tensor]
) -> list[Segment]:
    """The segments of what is asked, which has a step that may block, in order; none where it is
    one."""
    order = needed([*(t.op for t in tensors if t not in fed), *operations], fed)
    if not any(_has_state(op) for op in order) or any(op.type in CONTROL for op in order):
        return []
    levels = _Levels(order, fed)
    crossing = levels.crossing()
    if any(t.is_ref or t.base_dtype in HANDLES for t in crossing):
        return []
    of = levels.of
    # Contents of variables that are asked for are read where variables are touched last.
    late = max((level for level in of.values() if level % 2 == 0), default=0)
    wanted = {t: of[t.op] for t in crossing}
    wanted |= {t: of.get(t.op, late) for t in tensors if t not in fed}
    reading = (level - 1 for level, read in levels.read.items() if read)
    numbers = sorted({*of.values(), *wanted.values(), *reading})
    found: list[Segment] = []
    for level in numbers:
        given = dict.fromkeys(t for t, where in wanted.items() if where == level)
        given |= dict.fromkeys(levels.read.get(level + 1, ()))
        ends = _ends([op for op in order if of.get(op) == level], fed)
        done = frozenset(op for op in order if of.get(op, level) < level)
        cut = {*fed, *levels.read.get(level, ()), *(t for t in crossing if t.op in done)}
        inside = needed([*(t.op for t in given), *ends], cut, done)
        feeds = dict.fromkeys(t for op in inside for t in op.inputs if t in cut)
        found.append(Segment(tuple(given), tuple(ends), tuple(feeds), done))
    return found if len(found) > 1 else []


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

    Operations without a segment are computed wherever they are needed: variables as such and names
    for their memory (`named`), what depends on constants alone, and sizes that follow from what is
    fed. `read`: of each odd segment the contents of variables that it is fed with, as the one
    before it finds them.
    """

    def __init__(self, order: Sequence[Operation], fed: Collection[Tensor]) -> None:
        self._order = order
        self._fed = fed
        self.of: dict[Operation, int] = {}
        self.named: set[Operation] = set()
        self.read: dict[int, dict[Tensor, None]] = {}
        for op in order:
            before = _before(op, fed)
            touches = any(o in self.named for o in before)
            if self._is_everywhere(op, before):
                if touches or has_trait(op.type, "variable"):
                    self.named.add(op)
                continue
            least = max((self.of[o] for o in before if o in self.of), default=0)
            if has_trait(op.type, "may_block"):
                least += 1 - least % 2
                contents = [t for t in op.inputs if t not in fed and t.op in self.named]
                self.read.setdefault(least, {}).update(dict.fromkeys(contents))
            elif touches or has_trait(op.type, "random"):
                least += least % 2
            self.of[op] = least
        self._begin_late()

    def _begin_late(self) -> None:
        """Where nothing touches variables before the first step that may block, that is the first
        segment."""
        first = [op for op, level in self.of.items() if level == 0]
        touching = [
            op
            for op in first
            if has_trait(op.type, "random") or any(o in self.named for o in _before(op, self._fed))
        ]
        if not touching and not self.read.get(1):
            self.of |= dict.fromkeys(first, 1)

    def _is_everywhere(self, op: Operation, before: Sequence[Operation]) -> bool:
        if has_trait(op.type, "variable"):
            return True
        if has_trait(op.type, "stateful") or has_trait(op.type, "may_block"):
            return False
        if any(o in self.of for o in before):
            return False
        if any(o in self.named for o in before):
            # As in TensorFlow: another name for the memory of the variable.
            return has_trait(op.type, "identity") and not op.control_inputs
        return all(t not in self._fed for t in op.inputs) or all(map(_is_size, op.outputs))

    def crossing(self) -> list[Tensor]:
        """What a segment computes and a later one needs."""
        found = {
            t: None
            for op in self._order
            for t in op.inputs
            if t not in self._fed and t.op in self.of and self.of[t.op] != self.of.get(op)
        }
        return list(found)


def _is_size(tensor: Tensor) -> bool:
    rank = tensor.shape.ndims
    return tensor.base_dtype in (dtypes.i32, dtypes.i64) and rank is not None and rank < 2


def _ends(ops: Sequence[Operation], fed: Collection[Tensor]) -> list[Operation]:
    """Those of a segment's operations that no other of them depends on."""
    used = {o for op in ops for o in _before(op, fed)}
    return [op for op in ops if op not in used]
