"""`RaggedTensor`: rows of different lengths, as the values of all rows and where each row begins.

In: values, and a partition of them into rows. Out: objects that loops and conditionals carry and
sessions fetch and feed. Invariant: `with_components(components())` is the same value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import range as range_of
from flowc.api.arrays.selection import gather
from flowc.api.arrays.shaping import concat, expand_dims, shape, stack
from flowc.api.framework.basics import cast
from flowc.api.framework.composites import SparseTensor
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope
from flowc.api.math.reductions import reduce_max
from flowc.api.ragged.conversions import at_the_left, rows_of_tensor
from flowc.api.ragged.operators import over_rows
from flowc.api.ragged.ragged_value import RaggedTensorValue
from flowc.api.ragged.row_partitions import RowPartitions, as_values, value_count
from flowc.dtypes import DType
from flowc.graph import Graph, Operation, Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output
from flowc.graph.default import evaluate


class RaggedTensor(RowPartitions):
    """Rows of different lengths: row i has the `values` from `row_splits[i]` to `row_splits[i +
    1]`. The values are a tensor, or a `RaggedTensor` of rows themselves. Made by the functions
    `from_...`, which raise `ValueError` for partitions of another rank or dtype, and unless
    `validate` is False a run that finds one that does not fit the values raises
    `InvalidArgumentError`; the constructor is theirs, and checks nothing."""

    value_type = RaggedTensorValue

    # -- what it is made of

    @property
    def flat_values(self) -> Tensor:
        """The values of the innermost rows."""
        return self.values.flat_values if isinstance(self.values, RaggedTensor) else self.values

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The splits of all levels, the outermost first."""
        inner = self.values
        more = inner.nested_row_splits if isinstance(inner, RaggedTensor) else ()
        return (self.row_splits, *more)

    @property
    def ragged_rank(self) -> int:
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> DType | None:
        return self.values.dtype

    @property
    def op(self) -> Operation:
        return self.values.op

    @property
    def graph(self) -> Graph:
        return self.values.graph

    @property
    def shape(self) -> TensorShape:
        """The static shape, None for the axes of rows of different lengths."""
        rows = self.row_splits.shape.with_rank(1)[0].value
        inner = self.values.shape
        if inner.ndims is None:
            return TensorShape(None)
        return TensorShape([None if rows is None else rows - 1, None, *inner.as_list()[1:]])

    def get_shape(self) -> TensorShape:
        return self.shape

    def components(self) -> Sequence[Any]:
        return self.values, self.row_splits

    def with_components(self, components: Sequence[Any]) -> RaggedTensor:
        return RaggedTensor(*components)

    def component_invariants(self, shape: TensorShape | None) -> list[TensorShape]:
        """The shapes that the components keep in a loop; `shape`: that of the whole. Raises
        `ValueError` for a shape that it does not have."""
        stated = self.shape if shape is None else TensorShape(shape)
        if not self.shape.is_compatible_with(stated):
            raise ValueError(f"The shape of {self} is not compatible with {stated}")
        rank = self.ragged_rank
        inner = TensorShape(None) if stated.ndims is None else stated[rank + 1 :]
        rows = None if stated.ndims is None else stated[0].value
        outer = TensorShape([None if rows is None else rows + 1])
        values = TensorShape([None]).concatenate(inner)
        return [values, *[TensorShape([None])] * (rank - 1), outer]

    def with_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of other values."""
        return RaggedTensor(new_values, self.row_splits)

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """The same rows, on all levels, of other innermost values."""
        if isinstance(self.values, RaggedTensor):
            return self.with_values(self.values.with_flat_values(new_values))
        return self.with_values(as_values(new_values))

    # -- made from other tensors

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = dtypes.i64,
    ) -> RaggedTensor:
        """The rows of a tensor, without what is behind `lengths`, a vector, or without the last
        elements that are `padding`, a scalar. Raises `ValueError` for both, a rank below 2 and
        another `ragged_rank` than 1."""
        with name_scope(name, "RaggedFromTensor", [tensor]):
            values, ends = rows_of_tensor(
                as_tensor(tensor), lengths, padding, ragged_rank, dtypes.as_dtype(row_splits_dtype)
            )
            return cls.from_row_lengths(values, ends, validate=False)

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = dtypes.i64
    ) -> RaggedTensor:
        """The rows of a sparse matrix whose values stand at the beginning of each row. Raises
        `TypeError` for what is no `SparseTensor`, `ValueError` for another rank; a run raises
        `InvalidArgumentError` for rows with gaps."""
        if not isinstance(st_input, SparseTensor):
            raise TypeError(
                "Argument `st_input` must be of type SparseTensor, but is of type "
                f"{type(st_input).__name__}."
            )
        if st_input.dense_shape.shape[0].value not in (None, 2):
            raise ValueError("rank(st_input) must be 2.")
        with name_scope(name, "RaggedFromSparse", [st_input.values]):
            dtype = dtypes.as_dtype(row_splits_dtype)
            rows, columns = (cast(st_input.indices[:, k], dtype) for k in (0, 1))
            count = cast(st_input.dense_shape[0], dtype)
            found = cls.from_value_rowids(st_input.values, rows, count, validate=False)
            return found.with_values(at_the_left(found.values, rows, columns, found.row_starts()))

    # -- what can be said of its rows

    def row_starts(self, name: str | None = None) -> Tensor:
        """Where each row begins."""
        with name_scope(name, "RaggedRowStarts", [self]):
            return self.row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Tensor:
        """Where each row ends."""
        with name_scope(name, "RaggedRowLimits", [self]):
            return self.row_splits[1:]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Tensor:
        """How many values each row has. Raises `ValueError` for another axis than 1."""
        if axis != 1:
            raise ValueError(f"row_lengths of axis {axis}: expected 1")
        with name_scope(name, "RaggedRowLengths", [self]):
            return self.row_splits[1:] - self.row_splits[:-1]

    def value_rowids(self, name: str | None = None) -> Tensor:
        """The row of each value."""
        with name_scope(name, "RaggedValueRowIds", [self]):
            places = range_of(cast(value_count(self.values), self.row_splits.dtype))
            limits = expand_dims(self.row_splits[1:], 0)
            found = output("UpperBound", limits, expand_dims(places, 0), out_type=dtypes.i64)
            return cast(found[0], self.row_splits.dtype)

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """How many values each row has, on all levels, the outermost first."""
        with name_scope(name, "RaggedNestedRowLengths", [self]):
            return tuple(splits[1:] - splits[:-1] for splits in self.nested_row_splits)

    def bounding_shape(
        self, axis: Any = None, name: str | None = None, out_type: Any = None
    ) -> Tensor:
        """The sizes of the least tensor that holds all rows, or those of an axis or some."""
        with name_scope(name, "RaggedBoundingBox", [self]):
            dtype = self.row_splits.dtype if out_type is None else dtypes.as_dtype(out_type)
            longest = [reduce_max(concat([n, [0]], 0)) for n in self.nested_row_lengths()]
            inner = shape(self.flat_values, out_type=self.row_splits.dtype)[1:]
            sizes = concat([stack([self.nrows(), *longest]), inner], 0)
            return cast(sizes if axis is None else gather(sizes, axis), dtype)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """The rows of the first two axes, one behind the other: the values. Raises `ValueError` for
        other axes."""
        if (outer_axis, inner_axis) != (0, 1):
            raise ValueError(f"merge_dims of {outer_axis} and {inner_axis}: expected 0 and 1")
        return self.values

    def with_row_splits_dtype(self, dtype: Any) -> RaggedTensor:
        """The same rows, partitioned by splits of int32 or int64."""
        inner = self.values
        if isinstance(inner, RaggedTensor):
            inner = inner.with_row_splits_dtype(dtype)
        return RaggedTensor(inner, cast(self.row_splits, dtypes.as_dtype(dtype)))

    def consumers(self) -> list[Operation]:
        """The operations that read the values or a partition."""
        parts = (self.flat_values, *self.nested_row_splits)
        return list(dict.fromkeys(op for part in parts for op in part.consumers()))

    def mapped(self, function: Any, operands: Sequence[Any], name: str | None) -> RaggedTensor:
        """What an elementwise function makes of operands, this one among them."""
        return over_rows(function, *operands, name=name)

    def joined(self, values: Sequence[Any], axis: Any) -> RaggedTensor:
        """`tf.concat` of several, this one among them. Raises as `picking.joined`."""
        from flowc.api.ragged import picking

        with name_scope(None, "RaggedConcat", list(values)):
            return picking.joined(values, axis)

    def stacked(self, values: Sequence[Any], axis: int) -> RaggedTensor:
        """`tf.stack` of several, this one among them. Raises as `picking.stacked`."""
        from flowc.api.ragged import picking

        with name_scope(None, "RaggedStack", list(values)):
            return picking.stacked(values, axis)

    def gathered(self, params: Any, indices: Any, axis: Any, batch_dims: int) -> Any:
        """`tf.gather` with this as one of the two. Raises as `picking.gathered`."""
        from flowc.api.ragged import picking

        return picking.gathered(params, indices, axis, batch_dims)

    def gathered_nd(self, indices: Any) -> Any:
        """`tf.gather_nd` of this one. Raises as `picking.gathered_nd`."""
        from flowc.api.ragged import picking

        with name_scope(None, "RaggedGatherNd", [self, indices]):
            return picking.gathered_nd(self, indices)

    def with_axis(self, axis: int) -> RaggedTensor:
        """`tf.expand_dims`. Raises `ValueError` for an axis out of range."""
        from flowc.api.ragged import picking

        with name_scope(None, "RaggedExpandDims", [self]):
            return picking.with_axis(self, axis)

    def squeezed(self, axis: Any) -> Any:
        """`tf.squeeze`. Raises as `picking.squeezed`."""
        from flowc.api.ragged import picking

        with name_scope(None, "RaggedSqueeze", [self]):
            return picking.squeezed(self, axis)

    def reversed_along(self, axis: Any) -> RaggedTensor:
        """`tf.reverse`. Raises as `picking.reversed_along`."""
        from flowc.api.ragged import picking

        with name_scope(None, "Reverse", [self]):
            return picking.reversed_along(self, axis)

    def tiled(self, multiples: Any) -> RaggedTensor:
        """`tf.tile`. Raises as `picking.tiled`."""
        from flowc.api.ragged import picking

        with name_scope(None, "RaggedTile", [self]):
            return picking.tiled(self, multiples)

    def reduced(self, fold: str, whole: Any, axis: Any, keep: bool) -> Any:
        """The reduction `fold` along an axis, which `whole` computes of tensors."""
        from flowc.api.ragged.folds import reduce_rows

        return reduce_rows(self, fold, whole, axis, keep)

    def __getitem__(self, key: Any) -> Any:
        """The rows, and the values in them, that an index, a slice, `...`, `newaxis` or a tuple of
        them names: a Tensor where no axis of different lengths is left. Raises `ValueError` for one
        position of such an axis, since not every row has it."""
        from flowc.api.ragged.indexing import pick

        keys = list(key) if isinstance(key, tuple | list) else [key]
        with name_scope(None, "RaggedGetItem", [self]):
            return pick(self, keys)

    def __iter__(self) -> Any:
        raise TypeError(
            "a RaggedTensor of a graph is not iterable: how many rows it has, a run says"
        )

    # -- as other tensors

    def to_tensor(
        self, default_value: Any = None, name: str | None = None, shape: Any = None
    ) -> Tensor:
        """All rows as long as the longest one, or as `shape` says, filled up with the default
        (0, or an empty string)."""
        dtype = self.flat_values.dtype
        with name_scope(name, "RaggedToTensor", [self, default_value, shape]):
            if default_value is None:
                default_value = (
                    "" if dtype is dtypes.string else np.zeros((), dtype and dtype.numpy)
                )
            sizes = TensorShape(shape).as_list() if shape is not None else None
            wanted = -1 if sizes is None else [-1 if s is None else s for s in sizes]
            splits = self.nested_row_splits
            return output(
                "RaggedTensorToTensor",
                as_tensor(np.array(wanted, np.int64)),
                self.flat_values,
                as_tensor(default_value, dtype),
                list(splits),
                row_partition_types=["ROW_SPLITS"] * len(splits),
            )

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """The values as a `SparseTensor`."""
        with name_scope(name, "RaggedToSparse", [self]):
            found = call("RaggedTensorToSparse", list(self.nested_row_splits), self.flat_values)
            return SparseTensor(*found)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """The value, run in `session` or the default one. Raises as `Tensor.eval`."""
        return evaluate(self, feed_dict, session)

    def __repr__(self) -> str:
        return f"tf.RaggedTensor(values={self.values}, row_splits={self.row_splits})"
