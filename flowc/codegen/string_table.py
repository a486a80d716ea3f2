"""Strings of a program or a run: native code holds their numbers in a table.

In: strings as NumPy holds them (bytes, text). Out: i64 numbers, and bytes for numbers. Invariants:
0 is the empty string, also where memory was only cleared; a run's table begins with its program's;
bytes come out as the very object that went in, which may be more than bytes (`HostValue`).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
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

    def _append(self, rows: list[bytes]) -> None:
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
        items = array.reshape(-1).tolist()
        if not all(isinstance(x, (bytes, str)) for x in items):
            raise InvalidArgumentError("a value of another dtype stands where a string is expected")
        texts = [x if isinstance(x, bytes) else x.encode() for x in items]
        places = count(self._count)
        found = [next(places) if text else 0 for text in texts]
        self._append([text for text in texts if text])
        return np.array(found, np.int64).reshape(array.shape)

    def strings(self, numbers: Array) -> Array:
        """The elements behind numbers, as TensorFlow gives them: objects, each of bytes."""
        return self._rows[numbers.reshape(-1)].reshape(numbers.shape)

    def as_rows(self) -> list[str]:
        """The table as plain data."""
        return [text.decode("latin-1") for text in self._rows[: self._count]]

    @classmethod
    def of_rows(cls, rows: Iterable[str]) -> Texts:
        return cls(row.encode("latin-1") for row in rows)
