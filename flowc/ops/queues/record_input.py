"""RecordInput: batches of records that are drawn from the files of a pattern, epoch after epoch.

In: attrs. Out: a host step: strings. Invariants: each epoch gives every record once; at most
`file_buffer_size` are kept, and one file a shard is open; a fault of a file stays.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Generator, Sequence
from contextlib import closing
from itertools import count, islice
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import (
    DataLossError,
    FlowcError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)
from flowc.ir.capability import FILES
from flowc.ir.computation import Value
from flowc.ir.extraction import Extractor
from flowc.ir.host_run import HostRun
from flowc.ir.op import Attrs
from flowc.ops.queues.handles import Handle, define_step
from flowc.ops.records.files import matching_files
from flowc.ops.strings.string_values import strings_of
from flowc.records.byte_stream import PIECE, check_compression
from flowc.records.record_reader import RecordReader

Array = np.ndarray[Any, Any]
OF_FILES = (DataLossError, InvalidArgumentError, NotFoundError)
_TURN = 16  # records that are read of a shard before the next one's


class RecordInput:
    """The records of a node, in the order that its seed says: shards are read in turn and not by
    threads, so that it is the same in every Session (TensorFlow's depends on its threads)."""

    def __init__(self, settings: Attrs) -> None:
        self._pattern = str(settings["file_pattern"])
        self._shift = float(settings["file_shuffle_shift_ratio"])
        self._size = int(settings["file_buffer_size"])
        self._shards = int(settings["file_parallelism"])
        self._compression = check_compression(str(settings["compression_type"]))
        for name in ("file_parallelism", "file_buffer_size"):
            if settings[name] <= 0:
                raise InvalidArgumentError(f"{name} should be > 0, got {settings[name]}")
        self._seed = int(settings["file_random_seed"])
        self._draws = random.Random(self._seed)
        self._records = self._drawn()
        self._fault: FlowcError | None = None
        self._turn = threading.Condition()
        self._is_busy = False
        self._run = HostRun()

    def take(self, size: int, run: HostRun) -> list[bytes]:
        """The next records. Raises what a file raises, and again whenever it is asked. Behind a run
        that was cancelled or took too long, an epoch begins."""
        with self._turn:
            run.wait(self._turn, lambda: not self._is_busy)
            self._is_busy = True
        try:
            if self._fault is not None:
                raise self._fault
            self._run = run
            return list(islice(self._records, size))
        except BaseException as error:  # which ended the generator
            if isinstance(error, OF_FILES):
                self._fault = error
            else:  # the run's own end
                self._records = self._drawn()
            raise
        finally:
            with self._turn:
                self._is_busy = False
                self._turn.notify_all()

    def close(self) -> None:
        with self._turn:
            if not self._is_busy:  # else its run ends, and nothing holds the generator any more
                self._records.close()

    def _drawn(self) -> Generator[bytes]:
        """Draws records from a buffer that is filled first; the next record takes the place of
        each."""
        for epoch in count(1):
            with closing(self._epoch(epoch)) as records:
                first = next(records, None)
                if first is None:
                    raise InvalidArgumentError(
                        f"the files at {self._pattern} hold no record", hint="name others"
                    )
                kept, size = [first], len(first)
                for record in records:
                    size += len(record)
                    self._check(size)
                    if len(kept) < self._size:
                        kept.append(record)
                        continue
                    k = self._draws.randrange(len(kept))
                    kept[k], drawn = record, kept[k]
                    size -= len(drawn)
                    yield drawn
            self._draws.shuffle(kept)
            yield from kept

    def _check(self, size: int) -> None:
        if size > self._run.max_memory:
            raise ResourceExhaustedError(
                f"the records that are kept take {size} bytes, and a run may take "
                f"{self._run.max_memory} (max_memory)",
                hint="take a smaller file_buffer_size",
            )

    def _epoch(self, epoch: int) -> Generator[bytes]:
        """The records of all files, `_TURN` of each shard in turn."""
        names = [n for p in self._pattern.split(",") for n in matching_files([os.fsencode(p)])]
        if not names:
            raise NotFoundError(f"Found no files at {self._pattern}")
        random.Random(f"{self._seed} {epoch}").shuffle(names)
        if 0 <= self._shift < 1:
            start = int(self._shift * len(names))
            names = names[start:] + names[:start]
        streams = min(self._shards, len(names))
        shards = [self._shard(names[k::streams]) for k in range(streams)]
        try:
            while shards:
                for shard in [*shards]:
                    self._run.check()
                    found = list(islice(shard, _TURN))
                    yield from found
                    if len(found) < _TURN:
                        shards.remove(shard)
        finally:
            for shard in shards:
                shard.close()

    def _shard(self, names: Sequence[bytes]) -> Generator[bytes]:
        for name in names:
            with self._reader(name) as reader:
                yield from reader

    def _reader(self, name: bytes) -> RecordReader:
        try:
            return RecordReader(name, self._compression, PIECE, self._run.max_memory)
        except FlowcError as error:
            raise InvalidArgumentError(f"Can't open {os.fsdecode(name)}", hint=str(error)) from None


def _take(
    inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun, name: str, **settings: Any
) -> list[Array]:
    size = int(settings["batch_size"])
    if size < 0:
        raise InvalidArgumentError(f"batch_size should be >= 0, got {size}")
    found = run.states.find(f"record input {name}", RecordInput, lambda: RecordInput(settings))
    return [strings_of(found.take(size, run), (size,))]


def _batch(x: Extractor, handle: Handle, values: Sequence[Value], attrs: Attrs) -> Any:
    return [(max(0, int(attrs["batch_size"])),)]


_SETTINGS = (
    "file_pattern",
    "file_random_seed",
    "file_shuffle_shift_ratio",
    "file_buffer_size",
    "file_parallelism",
    "batch_size",
    "compression_type",
)
define_step(
    "record_input",
    "RecordInput(; file_pattern: string, file_random_seed: int = 301,"
    " file_shuffle_shift_ratio: float = 0, file_buffer_size: int = 10000,"
    ' file_parallelism: int = 16, batch_size: int = 32, compression_type: string = "")'
    " -> records: string",
    _take,
    _batch,
    (*_SETTINGS, "name"),
    forms={"": "RecordInput"},
    capability=FILES,
)
