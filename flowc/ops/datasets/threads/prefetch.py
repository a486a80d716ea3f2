"""Elements that a thread computes before they are asked for: `Dataset.prefetch`.

In: a dataset, and how many elements are to be ready. Out: its elements, in their order. Invariants:
those of `parallel.py`.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from flowc.errors import InvalidArgumentError
from flowc.ir.host_run import HostRun
from flowc.ops.datasets.dataset import (
    HostDataset,
    Items,
    IterationContext,
    OneByOne,
    SameItems,
    one,
)
from flowc.ops.datasets.records import METADATA, STATED, Given, define_dataset
from flowc.ops.datasets.threads.pace import Pace
from flowc.ops.datasets.threads.parallel import AHEAD, Workers, given_or_raised

AUTOTUNED = 16  # elements that are ready before they are asked for, where nobody says how many


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
