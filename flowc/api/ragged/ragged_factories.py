"""`tf.ragged`: ragged tensors and their values made from Python lists, placeholders for them, and
what is said of their partitions.

In: nested lists, partitions. Out: `RaggedTensor`, `RaggedTensorValue`, plain tensors. Invariant:
all scalars of a list stand at one depth.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.framework import basics
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope
from flowc.api.math.reductions import cumsum, unsorted_segment_sum
from flowc.api.ragged.ragged_tensor import RaggedTensor
from flowc.api.ragged.ragged_value import RaggedTensorValue
from flowc.graph import Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | None = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.i64,
) -> Any:
    """A constant `RaggedTensor` of nested lists, or a Tensor where no level is ragged.

    `ragged_rank`: how many levels are ragged (one less than there are, or than `inner_shape`
    leaves); `inner_shape`: that of the values. Raises `ValueError` for scalars at several depths
    and for levels that do not fit, `TypeError` for values that are not of the dtype.
    """

    def values_of(values: Any, shape: Sequence[int]) -> Tensor:
        return basics.constant(values, dtype, shape, name="values" if shape else name or "Const")

    splits_dtype = _splits_dtype(row_splits_dtype)
    with name_scope(name, "RaggedConstant"):

        def ragged(values: Any, splits: list[int]) -> RaggedTensor:
            made = as_tensor(np.array(splits, splits_dtype.numpy))
            return RaggedTensor.from_row_splits(values, made, validate=False)

        return _built(pylist, ragged_rank, inner_shape, values_of, ragged)


def constant_value(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | None = None,
    row_splits_dtype: Any = "int64",
) -> Any:
    """The value of `constant`, to feed or to compare with: a `RaggedTensorValue`, or an array.
    Raises `ValueError` as `constant` does."""
    numpy_dtype = None if dtype is None else dtypes.as_dtype(dtype).numpy
    splits_dtype = _splits_dtype(row_splits_dtype)

    def values_of(values: Any, shape: Sequence[int]) -> np.ndarray:
        empty = np.float32 if numpy_dtype is None and not values else numpy_dtype
        return np.reshape(np.array(values, empty), tuple(shape))

    def ragged(values: Any, splits: list[int]) -> RaggedTensorValue:
        return RaggedTensorValue(values, np.array(splits, splits_dtype.numpy))

    return _built(pylist, ragged_rank, inner_shape, values_of, ragged)


def placeholder(
    dtype: Any, ragged_rank: int, value_shape: Any = None, name: str | None = None
) -> Any:
    """A ragged tensor that every run must feed, with a `RaggedTensorValue`. `value_shape`: of one
    value. Raises `TypeError` for what is no dtype."""
    if ragged_rank == 0:
        return basics.placeholder(dtype, value_shape, name)
    with name_scope(name, "RaggedPlaceholder"):
        shape = TensorShape([None]).concatenate(TensorShape(value_shape))
        found: Any = basics.placeholder(dtype, shape, "flat_values")
        for level in reversed(range(ragged_rank)):
            splits = basics.placeholder(dtypes.i64, [None], f"row_splits_{level}")
            found = RaggedTensor(found, splits)
        return found


def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """The row of each value, from where the rows begin and the last one ends: [0, 3, 3, 5] gives
    [0, 0, 0, 2, 2]. Raises `ValueError` for splits that are no vector of integers."""
    with name_scope(name, "RaggedSplitsToSegmentIds"):
        given = _with_preferred(splits)
        if given.dtype not in (dtypes.i32, dtypes.i64):
            raise ValueError(f"splits must have dtype int32 or int64, found {given.dtype}")
        if given.shape.ndims not in (None, 1):
            raise ValueError(f"Shape {given.shape} must have rank 1")
        wanted = given.dtype if out_type is None else dtypes.as_dtype(out_type)
        places = output("Range", as_tensor(0, given.dtype), given[-1], as_tensor(1, given.dtype))
        limits = output("ExpandDims", given[1:], 0)
        found = output("UpperBound", limits, output("ExpandDims", places, 0), out_type=dtypes.i64)
        return basics.cast(found[0], wanted)


def segment_ids_to_row_splits(
    segment_ids: Any,
    num_segments: Any = None,
    out_type: Any = None,
    name: str | None = None,
) -> Tensor:
    """Where the rows begin and the last one ends, from the row of each value, in order:
    [0, 0, 0, 2, 2] gives [0, 3, 3, 5]. `num_segments`: one more than the last row, if None. Raises
    `TypeError` for ids of another dtype than int32 and int64."""
    with name_scope(name, "SegmentIdsToRaggedSplits"):
        ids = _with_preferred(segment_ids)
        if ids.dtype not in (dtypes.i32, dtypes.i64):
            raise TypeError(f"segment_ids must have dtype int32 or int64, found {ids.dtype}")
        wanted = ids.dtype if out_type is None else dtypes.as_dtype(out_type)
        if num_segments is None:
            last = output("ConcatV2", [as_tensor([-1], ids.dtype), ids[-1:]], 0)[-1]
            num_segments = last + 1
        ones = output("OnesLike", basics.cast(ids, wanted))
        counts = unsorted_segment_sum(ones, ids, basics.cast(num_segments, dtypes.i64))
        zero = as_tensor([0], wanted)
        return output("ConcatV2", [zero, cumsum(counts)], 0)


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What `op` gives for the innermost values of the ragged tensors among its arguments, in their
    rows. Raises `ValueError` for a result that has not as many values."""
    given = [a for a in (*args, *kwargs.values()) if isinstance(a, RaggedTensor)]
    if not given:
        return op(*args, **kwargs)

    def plain(argument: Any) -> Any:
        return argument.flat_values if isinstance(argument, RaggedTensor) else argument

    if len({a.ragged_rank for a in given}) > 1:
        raise ValueError("All ragged arguments of map_flat_values must have the same ragged_rank")
    made = as_tensor(op(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()}))
    count = given[0].flat_values.shape[:1]
    if not made.shape[:1].is_compatible_with(count):
        raise ValueError(
            "tf.ragged.map_flat_values requires that the output of `op` have the same outer-"
            f"dimension size as flat_values of any ragged inputs. (output shape: {made.shape}; "
            f"expected outer dimension size: {count[0]})"
        )
    return given[0].with_flat_values(made)


