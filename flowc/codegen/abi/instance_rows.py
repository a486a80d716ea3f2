"""The layout of an instance: the tables at its beginning.

In: the address of an instance. Out: those of its tables. Invariant: they stand in this order: a
mutex, the rows of the variables, the addresses of the objects.
"""

from __future__ import annotations

from typing import Any

from flowc_runtime.native.writer import FunctionWriter, i64

MUTEX_BYTES = 64  # more than any pthread_mutex_t of Linux
VALUE, NEXT, IS_SET, WORDS = 0, 1, 2, 3  # of a variable's row


def rows_of(w: FunctionWriter, instance: Any) -> Any:
    """The table of an instance's variables."""
    return w.element(instance, i64(MUTEX_BYTES // 8))


def objects_of(w: FunctionWriter, instance: Any, variables: int) -> Any:
    """The addresses of the objects of an instance, behind the rows of so many variables."""
    return w.element(rows_of(w, instance), i64(variables * WORDS))
