"""Gradients that are rows of a tensor (`IndexedSlices`) and stay rows behind an operation.

In: an operation, the rows that are the gradient of its output. Out: the gradients of its inputs,
as rows too. Invariant: what such an operation gives back is as sparse as what it was given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flowc.graph.building.creation import create, output, shape_tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.graph.operation import Operation
from flowc.graph.shape_inference import constant_elements
from flowc.graph.tensor import Tensor


def _cast(op: Operation, dy: IndexedSlices) -> list[Any]:
    source = op.inputs[0].base_dtype
    if source is None or not (source.is_floating or source.is_complex):
        return [None]
    values = output("Cast", dy.values, DstT=source)
    return [IndexedSlices(values, dy.indices, dy.dense_shape)]


def _concat(op: Operation, dy: IndexedSlices) -> list[Any]:
    at = 0 if op.type == "Concat" else len(op.inputs) - 1
    parts = [x for i, x in enumerate(op.inputs) if i != at]
    axis = _axis(op.inputs[at], parts[0])
    with op.graph.control_dependencies([dy.values.op]):  # indices may be constants, alive or not
        found = _pieces_of_rows(parts, axis, dy) if axis else _rows_of_pieces(parts, dy)
    return [*found[:at], None, *found[at:]]


def _axis(dim: Tensor, part: Tensor) -> int:
    elements = constant_elements(dim)
    if elements is None:
        raise ValueError("Can only compute IndexedSlices gradient with statically-known concat_dim")
    axis, rank = int(elements.reshape(-1)[0]), part.shape.ndims
    if axis < 0 and rank is None:
        raise ValueError("Can only compute IndexedSlices gradient with known rank")
    return axis + rank if axis < 0 and rank is not None else axis


def _pieces_of_rows(parts: list[Tensor], axis: int, dy: IndexedSlices) -> list[IndexedSlices]:
    """The gradients of the parts of a concatenation along another axis than the rows': each gets
    all rows, cut to its columns."""
    sizes = [shape_tensor(x) for x in parts]
    widths = [output("GatherV2", s, axis, 0) for s in sizes]
    stacked = output("Pack", widths, name="stack")
    cut = create("SplitV", [dy.values, stacked, axis], {"num_split": len(parts)}, "split").outputs
    return [IndexedSlices(v, dy.indices, s) for v, s in zip(cut, sizes)]


def _rows_of_pieces(parts: list[Tensor], dy: IndexedSlices) -> list[IndexedSlices]:
    """The gradients of the parts of a concatenation of rows: each gets the rows that lie in it."""
    found: list[IndexedSlices] = []
    dtype = dy.indices.base_dtype
    assert dtype is not None
    start: Any = np.zeros((), dtype.numpy)
    for part in parts:
        sizes = shape_tensor(part)
        count = output("GatherV2", sizes, 0, 0)
        if dtype is not count.dtype:
            count = output("Cast", count, DstT=dtype)
        stop = output("AddV2", count, start, name="add")
        reached = output("GreaterEqual", dy.indices, start)
        within = output("LogicalAnd", reached, output("Less", dy.indices, stop))
        chosen = output("Squeeze", output("Where", within), squeeze_dims=[1])
        indices = output("Sub", output("GatherV2", dy.indices, chosen, 0), start, name="sub")
        found.append(IndexedSlices(output("GatherV2", dy.values, chosen, 0), indices, sizes))
        start = stop
    return found


# What takes rows as they are; all others take the whole tensor.
ROW_GRADIENTS: dict[str, Callable[[Operation, IndexedSlices], list[Any]]] = {
    "Cast": _cast,
    "Concat": _concat,
    "ConcatV2": _concat,
}
