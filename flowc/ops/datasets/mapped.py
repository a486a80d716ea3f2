"""What a function makes of elements: one by one, or of many at once.

In: items, a function of the graph. Out: elements in the order of the items, or batches of them.
Invariant: an element is what the function gives for it alone; where many at once fail, they are
computed one by one, so that what is wrong with one is raised in its place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc.errors import FlowcError, InvalidArgumentError
from flowc.ir.host_run import BatchedFunction, HostFunction, HostRun
from flowc.ir.text.shape_text import shown_dims
from flowc.ops.datasets.dataset import (
    Array,
    Captured,
    Element,
    HostDataset,
    IterationContext,
    OneByOne,
    bytes_of,
    gathered,
)

MOST = 256  # elements that are computed at once
LARGE = 1 << 16  # bytes of an element, of which one at a time is enough
LEAST = 4


def batched(elements: Sequence[Element]) -> Element:
    """Raises `InvalidArgumentError` where shapes differ."""
    return tuple([_stacked(k, arrays) for k, arrays in enumerate(zip(*elements))])


def _stacked(component: int, arrays: Sequence[Array]) -> Array:
    first = arrays[0]
    shape = first.shape
    for k, array in enumerate(arrays):
        if array.shape != shape:
            raise InvalidArgumentError(
                f"Cannot batch tensors with different shapes in component {component}. First "
                f"element had shape {shown_dims(shape)} and element {k} had shape "
                f"{shown_dims(array.shape)}."
            )
    found = np.empty((len(arrays), *shape), first.dtype)
    if not shape:
        found[:] = [array[()] for array in arrays]
        return found
    if first.dtype != object:
        np.concatenate(arrays, out=found.reshape(-1, *shape[1:]))
        return found  # and no view of it, which the last step would copy
    for k, array in enumerate(arrays):
        found[k, ...] = array
    return found


class BatchRows:
    """Memory of a batch, into whose rows elements are written where they are made. `like`: an
    element with the shapes and dtypes of all."""

    def __init__(self, count: int, like: Element) -> None:
        self._arrays = [np.empty((count, *array.shape), array.dtype) for array in like]
        self._filled = [False] * count

    @staticmethod
    def is_worth(count: int, like: Element | None) -> bool:
        """Whether a batch of so many elements is faster made so: they are large, and numbers."""
        if like is None or any(array.dtype == object or not array.ndim for array in like):
            return False
        return LEAST <= count <= MOST and sum(array.nbytes for array in like) > LARGE

    def made(self, place: int, apply: Callable[..., Element], item: Any) -> Element:
        """An element, in its place if it has the shapes of all."""
        rows = [array[place] for array in self._arrays]
        found = apply(item, rows)
        self._filled[place] = [*map(id, found)] == [*map(id, rows)]
        return found

    def batch(self, elements: Sequence[Element]) -> Element:
        """The first elements together."""
        count = len(elements)
        if not all(self._filled[:count]):
            return batched(elements)
        whole = count == len(self._filled)
        return tuple(self._arrays if whole else [array[:count] for array in self._arrays])


class MappedItems(OneByOne):
    """`apply` gives what the function makes of one element. `like`: one that it made; `in_rows`:
    whether the last batch was made one by one, into its rows."""

    where = ("_items",)

    def __init__(
        self,
        source: HostDataset,
        function: Captured,
        apply: Callable[..., list[Array]],
        context: IterationContext,
    ) -> None:
        self._items, self._rows = source.items(context), source.rows
        self._function, self._apply, self._context = function, apply, context
        self._waiting: deque[Any] = deque()  # items that were taken, and are left to one by one
        self._batched: dict[tuple[int, ...], BatchedFunction | None] = {}
        self.like: Element | None = None
        self.in_rows = False

    def position(self, run: HostRun) -> Any:
        return {**super().position(run), "waiting": list(self._waiting)}

    def move(self, position: Any, run: HostRun) -> None:
        super().move(position, run)
        self._waiting = deque(position["waiting"])

    @property
    def has_fault(self) -> bool:
        """Whether the next element failed already."""
        return self._fault is not None

    def next_item(self, run: HostRun) -> Any:
        """The next item that the function is applied to, or None."""
        if self._waiting:
            return self._waiting.popleft()
        found = self._items.take(1, run)
        return found[0] if found else None

    def apply(self, item: Any, into: Sequence[Array] = ()) -> Element:
        """`into`: where the element may be written, if it fits."""
        element = item if self._rows is None else self._rows.element(item)
        self.like = found = tuple(self._apply(element, into))
        return found

    def next(self, run: HostRun) -> Element | None:
        item = self.next_item(run)
        return None if item is None else self.apply(item)

    def take(self, count: int, run: HostRun) -> Sequence[Any]:
        if count < LEAST or self._waiting or self._fault is not None:
            return super().take(count, run)
        items = self._items.take(min(count, MOST), run)
        found = self._many(items)
        if found is None:
            self._waiting += items
            return super().take(max(1, len(items)), run)
        function, arrays = found
        if function.rest is None:
            return [tuple([a[k, ...].copy() for a in arrays]) for k in range(len(items))]
        return self._finished(function.rest, arrays, items) or super().take(1, run)

    def stacked(self, count: int, run: HostRun) -> Element | None:
        if not LEAST <= count <= MOST or self._waiting or self._fault is not None:
            return None
        self.in_rows = False
        items = gathered(self._items, count, run)
        found = self._many(items)
        if found is None:
            self._waiting += items
            self.in_rows = bool(items) and BatchRows.is_worth(count, self.like)
            return self._in_rows(len(items), run) if self.in_rows else None
        function, arrays = found
        if function.rest is None:
            return tuple(arrays)
        elements = self._finished(function.rest, arrays, items)
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault
        return batched(elements)

    def _in_rows(self, count: int, run: HostRun) -> Element:
        """The elements of items that wait, together."""
        assert self.like is not None
        rows, found = BatchRows(count, self.like), list[Element]()
        for place in range(count):
            run.check()
            found.append(rows.made(place, self.apply, self._waiting.popleft()))
        return rows.batch(found)

    def _finished(
        self, rest: HostFunction, arrays: Sequence[Array], items: Sequence[Any]
    ) -> list[Element]:
        """The elements, from what was computed of them at once, up to one that fails."""
        found: list[Element] = []
        try:
            for k in range(len(items)):
                found.append(tuple(rest([a[k, ...] for a in arrays])))
        except Exception as error:
            self._fault = error
            self._waiting += items[len(found) + 1 :]
        return found

    def _many(self, items: Sequence[Any]) -> tuple[BatchedFunction, list[Array]] | None:
        """What the function gives for many elements at once, and for which function."""
        if len(items) < LEAST:
            return None
        first = items[0] if self._rows is None else self._rows.element(items[0])
        ranks = tuple([array.ndim for array in first])
        if ranks not in self._batched:
            self._batched[ranks] = self._context.batched(self._function, ranks)
        function = self._batched[ranks]
        if function is None or bytes_of(first) > LARGE:
            return None
        try:
            given = batched(items) if self._rows is None else self._rows.stacked(items)
            return function, function.stacked(given)
        except FlowcError:
            return None
