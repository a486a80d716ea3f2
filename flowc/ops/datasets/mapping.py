"""Datasets of what functions make of elements: map, filter, scan, take_while.

In: elements, and functions of the graph. Out: elements. Invariant: what a function makes comes in
the order of the input, also where several calls run side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.files.process import usable_cores
from flowc.ir.host_run import HostRun
from flowc.ops.datasets.batching import Batch
from flowc.ops.datasets.dataset import (
    UNKNOWN,
    Array,
    Captured,
    Element,
    HostDataset,
    Items,
    IterationContext,
    Kept,
    OneByOne,
    held,
    one,
    the_value,
)
from flowc.ops.datasets.mapped import MappedItems
from flowc.ops.datasets.records import METADATA, STATED, Given, define_dataset
from flowc.ops.datasets.threads.parallel import MOST_THREADS, Parallel

AUTOTUNE = -1
ARGUMENTS = "Targuments: list(type) >= 0"


class Applied(HostDataset):
    """A dataset of what a function makes of a source's elements."""

    def __init__(self, source: HostDataset, function: Captured) -> None:
        self.source, self.function = source, function

    def applied(self, context: IterationContext) -> Callable[..., list[Array]]:
        """The function, found when it is first called: for as many components as that has."""
        call: Callable[..., list[Array]] | None = None

        def apply(element: Element, into: Sequence[Array] = ()) -> list[Array]:
            nonlocal call
            if call is None:
                call = context.function(self.function, len(element))
            return call(element, into)

        return apply


class Map(Applied):
    """`counts`: whether there are as many elements as before is said."""

    def __init__(
        self, source: HostDataset, function: Captured, calls: int = 1, counts: bool = False
    ) -> None:
        count = min(calls, MOST_THREADS) if calls > 0 else usable_cores()
        super().__init__(source, replace(function, calls=count))
        self._is_parallel = calls != 1  # whatever the machine has, so that each reads a position
        self._counts = counts

    @property
    def cardinality(self) -> int:
        return self.source.cardinality if self._counts else UNKNOWN

    def items(self, context: IterationContext) -> Items:
        mapped = MappedItems(self.source, self.function, self.applied(context), context)
        return Parallel(mapped, self.function.calls, context) if self._is_parallel else mapped


def _parallel_map(given: Given, counts: bool | None = None) -> HostDataset:
    calls = given.number("num_parallel_calls")
    if calls < 1 and calls != AUTOTUNE:
        raise InvalidArgumentError("num_parallel_calls must be greater than zero.")
    if counts is None:
        counts = given.flag("preserve_cardinality")
    return Map(given.dataset, given.function("f"), calls, counts)


def _map_and_batch(given: Given) -> HostDataset:
    size = given.number("batch_size")
    if size <= 0:
        raise InvalidArgumentError("batch_size must be greater than zero.")
    return Batch(_parallel_map(given, counts=True), size, given.flag("drop_remainder"))


class _Filter(Applied):
    def items(self, context: IterationContext) -> Items:
        return _Filtered(self.source.elements(context), self.applied(context), ends=False)


class _TakeWhile(Applied):
    def items(self, context: IterationContext) -> Items:
        return _Filtered(self.source.elements(context), self.applied(context), ends=True)


class _Filtered(OneByOne):
    """`ends` with the first element that does not pass."""

    where = ("_items", "_ended")

    def __init__(self, items: Items, passes: Callable[[Element], list[Array]], ends: bool) -> None:
        self._items, self._passes, self._ends = items, passes, ends
        self._ended = False

    def next(self, run: HostRun) -> Element | None:
        while not self._ended:
            element = one(self._items, run)
            if element is None:
                return None
            found = the_value(self._passes(element), "what predicate returns")
            if found.ndim or found.dtype != np.bool_:
                raise InvalidArgumentError(
                    "Filter predicate `predicate` must return a scalar bool."
                )
            if found:
                return element
            self._ended = self._ends
            run.check()
        return None


class _FilterByLast(HostDataset):
    """Elements whose last component is true, without it."""

    def __init__(self, source: HostDataset) -> None:
        self._source = source

    def items(self, context: IterationContext) -> Items:
        found = _Filtered(self._source.elements(context), lambda e: [held(e[-1])], ends=False)
        return _WithoutLast(found)


class _WithoutLast(OneByOne):
    where = ("_items",)

    def __init__(self, items: Items) -> None:
        self._items = items

    def next(self, run: HostRun) -> Element | None:
        element = one(self._items, run)
        return None if element is None else element[:-1]


class _Scan(Applied):
    """A function of a state and an element gives the next state and what comes out."""

    def __init__(self, given: Given) -> None:
        super().__init__(given.dataset, given.function("f"))
        self._state = [held(value) for value in given["initial_state"]]

    @property
    def cardinality(self) -> int:
        return self.source.cardinality

    def items(self, context: IterationContext) -> Items:
        return _Scanned(self.source.elements(context), self.applied(context), self._state)


