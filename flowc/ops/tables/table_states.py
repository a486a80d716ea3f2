"""What a lookup table holds, and what its steps do with it.

In: arrays of keys and of values. Out: arrays of values. Invariants: a table belongs to a Session
and has a lock of its own, held for one step at a time; a step that fails has changed nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from flowc.dataclass import dataclass
from flowc.errors import (
    AbortedError,
    FailedPreconditionError,
    InvalidArgumentError,
    UnimplementedError,
)
from flowc.ir.text.shape_text import shown_dims

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TableType:
    """What one key and one value of a table are: NumPy's dtypes (objects: strings), and shapes."""

    key: np.dtype[Any]
    value: np.dtype[Any]
    key_shape: Shape = ()
    value_shape: Shape = ()

    def keys_of(self, array: Array) -> tuple[list[Hashable], Shape]:
        """The keys of an array, and the shape in which they stand. Raises `InvalidArgumentError`
        for an array of another type."""
        _check_dtype("keys", array, self.key)
        batch = self._batch(array)
        if not self.key_shape:
            return array.reshape(-1).tolist(), batch
        rows = array.reshape((-1, *self.key_shape)).tolist()
        return [_frozen(row) for row in rows], batch

    def _batch(self, array: Array) -> Shape:
        rank = array.ndim - len(self.key_shape)
        if rank < 0 or array.shape[rank:] != self.key_shape:
            raise InvalidArgumentError(
                "Input key shape must be "
                f"{shown_dims(array.shape[: max(rank, 0)] + self.key_shape)}, got "
                f"{shown_dims(array.shape)}"
            )
        return array.shape[:rank]

    def rows_of(self, array: Array, batch: Shape) -> list[Any]:
        """The values for keys that stand in the shape `batch`."""
        _check_dtype("values", array, self.value)
        wanted = batch + self.value_shape
        if array.shape != wanted:
            raise InvalidArgumentError(
                f"Expected shape {shown_dims(wanted)} for value, got {shown_dims(array.shape)}"
            )
        if not self.value_shape:
            return array.reshape(-1).tolist()
        return list(array.reshape((-1, *self.value_shape)).copy())

    def values(self, rows: Sequence[Any], batch: Shape) -> Array:
        """Rows as an array."""
        found = np.empty((len(rows), *self.value_shape), self.value)
        if self.value_shape:
            for k, row in enumerate(rows):
                found[k] = row
        else:
            found[:] = rows
        return found.reshape((*batch, *self.value_shape))

    def keys(self, keys: Sequence[Hashable]) -> Array:
        """Keys as an array."""
        found = np.empty((len(keys), *self.key_shape), self.key)
        for k, key in enumerate(keys):
            found[k] = key
        return found


def _frozen(key: Any) -> Hashable:
    return tuple(_frozen(k) for k in key) if isinstance(key, list) else key


def _check_dtype(what: str, array: Array, wanted: np.dtype[Any]) -> None:
    if array.dtype != wanted:
        raise InvalidArgumentError(
            f"Signature mismatch: the {what} are {_name(array.dtype)}, and those of the table "
            f"{_name(wanted)}"
        )


def _name(dtype: np.dtype[Any]) -> str:
    return "string" if dtype.hasobject else dtype.name


def _text(key: Any) -> str:
    return key.decode("utf-8", "replace") if isinstance(key, bytes) else str(key)


