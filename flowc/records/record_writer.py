"""TFRecord files, written one record after another.

In: byte strings. Out: a file that TensorFlow reads. Invariant: the file holds whole records, in the
order in which they were written, once it was closed.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path as LocalPath

from google_crc32c import value as crc

from flowc.checkpoint.table import mask
from flowc.dataclass import dataclass
from flowc.errors import FailedPreconditionError, NotFoundError, PermissionDeniedError
from flowc.records.byte_stream import WINDOW_BITS, Path, check_compression

_LENGTH = struct.Struct("<Q")
_CHECK = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Deflation:
    """How zlib compresses: its own numbers."""

    level: int = zlib.Z_DEFAULT_COMPRESSION
    memory_level: int = 8
    strategy: int = zlib.Z_DEFAULT_STRATEGY


class RecordWriter:
    """A new file of records, closed at the end of a `with`, or with `close`.

    `compression`: "", "GZIP" or "ZLIB". Raises `NotFoundError` for a folder that is not there,
    `FailedPreconditionError` for a folder and where the writer is closed.
    """

    def __init__(
        self, path: Path, compression: str = "", deflation: Deflation | None = None
    ) -> None:
        check_compression(compression)
        name, how = os.fsdecode(path), deflation or Deflation()
        self._deflate = (
            zlib.compressobj(
                how.level,
                zlib.DEFLATED,
                WINDOW_BITS[compression],
                how.memory_level,
                how.strategy,
            )
            if compression
            else None
        )
        try:
            self._file = LocalPath(name).open("wb")  # noqa: SIM115
        except FileNotFoundError as error:
            raise NotFoundError(f"{name}; {error.strerror}") from None
        except PermissionError as error:
            raise PermissionDeniedError(f"{name}; {error.strerror}") from None
        except IsADirectoryError as error:
            raise FailedPreconditionError(f"{name}; {error.strerror}") from None

    def write(self, record: bytes) -> None:
        """Appends a record."""
        self._check_open()
        length = _LENGTH.pack(len(record))
        head = length + _CHECK.pack(mask(crc(length)))
        self._put(head + record + _CHECK.pack(mask(crc(record))))

    def flush(self) -> None:
        """Gives the system what was written; what zlib keeps back stays with it."""
        self._check_open()
        self._file.flush()

    def close(self) -> None:
        """Ends the file; once more does nothing."""
        if self._file.closed:
            return
        if self._deflate is not None:
            self._file.write(self._deflate.flush())
        self._file.close()

    def _put(self, data: bytes) -> None:
        self._file.write(data if self._deflate is None else self._deflate.compress(data))

    def _check_open(self) -> None:
        if self._file.closed:
            raise FailedPreconditionError("Writer is closed.")

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
