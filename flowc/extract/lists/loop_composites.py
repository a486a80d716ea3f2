"""Loop-carried lists of optionals and of ragged lists.

In: such a variable before and after an iteration. Out: its columns, one list for each value that an
element is made of, which are carried in its place. Invariant: the structure of elements only grows
from one trace to the next, so that it reaches a fixed point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from flowc.dataclass import dataclass
from flowc.extract.body_builder import BodyBuilder
from flowc.extract.lists.loop_lists import Column, Slot
from flowc.ir.extraction import Bound, Columns, ListValue, OptionalValue
from flowc.ir.structures import (
    Element,
    United,
    arranged,
    element_of,
    list_of_columns,
    united,
)


@dataclass(slots=True)
class CarriedColumns:
    """What the elements of such variables are made of, by the number of the variable: `elements` as
    earlier traces have shown, `grown` where the last one showed more. `scope`: around the loop."""

    scope: BodyBuilder
    elements: dict[int, Element] = field(default_factory=dict[int, Element])
    grown: dict[int, Element] = field(default_factory=dict[int, Element])

    def slots(self, i: int, bound: Bound) -> list[tuple[Slot, Bound]]:
        """What is carried for a variable: itself, or the columns of a list of optionals."""
        like = self.elements.get(i)
        if not isinstance(bound, ListValue) or not (like or isinstance(bound.held, Columns)):
            return [(i, bound)]
        whole = self._whole(element_of(bound, like or OptionalValue()), like)
        columns = arranged(self.scope.b, bound, whole, 0).lists
        self.elements[i] = whole.element
        return [((i, k), column) for k, column in enumerate(columns)]

    def _whole(self, one: Element, other: Element | None) -> United:
        return united(self.scope.b, one, other or one, self.scope.knows)

    def column(self, slot: Column, end: Bound, scope: BodyBuilder) -> ListValue:
        """What is carried in a slot of a variable that is a list of optionals."""
        i, number = slot
        like = self.elements[i]
        assert isinstance(end, ListValue)
        whole = self._whole(like, element_of(end, like))
        if whole.adds(like):
            self.grown[i] = whole.element
        return arranged(scope.b, end, whole, 1).lists[number]

    def variable(self, i: int, found: Mapping[Slot, Bound]) -> Bound | None:
        """A variable that is carried: itself, or the list of optionals made of its columns."""
        like = self.elements.get(i)
        if like is None:
            return found.get(i)
        columns = [c for slot, c in found.items() if isinstance(slot, tuple) and slot[0] == i]
        lists = tuple(column for column in columns if isinstance(column, ListValue))
        if not lists:
            return None
        rows = next((c.rows for c in lists if c.held is not None), lists[0].rows)
        return list_of_columns(rows, Columns(like, lists))

    def grows(self, i: int, end: Bound) -> bool:
        """Notes where an iteration turns variable `i` into a list of columns; whether it does."""
        if not isinstance(end, ListValue) or not isinstance(end.held, Columns):
            return False
        self.grown[i] = end.held.element
        return True

    def take_grown(self) -> bool:
        """Makes the next trace carry what `grows` noted in this one; whether that is anything."""
        found = bool(self.grown)
        self.elements.update(self.grown)
        self.grown.clear()
        return found
