"""Strings of a program or a run: native code holds their numbers in a table.

In: strings as NumPy holds them (bytes, text). Out: i64 numbers, and bytes for numbers. Invariants:
0 is the empty string, also where memory was only cleared; a run's table begins with its program's;
bytes come out as the very object that went in, which may be more than bytes (`HostValue`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
EMPTY = b""


class Texts:
    """A table of strings."""

    def __init__(self, rows: Iterable[bytes] = (EMPTY,)) -> None:
        self._rows = list(rows)

    def copy(self) -> Texts:
        return Texts(self._rows)

    def numbers(self, array: Array) -> Array:
        """The numbers of the elements, which join the table."""
        found = np.empty(array.shape, np.int64)
        flat = found.reshape(-1)
        for i, item in enumerate(array.reshape(-1).tolist()):
            text = item if isinstance(item, bytes) else item.encode()
            flat[i] = len(self._rows) if text else 0
            if text:
                self._rows.append(text)
        return found

    def strings(self, numbers: Array) -> Array:
        """The elements behind numbers, as TensorFlow gives them: objects, each of bytes."""
        found = np.empty(numbers.shape, object)
        flat = found.reshape(-1)
        for i, number in enumerate(numbers.reshape(-1).tolist()):
            flat[i] = self._rows[number]
        return found

    def as_rows(self) -> list[str]:
        """The table as plain data."""
        return [text.decode("latin-1") for text in self._rows]

    @classmethod
    def of_rows(cls, rows: Iterable[str]) -> Texts:
        return cls(row.encode("latin-1") for row in rows)
