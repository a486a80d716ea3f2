"""Tables that give an id to every key: ids of a table, and buckets for keys that are not in it.

In: a vocabulary, in a file or as strings or integers. Out: int64 ids, or the strings for ids.
Invariant: ids of buckets follow those of the table, and are TensorFlow's for equal keys.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from flowc import dtypes
from flowc.api.arrays.shaping import size
from flowc.api.framework.basics import cast
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope, no_op
from flowc.api.lookup.static_tables import (
    KeyValueTensorInitializer,
    StaticHashTable,
    TableInitializer,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
)
from flowc.api.lookup.table import LookupInterface, in_place_of, values_of
from flowc.dtypes import DType, as_dtype
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


class HasherSpec(NamedTuple):
    """How keys are hashed to buckets: `fasthash`, or `stronghash` with a key of two integers.
    Raises nothing: tables raise `ValueError` for a key of another form."""

    hasher: str
    key: Any = None


FastHashSpec = HasherSpec("fasthash")


def StrongHashSpec(key: Any) -> HasherSpec:
    """A hash that nobody can predict without its key, two integers. Raises `ValueError` and
    `TypeError` for another key."""
    if len(key) != 2:
        raise ValueError(f"`key` must have size 2, received {key}")
    if not all(isinstance(k, int) for k in key):
        raise TypeError(f"Invalid `key`. Must be unsigned integer values, received {key}")
    return HasherSpec("stronghash", list(key))


class IdTableWithHashBuckets(LookupInterface):
    """The ids of `table` (None: of no keys), and `num_oov_buckets` more for other keys.

    Raises `ValueError` for fewer than one bucket without a table, `TypeError` for a table whose
    values are no int64.
    """

    def __init__(
        self,
        table: StaticHashTable | None,
        num_oov_buckets: int,
        hasher_spec: HasherSpec = FastHashSpec,
        name: str | None = None,
        key_dtype: Any = None,
    ) -> None:
        self._table, self._buckets, self._spec = table, num_oov_buckets, hasher_spec
        found = dtypes.string if key_dtype is None else dtypes.as_dtype(key_dtype)
        if table is None:
            if num_oov_buckets <= 0:
                raise ValueError("`num_oov_buckets` must be > 0 if no `table` is supplied.")
        else:
            if key_dtype is None:
                found = table.key_dtype
            if table.value_dtype is not dtypes.i64:
                raise TypeError(
                    f"Invalid `value_dtype`: expected int64 but got {table.value_dtype.name}."
                )
        if not (found is dtypes.string or found.is_integer):
            raise TypeError(
                f"Invalid `key_dtype`, expected integer or string but got {found.name}."
            )
        handle = None if table is None else table.resource_handle
        own = "hash_bucket" if table is None else table.name
        super().__init__(found, dtypes.i64, handle, name or own)
        self.initializer = no_op() if table is None else table.initializer

    @property
    def init(self) -> Any:
        """`initializer`, under its older name."""
        return self.initializer

    def size(self, name: str | None = None) -> Tensor:
        """How many ids there are: an int64 scalar."""
        with name_scope(name, f"{self.name}_Size"):
            size = as_tensor(0, dtypes.i64) if self._table is None else self._table.size()
            return size + self._buckets

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The id of each key, int64 in the shape of `keys`, a tensor or `SparseTensor`. Raises
        `TypeError` for keys of another dtype."""
        given = self._checked(values_of(keys))
        if self._table is not None and self._table.key_dtype is dtypes.i64:
            given = cast(given, dtypes.i64)
        if not self._buckets:
            assert self._table is not None
            return in_place_of(keys, self._table.lookup(given, name))
        with name_scope(name, f"{self.name}_Lookup"):
            text = given if given.dtype is dtypes.string else output("AsString", given)
            bucket = self._bucket(text)
            found = bucket
            if self._table is not None:
                ids = self._table.lookup(given)
                there = output("NotEqual", ids, self._table.default_value)
                found = output("SelectV2", there, ids, bucket + self._table.size())
        return in_place_of(keys, found)

    def _bucket(self, text: Tensor) -> Tensor:
        spec = self._spec
        if spec.hasher == "fasthash":
            kind, more = "StringToHashBucketFast", {}
        elif spec.hasher == "stronghash":
            kind, more = "StringToHashBucketStrong", {"key": spec.key}
        elif spec.hasher == "legacy":
            kind, more = "StringToHashBucket", {}
        else:
            raise ValueError(f"Found unknown hasher {spec.hasher} in `hasher_spec`")
        return call(kind, text, num_buckets=self._buckets, name="hash_bucket", **more)


