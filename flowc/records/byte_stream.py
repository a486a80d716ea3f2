"""The bytes of a data file from its beginning to its end, decompressed on the way.

In: a path and TensorFlow's name of a compression ("", "GZIP", "ZLIB"). Out: pieces of bytes, in
order. Invariants: what is held in memory is bounded by the sizes of the pieces, whatever the file
says; faults are TensorFlow's errors, in its words.
"""

from __future__ import annotations

import os
import re
import sys
import zlib
from typing import BinaryIO

from flowc.dataclass import dataclass
from flowc.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    InvalidModelError,
    NotFoundError,
    ResourceExhaustedError,
)
from flowc.files.plain_file import PlainFile

PIECE = 1 << 18  # bytes that are read at once
WINDOW_BITS = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS + 16}
_ZLIB_TEXT = re.compile(r"Error (-?\d+) while decompressing data(?:: (.*))?")

Path = str | bytes | os.PathLike[str]


def open_data(path: Path) -> BinaryIO:
    """A regular file, open for reading. Raises as `plain_data`."""
    return plain_data(path).stream()


def data_of(path: Path) -> bytes:
    """What a regular file holds. Raises as `plain_data`."""
    file = plain_data(path)
    found = os.read(file.descriptor, len(file) or PIECE)
    if found and len(found) == len(file):
        return found
    with file.stream() as stream:  # of more than one call gives, or of no size that is known
        return found + stream.read()


def plain_data(path: Path) -> PlainFile:
    """A regular file. Raises `NotFoundError`, `FailedPreconditionError` for what is no regular
    file."""
    name = os.fsdecode(path)
    try:
        return PlainFile(name)
    except NotFoundError:
        raise NotFoundError(f"{name}; No such file or directory") from None
    except InvalidModelError as error:
        text = f"{name}; Is a directory" if os.path.isdir(name) else error.message
        raise FailedPreconditionError(text) from None


def check_compression(compression: str) -> str:
    """A name of a compression. Raises `InvalidArgumentError` for another one."""
    if compression and compression not in WINDOW_BITS:
        raise InvalidArgumentError(
            f"Unsupported compression_type: {compression}", hint="it is '', 'GZIP' or 'ZLIB'"
        )
    return compression


def inflate_error(error: zlib.error, name: str | None = None) -> DataLossError:
    """What TensorFlow says of compressed data, perhaps of a file, that makes no sense."""
    found = _ZLIB_TEXT.match(str(error))
    number, text = (found[1], found[2]) if found else ("-3", str(error))
    hint = name and f"{name} is damaged, or compressed in another way than is said"
    return DataLossError(f"inflate() failed with error {number}: {text}", hint=hint)


@dataclass(slots=True)
class Mark:
    """A place in a file: so many records end before the byte at `offset`, where the next begins.
    Readers move it along, a piece at a time; those of compressed files leave it at the beginning.
    """

    records: int = 0
    offset: int = 0


class ByteStream:
    """A file from its beginning. Closed at the end of a `with`, or with `close`. `most`: bytes that
    a reader may hold of it at once."""

    def __init__(
        self, path: Path, compression: str = "", piece: int = PIECE, most: int = sys.maxsize
    ) -> None:
        self.name = os.fsdecode(path)
        self.most = most
        self.compression = check_compression(compression)
        self._file = open_data(path)
        self._piece = max(1, piece)
        self._inflate = zlib.decompressobj(WINDOW_BITS[compression]) if compression else None

    def more(self) -> bytes:
        """The bytes that follow, at least one; none at the end. A compressed file that is cut off
        ends where it is cut off. Raises `DataLossError`."""
        if self._inflate is None:
            return self._file.read(self._piece)
        return self._inflated()

    def _inflated(self) -> bytes:
        while True:
            assert self._inflate is not None
            given = self._inflate.unconsumed_tail
            if self._inflate.eof:
                if self.compression != "GZIP":  # of which there may be one behind another
                    return b""
                given = self._inflate.unused_data
                self._inflate = zlib.decompressobj(WINDOW_BITS["GZIP"])
            given = given or self._file.read(self._piece)
            if not given:
                return b""
            try:
                found = self._inflate.decompress(given, self._piece)
            except zlib.error as error:
                raise inflate_error(error, self.name) from None
            if found:
                return found

    def check(self, size: int) -> None:
        """Raises `ResourceExhaustedError` where so much may not be gathered."""
        if size > self.most:
            raise ResourceExhaustedError(
                f"a record of {self.name} takes {size} bytes or more, and a run may take "
                f"{self.most} (max_memory)"
            )

    def seek(self, offset: int) -> None:
        """Goes on at a byte of the file, which is not compressed."""
        assert self._inflate is None
        self._file.seek(offset)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
