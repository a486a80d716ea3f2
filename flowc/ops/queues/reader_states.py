"""The readers of a Session: records of the files whose names a queue gives.

In: names of files, from a queue. Out: (key, value) of one record after another. Invariants: one run
reads at a time, and others wait their turn; a file that cannot be opened is passed over once its
error was raised; memory is bounded, whatever the files hold; no file is open behind its last
record, nor once the Session is closed and the last reader has finished.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from itertools import dropwhile

from flowc.encoding.wire import BYTES, VARINT, FileBytes, fields, varint, varint_bytes
from flowc.errors import (
    CancelledError,
    InvalidArgumentError,
    InvalidModelError,
    OutOfRangeError,
    UnimplementedError,
)
from flowc.ir.host_run import HostRun
from flowc.ops.queues.handles import Handle
from flowc.records.byte_stream import PIECE, WINDOW_BITS, ByteStream
from flowc.records.lines import lines_of
from flowc.records.record_reader import RecordReader

Record = tuple[bytes, bytes]
NextWork = Callable[[], bytes]
Source = Callable[[], Record | None]  # the next record of a unit of work; None at its end


class Reader:
    """What all readers do with their turns and counts. `is_one_record`: a unit of work is one."""

    is_one_record = False

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.produced = 0
        self.completed = 0
        self._turn = threading.Condition()
        self._is_busy = self._is_closed = False
        self._started = 0
        self._work = b""
        self._source: Source | None = None
        self._file: ByteStream | RecordReader | None = None  # that the source reads, if it is open
        self._returned: deque[Record] = deque()
        self._most = 0  # bytes that a record may take, as the last run says

    def _open(self, work: bytes) -> Source:
        raise NotImplementedError

    @contextmanager
    def _in_turn(self, run: HostRun) -> Iterator[None]:
        with self._turn:
            run.wait(self._turn, lambda: not self._is_busy)
            self._is_busy = True
        self._most = run.max_memory
        try:
            yield
        finally:
            with self._turn:
                self._is_busy = False
                if self._is_closed:
                    self._leave()
                self._turn.notify_all()

    def _leave(self) -> None:
        """Reads no further in the unit of work. Who raised an error may hold the source still."""
        self._source = None
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def read(self, run: HostRun, next_work: NextWork) -> Record:
        """The next record. Raises what the queue and the file raise."""
        with self._in_turn(run):
            while True:
                found = self._next(next_work)
                if found is not None:
                    return found

    def read_up_to(self, run: HostRun, count: int, next_work: NextWork) -> list[Record]:
        """The next records, at most `count`; fewer at the end of a unit of work."""
        found: list[Record] = []
        with self._in_turn(run):
            while len(found) < count:
                record = self._next(next_work)
                if record is not None:
                    found.append(record)
                if self._source is None and found:
                    break
        return found

    def read_block(
        self, run: HostRun, count: int, size: int, next_work: NextWork
    ) -> tuple[list[Record], Exception | None]:
        """The next records as `read` gives them: at most `count`, no more once they take `size`
        bytes, none of another unit of work; and what reading the next one raised."""
        found: list[Record] = []
        with self._in_turn(run):
            while len(found) < count and size > 0:
                try:
                    record = self._next(next_work)
                except Exception as error:
                    if not found:
                        raise
                    return found, error
                if record is not None:
                    found.append(record)
                    size -= len(record[1])
                if self._source is None and found:
                    break
        return found, None

    def give_back(self, records: Collection[Record]) -> None:
        """Records of a block that are to be read again, before all others."""
        with self._turn:
            self._returned.extendleft(reversed([*records]))
            self.produced -= len(records)

    def _next(self, next_work: NextWork) -> Record | None:
        """A record; None where the unit of work had no more."""
        if self._returned:
            self.produced += 1
            return self._returned.popleft()
        source = self._source
        if source is None:
            self._work = next_work()
            try:
                source = self._source = self._open(self._work)
            except BaseException:
                self._leave()
                raise
            self._started += 1
        if self._is_closed:  # meanwhile
            raise CancelledError("the session was closed while a reader of it opened a file")
        found = source()
        if found is not None:
            self.produced += 1
        if found is None or self.is_one_record:
            self._leave()
            self.completed = self._started
        return found

    def reset(self, run: HostRun) -> None:
        with self._in_turn(run):
            self._started = self.completed = self.produced = 0
            self._work = b""
            self._leave()
            self._returned.clear()

    def close(self) -> None:
        with self._turn:
            self._is_closed = True
            if not self._is_busy:
                self._leave()

    # -- states, of readers that have no file open between two records

    def serialized(self, run: HostRun) -> bytes:
        """The state as a ReaderBaseState message. Raises `UnimplementedError`."""
        self._check_state("SerializeState")
        with self._in_turn(run):
            numbers = (self._started, self.completed, self.produced)
            found = [_field(k, VARINT) + varint_bytes(n) for k, n in enumerate(numbers, 1) if n]
            if self._work:
                found.append(_field(4, BYTES) + varint_bytes(len(self._work)) + self._work)
            return b"".join(found)

    def restore(self, run: HostRun, data: bytes) -> None:
        """Goes on from a state. Raises `InvalidArgumentError` for what is none."""
        self._check_state("RestoreState")
        numbers, work = [0, 0, 0], b""
        try:
            for number, kind, _, begin, end in fields(FileBytes(memoryview(data), "state")):
                if number == 4 and kind == BYTES:
                    work = data[begin:end]
                elif number < 4 and kind == VARINT:
                    numbers[number - 1] = varint(memoryview(data), begin)[0]
        except InvalidModelError:
            shown = "".join(chr(b) if 31 < b < 127 else f"\\{b:03o}" for b in data)
            text = f"Could not parse state for {self.handle.op} '{self.handle.node}': {shown}"
            raise InvalidArgumentError(text) from None
        with self._in_turn(run):
            self._started, self.completed, self.produced = numbers
            self._work = work
            self._source = None if self.completed >= self._started else self._open(work)

    def _check_state(self, what: str) -> None:
        if not self.is_one_record:
            raise UnimplementedError(f"Reader {what}")


def _field(number: int, kind: int) -> bytes:
    return varint_bytes(number << 3 | kind)


class NameReader(Reader):
    """Gives what the queue gives: keys and values are the same."""

    is_one_record = True

    def _open(self, work: bytes) -> Source:
        return lambda: (work, work)


class FileReader(Reader):
    """The name and the content of each file."""

    is_one_record = True

    def _open(self, work: bytes) -> Source:
        with ByteStream(work, most=self._most) as stream:
            pieces: list[bytes] = []
            while piece := stream.more():
                pieces.append(piece)
                stream.check(len(pieces) * PIECE)
        content = b"".join(pieces)
        return lambda: (work, content)


class LineReader(Reader):
    """The lines of files, without their ends. Keys: `file:line`, counted from 1."""

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._skipped = not_negative(handle, "skip_header_lines")

    def _open(self, work: bytes) -> Source:
        self._file = ByteStream(work, most=self._most)
        numbered = enumerate(lines_of(self._file), 1)
        lines = dropwhile(lambda found: found[0] <= self._skipped, numbered)

        def source() -> Record | None:
            number, line = next(lines, (0, b""))
            return (b"%s:%d" % (work, number), line.removesuffix(b"\r")) if number else None

        return source


class FixedLengthReader(Reader):
    """Records of `record_bytes`, each `hop_bytes` behind the one before (0: directly), between a
    header and a footer. Keys: `file:index`, counted from 0."""

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._header = not_negative(handle, "header_bytes")
        self._size = not_negative(handle, "record_bytes")
        self._footer = not_negative(handle, "footer_bytes")
        self._hop = not_negative(handle, "hop_bytes") or self._size
        if not self._hop:
            raise InvalidArgumentError("record_bytes must be > 0 where hop_bytes is 0")
        encoding = handle.attrs.get("encoding", "")
        self._compression = encoding if encoding in WINDOW_BITS else ""

    def _open(self, work: bytes) -> Source:
        self._file = ByteStream(work, self._compression, most=self._most)
        window = _ByteWindow(self._file)
        window.drop(self._header)
        if window.first(0, 0) is None:
            raise OutOfRangeError("reached end of file")
        index = 0

        def source() -> Record | None:
            nonlocal index
            if index:
                window.drop(self._hop)
            record = window.first(self._size, self._footer)
            if record is None:
                return None
            index += 1
            return b"%s:%d" % (work, index - 1), record

        return source


class _ByteWindow:
    """The bytes of a stream from a place on."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._bytes = b""
        self._at = 0
        self._to_drop = 0

    def drop(self, count: int) -> None:
        self._to_drop += count

    def first(self, count: int, behind: int) -> bytes | None:
        """The next `count` bytes; None where fewer than these and `behind` more are left."""
        while (missing := self._at + self._to_drop + count + behind - len(self._bytes)) > 0:
            if not self._fill(missing):
                return None
        self._at += self._to_drop
        self._to_drop = 0
        return self._bytes[self._at : self._at + count]

    def _fill(self, missing: int) -> bool:
        """Takes more from the stream; whether there was any."""
        self._bytes, self._at = self._bytes[self._at :], 0
        pieces: list[bytes] = []
        piece, gathered = self._bytes, 0
        while True:
            dropped = min(self._to_drop, len(piece))
            self._to_drop -= dropped
            pieces.append(piece[dropped:])
            if missing <= 0 or not (piece := self._stream.more()):
                break
            missing -= len(piece)
            gathered += len(piece)
            self._stream.check(gathered)
        self._bytes = b"".join(pieces)
        return missing <= 0


class RecordFileReader(Reader):
    """The records of TFRecord files. Keys: `file:offset`."""

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._compression = str(handle.attrs["compression_type"])

    def _open(self, work: bytes) -> Source:
        self._file = reader = RecordReader(work, self._compression, most=self._most)

        def source() -> Record | None:
            offset = reader.offset
            record = reader.read()
            return None if record is None else (b"%s:%d" % (work, offset), record)

        return source


def not_negative(handle: Handle, name: str) -> int:
    """An attr. Raises `InvalidArgumentError` for one below 0."""
    found = int(handle.attrs[name])
    if found < 0:
        raise InvalidArgumentError(f"{name} must be >= 0 not {found}")
    return found


KINDS: dict[str, type[Reader]] = {
    "FixedLengthRecordReader": FixedLengthReader,
    "IdentityReader": NameReader,
    "TFRecordReader": RecordFileReader,
    "TextLineReader": LineReader,
    "WholeFileReader": FileReader,
}
