"""A file of events that a thread writes, so that a slow disk stops no training step.

In: records. Out: the file. Invariants: records are written whole and in order; what `flush` and
`end` have returned from is in the file; a fault of the thread is raised by the next call; a process
that was forked writes nothing to the file of its parent, and waits for no thread of it.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path


class EventFile:
    """`most`: how many records wait until they are written, and as many again may wait meanwhile;
    `longest`: the seconds until they are written in any case."""

    def __init__(self, path: Path, first: bytes, most: int, longest: float) -> None:
        self._file = path.open("ab", buffering=0)  # without a buffer that a fork would double
        self._file.write(first)
        self._process = os.getpid()
        self._most, self._longest = max(most, 1), longest
        # With a lock that its holder may take again: the end may come by garbage collection.
        self._changed = threading.Condition()
        self._waiting: list[bytes] = []
        self._since = 0.0  # when the first of those came
        self._added = self._written = self._wanted = 0
        self._ended = False
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._work, name="flowc events", daemon=True)
        self._thread.start()

    @property
    def is_of_this_process(self) -> bool:
        return os.getpid() == self._process

    def add(self, record: bytes) -> None:
        """Raises what the thread failed with."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._waiting) < self._most or self._error)
            self._check()
            if not self._waiting:
                self._since = time.monotonic()
            self._waiting.append(record)
            self._added += 1
            self._changed.notify_all()

    def flush(self) -> None:
        """Waits until all that was added is written. Raises what the thread failed with."""
        with self._changed:
            wanted = self._wanted = self._added
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._written >= wanted or self._error)
            self._check()

    def end(self) -> Exception | None:
        """Waits until all is written, ends the thread, and returns what it failed with."""
        if not self.is_of_this_process:
            return None
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        return self._error

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    # -- the thread

    def _work(self) -> None:
        try:
            while taken := self._taken():
                data = memoryview(b"".join(taken))
                while data:
                    data = data[self._file.write(data) :]
                with self._changed:
                    self._written += len(taken)
                    self._changed.notify_all()
        except Exception as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()
        finally:
            self._file.close()

    def _taken(self) -> list[bytes]:
        """The records to be written now; none at the end."""
        with self._changed:
            while not self._is_due():
                rest = self._since + self._longest - time.monotonic()
                self._changed.wait(min(rest, threading.TIMEOUT_MAX) if self._waiting else None)
            taken, self._waiting = self._waiting, []
            self._changed.notify_all()
            return taken

    def _is_due(self) -> bool:
        if self._ended or len(self._waiting) >= self._most:
            return True
        is_late = time.monotonic() >= self._since + self._longest
        return bool(self._waiting) and (self._wanted > self._written or is_late)
