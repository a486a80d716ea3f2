"""XLA's scatter: slices of a tensor, changed by a function of old and new elements.

In: a tensor, indices of slices, updates. Out: the changed tensor. Invariant: a slice that does not
lie within the tensor is left out whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.ir.computation import Value
from flowc.ir.dims import Dim, product
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.lowering import Extracted
from flowc.ir.op import define
from flowc.ops.xla.dimension_numbers import SliceNumbers
from flowc.ops.xla.folding import infer_first
from flowc.ops.xla.moving import WITH_BOOL
from flowc.ops.xla.scalar_functions import change_elements, inference_of, values


def _scatter(x: Extractor, inputs: Sequence[Bound], attrs: Mapping[str, Any]) -> Sequence[Bound]:
    held, indices, updates = values(x, inputs)
    numbers, b = SliceNumbers.of(attrs["dimension_numbers"]), x.b
    c = inference_of(x, (held, indices, updates), attrs)
    numbers.check(c, updates.type.rank)
    ahead = tuple(a for a in range(updates.type.rank) if a not in numbers.window)
    places = numbers.places(indices.type.rank)
    c.match_dims(
        tuple(indices.dims[a] for a in places),
        tuple(updates.dims[a] for a in ahead),
        "the updates are not as many as the indices",
    )
    sizes: list[Dim] = [1] * held.type.rank
    for axis, inside in zip(numbers.kept(held.type.rank), sorted(numbers.window)):
        sizes[axis] = updates.dims[inside]
    indexed = {*numbers.starts, *numbers.batch}
    partial = [a for a, n in enumerate(sizes) if a in indexed or n != held.dims[a]]
    depth = max([1, *(a + 1 for a in partial)])
    dims = held.dims or (1,)
    sizes = sizes or [1]
    rows = product(updates.dims[a] for a in ahead)
    starts = _starts(x, numbers, indices, dims, sizes, depth, rows)
    inner = product(sizes[:depth])
    zero, one = (b.const(np.int64(n)) for n in (0, 1))
    grid = b.unravel_index(
        b.range(zero, b.scalar_size(inner, dtypes.i64), one), b.sizes(sizes[:depth], dtypes.i64)
    )
    found = b.add(b.expand_dims(starts, np.int32(1)), b.transpose(grid, (1, 0)))
    found = b.select_v2(
        b.less(b.expand_dims(starts, np.int32(1)), zero), b.const(np.int64(-1)), found
    )
    slices = b.transpose(updates, (*ahead, *sorted(numbers.window)))
    changed = change_elements(
        x,
        attrs["update_computation"],
        b.reshape(held, dims),
        b.reshape(found, (rows * inner, depth)),
        b.reshape(slices, (rows * inner, *dims[depth:])),
    )
    return [b.reshape(changed, held.dims)]


def _starts(
    x: Extractor,
    numbers: SliceNumbers,
    indices: Value,
    dims: Sequence[Dim],
    sizes: Sequence[Dim],
    depth: int,
    rows: Dim,
) -> Value:
    """Where each slice begins, `[rows, depth]`; -1 for one that does not lie within the tensor."""
    b = x.b
    wide = b.cast(indices, DstT=dtypes.i64)
    if numbers.vector == indices.type.rank:
        wide = b.expand_dims(wide, np.int32(numbers.vector))
    places = numbers.places(indices.type.rank)
    vectors = b.reshape(b.transpose(wide, (*places, numbers.vector)), (rows, len(numbers.starts)))
    zero, one = (b.const(np.int64(n)) for n in (0, 1))
    columns = [b.broadcast_to(zero, (rows,)) for _ in range(depth)]
    inside = b.broadcast_to(b.const(np.bool_(True)), (rows,))
    for number, axis in enumerate(numbers.starts):
        column = b.reshape(b.slice(vectors, (0, number), (rows, 1)), (rows,))
        room = b.scalar_size(dims[axis] - sizes[axis], dtypes.i64)
        fits = b.logical_and(b.greater_equal(column, zero), b.less_equal(column, room))
        inside, columns[axis] = b.logical_and(inside, fits), column
    if numbers.batch:
        counts = b.sizes([indices.dims[a] for a in places], dtypes.i64)
        order = b.range(zero, b.scalar_size(rows, dtypes.i64), one)
        each = b.unravel_index(order, counts)
        for own, other in zip(numbers.batch, numbers.index_batch):
            row = b.slice(each, (places.index(other), 0), (1, rows))
            columns[own] = b.reshape(row, (rows,))
    starts = b.pack(*columns, axis=1)
    return b.select_v2(b.expand_dims(inside, np.int32(1)), starts, b.const(np.int64(-1)))


define(
    "xla_scatter",
    "XlaScatter(operand: T, scatter_indices: Tindices, updates: T; update_computation: func,"
    f" dimension_numbers: string, indices_are_sorted: bool, T: {WITH_BOOL}, Tindices: INDEX)"
    " -> output: T",
    infer=infer_first,
    lowering=Extracted(_scatter),
)
