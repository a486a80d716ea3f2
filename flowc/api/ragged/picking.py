"""Rows of ragged tensors picked, repeated and put beside each other.

In: `RaggedTensor`s, and tensors beside them. Out: `RaggedTensor`s; of one row, what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import range as range_of
from flowc.api.arrays.selection import gather, gather_nd
from flowc.api.arrays.shaping import concat, expand_dims, reshape, tile, transpose
from flowc.api.framework.basics import cast
from flowc.api.framework.checks import Assert
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope, with_dependencies
from flowc.api.math.elementwise import equal, less, less_equal, logical_and
from flowc.api.math.reductions import reduce_all
from flowc.api.ragged.ragged_tensor import RaggedTensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.shape_inference import constant_elements


def gathered(params: Any, indices: Any, axis: Any, batch_dims: int) -> Any:
    """`tf.gather` where `params` or `indices` are ragged, along axis 0. Raises `ValueError` for
    another axis."""
    if axis != 0 or batch_dims:
        raise ValueError(f"tf.gather of RaggedTensors picks rows: found axis {axis}")
    with name_scope(None, "RaggedGather", [params, indices]):
        if isinstance(indices, RaggedTensor):
            return indices.with_flat_values(gather(params, indices.flat_values))
        places = as_tensor(indices, name="indices")
        if places.shape.ndims == 0:
            return params[places]
        deeper = places.shape.with_rank_at_least(1).ndims or 1
        found = call(
            "RaggedGather",
            params_nested_splits=list(params.nested_row_splits),
            params_dense_values=params.flat_values,
            indices=places,
            OUTPUT_RAGGED_RANK=params.ragged_rank + deeper - 1,
        )
        return RaggedTensor.from_nested_row_splits(
            found.output_dense_values, list(found.output_nested_splits), validate=False
        )


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
    fits = reduce_all(logical_and(less_equal(0, within), less(within, lengths)))
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
    inner = value.flat_values.shape.ndims
    if inner is None:
        raise ValueError(f"the rank of {value} must be known")
    return value.ragged_rank + inner


def _in_range(axis: int, count: int) -> int:
    if not -count <= axis < count:
        raise ValueError(f"axis={axis} out of bounds: expected {-count}<=axis<{count}")
    return axis % count
