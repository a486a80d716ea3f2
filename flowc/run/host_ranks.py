"""What a Session finds out about the ranks of what functions of Python return.

In: a fetch set whose graph does not tell them. Out: a program for ranks that fit, and its results.
Ranks are assumed; a run in which a function returns another one ends there, and the fetch set is
compiled anew. Invariant: the functions that such a run had called are not called again: the next
attempt is given what they returned. (Messages that it had printed are printed again.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from flowc.errors import FlowcError
from flowc.extract.assumed_ranks import AssumedRanks, OutputName
from flowc.run.host_steps import RankError, RunLog, logged

TRIALS = (None, 0, 1, 2, 3, 4)
T = TypeVar("T")


class Outdated(Exception):
    """The program has to be looked up again: a variable has another type now, or what a function of
    Python returned has another rank than was assumed."""


class HostRanks:
    """The ranks of one fetch set: `found` by its runs, `assumed` by its program, and those outputs
    of the program that no call has confirmed (`open`). `seen`: the last ones that any fetch set of
    the session found, which are tried first."""

    def __init__(self, seen: dict[OutputName, int]) -> None:
        self.seen = seen
        self.found: dict[OutputName, int] = {}
        self.assumed: dict[OutputName, int] = {}
        self.open: set[OutputName] = set()
        self.is_news = False  # whether a run has found what the program does not know

    def extracted(self, extract: Callable[[AssumedRanks], T]) -> T:
        """Extracts with the first ranks that types allow. Raises what the first attempt raises."""
        first: FlowcError | None = None
        for trial in TRIALS:
            known = self.seen | self.found if trial is None else self.found
            ranks = AssumedRanks(known, trial)
            try:
                result = extract(ranks)
            except FlowcError as error:
                if all(output in self.found for output in ranks.asked):
                    raise
                first = first or error
                continue
            self.assumed, self.is_news = ranks.asked, False
            self.open = {o for o in ranks.asked if o not in self.found}
            return result
        assert first is not None
        raise first

    def run(self, call: Callable[[Sequence[Any]], T], given: Sequence[Any], log: RunLog) -> T:
        """One attempt, whose calls confirm ranks. Raises `Outdated` where they find others."""
        if not self.open and not log.nodes:
            return call(given)
        log.again()
        try:
            with logged(log):
                result = call(given)
        except RankError as error:
            self._learn(error, log)
            raise Outdated from error
        self.open -= {o for o in self.open if o[0] in log.nodes}
        self.found |= {o: rank for o, rank in self.assumed.items() if o not in self.open}
        self.seen |= self.found
        return result

    def _learn(self, error: RankError, log: RunLog) -> None:
        """Raises the error where the rank was another one before, or where too much would have to
        be repeated."""
        if self.found.get(error.output) == error.rank:
            return  # a run in another thread has found it, too
        if error.output not in self.open or not log.is_whole:
            raise error
        self.found[error.output] = error.rank
        self.is_news = True
