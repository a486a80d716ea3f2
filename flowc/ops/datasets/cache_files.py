"""Datasets that are kept in files: what one iterator found is there for the next program.

In: elements, the name of a file. Out: the same elements, from the file once it is there.
Invariant: the file is there whole or not at all. It is a checkpoint: a tensor for each component of
each element, named by their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc.dtypes import DType, as_dtype
from flowc.errors import NotFoundError
from flowc.ir.host_run import HostRun
from flowc.ops.datasets.dataset import (
    Element,
    HostDataset,
    Items,
    IterationContext,
    Kept,
    OneByOne,
    SameItems,
    kept,
    moved,
    position_within,
)


def _name(element: int, component: int) -> str:
    return f"{element:09d}_{component:06d}"


class CacheFile(SameItems):
    def __init__(self, source: HostDataset, path: str, types: Sequence[DType]) -> None:
        super().__init__(source)
        self.rows = None
        self.path, self._types = path, types

    def items(self, context: IterationContext) -> Items:
        return _FileCached(self, context)

    def reading(self) -> Items:
        from flowc.checkpoint.reader import open_checkpoint

        return _Reading(open_checkpoint(self.path), len(self._types))

    def writing(self, context: IterationContext) -> Items:
        return _Writing(self.source.elements(context), self.path)


class _FileCached(Items):
    """From the file, if it was there when this began."""

    def __init__(self, cache: CacheFile, context: IterationContext) -> None:
        self._cache, self._context = cache, context
        try:
            self._items = cache.reading()
        except NotFoundError:
            self._items = cache.writing(context)

    def position(self, run: HostRun) -> Any:
        is_writing = isinstance(self._items, _Writing)
        return {"is_writing": is_writing, "items": position_within(self._items, run)}

    def move(self, position: Any, run: HostRun) -> None:
        cache = self._cache
        items = cache.writing(self._context) if position["is_writing"] else cache.reading()
        self._items = moved(items, position["items"], run)

    def take(self, count: int, run: HostRun) -> Sequence[Any]:
        return self._items.take(count, run)


class _Writing(Items):
    where = ("_items", "_found", "_is_written")

    def __init__(self, items: Items, path: str) -> None:
        self._items, self._path = items, path
        self._found: list[Element] = []
        self._kept = Kept("what a dataset caches")
        self._is_written = False

    def take(self, count: int, run: HostRun) -> Sequence[Any]:
        found = [tuple([kept(array) for array in e]) for e in self._items.take(count, run)]
        self._kept.add(found, run)
        self._found += found
        if not found and not self._is_written:
            self._write()
        return found

    def _write(self) -> None:
        from flowc.checkpoint.bundle_writer import SavedTensor, write_bundle

        self._is_written = True
        tensors = [
            SavedTensor(_name(k, c), array, as_dtype(array.dtype))
            for k, element in enumerate(self._found)
            for c, array in enumerate(element)
        ]
        write_bundle(self._path, tensors)


class _Reading(OneByOne):
    where = ("_at",)

    def __init__(self, reader: Any, components: int) -> None:
        self._reader, self._components = reader, components
        self._at = 0

    def next(self, run: HostRun) -> Element | None:
        names = [_name(self._at, c) for c in range(self._components)]
        if names[0] not in self._reader:
            return None
        self._at += 1
        return tuple([self._reader.read(name) for name in names])
