"""What a host step may know of the run that it belongs to: the contract of steps that may block.

In: the step's own condition to wait for. Out: it holds, or the run ends: the Session is closed
(`CancelledError`), or the run takes too long (`DeadlineExceededError`). Invariant: a run holds no
lock while a step waits, neither of variables nor of Python; see docs/internals/state.md.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.errors import (
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    ResourceExhaustedError,
    UnsupportedError,
)

Array = np.ndarray[Any, Any]


class WouldWaitError(Exception):
    """A step that was only to be tried has to wait."""


class CancelToken:
    """A flag, set once, that cancels all waits, and wakes them."""

    def __init__(self) -> None:
        self.is_cancelled = False
        self._lock = threading.Lock()
        self._waiting: list[Callable[[], None]] = []

    def cancel(self) -> None:
        with self._lock:
            self.is_cancelled = True
            waiting = list(self._waiting)
        for wake in waiting:  # without the lock: they take their own
            wake()

    @contextmanager
    def waking(self, wake: Callable[[], None]) -> Generator[None]:
        """Within it, `cancel` calls `wake`, from the thread that cancels."""
        with self._lock:
            self._waiting.append(wake)
        try:
            yield
        finally:
            with self._lock:
                self._waiting.remove(wake)


class HostState(Protocol):
    """What host steps share and no value holds: a queue, a reader, a table, an iterator. It has
    locks of its own, which no step holds while it waits but by `HostRun.wait`."""

    def close(self) -> None:
        """The Session is closed: no run will use the state again."""
        ...


State = TypeVar("State", bound=HostState)


class HostStates:
    """The states of a Session by their ids."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: dict[str, HostState] = {}

    def find(self, id: str, kind: type[State], make: Callable[[], State]) -> State:
        """The state with an id, made by whoever asks first. Raises `InvalidArgumentError` for one
        of another kind."""
        with self._lock:
            found = self._states.get(id)
            if found is None:
                found = self._states[id] = make()
        if not isinstance(found, kind):
            text = f"'{id}' is a {type(found).__name__}, and not a {kind.__name__}"
            raise InvalidArgumentError(text)
        return found

    def close(self) -> None:
        with self._lock:
            states, self._states = list(self._states.values()), {}
        for state in states:
            state.close()


class HostValue(bytes):
    """What a tensor of dtype variant holds that only Python knows: it goes through native code as a
    string does, and comes out as the same object."""

    value: Any

    @classmethod
    def of(cls, value: Any) -> HostValue:
        found = cls(b"variant")
        found.value = value
        return found


class StoredValue(HostValue):
    """One that a checkpoint holds: its bytes are what is written."""


class ChosenTensor(HostValue):
    """A tensor that is fetched, and of which only the run knows the rank."""


def held(value: Any) -> Array:
    """What a host step is given, or a run gives, as an array also where its rank is 0."""
    if isinstance(value, np.ndarray):
        return cast(Array, value)
    if isinstance(value, bytes):
        found = np.empty((), object)
        found[()] = value
        return found
    return np.asarray(value)


def scalar_of(value: Any, name: str) -> Any:
    """The number or the bytes of what a host step is given. Raises `InvalidArgumentError` where it
    has another rank."""
    if not isinstance(value, np.ndarray):
        return value
    array = cast(Array, value)
    if array.ndim:
        raise InvalidArgumentError(f"{name} must be a scalar")
    return array[()]


def vector_of(value: Any, name: str) -> list[int]:
    """The whole numbers of a vector. Raises `InvalidArgumentError` where it has another rank."""
    found = held(value)
    if found.ndim != 1:
        raise InvalidArgumentError(f"{name} must be a vector")
    return found.tolist()


def text_of(value: Any, name: str) -> str:
    """Bytes that a host step is given as text, whatever they are. Raises as `scalar_of`."""
    found = scalar_of(value, name)
    if not isinstance(found, bytes):
        raise InvalidArgumentError(f"{name} must be a string")
    return found.decode("utf-8", "surrogateescape")


# A function of the graph, compiled: arrays for arrays. It may be given arrays that results are
# written to, all of them, where they fit, and gives these back then.
HostFunction = Callable[..., list[Any]]


@dataclass(frozen=True, slots=True)
class BatchedFunction:
    """A function for many elements at once. `stacked`: arrays with a first axis for the elements,
    for such arrays. `rest`: what the function gives for one element, from its rows of what
    `stacked` gives, and from what all elements share; None where that is the result itself."""

    stacked: HostFunction
    rest: HostFunction | None


@dataclass(frozen=True, slots=True)
class StepKernel:
    """A native kernel that a host step calls, as in `flowc.ir.lowering.Native`, but with a range of
    one step. `buffers`: the dtypes of its pointers; `ints`: how many integers follow these."""

    function: Callable[..., None]
    buffers: tuple[DType | str, ...]
    ints: int