class _Scanned(OneByOne):
    where = ("_items", "_state")

    def __init__(
        self, items: Items, apply: Callable[[Element], list[Array]], state: Sequence[Array]
    ) -> None:
        self._items, self._apply, self._state = items, apply, state

    def next(self, run: HostRun) -> Element | None:
        element = one(self._items, run)
        if element is None:
            return None
        count = len(self._state)
        found = self._apply((*self._state, *element))
        self._state = found[:count]
        return tuple(found[count:])


class _Unique(HostDataset):
    """Elements of one component, each only once."""

    def __init__(self, source: HostDataset) -> None:
        self._source = source

    def items(self, context: IterationContext) -> Items:
        return _OnlyNew(self._source.elements(context))


class _OnlyNew(OneByOne):
    where = ("_items", "_seen")

    def __init__(self, items: Items) -> None:
        self._items = items
        self._seen: dict[Any, None] = {}
        self._kept = Kept("what was seen of a dataset")

    def next(self, run: HostRun) -> Element | None:
        while (element := one(self._items, run)) is not None:
            array = the_value(element, "an element")
            key = (array.shape, tuple(array.reshape(-1).tolist()))
            if key not in self._seen:
                self._kept.add([element], run)
                self._seen[key] = None
                return element
            run.check()
        return None


def reduced(
    dataset: HostDataset, function: Captured, state: Sequence[Any], run: HostRun
) -> list[Array]:
    """The last state of a function of a state and an element."""
    context = IterationContext(run)
    found = [held(value) for value in state]
    try:
        items = dataset.elements(context)
        while (element := one(items, run)) is not None:
            run.check()
            given = (*found, *element)
            found = context.function(function, len(given))(given)
    finally:
        context.close()
    return found


_INPUT = "input_dataset: variant, other_arguments: Targuments"
_MAP = f"f: func, {ARGUMENTS}, {STATED}"
_INTER = "use_inter_op_parallelism: bool = True"
_CARDINALITY = "preserve_cardinality: bool = False"

define_dataset(
    f"MapDataset({_INPUT}; {_MAP}, {_INTER}, {_CARDINALITY}, force_synchronous: bool = False,"
    f" {METADATA})",
    lambda n: Map(n.dataset, n.function("f"), counts=n.flag("preserve_cardinality")),
    old=(
        f"ExperimentalMapDataset({_INPUT}; {_MAP}, {_INTER}, {_CARDINALITY},"
        " force_synchronous: bool = False)",
    ),
)
define_dataset(
    f"ParallelMapDatasetV2({_INPUT}, num_parallel_calls: i64; {_MAP}, {_INTER},"
    f' deterministic: string = "default", {_CARDINALITY}, use_unbounded_threadpool: bool = False,'
    f" {METADATA})",
    _parallel_map,
    old=(
        f"ParallelMapDataset({_INPUT}, num_parallel_calls: i32; {_MAP}, {_INTER},"
        f" sloppy: bool = False, {_CARDINALITY}, {METADATA})",
    ),
)
_BATCHED = (
    f"{_INPUT}, batch_size: i64, num_parallel_calls: i64, drop_remainder: bool; {_MAP},"
    f" {_CARDINALITY}"
)
define_dataset(
    f"MapAndBatchDataset({_BATCHED}, {METADATA})",
    _map_and_batch,
    old=(f"ExperimentalMapAndBatchDataset({_BATCHED})",),
)
define_dataset(
    f"FilterDataset({_INPUT}; predicate: func, {ARGUMENTS}, {STATED}, {METADATA})",
    lambda n: _Filter(n.dataset, n.function("predicate")),
)
define_dataset(
    f"FilterByLastComponentDataset(input_dataset: variant; {STATED}) -> output: variant",
    lambda n: _FilterByLast(n.dataset),
)
define_dataset(
    f"TakeWhileDataset({_INPUT}; predicate: func, {ARGUMENTS}, {STATED}, {METADATA})",
    lambda n: _TakeWhile(n.dataset, n.function("predicate")),
    old=(f"ExperimentalTakeWhileDataset({_INPUT}; predicate: func, {ARGUMENTS}, {STATED})",),
)
_SCAN = (
    "input_dataset: variant, initial_state: Tstate, other_arguments: Targuments; f: func,"
    f" Tstate: list(type) >= 1, {ARGUMENTS}, {STATED}, {_CARDINALITY}"
)
define_dataset(
    f"ScanDataset({_SCAN}, use_default_device: bool = True, {METADATA})",
    _Scan,
    old=(f"ExperimentalScanDataset({_SCAN})",),
)
define_dataset(
    f"UniqueDataset(input_dataset: variant; {STATED}, {METADATA})",
    lambda n: _Unique(n.dataset),
    old=(f"ExperimentalUniqueDataset(input_dataset: variant; {STATED})",),
)
