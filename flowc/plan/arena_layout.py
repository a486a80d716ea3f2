"""Where the slots of an arena stand: values that are never needed at the same time share bytes.

In: slots, each with the time from which and until which it is in use. Out: an `ArenaLayout`.
Invariant: of two slots in use at one time, one ends before the other begins, whatever the sizes of
the run are.

Several orders of placing slots are tried with sizes as numbers (`rough`), each again with the slots
that ended last in front. Of the best order, the offsets are not kept, but which slot lies directly
above which while both are in use: the offsets for any sizes follow from it.
"""

from __future__ import annotations

import operator
from bisect import bisect, insort
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from heapq import heappop, heappush
from typing import TypeVar

import numpy as np

from flowc.dataclass import dataclass
from flowc.ir.dims import Dim, Symbol, evaluate
from flowc.plan.plan import ALIGNMENT, Plan, Slot, rough

T = TypeVar("T")
MOST_ORDERED = 2048  # slots: to place one looks at all that were placed before
PROMOTIONS = 3  # of slots that end last: an order is tried again with these in front
_ENDLESS = 1 << 62


@dataclass(frozen=True, slots=True)
class ArenaLayout:
    """`order`: the slots, those before that they may stand on. `below[i]`: the slots that end where
    slot i may begin; `under_scratch`: those behind which the scratch of workers may begin."""

    order: tuple[int, ...]
    below: tuple[tuple[int, ...], ...]
    under_scratch: tuple[int, ...]

    def place(
        self, sizes: Sequence[T], start: T, add: Callable[[T, T], T], larger: Callable[[T, T], T]
    ) -> tuple[list[T], T, T]:
        """The offset of each slot in an arena whose slots begin at `start`, where the last one
        ends, and where scratch begins."""
        offsets, ends = [start] * len(sizes), [start] * len(sizes)

        def behind(slots: Sequence[int]) -> T:
            return reduce(larger, (ends[i] for i in slots)) if slots else start

        for i in self.order:
            offsets[i] = behind(self.below[i])
            ends[i] = add(offsets[i], sizes[i])
        under = {j for slots in self.below for j in slots}
        last = behind([i for i in self.order if i not in under])
        return offsets, last, behind(self.under_scratch)


def lay_out(slots: Sequence[Slot], scratch_times: Sequence[int] = ()) -> ArenaLayout:
    """The layout that takes the least bytes of those tried. `scratch_times`: when workers need
    scratch beside the slots in use."""
    sizes = [max(rough(slot.size), ALIGNMENT) for slot in slots]
    best = _best_offsets(slots, sizes)
    order = sorted(range(len(slots)), key=lambda i: (best[i], i))
    rank = {i: number for number, i in enumerate(order)}
    below: list[set[int]] = [set() for _ in slots]
    highest: list[tuple[int, int]] = []  # at each time: the rank of the highest slot in use
    in_use: list[int] = []  # ranks
    for time, (ending, starting) in _changes(slots):
        for i in ending:
            at = bisect(in_use, rank[i]) - 1
            del in_use[at]
            if 0 < at < len(in_use):
                below[order[in_use[at]]].add(order[in_use[at - 1]])
        for i in starting:
            insort(in_use, rank[i])
            at = bisect(in_use, rank[i]) - 1
            if at:
                below[i].add(order[in_use[at - 1]])
            if at + 1 < len(in_use):
                below[order[in_use[at + 1]]].add(i)
        highest.append((time, in_use[-1] if in_use else -1))
    times = [time for time, _ in highest]
    tops = {highest[at - 1][1] for t in scratch_times if (at := bisect(times, t))} - {-1}
    return ArenaLayout(
        tuple(order),
        tuple(tuple(sorted(found)) for found in below),
        tuple(order[number] for number in sorted(tops)),
    )


def measured(plan: Plan, sizes: Mapping[Symbol, int]) -> tuple[int, int]:
    """The bytes of a plan's arena, without scratch, and the most bytes that are in use at one time,
    a lower bound of every layout."""

    def number(size: Dim) -> int:
        return size if isinstance(size, int) else evaluate(size, sizes)

    cells = sum(map(number, plan.cells))
    found = [number(slot.size) for slot in plan.slots]
    _, last, _ = lay_out(plan.slots).place(found, 0, operator.add, max)
    return last + cells, _most_in_use(plan.slots, found) + cells


