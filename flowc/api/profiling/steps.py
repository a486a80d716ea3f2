"""Steps of traced runs, added up, as a table, and what memory their tensors take.

In: the steps of runs. Out: totals by step, a text, bytes over time. Invariant: the totals of all
steps are the times of the runs' leaf steps: a loop is not counted beside what runs inside of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowc.dataclass import dataclass
from flowc.run.step_stats import StepTimes


@dataclass(slots=True)
class StepTotal:
    """One step in all runs. `times`: how often it ran; `nanoseconds` without those of steps inside
    of it; `longest` of one time; `bytes` of the tensors that it gives in one."""

    step: StepTimes
    times: int = 0
    nanoseconds: int = 0
    longest: int = 0
    bytes: int = 0


def totals_of(runs: Sequence[Sequence[StepTimes]]) -> list[StepTotal]:
    """The steps of all runs, the one that took longest first."""
    found: dict[tuple[str, tuple[str, ...]], StepTotal] = {}
    for run in runs:
        for step, own in zip(run, _own_times(run)):
            total = found.setdefault((step.kind, step.nodes), StepTotal(step))
            total.times += 1
            total.nanoseconds += own
            total.longest = max(total.longest, own)
            total.bytes = max(total.bytes, step.bytes)
    return sorted(found.values(), key=lambda t: (-t.nanoseconds, t.step.nodes))


def _own_times(run: Sequence[StepTimes]) -> list[int]:
    """How long each step took, without the steps inside: those that begin and end within it."""
    own = [step.end - step.start for step in run]
    open_steps: list[int] = []
    order = sorted(range(len(run)), key=lambda i: (run[i].start, -run[i].end))
    for i in order:
        while open_steps and run[open_steps[-1]].end < run[i].end:
            open_steps.pop()
        if open_steps and run[open_steps[-1]].start <= run[i].start:
            own[open_steps[-1]] -= run[i].end - run[i].start
        open_steps.append(i)
    return [max(0, n) for n in own]


def table_of(totals: Sequence[StepTotal], runs: int, most: int) -> str:
    """The steps that took longest, a line each; what they all took in the last."""
    whole = sum(t.nanoseconds for t in totals) or 1
    lines = ["      us/run  share    runs      bytes  kind         ops (last node)"]
    for total in totals[:most]:
        share = total.nanoseconds / whole
        step = total.step
        per_run = total.nanoseconds / 1e3 / max(runs, 1)
        text = f"{step.ops} ({step.nodes[-1]})"
        lines.append(
            f"{per_run:12.1f} {share:6.1%} {total.times:7} {total.bytes:10} {step.kind:12} {text}"
        )
    rest = totals[most:]
    if rest:
        left = sum(t.nanoseconds for t in rest)
        lines.append(
            f"{left / 1e3 / max(runs, 1):12.1f} {left / whole:6.1%}         "
            f"{'':10} {len(rest)} more"
        )
    per_run = sum(t.nanoseconds for t in totals) / 1e3 / max(runs, 1)
    lines.append(f"{per_run:12.1f}         {runs:7} runs of {len(totals)} steps")
    return "\n".join(lines)


def bytes_alive(run: Sequence[StepTimes]) -> list[tuple[int, int]]:
    """(time, bytes of the tensors that are still read) at the end of each step. A tensor is alive
    until the last step that reads its node has ended; one that none reads, until the run ends."""
    reads: dict[str, int] = {}
    for step in run:
        for name in step.inputs:
            reads[name] = max(reads.get(name, 0), step.end)
    changes: list[tuple[int, int]] = []
    for step in run:
        changes.append((step.end, step.bytes))
        last = max((reads[name] for name in step.nodes if name in reads), default=None)
        if last is not None:
            changes.append((last, -step.bytes))
    found: list[tuple[int, int]] = []
    held = 0
    for moment, change in sorted(changes, key=lambda c: (c[0], -c[1])):
        held += change
        found.append((moment, held))
    return found
