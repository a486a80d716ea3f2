"""Windows and groups of elements.

In: elements. Out: datasets of some of them, as elements (windows), or what functions make of those
with one key (groups). Invariant: an element of a window is held as long as a window needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.host_run import HostRun, scalar_of
from flowc.ops.datasets.dataset import (
    Array,
    Element,
    ElementList,
    HostDataset,
    Items,
    IterationContext,
    Kept,
    OneByOne,
    dataset_of,
    kept,
    one,
    the_value,
    variant,
)
from flowc.ops.datasets.records import METADATA, STATED, Given, define_dataset


def _number(found: Sequence[Any], function: str) -> int:
    """The whole number that a function returned."""
    value = scalar_of(the_value(found, f"what {function} returns"), function)
    if not isinstance(value, int | np.integer):
        raise InvalidArgumentError(f"{function} must return a whole number")
    return int(value)


def _held(element: Element) -> Element:
    return tuple([kept(array) for array in element])


class _WindowDataset(HostDataset):
    """For each window and each component a dataset."""

    def __init__(self, given: Given, names: tuple[str, str, str]) -> None:
        self._source = given.dataset
        size, shift, stride = (given.number(name) for name in names)
        if size <= 0:
            raise InvalidArgumentError("Window size must be greater than zero.")
        if shift <= 0:
            raise InvalidArgumentError("Window shift must be greater than zero.")
        if stride <= 0:
            raise InvalidArgumentError("Window stride must be greater than zero.")
        self.size, self.shift, self.stride = size, shift, stride
        self.drops_rest = given.flag("drop_remainder")

    @property
    def cardinality(self) -> int:
        count = self._source.cardinality
        if count < 0:
            return count
        if self.drops_rest:
            rest = count - ((self.size - 1) * self.stride + 1)
            return 0 if rest < 0 else rest // self.shift + 1
        return -(-count // self.shift)

    def items(self, context: IterationContext) -> Items:
        return _Windows(self, self._source.elements(context))


class _Windows(OneByOne):
    where = ("_items", "_buffer", "_more")

    def __init__(self, window: _WindowDataset, items: Items) -> None:
        self._window, self._items = window, items
        self._buffer: list[Element] = []
        self._kept = Kept("a window of a dataset")
        self._more = True

    def next(self, run: HostRun) -> Element | None:
        window = self._window
        reach = (window.size - 1) * window.stride + 1
        while self._more and len(self._buffer) < reach:
            run.check()
            element = one(self._items, run)
            if element is None:
                self._more = False
                break
            self._kept.add([element], run)
            self._buffer.append(_held(element))
        if not self._buffer or (window.drops_rest and len(self._buffer) < reach):
            return None
        chosen = self._buffer[: reach : window.stride]
        self._advance(window.shift, run)
        return tuple([variant(ElementList([(a,) for a in column])) for column in zip(*chosen)])

    def move(self, position: Any, run: HostRun) -> None:
        super().move(position, run)
        self._kept.add(self._buffer, run)

    def _advance(self, count: int, run: HostRun) -> None:
        missing = count - len(self._buffer)
        self._kept.drop(self._buffer[:count])
        del self._buffer[:count]
        while self._more and missing > 0:
            run.check()
            self._more = one(self._items, run) is not None
            missing -= 1


class _GroupByWindow(HostDataset):
    """Elements with one key are gathered to a window of a size, of which a function makes a
    dataset."""

    def __init__(self, given: Given) -> None:
        self.source = given.dataset
        self.functions = [
            given.function(name, f"{name}_other_arguments")
            for name in ("key_func", "reduce_func", "window_size_func")
        ]

    def items(self, context: IterationContext) -> Items:
        return _Groups(self, context)


class _Groups(OneByOne):
    where = ("_items", "_groups", "_sizes", "_flushed", "_ready")

    def __init__(self, dataset: _GroupByWindow, context: IterationContext) -> None:
        self._context = context
        self._items = dataset.source.elements(context)
        self._key, self._reduce, self._size = dataset.functions
        self._groups: dict[int, list[Element]] = {}
        self._kept = Kept("the groups of a dataset")
        self._sizes: dict[int, int] = {}
        self._ready: Items | None = None
        self._flushed: tuple[int, list[Element]] | None = None  # what `_ready` was made of
        self._key_of: Callable[..., list[Array]] | None = None

    def next(self, run: HostRun) -> Element | None:
        while True:
            if self._ready is not None:
                found = one(self._ready, run)
                if found is not None:
                    return found
                self._ready = self._flushed = None
            run.check()
            element = one(self._items, run)
            if element is not None:
                self._kept.add([element], run)
                self._add(element)
            elif self._groups:
                key = min(self._groups)
                self._flush(key)
            else:
                return None

    def _add(self, element: Element) -> None:
        if self._key_of is None:
            self._key_of = self._context.function(self._key, len(element))
        key = _number(self._key_of(element), "key_func")
        if key not in self._groups:
            found = self._context.function(self._size, 1)([np.array(key, np.int64)])
            size = _number(found, "window_size_func")
            if size <= 0:
                raise InvalidArgumentError(
                    f"Window size must be greater than zero, but got {size}."
                )
            self._groups[key], self._sizes[key] = [], size
        group = self._groups[key]
        group.append(_held(element))
        if len(group) == self._sizes[key]:
            self._flush(key)

    def _flush(self, key: int) -> None:
        elements = self._groups.pop(key)
        self._kept.drop(elements)
        self._begin(key, elements)

    def _begin(self, key: int, elements: list[Element]) -> None:
        self._flushed = key, elements
        group = variant(ElementList(elements))
        found = self._context.function(self._reduce, 2)([np.array(key, np.int64), group])
        self._ready = dataset_of(the_value(found, "what reduce_func returns")).elements(
            self._context
        )

    def move(self, position: Any, run: HostRun) -> None:
        if position["_flushed"] is not None:
            self._begin(*position["_flushed"])
        super().move(position, run)
        for elements in self._groups.values():
            self._kept.add(elements, run)


class _GroupByReducer(HostDataset):
    """One element for each key: what functions make of a state that all with that key went into."""

    def __init__(self, given: Given) -> None:
        self.source = given.dataset
        self.functions = [
            given.function(f"{name}_func", f"{name}_func_other_arguments")
            for name in ("key", "init", "reduce", "finalize")
        ]

    def items(self, context: IterationContext) -> Items:
        return _Reduced(self, context)


class _Reduced(OneByOne):
    where = ("_results",)

    def __init__(self, dataset: _GroupByReducer, context: IterationContext) -> None:
        self._dataset, self._context = dataset, context
        self._results: list[Element] | None = None

    def next(self, run: HostRun) -> Element | None:
        if self._results is None:
            self._results = self._all(run)[::-1]
        return self._results.pop() if self._results else None

    def _all(self, run: HostRun) -> list[Element]:
        call = self._context.function
        key_of, first, following, last = self._dataset.functions
        states: dict[int, Sequence[Any]] = {}
        items = self._dataset.source.elements(self._context)
        while (element := one(items, run)) is not None:
            run.check()
            key = _number(call(key_of, len(element))(element), "key_func")
            if key not in states:
                states[key] = call(first, 1)([np.array(key, np.int64)])
            state = states[key]
            states[key] = call(following, len(state) + len(element))([*state, *element])
        return [tuple(call(last, len(s))(s)) for _, s in sorted(states.items())]


_INPUT = "input_dataset: variant"


def _captures(*names: str) -> tuple[str, str]:
    """Inputs and attrs of the functions of a node."""
    inputs = ", ".join(f"{n}_other_arguments: T{n}_other_arguments" for n in names)
    functions = ", ".join(f"{n}: func" for n in names)
    types = ", ".join(f"T{n}_other_arguments: list(type) >= 0" for n in names)
    return f"{_INPUT}, {inputs}", f"{functions}, {types}"


define_dataset(
    f"WindowDataset({_INPUT}, size: i64, shift: i64, stride: i64, drop_remainder: bool; {STATED},"
    f" {METADATA})",
    lambda n: _WindowDataset(n, ("size", "shift", "stride")),
)
_inputs, _attrs = _captures("key_func", "reduce_func", "window_size_func")
define_dataset(
    f"GroupByWindowDataset({_inputs}; {_attrs}, {STATED}, {METADATA})",
    _GroupByWindow,
    old=(f"ExperimentalGroupByWindowDataset({_inputs}; {_attrs}, {STATED})",),
)
_inputs, _attrs = _captures("key_func", "init_func", "reduce_func", "finalize_func")
define_dataset(
    f"GroupByReducerDataset({_inputs}; {_attrs}, {STATED})",
    _GroupByReducer,
    aliases=("ExperimentalGroupByReducerDataset",),
)
