"""Ranks that no graph tells: of what functions of Python return.

In: those that runs have found, and what to try for the others. Out: a rank for each output that
extraction asks about, and which ones these were.

This is all that extraction knows of assumed ranks: it asks `of` for an output whose record gives no
shape (`Extractor.output_shapes`), and who called it reads `asked`. Which ranks are tried, in which
order, and what a run that finds another one does, is the Session's affair
(`flowc/run/host_ranks.py`, with the log of calls in `flowc/run/host_steps.py`). Without an
AssumedRanks such a graph is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

OutputName = tuple[str, int]  # the node, as errors name it, and which of its outputs


class AssumedRanks:
    """`trial`: the rank of outputs that no run has found; None for that of the node's first input.
    `asked`: every output that was asked for, with its rank."""

    def __init__(self, found: Mapping[OutputName, int], trial: int | None) -> None:
        self.found = found
        self.trial = trial
        self.asked: dict[OutputName, int] = {}

    def of(self, output: OutputName, like: int) -> int:
        rank = self.found.get(output)
        if rank is None:
            rank = like if self.trial is None else self.trial
        self.asked[output] = rank
        return rank
