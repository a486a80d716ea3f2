"""Datasets: what their elements are, and how one goes through them.

In: what the nodes of a graph say. Out: `Items` that give elements, a few at a time. An element is a
tuple of arrays, one for each component.

Invariants: a dataset is immutable; its iterators have the state. `take` gives at least one item
until the end, and none from then on; it raises what is wrong with the next item, not with a later
one. What is given more than once is read-only, and the last step copies it.

Where a dataset is of rows of arrays (`HostDataset.rows`), its items are the numbers of rows: to
shuffle or to repeat them moves numbers, and to batch them is one copy of rows. Items of files are
strings, of which a batch makes one array.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from flowc.dataclass import dataclass
from flowc.errors import InvalidArgumentError
from flowc.ir.host_run import BatchedFunction, CancelToken, HostRun, HostValue, held

Array = np.ndarray[Any, Any]
Element = tuple[Array, ...]
UNKNOWN, INFINITE = -2, -1  # cardinalities
OFTEN = 1024  # items, after which one looks whether the run is to end


class Rows(Protocol):
    """Elements by number, or by what else says all of them. `are_at_hand`: numbers cost nothing."""

    are_at_hand: bool = True

    def element(self, item: Any) -> Element: ...

    def elements(self, items: Sequence[Any]) -> Sequence[Element]:
        return [self.element(item) for item in items]

    def stacked(self, items: Sequence[Any]) -> Element:
        """Some elements as one, in new arrays."""
        ...


@dataclass(frozen=True, slots=True)
class Inner:
    """Where items within items are. `kind`: the name of their class."""

    kind: str
    position: Any


class Items(ABC):
    """An iterator over a dataset, used by one thread at a time. `where`: the attributes that are
    its position; all others never change."""

    where: ClassVar[tuple[str, ...]]

    def position(self, run: HostRun) -> Any:
        """Where it is: values that `positions.py` writes. Raises `UnimplementedError` where that
        cannot be kept."""
        return {name: position_within(getattr(self, name), run) for name in self.where}

    def move(self, position: Any, run: HostRun) -> None:
        """Goes on from a position of items that were made of the same dataset."""
        for name in self.where:
            setattr(self, name, moved(getattr(self, name), position[name], run))

    @abstractmethod
    def take(self, count: int, run: HostRun) -> Sequence[Any]:
        """At most `count` items, and at least one before the end."""
        ...

    def stacked(self, count: int, run: HostRun) -> Element | None:
        """The next `count` items, fewer only at the end, as one element with an axis for them; None
        where they are to be taken and put together."""
        return None


def position_within(value: Any, run: HostRun) -> Any:
    """What an attribute says: items say where they are."""
    if isinstance(value, Items):
        return Inner(type(value).__name__, value.position(run))
    if isinstance(value, list) and any(isinstance(v, Items) for v in value):
        return [position_within(v, run) for v in value]
    return value


def moved(value: Any, position: Any, run: HostRun) -> Any:
    """What an attribute is to be: items, or several, stay and move."""
    if isinstance(position, Inner):
        if position.kind != type(value).__name__ or not isinstance(value, Items):
            raise InvalidArgumentError(
                "the state is of an iterator over another dataset: it has a place in "
                f"{position.kind}, where this one has {type(value).__name__}"
            )
        value.move(position.position, run)
        return value
    if isinstance(value, list) and any(isinstance(v, Items) for v in value):
        return [moved(v, p, run) for v, p in zip(value, position, strict=True)]
    return position


def bytes_of(item: Any) -> int:
    """What an item takes, roughly: an element, or what stands for one."""
    if not isinstance(item, tuple):
        return 40 + (len(item) if isinstance(item, bytes) else 0)
    size = 64
    for array in item:
        size += 112 + (len(array) if isinstance(array, bytes) else getattr(array, "nbytes", 0))
        if isinstance(array, np.ndarray) and array.dtype == object and array.size == 1:
            size += len(array.item() or b"")
    return size


class Kept:
    """What items keep for later, which has a bound. `what` is said where it is passed."""

    def __init__(self, what: str) -> None:
        self._what, self._bytes = what, 0

    def add(self, items: Sequence[Any], run: HostRun) -> None:
        """Raises `ResourceExhaustedError` where it is more than a run may take."""
        if items:
            size = bytes_of(items[0]) if len(items) > 1 and items[0].__class__ is int else 0
            self._bytes += size * len(items) if size else sum(map(bytes_of, items))
            run.check_memory(self._bytes, self._what)

    def drop(self, items: Sequence[Any]) -> None:
        self._bytes -= sum(map(bytes_of, items))


class OneByOne(Items):
    """Items that are made one after the other."""

    _fault: Exception | None = None

    def position(self, run: HostRun) -> Any:
        return {**super().position(run), "_fault": self._fault}

    def move(self, position: Any, run: HostRun) -> None:
        super().move(position, run)
        self._fault = position["_fault"]

    @abstractmethod
    def next(self, run: HostRun) -> Any:
        """The next item, or None from the end on."""
        ...

    def take(self, count: int, run: HostRun) -> Sequence[Any]:
        if count == 1 and self._fault is None:
            item = self.next(run)
            return () if item is None else (item,)
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault
        found: list[Any] = []
        size = 0
        while len(found) < count:
            try:
                item = self.next(run)
            except Exception as error:
                if not found:
                    raise
                self._fault = error
                break
            if item is None:
                break
            found.append(item)
            size += bytes_of(item)
            if not len(found) % OFTEN or size > run.max_memory:
                run.check()
                run.check_memory(size, "what is gathered of a dataset")
        return found


def one(items: Items, run: HostRun) -> Any:
    """The next item, or None."""
    found = items.take(1, run)
    return found[0] if found else None


def gathered(items: Items, count: int, run: HostRun) -> Sequence[Any]:
    """The next `count` items; fewer only where they end."""
    found = items.take(count, run)
    if len(found) == count or not found:
        return found
    found, kept_items = list(found), Kept("what is gathered of a dataset")
    kept_items.add(found, run)
    while len(found) < count:
        run.check()
        more = items.take(count - len(found), run)
        if not more:
            break
        kept_items.add(more, run)
        found += more
    return found


class HostDataset(ABC):
    """`rows`: what its items are numbers of, None where they are elements."""

    rows: Rows | None = None

    @abstractmethod
    def items(self, context: IterationContext) -> Items: ...

    @property
    def cardinality(self) -> int:
        """How many elements there are; `INFINITE`, or `UNKNOWN`."""
        return UNKNOWN

    def elements(self, context: IterationContext) -> Items:
        items = self.items(context)
        return items if self.rows is None else _RowElements(items, self.rows)


class _RowElements(Items):
    where = ("_items",)

    def __init__(self, items: Items, rows: Rows) -> None:
        self._items, self._rows = items, rows

    def take(self, count: int, run: HostRun) -> Sequence[Any]:
        return self._rows.elements(self._items.take(count, run))


class SameItems(HostDataset):
    """A dataset of items of another one."""

    def __init__(self, source: HostDataset) -> None:
        self.source = source
        self.rows = source.rows

    @property
    def cardinality(self) -> int:
        return self.source.cardinality

    def items(self, context: IterationContext) -> Items:
        return self.source.items(context)


class ElementList(HostDataset):
    """Elements that are held."""

    def __init__(self, held: Sequence[Element]) -> None:
        self.held = held

    @property
    def cardinality(self) -> int:
        return len(self.held)

    def items(self, context: IterationContext) -> Items:
        return Listed(self.held)


class Listed(Items):
    """Items of a sequence."""

    where = ("_at",)

    def __init__(self, held: Sequence[Any]) -> None:
        self._held = held
        self._at = 0

    def take(self, count: int, run: HostRun) -> Sequence[Any]:
        start = self._at
        self._at = min(start + count, len(self._held))
        return self._held[start : self._at]


# -- values


def kept(array: Array) -> Array:
    """An array that is given more than once."""
    found = array.view()
    found.flags.writeable = False
    return found


def dataset_of(value: Any) -> HostDataset:
    """The dataset that a variant holds."""
    found = getattr(value[()] if isinstance(value, np.ndarray) else value, "value", None)
    if not isinstance(found, HostDataset):
        raise InvalidArgumentError("a variant is no dataset, where one is expected")
    return found


def variant(dataset: HostDataset) -> Array:
    return held(HostValue.of(dataset))


def shown(shape: Sequence[Any]) -> str:
    """A shape as TensorFlow's messages have it."""
    return f"[{','.join('?' if size is None else str(size) for size in shape)}]"


