"""Induction variables: carried integers to which every iteration adds the same constant.

In: a `while` node, and the elements of values as far as they are known outside of it. Out: where
such a variable starts and how it goes on, and after how many iterations a comparison of it ends the
loop. Invariant: what is not certain is None.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flowc.dataclass import dataclass
from flowc.ir.builder import Content, content_of
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, as_dim

# An index that counts in this direction ends a loop by this many iterations behind its limit.
_COMPARISONS = {"less": (1, 0), "less_equal": (1, 1), "greater": (-1, 0), "greater_equal": (-1, 1)}


@dataclass(frozen=True, slots=True)
class Induction:
    """A carried index: what it starts as, and the constant by which it goes on."""

    start: Dim
    step: int

    @property
    def next(self) -> Induction:
        return Induction(as_dim(self.start + self.step), self.step)

    def never_meets(self, place: Dim) -> bool:
        """Whether the index begins behind a place, to which it so never comes."""
        ahead: Any = as_dim(self.start - place)
        return isinstance(ahead, int) and ahead * self.step > 0


class KnownContents:
    """The elements of values as far as they are constants and sizes. `given`: of parameters."""

    def __init__(self) -> None:
        self.given: dict[Value, Content] = {}

    def of(self, value: Value) -> Content:
        if value not in self.given:
            self.given[value] = content_of(value, self.of)
        return self.given[value]

    def number(self, value: Value) -> Dim | None:
        """An integer scalar as a size."""
        whole = value.type.rank == 0 and value.type.dtype.is_integer
        found = self.of(value) if whole else None
        return None if found is None else as_dim(found.reshape(-1)[0])


def induction_at(loop: Node, k: int, known: KnownContents) -> Induction | None:
    """How the k-th input of a loop goes on, if it is an index that a constant is added to."""
    body: Computation = loop.attrs["body"]
    if k >= loop.attrs["carried"]:
        return None
    made, own = body.results[k].node, body.parameters[k].output
    start = known.number(loop.inputs[k])
    if start is None or made.op.name not in ("add", "sub") or own not in made.inputs:
        return None
    if made.op.name == "sub" and made.inputs[0] is not own:
        return None
    other = made.inputs[1] if made.inputs[0] is own else made.inputs[0]
    if other.constant is None:
        return None
    step = int(other.constant) * (1 if made.op.name == "add" else -1)
    return Induction(start, step) if step else None


def indices_in_body(loop: Node, known: KnownContents) -> dict[Value, Induction]:
    """The induction variables of a loop as its body reads them, and as it gives them back."""
    body: Computation = loop.attrs["body"]
    found: dict[Value, Induction] = {}
    for k, result in enumerate(body.results):
        index = induction_at(loop, k, known)
        if index is not None:
            found[body.parameters[k].output] = index
            found[result] = index.next
    return found


def runs_at_least(loop: Node, count: Dim, known: KnownContents) -> bool:
    """Whether a loop does not end before it has run so many iterations."""
    condition: Computation = loop.attrs["condition"]
    for end in _conjuncts(condition.results[0]):
        limit = _iterations(loop, end, known)
        spare = None if limit is None else as_dim(limit - count)
        if not isinstance(spare, int) or spare < 0:
            return False
    return True


def _iterations(loop: Node, end: Value, known: KnownContents) -> Dim | None:
    """After how many iterations a comparison of an index ends the loop, if not before the first
    one."""
    if end.node.op.name not in _COMPARISONS:
        return None
    direction, extra = _COMPARISONS[end.node.op.name]
    one, other = end.node.inputs
    parameters = [p.output for p in loop.attrs["condition"].parameters]
    if one not in parameters:
        one, other, direction = other, one, -direction
    index = induction_at(loop, parameters.index(one), known) if one in parameters else None
    limit = known.number(other)
    if index is None or limit is None or index.step != direction:
        return None
    return (limit - index.start) * direction + extra


def _conjuncts(value: Value) -> Iterator[Value]:
    if value.node.op.name == "logical_and":
        for part in value.node.inputs:
            yield from _conjuncts(part)
    else:
        yield value
