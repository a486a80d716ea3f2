"""Rows put together, picked by masks, and crossed.

In: `RaggedTensor`s and tensors. Out: `RaggedTensor`s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.api.arrays.selection import gather, where
from flowc.api.arrays.shaping import concat, reshape, shape
from flowc.api.framework.basics import cast
from flowc.api.framework.composites import SparseTensor
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope
from flowc.api.math.reductions import unsorted_segment_sum
from flowc.api.ragged.picking import stacked
from flowc.api.ragged.ragged_tensor import RaggedTensor
from flowc.api.sparse.crosses import HASH_KEY, feature_of
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.subscripts import boolean_mask as dense_mask


def stack(values: Sequence[Any], axis: int = 0, name: str | None = None) -> Any:
    """Vectors or ragged tensors as the rows of one with an axis more; ragged ones along any axis.
    Raises `TypeError` for what is no list, `ValueError` for none of them, other ranks, and another
    axis of vectors than 0."""
    if not isinstance(values, list | tuple):
        raise TypeError("Argument `values` must be list or tuple.")
    if not values:
        raise ValueError("rt_inputs may not be empty.")
    with name_scope(name, "RaggedStack", list(values)):
        parts = [x if isinstance(x, RaggedTensor) else as_tensor(x) for x in values]
        vectors = [x for x in parts if isinstance(x, Tensor) and x.shape.ndims == 1]
        if not vectors:
            return stacked(parts, axis)
        if axis != 0 or len(vectors) < len(parts):
            raise ValueError(f"tf.ragged.stack takes vectors along axis 0: found {axis}, {parts}")
        lengths = concat([shape(x, out_type=dtypes.i64) for x in vectors], 0)
        return RaggedTensor.from_row_lengths(concat(vectors, 0), lengths, validate=False)


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """What a mask leaves of rows: of the values in them, where it has their rank, or of whole rows,
    for a vector. `data`: ragged, or a tensor, of which a matrix of a mask makes rows. Raises
    `ValueError` for a mask that does not fit."""
    with name_scope(name, "RaggedMask", [data, mask]):
        if not isinstance(mask, RaggedTensor):
            mask = as_tensor(mask, dtypes.bool_, "mask")
        if not isinstance(data, RaggedTensor):
            data = as_tensor(data, name="data")
        if isinstance(mask, Tensor) and mask.shape.ndims == 1:
            if isinstance(data, Tensor):
                return dense_mask(data, mask)
            rows = reshape(where(mask), [-1])
            kept = gather(cast(mask, dtypes.i32), data.value_rowids()) > 0
            lengths = gather(data.row_lengths(), rows)
            values = boolean_mask(data.values, kept)
            return RaggedTensor.from_row_lengths(values, lengths, validate=False)
        pair = [x if isinstance(x, RaggedTensor) else RaggedTensor.from_tensor(x)
                for x in (data, mask)]  # fmt: skip
        own, kept = pair
        counts = unsorted_segment_sum(
            cast(kept.values, dtypes.i64), kept.value_rowids(), kept.nrows(dtypes.i64)
        )
        values = dense_mask(own.values, kept.values)
        return RaggedTensor.from_row_lengths(values, counts, validate=False)


def cross(inputs: Sequence[Any], name: str | None = None) -> RaggedTensor:
    """The crosses of the features in each row, as strings joined by `_X_`: every combination of one
    of each input. `inputs`: ragged and sparse tensors and dense matrices of strings or numbers.
    Raises `TypeError` for what is no list."""
    return _crossed(inputs, False, 0, None, name)


def cross_hashed(
    inputs: Sequence[Any],
    num_buckets: int = 0,
    hash_key: int | None = None,
    name: str | None = None,
) -> RaggedTensor:
    """The crosses of the features in each row, each as a number below `num_buckets` (any, if 0).
    Takes and raises what `cross` does."""
    return _crossed(inputs, True, num_buckets, hash_key, name)


def _crossed(
    inputs: Any, hashed: bool, num_buckets: int, hash_key: int | None, name: str | None
) -> RaggedTensor:
    if not isinstance(inputs, list | tuple):
        raise TypeError("Inputs must be a list")
    with name_scope(name, "RaggedCross", list(inputs)):
        given = [x if isinstance(x, RaggedTensor | SparseTensor) else as_tensor(x) for x in inputs]
        order = "".join(
            "R" if isinstance(x, RaggedTensor) else "S" if isinstance(x, SparseTensor) else "D"
            for x in given
        )
        ragged = [x for x in given if isinstance(x, RaggedTensor)]
        sparse = [x for x in given if isinstance(x, SparseTensor)]
        dense = [feature_of(x) for x in given if isinstance(x, Tensor)]
        wide = any(x.row_splits.base_dtype is dtypes.i64 for x in ragged) or not ragged
        found = call(
            "RaggedCross",
            ragged_values=[feature_of(x.values) for x in ragged],
            ragged_row_splits=[x.row_splits for x in ragged],
            sparse_indices=[x.indices for x in sparse],
            sparse_values=[feature_of(x.values) for x in sparse],
            sparse_shape=[x.dense_shape for x in sparse],
            dense_inputs=dense,
            input_order=order,
            hashed_output=hashed,
            num_buckets=num_buckets,
            hash_key=hash_key or HASH_KEY,
            out_values_type=dtypes.i64 if hashed else dtypes.string,
            out_row_splits_type=dtypes.i64 if wide else dtypes.i32,
        )
        return RaggedTensor(found.output_values, found.output_row_splits)
