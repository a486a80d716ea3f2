"""Datasets of tensors, numbers, generators and lists.

In: nodes that hold or compute tensors. Out: their elements. Invariant: rows of tensors are moved by
their numbers alone.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from flowc import errors
from flowc.errors import CancelledError, InvalidArgumentError
from flowc.ir.host_run import HostRun
from flowc.ops.datasets.dataset import (
    INFINITE,
    OFTEN,
    Array,
    Captured,
    Element,
    ElementList,
    HostDataset,
    Items,
    IterationContext,
    Listed,
    OneByOne,
    Rows,
    held,
    kept,
    one,
)
from flowc.ops.datasets.philox import chosen_seeds, random_words
from flowc.ops.datasets.records import METADATA, STATED, Given, define_dataset


class ArrayRows(Rows):
    """The rows of arrays."""

    def __init__(self, arrays: Sequence[Array]) -> None:
        self._arrays = [kept(array) for array in arrays]

    def element(self, item: int) -> Element:
        return tuple([array[item, ...] for array in self._arrays])

    def stacked(self, items: Sequence[int]) -> Element:
        if isinstance(items, range) and items.step == 1:
            return tuple([array[items.start : items.stop].copy() for array in self._arrays])
        numbers = np.array(items, np.intp)
        return tuple([array.take(numbers, 0) for array in self._arrays])


class NumberRows(Rows):
    """`start + k * step`."""

    def __init__(self, start: int, step: int) -> None:
        self._start, self._step = start, step

    def element(self, item: int) -> Element:
        return (np.array(self._start + item * self._step, np.int64),)

    def stacked(self, items: Sequence[int]) -> Element:
        return (np.array(items, np.int64) * self._step + self._start,)


class RowDataset(HostDataset):
    """All rows, in order."""

    def __init__(self, rows: Rows, count: int) -> None:
        self.rows = rows
        self._count = count

    @property
    def cardinality(self) -> int:
        return self._count

    def items(self, context: IterationContext) -> Items:
        return Listed(range(self._count))


def _tensors(given: Given) -> HostDataset:
    return ElementList([tuple(kept(held(value)) for value in given["components"])])


def _list(given: Given) -> HostDataset:
    """Elements one after the other, component by component."""
    values = [kept(held(value)) for value in given["tensors"]]
    size = len(given.types)
    if len(values) % size:
        raise InvalidArgumentError(
            f"{len(values)} tensors are no elements of {size} components each"
        )
    return ElementList([tuple(values[k : k + size]) for k in range(0, len(values), size)])


def _slices(given: Given) -> HostDataset:
    arrays = [held(value) for value in given["components"]]
    if any(array.ndim == 0 for array in arrays):
        raise InvalidArgumentError("All elements must be at least 1-dimensional")
    counts = [len(array) for array in arrays]
    for i, count in enumerate(counts):
        if count != counts[0]:
            raise InvalidArgumentError(
                "All components must have the same size in the 0th dimension. Component 0 has size"
                f" {counts[0]} whereas component {i} has size {count}"
            )
    return RowDataset(ArrayRows(arrays), counts[0])


def _range(given: Given) -> HostDataset:
    start, stop, step = (given.number(name) for name in ("start", "stop", "step"))
    if step == 0:
        raise InvalidArgumentError("step must be a non-zero integer.")
    count = max(0, -((start - stop) // step))
    return RowDataset(NumberRows(start, step), min(count, sys.maxsize))


class _SparseSlices(HostDataset):
    """The rows of a sparse tensor: indices, values and sizes of each."""

    def __init__(self, given: Given) -> None:
        self._indices, self._values = held(given["indices"]), held(given["values"])
        self._sizes = held(given["dense_shape"])
        if self._indices.ndim != 2 or self._indices.shape[1] != self._sizes.size:
            raise InvalidArgumentError("indices must be a matrix with a column for each size")
        if self._sizes.ndim != 1 or not self._sizes.size or self._sizes[0] < 0:
            raise InvalidArgumentError("dense_shape must be a vector of sizes, not an empty one")
        if self._values.shape != self._indices.shape[:1]:
            raise InvalidArgumentError("as many values as rows of indices are expected")
        self._rows = self._indices[:, 0]
        if (np.diff(self._rows) < 0).any():
            raise errors.UnimplementedError(
                "The SparseTensor must be ordered in the batch dimension; handling arbitrarily "
                "ordered input is not currently supported."
            )

    @property
    def cardinality(self) -> int:
        return int(self._sizes[0])

    def items(self, context: IterationContext) -> Items:
        return _SparseRows(self.cardinality, self.row)

    def row(self, k: int) -> Element:
        part = slice(*np.searchsorted(self._rows, (k, k + 1)))
        return (
            kept(np.ascontiguousarray(self._indices[part, 1:])),
            kept(self._values[part]),
            kept(self._sizes[1:]),
        )


class _SparseRows(OneByOne):
    where = ("_numbers",)

    def __init__(self, count: int, row: Callable[[int], Element]) -> None:
        self._numbers: Items = Listed(range(count))
        self._row = row

    def next(self, run: HostRun) -> Element | None:
        number = one(self._numbers, run)
        return None if number is None else self._row(number)


class _Generator(HostDataset):
    """What functions make: a state at first, then elements until `OutOfRangeError`."""

    def __init__(self, given: Given) -> None:
        self._parts = [
            given.function(f"{part}_func", f"{part}_func_other_args")
            for part in ("init", "next", "finalize")
        ]

    def items(self, context: IterationContext) -> Items:
        return _Generated(context, *self._parts)


class _Generated(OneByOne):
    def position(self, run: HostRun) -> Any:
        raise errors.UnimplementedError("GeneratorDataset does not support checkpointing.")

    def __init__(
        self, context: IterationContext, first: Captured, following: Captured, last: Captured
    ) -> None:
        self._context = context
        self._functions = first, following, last
        self._state: list[Array] | None = None
        self._ended = False

    def next(self, run: HostRun) -> Element | None:
        if self._ended:
            return None
        if self._state is None:
            self._state = self._context.function(self._functions[0], 0)([])
            self._following = self._context.function(self._functions[1], len(self._state))
            self._context.closing(self, self._finish)
        try:
            return tuple(self._following(self._state))
        except errors.OutOfRangeError:
            self._context.closed(self)
            self._finish()
            return None

    def _finish(self) -> None:
        """The generator's own end, which has no result. A Session that is closed runs nothing."""
        if not self._ended and self._state is not None:
            self._ended = True
            with suppress(CancelledError):
                self._context.function(self._functions[2], len(self._state))(self._state)


