"""The decision tree that selects the live input of a Merge.

In: for each input its guard, the (predicate, branch) pairs under which it is alive. Out: a tree of
decisions over predicates, with positions of inputs at its leaves. Invariant: a leaf is alive
wherever its decisions lead, if any input is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from flowc.dataclass import dataclass
from flowc.extract.node_source import Ref

Guard = frozenset[tuple[Ref, int]]
ALWAYS: Guard = frozenset()


@dataclass(frozen=True, slots=True)
class Decision:
    """A predicate, and what is alive where it is false and where it is true."""

    predicate: Ref
    sides: tuple[Choice, Choice]


Choice = int | Decision


def is_dead(guard: Guard) -> bool:
    """Whether something is in both branches of one conditional: it never runs."""
    return len({predicate for predicate, _ in guard}) < len(guard)


def shared_guard(guards: Sequence[Guard]) -> Guard:
    """Under which branches a Merge is alive: those that its inputs have in common."""
    living = [g for g in guards if not is_dead(g)]
    return frozenset.intersection(*(living or guards))


def choose(guards: Sequence[Guard], given: Collection[int] = ()) -> Choice | None:
    """What decides a Merge of inputs with these guards; None where two may be alive at once.

    `given`: inputs that are fed, and so alive whatever branch they stand in: they count where no
    other input is alive.
    """
    known = shared_guard(guards)
    living = [(i, g - known) for i, g in enumerate(guards) if not is_dead(g)]
    living.sort(key=lambda item: item[0] in given)
    try:
        return _choose(living, given) if living else 0
    except _Ambiguous:
        return None


class _Ambiguous(Exception):
    """Two inputs may be alive at once."""


def _choose(inputs: Sequence[tuple[int, Guard]], given: Collection[int]) -> Choice:
    first, guard = inputs[0]
    if len(inputs) == 1:
        return first
    if not guard:
        if all(i in given for i, _ in inputs[1:]):
            return first
        raise _Ambiguous
    predicate = _most_frequent(inputs)
    sides: list[Choice] = []
    for branch in (0, 1):
        alive = [(i, g - {(predicate, branch)}) for i, g in inputs]
        alive = [(i, g) for i, g in alive if (predicate, 1 - branch) not in g]
        # Where none is alive the Merge is not either: a run that asks for it finds out there.
        sides.append(_choose(alive, given) if alive else first)
    return Decision(predicate, (sides[0], sides[1]))


def _most_frequent(inputs: Sequence[tuple[int, Guard]]) -> Ref:
    counts = Counter(p for _, guard in inputs for p, _ in sorted(guard, key=stable))
    return max(counts, key=lambda p: counts[p])


def stable(item: tuple[Ref, int]) -> tuple[str, int]:
    """An order of guards that is the same in every run."""
    (key, index), branch = item
    return (getattr(key, "name", str(key)), 2 * index + branch)


def predicates_of(choice: Choice) -> Iterator[Ref]:
    if isinstance(choice, Decision):
        yield choice.predicate
        for side in choice.sides:
            yield from predicates_of(side)


def ends_of(choice: Choice) -> Iterator[int]:
    if isinstance(choice, Decision):
        for side in choice.sides:
            yield from ends_of(side)
    else:
        yield choice
