"""Locks that runs share: MutexV2, MutexLock, ConsumeMutexLock, of which CriticalSections are made.

In: handles. Out: variants that hold a lock. Invariant: one run has a mutex at a time, until the
lock is consumed or the run ends.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.host_run import HostRun
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.lists.host_variants import held_in, kind_of, variant_of
from flowc.ops.queues.handles import (
    RESOURCE,
    Handle,
    define_handle,
    define_step,
    find_state,
    infer_scalars,
    no_outputs,
    scalars,
)

Array = np.ndarray[Any, Any]


class MutexLock:
    """The holder of a mutex."""

    kind = "tensorflow::Mutex::SharedLockReleaser"

    def __init__(self, mutex: Mutex) -> None:
        self._mutex = mutex

    def release(self) -> None:
        """Lets the next one in; nothing where that was done before."""
        self._mutex.release(self)


class Mutex:
    """One that is free or has a holder."""

    def __init__(self, handle: Handle) -> None:
        self._changed = threading.Condition()
        self._holder: MutexLock | None = None

    def lock(self, run: HostRun) -> MutexLock:
        """Waits until nobody holds it."""
        with self._changed:
            run.wait(self._changed, lambda: self._holder is None)
            found = self._holder = MutexLock(self)
        run.at_end(found.release)
        return found

    def release(self, lock: MutexLock) -> None:
        with self._changed:
            if self._holder is lock:
                self._holder = None
                self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._holder = None
            self._changed.notify_all()


def _lock(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    return [variant_of(find_state(run, inputs[0], "mutex", Mutex, {"MutexV2": Mutex}).lock(run))]


def _consume(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    found = held_in(inputs[0], MutexLock)
    if found is None:
        raise InvalidArgumentError(f"Expected input to be a mutex lock, saw {kind_of(inputs[0])}")
    found.release()
    return []


def _infer_nothing(c: Inference) -> list[Dims]:
    return []


define_handle(
    "mutex",
    'MutexV2(; container: string = "", shared_name: string = "") -> resource',
    forms={RESOURCE: "MutexV2"},
)
define_step(
    "mutex_lock",
    "MutexLock(mutex: HANDLE) -> mutex_lock: variant",
    _lock,
    scalars(1),
    infer=infer_scalars(1),
    forms={RESOURCE: "MutexLock"},
)
define_step(
    "consume_mutex_lock",
    "ConsumeMutexLock(mutex_lock: variant)",
    _consume,
    no_outputs,
    infer=_infer_nothing,
    forms={"": "ConsumeMutexLock"},
)
