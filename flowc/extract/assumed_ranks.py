"""Ranks that no graph tells: of what functions of Python return.

In: those that runs have found, and what to try for the others. Out: a rank for each output that
extraction asks about, and which ones these were.
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
