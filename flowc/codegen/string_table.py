"""Strings of a program or a run: native code holds their numbers in a table.

In: strings as NumPy holds them (bytes, text). Out: i64 numbers, and bytes for numbers. Invariants:
0 is the empty string, also where memory was only cleared; a run's table begins with its program's;
bytes come out as the very object that went in, which may be more than bytes (`HostValue`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from flowc.errors import InvalidArgumentError

Array = np.ndarray[Any, Any]
EMPTY = b""


class Texts:
    """A table of strings."""

    def __init__(self, rows: Iterable[bytes] = (EMPTY,)) -> None:
        self._rows, self._count = np.empty(0, object), 0  # of an array numbers pick in one call
        self._append(list(rows))

    def _append(self, rows: Sequence[bytes] | Array) -> None:
        end = self._count + len(rows)
        if end > len(self._rows):
            grown = np.empty(2 * end, object)
            grown[: self._count] = self._rows[: self._count]
            self._rows = grown
        self._rows[self._count : end] = rows
        self._count = end

    def copy(self) -> Texts:
        return Texts(self._rows[: self._count])

    def numbers(self, array: Array) -> Array:
        """The numbers of the elements, which join the table."""
        rows = array.reshape(-1)
        kinds = set(map(type, rows.tolist()))
        if not all(issubclass(kind, (bytes, str)) for kind in kinds):
            raise InvalidArgumentError("found a value of another dtype, expected a string")
        if any(issubclass(kind, str) for kind in kinds):
            texts = [x if isinstance(x, bytes) else x.encode() for x in rows.tolist()]
            rows = np.fromiter(texts, object, len(texts))
        found = np.arange(self._count, self._count + len(rows), dtype=np.int64)
        if not all(rows.tolist()):
            filled = np.fromiter(map(bool, rows.tolist()), bool, len(rows))
            rows = rows[filled]
            found = np.where(filled, np.cumsum(filled) + (self._count - 1), 0)
        self._append(rows)
        return found.reshape(array.shape)

    def strings(self, numbers: Array) -> Array:
        """The elements behind numbers, as TensorFlow gives them: objects, each of bytes."""
        return self._rows[numbers.reshape(-1)].reshape(numbers.shape)

    def as_rows(self) -> list[str]:
        """The table as plain data."""
        return [text.decode("latin-1") for text in self._rows[: self._count]]

    @classmethod
    def of_rows(cls, rows: Iterable[str]) -> Texts:
        return cls(row.encode("latin-1") for row in rows)
