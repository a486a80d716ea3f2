"""Threads that do what is handed to them, also while the process is ending.

In: calls. Out: futures. Invariant: a thread ends when there is nothing left for it to do, so that
nobody has to close anything. Python's own pool takes nothing once the main thread has ended, though
other threads, and what was registered with `atexit`, still run.
"""

from __future__ import annotations

import mmap
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ParamSpec, TypeVar

from flowc.errors import ResourceExhaustedError

P = ParamSpec("P")
T = TypeVar("T")

STACK = 8 << 20  # bytes of a thread's, as Linux gives them


class WorkerThreads:
    """Up to `most` threads. Leaving its block waits for all that was submitted; what is raised in
    the block takes back what none has begun, and waits for nothing."""

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._change = threading.Condition()
        self._left: deque[Callable[[], None]] = deque()
        self._busy = 0

    def submit(self, call: Callable[P, T], /, *arguments: P.args, **more: P.kwargs) -> Future[T]:
        """Calls it in a thread; at once, where none can be started. Raises `MemoryError` where
        there is no memory for one: what LLVM lacks then ends the process."""
        future: Future[T] = Future()
        work = lambda: _finish(future, lambda: call(*arguments, **more))
        with self._change:
            self._left.append(work)
            if self._busy == self._most:
                return future
            self._busy += 1
        try:
            _start(self._work, self._name)
        except RuntimeError:  # the system has no more, or the interpreter is ending
            self._check_memory()
            self._work()
        return future

    def _check_memory(self) -> None:
        try:
            mmap.mmap(-1, STACK).close()
        except OSError as error:
            with self._change:
                self._left.clear()
                self._busy -= 1
                self._change.notify_all()
            raise MemoryError("no memory for the stack of a thread") from error

    def __enter__(self) -> WorkerThreads:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._change:
            if kind is None:
                self._change.wait_for(lambda: not self._busy)
            else:
                self._left.clear()

    def _work(self) -> None:
        while True:
            with self._change:
                if not self._left:
                    self._busy -= 1
                    self._change.notify_all()
                    return
                work = self._left.popleft()
            work()


def in_thread(
    name: str, call: Callable[P, T], /, *arguments: P.args, **more: P.kwargs
) -> tuple[threading.Thread, Future[T]]:
    """Calls it in a thread of its own, which may wait for what others do. Raises
    `ResourceExhaustedError` where none can be started."""
    future: Future[T] = Future()
    try:
        thread = _start(lambda: _finish(future, lambda: call(*arguments, **more)), name)
    except RuntimeError:
        raise ResourceExhaustedError("no thread can be started") from None
    return thread, future


def _start(work: Callable[[], None], name: str) -> threading.Thread:
    """A thread that the process waits for when it ends: what LLVM is in the middle of is over when
    its library is unloaded."""
    thread = threading.Thread(target=work, name=name, daemon=False)
    thread.start()
    return thread


def _finish(future: Future[Any], call: Callable[[], Any]) -> None:
    try:
        found = call()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(found)
