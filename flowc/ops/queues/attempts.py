"""The runs that wait for room in a queue, and those that wait for elements, in order of arrival.

In: attempts to put elements in, to take them out, and to close. Out: each is done or fails, and its
thread is woken. Invariant: of those that wait at one end only the first makes progress, as in
TensorFlow; what an attempt had taken when its run ended goes back.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Any

from flowc.errors import CancelledError, OpError
from flowc.ir.host_run import HostRun


class Outcome(Enum):
    NO_PROGRESS = 0
    PROGRESS = 1
    DONE = 2


class Attempt:
    """Something to try until it is done. `step` tries once; `undo` gives back what it took."""

    __slots__ = ("condition", "error", "is_done", "result", "step", "undo")

    def __init__(
        self, step: Callable[[Attempt], Outcome], undo: Callable[[], None] | None = None
    ) -> None:
        self.step = step
        self.undo = undo
        self.is_done = False
        self.result: Any = None
        self.error: OpError | None = None
        self.condition: threading.Condition | None = None

    def finish(self, result: Any = None) -> Outcome:
        self.result = result
        return Outcome.DONE

    def fail(self, error: OpError) -> Outcome:
        self.error = error
        return Outcome.DONE

    def end(self) -> None:
        """Wakes the thread that waits for it."""
        self.is_done = True
        if self.condition is not None:
            self.condition.notify_all()


class TwoEnds:
    """The attempts at both ends of something that holds elements; `lock` guards it as well."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.enqueuing: deque[Attempt] = deque()
        self.dequeuing: deque[Attempt] = deque()
        self.is_closed = False
        self._is_gone = False

    def perform(self, run: HostRun, waiting: deque[Attempt], attempt: Attempt) -> Any:
        """The result of an attempt, once it is done. Raises what it fails with, and what ends the
        run."""
        run.check()
        with self.lock:
            waiting.append(attempt)
            self._progress()
            if not attempt.is_done:
                self._wait(run, waiting, attempt)
        if attempt.error is not None:
            raise attempt.error
        return attempt.result

    def _wait(self, run: HostRun, waiting: deque[Attempt], attempt: Attempt) -> None:
        attempt.condition = threading.Condition(self.lock)
        try:
            run.wait(attempt.condition, lambda: attempt.is_done)
        except BaseException:
            if not attempt.is_done:
                waiting.remove(attempt)
                if attempt.undo is not None:
                    attempt.undo()
                self._progress()
            raise

    def _progress(self) -> None:
        """Tries both ends until neither moves."""
        changed = not self._is_gone
        while changed:
            changed = self._try_end(self.enqueuing)
            changed = self._try_end(self.dequeuing) or changed

    def _try_end(self, waiting: deque[Attempt]) -> bool:
        changed = False
        while waiting:
            first = waiting[0]
            outcome = first.step(first)
            changed = changed or outcome is not Outcome.NO_PROGRESS
            if outcome is not Outcome.DONE:
                break
            waiting.popleft()
            first.end()
        return changed

    def close(self) -> None:
        """The Session is closed: nothing moves any more, and whoever waits is cancelled."""
        with self.lock:
            self._is_gone = True

    def close_for(self, run: HostRun, cancel_pending: bool, closed: str) -> None:
        """Nothing is put in any more: once all that wait have put in theirs, or at once, where they
        are cancelled. Raises `CancelledError` of text `closed` where it is closed already."""

        def close(attempt: Attempt) -> Outcome:
            if self.is_closed:
                return attempt.fail(CancelledError(closed))
            self.is_closed = True
            return attempt.finish()

        if not cancel_pending:
            self.perform(run, self.enqueuing, Attempt(close))
            return
        with self.lock:
            self.is_closed = True
            waiting = [*self.enqueuing]
            self.enqueuing.clear()  # others are about to join this very deque
            for attempt in waiting:
                attempt.error = CancelledError("Enqueue operation was cancelled")
                attempt.end()
            self._progress()