def _with_preferred(partition: Any) -> Tensor:
    """A partition as a tensor; of int64, where it is integers of no dtype yet."""
    if isinstance(partition, Tensor):
        return partition
    array = np.asarray(partition)
    return as_tensor(
        array.astype(np.int64) if array.size == 0 or array.dtype.kind in "iu" else array
    )


def _splits_dtype(dtype: Any) -> dtypes.DType:
    found = dtypes.as_dtype(dtype)
    if found not in (dtypes.i32, dtypes.i64):
        raise ValueError(f"Expected row_splits_dtype to be int32 or int64, found {dtype!r}")
    return found


def _built(
    pylist: Any,
    ragged_rank: int | None,
    inner_shape: Sequence[int] | None,
    values_of: Callable[[Any, Sequence[int]], Any],
    ragged: Callable[[Any, list[int]], Any],
) -> Any:
    """The value of nested lists, whose parts the two functions make."""
    if isinstance(pylist, np.ndarray):
        pylist = pylist.tolist()
    scalar_depth, depth = _depths(pylist)
    if scalar_depth is not None and depth > scalar_depth:
        raise ValueError(
            f"Invalid pylist={pylist}: empty list nesting is greater than scalar value nesting"
        )
    inner = None if inner_shape is None else tuple(inner_shape)
    if inner is not None and ragged_rank is not None:
        wanted = ragged_rank + len(inner) + 1
        if depth > wanted or scalar_depth not in (None, wanted):
            raise ValueError(
                f"Invalid pylist={pylist}: incompatible with ragged_rank={ragged_rank} and "
                f"dim(inner_shape)={len(inner)}"
            )
    if depth == 0:
        if ragged_rank:
            raise ValueError(
                f"Invalid pylist={pylist}: incompatible with ragged_rank={ragged_rank}"
            )
        if inner:
            raise ValueError(
                f"Invalid pylist={pylist}: incompatible with dim(inner_shape)={len(inner)}"
            )
        return values_of(pylist, ())
    if ragged_rank is None:
        ragged_rank = max(0, depth - 1 - (0 if inner is None else len(inner)))
    if not 0 <= ragged_rank < depth and (scalar_depth is not None or ragged_rank < 0):
        raise ValueError(
            f"Invalid pylist={pylist}: pylist has scalar values depth {scalar_depth}, but "
            f"ragged_rank={ragged_rank} requires scalar value depth greater than {ragged_rank}"
        )
    splits: list[list[int]] = []
    values = pylist
    for _ in range(ragged_rank):
        splits.append([0, *itertools.accumulate(map(len, values))])
        values = [item for row in values for item in row]
    if inner is None:
        inner = _common_shape(values, pylist, ragged_rank)
        wanted_shape = (len(values), *inner)
    else:
        wanted_shape = (len(values), *inner) if ragged_rank else inner
    given_shape = np.shape(values)
    if math.prod(given_shape) != math.prod(wanted_shape):
        raise TypeError(f"Expected Tensor's shape: {wanted_shape}, but got {given_shape}.")
    found = values_of(values, wanted_shape)
    for level in reversed(splits):
        found = ragged(found, level)
    return found