@dataclass(slots=True, eq=False)
class Table:
    """Keys with their values; `rows`: a scalar or an array for each key."""

    type: TableType
    rows: dict[Hashable, Any] = field(default_factory=dict[Hashable, Any])
    lock: threading.Lock = field(default_factory=threading.Lock)

    def close(self) -> None:
        """The Session is closed."""
        with self.lock:
            self.rows.clear()

    def find(self, keys: Array, default: Array) -> Array:
        """The value of each key; `default` for one that is not there: one value, or one for each
        key."""
        wanted, batch = self.type.keys_of(keys)
        _check_dtype("values", default, self.type.value)
        shape = self.type.value_shape
        if default.shape == shape:
            missing = default if shape else default.reshape(-1).tolist()[0]
            with self.lock:
                self.check_readable()
                rows = [self.rows.get(key, missing) for key in wanted]
            return self.type.values(rows, batch)
        if not batch or default.shape != batch + shape:
            raise InvalidArgumentError(
                f"Expected shape {shown_dims(shape)} or {shown_dims(batch + shape)} for default "
                f"value, got {shown_dims(default.shape)}"
            )
        others = self.type.rows_of(default, batch)
        with self.lock:
            self.check_readable()
            rows = [self.rows.get(key, other) for key, other in zip(wanted, others)]
        return self.type.values(rows, batch)

    def entries(self, keys: Array, values: Array) -> list[tuple[Hashable, Any]]:
        """Pairs for the table."""
        found, batch = self.type.keys_of(keys)
        self.check_keys(found)
        return list(zip(found, self.type.rows_of(values, batch), strict=True))

    def check_readable(self) -> None:
        """Raises where nothing can be found yet."""

    def check_keys(self, keys: Iterable[Hashable]) -> None:
        """Raises for keys that the table does not take."""

    def size(self) -> int:
        """How many keys there are."""
        with self.lock:
            return len(self.rows)

    def export(self) -> tuple[Array, Array]:
        """All keys, and their values."""
        with self.lock:
            keys, rows = list(self.rows), list(self.rows.values())
        return self.type.keys(keys), self.type.values(rows, (len(rows),))

    def insert(self, keys: Array, values: Array) -> None:
        """Adds or replaces values: the last one of a key counts."""
        given = self.entries(keys, values)
        with self.lock:
            self.rows.update(given)

    def restore(self, keys: Array, values: Array) -> None:
        """Replaces all that the table holds."""
        given = dict(self.entries(keys, values))
        with self.lock:
            self.rows = given

    def remove(self, keys: Array) -> None:
        """Takes keys out, where they are there."""
        found, _ = self.type.keys_of(keys)
        self.check_keys(found)
        with self.lock:
            for key in found:
                self.rows.pop(key, None)


@dataclass(slots=True, eq=False)
class StaticTable(Table):
    """A table that is initialized once, and then only read."""

    is_initialized: bool = False

    def check_readable(self) -> None:
        if not self.is_initialized:
            raise FailedPreconditionError(
                "Table not initialized.", hint="run tf.tables_initializer() first"
            )

    def initialize(self, given: Iterable[tuple[Hashable, Any]]) -> None:
        """The table's contents, where it has none yet. Raises `FailedPreconditionError` for a key
        with two values."""
        found: dict[Hashable, Any] = {}
        for key, value in given:
            if key in found and found[key] != value:
                raise FailedPreconditionError(
                    f"HashTable has different value for same key. Key {_text(key)} has "
                    f"{_text(found[key])} and trying to add value {_text(value)}"
                )
            found[key] = value
        with self.lock:
            if not self.is_initialized:
                self.rows, self.is_initialized = found, True

    def export(self) -> tuple[Array, Array]:
        if not self.is_initialized:
            raise AbortedError("HashTable is not initialized.")
        return Table.export(self)

    def insert(self, keys: Array, values: Array) -> None:
        raise UnimplementedError("Insert not supported by InitializableLookupTable implementations")

    def restore(self, keys: Array, values: Array) -> None:
        self.initialize(self.entries(keys, values))

    def remove(self, keys: Array) -> None:
        raise UnimplementedError("Remove not supported by InitializableLookupTable implementations")


@dataclass(slots=True, eq=False)
class DenseTable(Table):
    """A table in which two keys are never used: TensorFlow marks free places with them."""

    reserved: Mapping[Hashable, str] = field(default_factory=dict[Hashable, str])

    def check_keys(self, keys: Iterable[Hashable]) -> None:
        if self.reserved.keys().isdisjoint(keys := list(keys)):
            return
        name = next(self.reserved[key] for key in keys if key in self.reserved)
        raise InvalidArgumentError(f"Using the {name} as a table key is not allowed")

    def find(self, keys: Array, default: Array) -> Array:
        self.check_keys(self.type.keys_of(keys)[0])
        return Table.find(self, keys, default)
