"""Loop-carried lists: what traces of a loop show of their elements.

In: what a list is before the loop, and what one iteration made of it. Out: the type that the list
has all through the loop. A list that nothing was put into yet takes its elements' dims from what
the body puts into it, and is ragged where each iteration gives them another size. Invariant: the
types form a descending chain (each trace shows less in common, never more), so that they reach a
fixed point.
"""

from __future__ import annotations

from dataclasses import field, replace

from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.extract.body_builder import BodyBuilder
from flowc.extract.trace.loop_invariance import is_loop_invariant
from flowc.ir.dims import Dim, Symbol, fresh_symbol
from flowc.ir.extraction import (
    Columns,
    Known,
    ListValue,
    Ragged,
    Resource,
    join_known,
    joined_dims,
)
from flowc.ir.types import Dims
from flowc.ops.lists.list_operations import with_element
from flowc.ops.lists.lists_by_rank import is_carried_by_rank
from flowc.ops.lists.ragged_values import as_ragged, stays_dense

Shape = tuple[Dim | None, ...]
Column = tuple[int, int]  # of a loop variable that is a list of optionals or ragged lists
Slot = int | Resource | Column  # a loop variable, a resource that the body changes, a column
Varying = dict[tuple[Slot, int, int], Symbol]  # the size of an axis of a Value of a slot


@dataclass(slots=True)
class CarriedLists:
    """What earlier traces have shown of the lists in some slots: their elements where they have
    none before the loop, the numbers that all elements hold, what ragged ones share.

    `scope`: around the loop. `varying`: shared with what is found of other variables.
    """

    scope: BodyBuilder
    varying: Varying
    elements: dict[Slot, tuple[DType, Dims]] = field(default_factory=dict[Slot, tuple[DType, Dims]])
    known: dict[Slot, Known] = field(default_factory=dict[Slot, Known])
    ragged: dict[Slot, tuple[DType, Shape]] = field(default_factory=dict[Slot, tuple[DType, Shape]])

    def typed(self, slot: Slot, bound: ListValue) -> ListValue:
        """What a list starts as; one without elements has the dims that the body gave them."""
        if slot in self.known:
            bound = replace(bound, known=self.known[slot])
        assumed = bound.held is None or bound.rows == 0
        ragged = self.ragged.get(slot)
        if ragged is not None:
            dtype, common = ragged
            return replace(_ragged(self.scope, bound, common, dtype), assumed=assumed)
        first = self.elements.get(slot)
        if first is not None and bound.held is None:
            dtype, element = first
            return replace(with_element(self.scope.b, bound, element, dtype), assumed=True)
        return bound

    def compare_numbers(self, slot: Slot, start: ListValue, end: ListValue) -> bool:
        """Notes that elements hold other numbers than those before the loop."""
        if start.known == end.known or (start.known == () and end.known is not None):
            return False
        joined = join_known(start.known, end.known)
        if joined == start.known:
            return False
        self.known[slot] = joined
        return True

    def compare_elements(
        self, slot: Slot, start: ListValue, end: ListValue, body: BodyBuilder
    ) -> bool:
        """Notes what an iteration tells of the elements of a list: their dims where these were
        unknown, or that they differ. Returns whether it told anything new."""
        if is_carried_by_rank(start, end):
            return False
        if not isinstance(end.held, Ragged) and not self._vary(start, end, body):
            if start.element is not None or end.element is None:
                return False
            self.elements[slot] = (end.dtype, self._first_element(slot, end.element))
            return True
        given, held = end.common, start.common
        assert given is not None
        seen = tuple(d if d is not None and self.scope.knows(d) else None for d in given)
        common = seen if held is None else joined_dims(held, seen)
        if isinstance(start.held, Ragged) and common == held:
            return False
        for key in [k for k in self.varying if k[0] == slot]:
            del self.varying[key]
        self.ragged[slot] = (end.dtype, common)
        return True

    def _vary(self, start: ListValue, end: ListValue, body: BodyBuilder) -> bool:
        """Whether each iteration gives the elements of a dense list another size."""
        if end.element is None or stays_dense(end):
            return False
        held = end.element if start.element is None else start.element
        return any(
            not (self.scope.knows(new) or is_loop_invariant(body, new, end.home))
            for old, new in zip(held, end.element)
            if start.element is None or old != new
        )

    def _first_element(self, slot: Slot, element: Dims) -> Dims:
        """The dims of a list's elements before the loop, which has yet to write the first one."""
        found: list[Dim] = []
        for axis, dim in enumerate(element):
            if self.scope.knows(dim):
                found.append(dim)
            else:
                found.append(0)
                key = (slot, 0, axis + 1)
                self.varying.setdefault(key, fresh_symbol("n"))
        return tuple(found)


def as_start(start: ListValue, end: ListValue, scope: BodyBuilder) -> ListValue:
    """What a list is after an iteration; one that starts ragged stays so. `scope`: of the body."""
    if not isinstance(start.held, Ragged) or isinstance(end.held, Ragged | Columns):
        return end
    return as_ragged(scope.b, end, start.held.common, start.dtype)


def _ragged(scope: BodyBuilder, bound: ListValue, common: Shape, dtype: DType) -> ListValue:
    """A list as a ragged one of which no more is known than what all elements share."""
    found = as_ragged(scope.b, bound, common, dtype)
    assert isinstance(found.held, Ragged)
    return replace(found, held=replace(found.held, common=common))
