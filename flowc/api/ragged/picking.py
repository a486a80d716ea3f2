"""Rows of ragged tensors picked, repeated and put beside each other.

In: `RaggedTensor`s, and tensors beside them. Out: `RaggedTensor`s; of one row, what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import range as range_of
from flowc.api.arrays.selection import gather, gather_nd
from flowc.api.arrays.shaping import (
    concat,
    expand_dims,
    reshape,
    shape,
    squeeze,
    tile,
    transpose,
)
from flowc.api.framework.basics import cast
from flowc.api.framework.checks import Assert
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope, with_dependencies
from flowc.api.math.elementwise import equal, less, logical_and
from flowc.api.math.reductions import reduce_all
from flowc.api.ragged.ragged_tensor import RaggedTensor
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.shape_inference import constant_elements


def gathered(params: Any, indices: Any, axis: Any, batch_dims: int) -> Any:
    """`tf.gather` where `params` or `indices` are ragged. Raises `ValueError` for an axis or a
    number of batches out of range, and for ragged indices of another axis than the first; a run
    raises `InvalidArgumentError` for one that its row does not have."""
    with name_scope(None, "RaggedGather", [params, indices]):
        given = [x if isinstance(x, RaggedTensor) else as_tensor(x) for x in (params, indices)]
        batches = batch_dims + _rank(given[1]) if batch_dims < 0 else batch_dims
        axis = _in_range(batches if axis is None else axis, _rank(given[0]))
        if axis < batches:
            raise ValueError("axis must be greater than or equal to batch_dims")
        return _gathered(given[0], given[1], axis, batches)


def _gathered(params: Any, indices: Any, axis: int, batch_dims: int) -> Any:
    if not isinstance(params, RaggedTensor) and not isinstance(indices, RaggedTensor):
        return gather(params, indices, axis=axis, batch_dims=batch_dims)
    if axis > 1 or batch_dims > 1:
        rows = _with_rows(params)
        inner = indices
        if batch_dims > 1:
            inner = _with_rows(indices).values
        elif batch_dims == 1:  # those of the outer rows, for each of the next ones
            inner = _gathered(indices, rows.value_rowids(), 0, 0)
        left = batch_dims - 1 if batch_dims > 1 else batch_dims
        return rows.with_values(_gathered(rows.values, inner, axis - 1, left))
    if axis == 1:
        return _of_each_row(params, indices, batch_dims)
    if isinstance(indices, RaggedTensor):
        return indices.with_values(_gathered(params, indices.values, 0, 0))
    if indices.shape.ndims == 0:
        return params[indices]
    found = call(
        "RaggedGather",
        params_nested_splits=list(params.nested_row_splits),
        params_dense_values=params.flat_values,
        indices=indices,
        OUTPUT_RAGGED_RANK=params.ragged_rank + _rank(indices) - 1,
    )
    return RaggedTensor.from_nested_row_splits(
        found.output_dense_values, list(found.output_nested_splits), validate=False
    )


def _of_each_row(params: Any, indices: Any, batch_dims: int) -> Any:
    """Values of each row: at indices of its own, or where there are no batches at the same."""
    rows = _with_rows(params)
    flat = indices.flat_values if isinstance(indices, RaggedTensor) else indices
    kind = flat.dtype
    starts, lengths = cast(rows.row_starts(), kind), cast(rows.row_lengths(), kind)
    if batch_dims:
        starts, lengths = (_for_each_value(x, indices) for x in (starts, lengths))
    elif isinstance(indices, RaggedTensor):
        raise ValueError("ragged indices pick along axis 0: found axis 1")
    else:
        sizes = [-1, *[1] * _rank(flat)]
        starts, lengths = reshape(starts, sizes), reshape(lengths, sizes)
    fits = reduce_all(logical_and(flat >= 0, less(flat, lengths)))
    places = with_dependencies([Assert(fits, ["indices outside of their rows:", flat])], flat)
    places = places + starts
    if isinstance(indices, RaggedTensor):
        return _gathered(rows.values, indices.with_flat_values(places), 0, 0)
    return _gathered(rows.values, places, 0, 0)


def _for_each_value(numbers: Tensor, rows: Any) -> Tensor:
    """A number for each row as one that goes with each of its innermost values."""
    if isinstance(rows, RaggedTensor):
        return _for_each_value(gather(numbers, rows.value_rowids()), rows.values)
    return reshape(numbers, [-1, *[1] * (_rank(rows) - 1)])


def _with_rows(value: Any) -> RaggedTensor:
    """A tensor as rows of one length."""
    if isinstance(value, RaggedTensor):
        return value
    sizes = shape(value, out_type=dtypes.i64)
    flat = reshape(value, concat([[-1], sizes[2:]], 0))
    return RaggedTensor(flat, range_of(sizes[0] + 1) * sizes[1])


def squeezed(value: RaggedTensor, axis: Any) -> Any:
    """`tf.squeeze` of a ragged tensor. Raises `ValueError` for no axis and one out of range,
    `TypeError` for what is no integer; a run raises `InvalidArgumentError` where an axis of rows
    has another size than 1."""
    if axis is None:
        raise ValueError("Ragged.squeeze must have an axis argument.")
    axes = [axis] if isinstance(axis, int) else axis
    if not isinstance(axes, list | tuple) or not all(isinstance(n, int) for n in axes):
        raise TypeError("Axis must be a list or tuple of integers.")
    rank, found = _rank(value), value
    for n in sorted({_in_range(n, rank) for n in axes}, reverse=True):
        found = _without_axis(found, n)
    return found


def _without_axis(value: Any, axis: int) -> Any:
    if not isinstance(value, RaggedTensor):
        return squeeze(value, [axis])
    if axis > 1:
        return value.with_values(_without_axis(value.values, axis - 1))
    fits = equal(value.row_lengths() if axis else value.nrows(), 1)
    text = f"the given axis (axis = {axis}) is not squeezable!"
    checks = [Assert(reduce_all(fits), [text])]
    inner = value.values
    if isinstance(inner, RaggedTensor):
        return RaggedTensor(inner.values, with_dependencies(checks, inner.row_splits))
    return with_dependencies(checks, inner)


def reversed_along(value: RaggedTensor, axis: Any) -> RaggedTensor:
    """`tf.reverse` of a ragged tensor. Raises `TypeError` for axes that are no list of integers and
    `ValueError` for one out of range."""
    known = constant_elements(axis) if isinstance(axis, Tensor) else axis
    axes = known.tolist() if isinstance(known, np.ndarray) else known
    if not isinstance(axes, list | tuple) or not all(isinstance(n, int) for n in axes):
        raise TypeError(
            "`axis` must be a list of int or a constant tensor when reversing axes in a ragged "
            "tensor"
        )
    rank = _rank(value)
    turned = {_in_range(n, rank) for n in axes}
    return value[tuple(slice(None, None, -1 if n in turned else None) for n in range(rank))]


def gathered_nd(params: Any, indices: Any) -> Any:
    """`tf.gather_nd` of a ragged tensor. Raises `ValueError` for coordinates of an unknown depth; a
    run raises `InvalidArgumentError` for one outside of its row."""
    places = as_tensor(indices, name="indices")
    depth = places.shape.with_rank_at_least(1)[-1].value
    if not depth:
        raise ValueError(f"how deep the coordinates {places} go must be known")
    if not isinstance(params, RaggedTensor):
        return gather_nd(params, places)
    rows = places[..., 0]
    if depth == 1:
        return gathered(params, rows, 0, 0)
    kind = params.row_splits.dtype
    within, lengths = cast(places[..., 1], kind), gather(params.row_lengths(), rows)
    fits = reduce_all(logical_and(within >= 0, less(within, lengths)))
    checked = with_dependencies([Assert(fits, ["indices outside of their rows:", places])], within)
    inner = expand_dims(gather(params.row_starts(), rows) + checked, -1)
    return gathered_nd(params.values, concat([inner, cast(places[..., 2:], kind)], -1))


def joined(values: Sequence[Any], axis: int) -> RaggedTensor:
    """`tf.concat` of ragged tensors and tensors, along any axis. Raises `ValueError` for an axis
    out of range; a run raises `InvalidArgumentError` where they differ in rows, along others than
    the first axis."""
    parts = [x if isinstance(x, RaggedTensor) else RaggedTensor.from_tensor(x) for x in values]
    axis = _in_range(axis, _rank(parts[0]))
    if axis == 0:
        lengths = concat([cast(x.row_lengths(), dtypes.i64) for x in parts], 0)
        inner = concat([x.values for x in parts], 0)
        return RaggedTensor.from_row_lengths(inner, lengths, validate=False)
    first, counts = parts[0], [x.nrows(dtypes.i64) for x in parts]
    fault = "Input tensors have incompatible shapes."
    checks = [Assert(equal(counts[0], n), [fault, counts[0], n]) for n in counts[1:]]
    if axis > 1:
        inner = concat([x.values for x in parts], axis - 1)
        return RaggedTensor(inner, with_dependencies(checks, first.row_splits))
    # The rows of all, those of one number behind each other, and every so many make one.
    count, rows = len(parts), with_dependencies(checks, counts[0])
    order = transpose(reshape(range_of(count * rows), [count, -1]))
    one_by_one = gathered(joined(parts, 0), reshape(order, [-1]), 0, 0)
    return RaggedTensor(one_by_one.values, one_by_one.row_splits[::count])


def stacked(values: Sequence[Any], axis: int) -> RaggedTensor:
    """`tf.stack` of ragged tensors. Raises and ends runs as `joined`."""
    return joined([with_axis(x, axis) for x in values], axis)


def with_axis(value: Any, axis: int) -> Any:
    """`tf.expand_dims` of a ragged tensor. Raises `ValueError` for an axis out of range."""
    if not isinstance(value, RaggedTensor):
        return expand_dims(value, axis)
    axis = _in_range(axis, _rank(value) + 1)
    if axis > 1:
        return value.with_values(with_axis(value.values, axis - 1))
    rows = value.nrows(dtypes.i64)
    return RaggedTensor(value, range_of(rows + 1) if axis else range_of(2, dtype=dtypes.i64) * rows)


def tiled(value: RaggedTensor, multiples: Any) -> RaggedTensor:
    """`tf.tile` of a ragged tensor, as often as numbers say that are known. Raises `ValueError` for
    others, for less than 1, and for another number of them than axes."""
    known = constant_elements(as_tensor(multiples))
    if known is None or len(known) != _rank(value) or min(known) < 1:
        raise ValueError(
            f"tf.tile of a RaggedTensor of rank {_rank(value)} takes as many numbers above 0, "
            f"which are known: found {multiples}"
        )
    times = [int(n) for n in known]
    deep = value.ragged_rank
    value = value.with_flat_values(tile(value.flat_values, [1, *times[deep + 1 :]]))
    for axis in range(deep, -1, -1):
        value = joined([value] * times[axis], axis) if times[axis] > 1 else value
    return value


def _rank(value: Any) -> int:
    rank = value.shape.ndims
    if rank is None:
        raise ValueError(f"the rank of {value} must be known")
    return rank


def _in_range(axis: int, count: int) -> int:
    if not -count <= axis < count:
        raise ValueError(f"axis={axis} out of bounds: expected {-count}<=axis<{count}")
    return axis % count
