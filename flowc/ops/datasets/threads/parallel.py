"""Threads of datasets: elements that are computed side by side.

In: items, and what is to be done with each. Out: the results, in the order of the items.
Invariants: no thread outlives its iterator: `IterationContext.close` ends and joins them; what
fails is raised where its result would have stood. Whether there are threads at all, `Pace` says.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from flowc.errors import ResourceExhaustedError
from flowc.ir.host_run import HostRun
from flowc.ops.datasets.dataset import (
    Element,
    Items,
    IterationContext,
    bytes_of,
    moved,
    position_within,
)
from flowc.ops.datasets.mapped import BatchRows, MappedItems
from flowc.ops.datasets.threads.pace import Pace

AHEAD = 4  # elements for each thread that wait for one, or to be taken
BATCHES_AHEAD = 2  # where more is asked for at once: who asks may be late, as the machine is busy
MOST_AHEAD = 1 << 26  # bytes of elements that are made before they are asked for, beyond `AHEAD`
MOST_AWAITED = 32  # elements that who asks waits for together
MOST_THREADS = 1024


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
        if like is None or not BatchRows.is_worth(self._batch, like):
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
