"""Elements by their places, masks and values, under TensorFlow's names: gathers, where, unique."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.api.arrays.shaping import broadcast_to, concat, reshape, shape, stack
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


def gather(
    params: Any,
    indices: Any,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Tensor:
    """Slices of `params` along `axis` (`batch_dims`, if None) at `indices`, an integer tensor:
    `params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]`, in the dtype of
    `params`. The first `batch_dims` axes of both go together.

    Raises `TypeError` for indices of another dtype, `ValueError` for an axis out of range; a run
    raises `InvalidArgumentError` for an index out of range."""
    ragged = next((x for x in (params, indices) if hasattr(x, "with_flat_values")), None)
    if ragged is not None:
        return ragged.gathered(params, indices, axis, batch_dims)
    axis = batch_dims if axis is None else axis
    if isinstance(axis, int) and axis == 0 and hasattr(params, "sparse_read"):
        return params.sparse_read(indices, name=name)
    return output("GatherV2", params, indices, axis, name=name, batch_dims=batch_dims)


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """Slices of `params` at the coordinates `indices` [..., depth]; the first `batch_dims` axes of
    both are batches. Raises `ValueError` for batches of indices of unknown rank, and for batches
    that differ; where only a run knows that, it raises `InvalidArgumentError`."""
    if hasattr(params, "with_flat_values") and not batch_dims:
        return params.gathered_nd(indices)
    if not batch_dims:
        return output("GatherNd", params, indices, name=name)
    with name_scope(name, "batch_gather_nd", [params, indices]) as scope:
        places = as_tensor(indices, name="indices")
        dims = places.shape.ndims
        if dims is None:
            raise ValueError("gather_nd of batches needs indices of known rank")
        # The batches of both are the same: a reshape says it, when building or in the run.
        sizes = concat([shape(params)[:batch_dims], shape(places)[batch_dims:]], 0)
        places = reshape(places, sizes)
        whole = concat([sizes[:-1], [1]], 0)
        batches = coordinates(whole, dims, batch_dims, places.dtype)
        return output("GatherNd", params, concat([*batches, places], -1), name=scope)


def coordinates(sizes: Tensor, rank: int, axes: int, dtype: Any) -> list[Tensor]:
    """For each of the first axes, a tensor of these sizes that says where each of its elements
    stands along that axis."""
    found = []
    for axis in range(axes):
        column = output("Cast", output("Range", 0, sizes[axis], 1), DstT=dtype)
        along = [-1 if other == axis else 1 for other in range(rank)]
        found.append(broadcast_to(reshape(column, along), sizes))
    return found


def batched_places(indices: Any) -> Tensor:
    """For each of `indices`, whose axes but the last are batches, all its coordinates. Raises
    `ValueError` for an unknown rank."""
    places = as_tensor(indices, name="indices")
    sizes, rank = shape(places), places.shape.ndims
    if rank is None:
        raise ValueError("batch_scatter_update needs indices of known rank")
    return stack([*coordinates(sizes, rank, rank - 1, places.dtype), places], axis=-1)


def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> Tensor:
    """A tensor of `shape`, zero but for the slices at `indices` [..., n], which are sums of the
    `updates`: `indices.shape[:-1] + shape[n:]`. Raises `ValueError` where the shapes do not fit; a
    run raises `InvalidArgumentError` for an index out of range."""
    return output("ScatterNd", indices, updates, shape, name=name)


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """`num_partitions` tensors, each of the slices of `data` whose number in `partitions` (int32)
    is its own, in their order. `data.shape` begins with `partitions.shape`, or `ValueError` is
    raised; a run raises `InvalidArgumentError` for a number out of range."""
    return call("DynamicPartition", data, partitions, num_partitions=num_partitions, name=name)


def dynamic_stitch(indices: Sequence[Any], data: Sequence[Any], name: str | None = None) -> Tensor:
    """One tensor made of slices: that of `data[n]` at i is its row `indices[n][i]` (int32); where a
    row has several, the last one counts. Raises `ValueError` where the slices differ in shape, or
    the lists are empty."""
    return output("DynamicStitch", list(indices), list(data), name=name)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Without `x` and `y`, the indices int64[n, rank] of true elements (of numbers: those that are
    not 0). Else the elements of `x` where `condition` holds and of `y` elsewhere: `x` and `y` of
    one shape and dtype, `condition` bool of that shape, a scalar, or a vector that chooses rows.

    Raises `ValueError` where only one of `x` and `y` is given, and where shapes do not fit."""
    return _chosen("Select", condition, x, y, name)


