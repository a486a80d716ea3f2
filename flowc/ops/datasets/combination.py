"""Datasets of the elements of several others: one after another, or side by side.

In: datasets. Out: datasets. Invariant: side by side they stay rows where all of them are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc.ir.host_run import HostRun
from flowc.ops.datasets.dataset import (
    INFINITE,
    UNKNOWN,
    Element,
    HostDataset,
    Items,
    IterationContext,
    OneByOne,
    Rows,
    dataset_of,
    one,
)
from flowc.ops.datasets.records import METADATA, STATED, define_dataset


class _Concatenate(HostDataset):
    def __init__(self, first: HostDataset, second: HostDataset) -> None:
        self._parts = first, second

    @property
    def cardinality(self) -> int:
        counts = [part.cardinality for part in self._parts]
        for special in (INFINITE, UNKNOWN):
            if special in counts:
                return special
        return sum(counts)

    def items(self, context: IterationContext) -> Items:
        return _Concatenated([part.elements(context) for part in self._parts])


class _Concatenated(Items):
    where = ("_parts", "_at")

    def __init__(self, parts: list[Items]) -> None:
        self._parts, self._at = parts, 0

    def take(self, count: int, run: HostRun) -> Sequence[Any]:
        while self._at < len(self._parts):
            found = self._parts[self._at].take(count, run)
            if found:
                return found
            self._at += 1
        return ()


class _ZippedRows(Rows):
    def __init__(self, parts: Sequence[Rows]) -> None:
        self._parts = parts
        self.are_at_hand = all(part.are_at_hand for part in parts)

    def element(self, item: Any) -> Element:
        return tuple(
            [array for part, number in zip(self._parts, item) for array in part.element(number)]
        )

    def stacked(self, items: Sequence[Any]) -> Element:
        found = [part.stacked(numbers) for part, numbers in zip(self._parts, zip(*items))]
        return tuple([array for arrays in found for array in arrays])


class _Zip(HostDataset):
    def __init__(self, parts: Sequence[HostDataset]) -> None:
        self._parts = parts
        rows = [part.rows for part in parts if part.rows is not None]
        self.rows = _ZippedRows(rows) if len(rows) == len(parts) else None

    @property
    def cardinality(self) -> int:
        counts = [c for part in self._parts if (c := part.cardinality) != INFINITE]
        if not counts:
            return INFINITE
        return UNKNOWN if UNKNOWN in counts else min(counts)

    def items(self, context: IterationContext) -> Items:
        if self.rows is not None:
            return _Zipped([part.items(context) for part in self._parts], tuple)
        return _Zipped([part.elements(context) for part in self._parts], _joined)


def _joined(elements: Sequence[Element]) -> Element:
    return tuple([array for element in elements for array in element])


class _Zipped(OneByOne):
    where = ("_parts", "_ended")

    def __init__(self, parts: list[Items], join: Any) -> None:
        self._parts, self._join = parts, join
        self._ended = False

    def next(self, run: HostRun) -> Any:
        found: list[Any] = []
        for part in self._parts if not self._ended else ():
            item = one(part, run)
            if item is None:
                self._ended = True
                return None
            found.append(item)
        return self._join(found) if found else None


define_dataset(
    f"ConcatenateDataset(input_dataset: variant, another_dataset: variant; {STATED}, {METADATA})",
    lambda n: _Concatenate(n.dataset, dataset_of(n["another_dataset"])),
)
define_dataset(
    f"ZipDataset(input_datasets: N*variant; {STATED}, N: int >= 1, {METADATA})",
    lambda n: _Zip([dataset_of(part) for part in n["input_datasets"]]),
)
