"""Forks of a process while other threads of it compile.

In: a process in which a name of flowc is asked for. Out: `fork` waits while another thread is in a
state that a child could not continue from: in the middle of an import, of a step of Numba or LLVM,
or of loading code. They wait for the step, not for the compilation. Invariant: locks are taken in
one order: ours, Numba's, LLVM's.

LLVM's long steps run side by side, without the lock that llvmlite has for all of LLVM: each is in a
context of its own.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import _bootstrap
from typing import Any, Protocol
from weakref import WeakSet

loading = threading.RLock()  # code into the process

_PACKAGES = ("flowc", "numba", "llvmlite", "numpy")
_LONGEST_IMPORT = 60  # seconds; it may wait for what the thread that forks holds


class KeepsLocks(Protocol):
    """What has locks that other threads may hold when the process is forked."""

    def forked(self) -> None:
        """Opens them, in a child, where those threads are not."""
        ...


@cache
def keepers() -> WeakSet[KeepsLocks]:
    """All that a child tells that it is one."""
    return WeakSet()


class SideBySide:
    """Steps that threads take side by side. As a context manager: no other thread is in one."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._threads: list[int] = []  # those in a step

    @contextmanager
    def step(self) -> Iterator[None]:
        this = threading.get_ident()
        with self._change:
            self._threads.append(this)
        try:
            yield
        finally:
            with self._change:
                self._threads.remove(this)
                self._change.notify_all()

    def __enter__(self) -> None:
        self._change.acquire()
        this = threading.get_ident()
        self._change.wait_for(lambda: all(thread == this for thread in self._threads))

    def __exit__(self, *_: object) -> None:
        self._change.release()


llvm_steps = SideBySide()


@cache
def watch_forks() -> None:
    """Has forks of this process wait from now on."""
    held: list[Any] = []  # by the thread that forks, which is one at a time: it holds `loading`

    def before() -> None:
        loading.acquire()
        end = time.monotonic() + _LONGEST_IMPORT
        while _is_importing() and time.monotonic() < end:
            time.sleep(0.001)
        numba = sys.modules.get("numba.core.compiler_lock")
        llvm = sys.modules.get("llvmlite.binding.ffi")
        held[:] = [llvm_steps]
        held.extend([] if numba is None else [numba.global_compiler_lock])
        held.extend([] if llvm is None else [llvm.lib._lock])
        for lock in held:
            lock.__enter__()

    def after() -> None:
        for lock in reversed(held):
            lock.__exit__(None, None, None)
        loading.release()

    def after_in_child() -> None:
        after()
        for keeper in keepers():
            keeper.forked()

    os.register_at_fork(before=before, after_in_parent=after, after_in_child=after_in_child)


def _is_importing() -> bool:
    """Whether another thread is in the middle of an import of the compiler: a child would wait for
    the lock of the module."""
    this = threading.get_ident()
    locks = vars(_bootstrap)["_module_locks"]
    for name, reference in list(locks.items()):
        lock = reference() if name.partition(".")[0] in _PACKAGES else None
        if lock is not None and lock.owner not in (None, this):
            return True
    return False
