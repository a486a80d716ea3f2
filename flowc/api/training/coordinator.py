"""Stops a set of threads together.

In: threads that ask `should_stop` and report what went wrong. Out: the first error, raised by
`join`. Invariant: once a stop is requested, later errors are not kept.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from flowc.api.framework import logging
from flowc.errors import OutOfRangeError

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None]


class Coordinator:
    """Threads end when one of them, or the main one, requests it.

    `clean_stop_exception_types`: errors that end all threads and are no faults (default:
    `OutOfRangeError`, the end of the input). `join` raises what a thread reported, and
    `RuntimeError` for threads that do not stop.
    """

    def __init__(
        self, clean_stop_exception_types: Iterable[type[BaseException]] | None = None
    ) -> None:
        clean = (OutOfRangeError,) if clean_stop_exception_types is None else ()
        self._clean = clean or tuple(clean_stop_exception_types or ())
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._threads: set[threading.Thread] = set()

    def request_stop(self, ex: BaseException | ExcInfo | None = None) -> None:
        """Asks all threads to end. `ex`: an exception, or a tuple as `sys.exc_info()` gives it;
        the first one is raised by `join`, or at once where `join` is done."""
        error = ex[1] if isinstance(ex, tuple) else ex
        with self._lock:
            if isinstance(error, self._clean):
                error = None
            if self._joined and error is not None:
                raise error
            if self._stopping.is_set():
                return
            if error is not None:
                logging.info("Error reported to Coordinator: %s, %s", type(error), error)
                self._error = error
            self._stopping.set()

    def clear_stop(self) -> None:
        """Makes the coordinator as it was when it was new."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stopping.clear()

    def should_stop(self) -> bool:
        return self._stopping.is_set()

    @contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Whatever is raised inside requests a stop, and goes no further."""
        try:
            yield
        except BaseException as error:
            self.request_stop(error)

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until a stop is requested, for at most `timeout` seconds; whether it was."""
        return self._stopping.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """`join` waits for this thread, too."""
        with self._lock:
            self._threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits until all threads have ended; once a stop is requested, for as long as the grace
        period. Raises the first error that was reported, and `RuntimeError` for threads that still
        run, unless they are to be ignored."""
        with self._lock:
            waited = [*self._threads.union(threads or ())]
        while any(t.is_alive() for t in waited) and not self.wait_for_stop(1.0):
            pass
        end = time.monotonic() + stop_grace_period_secs
        for thread in waited:
            thread.join(max(0.0, end - time.monotonic()))
        alive = " ".join(t.name for t in waited if t.is_alive())
        with self._lock:
            self._joined = True
            self._threads = set()
            if self._error is not None:
                raise self._error
        if alive and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {alive}")
        if alive:
            logging.info("Coordinator stopped with threads still running: %s", alive)

    @property
    def joined(self) -> bool:
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raises the error that was reported, if there is one."""
        with self._lock:
            if self._error is not None:
                raise self._error


class LooperThread(threading.Thread):
    """Calls a function over and over (every `timer_interval_secs`, if given) until its coordinator
    stops. Raises `ValueError` for what is no coordinator, and for arguments without a function."""

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Any = None,
        args: Any = None,
        kwargs: Any = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        if target is None and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        super().__init__(daemon=True)
        self._coord = coord
        self._interval = timer_interval_secs
        self._called = target
        self._args = args or ()
        self._kwargs = kwargs or {}
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Any,
        args: Any = None,
        kwargs: Any = None,
    ) -> LooperThread:
        """Starts a thread and returns it."""
        thread = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        thread.start()
        return thread

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._interval is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                due = time.time()
                while not self._coord.wait_for_stop(due - time.time()):
                    due += self._interval
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called by the thread before its loop."""

    def stop_loop(self) -> None:
        """Called by the thread behind its loop."""

    def run_loop(self) -> None:
        """What the loop does."""
        if self._called is not None:
            self._called(*self._args, **self._kwargs)