def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """`where`, but `condition`, `x` and `y` broadcast. Raises as `where`."""
    return _chosen("SelectV2", condition, x, y, name)


def _chosen(op_type: str, condition: Any, x: Any, y: Any, name: str | None) -> Tensor:
    if x is None and y is None:
        with name_scope(name, "Where", [condition]) as scope:
            return output("Where", as_tensor(condition, name="condition"), name=scope)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    if hasattr(condition, "with_flat_values"):
        return condition.mapped(where_v2, [condition, x, y], name)
    return output(op_type, condition, x, y, name=name)


def unique(x: Any, out_idx: Any = dtypes.i32, name: str | None = None) -> Any:
    """(y, idx): the elements of the vector `x` without repetitions, in the order in which they come
    first, and for each element of `x` its place in `y`, as `out_idx` (int32 or int64). Raises
    `ValueError` for another rank, `TypeError` for complex numbers."""
    return call("Unique", x, out_idx=out_idx, name=name)


def unique_with_counts(x: Any, out_idx: Any = dtypes.i32, name: str | None = None) -> Any:
    """(y, idx, count): as `unique`, and how often each element of `y` stands in `x`. Raises as
    `unique`."""
    return call("UniqueWithCounts", x, out_idx=out_idx, name=name)


def setdiff1d(x: Any, y: Any, index_dtype: Any = dtypes.i32, name: str | None = None) -> Any:
    """(out, idx): the elements of the vector `x` that are not in the vector `y`, with their
    repetitions, and their places in `x`, as `index_dtype`. Raises `TypeError` where the dtypes
    differ, `ValueError` for another rank."""
    return call("ListDiff", x, y, out_idx=index_dtype, name=name)


def searchsorted(
    sorted_sequence: Any,
    values: Any,
    side: str = "left",
    out_type: Any = dtypes.i32,
    name: str | None = None,
) -> Tensor:
    """Where each of `values` [..., m] would have to stand in its sorted row of `sorted_sequence`
    [..., n], as `out_type`: before equal elements, or after them where `side` is `right`. Raises
    `ValueError` for another `side`."""
    row = as_tensor(sorted_sequence)
    wanted = as_tensor(values)
    last = shape(row)[-1]
    rows = reshape(row, stack([-1, last]))
    flat = reshape(wanted, stack([-1, shape(wanted)[-1]]))
    if side not in ("left", "right"):
        raise ValueError(f"Argument `side` must be either 'right' or 'left'. Received: {side}")
    op_type = "UpperBound" if side == "right" else "LowerBound"
    return reshape(output(op_type, rows, flat, out_type=out_type, name=name), shape(wanted))


# -- the largest elements of rows, and rows of tables


def top_k(
    input: Any, k: Any = 1, sorted: bool = True, index_type: Any = dtypes.i32,
    name: str | None = None,
) -> Any:  # fmt: skip
    """(values, indices) [..., k]: the k largest elements of each row of `input` [..., n] and where
    they stand; of equal ones the first. Without `sorted` their order is open. Raises `ValueError`
    for a row shorter than k, `TypeError` for dtypes without order."""
    return call("TopKV2", input, k, sorted=sorted, index_type=index_type, name=name)


def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """bool[batch]: whether the class `targets[i]` (int32 or int64) is among the k largest of the
    row `predictions[i]`, float32[batch, classes]; False where it is out of range or not finite.
    Raises `TypeError` for other dtypes, `ValueError` for shapes that do not fit."""
    with name_scope(name, "in_top_k"):
        return output("InTopKV2", predictions, targets, k)
