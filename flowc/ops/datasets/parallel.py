"""Threads of datasets: elements that are computed side by side, or before they are asked for.

In: items, and what is to be done with each. Out: the results, in the order of the items.
Invariants: no thread outlives its iterator: `IterationContext.close` ends and joins them; what
fails is raised where its result would have stood.

Native code and whatever waits release Python's lock, so threads are worth it where elements take
long and wait or compute there; where Python does the work, handing elements from thread to thread
only adds to it. Which it is, is measured (`Pace`): until elements take more than `LONG`, the
consumer computes them; then threads are tried, and stay if asking takes less time than it took
alone.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from statistics import median
from typing import Any

from flowc.errors import InvalidArgumentError, ResourceExhaustedError
from flowc.ir.host_run import HostRun
from flowc.ops.datasets.dataset import (
    Element,
    HostDataset,
    Items,
    IterationContext,
    OneByOne,
    SameItems,
    Trials,
    bytes_of,
    moved,
    one,
    position_within,
)
from flowc.ops.datasets.mapped import BatchRows, MappedItems
from flowc.ops.datasets.records import METADATA, STATED, Given, define_dataset

LONG = 0.0003  # seconds that an element takes
PLAINLY = 50  # so many times as long, it takes long without doubt
SAMPLE = 8  # elements that tell
TRIAL = 32  # elements that tell what threads are worth
FEWEST = 3  # times that elements were asked for which tell
GAIN = 0.9  # of the time without threads: with them it is to be less
LOSSES = 8  # trials in a row without a gain, after which threads end: other processes disturb one
STAY = 2048  # elements of threads before they are measured again
PAUSE = 512  # elements before threads are tried again; four times as many after each trial
AHEAD = 4  # elements for each thread that wait for one, or to be taken
BATCHES_AHEAD = 2  # where more is asked for at once: who asks may be late, as the machine is busy
MOST_AHEAD = 1 << 26  # bytes of elements that are made before they are asked for, beyond `AHEAD`
MOST_AWAITED = 32  # elements that who asks waits for together
MOST_THREADS = 1024
AUTOTUNED = 16  # elements that are ready before they are asked for, where nobody says how many


class Pace:
    """Measures the time from one element to the next, and decides whether threads make them. The
    first element, which compiles, is not counted, nor are the first `lead` ones of threads, which
    begin with none ready. One step of an iterator tries threads at a time. When another step starts
    or stops threads, what was measured before is dropped.

    A step that `hurries` starts threads at once where an element clearly takes long; others let the
    steps before them try first.

    Without threads the median is compared, since the consumer may pause; with threads the mean
    without the longest, since elements arrive in bursts.
    """

    def __init__(self, lead: int, trials: Trials, hurries: bool = True) -> None:
        self._lead, self._trials, self._hurries = lead, trials, hurries
        self._pause = PAUSE // 4
        self._sequential = 0.0  # seconds from one element to the next, where who asks makes them
        self._last = 0.0
        self._begin(0)

    def _begin(self, skipped: int) -> None:
        self._count = -skipped
        self._made: list[float] = []
        self._between: list[float] = []
        self._asks: list[tuple[float, int]] = []  # seconds, and elements that threads gave in them
        self._losses = 0
        self._switches = self._trials.switches

    def _lap(self) -> float:
        now = time.perf_counter()
        before, self._last = self._last, now
        return now - before

    def begins(self, seconds: float, count: int = 1) -> bool:
        """Whether threads are to begin, now that who asked made `count` more elements in so many
        seconds."""
        is_first = not self._last
        between = self._lap()
        if is_first or self._trials.tries not in (None, self):
            return False
        if self._switches != self._trials.switches:
            self._begin(max(0, -self._count))
        self._count += count
        if self._count <= 0:
            return False
        self._made.append(seconds / count)
        self._between.append(between / count)
        is_plain = seconds > PLAINLY * LONG * count
        is_known = len(self._made) >= FEWEST
        if not (is_known and self._count >= SAMPLE) and not (
            is_plain and (is_known or self._hurries)
        ):
            return False
        is_long = median(self._made) > LONG
        self._sequential = median(self._between)
        if is_long:
            self._trials.tries = self
            self._trials.switches += 1
        self._begin(self._lead if is_long else 0)
        return is_long

    def ends(self, count: int = 1) -> bool:
        """Whether threads are to end, now that `count` more elements of theirs were asked for. They
        end now and then although they are a gain, so that what it takes without them is known."""
        between = self._lap()
        is_lead = self._count < 0
        self._count += count
        if not is_lead:
            self._asks.append((between, count))
        if len(self._asks) <= FEWEST or sum(n for _, n in self._asks) < TRIAL:
            return False
        usual = sorted(self._asks)[:-1]
        taken, made = (sum(part) for part in zip(*usual))
        self._asks.clear()
        is_loss = (
            taken >= GAIN * self._sequential * made and self._switches == self._trials.switches
        )
        self._losses = self._losses + 1 if is_loss else 0
        if 0 < self._losses < LOSSES:
            return False
        if self._trials.tries is self:
            self._trials.tries = None
            self._pause = 4 * self._pause if is_loss else PAUSE
        if not is_loss and (self._count < STAY or self._trials.tries is not None):
            return False
        self._trials.switches += 1
        self._begin(self._pause if is_loss else 0)
        return True


class Workers:
    """Threads that call a function until they are closed, or it returns False. They wait for
    `changed`, and the consumer of what they make for `made`; both have one lock."""

    def __init__(
        self, count: int, work: Callable[[Workers], bool], context: IterationContext, name: str
    ) -> None:
        lock = threading.Lock()
        self.changed, self.made = threading.Condition(lock), threading.Condition(lock)
        self.is_closed = False
        self._context = context
        self._threads = [
            threading.Thread(target=self._run, args=(work,), name=name, daemon=True)
            for _ in range(count)
        ]

    def start(self) -> None:
        self._context.closing(self, self.close)
        for at, thread in enumerate(self._threads):
            try:
                thread.start()
            except RuntimeError:  # the system has no more
                del self._threads[at:]
                if not at:
                    raise ResourceExhaustedError("no thread can be started") from None
                break

    def _run(self, work: Callable[[Workers], bool]) -> None:
        while not self.is_closed and work(self):
            pass

    def end(self) -> None:
        """There is nothing left to do."""
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()
        self._context.closed(self)

    def close(self) -> None:
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()


def given_or_raised(item: Any) -> Any:
    if isinstance(item, BaseException):
        raise item
    return item


class _Slot:
    """A result to come, and its place in a batch, if it has one."""

    __slots__ = ("fault", "is_done", "item", "place", "result", "rows")

    def __init__(self, item: Any, rows: BatchRows | None = None, place: int = 0) -> None:
        self.item = item
        self.rows, self.place = rows, place
        self.result: Any = None
        self.fault: BaseException | None = None
        self.is_done = False


class Parallel(Items):
    """What a function makes of items, of which `count` are under way."""

    def __init__(self, mapped: MappedItems, count: int, context: IterationContext) -> None:
        self._mapped, self._context = mapped, context
        self._count = count
        self._pace = Pace(AHEAD * self._count, context.trials)
        self._workers: Workers | None = None
        self._pending: deque[_Slot] = deque()
        self._waiting: deque[_Slot] = deque()
        self._awaited: set[_Slot] = set()
        self._ready: deque[Any] = deque()  # faults and elements, which come before all others
        self._more = True
        self._batch = 1  # elements of a batch, which are asked for together

    def position(self, run: HostRun) -> Any:
        pending = list(self._pending)
        if self._workers is not None:
            self._await(pending, self._workers, run)
        made = [slot.result if slot.fault is None else slot.fault for slot in pending]
        return {"ready": [*self._ready, *made], "mapped": position_within(self._mapped, run)}

    def move(self, position: Any, run: HostRun) -> None:
        self._ready = deque(position["ready"])
        moved(self._mapped, position["mapped"], run)

    def take(self, count: int, run: HostRun) -> Sequence[Any]:
        if self._ready:
            return (given_or_raised(self._ready.popleft()),)
        workers = self._workers
        return self._sequential(count, run) if workers is None else self._made(workers, count, run)

    def _sequential(self, count: int, run: HostRun) -> Sequence[Any]:
        start = time.perf_counter()
        found = self._mapped.take(count, run)
        if found:
            self._begin_if_long(time.perf_counter() - start, len(found))
        return found

    def _begin_if_long(self, seconds: float, count: int) -> None:
        if self._pace.begins(seconds, count) and not self._mapped.has_fault:
            self._more = True
            self._workers = Workers(self._count, self._work, self._context, "flowc-map")
            self._workers.start()

    def stacked(self, count: int, run: HostRun) -> Element | None:
        workers = self._workers
        if self._ready:
            return None
        if workers is None:
            start = time.perf_counter()
            batch = self._mapped.stacked(count, run)
            if batch is not None and self._mapped.in_rows:
                self._begin_if_long(time.perf_counter() - start, len(batch[0]))
            return batch
        self._batch = count
        self._submit(workers, run, count - 1 + self._ahead(count))
        asked = list(islice(self._pending, count))
        rows = asked[0].rows if len(asked) == count else None
        if rows is None or any((s.rows, s.place) != (rows, k) for k, s in enumerate(asked)):
            return None
        self._await(asked, workers, run)
        if any(slot.fault is not None for slot in asked):
            return None
        self._end_if_no_gain(count)
        return rows.batch([self._pending.popleft().result for _ in asked])

    def _made(self, workers: Workers, count: int, run: HostRun) -> Sequence[Any]:
        """At most `count` results, up to one that failed. The consumer is woken once for all."""
        count = min(count, MOST_AWAITED)
        self._submit(workers, run, count - 1 + self._ahead(count))
        if not self._pending:
            workers.end()
            self._workers = None
            return self._sequential(count, run)
        asked = list(islice(self._pending, count))
        self._await(asked, workers, run)
        self._end_if_no_gain(len(asked))
        found: list[Any] = []
        for slot in asked:
            self._pending.popleft()
            if slot.fault is not None:
                self._ready.append(slot.fault)
                break
            found.append(slot.result)
        return found or self.take(1, run)

    def _ahead(self, count: int) -> int:
        """How many elements are under way beside the `count` that are asked for."""
        like, least = self._mapped.like, AHEAD * self._count
        if like is None:
            return least
        return max(least, min(BATCHES_AHEAD * count, MOST_AHEAD // bytes_of(like)))

    def _await(self, asked: Sequence[_Slot], workers: Workers, run: HostRun) -> None:
        if not all(slot.is_done for slot in asked):
            with workers.made:
                self._awaited = {slot for slot in asked if not slot.is_done}
                run.wait(workers.made, lambda: not self._awaited)

    def _end_if_no_gain(self, asked: int) -> None:
        if self._pace.ends(asked):
            self._more = False  # those that are under way are the last ones

    def _submit(self, workers: Workers, run: HostRun, most: int) -> None:
        while self._more and len(self._pending) < most:
            try:
                item = self._mapped.next_item(run)
            except Exception as error:
                slot = _Slot(None)
                slot.fault, slot.is_done = error, True
                self._pending.append(slot)
                break
            if item is None:
                self._more = False
                break
            slot = self._slot(item)
            self._pending.append(slot)
            with workers.changed:
                self._waiting.append(slot)
                workers.changed.notify()

    def _slot(self, item: Any) -> _Slot:
        """A result to come; large ones have their place in the batch that they will be asked for
        with."""
        place, like = len(self._pending) % self._batch, self._mapped.like
        if like is None or not BatchRows.suit(self._batch, like):
            return _Slot(item)
        if not place:
            return _Slot(item, BatchRows(self._batch, like))
        return _Slot(item, self._pending[-1].rows, place)

    def _work(self, workers: Workers) -> bool:
        with workers.changed:
            while not self._waiting or workers.is_closed:
                if workers.is_closed:
                    return False
                workers.changed.wait()
            slot = self._waiting.popleft()
        try:
            mapped, rows = self._mapped, slot.rows
            if rows is None:
                slot.result = mapped.apply(slot.item)
            else:
                slot.result = rows.made(slot.place, mapped.apply, slot.item)
        except BaseException as error:
            slot.fault = error
        with workers.made:
            slot.is_done = True
            if slot in self._awaited:
                self._awaited.remove(slot)
                if not self._awaited:
                    workers.made.notify_all()
        return True


class Prefetch(SameItems):
    def __init__(self, source: HostDataset, size: int) -> None:
        super().__init__(source)
        self._size = size if size > 0 else AUTOTUNED

    def items(self, context: IterationContext) -> Items:
        if self.rows is not None and self.rows.are_at_hand:
            return self.source.items(context)  # numbers of rows, which are there at once
        return _Prefetched(self.source.items(context), self._size, context)


class _Prefetched(OneByOne):
    """`_ready`: elements, and faults in their places; None at the end, and where the thread has
    ended, after which the consumer goes on alone."""

    where = ("_items", "_ended")

    def __init__(self, items: Items, size: int, context: IterationContext) -> None:
        self._items, self._size, self._context = items, size, context
        self._ready: deque[Any] = deque()
        self._workers: Workers | None = None
        self._pace = Pace(AHEAD, context.trials, hurries=False)
        self._ended = self._leaves = False

    def position(self, run: HostRun) -> Any:
        workers = self._workers
        if workers is not None:  # who asks goes on alone, once it has what is ready
            with workers.changed:
                self._leaves = True
                workers.changed.notify()
                run.wait(workers.made, lambda: bool(self._ready) and self._ready[-1] is None)
        ready = [item for item in self._ready if item is not None]
        return {**super().position(run), "ready": ready}

    def move(self, position: Any, run: HostRun) -> None:
        super().move(position, run)
        self._ready = deque(position["ready"])

    def next(self, run: HostRun) -> Any:
        if self._ended:
            return None
        workers = self._workers
        if workers is None:
            return self._sequential(run)
        with workers.made:
            if not self._ready:
                run.wait(workers.made, lambda: bool(self._ready))
            found = self._ready.popleft()
            workers.changed.notify()
        if found is None:
            workers.end()
            self._workers = None
            self._ended = not self._leaves
            return self.next(run)
        if self._pace.ends():
            with workers.changed:
                self._leaves = True
                workers.changed.notify()
        return given_or_raised(found)

    def _sequential(self, run: HostRun) -> Any:
        if self._ready:
            return given_or_raised(self._ready.popleft())
        start = time.perf_counter()
        item = one(self._items, run)
        if item is not None and self._pace.begins(time.perf_counter() - start):
            self._leaves = False
            self._workers = Workers(1, self._work, self._context, "flowc-prefetch")
            self._workers.start()
        return item

    def _work(self, workers: Workers) -> bool:
        with workers.changed:
            while len(self._ready) >= self._size and not self._leaves:
                if workers.is_closed:
                    return False
                workers.changed.wait()
        try:
            found = None if self._leaves else one(self._items, self._context.run)
        except BaseException as error:
            found = error
        with workers.made:
            self._ready.append(found)
            workers.made.notify_all()
        return found is not None and not self._context.token.is_cancelled


def _prefetch(given: Given) -> HostDataset:
    size = given.number("buffer_size")
    if size < -1:
        raise InvalidArgumentError(
            "buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning"
        )
    return Prefetch(given.dataset, size)


define_dataset(
    f"PrefetchDataset(input_dataset: variant, buffer_size: i64; {STATED}, slack_period: int = 0,"
    f" legacy_autotune: bool = True, buffer_size_min: int = 0, {METADATA})",
    _prefetch,
)
