"""Tables that are initialized once: from tensors, or from files of text.

In: what initializes the table, and the value of keys that are not there. Out: a table whose
initializer is in the collection TABLE_INITIALIZERS. Invariant: looking up before that has run is a
`FailedPreconditionError` of the run.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from typing import Any

from flowc import dtypes
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope
from flowc.api.lookup.table import LookupInterface, in_place_of, values_of
from flowc.api.variables.graph_keys import GraphKeys
from flowc.dtypes import DType
from flowc.graph import Operation, Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor


class TextFileIndex:
    """Which part of a line a table takes, if not the column of a number. Raises nothing."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TableInitializer(ABC):
    """Fills a table. `shared_name`: what tables with the same contents are called, if anything."""

    shared_name = ""

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self.key_dtype: DType = dtypes.as_dtype(key_dtype)
        self.value_dtype: DType = dtypes.as_dtype(value_dtype)

    def initialize(self, table: LookupInterface) -> Operation:
        """The operation that fills a table, which joins the collection TABLE_INITIALIZERS. Raises
        `TypeError` for a table of other dtypes."""
        for what, own, other in (
            ("key", self.key_dtype, table.key_dtype),
            ("value", self.value_dtype, table.value_dtype),
        ):
            if own is not other:
                raise TypeError(
                    f"Invalid {what} dtype for table, expected {own.name} but got {other.name}."
                )
        op = self._filled(table)
        get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, op)
        return op

    @abstractmethod
    def _filled(self, table: LookupInterface) -> Operation:
        """The operation itself."""


class KeyValueTensorInitializer(TableInitializer):
    """A table of `keys` and `values`, tensors of one shape. Raises `TypeError` for values that do
    not fit a given dtype."""

    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        self._name = name or "key_value_init"
        self._keys = as_tensor(keys, key_dtype and dtypes.as_dtype(key_dtype), "keys")
        self._values = as_tensor(values, value_dtype and dtypes.as_dtype(value_dtype), "values")
        super().__init__(self._keys.dtype, self._values.dtype)

    def _filled(self, table: LookupInterface) -> Operation:
        with name_scope(self._name, "", [table.resource_handle, self._keys, self._values]):
            return call("LookupTableImportV2", table.resource_handle, self._keys, self._values)


class TextFileInitializer(TableInitializer):
    """A table of the lines of a file, whose name may be a tensor.

    `key_index`, `value_index`: columns, or one of `TextFileIndex`, which is an int64 for the line's
    number. `vocab_size`: lines to read, all for None. `value_index_offset`: what is added to the
    numbers of lines. Raises `ValueError` for what does not fit together.
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        super().__init__(key_dtype, value_dtype)
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError("`filename` argument required for tf.lookup.TextFileInitializer")
        _check_column("key", key_index, self.key_dtype)
        _check_column("value", value_index, self.value_dtype)
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"`vocab_size` should be > 0, received: {vocab_size}")
        self._name = name or "text_file_init"
        self._attrs = {
            "key_index": key_index,
            "value_index": value_index,
            "vocab_size": -1 if vocab_size is None else vocab_size,
            "delimiter": delimiter,
            "offset": value_index_offset,
        }
        self._path = as_tensor(filename, dtypes.string, "asset_path")
        get_default_graph().add_to_collection(GraphKeys.ASSET_FILEPATHS, self._path)
        if not isinstance(filename, Tensor):
            size = "" if vocab_size is None else f"{vocab_size}_"
            offset = f"_{value_index_offset}" if value_index_offset else ""
            self.shared_name = (
                f"hash_table_{_text(filename)}_{size}{key_index}_{value_index}{offset}"
            )

    def _filled(self, table: LookupInterface) -> Operation:
        with name_scope(self._name, "", [table.resource_handle]):
            return call(
                "InitializeTableFromTextFileV2", table.resource_handle, self._path, **self._attrs
            )


class TextFileStringTableInitializer(TextFileInitializer):
    """Numbers (int64, by default of lines) to strings (by default whole lines). A run raises
    `NotFoundError` for a missing file, `InvalidArgumentError` for lines of another form."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_string_table_init",
    ) -> None:
        super().__init__(
            filename,
            dtypes.i64,
            key_column_index,
            dtypes.string,
            value_column_index,
            vocab_size,
            delimiter,
            name,
        )


class TextFileIdTableInitializer(TextFileInitializer):
    """Keys (by default whole lines) to ids (int64, by default the numbers of lines). A run raises
    `NotFoundError` for a missing file, `InvalidArgumentError` for lines of another form."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_id_table_init",
        key_dtype: Any = dtypes.string,
    ) -> None:
        super().__init__(
            filename,
            key_dtype,
            key_column_index,
            dtypes.i64,
            value_column_index,
            vocab_size,
            delimiter,
            name,
        )


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)


def _check_column(what: str, index: int, dtype: DType) -> None:
    if index < -2:
        raise ValueError(f"`{what}_index` should be >= -2, received: {index}.")
    if index == TextFileIndex.LINE_NUMBER and dtype is not dtypes.i64:
        raise ValueError(
            f"`{what}_dtype` must be int64 if `{what}_index` is {index}, received: "
            f"<dtype: '{dtype.name}'>"
        )
    if index == TextFileIndex.WHOLE_LINE and not (dtype.is_integer or dtype is dtypes.string):
        raise ValueError(
            f"`{what}_dtype` should be either integer or string if `{what}_index` is {index}, "
            f"received: <dtype: '{dtype.name}'>"
        )


class StaticHashTable(LookupInterface):
    """A table that `initializer` fills. Keys that are not there have the value `default_value`, a
    scalar. Raises `TypeError` for one that is not of the values' dtype."""

    def __init__(
        self,
        initializer: TableInitializer,
        default_value: Any,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        key_dtype, value_dtype = initializer.key_dtype, initializer.value_dtype
        self._default = as_tensor(default_value, value_dtype)
        if self._default.shape.ndims not in (None, 0):
            raise ValueError(
                f"Shape {self._default.shape} of the default value must be that of a scalar"
            )
        types = {"key_dtype": key_dtype, "value_dtype": value_dtype}
        if experimental_is_anonymous:
            handle = call("AnonymousHashTable", name=name or "hash_table", **types)
        else:
            shared = initializer.shared_name or f"hash_table_{uuid.uuid4()}"
            handle = call("HashTableV2", name=name or "hash_table", shared_name=shared, **types)
        super().__init__(key_dtype, value_dtype, handle, handle.op.name.rpartition("/")[2])
        self.initializer: Operation = initializer.initialize(self)

    @property
    def init(self) -> Operation:
        """`initializer`, under its older name."""
        return self.initializer

    @property
    def default_value(self) -> Tensor:
        """The value of keys that are not there."""
        return self._default

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The value of each key, in the shape of `keys`, a tensor or `SparseTensor`; the table's
        default value for a key that is not there. Raises `TypeError` for keys of another dtype."""
        given = self._checked(values_of(keys))
        with name_scope(name, f"{self.name}_Lookup", [self.resource_handle, given]):
            found = call("LookupTableFindV2", self.resource_handle, given, self._default)
        found.set_shape(given.shape)
        return in_place_of(keys, found)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys, and their values: two vectors, in no particular order."""
        with name_scope(name, f"{self.name}_Export", [self.resource_handle]):
            return self._exported()


class HashTable(StaticHashTable):
    """`StaticHashTable`, under its older name. Raises `TypeError` for a default that is not of
    the values' dtype."""
