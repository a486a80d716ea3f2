"""Where the slots of one side's arena begin, as the run computes it.

In: slots of a Plan, and the frame of its run, which has checked that their sizes are no more than a
word in all. Out: LLVM values. Invariant: sizes that are numbers cost the run nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from llvmlite import ir

from flowc.codegen.driver.frame import RunFrame
from flowc.ir.dims import Dim
from flowc.plan.arena_layout import lay_out
from flowc.plan.plan import Slot
from flowc_runtime.native.writer import i64

_Number = int | ir.Value


class SlotValues:
    """Places slots in the frame of a run."""

    def __init__(self, frame: RunFrame) -> None:
        self._frame = frame

    def place(
        self, slots: Sequence[Slot], start: Dim, scratch_times: Sequence[int] = ()
    ) -> tuple[list[ir.Value], ir.Value, ir.Value]:
        """The offset of each slot in an arena whose slots begin at `start`, where the last one
        ends, and where the scratch of workers may begin."""
        layout = lay_out(slots, scratch_times)
        sizes = [self._number(slot.size) for slot in slots]
        found, *ends = layout.place(sizes, self._number(start), self._sum, self._larger)
        offsets = [self._value(offset) for offset in found]
        last, scratch = map(self._value, ends)
        return offsets, last, scratch

    def _number(self, size: Dim) -> _Number:
        return size if isinstance(size, int) else self._frame.dim(size)

    def _value(self, number: _Number) -> ir.Value:
        return i64(number) if isinstance(number, int) else number

    def _sum(self, x: _Number, y: _Number) -> _Number:
        if isinstance(x, int) and isinstance(y, int):
            return x + y
        return self._frame.b.add(self._value(x), self._value(y))

    def _larger(self, x: _Number, y: _Number) -> _Number:
        if isinstance(x, int) and isinstance(y, int):
            return max(x, y)
        return x if x is y else self._frame.larger(self._value(x), self._value(y))


def total_of(sizes: Iterable[Dim]) -> Dim:
    """The sum of many sizes, of which few differ."""
    total: Dim = 0
    for size, count in Counter(sizes).items():
        total = total + size * count
    return total