def _depths(item: Any) -> tuple[int | None, int]:
    """The depth at which the scalars stand, None without any, and that of the deepest list. Raises
    `ValueError` for scalars at several depths."""
    if not isinstance(item, list | tuple | np.ndarray):
        return 0, 0
    scalars: int | None = None
    deepest = 1
    for part in item:
        scalar, deep = _depths(part)
        deepest = max(deepest, deep + 1)
        if scalar is None:
            continue
        if scalars is not None and scalars != scalar + 1:
            raise ValueError("all scalar values must have the same nesting depth")
        scalars = scalar + 1
    return scalars, deepest


def _common_shape(values: Sequence[Any], pylist: Any, ragged_rank: int) -> tuple[int, ...]:
    """The shape that all values have. Raises `ValueError` where they differ."""
    shape: list[int] = []
    while values and isinstance(values[0], list | tuple | np.ndarray):
        sizes = {len(v) for v in values}
        if len(sizes) > 1:
            raise ValueError(
                f"inner values have inconsistent shape: {pylist} with ragged_rank={ragged_rank}"
            )
        shape += sizes
        values = [item for v in values for item in v]
    return tuple(shape)


def ragged_range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.i64,
) -> RaggedTensor:
    """A row of numbers from each of `starts` (0, where there is one argument) up to each of
    `limits`, in steps of `deltas`: scalars or vectors of one length. Raises `ValueError` for other
    shapes; a run raises `InvalidArgumentError` for a step of 0."""
    if limits is None:
        starts, limits = 0, starts
    with name_scope(name, "RaggedRange", [starts, limits, deltas]):
        wanted = None if dtype is None else dtypes.as_dtype(dtype)
        given = [as_tensor(limits, wanted, "limits")]
        given += [
            as_tensor(x, wanted, name=n, preferred=given[0].dtype)
            for x, n in ((starts, "starts"), (deltas, "deltas"))
        ]
        ends, begins, steps = given
        found = call("RaggedRange", begins, ends, steps, Tsplits=_splits_dtype(row_splits_dtype))
        return RaggedTensor(found.rt_dense_values, found.rt_nested_splits)
