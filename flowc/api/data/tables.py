"""Lookup tables that are filled with the elements of a dataset.

In: a dataset of keys, or of keys and values. Out: tables, which `tf.tables_initializer` fills.
"""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.data.dataset import Dataset
from flowc.api.data.experimental import assert_cardinality
from flowc.api.data.structure import ComponentSpec
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope
from flowc.api.lookup.static_tables import StaticHashTable, TableInitializer
from flowc.api.lookup.table import LookupInterface
from flowc.api.lookup.vocabularies import (
    FastHashSpec,
    HasherSpec,
    IdTableWithHashBuckets,
    check_vocabulary,
    with_buckets,
)
from flowc.graph import Operation


class DatasetInitializer(TableInitializer):
    """A table of a dataset of (key, value), both scalars. Raises `ValueError` for other elements,
    `AttributeError` for what is no dataset."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        spec = dataset.element_spec
        parts = spec if isinstance(spec, tuple) else (spec,)
        for part in parts:
            if type(part) is not ComponentSpec or part.shape.ndims not in (None, 0):
                raise _no_pair(spec)
        if len(parts) != 2:
            raise _no_pair(spec)
        super().__init__(parts[0].dtype, parts[1].dtype)

    def _filled(self, table: LookupInterface) -> Operation:
        variant = self.dataset._variant_tensor
        return call("InitializeTableFromDataset", table.resource_handle, variant)


def _no_pair(spec: Any) -> ValueError:
    return ValueError(
        "Datasets used to initialize lookup tables must produce elements in the form (key, value), "
        f"where the keys and values are scalar tensors. However, the given dataset produces {spec}"
    )


def table_from_dataset(
    dataset: Dataset | None = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: Any = None,
    hasher_spec: HasherSpec = FastHashSpec,
    key_dtype: Any = dtypes.string,
    name: str | None = None,
) -> StaticHashTable | IdTableWithHashBuckets:
    """A table of a dataset of (key, value). Other keys have `default_value`, or one of
    `num_oov_buckets` ids behind the others. `vocab_size`: how many of the elements it has; a run
    raises `FailedPreconditionError` where there are fewer. Raises `ValueError` for other elements
    and counts below zero, `TypeError` for values that are no int64 where there are buckets."""
    if dataset is None:
        raise ValueError("`dataset` must be specified.")
    check_vocabulary(num_oov_buckets, vocab_size, None)
    default = -1 if default_value is None else default_value
    with name_scope(name, "string_to_index"):
        pairs = dataset
        if vocab_size is not None:
            pairs = dataset.take(vocab_size).apply(assert_cardinality(vocab_size))
        with name_scope(None, "hash_table"):
            table = StaticHashTable(DatasetInitializer(pairs), default)
        return with_buckets(table, num_oov_buckets, hasher_spec, dtypes.as_dtype(key_dtype))


def index_table_from_dataset(
    dataset: Dataset | None = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: Any = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    key_dtype: Any = dtypes.string,
    name: str | None = None,
) -> StaticHashTable | IdTableWithHashBuckets:
    """A table from the elements of a dataset to their places, int64; else as `table_from_dataset`,
    also in what it raises."""
    if dataset is None:
        raise ValueError("`dataset` must be specified.")
    ids = dataset.enumerate().map(lambda place, key: (key, place))
    return table_from_dataset(
        ids, num_oov_buckets, vocab_size, default_value, hasher_spec, key_dtype, name
    )