# -- functions


def the_value(found: Sequence[Any], what: str) -> Any:
    """What a function returns, or an element holds, that is one value. Raises
    `InvalidArgumentError` for several or none."""
    if len(found) != 1:
        raise InvalidArgumentError(f"{what} must be one value, and is {len(found)}")
    return found[0]


@dataclass(frozen=True, slots=True)
class ResourceHandle:
    """A handle that a function captures, by the node that made it."""

    node: str


@dataclass(frozen=True, slots=True, eq=False)
class Captured:
    """A function of the graph, and what it captures: its last arguments. `calls`: how many may be
    under way at once, which share the cores."""

    name: str
    captured: Sequence[Any]
    calls: int = 1


class Trials:
    """Which step of an iterator `tries` threads, and how often one began or ended some."""

    tries: object = None
    switches = 0


class IterationContext:
    """What goes through the datasets of one iterator shares. `run` outlasts the runs that ask for
    elements; it is cancelled when the iterator is made anew, or its Session closed."""

    def __init__(self, run: HostRun) -> None:
        self.token = CancelToken()
        self.run = run.endless(self.token)
        self.trials = Trials()
        self._streams: dict[Any, Any] = {}
        self._lock = threading.Lock()
        self._open: dict[int, Callable[[], None]] = {}

    def function(self, function: Captured, given: int) -> Callable[..., list[Array]]:
        """The function of its first `given` arguments."""
        handles, rest = self._captured(function, given)
        call = self.run.functions.find(function.name, handles, self._streams, function.calls)
        if not rest:
            return call
        return lambda arguments, into=(): call([*arguments, *rest], into)

    def _captured(self, function: Captured, given: int) -> tuple[dict[int, str], list[Array]]:
        """What a function captures behind its first `given` arguments: handles, and values."""
        handles = {
            given + i: value.node
            for i, value in enumerate(function.captured)
            if isinstance(value, ResourceHandle)
        }
        rest = [held(v) for v in function.captured if not isinstance(v, ResourceHandle)]
        return handles, rest

    def batched(self, function: Captured, ranks: Sequence[int]) -> BatchedFunction | None:
        """The function of many elements whose components have these ranks, at once."""
        handles, rest = self._captured(function, len(ranks))
        shared = [*ranks, *[None] * len(rest)]
        found = self.run.functions.find_batched(
            function.name, handles, self._streams, shared, function.calls
        )
        if found is None or not rest:
            return found
        stacked, one_by_one = found.stacked, found.rest
        return BatchedFunction(
            lambda arrays: stacked([*arrays, *rest]),
            None if one_by_one is None else lambda rows: one_by_one([*rows, *rest]),
        )

    def closing(self, owner: Any, close: Callable[[], None]) -> None:
        """Has `close` called in the end, unless `closed` says that the owner ended before."""
        with self._lock:
            self._open[id(owner)] = close

    def closed(self, owner: Any) -> None:
        with self._lock:
            self._open.pop(id(owner), None)

    def close(self) -> None:
        self.token.cancel()
        while self._open:
            with self._lock:
                _, close = self._open.popitem()
            close()


def each(items: Items, run: HostRun) -> Iterator[Any]:
    """All items that are left."""
    while found := items.take(1, run):
        run.check()
        yield found[0]
