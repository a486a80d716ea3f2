"""Ranks that no graph tells: of what functions of Python return.

In: a fetch set whose graph does not tell them. Out: a program for ranks that fit, and its results.
Ranks are assumed; a run in which a function returns another one ends there, and the fetch set is
compiled anew. Invariant: the functions that such a run had called are not called again: the next
attempt is given what they returned. (Messages that it had printed are printed again.)

Extraction asks for the rank of an output whose record gives no shape (`Extractor.output_shapes`);
where nobody assumes any, such a graph is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from flowc.errors import FlowcError, InvalidArgumentError
from flowc.run.host_steps import RunLog, current

if TYPE_CHECKING:
    from flowc.extract.program import OutputName, RankOf

TRIALS = (None, 0, 1, 2, 3, 4)  # ranks of outputs that no run has found; None: as the first input
T = TypeVar("T")


class Outdated(Exception):
    """The program has to be looked up again: a variable has another type now, or what a function of
    Python returned has another rank than was assumed."""


class HostRanks:
    """The ranks of one fetch set: `found` by its runs, and `assumed` by its program. `seen`: the
    last ones that any fetch set of the session found, which are tried first."""

    def __init__(self, seen: dict[OutputName, int]) -> None:
        self.seen = seen
        self.found: dict[OutputName, int] = {}
        self.assumed: dict[OutputName, int] = {}

    @property
    def open(self) -> set[OutputName]:
        """The outputs of the program whose assumed ranks no call has confirmed."""
        return self.assumed.keys() - self.found.keys()

    @property
    def is_news(self) -> bool:
        """Whether a run has found what the program does not know."""
        return any(self.found.get(o, rank) != rank for o, rank in self.assumed.items())

    def extracted(self, extract: Callable[[RankOf], T]) -> T:
        """Extracts with the first ranks that types allow. Raises what the first attempt raises."""
        first: FlowcError | None = None
        for trial in TRIALS:
            known = self.seen | self.found if trial is None else self.found
            asked, rank_of = _assuming(known, trial)
            try:
                result = extract(rank_of)
            except FlowcError as error:
                if asked.keys() <= self.found.keys():
                    raise
                first = first or error
            else:
                self.assumed = asked
                return result
        assert first is not None
        raise first

    def run(self, call: Callable[[Sequence[Any]], T], given: Sequence[Any], log: RunLog) -> T:
        """One attempt, whose calls confirm ranks. Raises `Outdated` where they find others."""
        if not self.open and not log.nodes:
            return call(given)
        log.again()
        try:
            with current(log=log):
                result = call(given)
        except InvalidArgumentError as error:
            if log.other_rank is None or not self._learn(*log.other_rank, log):
                raise
            raise Outdated from error
        self.found |= {o: rank for o, rank in self.assumed.items() if o[0] in log.nodes}
        self.seen |= self.found
        return result

    def _learn(self, output: OutputName, rank: int, log: RunLog) -> bool:
        """Whether another attempt helps: not where the rank was another one before, nor where too
        much would have to be repeated."""
        if self.found.get(output) == rank:
            return True  # a run in another thread has found it, too
        if output not in self.open or not log.is_whole:
            return False
        self.found[output] = rank
        return True


def _assuming(
    known: Mapping[OutputName, int], trial: int | None
) -> tuple[dict[OutputName, int], RankOf]:
    """The ranks that were asked for, and what gives them."""
    asked: dict[OutputName, int] = {}

    def rank_of(output: OutputName, like: int) -> int:
        asked[output] = known.get(output, like if trial is None else trial)
        return asked[output]

    return asked, rank_of
