"""Steps of the training programs of `examples/training`, beside TensorFlow's executor.

A program runs as it is, 200 steps; what counts is the processor time of its calls of
`Session.run`, without those of the first steps, which compile.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rounds import Row, Timer, compare
from tensorflow_peer import TensorFlowPeer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from training_programs import NAMES, STEPS, losses_of

FIRST = 20  # steps that do not count
# One runs in a session of another class, one registers a gradient, which a process does once.
PROGRAMS = [name for name in NAMES if name not in ("monitored", "own_gradients")]
GOAL = "2x in the geometric mean, none below 1x"


class TimedModule:
    """A module `tf` whose sessions note the seconds of every run."""

    def __init__(self, tf: Any, **settings: Any) -> None:
        self._tf = tf
        self.seconds: list[float] = []
        noted = self.seconds

        class Session(tf.Session):
            def __init__(self, *args: Any, **named: Any) -> None:
                super().__init__(*args, **settings, **named)

            def run(self, *args: Any, **named: Any) -> Any:
                start = time.process_time()
                found = super().run(*args, **named)
                noted.append(time.process_time() - start)
                return found

        self.Session = Session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tf, name)


def seconds_of_step(name: str, tf: Any, **settings: Any) -> float:
    """The mean over the steps that count."""
    timed = TimedModule(tf, **settings)
    losses_of(name, timed)
    calls = len(timed.seconds) / STEPS  # of one step; those that begin and end are few
    return statistics.mean(timed.seconds[math.ceil(FIRST * calls) :]) * calls


def measure(peer: TensorFlowPeer | None, rounds: int) -> list[Row]:
    import flowc

    rows: list[Row] = []
    for name in PROGRAMS:
        peers: dict[str, Timer] = {}
        if peer is not None:
            peers["executor"] = peer.step_timer(name)
        ours = partial(seconds_of_step, name, flowc, threads=1)
        rows.append(compare(name, ours, peers, rounds=min(rounds, 5)))
    return [*rows, _mean(rows)] if peer is not None else rows


def _mean(rows: Sequence[Row]) -> Row:
    mean = statistics.geometric_mean
    ours = mean(row.ours for row in rows)
    theirs = mean(row.peers["executor"] for row in rows)
    ratio = mean(row.ratios["executor"] for row in rows)
    return Row("geometric mean", ours, {"executor": theirs}, {"executor": ratio}, GOAL)
