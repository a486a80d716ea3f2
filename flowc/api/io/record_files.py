"""`tf.python_io`: TFRecord files, written and read by the program itself."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import Any

from flowc.records.byte_stream import PIECE
from flowc.records.record_reader import RecordReader
from flowc.records.record_writer import Deflation, RecordWriter


class TFRecordCompressionType:
    """How the records of a file are compressed. Raises nothing."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


_NAMES = {
    TFRecordCompressionType.NONE: "",
    TFRecordCompressionType.ZLIB: "ZLIB",
    TFRecordCompressionType.GZIP: "GZIP",
}


class TFRecordOptions:
    """How a file of records is compressed: `compression_type` is a name ("", "GZIP", "ZLIB"), a
    number of `TFRecordCompressionType` or other options; the rest are zlib's own numbers.

    Raises `ValueError` for another type."""

    compression_type_map = _NAMES

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """The name of the compression that options, a number or a name mean."""
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options in _NAMES:
            return _NAMES[options]
        if options in _NAMES.values():
            return options
        raise ValueError(f'Not a valid compression_type: "{options}"')


class TFRecordWriter(RecordWriter):
    """Writes records to a new file: byte strings, or text as UTF-8. Use it as a context, or `close`
    it. `options`: `TFRecordOptions`, a compression's name or number.

    Raises `NotFoundError`, `ValueError` for another compression, `TypeError` for what is no string,
    `FailedPreconditionError` once it is closed."""

    def __init__(self, path: str | os.PathLike[str], options: Any = None) -> None:
        given = options if isinstance(options, TFRecordOptions) else TFRecordOptions(options)
        level, memory, strategy = (
            given.compression_level,
            given.mem_level,
            given.compression_strategy,
        )
        deflation = Deflation(
            zlib.Z_DEFAULT_COMPRESSION if level is None else level,
            8 if memory is None else memory,
            zlib.Z_DEFAULT_STRATEGY if strategy is None else strategy,
        )
        super().__init__(path, TFRecordOptions.get_compression_type_string(given), deflation)

    def write(self, record: bytes | str) -> None:
        """Appends a record."""
        if not isinstance(record, bytes | str):
            raise TypeError(f"a record is a byte string, found {type(record).__name__}")
        super().write(record.encode() if isinstance(record, str) else record)


def tf_record_iterator(path: str | os.PathLike[str], options: Any = None) -> Iterator[bytes]:
    """The records of a file, one after another.

    Raises `NotFoundError`, `DataLossError` with the byte where the file is damaged or cut off."""
    compression = TFRecordOptions.get_compression_type_string(options)
    size = options.input_buffer_size if isinstance(options, TFRecordOptions) else None
    with RecordReader(path, compression, size or PIECE) as reader:
        yield from reader
