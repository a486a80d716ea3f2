"""SparseTensors that a Session holds, so that queues pass on their numbers: AddSparseToTensorsMap,
AddManySparseToTensorsMap, TakeManySparseFromTensorsMap.

In: the components of SparseTensors. Out: numbers, and for several of these one SparseTensor with
one more dimension. Invariant: what was taken is held no longer.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType, as_dtype
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Value
from flowc.ir.extraction import Extractor
from flowc.ir.host_run import HostRun
from flowc.ir.inference import Inference
from flowc.ir.op import Attrs
from flowc.ir.types import Dims
from flowc.ops.lists.list_values import dtype_shown
from flowc.ops.queues.handles import Handle, define_step, infer_scalars, scalars

Array = np.ndarray[Any, Any]
Components = tuple[Array, Array, Array]  # indices, values, sizes


class SparseMap:
    """SparseTensors by their numbers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[int, Components] = {}
        self._next = 0

    def add(self, components: Components) -> int:
        with self._lock:
            self._held[self._next] = components
            self._next += 1
            return self._next - 1

    def take(self, number: int, name: str) -> Components:
        with self._lock:
            found = self._held.pop(number, None)
        if found is None:
            raise InvalidArgumentError(f"Unable to find SparseTensor: {number} in map: {name}")
        return found

    def close(self) -> None:
        with self._lock:
            self._held.clear()


def _map_of(run: HostRun, container: str, shared_name: str, name: str) -> SparseMap:
    id = f"sparse {container}/{shared_name or name}"
    return run.states.find(id, SparseMap, SparseMap)


def _check(indices: Array, values: Array, sizes: Array) -> None:
    if indices.ndim != 2 or values.ndim != 1 or sizes.ndim != 1:
        raise InvalidArgumentError(
            "Input indices should be a matrix, values and shape vectors, but received shapes "
            f"{list(indices.shape)}, {list(values.shape)} and {list(sizes.shape)}"
        )
    if len(indices) != len(values) or indices.shape[1] != len(sizes):
        raise InvalidArgumentError(
            f"Number of values must match first dimension of indices, and sizes the second: "
            f"{list(indices.shape)}, {list(values.shape)} and {list(sizes.shape)}"
        )


def _add(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun, **named: str) -> list[Array]:
    indices, values, sizes = map(np.asarray, inputs)
    _check(indices, values, sizes)
    return [np.array(_map_of(run, **named).add((indices, values, sizes)))]


def _add_many(
    inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun, **named: str
) -> list[Array]:
    indices, values, sizes = map(np.asarray, inputs)
    _check(indices, values, sizes)
    if len(sizes) < 2:
        raise InvalidArgumentError(
            f"Rank of input SparseTensor should be > 1, but saw rank: {len(sizes)}"
        )
    count, row_sizes = int(sizes[0]), sizes[1:].copy()
    rows = indices[:, 0]
    if count < 0 or np.any((rows < 0) | (rows >= count)) or np.any(rows[1:] < rows[:-1]):
        raise InvalidArgumentError(
            f"indices of rows must be sorted and in [0, {count}): {rows.tolist()}"
        )
    held, found = _map_of(run, **named), np.empty(count, np.int64)
    ends = np.searchsorted(rows, np.arange(count + 1))
    is_empty = ends[:-1] == ends[1:]
    for row in [*np.flatnonzero(~is_empty), *np.flatnonzero(is_empty)]:  # in TensorFlow's order
        part = slice(ends[row], ends[row + 1])
        found[row] = held.add((indices[part, 1:].copy(), values[part].copy(), row_sizes))
    return [found]


def _take_many(
    inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun, **named: str
) -> list[Array]:
    numbers = np.asarray(inputs[0])
    if numbers.ndim != 1:
        shown = ",".join(map(str, numbers.shape))
        raise InvalidArgumentError(
            f"sparse_handles should be a vector but received shape [{shown}]"
        )
    if not len(numbers):
        raise InvalidArgumentError(
            "Must have at least 1 serialized SparseTensor, but input matrix has 0 rows"
        )
    held, map_name = _map_of(run, **named), named["shared_name"] or named["name"]
    found = [held.take(int(number), map_name) for number in numbers]
    for k, (_, values, sizes) in enumerate(found):
        if values.dtype != types[1].numpy:
            raise InvalidArgumentError(
                f"Requested SparseTensor of type {dtype_shown(types[1])} but SparseTensor[{k}]"
                f".values.dtype() == {dtype_shown(as_dtype(values.dtype))}"
            )
        if len(sizes) != len(found[0][2]):
            raise InvalidArgumentError(
                f"Inconsistent rank across SparseTensors: rank prior to SparseTensor[{k}] was: "
                f"{len(found[0][2]) + 1} but rank of SparseTensor[{k}] is: {len(sizes) + 1}"
            )
    rows = np.repeat(np.arange(len(found)), [len(values) for _, values, _ in found])
    indices = np.concatenate([indices for indices, _, _ in found])
    sizes = np.max([sizes for _, _, sizes in found], axis=0)
    return [
        np.concatenate([rows[:, None], indices], axis=1),
        np.concatenate([values for _, values, _ in found]),
        np.concatenate([[len(found)], sizes]).astype(np.int64),
    ]


# -- records


def _vector(x: Extractor, handle: Handle, values: Sequence[Value], attrs: Attrs) -> Any:
    return [(None,)]


def _components(x: Extractor, handle: Handle, values: Sequence[Value], attrs: Attrs) -> Any:
    """The rank is that which the graph tells."""
    stated = list(x.output_shapes(0))
    rank = stated[0][1] if stated and stated[0] is not None and len(stated[0]) == 2 else None
    return [(None, rank), (None,), (rank,)]


def _infer_vector(c: Inference) -> list[Dims]:
    return [(c.fresh("rows"),)]


def _infer_components(c: Inference) -> list[Dims]:
    rank, count = c.fresh("rank"), c.fresh("values")
    return [(count, rank), (count,), (rank,)]


_SHARED = 'container: string = "", shared_name: string = ""'
_NAMED = ("container", "shared_name", "name")
_PARTS = "(sparse_indices: i64, sparse_values: T, sparse_shape: i64; T: type,"

define_step(
    "add_sparse_to_tensors_map",
    f"AddSparseToTensorsMap{_PARTS} {_SHARED}) -> sparse_handle: i64",
    _add,
    scalars(1),
    _NAMED,
    infer=infer_scalars(1),
    forms={"": "AddSparseToTensorsMap"},
)
define_step(
    "add_many_sparse_to_tensors_map",
    f"AddManySparseToTensorsMap{_PARTS} {_SHARED}) -> sparse_handles: i64",
    _add_many,
    _vector,
    _NAMED,
    infer=_infer_vector,
    forms={"": "AddManySparseToTensorsMap"},
)
define_step(
    "take_many_sparse_from_tensors_map",
    f"TakeManySparseFromTensorsMap(sparse_handles: i64; dtype: type, {_SHARED})"
    " -> (sparse_indices: i64, sparse_values: dtype, sparse_shape: i64)",
    _take_many,
    _components,
    _NAMED,
    infer=_infer_components,
    forms={"": "TakeManySparseFromTensorsMap"},
)
