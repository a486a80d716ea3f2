"""Datasets of what queries of databases find.

In: the file of a SQLite database, and a query. Out: an element for each row, a scalar for each
column. Invariants: the database is opened to be read, also by queries that would change it; a value
of another type than is wanted becomes one as SQLite makes it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import islice
from typing import Any
from urllib.parse import quote

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import (
    DataLossError,
    FlowcError,
    InvalidArgumentError,
    NotFoundError,
    UnknownError,
)
from flowc.ir.capability import FILES
from flowc.ir.host_run import HostRun, held
from flowc.ops.datasets.dataset import Element, HostDataset, Items, IterationContext
from flowc.ops.datasets.records import STATED, Given, define_dataset

_INTEGERS = (dtypes.i8, dtypes.i16, dtypes.i32, dtypes.i64, dtypes.u8, dtypes.u16)
_TYPES = (dtypes.string, *_INTEGERS, dtypes.bool_, dtypes.f64)


class _Query(HostDataset):
    def __init__(self, given: Given) -> None:
        driver = given.text("driver_name")
        if driver != "sqlite":
            raise InvalidArgumentError(
                f"The database type, {driver}, is not supported by SqlDataset. The set of "
                "supported databases is: {'sqlite'}."
            )
        self.name, self.query = given.text("data_source_name"), given.text("query")
        self.types = given.types
        for dtype in self.types:
            if dtype not in _TYPES:
                raise InvalidArgumentError(
                    "Each element of `output_types_` must be one of: "
                    f"{', '.join(t.name for t in _TYPES)}; found {dtype.name}"
                )
        if any(shape not in (None, []) for shape in given.attrs["output_shapes"]):
            raise InvalidArgumentError("Each element of `output_shapes_` must be a scalar.")

    def items(self, context: IterationContext) -> Items:
        return _FoundRows(self, context)


class _FoundRows(Items):
    """Rows. `_passed`: how many were given."""

    where = ("_passed", "_ended")

    def __init__(self, query: _Query, context: IterationContext) -> None:
        self._query, self._context = query, context
        self._passed, self._ended = 0, False
        self._open: sqlite3.Connection | None = None
        self._rows: sqlite3.Cursor | None = None
        context.closing(self, self._close)

    def take(self, count: int, run: HostRun) -> Sequence[Element]:
        if self._ended:
            return ()
        try:
            rows = self._begun(run)
            found = [self._element(row) for row in islice(rows, count)]
        except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError) as error:
            raise _fault(error, self._query) from None
        self._passed += len(found)
        if not found:
            self._context.closed(self)
            self._close()
            self._ended = True
        return found

    def _begun(self, run: HostRun) -> sqlite3.Cursor:
        """The rows behind those that were given."""
        if self._rows is None:
            self._open = self._open or _connection(self._query.name)
            rows = self._open.execute(self._query.query)
            columns, wanted = len(rows.description or ()), len(self._query.types)
            if columns != wanted:
                raise InvalidArgumentError(
                    f"The number of columns in query ({columns}) must match the number of elements "
                    f"in output_types ({wanted})."
                )
            for _ in islice(rows, self._passed):
                run.check()
            self._rows = rows
        return self._rows

    def _element(self, row: Sequence[Any]) -> Element:
        assert self._open is not None
        cast = self._open.execute
        return tuple([_scalar(v, t, cast) for v, t in zip(row, self._query.types)])

    def _close(self) -> None:
        rows, self._rows = self._rows, None
        if rows is not None:
            rows.close()
        connection, self._open = self._open, None
        if connection is not None:
            connection.close()


def _connection(name: str) -> sqlite3.Connection:
    if not os.path.exists(name):
        raise NotFoundError(f"{name}; No such file or directory")
    # Threads of an iterator take turns; text that is no UTF-8 is bytes, too.
    found = sqlite3.connect(
        f"file:{quote(os.fsencode(name))}?mode=ro", uri=True, check_same_thread=False
    )
    found.text_factory = bytes
    return found


def _fault(error: Exception, query: _Query) -> FlowcError:
    code = getattr(error, "sqlite_errorcode", None)  # None: a query that Python refuses
    if code in (None, sqlite3.SQLITE_NOTADB):
        kind: type[FlowcError] = InvalidArgumentError
    else:
        kind = DataLossError if code == sqlite3.SQLITE_CORRUPT else UnknownError
    return kind(f"{query.name}: {error}: {query.query}")


def _scalar(value: Any, dtype: DType, execute: Callable[..., sqlite3.Cursor]) -> np.ndarray:
    """A value as an array of a dtype."""

    def cast(kind: str) -> Any:
        with closing(execute(f"select cast(? as {kind})", (value,))) as found:
            return found.fetchone()[0]

    if dtype is dtypes.string:
        if value is None:
            return held(b"")
        return held(value if isinstance(value, bytes) else cast("text"))
    if dtype is dtypes.f64:
        number = value if isinstance(value, int | float) else cast("real")
        return np.array(number or 0.0, np.float64)
    whole = value if isinstance(value, int) else cast("integer")
    found = np.array(whole or 0, np.int64)
    if dtype is dtypes.bool_:
        return found.astype(np.int32) != 0
    return found.astype(dtype.numpy)  # its low bits


define_dataset(
    f"SqlDataset(driver_name: string, data_source_name: string, query: string; {STATED})",
    _Query,
    FILES,
    aliases=("ExperimentalSqlDataset",),
)
