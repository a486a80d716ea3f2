"""Where the time of runs goes, from the traces of programs.

In: traces of whole runs, each with when its caller began and ended. Out: for each step of the
program the time of a run that it takes itself, and what is left. Invariant: what a loop takes is
counted once, as the time of its steps and what is left of it.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from flowc.codegen.compiled import MOST_NOTES, TracedStep
from flowc.dataclass import dataclass
from flowc.run.traces import Trace, TracedRun


@dataclass(frozen=True, slots=True)
class WholeRun:
    """A run as its caller saw it, in nanoseconds since 1970."""

    start: int
    end: int
    trace: Trace


@dataclass(frozen=True, slots=True)
class KernelTime:
    """A step in a run: how often it ran, the seconds that it took in all without those of steps
    inside it, and its work in all; None where only the run's own steps knew that."""

    step: TracedStep
    times: int
    seconds: float
    operations: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class RunTimes:
    """`before`: seconds until the first step (arguments, checks, memory); `between` steps; `after`
    the last (memory, results). `is_whole`: the log had room for every step."""

    before: float
    between: float
    after: float
    kernels: tuple[KernelTime, ...]
    is_whole: bool

    @property
    def seconds(self) -> float:
        return self.before + self.between + self.after + sum(k.seconds for k in self.kernels)


@dataclass(slots=True)
class _Notes:
    """One run, taken apart: nanoseconds by step, and of what is left."""

    before: int
    between: int
    after: int
    steps: dict[int, list[TracedRun]]
    own: dict[int, int]


def times_of(runs: Sequence[WholeRun]) -> RunTimes:
    """The median of each part over the runs, of which a busy machine disturbs now this one and now
    that."""
    notes = [_notes_of(run) for run in runs]
    middle = lambda values: statistics.median(values) / 1e9
    steps = {number: found for n in notes for number, found in n.steps.items()}
    kernels = [
        _kernel(found, middle([n.own.get(number, 0) for n in notes]))
        for number, found in steps.items()
    ]
    return RunTimes(
        middle([n.before for n in notes]),
        middle([n.between for n in notes]),
        middle([n.after for n in notes]),
        tuple(sorted(kernels, key=lambda k: -k.seconds)),
        all(len(run.trace.runs) < MOST_NOTES for run in runs),
    )


def _notes_of(run: WholeRun) -> _Notes:
    noted = sorted(run.trace.runs, key=lambda r: (r.start, -r.end))
    steps: dict[int, list[TracedRun]] = {}
    own: dict[int, int] = {}
    open_steps: list[TracedRun] = []
    outer = 0
    for r in noted:
        while open_steps and open_steps[-1].end <= r.start:
            open_steps.pop()
        took = r.end - r.start
        if open_steps:
            own[id(open_steps[-1].step)] -= took
        else:
            outer += took
        open_steps.append(r)
        steps.setdefault(id(r.step), []).append(r)
        own[id(r.step)] = own.get(id(r.step), 0) + took
    first = noted[0].start if noted else run.end
    last = max((r.end for r in noted), default=run.end)
    return _Notes(first - run.start, last - first - outer, run.end - last, steps, own)


def _kernel(runs: Sequence[TracedRun], seconds: float) -> KernelTime:
    operations = [r.operations for r in runs if r.operations is not None]
    moved = [r.bytes for r in runs if r.bytes is not None]
    return KernelTime(
        runs[0].step,
        len(runs),
        seconds,
        sum(operations) if len(operations) == len(runs) else None,
        sum(moved) if len(moved) == len(runs) else None,
    )
