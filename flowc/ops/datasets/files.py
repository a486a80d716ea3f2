"""Datasets of what files hold: lines, TFRecords, records of a fixed length.

In: names of files, and how they are compressed. Out: a string for each record, file after file.
Invariant: one file is open at a time, and closed at its end or with the iterator.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from flowc.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
)
from flowc.ir.capability import FILES
from flowc.ir.host_run import HostRun, held
from flowc.ops.datasets.dataset import Element, HostDataset, Items, IterationContext, Rows
from flowc.ops.datasets.record_scan import sound_records
from flowc.ops.datasets.records import METADATA, Given, define_dataset
from flowc.ops.records.files import matching_files
from flowc.ops.strings.string_values import strings_of
from flowc.records.byte_stream import PIECE, ByteStream, Mark, check_compression
from flowc.records.lines import lines_of
from flowc.records.record_reader import RecordReader

Read = Callable[[str, HostRun, Mark], Iterator[Any]]  # the records of a file behind a mark
UNREADABLE = (NotFoundError, FailedPreconditionError, PermissionDeniedError)


class Strings(Rows):
    """Items that are strings, each an element."""

    are_at_hand = False

    def element(self, item: bytes) -> Element:
        return (held(item),)

    def elements(self, items: Sequence[bytes]) -> Sequence[Element]:
        array = strings_of(items, (len(items),))
        return [(array[k, ...],) for k in range(len(items))]

    def stacked(self, items: Sequence[bytes]) -> Element:
        return (strings_of(items, (len(items),)),)


class FileItems(Items):
    """Records of files, one after the other, as strings. `_passed`: how many of the file that is
    open were given."""

    def __init__(self, names: Sequence[str], read: Read, context: IterationContext) -> None:
        self._names, self._read, self._context = list(names), read, context
        self._open: Iterator[Any] | None = None
        self._name, self._passed, self._mark = "", 0, Mark()
        self._ahead: Exception | None = None  # what is wrong with the next record
        context.closing(self, self._close)

    def position(self, run: HostRun) -> Any:
        name = None if self._open is None else self._name
        mark = [self._mark.records, self._mark.offset]
        at = {"name": name, "passed": self._passed, "mark": mark}
        return {"names": self._names, "ahead": self._ahead, **at}

    def move(self, position: Any, run: HostRun) -> None:
        """Reads the file again: behind its mark, up to the record behind which it is."""
        self._names, self._passed = position["names"], position["passed"]
        self._ahead = position["ahead"]
        if self._ahead is not None:
            self._name, self._open = position["name"], _failing(self._ahead)
        elif position["name"] is not None:
            mark = _mark_before(self._passed, position["mark"])
            skipped = self._passed - mark.records
            self._begin(position["name"], mark)
            assert self._open is not None
            for _ in islice(self._open, skipped):
                run.check()

    def _begin(self, name: str, mark: Mark) -> None:
        self._name, self._mark = name, mark
        self._open = self._read(name, self._context.run, mark)

    def take(self, count: int, run: HostRun) -> Sequence[Any]:
        found: list[Any] = []  # as far as it came, also where the file has a fault
        while len(found) < count:
            if self._open is None:
                if not self._names:
                    self._context.closed(self)
                    break
                self._begin(self._names.pop(0), Mark())
                self._passed = 0
            assert self._open is not None
            before = len(found)
            try:
                found.extend(islice(self._open, count - before))
                self._passed += len(found) - before
                if len(found) < count:
                    self._open = None
            except Exception as error:
                if found:
                    self._open, self._ahead = _failing(error), error
                    break
                self._open = self._ahead = None
                if isinstance(error, UNREADABLE):
                    self._names.insert(0, self._name)  # it may be there the next time
                raise
        return found

    def _close(self) -> None:
        if isinstance(self._open, Generator):
            self._open.close()


def _mark_before(passed: int, found: Any) -> Mark:
    """What a checkpoint says. Raises `InvalidArgumentError`."""
    match found:
        case [int(records), int(offset)] if 0 <= records <= passed and 0 <= offset < 1 << 63:
            return Mark(records, offset)
        case _:
            message = f"{found} is no place in a file at or before record {passed}"
            raise InvalidArgumentError(message)


def _failing(error: Exception) -> Iterator[Any]:
    raise error
    yield


class FileDataset(HostDataset):
    """`names` of files, which `read` reads."""

    rows = Strings()

    def __init__(self, given: Given) -> None:
        self.names = [os.fsdecode(n) for n in np.asarray(given["filenames"], object).reshape(-1)]
        self.compression = "" if "compression_type" not in given else given.text("compression_type")
        check_compression(self.compression)
        size = given.number("buffer_size")
        if size < 0:
            raise InvalidArgumentError("`buffer_size` must be >= 0 (0 == default)")

    @abstractmethod
    def read(self, name: str, run: HostRun, mark: Mark) -> Iterator[Any]: ...

    def items(self, context: IterationContext) -> Items:
        return FileItems(self.names, self.read, context)

    def stream(self, name: str, run: HostRun) -> ByteStream:
        return ByteStream(name, self.compression, PIECE, run.max_memory)


class _TextLines(FileDataset):
    def read(self, name: str, run: HostRun, mark: Mark) -> Iterator[bytes]:
        with self.stream(name, run) as stream:
            for line in lines_of(stream, mark):
                yield line.replace(b"\r", b"")  # wherever they are, as TensorFlow does


class _Records(FileDataset):
    def __init__(self, given: Given) -> None:
        super().__init__(given)
        offsets = given.numbers("byte_offsets") if "byte_offsets" in given else []
        if len(offsets) not in (0, len(self.names)):
            raise InvalidArgumentError(
                f"The number of byte offsets provided ({len(offsets)}) must match the number of "
                f"filenames provided ({len(self.names)})."
            )
        self._offsets = {n: int(at) for n, at in zip(self.names, offsets)}

    def read(self, name: str, run: HostRun, mark: Mark) -> Iterator[bytes]:
        scan = partial(sound_records, run)
        with RecordReader(name, self.compression, PIECE, run.max_memory, scan) as reader:
            if self._offsets.get(name):
                reader.seek(self._offsets[name])
            yield from reader.marked(mark)


class _FixedLength(FileDataset):
    def __init__(self, given: Given) -> None:
        super().__init__(given)
        parts = ("header_bytes", "record_bytes", "footer_bytes")
        self._header, self._record, self._footer = (given.number(part) for part in parts)
        if self._header < 0 or self._footer < 0:
            raise InvalidArgumentError("`header_bytes` and `footer_bytes` must be >= 0")
        if self._record <= 0:
            raise InvalidArgumentError("`record_bytes` must be > 0")

    def read(self, name: str, run: HostRun, mark: Mark) -> Iterator[bytes]:
        with self.stream(name, run) as stream:
            if not self.compression:
                self._check(name, os.path.getsize(name))
            gathered: list[bytes] = []
            size = skipped = total = 0
            if mark.offset:
                stream.seek(mark.offset)
                skipped = self._header
            while piece := stream.more():
                total += len(piece)
                dropped = min(self._header - skipped, len(piece))
                skipped += dropped
                gathered.append(piece[dropped:])
                size += len(gathered[-1])
                if size < self._record + self._footer:
                    stream.check(size)
                    continue
                data = b"".join(gathered)
                count = (size - self._footer) // self._record
                for k in range(count):
                    yield data[k * self._record : (k + 1) * self._record]
                gathered = [data[count * self._record :]]
                size = len(gathered[0])
                if not self.compression:
                    mark.records += count
                    mark.offset = self._header + mark.records * self._record
            if self.compression:
                self._check(name, total)

    def _check(self, name: str, size: int) -> None:
        body = size - self._header - self._footer
        if body % self._record:
            kind = DataLossError if self.compression else InvalidArgumentError
            raise kind(
                f"Excluding the header ({self._header} bytes) and footer ({self._footer} bytes), "
                f'input file "{name}" has body length {body} bytes, which is not an exact multiple '
                f"of the record length ({self._record} bytes)."
            )


class _MatchingFiles(HostDataset):
    rows = Strings()

    def __init__(self, given: Given) -> None:
        patterns = np.asarray(given["patterns"], object).reshape(-1)
        self._names = matching_files(patterns.tolist())

    @property
    def cardinality(self) -> int:
        return len(self._names)

    def items(self, context: IterationContext) -> Items:
        return FileItems([""], lambda *_: iter(self._names), context)


_FILES = "filenames: string"
_FIXED = f"{_FILES}, header_bytes: i64, record_bytes: i64, footer_bytes: i64, buffer_size: i64"

define_dataset(
    f"TextLineDataset({_FILES}, compression_type: string, buffer_size: i64; {METADATA})",
    _TextLines,
    FILES,
)
define_dataset(
    f"TFRecordDataset({_FILES}, compression_type: string, buffer_size: i64; {METADATA})",
    _Records,
    FILES,
    old=(
        f"TFRecordDatasetV2({_FILES}, compression_type: string, buffer_size: i64,"
        f" byte_offsets: i64; {METADATA})",
    ),
)
define_dataset(
    f"FixedLengthRecordDatasetV2({_FIXED}, compression_type: string; {METADATA})",
    _FixedLength,
    FILES,
    old=(f"FixedLengthRecordDataset({_FIXED}; {METADATA})",),
)
define_dataset(
    "MatchingFilesDataset(patterns: string)",
    _MatchingFiles,
    FILES,
    aliases=("ExperimentalMatchingFilesDataset",),
)
