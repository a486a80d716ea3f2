"""Lists whose elements have several ranks: a ragged list for each rank.

In: an Extractor and what holds the elements of a list, indices, elements. Out: what holds them
after a change, and elements. Invariant: each ragged list is as long as the whole one and has the
elements of one rank; which of them has an element is known when the graph is extracted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.dims import Dim
from flowc.ir.extraction import (
    ByRank,
    DenseItems,
    Extractor,
    Held,
    ListValue,
    Ragged,
    TwoRanks,
    joined_dims,
    with_held,
)
from flowc.ir.inference import NeedsContent
from flowc.ir.op import op_named
from flowc.ir.text.shape_text import shown_dims
from flowc.ops.lists.list_values import MERGE, Faults, Partial, complete
from flowc.ops.lists.ragged_values import (
    appended_ragged,
    as_ragged,
    is_new,
    pushed_ragged,
    ragged_element,
    set_ragged,
    stacked_ragged,
    summed_ragged,
    without_elements,
)

_CHECKS = ("list_mark", "list_take", "list_check")  # give the index that they check


def by_rank(x: Extractor, contents: ListValue, given: Partial, dtype: DType) -> ListValue:
    """A list as one that takes an element of the dims given beside those of other ranks."""
    held, rows = contents.held, contents.rows
    assert given is not None
    if not isinstance(rows, int):
        raise NeedsContent(
            f"'{x.name}' puts an element of rank {len(given)} into a list of elements of other "
            "ranks, of which only the run knows how many there are"
        )
    if not isinstance(held, ByRank):
        first = as_ragged(x.b, contents, given, dtype).held
        assert isinstance(first, Ragged)
        held = ByRank((first,), _owners(x, contents, rows))
    lists = list(held.lists)
    k = _place_of(held, len(given))
    if k is None:
        lists.append(without_elements(x.b, rows, given, dtype))
    else:
        lists[k] = replace(lists[k], common=joined_dims(lists[k].common, given))
    return with_held(contents, replace(held, lists=tuple(lists)))


def _owners(x: Extractor, contents: ListValue, rows: int) -> tuple[int | None, ...]:
    """Which elements of a list were set; 0 for all where the run knows by marks or tables."""
    everywhere = (0,) * rows
    if not isinstance(contents.held, DenseItems) or contents.marks is not None:
        return everywhere
    buffer, found = contents.held.buffer, set[int]()
    while buffer.node.op is op_named("list_set"):
        known = _known(x, buffer.node.inputs[1])
        if known is None:
            return everywhere
        found.update(known)
        buffer = buffer.node.inputs[0]
    return (
        tuple(0 if k in found else None for k in range(rows)) if is_new(buffer, 0) else everywhere
    )


def _place_of(held: ByRank, rank: int) -> int | None:
    """Which of the lists has the elements of a rank."""
    return next((k for k, part in enumerate(held.lists) if len(part.common) == rank), None)


def _settled(held: ByRank) -> Held:
    """What holds the elements, once it is known that all have one rank."""
    owners = {k for k in held.owners if k is not None} or {0}
    return held.lists[owners.pop()] if len(owners) == 1 else held


def _known(x: Extractor, index: Value) -> list[int] | None:
    """The indices, where they are known when the graph is extracted."""
    while any(index.node.op is op_named(name) for name in _CHECKS):
        index = index.node.inputs[1]
    content = x.b.content(index)
    if content is None or not all(isinstance(k, int | np.integer) for k in content.reshape(-1)):
        return None
    return [int(k) for k in content.reshape(-1)]


# -- elements


def pushed_by_rank(x: Extractor, held: ByRank, item: Value, limit: int) -> Held:
    k = _place_of(held, item.type.rank)
    assert k is not None
    rows = len(held.owners) + 1
    lists = [_resized(x.b, part, rows) for part in held.lists]
    lists[k] = pushed_ragged(x.b, held.lists[k], item, limit)
    return _settled(ByRank(tuple(lists), (*held.owners, k)))


def _resized(b: Builder, part: Ragged, rows: Dim) -> Ragged:
    return replace(part, table=b.list_resize(part.table, b.sizes((rows,))))


def popped_by_rank(
    x: Extractor, held: ByRank, faults: Faults, shape: Partial
) -> tuple[Held, Value]:
    """Without the last element, and that element."""
    rows = len(held.owners) - 1
    item = _element(x, held, rows, x.b.const(np.int32(rows)), faults, shape)
    return resized_by_rank(x, held, rows), item


def _element(
    x: Extractor, held: ByRank, row: int, index: Value, faults: Faults, shape: Partial
) -> Value:
    """The element at an index, which is known to be `row`."""
    owner = held.owners[row] if 0 <= row < len(held.owners) else 0  # the run finds the fault
    if owner is not None:
        return ragged_element(x.b, held.lists[owner], index, faults, shape)[0]
    dims = complete(shape)
    if dims is None:
        raise _unlike(held, *[k for k in dict.fromkeys(held.owners) if k is not None][:2])
    return x.b.list_new(x.b.sizes(dims), T=held.lists[0].flat.type.dtype)


def resized_by_rank(x: Extractor, held: ByRank, rows: Dim) -> Held:
    if not isinstance(rows, int):
        raise NeedsContent(
            f"'{x.name}' gives a list of elements of several ranks a size that only the run knows"
        )
    owners = (*held.owners, *(None,) * rows)[:rows]
    return _settled(ByRank(tuple(_resized(x.b, part, rows) for part in held.lists), owners))


def element_by_rank(
    x: Extractor, held: ByRank, index: Value, faults: Faults, shape: Partial
) -> Value | TwoRanks:
    """An element, or those at a vector of indices as one tensor."""
    known = _known(x, index)
    if known is not None:
        if index.type.rank == 0:
            return _element(x, held, known[0], index, faults, shape)
        part = held.lists[_one_rank(held, known)]
        chosen = x.b.list_get(part.table, index, message=faults.outside)
        return stacked_ragged(x.b, replace(part, table=chosen), faults, shape)
    if index.type.rank or len(held.lists) > 2 or None in held.owners:
        raise NeedsContent(
            f"'{x.name}' reads from a list of elements of several ranks, at an index that only the "
            "run knows",
            hint="read at an index that is a constant, or give all elements one rank",
        )
    owners = np.array(held.owners, np.int32)
    attrs = dict(faults.attrs) or {"message": faults.outside}
    owner = x.b.list_get(x.b.const(owners), index, **attrs)
    sides: list[Value] = []
    for k, part in enumerate(held.lists):
        # Where the element is in the other list, any element of this one stands in.
        own = np.flatnonzero(owners == k)
        places = np.where(owners == k, np.arange(len(owners)), own[0]).astype(np.int32)
        place = x.b.list_get(x.b.const(places), index, **attrs)
        sides.append(ragged_element(x.b, part, place, faults, shape)[0])
    return TwoRanks((x.b.equal(owner, x.b.const(np.int32(0))), *sides))


def with_elements_by_rank(
    x: Extractor, held: ByRank, index: Value, value: Value, faults: Faults
) -> Held:
    """With an element, or those at a vector of indices, set anew."""
    known = _known(x, index)
    if known is None:
        raise NeedsContent(
            f"'{x.name}' puts an element into a list of elements of several ranks, at an index that"
            " only the run knows",
            hint="write at an index that is a constant, or give all elements one rank",
        )
    k = _place_of(held, value.type.rank - index.type.rank)
    assert k is not None
    lists = list(held.lists)
    lists[k] = set_ragged(x.b, lists[k], index, value, faults)
    owners = tuple(k if row in known else own for row, own in enumerate(held.owners))
    return _settled(ByRank(tuple(lists), owners))


# -- whole lists


def _one_rank(held: ByRank, rows: Sequence[int]) -> int:
    """Which list has all of the elements at some rows. Raises `InvalidArgumentError` where several
    have some."""
    inside = (row for row in rows if 0 <= row < len(held.owners))
    found = [k for row in inside if (k := held.owners[row]) is not None]
    if len(set(found)) > 1:
        raise _unlike(held, *list(dict.fromkeys(found))[:2])
    return found[0] if found else 0


def _unlike(held: ByRank, one: int, other: int, axes: int = 0) -> InvalidArgumentError:
    ranks = [len(held.lists[k].common) - axes for k in (one, other)]
    return InvalidArgumentError(
        f"PartialTensorShape: Incompatible ranks during merge: {ranks[0]} vs. {ranks[1]}"
    )


def of_one_rank(x: Extractor, contents: ListValue, faults: Faults, axes: int = 0) -> ListValue:
    """A list of which all elements become one tensor, which those of several ranks cannot. `axes`:
    how many of their first ones need not be equal."""
    held = contents.held
    if not isinstance(held, ByRank):
        return contents
    for row, k in enumerate(held.owners):
        if axes and k is not None and not held.lists[k].common:
            text = f"Concat saw a scalar shape at index {row} but requires at least vectors."
            raise InvalidArgumentError(text)
    first, second, *_ = (k for k in dict.fromkeys(held.owners) if k is not None)
    if faults.unlike == MERGE:
        raise _unlike(held, first, second, axes)
    one, other = (shown_dims(held.lists[k].common[axes:]) for k in (first, second))
    at = held.owners.index(second)
    raise InvalidArgumentError(faults.unlike.format(one=one, other=other, at=at))


def joined_by_rank(x: Extractor, one: ListValue, other: ListValue) -> ListValue:
    """The elements of two lists, those of `other` last."""
    held = one.held
    for part in _as_by_rank(x, other).lists:
        if not isinstance(held, ByRank) or _place_of(held, len(part.common)) is None:
            one = by_rank(x, one, part.common, one.dtype)
            held = one.held
    assert isinstance(held, ByRank)
    last = _as_by_rank(x, other)
    b, count = x.b, len(last.owners)
    lists: list[Ragged] = []
    for part in held.lists:
        k = _place_of(last, len(part.common))
        empty = without_elements(b, count, part.common, one.dtype)
        lists.append(appended_ragged(b, part, empty if k is None else last.lists[k]))
    places = [_place_of(held, len(part.common)) for part in last.lists]
    owners = (None if k is None else places[k] for k in last.owners)
    return with_held(one, ByRank(tuple(lists), (*held.owners, *owners)))


def summed_by_rank(x: Extractor, lists: Sequence[ListValue]) -> ListValue:
    """Lists of as many elements added, whose elements have several ranks together; what was set in
    one of them only stays as it is."""
    summands = [_as_by_rank(x, c) for c in lists]
    owners: list[int | None] = []
    found: dict[int, list[Ragged]] = {}
    for held in summands:
        for part in held.lists:
            found.setdefault(len(part.common), []).append(part)
    places = list(found)
    for row in zip(*(held.owners for held in summands)):
        parts = [held.lists[k] for held, k in zip(summands, row) if k is not None]
        one, *others = parts or [None]
        for other in others:
            if one and other and len(other.common) != len(one.common):
                raise InvalidArgumentError(
                    "Trying to add two tensors with incompatible element shapes. One is "
                    f"{shown_dims(one.common)} and the other is {shown_dims(other.common)}"
                )
        owners.append(None if one is None else places.index(len(one.common)))
    total = tuple(reduce(partial(summed_ragged, x.b), parts) for parts in found.values())
    return with_held(lists[0], _settled(ByRank(total, tuple(owners))))


def _as_by_rank(x: Extractor, contents: ListValue) -> ByRank:
    held = contents.held
    if not isinstance(held, ByRank):
        held = by_rank(x, contents, contents.common or (), contents.dtype).held
    assert isinstance(held, ByRank)
    return held


# -- lists that branches give and loops carry


def of_same_ranks(
    one: ListValue, other: ListValue, whose: str
) -> tuple[ListValue, ListValue] | None:
    """Two lists as ones of which no more is known than what the elements of both share; None where
    all elements of either have one rank. `whose`: what tells which of them a run has."""
    held = [c.held for c in (one, other) if isinstance(c.held, ByRank)]
    if not held:
        return None
    ranks = [[len(part.common) for part in h.lists] for h in held]
    if len(held) == 1 or ranks[0] != ranks[1] or held[0].owners != held[1].owners:
        raise NeedsContent(
            f"which elements of a list have which rank is decided by {whose}",
            hint="give all elements of the list one rank, or put them in before or behind it",
        )
    shared = [joined_dims(a.common, b.common) for a, b in zip(held[0].lists, held[1].lists)]
    lists = (
        tuple(replace(part, common=common) for part, common in zip(h.lists, shared)) for h in held
    )
    first, second = (replace(h, lists=parts) for h, parts in zip(held, lists))
    return replace(one, held=first), replace(other, held=second)


def is_carried_by_rank(start: ListValue, end: ListValue) -> bool:
    """Whether elements of several ranks are in a list that a loop carries. Raises
    `NeedsContent` where an iteration changes which ones these are, or makes their sizes
    differ."""
    alike = of_same_ranks(start, end, "how often a loop runs")
    if alike is None:
        return False
    before, after = (c.held for c in (start, alike[0]))
    assert isinstance(before, ByRank) and isinstance(after, ByRank)
    if [part.common for part in before.lists] != [part.common for part in after.lists]:
        raise NeedsContent(
            "a loop puts elements of other sizes into a list of elements of several ranks",
            hint="give all elements of the list one rank",
        )
    return True
