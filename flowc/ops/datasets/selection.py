"""Datasets of some elements of others, in their order: take, skip, repeat, shard, cache,
and what changes nothing.

In: datasets. Out: datasets, whose items are those of the input wherever these are rows.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from flowc.errors import (
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
)
from flowc.ir.capability import FILES
from flowc.ir.host_run import HostRun
from flowc.ops.datasets.dataset import (
    INFINITE,
    UNKNOWN,
    Element,
    HostDataset,
    Items,
    IterationContext,
    Kept,
    Listed,
    OneByOne,
    SameItems,
    gathered,
    kept,
    moved,
    one,
    position_within,
)
from flowc.ops.datasets.records import METADATA, STATED, Given, define_dataset

CHUNK = 256  # items that are dropped at once


class _OfCount(SameItems):
    def __init__(self, source: HostDataset, count: int) -> None:
        super().__init__(source)
        self._count = count


class _Take(_OfCount):
    @property
    def cardinality(self) -> int:
        held = self.source.cardinality
        if self._count < 0:
            return held
        if held == INFINITE:
            return self._count
        return UNKNOWN if held == UNKNOWN else min(held, self._count)

    def items(self, context: IterationContext) -> Items:
        items = self.source.items(context)
        return items if self._count < 0 else _Taken(items, self._count)


class _Taken(Items):
    where = ("_items", "_left")

    def __init__(self, items: Items, count: int) -> None:
        self._items, self._left = items, count

    def take(self, count: int, run: HostRun) -> Sequence[Any]:
        found = self._items.take(min(count, self._left), run) if self._left else ()
        self._left -= len(found)
        return found


class _Skip(_OfCount):
    @property
    def cardinality(self) -> int:
        held = self.source.cardinality
        if held in (INFINITE, UNKNOWN) and self._count >= 0:
            return held
        return max(0, held - self._count) if self._count >= 0 else 0

    def items(self, context: IterationContext) -> Items:
        return _Skipped(self.source.items(context), self._count)


class _Skipped(Items):
    """A count below 0 skips all."""

    where = ("_items", "_left")

    def __init__(self, items: Items, count: int) -> None:
        self._items, self._left = items, count

    def take(self, count: int, run: HostRun) -> Sequence[Any]:
        while self._left:
            run.check()
            wanted = CHUNK if self._left < 0 else min(CHUNK, self._left)
            found = len(self._items.take(wanted, run))
            if not found:
                self._left = 0
            elif self._left > 0:
                self._left -= found
        return self._items.take(count, run)


class Repeat(_OfCount):
    @property
    def cardinality(self) -> int:
        held = self.source.cardinality
        if self._count < 0:
            return 0 if held == 0 else INFINITE
        if self._count == 0:
            return 0
        return held if held < 0 else held * self._count

    def items(self, context: IterationContext) -> Items:
        return _Repeated(self.source, self._count, context)


class _Repeated(Items):
    """A count below 0 repeats until an epoch has nothing."""

    where = ("_left", "_items", "_is_new")

    def __init__(self, source: HostDataset, count: int, context: IterationContext) -> None:
        self._source, self._left, self._context = source, count, context
        self._items: Items | None = None
        self._is_new = True

    def _begin(self) -> Items:
        self._items = items = self._source.items(self._context)
        self._is_new = True
        return items

    def move(self, position: Any, run: HostRun) -> None:
        if position["_items"] is not None:
            self._begin()
        super().move(position, run)

    def take(self, count: int, run: HostRun) -> Sequence[Any]:
        while self._left:
            items = self._items or self._begin()
            found = items.take(count, run)
            if found:
                self._is_new = False
                return found
            run.check()
            self._items = None
            if self._left > 0:
                self._left -= 1
            elif self._is_new:
                self._left = 0
        return ()


class _Shard(SameItems):
    def __init__(self, source: HostDataset, count: int, index: int, is_needed: bool) -> None:
        super().__init__(source)
        if count <= 0:
            raise InvalidArgumentError(
                f"Number of shards must be greater than zero (currently num_shards = {count})."
            )
        if not 0 <= index < count:
            raise InvalidArgumentError(
                f"Index must be between 0 and {count - 1} (currently index = {index})."
            )
        self._count, self._index, self._is_needed = count, index, is_needed

    @property
    def cardinality(self) -> int:
        held = self.source.cardinality
        return held if held < 0 else max(0, -((self._index - held) // self._count))

    def items(self, context: IterationContext) -> Items:
        items = self.source.items(context)
        return _Sharded(items, self._count, self._index, self._is_needed)


class _Sharded(OneByOne):
    where = ("_items", "_is_needed")

    def __init__(self, items: Items, count: int, index: int, is_needed: bool) -> None:
        self._items, self._count, self._index = items, count, index
        self._is_needed = is_needed

    def next(self, run: HostRun) -> Any:
        found: Any = None
        passed = 0
        while passed < self._count:
            run.check()
            group = self._items.take(min(self._count - passed, CHUNK), run)
            if not group:
                break
            if 0 <= self._index - passed < len(group):
                found = group[self._index - passed]
            passed += len(group)
        if self._is_needed and passed < self._count:
            raise InvalidArgumentError(
                "Could not apply FILE based sharding: the dataset only has "
                f"{passed} file(s), which is not enough for the required {self._count} "
                "shards/workers."
            )
        self._is_needed = False
        return found


class _Cache(SameItems):
    """Keeps what the first one found who went to the end."""

    def __init__(self, source: HostDataset) -> None:
        super().__init__(source)
        self.held: list[Any] | None = None

    def items(self, context: IterationContext) -> Items:
        return _Cached(self, self.source, context)


class _Cached(Items):
    """What was kept when it began, from `_listed` on; else it keeps what it finds."""

    def __init__(self, cache: _Cache, source: HostDataset, context: IterationContext) -> None:
        self._cache = cache
        self._listed = None if cache.held is None else Listed(cache.held)
        self._items = source.items(context) if cache.held is None else None
        self._source, self._context = source, context
        self._found: list[Any] = []
        self._kept = Kept("what a dataset caches")

    def position(self, run: HostRun) -> Any:
        return {
            "held": self._cache.held,
            "found": self._found,
            "listed": position_within(self._listed, run),
            "items": position_within(self._items, run),
        }

    def move(self, position: Any, run: HostRun) -> None:
        held, self._found = position["held"], position["found"]
        self._kept.add(self._found if held is None else held, run)
        self._cache.held = held
        listed = Listed(held or ()) if position["listed"] is not None else None
        items = self._source.items(self._context) if position["items"] is not None else None
        self._listed = moved(listed, position["listed"], run)
        self._items = moved(items, position["items"], run)

    def take(self, count: int, run: HostRun) -> Sequence[Any]:
        if self._listed is not None:
            return self._listed.take(count, run)
        assert self._items is not None
        found = self._items.take(count, run)
        if self._cache.rows is None:
            found = [tuple([kept(array) for array in element]) for element in found]
        self._kept.add(found, run)
        self._found += found
        if not found:
            self._cache.held = self._found
        return found


def _cache(given: Given) -> HostDataset:
    from flowc.ops.datasets.cache_files import CacheFile

    path = given.text("filename")
    return CacheFile(given.dataset, path, given.types) if path else _Cache(given.dataset)


class _AssertCardinality(_OfCount):
    @property
    def cardinality(self) -> int:
        return self._count

    def items(self, context: IterationContext) -> Items:
        return _Counted(self.source.items(context), self._count)


class _Counted(Items):
    where = ("_items", "_found")

    def __init__(self, items: Items, count: int) -> None:
        self._items, self._count, self._found = items, count, 0

    def take(self, count: int, run: HostRun) -> Sequence[Any]:
        found = self._items.take(count, run)
        self._found += len(found)
        wanted = self._count
        if wanted == UNKNOWN or self._found == wanted or (found and self._found < wanted):
            return found
        if wanted == INFINITE and found:
            return found
        expected = "an infinite number of elements" if wanted == INFINITE else f"{wanted} elements"
        verb = "but contained only" if not found else "but contained at least"
        raise FailedPreconditionError(
            f"Input dataset was expected to contain {expected} {verb} {self._found} elements."
        )


class _IgnoreErrors(SameItems):
    @property
    def cardinality(self) -> int:
        return UNKNOWN

    def items(self, context: IterationContext) -> Items:
        return _Undisturbed(self.source.items(context))


class _Undisturbed(OneByOne):
    where = ("_items",)

    def __init__(self, items: Items) -> None:
        self._items = items

    def next(self, run: HostRun) -> Any:
        while True:
            try:
                return one(self._items, run)
            except (CancelledError, DeadlineExceededError):
                raise
            except OpError:
                run.check()


class _Sleep(SameItems):
    def __init__(self, source: HostDataset, microseconds: int) -> None:
        super().__init__(source)
        self._seconds = microseconds / 1e6

    def items(self, context: IterationContext) -> Items:
        return _Slow(self.source.items(context), self._seconds)


class _Slow(OneByOne):
    where = ("_items",)

    def __init__(self, items: Items, seconds: float) -> None:
        self._items, self._seconds = items, seconds

    def next(self, run: HostRun) -> Any:
        end, changed = time.monotonic() + self._seconds, threading.Condition()
        with changed:
            while (left := end - time.monotonic()) > 0:
                run.check()
                changed.wait(min(left, 0.1))
        return one(self._items, run)


def the_only(dataset: HostDataset, run: HostRun) -> Element:
    """The element of a dataset of one. Raises `InvalidArgumentError` for none or several."""
    context = IterationContext(run)
    try:
        found = gathered(dataset.elements(context), 2, run)
    finally:
        context.close()
    if len(found) != 1:
        what = "Dataset was empty." if not found else "Dataset had more than one element."
        raise InvalidArgumentError(what)
    return found[0]


_INPUT = "input_dataset: variant"

define_dataset(
    f"TakeDataset({_INPUT}, count: i64; {STATED}, {METADATA})",
    lambda n: _Take(n.dataset, n.number("count")),
)
define_dataset(
    f"SkipDataset({_INPUT}, count: i64; {STATED}, {METADATA})",
    lambda n: _Skip(n.dataset, n.number("count")),
)
define_dataset(
    f"RepeatDataset({_INPUT}, count: i64; {STATED}, {METADATA})",
    lambda n: Repeat(n.dataset, n.number("count")),
)
define_dataset(
    f"ShardDataset({_INPUT}, num_shards: i64, index: i64; require_non_empty: bool = False,"
    f" {STATED}, {METADATA})",
    lambda n: _Shard(
        n.dataset, n.number("num_shards"), n.number("index"), n.attrs["require_non_empty"]
    ),
)
define_dataset(
    f"CacheDataset({_INPUT}, filename: string; {STATED}, {METADATA})",
    _cache,
    FILES,
    old=(f"CacheDatasetV2({_INPUT}, filename: string, cache: resource; {STATED}, {METADATA})",),
)
define_dataset(
    f"AssertCardinalityDataset({_INPUT}, cardinality: i64; {STATED})",
    lambda n: _AssertCardinality(n.dataset, n.number("cardinality")),
)
define_dataset(
    f"IgnoreErrorsDataset({_INPUT}; {STATED}, log_warning: bool = False)",
    lambda n: _IgnoreErrors(n.dataset),
    aliases=("ExperimentalIgnoreErrorsDataset",),
)
define_dataset(
    f"SleepDataset({_INPUT}, sleep_microseconds: i64; {STATED})",
    lambda n: _Sleep(n.dataset, n.number("sleep_microseconds")),
    aliases=("ExperimentalSleepDataset",),
)


# What TensorFlow optimises or measures, and what is there for its own sake: the input as it is.
for _signature, _aliases in (
    (f"OptionsDataset({_INPUT}; serialized_options: string, {STATED}, {METADATA})", ()),
    (
        f"ModelDataset({_INPUT}; algorithm: int = 0, cpu_budget: int = 0, ram_budget: int = 0,"
        f" {STATED})",
        (),
    ),
    (
        f"OptimizeDataset({_INPUT}, optimizations: string; {STATED},"
        " optimization_configs: list(string) = [])",
        (),
    ),
    (
        f"OptimizeDatasetV2({_INPUT}, optimizations_enabled: string,"
        f" optimizations_disabled: string, optimizations_default: string; {STATED},"
        " optimization_configs: list(string) = [])",
        (),
    ),
    (f"RewriteDataset({_INPUT}, rewrite_name: string; {STATED})", ()),
    (
        f"AssertNextDataset({_INPUT}, transformations: string; {STATED})",
        ("ExperimentalAssertNextDataset",),
    ),
    (f"NonSerializableDataset({_INPUT}; {STATED})", ("ExperimentalNonSerializableDataset",)),
    (
        f"MaxIntraOpParallelismDataset({_INPUT}, max_intra_op_parallelism: i64; {STATED})",
        ("ExperimentalMaxIntraOpParallelismDataset",),
    ),
    (
        f"PrivateThreadPoolDataset({_INPUT}, num_threads: i64; {STATED})",
        ("ExperimentalPrivateThreadPoolDataset",),
    ),
    (f"LatencyStatsDataset({_INPUT}, tag: string; {STATED})", ("ExperimentalLatencyStatsDataset",)),
    (
        f"BytesProducedStatsDataset({_INPUT}, tag: string; {STATED})",
        ("ExperimentalBytesProducedStatsDataset",),
    ),
):
    define_dataset(_signature, lambda n: SameItems(n.dataset), aliases=_aliases)
