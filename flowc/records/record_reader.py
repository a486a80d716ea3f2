"""TFRecord files, read one record after another.

In: a file of records: length, checksum of the length, bytes, checksum of the bytes. Out: the bytes
of each. Invariants: no byte is given whose checksum was not verified; what a length says is
believed no further than the file reaches; an error says at which byte, as TensorFlow counts.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Iterator

from google_crc32c import value as crc

from flowc.checkpoint.table import mask
from flowc.errors import DataLossError
from flowc.records.byte_stream import PIECE, ByteStream, Mark, Path

_HEADER, _FOOTER = 12, 4
_MANY = 256  # records that are looked at together
_LENGTH = struct.Struct("<Q")
_HEAD = struct.Struct("<QI")
_CHECK = struct.Struct("<I")


# From bytes, where a record begins in them, and how many are wanted at most: sound records, up to
# one that has a fault, and where the next one begins; None where that is left to the reader.
Scan = Callable[[bytes, int, int], tuple[list[bytes], int] | None]


class RecordReader:
    """The records of one file. `offset`: the byte, after decompression, of the next one. `scan`:
    looks at many small records faster, where it can.

    `compression`: "", "GZIP" or "ZLIB". Iterating gives the records; `read` the next one. Raises
    `NotFoundError`, and `DataLossError` where the file is damaged or cut off within a record; fewer
    bytes than the head of a record takes are the end of the file.
    """

    def __init__(
        self,
        path: Path,
        compression: str = "",
        piece: int = PIECE,
        most: int = sys.maxsize,
        scan: Scan | None = None,
    ) -> None:
        self._stream = ByteStream(path, compression, piece, most)
        self._scan = scan
        self._bytes = b""
        self._at = 0
        self._start = 0  # offset of the first of the bytes

    @property
    def offset(self) -> int:
        return self._start + self._at

    def read(self) -> bytes | None:
        """The next record; None at the end of the file."""
        if not self._has(_HEADER):
            return None
        at = self._at
        length, check = _HEAD.unpack_from(self._bytes, at)
        if mask(crc(self._bytes[at : at + _LENGTH.size])) != check:
            doubt = "" if self.offset else " (Is this even a TFRecord file?)"
            raise self._fail(f"corrupted record at {self.offset}{doubt}")
        if len(self._bytes) - at < _HEADER + length + _FOOTER:
            if not self._has(_HEADER + length + _FOOTER):
                why = (
                    "EOF reached" if self._stream.compression else "Read less bytes than requested"
                )
                raise self._fail(f"truncated record at {self.offset}' failed with {why}")
            at = self._at
        start = at + _HEADER
        end = start + length
        record = self._bytes[start:end]
        if mask(crc(record)) != _CHECK.unpack_from(self._bytes, end)[0]:
            raise self._fail(f"corrupted record at {self._start + start}")
        self._at = end + _FOOTER
        return record

    def read_up_to(self, count: int) -> list[bytes]:
        """The next records, at most `count`."""
        found: list[bytes] = []
        while len(found) < count:
            found += self._sound(count - len(found))
            if len(found) == count:
                break
            record = self.read()
            if record is None:
                break
            found.append(record)
        return found

    def _sound(self, count: int) -> list[bytes]:
        """At most `count` records that are in memory already, up to one that has a fault."""
        scanned = self._scan and self._scan(self._bytes, self._at, count)
        if scanned:
            records, self._at = scanned
            return records
        data, at = self._bytes, self._at
        last = len(data) - _HEADER - _FOOTER
        found: list[bytes] = []
        while at <= last and len(found) < count:
            length, check = _HEAD.unpack_from(data, at)
            start = at + _HEADER
            if length > last - at or mask(crc(data[at : at + _LENGTH.size])) != check:
                break
            record = data[start : start + length]
            if mask(crc(record)) != _CHECK.unpack_from(data, start + length)[0]:
                break
            found.append(record)
            at = start + length + _FOOTER
        self._at = at
        return found

    def seek(self, offset: int) -> None:
        """Goes on with the record at an offset, which an `offset` was. A compressed file is read up
        to there, so that only what follows is reached."""
        if not self._stream.compression:
            self._stream.seek(offset)
            self._bytes, self._at, self._start = b"", 0, offset
            return
        while self.offset < offset:
            step = min(offset - self.offset, PIECE)
            if not self._has(step):
                break
            self._at += step

    def _has(self, count: int) -> bool:
        """Whether `count` bytes follow, which then are in memory."""
        left = len(self._bytes) - self._at
        if left >= count:
            return True
        pieces = [self._bytes[self._at :]]
        self._start += self._at
        self._at = 0
        while left < count:
            piece = self._stream.more()
            if not piece:
                break
            pieces.append(piece)
            left += len(piece)
            self._stream.check(left)
        self._bytes = b"".join(pieces)
        return left >= count

    def _fail(self, message: str) -> DataLossError:
        hint = f"{self._stream.name} is damaged or incomplete: copy it again from where it was made"
        return DataLossError(message, hint=hint)

    def close(self) -> None:
        self._stream.close()

    def marked(self, mark: Mark) -> Iterator[bytes]:
        """The records behind a mark, which moves along."""
        if mark.offset:
            self.seek(mark.offset)
        given = mark.records
        while True:
            if not self._stream.compression:
                mark.records, mark.offset = given, self.offset
            records = self._sound(_MANY)
            yield from records
            record = self.read()
            if record is None:
                return
            yield record
            given += len(records) + 1

    def __iter__(self) -> Iterator[bytes]:
        return self.marked(Mark())

    def __enter__(self) -> RecordReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
