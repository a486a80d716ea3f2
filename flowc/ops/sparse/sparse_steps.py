"""Sparse tensors from sparse tensors: reordered, reshaped, cut, joined, added, rows filled.

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
from flowc.ir.lowering import Host
from flowc.ir.op import Inference, define
from flowc.ir.types import Dims
from flowc.ops.strings.string_values import check_count

Array = np.ndarray[Any, Any]
NUMERIC = "{f32, f64, i32, u8, i16, i8, c64, i64, bf16, u16, c128, f16, u32, u64}"
MOST = (1 << 63) - 1  # of elements along an axis
ORDERED = "{f32, f64, i32, u8, i16, i8, i64, bf16, u16, f16, u32, u64}"


def check_sparse(c: Inference, indices: int, values: int, shape: int) -> None:
    """Three inputs are a sparse tensor."""
    for name, i, rank in (
        ("indices must be a matrix", indices, 2),
        ("values must be a vector", values, 1),
        ("shape must be a vector", shape, 1),
    ):
        fault = f"Shape must be rank {rank} but is rank {c.rank(i)}: {name}"
        c.need_rank(i, rank, fault)
    (places, axes), (count,), (rank,) = c.dims(indices), c.dims(values), c.dims(shape)
    c.equal(
        places, count, f"Number of elements in indices ({places}) and values ({count}) do not match"
    )
    c.equal(axes, rank, f"Index rank ({axes}) and shape rank ({rank}) do not match")


def check_sizes(sizes: Array) -> None:
    """Sizes that the run gives are those of a tensor."""
    if np.any(sizes < 0):
        raise InvalidArgumentError(
            f"Expected shape dimensions to be non-negative, got {int(sizes.min())}"
        )


def check_places(indices: Array, sizes: Array) -> None:
    """Places are within the sizes, in row-major order and once each."""

    def shown(at: int) -> str:
        return f"indices[{at}] = [{','.join(map(str, indices[at]))}]"

    outside = np.flatnonzero(np.any((indices < 0) | (indices >= sizes), axis=1))
    if len(outside):
        need = f"need 0 <= index < [{','.join(map(str, sizes))}]"
        raise InvalidArgumentError(f"{shown(outside[0])} is out of bounds: {need}")
    order = in_order(indices)
    late = np.flatnonzero(order != np.arange(len(order)))
    if len(late):
        at = int(late[0]) + 1
        while not tuple(indices[at]) < tuple(indices[at - 1]):
            at += 1
        raise InvalidArgumentError(
            f"{shown(at)} is out of order. Many sparse ops require sorted indices."
        )
    twice = np.flatnonzero((indices[1:] == indices[:-1]).all(axis=1))
    if len(twice):
        raise InvalidArgumentError(f"{shown(twice[0] + 1)} is repeated")


def linear(indices: Array, sizes: Sequence[int]) -> Array:
    """Where places stand in row-major order, in a tensor of at most MOST elements."""
    found = np.zeros(len(indices), np.int64)
    for axis, size in enumerate(sizes):
        found = found * size + indices[:, axis]
    return found


def numbered(indices: Array, sizes: Sequence[int]) -> Array:
    """Places as numbers: equal ones for equal places, in row-major order."""
    if math.prod(sizes) <= MOST:
        return linear(indices, sizes)
    return np.unique(indices, axis=0, return_inverse=True)[1].reshape(-1)


def in_order(indices: Array) -> Array:
    """What puts places in row-major order, equal ones as they come."""
    if not indices.shape[1]:
        return np.arange(len(indices))
    return np.lexsort(indices.T[::-1])


def _results(*arrays: Any) -> list[Array]:
    return [np.require(a, requirements="C") for a in arrays]


# -- reordered, reshaped


def _reorder(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    indices, values, _sizes = inputs
    order = in_order(indices)
    return _results(indices[order], values[order])


def _infer_reorder(c: Inference) -> list[Dims]:
    check_sparse(c, 0, 1, 2)
    return [c.dims(0), c.dims(1)]


def _reorder_gradient(b: Any, node: Any, _: Any, dy: Any) -> Any:
    indices, values, sizes = node.inputs
    numbers = b.range(np.int64(0), b.count_of(values), np.int64(1))
    _, order = b.sparse_reorder(indices, numbers, sizes)
    return None, b.gather(dy, b.invert_permutation(order), np.int32(0))


define(
    "sparse_reorder",
    "SparseReorder(input_indices: i64, input_values: T, input_shape: i64; T: type) ->"
    " output_indices: i64, output_values: T",
    infer=_infer_reorder,
    lowering=Host(_reorder, "SparseReorder", only_reads=True),
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
    return _results(found, np.array(sizes, np.int64))


def _infer_reshape(c: Inference) -> list[Dims]:
    c.need_rank(0, 2, f"Shape must be rank 2 but is rank {c.rank(0)}")
    for i in (1, 2):
        c.need_rank(i, 1, f"Shape must be rank 1 but is rank {c.rank(i)}")
    c.equal(c.dims(0)[1], c.dims(1)[0])
    return [(c.dims(0)[0], c.dims(2)[0]), c.dims(2)]


define(
    "sparse_reshape",
    "SparseReshape(input_indices: i64, input_shape: i64, new_shape: i64) -> output_indices: i64,"
    " output_shape: i64",
    infer=_infer_reshape,
    lowering=Host(_reshape, "SparseReshape", only_reads=True),
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
    return _results(indices[kept] - start, values[kept], lengths)


def _infer_slice(c: Inference) -> list[Dims]:
    check_sparse(c, 0, 1, 2)
    for i in (3, 4):
        c.need_rank(i, 1, f"Shape must be rank 1 but is rank {c.rank(i)}")
        c.equal(c.dims(i)[0], c.dims(2)[0])
    count = c.fresh("n", c.dims(0)[0])
    return [(count, c.dims(0)[1]), (count,), c.dims(2)]


define(
    "sparse_slice",
    "SparseSlice(indices: i64, values: T, shape: i64, start: i64, size: i64; T: type) ->"
    " output_indices: i64, output_values: T, output_shape: i64",
    infer=_infer_slice,
    lowering=Host(_slice, "SparseSlice", only_reads=True),
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
    at = _found_in(indices, kept + start)
    return _results(_taken(dy, at))


def _need_ranks(c: Inference, *ranks: int) -> None:
    for i, rank in enumerate(ranks):
        c.need_rank(i, rank, f"Shape must be rank {rank} but is rank {c.rank(i)}")


def _need_as_many(c: Inference, i: int, name: str) -> None:
    """Fails where there is not a gradient for each place of input i."""
    given, places = c.dims(0)[0], c.dims(i)[0]
    fault = (
        f"# elements of backprop_val_grad and # rows of {name} should match (#nnz of sum): got "
        f"{given} and {places}"
    )
    c.equal(given, places, fault)


def _infer_slice_grad(c: Inference) -> Dims:
    _need_ranks(c, 1, 2, 1, 2)
    _need_as_many(c, 3, "output_indices")
    return c.dims(1)[:1]


def _found_in(places: Array, others: Array) -> Array:
    """Where each place stands among others, -1 where it does not."""
    where = {tuple(place): i for i, place in enumerate(others.tolist())}
    return np.array([where.get(tuple(place), -1) for place in places.tolist()], np.int64)


define(
    "sparse_slice_grad",
    "SparseSliceGrad(backprop_val_grad: T, input_indices: i64, input_start: i64, output_indices:"
    f" i64; T: {NUMERIC}) -> val_grad: T",
    infer=_infer_slice_grad,
    lowering=Host(_slice_grad, "SparseSliceGrad", only_reads=True),
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
    return _results(*(array for row in found for array in row))


def _infer_split(c: Inference) -> list[Dims]:
    check_sparse(c, 1, 2, 3)
    parts = [c.fresh("n", c.dims(1)[0]) for _ in range(c.attrs["num_split"])]
    indices: list[Dims] = [(n, c.dims(1)[1]) for n in parts]
    values: list[Dims] = [(n,) for n in parts]
    return [*indices, *values, *[c.dims(3)] * len(parts)]


define(
    "sparse_split",
    "SparseSplit(split_dim: i64, indices: i64, values: T, shape: i64; num_split: int >= 1, T: type)"
    " -> output_indices: num_split*i64, output_values: num_split*T, output_shape: num_split*i64",
    infer=_infer_split,
    lowering=Host(_split, "SparseSplit", only_reads=True),
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
    return _results(indices[order], np.concatenate(values)[order], sizes)


def _infer_concat(c: Inference) -> list[Dims]:
    count = len(c.inputs) // 3
    for k in range(count):
        check_sparse(c, k, count + k, 2 * count + k)
    total = sum((c.dims(k)[0] for k in range(1, count)), c.dims(0)[0])
    return [(total, c.dims(0)[1]), (total,), c.dims(2 * count)]


define(
    "sparse_concat",
    "SparseConcat(indices: N*i64, values: N*T, shapes: N*i64; concat_dim: int, N: int >= 2, T:"
    " type) -> output_indices: i64, output_values: T, output_shape: i64",
    infer=_infer_concat,
    lowering=Host(_concat, "SparseConcat", ("concat_dim",), only_reads=True),
)


# -- rows filled


def _fill_rows(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    indices, values, sizes, default = inputs
    if not len(sizes):
        raise InvalidArgumentError("Dense shape cannot be empty.")
    check_count(int(sizes[0]), "rows")
    rows, own = int(sizes[0]), indices[:, 0]
    wrong = np.flatnonzero((own < 0) | (own >= rows))
    if len(wrong):
        raise InvalidArgumentError(f"indices({wrong[0]}, 0) is invalid: {own[wrong[0]]} >= {rows}")
    counts = np.bincount(own, minlength=rows)
    empty = counts == 0
    added = np.zeros((int(empty.sum()), indices.shape[1]), np.int64)
    added[:, 0] = np.flatnonzero(empty)
    everything = np.concatenate([indices, added])
    order = np.argsort(everything[:, 0], kind="stable")
    filler = np.empty(len(added), values.dtype)
    filler[:] = default
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    found = np.concatenate([values, filler])[order]
    return _results(everything[order], found, empty, place[: len(indices)])


def _infer_fill_rows(c: Inference) -> list[Dims]:
    check_sparse(c, 0, 1, 2)
    c.need_rank(3, 0, f"Shape must be rank 0 but is rank {c.rank(3)}")
    sizes = c.content(2)
    rows = c.fresh("rows") if sizes is None or c.dims(2)[0] == 0 else sizes[0]
    if isinstance(rows, np.integer):
        rows = int(rows)
    count = c.fresh("n")
    return [(count, c.dims(0)[1]), (count,), (rows,), (c.dims(0)[0],)]


def _fill_rows_gradient(b: Any, node: Any, _: Any, dy: Any, *rest: Any) -> Any:
    to_values, to_default = b.sparse_fill_empty_rows_grad(node.outputs[3], dy)
    return None, to_values, None, to_default


define(
    "sparse_fill_empty_rows",
    "SparseFillEmptyRows(indices: i64, values: T, dense_shape: i64, default_value: T; T: type) ->"
    " output_indices: i64, output_values: T, empty_row_indicator: bool, reverse_index_map: i64",
    infer=_infer_fill_rows,
    lowering=Host(_fill_rows, "SparseFillEmptyRows", only_reads=True),
    gradient=_fill_rows_gradient,
)


def _fill_rows_grad(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    places, dy = inputs
    outside = np.flatnonzero((places < 0) | (places >= len(dy)))
    if len(outside):
        raise InvalidArgumentError(
            f"Elements in reverse index must be in [0, {len(dy)}) but got {places[outside[0]]}"
        )
    visited = np.zeros(len(dy), bool)
    visited[places] = True
    return _results(dy[places], np.asarray(dy[~visited].sum(), dy.dtype))


define(
    "sparse_fill_empty_rows_grad",
    "SparseFillEmptyRowsGrad(reverse_index_map: i64, grad_values: T; T: type) -> d_values: T,"
    " d_default_value: T",
    infer=lambda c: [c.dims(0), ()],
    lowering=Host(_fill_rows_grad, "SparseFillEmptyRowsGrad", only_reads=True),
    aliases=("RaggedFillEmptyRowsGrad",),
)


def _fill_ragged_rows(inputs: Sequence[Any], dtypes: Sequence[DType]) -> list[Array]:
    """The same of values that are told by the numbers of their rows."""
    rows, values, count, default = inputs
    if np.ndim(values) != 1 or np.shape(rows) != np.shape(values):
        raise InvalidArgumentError(
            f"values must be a vector, and there must be a row for each: found {np.shape(values)}"
            f" and {np.shape(rows)}"
        )
    wanted = [*dtypes]
    found = _fill_rows([rows[:, None], values, np.array([count]), default], wanted)
    return [np.ascontiguousarray(found[0][:, 0]), *found[1:]]


def _infer_fill_ragged(c: Inference) -> list[Dims]:
    for i, what in enumerate(("value_rowids", "values")):
        c.need_rank(i, 1, f"{what} must be a vector, saw: {c.inputs[i]}")
    c.need_rank(3, 0, f"default_value must be a scalar, saw: {c.inputs[3]}")
    rows, given = c.dims(0)[0], c.dims(1)[0]
    c.equal(
        given,
        rows,
        f"The length of `values` ({given}) must match the first dimension of `value_rowids` "
        f"({rows}).",
    )
    count = c.fresh("n")
    return [(count,), (count,), (c.need_size(2),), c.dims(0)]


def _fill_ragged_gradient(b: Any, node: Any, _: Any, dy: Any, *rest: Any) -> Any:
    to_values, to_default = b.sparse_fill_empty_rows_grad(node.outputs[3], dy)
    return None, to_values, None, to_default


define(
    "ragged_fill_empty_rows",
    "RaggedFillEmptyRows(value_rowids: i64, values: T, nrows: i64, default_value: T; T: type) ->"
    " output_value_rowids: i64, output_values: T, empty_row_indicator: bool,"
    " reverse_index_map: i64",
    infer=_infer_fill_ragged,
    lowering=Host(_fill_ragged_rows, "RaggedFillEmptyRows", only_reads=True),
    gradient=_fill_ragged_gradient,
)


# -- two of them


def _together(inputs: Sequence[Any]) -> tuple[Array, Array, Array, Array]:
    """The places of both, in order and once each, and which of them each has: positions, or -1."""
    a, _, sizes, b, _, other = inputs[:6]
    if sizes.tolist() != other.tolist():
        raise InvalidArgumentError("Operands' shapes do not match: got "
                                   f"{sizes.tolist()} and {other.tolist()}")  # fmt: skip
    both = numbered(np.concatenate([a, b]), sizes.tolist())
    places, first, inverse = np.unique(both, return_index=True, return_inverse=True)
    at = np.full((2, len(places)), -1)
    at[0, inverse[: len(a)]] = np.arange(len(a))
    at[1, inverse[len(a) :]] = np.arange(len(b))
    return np.concatenate([a, b])[first], at[0], at[1], sizes


def _taken(values: Array, at: Array) -> Array:
    """The values at positions, 0 for none."""
    found = np.zeros(len(at), values.dtype)
    found[at >= 0] = values[at[at >= 0]]
    return found


def _add(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    indices, a, b, sizes = _together(inputs)
    found = _taken(inputs[1], a) + _taken(inputs[4], b)
    kept = np.abs(found) >= inputs[6]
    return _results(indices[kept], found[kept], sizes)


def _infer_two(c: Inference, sized: bool) -> list[Dims]:
    check_sparse(c, 0, 1, 2)
    check_sparse(c, 3, 4, 5)
    count = c.fresh("n")
    return [(count, c.dims(0)[1]), (count,), *[c.dims(2)] * sized]


def _add_gradient(b: Any, node: Any, _: Any, dy: Any, *rest: Any) -> Any:
    a, other = node.inputs[0], node.inputs[3]
    to_a, to_other = b.sparse_add_grad(dy, a, other, node.outputs[0])
    return None, to_a, None, None, to_other


define(
    "sparse_add",
    "SparseAdd(a_indices: i64, a_values: T, a_shape: i64, b_indices: i64, b_values: T, b_shape:"
    f" i64, thresh: Treal; T: {NUMERIC}, Treal: {ORDERED}) -> sum_indices: i64, sum_values: T,"
    " sum_shape: i64",
    infer=lambda c: _infer_two(c, True),
    lowering=Host(_add, "SparseAdd", only_reads=True),
    gradient=_add_gradient,
)


def _add_grad(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    dy, a, b, summed = inputs
    return _results(*(_taken(dy, _found_in(places, summed)) for places in (a, b)))


def _infer_add_grad(c: Inference) -> list[Dims]:
    _need_ranks(c, 1, 2, 2, 2)
    _need_as_many(c, 3, "sum_indices")
    return [c.dims(1)[:1], c.dims(2)[:1]]


define(
    "sparse_add_grad",
    "SparseAddGrad(backprop_val_grad: T, a_indices: i64, b_indices: i64, sum_indices: i64; T:"
    f" {NUMERIC}) -> a_val_grad: T, b_val_grad: T",
    infer=_infer_add_grad,
    lowering=Host(_add_grad, "SparseAddGrad", only_reads=True),
)


def _extremum(choose: Any) -> Any:
    def function(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
        indices, a, b, _sizes = _together(inputs)
        return _results(indices, choose(_taken(inputs[1], a), _taken(inputs[4], b)))

    return function


for _word, _choose, _kinds in (("Maximum", np.maximum, ORDERED), ("Minimum", np.minimum, NUMERIC)):
    define(
        f"sparse_sparse_{_word.lower()}",
        f"SparseSparse{_word}(a_indices: i64, a_values: T, a_shape: i64, b_indices: i64, b_values:"
        f" T, b_shape: i64; T: {_kinds}) -> output_indices: i64, output_values: T",
        infer=lambda c: _infer_two(c, False),
        lowering=Host(_extremum(_choose), f"SparseSparse{_word}", only_reads=True),
    )
