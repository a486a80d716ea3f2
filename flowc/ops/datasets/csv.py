"""Datasets of the fields of CSV files.

In: names of files, defaults that say which dtypes fields have. Out: elements of one scalar for each
field. Invariant: a record that is at fault raises TensorFlow's error, which says where it stands,
and the next one is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.capability import FILES
from flowc.ir.host_run import HostRun, held
from flowc.ops.datasets.dataset import Array, Element, Items, IterationContext, OneByOne, one
from flowc.ops.datasets.files import FileDataset, FileItems
from flowc.ops.datasets.records import Given, define_dataset
from flowc.records.byte_stream import Mark
from flowc.records.lines import lines_of

_Line = tuple[bytes, int, str]  # a record, the number of its first line, the file
_OPEN_QUOTE = "Reached end of file without closing quoted field in record"
_INTS = {dtypes.i32: (-(1 << 31), (1 << 31) - 1), dtypes.i64: (-(1 << 63), (1 << 63) - 1)}


class _Csv(FileDataset):
    rows = None  # items are parsed lines

    def __init__(self, given: Given) -> None:
        super().__init__(given)
        self._has_header = given.flag("header")
        delimiter = given.text("field_delim")
        if len(delimiter) != 1:
            raise InvalidArgumentError("field_delim should be only 1 char")
        self._delimiter = delimiter.encode("utf-8", "surrogateescape")
        self._quotes = given.flag("use_quote_delim")
        self._missing = given.text("na_value").encode("utf-8", "surrogateescape")
        self.types = given.types
        self.defaults = [held(value).reshape(-1) for value in given["record_defaults"]]
        if len(self.defaults) != len(self.types):
            raise InvalidArgumentError(
                f"{len(self.defaults)} defaults of fields and {len(self.types)} types"
            )
        self._columns = self._chosen(given)

    def _chosen(self, given: Given) -> list[int] | None:
        """The columns that are read, all if None; those left out are numbers below 0."""
        columns = given.numbers("select_cols")
        if any(a >= b for a, b in pairwise(columns)):
            raise InvalidArgumentError("select_cols should be strictly increasing indices")
        if columns and columns[0] < 0:
            raise InvalidArgumentError("select_cols should be non-negative indices")
        left_out = given.numbers("exclude_cols") if "exclude_cols" in given else []
        if left_out:
            every = range(len(self.defaults) + len(left_out))
            return [c for c in every if c not in left_out]
        if columns and len(columns) != len(self.defaults):
            raise InvalidArgumentError("select_cols should match output size")
        return columns or None

    def items(self, context: IterationContext) -> Items:
        return _Parsed(FileItems(self.names, self.read, context), self)

    def read(self, name: str, run: HostRun, mark: Mark) -> Iterator[Any]:
        """The records of a file: each as text, with the number of its first line and the file."""
        lines = self._lines(name, run)
        if self._has_header and next(lines, None) is None:
            raise InvalidArgumentError("Can't read header of file")
        yield from lines

    def _lines(self, name: str, run: HostRun) -> Iterator[_Line]:
        """Records as text, which a line feed, a carriage return or both end: in quotes these are
        part of a field."""
        begun: list[bytes] = []
        is_open, first, number, size = False, 0, 0, 0
        with self.stream(name, run) as stream:
            for number, line in enumerate(lines_of(stream), 1):
                *others, last = line.split(b"\r")
                for piece, end in [*((other, b"\r") for other in others), (last, b"\n")]:
                    if not begun:
                        if others and not piece and end == b"\n":
                            continue  # both ended the record
                        first = number
                    begun.append(piece)
                    is_open ^= self._quotes and piece.count(b'"') % 2 == 1
                    if is_open:
                        begun.append(end)
                    else:
                        yield b"".join(begun), first, name
                        begun, size = [], 0
                if begun:
                    size += len(line) + 1
                    stream.check(size)
        if begun:
            if first < number:
                raise InvalidArgumentError(_OPEN_QUOTE, hint=_place(first, name))
            yield b"".join(begun[:-1]), number, name

    def fields(self, line: bytes) -> list[bytes]:
        if not self._quotes or b'"' not in line:
            return line.split(self._delimiter)
        found: list[bytes] = []
        at = 0
        while True:
            field, at = self._field(line, at)
            found.append(field)
            if at > len(line):
                return found

    def _field(self, line: bytes, at: int) -> tuple[bytes, int]:
        """The field that begins at a byte, and where the next one does."""
        if line[at : at + 1] != b'"':
            end = line.find(self._delimiter, at)
            field = line[at:] if end < 0 else line[at:end]
            if b'"' in field:
                raise InvalidArgumentError("Unquoted fields cannot have quotes inside")
            return field, at + len(field) + 1
        start = at + 1
        while True:
            end = line.find(b'"', start)
            if end < 0:
                raise InvalidArgumentError(_OPEN_QUOTE)
            if line[end + 1 : end + 2] != b'"':
                break
            start = end + 2
        if line[end + 1 : end + 2] not in (b"", self._delimiter):
            raise InvalidArgumentError("Quote inside a string has to be escaped by another quote")
        return line[at + 1 : end].replace(b'""', b'"'), end + 2

    def element(self, line: bytes) -> Element:
        fields = self.fields(line)
        if self._columns is None:
            if len(fields) != len(self.types):
                few = len(fields) < len(self.types)
                have = f"have {len(fields)}" if few else "have more"
                raise InvalidArgumentError(f"Expect {len(self.types)} fields but {have} in record")
        elif self._columns[-1] >= len(fields):
            raise InvalidArgumentError(
                f"Expect {len(self.types)} fields but have {len(fields)} in record"
            )
        else:
            fields = [fields[c] for c in self._columns]
        return tuple([self._value(k, field) for k, field in enumerate(fields)])

    def _value(self, k: int, field: bytes) -> Array:
        dtype = self.types[k]
        if not field or field == self._missing:
            if not len(self.defaults[k]):
                raise InvalidArgumentError(f"Field {k} is required but missing in record!")
            return held(self.defaults[k][0])
        if dtype is dtypes.string:
            return held(field)
        found = _number(field, dtype)
        if found is None:
            shown = field.decode("utf-8", "surrogateescape")
            raise InvalidArgumentError(
                f"Field {k} in record is not a valid {_SHOWN[dtype]}: {shown}"
            )
        return np.array(found, dtype.numpy)


_SHOWN = {dtypes.i32: "int32", dtypes.i64: "int64", dtypes.f32: "float", dtypes.f64: "double"}


def _number(field: bytes, dtype: DType) -> int | float | None:
    try:
        if dtype not in _INTS:
            return float(field) if b"_" not in field else None
        found = int(field) if b"_" not in field else None
    except ValueError:
        return None
    low, high = _INTS[dtype]
    return found if found is not None and low <= found <= high else None


class _Parsed(OneByOne):
    where = ("_lines",)

    def __init__(self, lines: Items, dataset: _Csv) -> None:
        self._lines, self._dataset = lines, dataset

    def next(self, run: HostRun) -> Element | None:
        line: _Line | None = one(self._lines, run)
        if line is None:
            return None
        text, number, name = line
        try:
            return self._dataset.element(text)
        except InvalidArgumentError as error:
            error.hint = _place(number, name)
            raise


def _place(number: int, name: str) -> str:
    return f"look at line {number} of {name}"


_CSV = (
    "filenames: string, compression_type: string, buffer_size: i64, header: bool,"
    " field_delim: string, use_quote_delim: bool, na_value: string, select_cols: i64,"
    " record_defaults: output_types"
)
_TYPES = "output_types: list({f32, f64, i32, i64, string}) >= 1, output_shapes: list(shape) >= 1"
define_dataset(f"CSVDataset({_CSV}; {_TYPES})", _Csv, FILES, aliases=("ExperimentalCSVDataset",))
define_dataset(f"CSVDatasetV2({_CSV}, exclude_cols: i64; {_TYPES})", _Csv, FILES)