def _changes(slots: Sequence[Slot]) -> Iterator[tuple[int, tuple[list[int], list[int]]]]:
    """The times at which slots come into use or are free again, with those that are free and those
    that are in use from then on."""
    found: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for i, slot in enumerate(slots):
        found[slot.first][1].append(i)
        found[slot.last + 1][0].append(i)
    yield from sorted(found.items())


def _most_in_use(slots: Sequence[Slot], sizes: Sequence[int]) -> int:
    used = most = 0
    for _, (ending, starting) in _changes(slots):
        used += sum(sizes[i] for i in starting) - sum(sizes[i] for i in ending)
        most = max(most, used)
    return most


def _best_offsets(slots: Sequence[Slot], sizes: Sequence[int]) -> list[int]:
    """The offsets with which the last slot ends first, of those that are tried."""
    least = _most_in_use(slots, sizes)
    best = _placed_in_time(slots, sizes)
    if len(slots) > MOST_ORDERED:
        return best
    best_end = _end(best, sizes)
    for key in (_size, _area, _span):
        order = sorted(range(len(slots)), key=lambda i: (-key(slots[i], sizes[i]), i))
        for _ in range(1 + PROMOTIONS):
            if best_end == least:
                return best
            found = _placed_in_order(slots, sizes, order)
            ends = list(map(operator.add, found, sizes))
            last = max(ends, default=0)
            if last < best_end:
                best, best_end = found, last
            # Those that stand too high are placed first of all.
            order.sort(key=lambda i: ends[i] < last)
    return best


def _size(slot: Slot, size: int) -> int:
    return size


def _span(slot: Slot, size: int) -> int:
    return slot.last - slot.first


def _area(slot: Slot, size: int) -> int:
    return size * (slot.last - slot.first + 1)


def _end(offsets: Sequence[int], sizes: Sequence[int]) -> int:
    return max(map(operator.add, offsets, sizes), default=0)


def _placed_in_time(slots: Sequence[Slot], sizes: Sequence[int]) -> list[int]:
    """Each slot in the smallest gap that holds it when it comes into use."""
    offsets = [0] * len(slots)
    gaps = [(0, _ENDLESS)]
    ending: list[tuple[int, int]] = []
    for i in sorted(range(len(slots)), key=lambda i: slots[i].first):
        while ending and ending[0][0] < slots[i].first:
            freed = heappop(ending)[1]
            _free(gaps, offsets[freed], offsets[freed] + sizes[freed])
        fitting = (n for n, (start, end) in enumerate(gaps) if end - start >= sizes[i])
        chosen = min(fitting, key=lambda n: gaps[n][1] - gaps[n][0])
        offsets[i], end = gaps[chosen]
        gaps[chosen] = offsets[i] + sizes[i], end
        if gaps[chosen][0] == end:
            del gaps[chosen]
        heappush(ending, (slots[i].last, i))
    return offsets


def _free(gaps: list[tuple[int, int]], start: int, end: int) -> None:
    """Adds a gap to those in order, as one with its neighbours."""
    at = bisect(gaps, (start, end))
    if at < len(gaps) and gaps[at][0] == end:
        end = gaps.pop(at)[1]
    if at and gaps[at - 1][1] == start:
        at -= 1
        start = gaps.pop(at)[0]
    gaps.insert(at, (start, end))


def _placed_in_order(
    slots: Sequence[Slot], sizes: Sequence[int], order: Sequence[int]
) -> list[int]:
    """Each slot in the smallest gap that those before it in the order leave while it is in use."""
    first, last = (np.array([getattr(s, name) for s in slots]) for name in ("first", "last"))
    size, offset = np.array(sizes), np.full(len(slots), -1)
    for i in order:
        beside = (offset >= 0) & (first <= last[i]) & (last >= first[i])
        starts, ends = offset[beside], offset[beside] + size[beside]
        sequence = np.argsort(starts, kind="stable")
        tops = np.maximum.accumulate(np.concatenate([[0], ends[sequence]]))
        room = np.concatenate([starts[sequence], [_ENDLESS]]) - tops
        offset[i] = tops[np.argmin(np.where(room >= size[i], room, _ENDLESS + 1))]
    return offset.tolist()
