"""What is to be taken from serialized examples, key by key: the arguments of `tf.parse_example`."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from flowc import dtypes
from flowc.dtypes import DType


class VarLenFeature(namedtuple("VarLenFeature", ("dtype",))):
    """A feature of any number of values: a `SparseTensor`. `parse_example` raises `TypeError` for
    a dtype other than int64, float32 and string."""

    __slots__ = ()

    def __new__(cls, dtype: Any) -> VarLenFeature:
        return super().__new__(cls, _dtype(dtype))


class FixedLenFeature(namedtuple("FixedLenFeature", ("shape", "dtype", "default_value"))):
    """A feature of one shape: a tensor. Without a default every example must have it.
    `parse_example` raises `ValueError` for a field that is missing or no shape."""

    __slots__ = ()

    def __new__(cls, shape: Any, dtype: Any, default_value: Any = None) -> FixedLenFeature:
        return super().__new__(cls, shape, _dtype(dtype), default_value)


class FixedLenSequenceFeature(
    namedtuple("FixedLenSequenceFeature", ("shape", "dtype", "allow_missing", "default_value"))
):
    """A feature of any number of elements of one shape: a tensor as long as the longest example,
    filled up with the default. `parse_example` raises `ValueError` for a field that is missing or
    no shape."""

    __slots__ = ()

    def __new__(
        cls, shape: Any, dtype: Any, allow_missing: bool = False, default_value: Any = None
    ) -> FixedLenSequenceFeature:
        return super().__new__(cls, shape, _dtype(dtype), allow_missing, default_value)


class SparseFeature(
    namedtuple("SparseFeature", ("index_key", "value_key", "dtype", "size", "already_sorted"))
):
    """Two features, of values and of their places (several keys for several axes) in a tensor of
    `size`: a `SparseTensor`. `parse_example` raises `ValueError` for a field that is missing."""

    __slots__ = ()

    def __new__(
        cls, index_key: Any, value_key: str, dtype: Any, size: Any, already_sorted: bool = False
    ) -> SparseFeature:
        return super().__new__(cls, index_key, value_key, _dtype(dtype), size, already_sorted)


class RaggedFeature(
    namedtuple(
        "RaggedFeature", ("dtype", "value_key", "partitions", "row_splits_dtype", "validate")
    )
):
    """A feature of any number of values: a `RaggedTensor`. `partitions` split the values into rows,
    each by the feature of a key. `parse_example` raises `TypeError` for a dtype other than int64,
    float32 and string."""

    __slots__ = ()
    RowSplits = namedtuple("RowSplits", ("key",))
    RowLengths = namedtuple("RowLengths", ("key",))
    RowStarts = namedtuple("RowStarts", ("key",))
    RowLimits = namedtuple("RowLimits", ("key",))
    ValueRowIds = namedtuple("ValueRowIds", ("key",))
    UniformRowLength = namedtuple("UniformRowLength", ("length",))

    def __new__(
        cls,
        dtype: Any,
        value_key: str | None = None,
        partitions: Any = (),
        row_splits_dtype: Any = dtypes.i32,
        validate: bool = False,
    ) -> RaggedFeature:
        kinds = (cls.RowSplits, cls.RowLengths, cls.RowStarts, cls.RowLimits, cls.ValueRowIds,
                 cls.UniformRowLength)  # fmt: skip
        for partition in partitions:
            if not isinstance(partition, kinds):
                raise TypeError(f"`partitions` must be a list of partitions, found {partition!r}")
        splits = dtypes.as_dtype(row_splits_dtype)
        return super().__new__(cls, _dtype(dtype), value_key, tuple(partitions), splits, validate)


def _dtype(dtype: Any) -> DType | None:
    return None if dtype is None else dtypes.as_dtype(dtype)