# Row-major arrays for the pointers, and the integers.
NativeCall = Callable[[Sequence[Array], Sequence[int]], None]


class HostFunctions(Protocol):
    """What a Session compiles for host steps: the functions of its graph, and kernels."""

    def kernel(self, wanted: StepKernel, elements: int) -> NativeCall | None:
        """A kernel, for so many elements more; None as long as these were too few for compiling it
        to be worth it."""
        ...

    def stateful(self, name: str) -> str | None:
        """The type of an op in a function whose results depend on more than its arguments."""
        ...

    def find(
        self, name: str, handles: Mapping[int, str], streams: dict[Any, Any], calls: int = 1
    ) -> HostFunction:
        """The function with a name. `handles`: those of its arguments that are handles, by the
        names of the nodes that made them; calls leave them out. `streams`: where functions that
        draw random numbers are kept; each begins its stream anew in another one. `calls`: how many
        may be under way at once, which share the cores."""
        ...

    def find_batched(
        self,
        name: str,
        handles: Mapping[int, str],
        streams: dict[Any, Any],
        ranks: Sequence[int | None],
        calls: int = 1,
    ) -> BatchedFunction | None:
        """The same for many elements at once, whose arguments have these ranks; None: all elements
        share the argument. None where that is no gain."""
        ...


class HostRun:
    """One run. `cancel`, `states` and `functions` are those of its Session; `timeout`: milliseconds
    that it may take from now on, if not 0. `max_memory`: bytes that its host steps may keep."""

    def __init__(
        self,
        cancel: CancelToken | None = None,
        states: HostStates | None = None,
        timeout: float = 0,
        functions: HostFunctions | None = None,
        max_memory: int = sys.maxsize,
    ) -> None:
        self.cancel = cancel or CancelToken()
        self.states = states or HostStates()
        self.max_memory = max_memory
        self._functions = functions
        self._timeout = timeout
        self._is_patient = True
        self._at_end: list[Callable[[], None]] = []
        self._deadline = time.monotonic() + timeout / 1000 if timeout else None

    @property
    def functions(self) -> HostFunctions:
        """Raises `UnsupportedError` where nothing compiles functions while it runs."""
        if self._functions is None:
            raise UnsupportedError(
                "a step of Python calls functions of the graph, which only a Session has",
                hint="run the model in a Session",
            )
        return self._functions

    def at_end(self, function: Callable[[], None]) -> None:
        """Calls a function when the run has ended, well or not."""
        self._at_end.append(function)

    def end(self) -> None:
        while self._at_end:
            self._at_end.pop()()

    def kernel(self, wanted: StepKernel, elements: int) -> NativeCall | None:
        """As `HostFunctions.kernel`; None where nothing is compiled while it runs."""
        return None if self._functions is None else self._functions.kernel(wanted, elements)

    def endless(self, cancel: CancelToken) -> HostRun:
        """A run for what outlasts this one, until `cancel` ends it."""
        return HostRun(cancel, self.states, 0, self._functions, self.max_memory)

    def until(self, cancel: CancelToken) -> HostRun:
        """A run for a part of this one, which `cancel` ends."""
        found = copy(self)
        found.cancel = cancel
        return found

    def impatient(self) -> HostRun:
        """A run for a step that is only tried: where it has to wait, it ends with a
        `WouldWaitError`, as if it had not begun."""
        found = copy(self)
        found._is_patient = False
        return found

    def check_memory(self, size: int, what: str) -> None:
        """Raises `ResourceExhaustedError` where so many bytes are more than the run may take."""
        if size > self.max_memory:
            raise ResourceExhaustedError(
                f"{what} takes {size} bytes or more, and a run may take {self.max_memory} "
                "(max_memory)"
            )

    def check(self) -> None:
        """Raises where the run is to end."""
        if self.cancel.is_cancelled:
            raise CancelledError("the session was closed while a run of it was under way")
        if self._deadline is not None and time.monotonic() >= self._deadline:
            text = f"Timed out waiting for notification: a run of more than {self._timeout:.0f} ms"
            raise DeadlineExceededError(text)

    @property
    def left(self) -> float:
        """Milliseconds until the run is late, 0 where it never is."""
        if self._deadline is None:
            return 0
        return max(1, (self._deadline - time.monotonic()) * 1000)

    def wait(self, condition: threading.Condition, ready: Callable[[], bool]) -> None:
        """Waits with a condition, which the caller holds, until `ready`. Raises where the run is to
        end first."""

        def wake() -> None:
            with condition:
                condition.notify_all()

        with self.cancel.waking(wake):
            while not ready():
                self.check()
                if not self._is_patient:
                    raise WouldWaitError
                condition.wait(self.left / 1000 or None)