class StaticVocabularyTable(IdTableWithHashBuckets):
    """The ids that `initializer` gives, from 0 on, and `num_oov_buckets` more for other keys.

    `lookup_key_dtype`: of the keys that are looked up, if not that of the initializer. Raises
    `ValueError` for fewer than one bucket, `TypeError` for ids that are no int64.
    """

    def __init__(
        self,
        initializer: TableInitializer | None,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError("`num_oov_buckets` must be > 0; use StaticHashTable.")
        table = None
        if initializer is not None:
            if initializer.value_dtype is not dtypes.i64:
                raise TypeError(
                    "Invalid `value_dtype`, expected <dtype: 'int64'> but got <dtype: "
                    f"'{initializer.value_dtype.name}'>."
                )
            table = StaticHashTable(initializer, -1, None, experimental_is_anonymous)
        super().__init__(table, num_oov_buckets, FastHashSpec, name, lookup_key_dtype)


def check_vocabulary(buckets: int, lines: int | None, file: Any) -> None:
    if buckets < 0:
        raise ValueError(f"`num_oov_buckets` must be greater or equal than 0, got {buckets}.")
    if lines is not None and lines < 1:
        shown = file if isinstance(file, str) else "?"
        raise ValueError(
            f"`vocab_size` must be greater than 0, got {lines} for vocabulary_file: {shown}."
        )


def _check_file(file: Any) -> None:
    if file is None or (isinstance(file, (str, bytes)) and not file):
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")


def with_buckets(
    table: StaticHashTable, buckets: int, spec: HasherSpec, key_dtype: DType
) -> StaticHashTable | IdTableWithHashBuckets:
    return IdTableWithHashBuckets(table, buckets, spec, key_dtype=key_dtype) if buckets else table


def _own_key(dtype: DType) -> DType:
    return dtypes.i64 if dtype.is_integer else dtype


def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    key_dtype: Any = dtypes.string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> StaticHashTable | IdTableWithHashBuckets:
    """A table from the lines of a file to their numbers, int64; other keys have `default_value`, or
    one of `num_oov_buckets` ids behind them. Raises `ValueError` for an empty file name, counts
    below zero; `TypeError` for keys that are neither strings nor integers."""
    _check_file(vocabulary_file)
    check_vocabulary(num_oov_buckets, vocab_size, vocabulary_file)
    dtype = dtypes.as_dtype(key_dtype)
    if dtype is not dtypes.string and not dtype.is_integer:
        raise TypeError("Dtype for `keys` should be either integer or string.")
    with name_scope(name, "string_to_index"):
        with name_scope(None, "hash_table"):
            initializer = TextFileIdTableInitializer(
                vocabulary_file,
                key_column_index,
                value_column_index,
                vocab_size,
                delimiter,
                "table_init",
                _own_key(dtype),
            )
            table = StaticHashTable(initializer, default_value)
        return with_buckets(table, num_oov_buckets, hasher_spec, dtype)


def index_table_from_tensor(
    vocabulary_list: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    dtype: Any = dtypes.string,
    name: str | None = None,
) -> StaticHashTable | IdTableWithHashBuckets:
    """A table from the elements of a vector to their places, int64; other keys have
    `default_value`, or one of `num_oov_buckets` ids behind them. Raises `ValueError` for no list,
    counts below zero and elements of another dtype."""
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` must be specified.")
    check_vocabulary(num_oov_buckets, None, None)
    wanted = dtypes.as_dtype(dtype)
    if wanted is not dtypes.string and not wanted.is_integer:
        raise TypeError("`dtype` must be either integer or string.")
    with name_scope(name, "string_to_index"):
        keys = as_tensor(vocabulary_list)
        given = as_dtype(keys.dtype)
        fits = given.is_integer if wanted.is_integer else given is wanted
        if not fits:
            expected = "integer" if wanted.is_integer else f"<dtype: '{wanted.name}'>"
            raise ValueError(f"Invalid `dtype`: Expected {expected}, got <dtype: '{given.name}'>.")
        count = size(keys)
        ids = cast(output("Range", 0, count, 1, name="range"), dtypes.i64)
        with name_scope(None, "hash_table"):
            keys = cast(keys, dtypes.i64) if wanted.is_integer else keys
            initializer = KeyValueTensorInitializer(
                keys, ids, _own_key(wanted), dtypes.i64, "table_init"
            )
            table = StaticHashTable(initializer, default_value)
        return with_buckets(table, num_oov_buckets, hasher_spec, wanted)


def index_to_string_table_from_file(
    vocabulary_file: Any,
    vocab_size: int | None = None,
    default_value: Any = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> StaticHashTable:
    """A table from the numbers of a file's lines, int64, to these lines; `default_value` for other
    numbers. Raises `ValueError` for an empty file name and sizes below one."""
    _check_file(vocabulary_file)
    check_vocabulary(0, vocab_size, vocabulary_file)
    with name_scope(name, "index_to_string"):
        initializer = TextFileStringTableInitializer(
            vocabulary_file,
            key_column_index,
            value_column_index,
            vocab_size,
            delimiter,
            "table_init",
        )
        return StaticHashTable(initializer, default_value)


def index_to_string_table_from_tensor(
    vocabulary_list: Any, default_value: Any = "UNK", name: str | None = None
) -> StaticHashTable:
    """A table from places in a vector of strings, int64, to these strings; `default_value` for
    other numbers. Raises `ValueError` for no list."""
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` argument must be specified.")
    with name_scope(name, "index_to_string"):
        values = as_tensor(vocabulary_list, dtypes.string)
        count = size(values)
        keys = cast(output("Range", 0, count, 1, name="range"), dtypes.i64)
        initializer = KeyValueTensorInitializer(
            keys, values, dtypes.i64, dtypes.string, "table_init"
        )
        return StaticHashTable(initializer, default_value)
