"""What traced programs note of their runs.

In: native code that writes a log (`codegen/driver/trace.py`), and what its numbers mean. Out: a
`Trace`: which step ran from when to when, and the tensors that it gave. Invariant: programs that
are not traced know nothing of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from flowc.codegen.compiled import LOG_WORD, MOST_NOTES, ProgramMetadata, TracedStep
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.ir.dims import Dim, Symbol, evaluate

WORD = ctypes.sizeof(ctypes.c_int64)


@dataclass(frozen=True, slots=True)
class TracedOutput:
    """A tensor that a step gave; `shape` is None where only the run's own steps knew it."""

    dtype: DType
    shape: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class TracedRun:
    """One execution of a step, in nanoseconds since 1970, and what it had to do: None where that
    depends on sizes that only the run's own steps knew."""

    step: TracedStep
    start: int
    end: int
    outputs: tuple[TracedOutput, ...]
    operations: int | None
    bytes: int | None


@dataclass(slots=True)
class RunNotes:
    """What one run of a native function noted, as it stands in the log. (Not frozen: one is made
    within each measured run, and such a class takes four times as long to fill.)"""

    steps: tuple[TracedStep, ...]
    symbols: Sequence[Symbol]
    sizes: bytes  # a word for each symbol
    notes: bytes  # three words each: the number of the step, its start and its end

    def runs(self) -> Iterator[TracedRun]:
        env = dict(zip(self.symbols, np.frombuffer(self.sizes, np.int64).tolist()))
        told = [_outputs_and_work(step, env) for step in self.steps]
        for number, start, end in np.frombuffer(self.notes, np.int64).reshape(-1, 3).tolist():
            yield TracedRun(self.steps[number], start, end, *told[number])


class Trace:
    """The notes of one run. They are read when somebody asks: a run that is measured only copies
    them."""

    __slots__ = ("notes",)

    def __init__(self) -> None:
        self.notes: list[RunNotes] = []

    @property
    def runs(self) -> list[TracedRun]:
        """The steps that ran, in the order in which they ended."""
        return [run for notes in self.notes for run in notes.runs()]


def tells(options: Any) -> bool:
    """Whether a run with these `RunOptions` has something to tell."""
    return bool(options.trace_level or options.output_partition_graphs)


class TracedCode:
    """The native function of a traced program. `trace_of_run`: where its notes go, if anyone wants
    them."""

    def __init__(
        self,
        run: Callable[..., int],
        metadata: ProgramMetadata,
        trace_of_run: Callable[[], Trace | None],
    ) -> None:
        self._run = run
        self._trace_of_run = trace_of_run
        self._steps = metadata.steps
        self._sizes = [Symbol(name) for name in metadata.sizes]
        self._size_bytes = WORD * len(self._sizes)
        # Logs that no run writes to: a new one is large enough that the system has to map its
        # pages, which takes as long as a hundred notes.
        self._free: list[_Log] = []

    def __call__(self, *arguments: Any) -> int:
        try:
            log = self._free.pop()
        except IndexError:
            log = _Log()
        try:
            log.count.value = 0
            _, _, sizes, _, _, status, _ = arguments
            ctypes.c_int64.from_address(status.value + LOG_WORD * WORD).value = log.address
            code = self._run(*arguments)
            trace = self._trace_of_run()
            if trace is not None:
                count = self._size_bytes
                table = ctypes.string_at(sizes.value, count) if count else b""
                notes = log.words[1 : 1 + 3 * log.count.value].tobytes()
                trace.notes.append(RunNotes(self._steps, self._sizes, table, notes))
        finally:
            self._free.append(log)
        return code


class _Log:
    """Memory for the notes of one run: their number, and three words each."""

    __slots__ = ("address", "count", "words")

    def __init__(self) -> None:
        self.words = np.empty(1 + 3 * MOST_NOTES, np.int64)
        self.address: int = self.words.ctypes.data
        self.count = ctypes.c_int64.from_address(self.address)


def _outputs_and_work(
    step: TracedStep, sizes: dict[Symbol, int]
) -> tuple[Any, int | None, int | None]:
    """The outputs of a step and its work, with the sizes of a run."""
    outputs = tuple(TracedOutput(o.dtype, _numbers(o.dims, sizes)) for o in step.outputs)
    work = _numbers((step.work.operations, step.work.bytes), sizes)
    operations, moved = (None, None) if work is None else work
    return outputs, operations, moved


def _numbers(dims: tuple[Dim, ...], sizes: dict[Symbol, int]) -> tuple[int, ...] | None:
    try:
        return tuple(evaluate(d, sizes) for d in dims)
    except KeyError:
        return None
