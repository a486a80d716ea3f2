"""Sparse tensors from sparse tensors: reordered, reshaped, cut, joined.

In: places [n, rank], values [n] and sizes [rank], which the run knows. Out: host steps: others of
the same kind. Invariant: what stands at a place is what TensorFlow has there, in its order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.host_run import held
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.sparse.sparse_places import (
    MOST,
    NUMERIC,
    Array,
    check_sparse,
    found_in,
    in_order,
    linear,
    need_as_many,
    results,
    taken,
)

# -- reordered, reshaped


def _reorder(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    indices, values, _sizes = inputs
    order = in_order(indices)
    return results(indices[order], values[order])


def _infer_reorder(c: Inference) -> list[Dims]:
    check_sparse(c, 0, 1, 2)
    return [c.dims(0), c.dims(1)]


def _reorder_gradient(b: Any, node: Any, _: Any, dy: Any) -> Any:
    indices, values, sizes = node.inputs
    numbers = b.range(np.int64(0), b.count_of(values), np.int64(1))
    _, order = b.sparse_reorder(indices, numbers, sizes)
    return None, b.gather(dy, b.invert_permutation(order), np.int32(0))


host_op(
    "sparse_reorder",
    "SparseReorder(input_indices: i64, input_values: T, input_shape: i64; T: type) ->"
    " output_indices: i64, output_values: T",
    _reorder,
    infer=_infer_reorder,
    gradient=_reorder_gradient,
)


def _new_sizes(old: Sequence[int], wanted: Sequence[int]) -> list[int]:
    count, sizes = math.prod(old), list(wanted)
    open_axes = [axis for axis, size in enumerate(sizes) if size == -1]
    if len(open_axes) > 1:
        raise InvalidArgumentError(
            f"only one output dimension may be -1, not both {open_axes[0]} and {open_axes[1]}"
        )
    if any(size < -1 for size in sizes):
        raise InvalidArgumentError(f"size {open_axes} must be non-negative, not {sizes}")
    if open_axes:
        known = math.prod(s for s in sizes if s != -1)
        if not known:
            raise InvalidArgumentError(
                "reshape cannot infer the missing input size for an empty tensor unless all "
                "specified input sizes are non-zero"
            )
        if count % known:
            raise InvalidArgumentError(
                f"Input to reshape is a SparseTensor with {count} dense values, but the requested "
                f"shape requires a multiple of {known}. input_shape={list(old)} "
                f"output_shape={list(wanted)}"
            )
        sizes[open_axes[0]] = count // known
    if count > MOST:
        raise InvalidArgumentError(f"a sparse tensor of {count} elements is too large")
    if math.prod(sizes) != count:
        raise InvalidArgumentError(
            f"Input to reshape is a tensor with {count} dense values, but the requested shape has "
            f"{math.prod(sizes)}. input_shape={list(old)} output_shape={sizes}"
        )
    return sizes


def _reshape(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    indices, old, wanted = inputs
    sizes = _new_sizes(old.tolist(), wanted.tolist())
    places, columns = linear(indices, old.tolist()), []
    for size in reversed(sizes):
        columns.append(places % size if size else places)
        places = places // size if size else places
    found = np.stack(columns[::-1], 1) if columns else np.zeros((len(indices), 0), np.int64)
    return results(found, np.array(sizes, np.int64))


def _infer_reshape(c: Inference) -> list[Dims]:
    c.need_rank(0, 2)
    for i in (1, 2):
        c.need_rank(i, 1)
    c.equal(c.dims(0)[1], c.dims(1)[0])
    return [(c.dims(0)[0], c.dims(2)[0]), c.dims(2)]


host_op(
    "sparse_reshape",
    "SparseReshape(input_indices: i64, input_shape: i64, new_shape: i64) -> output_indices: i64,"
    " output_shape: i64",
    _reshape,
    infer=_infer_reshape,
)


# -- cut and joined


def _slice(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    indices, values, sizes, start, size = inputs
    if (size < 0).any():
        raise InvalidArgumentError(f"Expected a non-negative size, got {size.min()}")
    # As Python counts: the end of a slice may be beyond what 64 bits hold.
    windows = list(zip(start.tolist(), size.tolist(), sizes.tolist(), strict=True))
    ends = np.array([min(at + n, dim) for at, n, dim in windows], np.int64)
    lengths = np.array([max(0, min(n, dim - at)) for at, n, dim in windows], np.int64)
    kept = ((indices >= start) & (indices < ends)).all(axis=1)
    return results(indices[kept] - start, values[kept], lengths)


def _infer_slice(c: Inference) -> list[Dims]:
    check_sparse(c, 0, 1, 2)
    for i in (3, 4):
        c.need_rank(i, 1)
        c.equal(c.dims(i)[0], c.dims(2)[0])
    count = c.fresh("n", c.dims(0)[0])
    return [(count, c.dims(0)[1]), (count,), c.dims(2)]


host_op(
    "sparse_slice",
    "SparseSlice(indices: i64, values: T, shape: i64, start: i64, size: i64; T: type) ->"
    " output_indices: i64, output_values: T, output_shape: i64",
    _slice,
    infer=_infer_slice,
    gradient=lambda b, node, _, dy, *rest: (
        None,
        b.sparse_slice_grad(dy, node.inputs[0], node.inputs[3], node.outputs[0]),
    ),
)


def _slice_grad(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    dy, indices, start, kept = inputs
    if len(start) != indices.shape[1] or len(start) != kept.shape[1]:
        raise InvalidArgumentError(
            f"Expected input_start to have {indices.shape[1]} elements, as the indices, and output"
            f" indices of {kept.shape[1]} columns as well: got {len(start)}"
        )
    at = found_in(indices, kept + start)
    return results(taken(dy, at))


def _infer_slice_grad(c: Inference) -> Dims:
    c.need_ranks(1, 2, 1, 2)
    need_as_many(c, 3, "output_indices")
    return c.dims(1)[:1]


host_op(
    "sparse_slice_grad",
    "SparseSliceGrad(backprop_val_grad: T, input_indices: i64, input_start: i64, output_indices:"
    f" i64; T: {NUMERIC}) -> val_grad: T",
    _slice_grad,
    infer=_infer_slice_grad,
)


def _split(inputs: Sequence[Any], types: Sequence[DType]) -> list[Array]:
    axis, indices, values, sizes = inputs
    if held(axis).ndim:
        raise InvalidArgumentError(
            f"Input axis should be a scalar but received shape {list(axis.shape)}"
        )
    count, axis, rank = len(types) // 3, int(axis), len(sizes)
    if not -rank <= axis < rank:
        raise InvalidArgumentError(f"Input axis should be in range [{-rank}, {rank}), got {axis}")
    axis %= rank
    size = int(sizes[axis])
    if not 1 <= count <= size:
        raise InvalidArgumentError(f"Input num_split should be between 1 and the splitting "
                                   f"dimension size ({size}), got {count}")  # fmt: skip
    each, more = divmod(size, count)
    lengths = [each + (k < more) for k in range(count)]
    found: list[list[Array]] = [[], [], []]
    start = 0
    for length in lengths:
        column = indices[:, axis]
        kept = (column >= start) & (column < start + length)
        part, part_sizes = indices[kept], sizes.copy()
        part[:, axis] -= start
        part_sizes[axis] = length
        for row, array in zip(found, (part, values[kept], part_sizes)):
            row.append(array)
        start += length
    return results(*(array for row in found for array in row))


def _infer_split(c: Inference) -> list[Dims]:
    check_sparse(c, 1, 2, 3)
    parts = [c.fresh("n", c.dims(1)[0]) for _ in range(c.attrs["num_split"])]
    indices: list[Dims] = [(n, c.dims(1)[1]) for n in parts]
    values: list[Dims] = [(n,) for n in parts]
    return [*indices, *values, *[c.dims(3)] * len(parts)]


host_op(
    "sparse_split",
    "SparseSplit(split_dim: i64, indices: i64, values: T, shape: i64; num_split: int >= 1, T: type)"
    " -> output_indices: num_split*i64, output_values: num_split*T, output_shape: num_split*i64",
    _split,
    infer=_infer_split,
)


def _concat(inputs: Sequence[Any], _: Sequence[DType], *, concat_dim: int) -> list[Array]:
    count = len(inputs) // 3
    places, values, all_sizes = inputs[:count], inputs[count : 2 * count], inputs[2 * count :]
    rank = len(all_sizes[0])
    axis = concat_dim + rank if concat_dim < 0 else concat_dim
    if not 0 <= axis < rank:
        raise InvalidArgumentError(
            f"Concat dimension must be in range [{-rank}, {rank}), got {concat_dim}"
        )
    sizes, moved = all_sizes[0].copy(), [places[0]]
    for k in range(1, count):
        same = all_sizes[k].copy()
        same[axis] = all_sizes[0][axis]
        wrong = np.flatnonzero(same != all_sizes[0])
        if len(wrong):
            raise InvalidArgumentError(
                f"Input shapes must match: expected {all_sizes[0][wrong[0]]} for dimension "
                f"{wrong[0]} but got {all_sizes[k][wrong[0]]} at position {k}"
            )
        step = np.zeros(rank, np.int64)
        step[axis] = sizes[axis]
        moved.append(places[k] + step)
        total = int(sizes[axis]) + int(all_sizes[k][axis])
        if total > MOST:
            raise InvalidArgumentError(f"a sparse tensor of {total} along axis {axis} is too large")
        sizes[axis] = total
    indices = np.concatenate(moved)
    order = in_order(indices)
    return results(indices[order], np.concatenate(values)[order], sizes)


def _infer_concat(c: Inference) -> list[Dims]:
    count = len(c.inputs) // 3
    for k in range(count):
        check_sparse(c, k, count + k, 2 * count + k)
    total = sum((c.dims(k)[0] for k in range(1, count)), c.dims(0)[0])
    return [(total, c.dims(0)[1]), (total,), c.dims(2 * count)]


host_op(
    "sparse_concat",
    "SparseConcat(indices: N*i64, values: N*T, shapes: N*i64; concat_dim: int, N: int >= 2, T:"
    " type) -> output_indices: i64, output_values: T, output_shape: i64",
    _concat,
    infer=_infer_concat,
)
