"""Batches of elements, and elements of batches.

In: elements. Out: for each component one array of several elements' arrays, as they are or padded
to one shape. Invariant: a batch is new memory, which nobody else holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.errors import DataLossError, InvalidArgumentError
from flowc.ir.host_run import HostRun, scalar_of, vector_of
from flowc.ir.text.shape_text import shown_dims
from flowc.ops.datasets.dataset import (
    UNKNOWN,
    Array,
    Element,
    HostDataset,
    Items,
    IterationContext,
    OneByOne,
    gathered,
    held,
    one,
    the_value,
)
from flowc.ops.datasets.mapped import batched
from flowc.ops.datasets.records import METADATA, STATED, Given, define_dataset


class Batch(HostDataset):
    def __init__(self, source: HostDataset, size: int, drops_rest: bool) -> None:
        if size <= 0:
            raise InvalidArgumentError("Batch size must be greater than zero.")
        self._source, self._size, self._drops_rest = source, size, drops_rest

    @property
    def cardinality(self) -> int:
        count = self._source.cardinality
        if count < 0:
            return count
        return count // self._size if self._drops_rest else -(-count // self._size)

    def items(self, context: IterationContext) -> Items:
        items = self._source.items(context)
        rows = self._source.rows
        join = batched if rows is None else rows.stacked
        return _Batches(items, self._size, self._drops_rest, join)


class _Batches(OneByOne):
    where = ("_items",)

    def __init__(self, items: Items, size: int, drops_rest: bool, join: Any) -> None:
        self._items, self._size, self._drops_rest, self._join = items, size, drops_rest, join

    def next(self, run: HostRun) -> Element | None:
        if self._join is batched:
            stacked = self._items.stacked(self._size, run)
            if stacked:
                is_whole = len(stacked[0]) == self._size
                return stacked if is_whole or not self._drops_rest else None
        found = gathered(self._items, self._size, run)
        if not found or (self._drops_rest and len(found) < self._size):
            return None
        return self._join(found)


def _batch(given: Given) -> HostDataset:
    drops_rest = given.flag("drop_remainder")
    return Batch(given.dataset, given.number("batch_size"), drops_rest)


# -- padded


class _PaddedBatch(Batch):
    def __init__(self, given: Given, drops_rest: bool) -> None:
        super().__init__(given.dataset, given.number("batch_size"), drops_rest)
        self._shapes = [vector_of(s, "padded_shapes") for s in given["padded_shapes"]]
        self._values = [scalar_of(value, "a padding value") for value in given["padding_values"]]
        for shape in self._shapes:
            if any(size < -1 for size in shape):
                raise InvalidArgumentError("padded_shapes must be vectors of sizes, or -1")

    def items(self, context: IterationContext) -> Items:
        return _Batches(self._source.elements(context), self._size, self._drops_rest, self._padded)

    def _padded(self, elements: Sequence[Element]) -> Element:
        count = len(elements[0])
        if not count == len(self._shapes) == len(self._values):
            raise InvalidArgumentError(
                f"elements of {count} components, {len(self._shapes)} padded shapes and "
                f"{len(self._values)} padding values"
            )
        columns = zip(*elements)
        return tuple([self._column(k, arrays) for k, arrays in enumerate(columns)])

    def _column(self, component: int, arrays: Sequence[Array]) -> Array:
        wanted = self._shapes[component]
        for array in arrays:
            if array.ndim != len(wanted):
                raise InvalidArgumentError(
                    "All elements in a batch must have the same rank as the padded shape for "
                    f"component{component}: expected rank {len(wanted)} but got element with rank "
                    f"{array.ndim}"
                )
        largest = [max(array.shape[i] for array in arrays) for i in range(len(wanted))]
        for array in arrays:
            for size, given in zip(wanted, array.shape):
                if -1 < size < given:
                    raise DataLossError(
                        "Attempted to pad to a smaller size than the input element."
                    )
        shape = [most if size == -1 else size for size, most in zip(wanted, largest)]
        padding = held(self._values[component])
        if padding.dtype != arrays[0].dtype:
            raise InvalidArgumentError(
                f"a padding value of {padding.dtype} is of no use for elements of {arrays[0].dtype}"
            )
        found = np.full((len(arrays), *shape), padding, padding.dtype)
        for k, array in enumerate(arrays):
            # The ellipsis: a scalar object would be stored with the array round it.
            found[(k, *map(slice, array.shape), ...)] = array
        return found


def _padded_batch(given: Given) -> HostDataset:
    drops_rest = given.flag("drop_remainder")
    return _PaddedBatch(given, drops_rest)


# -- sparse


class _SparseBatch(Batch):
    """Sparse tensors of elements of one component, each no larger than a row's shape."""

    def __init__(self, given: Given) -> None:
        super().__init__(given.dataset, given.number("batch_size"), False)
        self._row = given.numbers("row_shape")

    def items(self, context: IterationContext) -> Items:
        return _Batches(self._source.elements(context), self._size, False, self._sparse)

    def _sparse(self, elements: Sequence[Element]) -> Element:
        from flowc.ops.datasets.sparse_values import sparse_variant

        arrays = [the_value(element, "an element") for element in elements]
        for array in arrays:
            if array.ndim != len(self._row):
                raise InvalidArgumentError(
                    f"Input element had shape ({shown_dims(array.shape)}) that is incompatible "
                    f"with the row shape ({shown_dims(self._row)})."
                )
            if any(n > most != -1 for n, most in zip(array.shape, self._row)):
                raise DataLossError("Input element had shape that is larger than the row shape.")
        largest = [max(array.shape[i] for array in arrays) for i in range(len(self._row))]
        row = [most if size == -1 else size for size, most in zip(self._row, largest)]
        indices = [
            np.insert(np.indices(array.shape, np.int64).reshape(array.ndim, -1).T, 0, k, 1)
            for k, array in enumerate(arrays)
        ]
        values = np.concatenate([array.reshape(-1) for array in arrays])
        sizes = np.array([len(arrays), *row], np.int64)
        return (sparse_variant(np.concatenate(indices), values, sizes),)


