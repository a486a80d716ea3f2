"""What a run calls in Python: the host steps of its program.

In: the calls of a program's metadata, then the words of one step at a time (driver.py writes them).
Out: the addresses and dims of what the step's function returned. Invariant: a function gets arrays
of its own, which it may keep or change, and what it returns is checked before native code reads it.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.codegen.string_table import Texts
from flowc.dtypes import DType
from flowc.errors import (
    FlowcError,
    InternalError,
    InvalidArgumentError,
    ResourceExhaustedError,
    as_raised,
)
from flowc.ir.host_run import HostRun
from flowc_runtime.addresses import data_address

if TYPE_CHECKING:
    from flowc.codegen.compiled import HostCall
    from flowc.run.traces import Trace

Array = np.ndarray[Any, Any]
OPEN = -1  # a dim that the function decides
MOST_KEPT = 1 << 26  # bytes of results for another attempt at a run


class RunLog:
    """The results of a run's Python functions, recorded so that another attempt, which begins with
    `again`, replays them. `nodes`: those that were called. Nothing is kept once it would be too
    much. `other_rank`: the output that ended the attempt, for it had another rank than the program
    was compiled for, and that rank."""

    def __init__(self) -> None:
        self.nodes: set[str] = set()
        self.other_rank: tuple[tuple[str, int], int] | None = None
        self._found: list[tuple[str, list[Array]]] = []
        self._next = 0
        self._bytes = 0

    @property
    def is_whole(self) -> bool:
        return self._bytes <= MOST_KEPT

    def again(self) -> None:
        self._next, self.other_rank = 0, None

    def repeated(self, node: str) -> list[Array] | None:
        """What the node returned at this point of the last attempt."""
        if self._next < len(self._found) and self._found[self._next][0] == node:
            self._next += 1
            return self._found[self._next - 1][1]
        return None

    def note(self, node: str, arrays: Sequence[Array]) -> None:
        self.nodes.add(node)
        self._bytes += sum(a.nbytes for a in arrays)
        if self.is_whole:
            self._found[self._next :] = [(node, [a.copy() for a in arrays])]
            self._next += 1
        else:
            self._found.clear()


class _Current(threading.local):
    log: RunLog | None = None
    texts: Texts | None = None
    run: HostRun | None = None
    trace: Trace | None = None


_current = _Current()


class current:
    """`log`: what the runs of this thread write to. `texts`: the table of strings of its run."""

    __slots__ = ("_before", "_held")

    def __init__(self, **held: RunLog | Texts | None) -> None:
        self._held = held

    def __enter__(self) -> None:
        self._before = {name: getattr(_current, name) for name in self._held}
        _current.__dict__.update(self._held)

    def __exit__(self, *_: object) -> None:
        _current.__dict__.update(self._before)


def traced_by(trace: Trace, run: Callable[..., Any], *arguments: Any) -> Any:
    """What `run(*arguments)` gives, whose traced runs write to `trace`. (A context, or a call with
    names, would take a tenth of what a traced run takes more.)"""
    before, _current.trace = _current.trace, trace
    try:
        return run(*arguments)
    finally:
        _current.trace = before


def current_trace() -> Trace | None:
    return _current.trace


class host_run:
    """The run of this thread, to which host steps belong."""

    __slots__ = ("_before", "_run")

    def __init__(self, run: HostRun) -> None:
        self._run = run

    def __enter__(self) -> None:
        self._before, _current.run = _current.run, self._run

    def __exit__(self, *_: object) -> None:
        _current.run = self._before


def time_left() -> float:
    """Milliseconds that the run of this thread may still take, 0 where there is no bound."""
    return 0 if _current.run is None else _current.run.left


def fault_of_step(error: Exception, node: str) -> Exception:
    """What to raise where a step failed that has no error of its own."""
    if isinstance(error, MemoryError) or "array is too big" in str(error):  # NumPy's ValueError
        text = f"no memory for what Python computes: {error}"
        return ResourceExhaustedError(text, node=node)
    return as_raised(error, "a step in Python", node)


class HostCalls:
    """Called by native code with the number of a step and the address of its words."""

    def __init__(self, calls: Sequence[HostCall]) -> None:
        self.steps = [_HostStep(call) for call in calls]
        self.may_block = any(step.may_block for step in self.steps)

    def __call__(self, number: int, address: int) -> list[Array]:
        """The arrays, which the caller keeps as long as it reads their memory."""
        step = self.steps[number]
        try:
            return step.run(address)
        except FlowcError:
            raise
        except Exception as error:
            raise fault_of_step(error, step.node) from error


class _HostStep:
    def __init__(self, call: HostCall) -> None:
        # Late: a program without host steps needs no records.
        from flowc.ir.lowering import Host
        from flowc.ops import op_named

        lowering = op_named(call.op).lowering
        assert isinstance(lowering, Host)
        self.op = lowering.shown
        self.function = lowering.function
        self.settings = call.settings
        self.may_block = lowering.may_block
        self.node = call.node
        self.inputs = [(dtypes.as_dtype(name), rank) for name, rank in call.inputs]
        self.outputs = [(dtypes.as_dtype(name), rank) for name, rank in call.outputs]
        self.dtypes = [dtype for dtype, _ in self.outputs]
        self.words = sum(1 + rank for _, rank in (*self.inputs, *self.outputs))

    def run(self, address: int) -> list[Array]:
        words = (ctypes.c_int64 * self.words).from_address(address)
        at, texts = 0, _current.texts
        given: list[Any] = []
        for dtype, rank in self.inputs:
            array = _taken(words[at], tuple(words[at + 1 : at + 1 + rank]), dtype)
            if texts is not None and dtype is dtypes.string:
                array = texts.strings(array)
            given.append(array if rank else array[()])
            at += 1 + rank
        try:
            found = self._results(given)
        except FlowcError as error:
            if error.node is None:
                error.node = self.node
            raise
        if len(found) != len(self.outputs):
            raise InternalError(f"{len(found)} outputs of {len(self.outputs)}", node=self.node)
        kept: list[Array] = []
        for k, (array, (dtype, rank)) in enumerate(zip(found, self.outputs)):
            self._check(k, array, dtype, words[at + 1 : at + 1 + rank])
            if texts is not None and dtype is dtypes.string:
                array = texts.numbers(array)
            kept.append(array)
            words[at] = data_address(array) or 0
            words[at + 1 : at + 1 + rank] = array.shape
            at += 1 + rank
        return kept

    def _results(self, given: Sequence[Any]) -> Sequence[Array]:
        log = _current.log
        found = log.repeated(self.node) if log is not None else None
        if found is None:
            with current(log=None, texts=None):  # the function may run programs, too
                more = {"run": _current.run or HostRun()} if self.may_block else {}
                found = self.function(given, self.dtypes, **more, **self.settings)
            if log is not None:
                log.note(self.node, found)
        return found

    def _check(self, k: int, array: Array, dtype: DType, dims: Sequence[int]) -> None:
        if not isinstance(array, np.ndarray):
            raise InternalError(f"output {k} is {type(array)}, and no array", node=self.node)
        if array.dtype != dtype.numpy or not array.flags.c_contiguous:
            raise InternalError(f"output {k} is {array.dtype}, and not {dtype}", node=self.node)
        shown = ", ".join("?" if d == OPEN else str(d) for d in dims)
        has_rank = len(dims) == array.ndim
        if not has_rank and _current.log is not None:
            _current.log.other_rank = (self.node, k), array.ndim
        if not has_rank or not all(d in (OPEN, n) for d, n in zip(dims, array.shape)):
            raise InvalidArgumentError(
                f"output {k} of {self.op} has shape {list(array.shape)}, where [{shown}] is "
                "expected",
                node=self.node,
            )


def _taken(address: int, shape: tuple[int, ...], dtype: DType) -> Array:
    """A copy of native memory; of strings their numbers."""
    array = np.empty(shape, np.int64 if dtype is dtypes.string else dtype.numpy)
    ctypes.memmove(data_address(array) or 0, address, math.prod(shape) * dtype.held_size)
    return array
