"""What a queue should do, one element at a time, and programs that compare a queue with it.

In: a kind of queue, a seed. Out: the first step at which queue and model differ, or None. A program
is a sequence of runs that enqueue, dequeue, close or are cancelled, each in a thread; between two
of them all threads have ended or wait.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flowc.errors import CancelledError, OutOfRangeError
from flowc.ir.host_run import CancelToken, HostRun, HostStates
from flowc.ops.queues.handles import Handle
from flowc.ops.queues.queue_states import KINDS, Queue

LONG = 60  # seconds until a thread counts as stuck


@dataclass
class Pending:
    """A run that has not ended. `elements` are to be put in; `left` are still to be taken."""

    kind: str
    elements: list[int] = field(default_factory=list)
    left: int = 0
    taken: list[int] = field(default_factory=list)
    outcome: Any = None  # a list of elements, or the class of an error


class Model:
    """A queue and those that wait at its ends."""

    def __init__(self, kind: str, capacity: int, least: int) -> None:
        self.kind, self.capacity, self.least = kind, capacity, least
        self.items: list[int] = []
        self.is_closed = False
        self.putting: list[Pending] = []
        self.taking: list[Pending] = []

    def start(self, pending: Pending) -> None:
        ends = self.taking if pending.kind.startswith("dequeue") else self.putting
        if pending.kind == "cancel_pending":
            self.is_closed = True
            for other in self.putting:
                other.outcome = CancelledError
            self.putting = []
            pending.outcome = []
        else:
            ends.append(pending)
        self.settle()

    def drop(self, pending: Pending) -> None:
        """The run of somebody who waits is cancelled."""
        pending.outcome = CancelledError
        for ends in (self.putting, self.taking):
            if pending in ends:
                ends.remove(pending)
        self._give_back(pending)
        self.settle()

    def settle(self) -> None:
        moves = True
        while moves:
            moves = False
            for step in (self._put, self._take):  # each as often as it can
                while step():
                    moves = True

    def _end(self, ends: list[Pending], outcome: Any) -> bool:
        ends.pop(0).outcome = outcome
        return True

    def _put(self) -> bool:
        if not self.putting:
            return False
        first = self.putting[0]
        if first.kind == "close":
            if self.is_closed:
                return self._end(self.putting, CancelledError)
            self.is_closed = True
            return self._end(self.putting, [])
        if self.is_closed:
            return self._end(self.putting, CancelledError)
        if len(self.items) >= self.capacity:
            return False
        self.items.append(first.elements.pop(0))
        return self._end(self.putting, []) if not first.elements else True

    def _take(self) -> bool:
        if not self.taking:
            return False
        first = self.taking[0]
        if self.is_closed and len(self.items) < first.left:
            self._give_back(first)
            if first.kind != "dequeue_up_to" or not self.items:
                return self._end(self.taking, OutOfRangeError)
            first.left = len(self.items)
        if len(self.items) <= (0 if self.is_closed else self.least):
            return False
        if self.kind == "PriorityQueue" and len(self.items) < first.left and not first.taken:
            return False  # a batch is sorted: it leaves as a whole
        at = self.items.index(min(self.items)) if self.kind == "PriorityQueue" else 0
        first.taken.append(self.items.pop(at))
        first.left -= 1
        return self._end(self.taking, first.taken) if not first.left else True

    def _give_back(self, pending: Pending) -> None:
        self.items[:0] = pending.taken
        pending.taken = []


def _queue(kind: str, capacity: int, least: int, seed: int) -> Queue:
    attrs = {
        "component_types": [] if kind == "PriorityQueue" else ["int64"],
        "shapes": [] if kind == "PriorityQueue" else [[]],
        "capacity": capacity,
        "min_after_dequeue": least,
        "seed": seed,
        "seed2": 1,
        "container": "",
        "shared_name": "q",
    }
    return KINDS[kind](Handle(kind, "q", attrs))


class Program:
    """One program, with its threads."""

    def __init__(self, kind: str, seed: int, threads: ThreadPoolExecutor) -> None:
        self.random = random.Random(seed)
        self.kind = kind
        capacity = self.random.randint(1, 6)
        least = self.random.randrange(capacity) if kind == "RandomShuffleQueue" else 0
        self.queue = _queue(kind, capacity, least, seed)
        self.model = Model(kind, capacity, least)
        self._threads = threads
        self._states = HostStates()
        self._next = 0
        self._runs: list[tuple[Pending, Future[Any], CancelToken]] = []
        self.steps: list[str] = []

    def run(self) -> str | None:
        """What differs first."""
        for _ in range(self.random.randint(4, 14)):
            waiting = [r for r in self._runs if r[0].outcome is None]
            if waiting and self.random.random() < 0.15:
                self._cancel(*self.random.choice(waiting))
            else:
                self._start()
            found = self._difference()
            if found is not None:
                return f"{self.kind}, {self.steps}: {found}"
        return self._end()

    def _start(self) -> None:
        kinds = ["enqueue", "enqueue_many"] * 4 + ["dequeue", "dequeue_many", "dequeue_up_to"] * 3
        kind = self.random.choice([*kinds, "close", "cancel_pending"])
        count = 1 if kind in ("enqueue", "dequeue") else self.random.randint(1, 5)
        pending = Pending(kind)
        self.steps.append(f"{kind} {count}")
        if kind.startswith("enqueue"):
            pending.elements = [self._element() for _ in range(count)]
        elif kind.startswith("dequeue"):
            pending.left = count
        token = CancelToken()
        call = self._call(kind, count, list(pending.elements))
        run = HostRun(token, self._states)
        self._runs.append((pending, self._threads.submit(call, run), token))
        self.model.start(pending)

    def _element(self) -> int:
        """No two are alike, and their order is not that in which they are made."""
        self._next += 1
        return self.random.randrange(1000) * 1000 + self._next

    def _call(self, kind: str, count: int, elements: list[int]) -> Callable[[HostRun], Any]:
        queue, array = self.queue, np.array(elements, np.int64)

        def call(run: HostRun) -> Any:
            match kind:
                case "enqueue":
                    return queue.enqueue(run, [array[0]])
                case "enqueue_many":
                    return queue.enqueue_many(run, [array])
                case "dequeue":
                    return queue.dequeue(run)[0].reshape(1).tolist()
                case "dequeue_many" | "dequeue_up_to":
                    return queue.dequeue_many(run, count, kind == "dequeue_up_to")[0].tolist()
                case _:
                    return queue.close_queue(run, kind == "cancel_pending")

        return call

    def _settled(self) -> bool:
        """Whether every thread has ended or waits."""
        end = time.monotonic() + LONG
        while time.monotonic() < end:
            with self.queue.lock:
                waiting = len(self.queue.enqueuing) + len(self.queue.dequeuing)
            if sum(not future.done() for _, future, _ in self._runs) == waiting:
                return True
            time.sleep(0)
        return False

    def _difference(self) -> str | None:
        if not self._settled():
            return "a thread is stuck"
        for pending, future, _ in self._runs:
            if (pending.outcome is not None) != future.done():
                return f"{pending} where the queue says {future}"
            if pending.outcome is None:
                continue
            error = future.exception()
            found = type(error) if error is not None else future.result() or []
            if self.kind == "RandomShuffleQueue" and isinstance(found, list):
                found, pending.outcome = len(found), len(pending.outcome)
            if found != pending.outcome:
                return f"{pending} where the queue gives {found}"
        self._runs = [r for r in self._runs if r[0].outcome is None]
        size = self.queue.size()
        return None if size == len(self.model.items) else f"{self.model.items}: {size} elements"

    def _end(self) -> str | None:
        """Whoever waits is cancelled with its run, and no thread is left."""
        while self._runs:
            self._cancel(*self._runs[0])
            found = self._difference()
            if found is not None:
                return f"{self.kind}, {self.steps}: {found}"
        return None

    def _cancel(self, pending: Pending, future: Future[Any], token: CancelToken) -> None:
        self.steps.append(f"cancel {pending.kind}")
        token.cancel()
        future.exception(LONG)
        self.model.drop(pending)
