"""Threads of datasets: elements that are computed side by side, or before they are asked for.

In: items, and what is to be done with each. Out: the results, in the order of the items.
Invariants: no thread outlives its iterator: `IterationContext.close` ends and joins them; what
fails is raised where its result would have stood.

Native code and whatever waits release Python's lock, so threads are worth it where elements take
long. Where they do not, handing them from thread to thread takes longer: until elements take more
than `LONG`, everything is done by who asks.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from flowc.errors import ResourceExhaustedError
from flowc.ir.host_run import HostRun
from flowc.ops.datasets.dataset import (
    Element,
    HostDataset,
    Items,
    IterationContext,
    OneByOne,
    SameItems,
    one,
)
from flowc.ops.datasets.mapped import MappedItems
from flowc.ops.datasets.records import METADATA, STATED, define_dataset

LONG = 0.0003  # seconds that an element takes
PLAINLY = 50  # so many times as long, it takes long without doubt
SAMPLE = 8  # elements that tell
MOST_THREADS = 1024
AUTOTUNED = 16  # elements that are ready before they are asked for, where nobody says how many


class Pace:
    """How long elements take. The first one compiles, and says nothing."""

    def __init__(self) -> None:
        self._count = -1
        self._seconds = 0.0

    def is_long(self, seconds: float) -> bool:
        """Whether elements take long, after another one that took so many seconds."""
        self._count += 1
        if not self._count:
            return False
        self._seconds += seconds
        if seconds > PLAINLY * LONG:
            return True
        return self._count % SAMPLE == 0 and self._seconds > self._count * LONG


class Workers:
    """Threads that call a function until they are closed."""

    def __init__(
        self, count: int, work: Callable[[], bool], context: IterationContext, name: str
    ) -> None:
        self.changed = threading.Condition()
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

    def _run(self, work: Callable[[], bool]) -> None:
        while not self.is_closed and work():
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


class _Slot:
    """A result to come."""

    __slots__ = ("fault", "is_done", "item", "result")

    def __init__(self, item: Any) -> None:
        self.item = item
        self.result: Any = None
        self.fault: BaseException | None = None
        self.is_done = False


class Parallel(OneByOne):
    """What a function makes of items, of which `count` are under way."""

    def __init__(self, mapped: MappedItems, count: int, context: IterationContext) -> None:
        self._mapped, self._context = mapped, context
        self._count = min(count, MOST_THREADS) if count > 0 else os.cpu_count() or 1
        self._pace = Pace()
        self._workers: Workers | None = None
        self._pending: deque[_Slot] = deque()
        self._waiting: deque[_Slot] = deque()
        self._more = True

    def take(self, count: int, run: HostRun) -> Sequence[Any]:
        if self._workers is not None:
            return super().take(count, run)
        start = time.perf_counter()
        found = self._mapped.take(count, run)
        self._note(time.perf_counter() - start, len(found))
        return found

    def stacked(self, count: int, run: HostRun) -> Element | None:
        return self._mapped.stacked(count, run) if self._workers is None else None

    def _note(self, seconds: float, count: int) -> None:
        is_long = count > 0 and self._pace.is_long(seconds / count)
        if is_long and not self._mapped.has_fault:
            self._workers = Workers(self._count, self._work, self._context, "flowc-map")
            self._workers.start()

    def next(self, run: HostRun) -> Any:
        assert self._workers is not None
        self._submit(run)
        if not self._pending:
            self._workers.end()
            return None
        slot = self._pending[0]
        with self._workers.changed:
            run.wait(self._workers.changed, lambda: slot.is_done)
        self._pending.popleft()
        if slot.fault is not None:
            raise slot.fault
        return slot.result

    def _submit(self, run: HostRun) -> None:
        assert self._workers is not None
        while self._more and len(self._pending) < self._count:
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
            slot = _Slot(item)
            self._pending.append(slot)
            with self._workers.changed:
                self._waiting.append(slot)
                self._workers.changed.notify_all()

    def _work(self) -> bool:
        workers = self._workers
        assert workers is not None
        with workers.changed:
            while not self._waiting:
                if workers.is_closed:
                    return False
                workers.changed.wait()
            slot = self._waiting.popleft()
        try:
            slot.result = self._mapped.apply(slot.item)
        except BaseException as error:
            slot.fault = error
        with workers.changed:
            slot.is_done = True
            workers.changed.notify_all()
        return True


class Prefetch(SameItems):
    def __init__(self, source: HostDataset, size: int) -> None:
        super().__init__(source)
        self._size = size if size > 0 else AUTOTUNED

    def items(self, context: IterationContext) -> Items:
        if self.rows is not None:
            return self.source.items(context)  # numbers of rows, which are there at once
        return _Prefetched(self.source.items(context), self._size, context)


class _Prefetched(OneByOne):
    """`_ready`: elements, and faults in their places; None at the end."""

    def __init__(self, items: Items, size: int, context: IterationContext) -> None:
        self._items, self._size, self._context = items, size, context
        self._ready: deque[Any] = deque()
        self._workers: Workers | None = None
        self._pace = Pace()
        self._ended = False

    def next(self, run: HostRun) -> Any:
        if self._ended:
            return None
        if self._workers is None:
            start = time.perf_counter()
            item = one(self._items, run)
            if item is not None and self._pace.is_long(time.perf_counter() - start):
                self._workers = Workers(1, self._work, self._context, "flowc-prefetch")
                self._workers.start()
            return item
        changed = self._workers.changed
        with changed:
            run.wait(changed, lambda: bool(self._ready))
            found = self._ready.popleft()
            changed.notify_all()
        if found is None:
            self._ended = True
            self._workers.end()
        if isinstance(found, BaseException):
            raise found
        return found

    def _work(self) -> bool:
        workers = self._workers
        assert workers is not None
        with workers.changed:
            while len(self._ready) >= self._size:
                if workers.is_closed:
                    return False
                workers.changed.wait()
        try:
            found = one(self._items, self._context.run)
        except BaseException as error:
            found = error
        with workers.changed:
            self._ready.append(found)
            workers.changed.notify_all()
        return found is not None and not self._context.token.is_cancelled


define_dataset(
    f"PrefetchDataset(input_dataset: variant, buffer_size: i64; {STATED}, slack_period: int = 0,"
    f" legacy_autotune: bool = True, buffer_size_min: int = 0, {METADATA})",
    lambda n: Prefetch(n.dataset, n.number("buffer_size")),
)
