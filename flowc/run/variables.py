"""The variables of a Session: what they hold between runs.

In: the arrays that runs read, the buffers that runs write. Out: the same, one run after another.
Invariants: no array of a caller is ever a variable's, nor the other way round; a run sees the
values of all variables at one moment, and what it writes appears at once, when it has ended well; a
buffer is written only where no run can be reading it. Rows of a variable may be changed in place: a
run that does so and fails may leave them half changed, as in TensorFlow.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.errors import FailedPreconditionError
from flowc.ir.types import TensorType

Array = np.ndarray[Any, Any]
# Runs with the values of the variables that are read, and buffers for those that are written.
Run = Callable[[Sequence[Array], Sequence[Array | None]], Sequence[Array]]


def type_of(array: Array) -> TensorType:
    return TensorType(dtypes.as_dtype(array.dtype), array.shape)


class _Held:
    """One variable: its value, and the buffer that it had before, to write the next one into."""

    __slots__ = ("is_own", "spare", "type", "value")

    def __init__(self, value: Array, is_own: bool) -> None:
        self.value = value
        self.is_own = is_own
        self.spare: Array | None = None
        self.type = type_of(value)


def _nested() -> FailedPreconditionError:
    return FailedPreconditionError(
        "a function of Python that a run calls started another run of the session, and one of the "
        "two assigns variables: it would wait for itself",
        hint="give the function what it needs as inputs, and assign what it returns",
    )


class HeldVariables:
    """`version` changes with the types of what is held, and with nothing else.

    `initial`: values that variables have before any run assigns them (a checkpoint's).
    """

    def __init__(self, initial: Callable[[], Mapping[str, Array]]) -> None:
        self.version = 0
        self._initial = initial
        self._held: dict[str, _Held] = {}
        self._readers: list[int] = []  # the thread of each run that reads and does not write
        self._writer: int | None = None  # that of the run that writes
        self._is_changing = False  # a run changes values in place: nobody reads
        self._lock = threading.Lock()  # of all the above; never held while a run is under way
        self._changed = threading.Condition(self._lock)
        self._writing = threading.Lock()  # held by the one run that writes

    def types(self) -> tuple[int, dict[str, TensorType]]:
        """The version, and the types that belong to it."""
        with self._lock:
            return self.version, {name: v.type for name, v in self._held.items()}

    def values(self) -> dict[str, Array]:
        """Copies of what is held."""
        with self._writing:
            return {name: held.value.copy() for name, held in self._held.items()}

    def adopt(self, names: Iterable[str]) -> None:
        """Holds the initial values of variables that nothing has assigned yet."""
        for name in names:
            if name in self._held:
                continue
            value = np.asarray(self._initial()[name], order="C")
            with self._lock:
                if name not in self._held:
                    self._held[name] = _Held(value, is_own=False)
                    self.version += 1

    def forget(self) -> None:
        with self._lock:
            self._held.clear()
            self.version += 1

    def run(
        self,
        version: int,
        reads: Sequence[str],
        writes: Sequence[str],
        run: Run,
        in_place: Collection[str] = (),
    ) -> Sequence[Array] | None:
        """What `run` gives, less the new values of `writes`, which come last and are kept. None
        where types have changed since `version`: the program is another one now. `in_place`: what
        it changes where it is, while nobody reads."""
        if not writes:
            return self._run_reading(version, reads, run)
        me = threading.get_ident()
        if self._writer == me:
            raise _nested()
        with self._writing:
            with self._lock:
                if version != self.version:
                    return None
                if in_place:
                    self._alone(in_place, me)
                self._writer = me
                values = [self._held[name].value for name in reads]
                buffers = [
                    self._held[name].value if name in in_place else self._spare(name)
                    for name in writes
                ]
            try:
                results = run(values, buffers)
            finally:
                with self._lock:
                    self._is_changing, self._writer = False, None
                    self._changed.notify_all()
            count = len(results) - len(writes)
            with self._lock:
                for name, value in zip(writes, results[count:]):
                    self._keep(name, value)
            return results[:count]

    def _alone(self, names: Collection[str], me: int) -> None:
        """Waits for the runs that read, keeps others waiting, and makes the values our own."""
        if me in self._readers:
            raise _nested()
        while self._readers:
            self._changed.wait()
        self._is_changing = True
        for held in map(self._held.__getitem__, names):
            if not held.is_own:
                held.value, held.is_own = held.value.copy(), True

    def _run_reading(self, version: int, reads: Sequence[str], run: Run) -> Sequence[Array] | None:
        me = threading.get_ident()
        with self._lock:
            if self._is_changing and self._writer == me:
                raise _nested()
            while self._is_changing:
                self._changed.wait()
            if version != self.version:
                return None
            values = [self._held[name].value for name in reads]
            self._readers.append(me)
        try:
            return run(values, ())
        finally:
            with self._lock:
                self._readers.remove(me)
                self._changed.notify_all()

    def _spare(self, name: str) -> Array | None:
        """A buffer that nobody reads."""
        held = self._held.get(name)
        return None if held is None or self._readers else held.spare

    def _keep(self, name: str, value: Array) -> None:
        held = self._held.get(name)
        if held is None:
            self._held[name] = _Held(value, is_own=True)
            self.version += 1
            return
        if held.value is value:
            return
        fits = held.value.dtype == value.dtype and held.value.shape == value.shape
        held.spare = held.value if held.is_own and fits else None
        held.value, held.is_own = value, True
        if not fits:
            held.type = type_of(value)
            self.version += 1
