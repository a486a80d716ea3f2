"""Ragged tensors: rows of different lengths as dense and sparse tensors, gathered, and as ranges.

In: values, and partitions of them into rows, level by level. Out: host steps. Invariant: what does
not fit the values ends the run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.host_ops import host_op
from flowc.ops.strings.string_values import check_count

Array = np.ndarray[Any, Any]
FIRST_DIM_SIZE, VALUE_ROWIDS, ROW_SPLITS = "FIRST_DIM_SIZE", "VALUE_ROWIDS", "ROW_SPLITS"


def check_splits(splits: Array, count: int) -> None:
    """Raises `InvalidArgumentError` where splits do not partition `count` values."""
    falls = np.flatnonzero(np.diff(splits) < 0)
    if not len(splits):
        fault = "ragged splits may not be empty"
    elif splits[0] != 0:
        fault = f"First value of ragged splits must be 0, found {splits[0]}"
    elif len(falls):
        one, other = splits[falls[0]], splits[falls[0] + 1]
        fault = f"Ragged splits should be non decreasing, but we got {one} followed by {other}"
    elif splits[-1] != count:
        fault = (
            "Final value of ragged splits must match the length the corresponding ragged values: "
            f"{splits[-1]} and {count}"
        )
    else:
        return
    raise InvalidArgumentError(f"Invalid ragged splits: {fault}")


def _rows(splits: Array) -> tuple[Array, Array]:
    """For each value its row, and its position in the row."""
    counts = np.diff(splits)
    return np.repeat(np.arange(len(counts)), counts), np.arange(splits[-1]) - np.repeat(
        splits[:-1], counts
    )


def _levels(partitions: Sequence[Array], kinds: Sequence[str], count: int) -> list[Array]:
    """The splits of each level, the outermost first; `count`: of the values."""
    if kinds[0] != FIRST_DIM_SIZE:
        if any(kind != ROW_SPLITS for kind in kinds):
            raise InvalidArgumentError(f"Unsupported row partition types: {', '.join(kinds)}")
        found = [np.asarray(p, np.int64) for p in partitions]
        ends = [*(len(p) - 1 for p in found[1:]), count]
    else:
        rows, found, ends = int(partitions[0]), [], []
        if rows < 0 or len(partitions) < 2:
            raise InvalidArgumentError("a first size must not be negative, nor stand alone")
        check_count(rows, "rows")
        for kind, partition in zip(kinds[1:], partitions[1:]):
            if kind != VALUE_ROWIDS:
                raise InvalidArgumentError(f"Unsupported row partition type: {kind}")
            ids = np.asarray(partition, np.int64)
            if len(ids) and ((np.diff(ids) < 0).any() or ids[0] < 0 or ids[-1] >= rows):
                raise InvalidArgumentError("Invalid value_rowids: they must rise, within the rows")
            counts = np.bincount(ids, minlength=rows)
            found.append(np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]))
            rows = len(ids)
            ends.append(rows)
        ends = [*ends[:-1], count]
    for splits, end in zip(found, ends):
        check_splits(splits, end)
    return found


def places_of(levels: Sequence[Array]) -> Array:
    """The place of each value: [values, levels + 1]."""
    owners, columns = None, []
    for splits in reversed(levels):
        rows, places = _rows(splits)
        columns.append(places if owners is None else places[owners])
        owners = rows if owners is None else rows[owners]
    assert owners is not None
    return np.stack([owners, *reversed(columns)], 1)


def _to_tensor(
    inputs: Sequence[Any], _: Sequence[DType], *, row_partition_types: Sequence[str]
) -> list[Array]:
    wanted, values, default, *partitions = (np.asarray(x) for x in inputs)
    levels = _levels(partitions, row_partition_types, len(values))
    rank, inner = len(levels) + 1, values.shape[1:]
    sizes = [len(levels[0]) - 1, *(int(np.diff(s).max(initial=0)) for s in levels)]
    asked = [-1] * (rank + len(inner)) if not wanted.ndim else wanted.tolist()
    if len(asked) != rank + len(inner):
        raise InvalidArgumentError(
            f"shape {asked} has {len(asked)} sizes, and the ragged tensor {rank + len(inner)}"
        )
    sizes = [own if size < 0 else size for own, size in zip(sizes, asked)]
    check_count(math.prod((*sizes, *inner)), "elements")
    places = places_of(levels)
    kept = (places < sizes).all(axis=1)
    found = np.empty((*sizes, *inner), values.dtype)
    try:
        found[...] = default
    except ValueError:
        raise InvalidArgumentError(
            f"default_value.shape={list(default.shape)} and rt_input.flat_values.shape="
            f"{list(values.shape)} are incompatible"
        ) from None
    found[tuple(places[kept].T)] = values[kept]
    return [found]


def _check_ranks(c: Inference, partitions: Sequence[int], values: int) -> None:
    for i in partitions:
        c.need_rank(i, 1)
    if not c.rank(values):
        raise c.fail("Shape must be at least rank 1 but is rank 0")


def _infer_to_tensor(c: Inference) -> Dims:
    kinds = c.attrs["row_partition_types"]
    if len(kinds) != len(c.inputs) - 3:
        raise c.fail(f"{len(kinds)} row_partition_types for {len(c.inputs) - 3} partitions")
    first = kinds[0] == FIRST_DIM_SIZE
    _check_ranks(c, range(3 + first, len(c.inputs)), 1)
    if c.rank(0) > 1 or (first and c.rank(3)):
        raise c.fail("the shape must be a scalar or vector, a first size a scalar")
    ranks = len(kinds) - first + 1
    inner = c.dims(1)[1:]
    known = c.content(0)
    sizes = [None] * ranks if known is None or not known.ndim else list(known[:ranks])
    rows: Any = None
    if kinds[0] == ROW_SPLITS:
        rows = c.dims(3)[0] - 1
    found: list[Any] = []
    for axis, size in enumerate(sizes):
        fixed = isinstance(size, int | np.integer) and size >= 0
        own = rows if axis == 0 else None
        found.append(int(size) if fixed else own if own is not None else c.fresh("size"))
    return (*found, *inner)


def _to_tensor_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """The gradient of RaggedTensorToTensor: the op, applied to the indices of the values, tells
    where each value went."""
    shape, values, default, *partitions = node.inputs
    count = b.size_of(values, 0)
    inner = b.rank_of(values) - 1
    if b.rank_of(shape):
        shape = b.slice(shape, (0,), (b.rank_of(dy) - inner,))
    numbers = b.range(np.int32(0), count, np.int32(1))
    attrs = {"row_partition_types": node.attrs["row_partition_types"]}
    places = b.ragged_tensor_to_tensor(shape, numbers, np.int32(-1), *partitions, **attrs)
    rows = b.reshape(dy, b.concat(np.array([-1], np.int32), b.shape_of(values, 1), np.int32(0)))
    flat = b.reshape(places, (-1,))
    kept = b.reshape(b.where(b.greater_equal(flat, np.int32(0))), (-1,))
    axis = np.int32(0)
    to_values = b.sum_rows(b.gather(rows, kept, axis), b.gather(flat, kept, axis), values)
    empty = b.cast(b.less(places, np.int32(0)), DstT=dy.dtype)
    for _ in range(inner):
        empty = b.expand_dims(empty, np.int32(-1))
    return None, to_values, b.sum_to_shape_of(b.mul(dy, empty), default)


host_op(
    "ragged_tensor_to_tensor",
    "RaggedTensorToTensor(shape: Tshape, values: T, default_value: T, row_partition_tensors:"
    " num_row_partition_tensors*Tindex; T: type, Tindex: {i64, i32}, Tshape: {i64, i32},"
    " num_row_partition_tensors: int >= 1, row_partition_types: list(string)) -> result: T",
    _to_tensor,
    infer=_infer_to_tensor,
    gradient=_to_tensor_gradient,
)


def _to_sparse(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    *levels, values = (np.asarray(x) for x in inputs)
    levels = _levels(levels, [ROW_SPLITS] * len(levels), len(values))
    places, inner = places_of(levels), values.shape[1:]
    sizes = [len(levels[0]) - 1, *(int(np.diff(s).max(initial=0)) for s in levels), *inner]
    size = int(np.prod(inner))
    more = np.indices(inner).reshape(len(inner), size).T
    indices = np.concatenate(
        [np.repeat(places, size, 0), np.tile(more, (len(values), 1))], 1
    ).astype(np.int64)
    return [np.ascontiguousarray(indices), values.reshape(-1), np.array(sizes, np.int64)]


def _infer_to_sparse(c: Inference) -> list[Dims]:
    last = len(c.inputs) - 1
    _check_ranks(c, range(last), last)
    values = c.dims(last)
    count: Any = 1
    for d in values:
        count = count * d
    rank = len(c.inputs) - 1 + len(values)
    return [(count, rank), (count,), (rank,)]


host_op(
    "ragged_tensor_to_sparse",
    "RaggedTensorToSparse(rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: T; RAGGED_RANK:"
    " int >= 1, T: type, Tsplits: {i32, i64} = i64) -> sparse_indices: i64, sparse_values: T,"
    " sparse_dense_shape: i64",
    _to_sparse,
    infer=_infer_to_sparse,
    gradient=lambda b, node, _, dy, *rest: (
        *(None for _ in node.inputs[1:]),
        b.reshape(dy, b.shape_of(node.inputs[-1])),
    ),
)


# -- gathered


def _gather(inputs: Sequence[Any], types: Sequence[DType]) -> list[Array]:
    *levels, values, indices = (np.asarray(x) for x in inputs)
    levels = _levels(levels, [ROW_SPLITS] * len(levels), len(values))
    rows = len(levels[0]) - 1
    wrong = np.flatnonzero((indices.reshape(-1) < 0) | (indices.reshape(-1) >= rows))
    if len(wrong):
        at = indices.reshape(-1)[wrong[0]]
        raise InvalidArgumentError(f"indices[{wrong[0]}] = {at} is not in [0, {rows})")
    found: list[Array] = []
    count = 1
    for axis in range(indices.ndim - 1):
        count *= indices.shape[axis]
        found.append(np.arange(count + 1) * indices.shape[axis + 1])
    chosen = indices.reshape(-1).astype(np.int64)
    for splits in levels:
        lengths = splits[chosen + 1] - splits[chosen]
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        chosen = np.arange(ends[-1]) - np.repeat(ends[:-1] - splits[chosen], lengths)
        found.append(ends)
    return [*(s.astype(types[0].numpy) for s in found), values[chosen]]


def _infer_gather(c: Inference) -> list[Dims]:
    indices, values = c.dims(len(c.inputs) - 1), c.dims(len(c.inputs) - 2)
    levels = len(c.inputs) - 2
    _check_ranks(c, range(levels), levels)
    if c.attrs["OUTPUT_RAGGED_RANK"] != levels + len(indices) - 1:
        raise c.fail("OUTPUT_RAGGED_RANK must be PARAMS_RAGGED_RANK and the rank of indices less 1")
    found: list[Dims] = []
    count: Any = 1
    for d in indices:
        count = count * d
        found.append((count + 1,))
    found += [(c.fresh("splits"),) for _ in range(levels - (1 if indices else 0))]
    return [*found, (c.fresh("values"), *values[1:])]


def _gather_gradient(b: GradientBuilder, node: Forward, *dys: Any) -> Any:
    """The gradient of RaggedGather: the op, applied to the indices of the values, tells which
    values were read."""
    *splits, values, indices = node.inputs
    numbers = b.range(np.int32(0), b.size_of(values, 0), np.int32(1))
    *_, places = b.with_attrs_of(node, "ragged_gather", *splits, numbers, indices)
    return *(None for _ in splits), b.sum_rows(dys[-1], places, values)


host_op(
    "ragged_gather",
    "RaggedGather(params_nested_splits: PARAMS_RAGGED_RANK*Tsplits, params_dense_values: Tvalues,"
    " indices: Tindices; Tvalues: type, Tindices: {i32, i64}, Tsplits: {i32, i64} = i64,"
    " PARAMS_RAGGED_RANK: int >= 1, OUTPUT_RAGGED_RANK: int >= 0) -> output_nested_splits:"
    " OUTPUT_RAGGED_RANK*Tsplits, output_dense_values: Tvalues",
    _gather,
    infer=_infer_gather,
    gradient=_gather_gradient,
)


# -- ranges

_MOST = 2**63 - 1  # elements of a range


def _range(inputs: Sequence[Any], types: Sequence[DType]) -> list[Array]:
    starts, limits, steps = np.broadcast_arrays(*(np.atleast_1d(x) for x in inputs))
    if not steps.all():
        raise InvalidArgumentError("Requires delta != 0")
    toward = np.where(steps > 0, limits > starts, limits < starts)
    if types[1].is_floating:
        with np.errstate(over="ignore", invalid="ignore"):
            counts = np.where(toward, np.ceil(np.abs((limits - starts) / steps)), 0)
        if not (counts <= _MOST).all():
            raise InvalidArgumentError(f"Requires ((limit - start) / delta) <= {_MOST}")
    else:
        # The way from one end of int64 to the other does not fit into it, but into uint64.
        first, last, step = (x.astype(np.int64).view(np.uint64) for x in (starts, limits, steps))
        way = np.where(steps > 0, last - first, first - last)
        counts = np.where(toward, (way - 1) // np.where(steps > 0, step, 0 - step) + 1, 0)
    count = int(counts.sum(dtype=np.float64))
    if count > np.iinfo(types[0].numpy).max:
        raise InvalidArgumentError(
            "The total range size overflowed. Consider using int64 instead of int32 for "
            "row_splits_dtype."
        )
    check_count(count, "elements of ranges")
    counts = counts.astype(np.int64)
    splits = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    values = np.repeat(steps, counts)
    if types[1].is_floating:  # each number is the one before and a step, rounded
        for i in np.flatnonzero(counts):
            row = values[splits[i] : splits[i + 1]]
            row[0] = starts[i]
            np.add.accumulate(row, out=row)
    else:
        places = np.arange(splits[-1]) - np.repeat(splits[:-1], counts)
        values = np.repeat(starts, counts) + places.astype(starts.dtype) * values
    return [splits.astype(types[0].numpy), values]


def _infer_range(c: Inference) -> list[Dims]:
    rows: Any = 1
    for i in range(3):
        if c.rank(i) > 1:
            raise c.fail(f"{('starts', 'limits', 'deltas')[i]} must be a scalar or vector")
        if c.rank(i):
            rows = c.dims(i)[0]
    return [(rows + 1,), (c.fresh("values"),)]


host_op(
    "ragged_range",
    "RaggedRange(starts: T, limits: T, deltas: T; T: {bf16, f32, f64, i32, i64} = i32, Tsplits:"
    " {i32, i64} = i64) -> rt_nested_splits: Tsplits, rt_dense_values: T",
    _range,
    infer=_infer_range,
)
