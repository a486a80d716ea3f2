"""Shuffled datasets, in TensorFlow's order for equal seeds.

In: items. Out: the same in another order: each is drawn from a buffer, in which the next item of
the input takes its place. Invariant: for seeds other than 0 and 0 the order is TensorFlow's. An
epoch of a repeated dataset has new seeds, which are the next two words of the node's own stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc.errors import InvalidArgumentError
from flowc.ir.host_run import HostRun
from flowc.ops.datasets.dataset import (
    HostDataset,
    Items,
    IterationContext,
    Kept,
    OneByOne,
    SameItems,
)
from flowc.ops.datasets.philox import chosen_seeds, random_words
from flowc.ops.datasets.records import METADATA, STATED, Given, define_dataset
from flowc.ops.datasets.selection import Repeat

Seeds = tuple[int, int]
CHUNK = 4096  # items that are read at once


class _Shuffle(SameItems):
    def __init__(self, source: HostDataset, size: int, seeds: Seeds, reshuffles: bool) -> None:
        super().__init__(source)
        if size == -2:  # all of it
            size = source.cardinality if source.cardinality >= 0 else 1 << 62
            size = max(size, 1)
        if size <= 0:
            raise InvalidArgumentError(
                "buffer_size must be greater than zero or UNKNOWN_CARDINALITY"
            )
        self._size, self._reshuffles = size, reshuffles
        self.go_to(seeds, 0)

    def go_to(self, seeds: Seeds, drawn: int) -> None:
        """Goes on from so many words of these seeds."""
        self.seeds, self.drawn = seeds, drawn
        self._words = random_words(*seeds, drawn)

    def items(self, context: IterationContext) -> Items:
        seeds = self.seeds
        if self._reshuffles:
            seeds = next(self._words), next(self._words)
            self.drawn += 2
        return _Shuffled(self, self.source.items(context), self._size, seeds)


class _Shuffled(OneByOne):
    """`_held` items of the buffer from `_start` on, round its end, wait to be drawn. Reads as many
    items at once as it gives."""

    where = ("_items", "_buffer", "_start", "_held", "_more", "_seeds", "_drawn")

    def __init__(self, dataset: _Shuffle, items: Items, size: int, seeds: Seeds) -> None:
        self._dataset, self._items, self._size = dataset, items, size
        self._seeds, self._drawn, self._words = seeds, 0, random_words(*seeds)
        self._buffer: list[Any] = []
        self._start = self._held = 0
        self._more = True
        self._kept = Kept("the buffer of a shuffled dataset")

    def position(self, run: HostRun) -> Any:
        return {**super().position(run), "epochs": (self._dataset.seeds, self._dataset.drawn)}

    def move(self, position: Any, run: HostRun) -> None:
        super().move(position, run)
        self._kept.add(self._buffer, run)
        self._words = random_words(*self._seeds, self._drawn)
        self._dataset.go_to(*position["epochs"])

    def next(self, run: HostRun) -> Any:
        self._fill(run)
        if not self._held:
            return None
        buffer, start = self._buffer, self._start
        at = (start + next(self._words) % self._held) % len(buffer)
        found = buffer[at]
        buffer[at] = buffer[start]
        self._drawn += 1
        self._start = (start + 1) % len(buffer)
        self._held -= 1
        return found

    def _fill(self, run: HostRun) -> None:
        while self._more and len(self._buffer) < self._size:
            run.check()
            room = min(self._size - len(self._buffer), CHUNK)
            news = self._items.take(room, run)
            self._more = bool(news)
            self._kept.add(news, run)
            self._buffer += news
            self._held += len(news)
        if self._more and self._held < self._size:
            news = self._items.take(1, run)
            self._more = bool(news)
            if news:
                self._buffer[(self._start + self._held) % self._size] = news[0]
                self._held += 1

    def take(self, count: int, run: HostRun) -> Sequence[Any]:
        self._fill(run)
        news = self._items.take(count, run) if self._more else ()
        found: list[Any] = []
        buffer, start, size = self._buffer, self._start, self._held
        for new, word in zip(news, self._words):
            at = start + word % size
            if at >= size:
                at -= size
            found.append(buffer[at])
            buffer[at] = buffer[start]
            buffer[start] = new
            start += 1
            if start == size:
                start = 0
        self._start = start
        self._drawn += len(found)
        if self._more and len(news) < count:
            self._more = bool(news)
        while len(found) < count and not self._more:
            item = self.next(run)
            if item is None:
                break
            found.append(item)
        return found


def _shuffle(given: Given) -> HostDataset:
    size = given.number("buffer_size")
    return _Shuffle(
        given.dataset, size, chosen_seeds(given), given.attrs["reshuffle_each_iteration"]
    )


def _shuffle_and_repeat(given: Given) -> HostDataset:
    return Repeat(_shuffle(given), given.number("count"))


_INPUT = "input_dataset: variant, buffer_size: i64"
_SEEDS = "seed: i64, seed2: i64"
_RESHUFFLE = "reshuffle_each_iteration: bool = True"

define_dataset(
    f"ShuffleDataset({_INPUT}, {_SEEDS}; {_RESHUFFLE}, {STATED}, {METADATA})",
    _shuffle,
    old=(
        f"ShuffleDatasetV3({_INPUT}, {_SEEDS}, seed_generator: resource; {_RESHUFFLE}, {STATED},"
        f" {METADATA})",
    ),
)
define_dataset(
    f"ShuffleAndRepeatDataset({_INPUT}, {_SEEDS}, count: i64; {STATED}, {_RESHUFFLE}, {METADATA})",
    _shuffle_and_repeat,
    old=(
        f"ShuffleAndRepeatDatasetV2({_INPUT}, {_SEEDS}, count: i64, seed_generator: resource;"
        f" {_RESHUFFLE}, {STATED}, {METADATA})",
    ),
)
