"""Tables in files of text: a line an entry.

In: a file, and which columns are keys and values. Out: pairs. Invariant: a file is read whole
before a table takes anything of it; what a line lacks raises TensorFlow's error, with the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.errors import InvalidArgumentError
from flowc.files.plain_file import PlainFile
from flowc.ops.strings.numbers import as_number

WHOLE_LINE = -2
LINE_NUMBER = -1


@dataclass(frozen=True, slots=True)
class TextColumns:
    """`key`, `value`: the number of a column, WHOLE_LINE or LINE_NUMBER. `size`: lines to read, -1
    for all. `offset`: what is added to a line's number."""

    key: int
    value: int
    size: int
    delimiter: str
    offset: int

    def entries(
        self, path: str, key_dtype: np.dtype[Any], value_dtype: np.dtype[Any]
    ) -> Iterator[tuple[Any, Any]]:
        """The pairs of a file. Raises `NotFoundError` without the file, and `InvalidArgumentError`
        for a line that does not fit."""
        lines = _lines(path)
        read_key, read_value = _reader(key_dtype), _reader(value_dtype)
        for number, ended in enumerate(lines if self.size == -1 else lines[: self.size]):
            line = ended.removesuffix(b"\r")
            if not line:
                before = sum(len(text) + 1 for text in lines[: number + 1])
                raise InvalidArgumentError(
                    f"Invalid content in {path}: empty line found at position {before}."
                )
            columns = line.split(self.delimiter.encode("utf-8", "surrogateescape"))
            yield (
                self._field(self.key, path, number, line, columns, read_key),
                self._field(self.value, path, number, line, columns, read_value),
            )
        if self.size > len(lines):
            raise InvalidArgumentError(
                f"Invalid vocab_size in {path}: expected {self.size} but got {len(lines)}"
            )

    def _field(
        self,
        index: int,
        path: str,
        number: int,
        line: bytes,
        columns: list[bytes],
        read: Callable[[bytes, int], Any],
    ) -> Any:
        if index == LINE_NUMBER:
            return (number + self.offset + 2**63) % 2**64 - 2**63  # as integers of 64 bits wrap
        if index == WHOLE_LINE:
            return read(line, number)
        if index >= len(columns):
            raise InvalidArgumentError(
                f"Invalid number of columns in {path} line {number} ({_text(line)}) : expected at "
                f"least {index + 1} got {len(columns)}"
            )
        return read(columns[index], number)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")


def _lines(path: str) -> list[bytes]:
    file = PlainFile(path)
    lines = bytes(file.read(0, len(file))).split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


def _reader(dtype: np.dtype[Any]) -> Callable[[bytes, int], Any]:
    """What makes a key or a value of text."""
    if dtype.hasobject:
        return lambda text, number: text
    kind = dtypes.as_dtype(dtype)

    def read(text: bytes, number: int) -> Any:
        found = as_number(text, kind)
        if found is None:
            raise InvalidArgumentError(
                f"Field {_text(text)} in line {number} is not a valid {dtype.name}."
            )
        if kind.is_integer:
            return found
        with np.errstate(over="ignore"):
            return dtype.type(found).item()

    return read
