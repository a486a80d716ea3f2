"""The structure of list elements that are not tensors, and the join of two structures.

In: the cases of two optionals, or what two lists of optionals or ragged lists have as elements.
Out: which cases are of one type; the elements that have the parts of both, and where each part
comes from. With the join, both branches of a conditional and all iterations of a loop give the same
number of values of the same types. Invariant: the parts of the first structure come first, in their
order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.errors import UnsupportedError
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.dims import Dim
from flowc.ir.extraction import (
    Columns,
    DenseItems,
    ListValue,
    OptionalCase,
    OptionalValue,
    Ragged,
    joined_dims,
    values_of,
)
from flowc.ir.types import Dims

Lasts = Callable[[Dim], bool]
Element = OptionalValue | ListValue


@dataclass(frozen=True, slots=True)
class Fill:
    """Stands for a part that one side lacks: a number throughout."""

    value: int = 0


Part = int | Fill


@dataclass(frozen=True, slots=True)
class United:
    """`element` has the parts of two elements. `parts`: for either of them, which of its Values
    each one is."""

    element: Element
    parts: tuple[list[Part], list[Part]]

    def adds(self, one: Element) -> bool:
        """Whether there are parts that the first one lacks, or less is known of them."""
        return any(isinstance(part, Fill) for part in self.parts[0]) or (
            _shared(one) != _shared(self.element)
        )


def _shared(element: Element) -> tuple[Dim | None, ...]:
    """What all elements share of the lists that the elements of a list are."""
    if isinstance(element, OptionalValue):
        return ()
    if isinstance(element.held, Columns):
        return _shared(element.held.element)
    return element.held.common if isinstance(element.held, Ragged) else ()


def united(b: Builder, one: Element, other: Element, lasts: Lasts) -> United:
    """What two elements are made of. `b`: makes Values that only say what a part is; `lasts`:
    whether a size is the same for all elements, so that types can be told apart by it."""
    if isinstance(one, OptionalValue) and isinstance(other, OptionalValue):
        return _united_optionals(b, one, other, lasts)
    if isinstance(one, ListValue) and isinstance(other, ListValue):
        held = (one.held, other.held)
        if isinstance(held[0], Columns) and isinstance(held[1], Columns):
            inner = united(b, held[0].element, held[1].element, lasts)
            return _united_columns(one, (held[0], held[1]), inner)
        if not any(isinstance(h, Columns) for h in held):
            return _united_lists(one, other, lasts)
    raise UnsupportedError("a list holds optionals beside lists of them")


def _united_lists(one: ListValue, other: ListValue, lasts: Lasts) -> United:
    """Ragged lists, or one and a ListValue without parts, for what was not put in yet."""
    like = one if isinstance(one.held, Ragged) else other
    assert isinstance(like.held, Ragged)
    common = like.held.common
    if isinstance(one.held, Ragged) and isinstance(other.held, Ragged):
        pair = (one.held.common, other.held.common)
        if len(pair[0]) != len(pair[1]) or one.dtype is not other.dtype:
            raise UnsupportedError("a list holds lists whose elements differ in rank or dtype")
        common = joined_dims(*pair)
    lasting = tuple(d if d is not None and lasts(d) else None for d in common)
    parts: tuple[list[Part], list[Part]] = ([], [])
    for side, found in zip((one, other), parts):
        own = isinstance(side.held, Ragged)
        found.extend(k if own else Fill() for k in range(len(values_of(like))))
    return United(replace(like, held=replace(like.held, common=lasting), known=None), parts)


def _united_columns(one: ListValue, held: tuple[Columns, Columns], inner: United) -> United:
    columns: list[ListValue] = []
    parts: tuple[list[Part], list[Part]] = ([], [])
    for pair in zip(*inner.parts, strict=True):
        own = [side.lists[p] if isinstance(p, int) else None for side, p in zip(held, pair)]
        like = max((c for c in own if c is not None), key=lambda c: len(values_of(c)))
        columns.append(like)
        for side, index, column, found in zip(held, pair, own, parts):
            count = 0 if column is None else len(values_of(column))
            if count not in (0, len(values_of(like))):
                raise UnsupportedError(
                    "a list of lists of optionals holds elements of one shape and of several"
                )
            if count and isinstance(index, int):
                start = sum(len(values_of(c)) for c in side.lists[:index])
                found.extend(range(start, start + count))
            else:
                found.extend(Fill() for _ in values_of(like))
    return United(replace(one, held=Columns(inner.element, tuple(columns))), parts)


def arranged(b: Builder, contents: ListValue, whole: United, side: int) -> Columns:
    """What a list holds with all parts: those that it lacks are lists that nothing was put into."""
    own = contents.held.lists if isinstance(contents.held, Columns) else ()
    columns = (
        own[part] if isinstance(part, int) else _new_column(b, contents.rows, like, part.value)
        for part, like in zip(whole.parts[side], values_of(whole.element), strict=True)
    )
    return Columns(whole.element, tuple(columns))


def list_of_columns(rows: Dim, held: Columns) -> ListValue:
    return ListValue(dtypes.variant, rows, held)


def element_of(contents: ListValue, like: Element) -> Element:
    """What a list has as elements; of one that nothing was put into, something without parts."""
    if isinstance(contents.held, Columns):
        return contents.held.element
    if contents.held is not None and contents.rows != 0 and not contents.assumed:
        raise UnsupportedError(
            "a list holds optionals, or lists of elements of several sizes, and other elements too"
        )
    return _without_parts(like)


def _without_parts(like: Element) -> Element:
    if isinstance(like, OptionalValue):
        return OptionalValue()
    if isinstance(like.held, Columns):
        return list_of_columns(like.rows, Columns(_without_parts(like.held.element)))
    return ListValue(like.dtype, 0)


def _new_column(b: Builder, rows: Dim, like: Value, value: int) -> ListValue:
    column = ListValue(like.type.dtype, rows, known=() if rows == 0 else None)
    if not value:
        return column
    buffer = b.list_new(b.sizes((rows, *like.dims)), T=like.type.dtype, value=value)
    return ListValue(like.type.dtype, rows, DenseItems(buffer))


# -- cases


def paired(
    left: Sequence[OptionalCase], right: Sequence[OptionalCase], lasts: Lasts
) -> list[tuple[OptionalCase | None, OptionalCase | None]]:
    """The cases of one type on either side; None where a side has none of it."""
    return [
        (None if i is None else left[i], None if j is None else right[j])
        for i, j in _paired(left, right, lasts)
    ]


def _paired(
    left: Sequence[OptionalCase], right: Sequence[OptionalCase], lasts: Lasts
) -> list[tuple[int | None, int | None]]:
    partner: dict[int, int] = {}
    for exact in (True, False):
        for i, one in enumerate(left):
            for j, other in enumerate(right):
                if i in partner or j in partner.values():
                    continue
                if _alike(one.held, other.held, None if exact else lasts):
                    partner[i] = j
    pairs: list[tuple[int | None, int | None]] = [(i, partner.get(i)) for i in range(len(left))]
    return pairs + [(None, j) for j in range(len(right)) if j not in partner.values()]


def _alike(one: Value | ListValue, other: Value | ListValue, lasts: Lasts | None) -> bool:
    """Whether two cases hold one type. `lasts`: given where sizes that do not last may differ."""
    if isinstance(one, Value) and isinstance(other, Value):
        return one.type.dtype is other.type.dtype and _same_dims(one.dims, other.dims, lasts)
    if isinstance(one, ListValue) and isinstance(other, ListValue):
        return _alike_lists(one, other, lasts)
    return False


def _alike_lists(one: ListValue, other: ListValue, lasts: Lasts | None) -> bool:
    held = (one.held, other.held)
    if isinstance(held[0], Columns) and isinstance(held[1], Columns):
        elements = (held[0].element, held[1].element)
        return _kind(elements[0]) == _kind(elements[1])
    if any(isinstance(h, Columns) for h in held):
        plain = other if isinstance(held[0], Columns) else one
        return lasts is not None and plain.held is None and plain.dtype is dtypes.variant
    if one.held is None or other.held is None:
        return lasts is not None and (
            one.dtype is other.dtype or dtypes.variant in (one.dtype, other.dtype)
        )
    if one.dtype is not other.dtype:
        return False
    if one.element is None or other.element is None:
        ranks = {len(c.common or ()) for c in (one, other)}
        return lasts is not None and len(ranks) == 1
    return _same_dims(one.element, other.element, lasts)


def _kind(element: Element) -> str:
    if isinstance(element, OptionalValue):
        return "optional"
    return "columns" if isinstance(element.held, Columns) else "list"


def _same_dims(one: Dims, other: Dims, lasts: Lasts | None) -> bool:
    if len(one) != len(other):
        return False
    if lasts is None:
        return one == other
    return all(x == y or not (lasts(x) and lasts(y)) for x, y in zip(one, other))


def _united_optionals(b: Builder, one: OptionalValue, other: OptionalValue, lasts: Lasts) -> United:
    cases: list[OptionalCase] = []
    parts: tuple[list[Part], list[Part]] = ([], [])
    sides = (one, other)
    for pair in _paired(one.cases, other.cases, lasts):
        found = [None if i is None else s.cases[i] for i, s in zip(pair, sides)]
        like = next(case for case in found if case is not None)
        always = all(case is not None and case.holds is None for case in found)
        cases.append(OptionalCase(like.held, None if always else b.const(False)))
        for side, index, case, own in zip(sides, pair, found, parts):
            start = sum(_count(c) for c in side.cases[:index]) if index is not None else 0
            if not always:
                owned = case is not None and case.holds is not None
                own.append(start if owned else Fill(int(case is not None)))
                start += owned
            count = len(values_of(like.held))
            if case is not None and len(values_of(case.held)) != count:
                raise UnsupportedError(
                    "lists in a list of optionals have to hold elements of one shape each"
                )
            own.extend(Fill() if case is None else start + k for k in range(count))
    return United(OptionalValue(tuple(cases)), parts)


def _count(case: OptionalCase) -> int:
    return (case.holds is not None) + len(values_of(case.held))
