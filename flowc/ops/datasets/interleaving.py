"""Datasets of datasets: flat_map, interleave, and choosing among several.

In: elements of which a function makes datasets, or several datasets. Out: the elements of those.
Invariant: the order is that of TensorFlow's deterministic one, whatever a node allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flowc.errors import InvalidArgumentError
from flowc.files.process import usable_cores
from flowc.ir.host_run import HostRun, scalar_of
from flowc.ops.datasets.dataset import (
    Captured,
    Element,
    HostDataset,
    Items,
    IterationContext,
    OneByOne,
    dataset_of,
    one,
    the_value,
)
from flowc.ops.datasets.mapping import ARGUMENTS, Applied
from flowc.ops.datasets.records import METADATA, STATED, Given, define_dataset
from flowc.ops.datasets.threads.prefetch import Prefetch


def opened(
    apply: Callable[[Element], Sequence[Any]], element: Element, context: IterationContext
) -> Items:
    """What goes through the dataset that a function makes of an element."""
    return dataset_of(the_value(apply(element), "what f returns")).elements(context)


class FlatMap(Applied):
    def items(self, context: IterationContext) -> Items:
        return _Flat(self, context)


class _Flat(Items):
    where = ("_items", "_element", "_inner")

    def __init__(self, dataset: Applied, context: IterationContext) -> None:
        self._context = context
        self._items = dataset.source.elements(context)
        self._apply = dataset.applied(context)
        self._inner: Items | None = None
        self._element: Element | None = None  # of which `_inner` was made

    def move(self, position: Any, run: HostRun) -> None:
        if position["_element"] is not None:
            self._begin(position["_element"])
        super().move(position, run)

    def _begin(self, element: Element) -> None:
        self._element = element
        self._inner = opened(self._apply, element, self._context)

    def take(self, count: int, run: HostRun) -> Sequence[Element]:
        while True:
            if self._inner is None:
                element = one(self._items, run)
                if element is None:
                    return ()
                self._begin(element)
            assert self._inner is not None
            found = self._inner.take(count, run)
            if found:
                return found
            run.check()
            self._inner = self._element = None


class Interleave(Applied):
    """`block` elements of each of `cycle` datasets in turn. `fills_up`: as the parallel op of
    TensorFlow 1.x does it."""

    def __init__(
        self,
        source: HostDataset,
        function: Captured,
        cycle: int,
        block: int,
        fills_up: bool = False,
    ) -> None:
        super().__init__(source, function)
        if cycle == -1:
            cycle = usable_cores()
        if cycle <= 0:
            raise InvalidArgumentError("cycle_length must be greater than zero.")
        if block <= 0:
            raise InvalidArgumentError("block_length must be greater than zero.")
        self.cycle, self.block, self.fills_up = cycle, block, fills_up

    def items(self, context: IterationContext) -> Items:
        kind = _FilledUp if self.fills_up else _Interleaved
        return kind(self, context)


class _Interleaved(OneByOne):
    """`_elements`: of which what is open in each place was made."""

    where = ("_items", "_elements", "_open", "_at", "_in_block", "_more")

    def __init__(self, dataset: Interleave, context: IterationContext) -> None:
        self._context = context
        self._items = dataset.source.elements(context)
        self._apply = dataset.applied(context)
        self._block = dataset.block
        self._cycle = dataset.cycle
        self._open: list[Items | None] = []  # of places that had a dataset
        self._elements: list[Element | None] = []
        self._at = self._in_block = 0
        self._more = True

    def next(self, run: HostRun) -> Element | None:
        while self._more or any(inner is not None for inner in self._open):
            run.check()
            inner = self._open[self._at] if self._at < len(self._open) else None
            if inner is None:
                if not self._begin(run):
                    self._advance()
                continue
            found = one(inner, run)
            if found is not None:
                self._in_block += 1
                if self._in_block == self._block:
                    self._advance()
                return found
            self._end()
            self._advance()
        return None

    def _end(self) -> None:
        self._open[self._at] = self._elements[self._at] = None

    def move(self, position: Any, run: HostRun) -> None:
        for element in position["_elements"]:
            self._elements.append(element)
            self._open.append(
                None if element is None else opened(self._apply, element, self._context)
            )
        super().move(position, run)

    def _begin(self, run: HostRun) -> bool:
        """Opens the next dataset at the current position of the cycle; False where none is left."""
        element = one(self._items, run) if self._more else None
        if element is None:
            self._more = False
            return False
        if self._at == len(self._open):
            self._open.append(None)
            self._elements.append(None)
        self._open[self._at] = opened(self._apply, element, self._context)
        self._elements[self._at] = element
        return True

    def _advance(self) -> None:
        self._in_block = 0
        self._at += 1
        if self._at >= (self._cycle if self._more else len(self._open)):
            self._at = 0


class _FilledUp(_Interleaved):
    """All places are open from the beginning, and the next dataset takes the place of one that
    ended at once. Where there is none, the next place goes on with the block."""

    where = (*_Interleaved.where, "_is_new")
    _is_new = True

    def next(self, run: HostRun) -> Element | None:
        if self._is_new:
            self._is_new = False
            while len(self._open) < self._cycle and self._begin(run):
                run.check()
                self._advance()
            self._at = 0
        empty = 0
        while empty < len(self._open):
            run.check()
            inner = self._open[self._at]
            found = None if inner is None else one(inner, run)
            if found is not None:
                self._in_block += 1
                if self._in_block == self._block:
                    self._advance()
                return found
            self._end()
            if inner is not None and self._begin(run):
                empty = 0
                self._advance()
            else:
                empty += 1
                self._at = (self._at + 1) % len(self._open)
        return None


class _Directed(HostDataset):
    """The next element of the dataset that a selector names."""

    def __init__(self, selector: HostDataset, parts: Sequence[HostDataset], stops: bool) -> None:
        self._selector, self._parts, self._stops = selector, parts, stops

    def items(self, context: IterationContext) -> Items:
        parts = [part.elements(context) for part in self._parts]
        return _Chosen(self._selector.elements(context), parts, self._stops)


class _Chosen(OneByOne):
    where = ("_selector", "_parts")

    def __init__(self, selector: Items, parts: Sequence[Items | None], stops: bool) -> None:
        self._selector, self._parts, self._stops = selector, list(parts), stops

    def next(self, run: HostRun) -> Element | None:
        while any(part is not None for part in self._parts):
            run.check()
            choice = one(self._selector, run)
            if choice is None:
                return None
            number = int(scalar_of(the_value(choice, "a selector"), "a selector"))
            if not 0 <= number < len(self._parts):
                raise InvalidArgumentError(
                    f"Selector index out of range: {number} >= {len(self._parts)}"
                )
            part = self._parts[number]
            found = None if part is None else one(part, run)
            if found is not None:
                return found
            self._parts[number] = None
            if self._stops:
                return None
        return None


def _interleave(given: Given) -> HostDataset:
    cycle, block = given.number("cycle_length"), given.number("block_length")
    return Interleave(given.dataset, given.function("f"), cycle, block)


def _parallel_interleave(given: Given) -> HostDataset:
    return Prefetch(_interleave(given), 0)


def _legacy_interleave(given: Given) -> HostDataset:
    cycle, block = given.number("cycle_length"), given.number("block_length")
    found = Interleave(given.dataset, given.function("f"), cycle, block, fills_up=True)
    return Prefetch(found, 0)


def _directed(given: Given) -> HostDataset:
    parts = [dataset_of(part) for part in given["data_input_datasets"]]
    stops = given.attrs.get("stop_on_empty_dataset", False)
    return _Directed(dataset_of(given["selector_input_dataset"]), parts, stops)


_INPUT = "input_dataset: variant, other_arguments: Targuments"
_CYCLE = f"{_INPUT}, cycle_length: i64, block_length: i64"
_READ_AHEAD = "buffer_output_elements: i64, prefetch_input_elements: i64"
_ATTRS = f"f: func, {ARGUMENTS}, {STATED}"
_ORDERED = f'f: func, deterministic: string = "default", {ARGUMENTS}, {STATED}, {METADATA}'

define_dataset(
    f"FlatMapDataset({_INPUT}; {_ATTRS}, {METADATA})",
    lambda n: FlatMap(n.dataset, n.function("f")),
)
define_dataset(f"InterleaveDataset({_CYCLE}; {_ATTRS}, {METADATA})", _interleave)
define_dataset(
    f"ParallelInterleaveDatasetV2({_CYCLE}, num_parallel_calls: i64; {_ATTRS},"
    f" sloppy: bool = False, {METADATA})",
    _parallel_interleave,
    old=(
        f"ParallelInterleaveDatasetV3({_CYCLE}, num_parallel_calls: i64; {_ORDERED})",
        f"ParallelInterleaveDatasetV4({_CYCLE}, {_READ_AHEAD}, num_parallel_calls: i64;"
        f" {_ORDERED})",
    ),
)
define_dataset(
    f"LegacyParallelInterleaveDatasetV2({_CYCLE}, {_READ_AHEAD}; {_ORDERED})",
    _legacy_interleave,
    old=(
        f"ParallelInterleaveDataset({_CYCLE}, sloppy: bool, {_READ_AHEAD}; {_ATTRS}, {METADATA})",
        f"ExperimentalParallelInterleaveDataset({_CYCLE}, sloppy: bool, {_READ_AHEAD}; {_ATTRS})",
    ),
)
_PARTS = "selector_input_dataset: variant, data_input_datasets: N*variant"
define_dataset(
    f"DirectedInterleaveDataset({_PARTS}; {STATED}, N: int >= 1,"
    " stop_on_empty_dataset: bool = False)",
    _directed,
    old=(f"ExperimentalDirectedInterleaveDataset({_PARTS}; {STATED}, N: int >= 1)",),
)