class RandomNumbers(HostDataset):
    """Uniform 32-bit numbers without end."""

    def __init__(self, seeds: tuple[int, int]) -> None:
        self._seeds = seeds

    @property
    def cardinality(self) -> int:
        return INFINITE

    def items(self, context: IterationContext) -> Items:
        return _Numbers(self._seeds)


class _Numbers(Items):
    where = ("_seeds", "_drawn")

    def __init__(self, seeds: tuple[int, int]) -> None:
        self._seeds, self._drawn = seeds, 0
        self._words = random_words(*seeds)

    def move(self, position: Any, run: HostRun) -> None:
        super().move(position, run)
        self._words = random_words(*self._seeds, self._drawn)

    def take(self, count: int, run: HostRun) -> Sequence[Any]:
        count = min(count, OFTEN)
        self._drawn += count
        some = itertools.islice(self._words, count)
        return [(np.array(w, np.int64),) for w in some]


def _random(given: Given) -> HostDataset:
    return RandomNumbers(chosen_seeds(given))


_COMPONENTS = "Toutput_types: list(type) >= 1, output_shapes: list(shape) >= 1"
_SPLIT = "replicate_on_split: bool = False"

define_dataset(
    f"TensorDataset(components: Toutput_types; {_COMPONENTS}, {METADATA})",
    _tensors,
)
define_dataset(
    f"TensorSliceDataset(components: Toutput_types; {_COMPONENTS}, is_files: bool = False,"
    f" {METADATA}, {_SPLIT})",
    _slices,
)
define_dataset(
    f"ListDataset(tensors: Tinput_types; Tinput_types: list(type) >= 1, {STATED}, {METADATA})",
    _list,
)
define_dataset(
    "SparseTensorSliceDataset(indices: i64, values: Tvalues, dense_shape: i64; Tvalues: type)",
    _SparseSlices,
)
define_dataset(
    f"RangeDataset(start: i64, stop: i64, step: i64; {STATED}, {METADATA}, {_SPLIT})", _range
)
define_dataset(
    "GeneratorDataset(init_func_other_args: Tinit_func_args, next_func_other_args: Tnext_func_args,"
    " finalize_func_other_args: Tfinalize_func_args; init_func: func, next_func: func,"
    " finalize_func: func, Tinit_func_args: list(type) >= 0, Tnext_func_args: list(type) >= 0,"
    f" Tfinalize_func_args: list(type) >= 0, {STATED}, {METADATA})",
    _Generator,
)
define_dataset(
    f"RandomDataset(seed: i64, seed2: i64; {STATED}, {METADATA})",
    _random,
    old=(f"ExperimentalRandomDataset(seed: i64, seed2: i64; {STATED})",),
)