# -- elements of batches


class _Unbatch(HostDataset):
    def __init__(self, source: HostDataset) -> None:
        self._source = source

    @property
    def cardinality(self) -> int:
        return self._source.cardinality if self._source.cardinality <= 0 else UNKNOWN

    def items(self, context: IterationContext) -> Items:
        return _Unbatched(self._source.elements(context))


class _Unbatched(OneByOne):
    where = ("_items", "_batch", "_at", "_count")

    def __init__(self, items: Items) -> None:
        self._items = items
        self._batch: Element = ()
        self._at = self._count = 0

    def next(self, run: HostRun) -> Element | None:
        while self._at >= self._count:
            found = one(self._items, run)
            if found is None:
                return None
            run.check()
            self._begin(found)
        self._at += 1
        return tuple([array[self._at - 1, ...] for array in self._batch])

    def _begin(self, element: Element) -> None:
        if any(array.ndim == 0 for array in element):
            raise InvalidArgumentError(
                "Input element must have a non-scalar value in each component."
            )
        counts = {len(array) for array in element}
        if len(counts) > 1:
            raise InvalidArgumentError(
                "Input element must have the same batch size in each component. "
                f"Component 0 had size {len(element[0])} but another component had size "
                f"{next(len(a) for a in element if len(a) != len(element[0]))}."
            )
        self._batch, self._at, self._count = element, 0, counts.pop()


_INPUT = "input_dataset: variant"
_BATCH = f"{_INPUT}, batch_size: i64"
_PADDED = (
    f"{_BATCH}, padded_shapes: N*i64, padding_values: Toutput_types",
    "Toutput_types: list(type) >= 1, output_shapes: list(shape) >= 1, N: int >= 1",
)

define_dataset(
    f"BatchDatasetV2({_BATCH}, drop_remainder: bool; parallel_copy: bool = False, {STATED},"
    f" {METADATA})",
    _batch,
    old=(
        f"BatchDataset({_BATCH}; {STATED}, {METADATA})",
        f"ParallelBatchDataset({_BATCH}, num_parallel_calls: i64, drop_remainder: bool;"
        f' parallel_copy: bool = False, {STATED}, deterministic: string = "default", {METADATA})',
    ),
)
define_dataset(
    f"PaddedBatchDatasetV2({_PADDED[0]}, drop_remainder: bool; parallel_copy: bool = False,"
    f" {_PADDED[1]}, {METADATA})",
    _padded_batch,
    old=(f"PaddedBatchDataset({_PADDED[0]}; {_PADDED[1]}, {METADATA})",),
)
define_dataset(
    f"DenseToSparseBatchDataset({_BATCH}, row_shape: i64; {STATED})",
    _SparseBatch,
    aliases=("ExperimentalDenseToSparseBatchDataset",),
)
define_dataset(
    f"UnbatchDataset({_INPUT}; {STATED}, {METADATA})",
    lambda n: _Unbatch(n.dataset),
    old=(f"ExperimentalUnbatchDataset({_INPUT}; {STATED})",),
)
