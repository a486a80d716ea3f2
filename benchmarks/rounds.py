"""Rounds of timings that alternate between contestants, and the table of what they took.

In: for each contestant a function that runs once and gives its seconds. Out: Rows. The clock of a
shared machine moves, so every round times all contestants one after another; what counts is the
median over the rounds of the ratio within a round.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

Timer = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `ours` and `peers` are median milliseconds; `ratios` say how many
    times our time each peer took; `goal` is what is asked for, in words."""

    name: str
    ours: float
    peers: dict[str, float] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)
    goal: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def timer(call: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> Timer:
    """Seconds for one call: of processor time, so that waiting for a core does not count, or by
    another clock."""

    def seconds() -> float:
        start = clock()
        call()
        return clock() - start

    return seconds


def compare(
    name: str, ours: Timer, peers: Mapping[str, Timer], *, rounds: int = 21, goal: str = ""
) -> Row:
    """Times all contestants in every round, after two rounds that do not count."""
    taken: dict[str, list[float]] = {"": [], **{peer: [] for peer in peers}}
    for number in range(rounds + 2):
        for peer, run in {"": ours, **peers}.items():
            seconds = run()
            if number >= 2:
                taken[peer].append(seconds)
    medians = {peer: statistics.median(values) * 1e3 for peer, values in taken.items()}
    ratios = {
        peer: statistics.median(p / o for p, o in zip(taken[peer], taken[""])) for peer in peers
    }
    return Row(name, medians.pop(""), medians, ratios, goal)


def show(title: str, rows: Sequence[Row]) -> None:
    """Prints rows as a table: milliseconds, and each peer's time as a multiple of ours."""
    peers = list(dict.fromkeys(p for row in rows for p in row.peers))
    width = max([len(row.name) for row in rows] + [len(title)])
    header = f"{title:{width}}  {'flowc ms':>10}"
    header += "".join(f"  {peer + ' ms':>12} {'ratio':>6}" for peer in peers)
    print(header)
    for row in rows:
        line = f"{row.name:{width}}  {row.ours:10.3f}"
        for peer in peers:
            if peer in row.peers:
                line += f"  {row.peers[peer]:12.3f} {row.ratios[peer]:5.2f}x"
            else:
                line += " " * 21
        print(f"{line}  {row.goal}".rstrip(), flush=True)
    print(flush=True)
