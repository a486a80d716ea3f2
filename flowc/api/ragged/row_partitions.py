"""The partitions that rows of different lengths are made from: splits, lengths, row numbers.

In: values of all rows, and a partition of them. Out: `RaggedTensor`s. Invariant: whatever the
partition is given as, rows are kept as splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import fill
from flowc.api.arrays.filling import range as range_of
from flowc.api.arrays.shaping import concat, expand_dims, shape
from flowc.api.framework.basics import cast
from flowc.api.framework.checks import Assert
from flowc.api.framework.scopes import name_scope, with_dependencies
from flowc.api.math.elementwise import equal, less_equal
from flowc.api.math.reductions import cumsum, reduce_all, unsorted_segment_sum
from flowc.api.ragged.operators import RaggedOperators
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.shape_inference import constant_elements

_FAULT = "Arguments to {} do not form a valid RaggedTensor"
_ENDS = ("the first row must begin at 0", "the last row must end with the last value")


class RowPartitions(RaggedOperators):
    """Rows of different lengths, and the functions `from_...` that make them. These raise
    `ValueError` for partitions of another rank or dtype, and unless `validate` is False a run that
    finds one that does not fit the values raises `InvalidArgumentError`; the constructor is theirs,
    and checks nothing."""

    def __init__(self, values: Any, row_splits: Tensor) -> None:
        self._values = values
        self._row_splits = row_splits

    @property
    def values(self) -> Any:
        return self._values

    @property
    def row_splits(self) -> Tensor:
        return self._row_splits

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """How many rows there are: a scalar."""
        with name_scope(name, "RaggedNRows", [self]):
            dtype = dtypes.as_dtype(out_type) if out_type else self.row_splits.dtype
            return shape(self.row_splits, out_type=dtype)[0] - 1

    @classmethod
    def _of(cls, values: Any, splits: Tensor, validate: bool, function: str) -> Self:
        given = as_values(values)
        if validate:
            splits = _in_order(splits, function, "row splits")
            ends = as_tensor(0, splits.dtype), cast(value_count(given), splits.dtype)
            checks = [
                Assert(
                    equal(splits[place], end), [f"{_FAULT.format(function)}: {text}", splits, end]
                )
                for place, end, text in zip((0, -1), ends, _ENDS, strict=True)
            ]
            splits = with_dependencies(checks, splits)
        return cls(given, splits)

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> Self:
        """Rows from where each begins and the last one ends."""
        with name_scope(name, "RaggedFromRowSplits", [values, row_splits]):
            splits = _as_partition(row_splits, "row_splits")
            return cls._of(values, splits, validate, "from_row_splits")

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> Self:
        """Rows from how many values each has."""
        with name_scope(name, "RaggedFromRowLengths", [values, row_lengths]):
            lengths = _as_partition(row_lengths, "row_lengths")
            splits = _behind_zero(cumsum(lengths))
            return cls._of(values, splits, validate, "from_row_lengths")

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Self:
        """Rows from the row of each value, in order; `nrows`: one more than the last, if None."""
        with name_scope(name, "RaggedFromValueRowIds", [values, value_rowids, nrows]):
            rows = _as_partition(value_rowids, "value_rowids")
            given = None if nrows is None else constant_elements(as_tensor(nrows))
            if given is not None and given < 0:
                raise ValueError(f"Expected nrows >= 0; got {given}")
            if validate:
                rows = _in_order(rows, "from_value_rowids", "value_rowids")
            if nrows is None:
                last = concat([fill([1], cast(-1, rows.dtype)), rows], 0)[-1]
                nrows = last + 1
            ones = fill(shape(rows), cast(1, rows.dtype))
            counts = unsorted_segment_sum(ones, rows, cast(nrows, dtypes.i64))
            splits = _behind_zero(cumsum(counts))
            return cls._of(values, splits, validate, "from_value_rowids")

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> Self:
        """Rows from where each begins."""
        with name_scope(name, "RaggedFromRowStarts", [values, row_starts]):
            given, starts = as_values(values), _as_partition(row_starts, "row_starts")
            count = expand_dims(cast(value_count(given), starts.dtype), 0)
            return cls._of(given, concat([starts, count], 0), validate, "from_row_starts")

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> Self:
        """Rows from where each ends."""
        with name_scope(name, "RaggedFromRowLimits", [values, row_limits]):
            splits = _behind_zero(_as_partition(row_limits, "row_limits"))
            return cls._of(values, splits, validate, "from_row_limits")

    @classmethod
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: Any,
        nrows: Any = None,
        validate: bool = True,
        name: str | None = None,
    ) -> Self:
        """Rows of one length."""
        with name_scope(name, "RaggedFromUniformRowLength", [values, uniform_row_length]):
            given = as_values(values)
            length = cast(as_tensor(uniform_row_length), dtypes.i64)
            rows = cast(value_count(given), dtypes.i64) // length if nrows is None else nrows
            splits = range_of(cast(rows, dtypes.i64) + 1) * length
            return cls._of(given, splits, validate, "from_uniform_row_length")

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Self:
        """Rows of rows, from how many values each has on all levels, the outermost first."""
        with name_scope(name, "RaggedFromNestedRowLengths", [flat_values, *nested_row_lengths]):
            found: Any = as_tensor(flat_values)
            for lengths in reversed(nested_row_lengths):
                found = cls.from_row_lengths(found, lengths, validate=validate)
            return found

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Self:
        """Rows of rows, from the splits of all levels, the outermost first."""
        with name_scope(name, "RaggedFromNestedRowSplits", [flat_values, *nested_row_splits]):
            found: Any = as_tensor(flat_values)
            for splits in reversed(nested_row_splits):
                found = cls.from_row_splits(found, splits, validate=validate)
            return found


def as_values(values: Any) -> Any:
    return values if isinstance(values, RowPartitions) else as_tensor(values, name="values")


def _as_partition(partition: Any, name: str) -> Tensor:
    """Positions of rows, as i64 where they are numbers of Python. Raises `ValueError` for what is
    no vector of integers."""
    if isinstance(partition, list | tuple) and any(isinstance(n, Tensor) for n in partition):
        partition = as_tensor(partition, name=name)
    if not isinstance(partition, Tensor):
        array = np.asarray(partition)
        whole = array.dtype != np.int32 and (array.dtype.kind in "iu" or not array.size)
        partition = as_tensor(array.astype(np.int64) if whole else array, name=name)
    if partition.dtype not in (dtypes.i32, dtypes.i64):
        raise ValueError(f"{name} must have dtype int32 or int64")
    partition.shape.assert_has_rank(1)
    return partition


def _in_order(positions: Tensor, function: str, what: str) -> Tensor:
    fits = reduce_all(less_equal(positions[:-1], positions[1:]))
    fault = f"{_FAULT.format(function)}: {what} must not decrease"
    return with_dependencies([Assert(fits, [fault, positions])], positions)


def _behind_zero(positions: Tensor) -> Tensor:
    return concat([as_tensor(np.zeros(1, positions.dtype and positions.dtype.numpy)), positions], 0)


def value_count(values: Any) -> Tensor:
    """How many values there are, of rows the number of rows."""
    return (
        values.nrows() if isinstance(values, RowPartitions) else shape(values, None, dtypes.i64)[0]
    )
