"""SparseTensors in queues: a map of the Session holds them, and the queue their numbers.

In: the tensors of elements. Out: dense ones, and the SparseTensors of a batch. Invariant: what a
batch takes out of the map, no other batch takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import ones
from flowc.api.arrays.shaping import expand_dims, shape, squeeze
from flowc.api.framework.basics import constant
from flowc.api.framework.composites import SparseTensor
from flowc.api.framework.scopes import with_dependencies
from flowc.api.layers.layer import smart_cond
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.graph import Operation, Tensor, get_default_graph
from flowc.graph.building.creation import create


@dataclass()
class SparseColumn:
    """A component that is sparse: the operations that put it into the map, and its rank."""

    maps: list[Operation]
    rank: int | None
    dtype: DType


def stored(
    rows: Sequence[Sequence[Any]], many: bool, keep: Tensor
) -> tuple[list[list[Tensor]], list[SparseColumn | None]]:
    """The elements with numbers in place of SparseTensors, and which columns were sparse. Raises
    `TypeError` where only some sources have a SparseTensor in a column."""
    columns: list[SparseColumn | None] = []
    for tensors in zip(*rows):
        is_sparse = [isinstance(t, SparseTensor) for t in tensors]
        if any(is_sparse) and not all(is_sparse):
            raise TypeError("Saw a SparseTensor and a dense one in one place of several elements")
        if is_sparse[0]:
            rank = tensors[0].dense_shape.shape.with_rank(1)[0].value
            rank = rank - 1 if many and rank is not None else rank
            columns.append(SparseColumn([], rank, tensors[0].values.dtype))
        else:
            columns.append(None)
    found: list[list[Tensor]] = []
    for row in rows:
        numbers = [t if c is None else _numbers(t, many, keep, c) for t, c in zip(row, columns)]
        found.append(numbers)
    return found, columns


def _numbers(tensor: SparseTensor, many: bool, keep: Tensor, column: SparseColumn) -> Tensor:
    """The numbers of the tensor, or of its rows, in the map; -1 for those that are not kept."""
    op_type = "AddManySparseToTensorsMap" if many else "AddSparseToTensorsMap"
    shared = column.maps[0].name if column.maps else ""

    def store() -> Tensor:
        op = create(op_type, [*tensor.components()], {"shared_name": shared})
        column.maps.append(op)
        return op.outputs[0]

    def skip() -> Tensor:
        if not many:
            return constant(-1, dtypes.i64)
        return -1 * ones(shape(tensor)[0:1], dtypes.i64)

    found = store() if keep.shape.ndims == 1 else smart_cond(keep, store, skip)
    return expand_dims(found, [-1])


def restored(taken: Sequence[Any], columns: Sequence[SparseColumn | None]) -> list[Any]:
    """A batch with its SparseTensors, which are taken whenever a part of the batch is fetched."""
    if all(column is None for column in columns):
        return list(taken)
    found = [t if c is None else _taken(t, c) for t, c in zip(taken, columns)]
    tensors = [t for item in found for t in _parts(item)]
    ops = list(dict.fromkeys(t.op for t in tensors))
    gated = [with_dependencies([o for o in ops if o is not t.op], t) for t in tensors]
    if len(found) == 1:
        return found
    left = iter(gated)
    return [_rebuilt(item, left) for item in found]


def _parts(item: Any) -> Sequence[Tensor]:
    return item.components() if isinstance(item, SparseTensor) else (item,)


def _rebuilt(item: Any, tensors: Any) -> Any:
    if not isinstance(item, SparseTensor):
        return next(tensors)
    return SparseTensor(next(tensors), next(tensors), next(tensors))


def _taken(numbers: Tensor, column: SparseColumn) -> SparseTensor:
    op = column.maps[0]
    handles = squeeze(numbers, [1])
    with get_default_graph().colocate_with(op):
        made = create(
            "TakeManySparseFromTensorsMap",
            [handles],
            {"dtype": column.dtype, "shared_name": op.name},
        )
    indices, values, sizes = made.outputs
    rank = None if column.rank is None else column.rank + 1
    indices.set_shape([None, rank])
    values.set_shape([None])
    sizes.set_shape([rank])
    return SparseTensor(indices, values, sizes)
