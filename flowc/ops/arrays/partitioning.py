"""Ops that deal rows out to several tensors and gather them again: dynamic_partition and _stitch.

In: rows and a number for each. Out: the rows in another order, in sizes that the run decides.
Invariant: the numbers are checked; a number outside its range ends the run with
InvalidArgumentError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, Expr, product
from flowc.ir.extraction import Extractor
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Lowering, Native
from flowc.ir.op import define, op_named
from flowc.ir.types import Dims, TensorType
from flowc.ops.arrays.shapes import append_sized
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.kernels.status import fail

# -- dynamic_partition


def positions_kernel(parts, out, sizes, status, n, index, count, width, begin, end):
    found = 0
    for i in range(n):
        part = parts[i]
        if part < 0 or part >= count:
            fail(status, 1, i // width, part, i % width)
            return
        if part == index:
            out[found] = i
            found += 1
    sizes[0] = found


def _lower_positions(node: Node) -> Lowering:
    parts, count = node.inputs[0], node.attrs["num_partitions"]
    place, width = ("{a},{c}", parts.dims[1]) if parts.type.rank == 2 else ("{a}", 1)
    return Native(
        positions_kernel,
        arguments=(parts.type.size, node.attrs["index"], count, width),
        errors=(f"partitions[{place}] = {{b}} is not in [0, {count})",),
    )


def _infer_partition(c: Inference) -> list[Dims]:
    data, parts = c.dims(0), c.dims(1)
    fault = f"data.shape must start with partitions.shape, got {list(data)} and {list(parts)}"
    c.match_dims(data[: len(parts)], parts, fault)
    rows = product(parts)
    return [(c.fresh("part", rows), *data[len(parts) :]) for _ in range(c.attrs["num_partitions"])]


def _known_parts(partitions: np.ndarray, count: int) -> np.ndarray:
    """The partition of each row. Raises `InvalidArgumentError` for one that there is not."""
    parts = partitions.reshape(-1)
    wrong = np.flatnonzero((parts < 0) | (parts >= count))
    if wrong.size:
        place = ",".join(str(i) for i in np.unravel_index(wrong[0], partitions.shape))
        raise InvalidArgumentError(
            f"partitions[{place}] = {parts[wrong[0]]} is not in [0, {count})"
        )
    return parts


def _positions_of(partitions: np.ndarray, *, index: int, num_partitions: int) -> np.ndarray:
    parts = _known_parts(partitions, num_partitions)
    return np.flatnonzero(parts == index).astype(np.int64)


def _partition(
    data: np.ndarray, partitions: np.ndarray, *, num_partitions: int
) -> list[np.ndarray]:
    parts = _known_parts(partitions, num_partitions)
    rows = data.reshape((parts.size, *data.shape[partitions.ndim :]))
    return [rows[parts == p] for p in range(num_partitions)]


def _lower_partition(b: Any, node: Node) -> list[Value]:
    data, parts = node.inputs
    count = parts.type.size
    rows = b.reshape(data, (count, *data.dims[parts.type.rank :]))
    found = []
    for i, output in enumerate(node.outputs):
        attrs = {"index": i, "num_partitions": len(node.outputs)}
        types = [TensorType(dtypes.i64, output.dims[:1])]
        places = append_sized(b, "positions", [parts], attrs, types, node.sizes[i : i + 1]).output
        found.append(b.gather(rows, places, np.int32(0)))
    return found


# -- dynamic_stitch


def stitch_kernel(indices, data, out, sizes, status, n, width, begin, end):
    size = 0
    for i in range(n):
        place = indices[i]
        if place < 0 or place >= n:
            fail(status, 1, i, place, n)
            return
        if place >= size:
            size = place + 1
    for i in range(size * width):
        out[i] = 0
    for i in range(n):
        for j in range(width):
            out[indices[i] * width + j] = data[i * width + j]
    sizes[0] = size


def _lower_stitched(node: Node) -> Lowering:
    data = node.inputs[1].dims
    return Native(
        stitch_kernel,
        arguments=(data[0], product(data[1:])),
        errors=("indices[{a}] = {b} is out of range [0, {c}), the number of indices",),
    )


def _infer_stitch(c: Inference) -> Dims:
    count = len(c.inputs) // 2
    rest: Dims | None = None
    total: Dim = 0
    largest: int | None = -1
    for i in range(count):
        places, data = c.dims(i), c.dims(count + i)
        if len(data) < len(places):
            raise c.fail(f"data[{i}] has a lower rank than indices[{i}]")
        for ours, theirs in zip(places, data):
            c.equal(ours, theirs)
        tail = data[len(places) :]
        rest = tail if rest is None else rest
        if len(tail) != len(rest):
            raise c.fail(f"data[0] and data[{i}] differ in what one index holds")
        rest = tuple(c.equal(x, y) for x, y in zip(rest, tail))
        total = total + product(places)
        largest = _largest(c, i, largest)
    size = c.fresh("stitched", total) if largest is None else largest + 1
    return (size, *(rest or ()))


def _largest(c: Inference, i: int, before: int | None) -> int | None:
    """The largest of the constant indices so far; None when the run computes some."""
    known = c.content(i)
    if 0 in c.dims(i):
        return before
    if before is None or known is None or any(isinstance(x, Expr) for x in known.flat):
        return None
    if any(x < 0 for x in known.flat):
        raise c.fail(f"indices[{i}] is out of range")
    return max([before, *(int(x) for x in known.flat)])


def _stitch(indices: list[np.ndarray], data: list[np.ndarray]) -> np.ndarray:
    size = max([int(i.max()) + 1 for i in indices if i.size], default=0)
    rest = data[0].shape[indices[0].ndim :]
    result = np.zeros((size, *rest), data[0].dtype)
    for places, values in zip(indices, data):
        rows = values.reshape((places.size, *rest))
        for place, row in zip(places.reshape(-1), rows):
            result[int(place)] = row
    return result


def _lower_stitch(b: Any, node: Node) -> Value:
    count = len(node.inputs) // 2
    dims = node.output.dims
    places: list[Value] = []
    rows: list[Value] = []
    for indices, data in zip(node.inputs[:count], node.inputs[count:]):
        places.append(b.reshape(indices, (indices.type.size,)))
        rows.append(b.reshape(data, (indices.type.size, *dims[1:])))
    zero = np.int32(0)
    where = places[0] if count == 1 else b.concat(*places, zero)
    what = rows[0] if count == 1 else b.concat(*rows, zero)
    if node.sizes:
        return append_sized(b, "stitched", [where, what], {}, node.types, node.sizes).output
    table = b.broadcast_to(b.const(0, node.output.type.dtype), dims)
    return b.tensor_scatter_update(table, b.reshape(where, (*where.dims, 1)), what)


def _stitch_of_data(x: Extractor, inputs: Sequence[Value], attrs: Any) -> tuple[Value, ...]:
    """Where only the run knows the largest index: there are as many rows as it says, and those that
    no index names are zeros, as in TensorFlow."""
    b, count = x.b, len(inputs) // 2
    indices, data = inputs[:count], inputs[count:]
    dtype = data[0].type.dtype
    if dtype is dtypes.string or all(_is_known(b, v) for v in indices) or _is_dealt(b, indices):
        return (b.dynamic_stitch(*inputs),)
    rest = data[0].dims[indices[0].type.rank :]
    none = b.const(np.full(1, -1, np.int32))
    where = b.concat(none, *(b.reshape(v, (v.type.size,)) for v in indices), np.int32(0))
    most = b.cast(b.max(where, np.array([0], np.int32), keep_dims=True), DstT=dtypes.i64)
    shape = b.concat(b.add(most, np.int64(1)), b.sizes(rest, dtypes.i64), np.int32(0))
    result = b.fill(shape, b.const(0, dtype))
    for places, rows in zip(indices, data):
        places = b.reshape(places, (places.type.size, 1))
        rows = b.reshape(rows, (places.dims[0], *rest))
        result = b.tensor_scatter_update(result, places, rows)
    return (result,)


def _is_known(b: Builder, indices: Value) -> bool:
    content = b.content(indices)
    return content is not None and not any(isinstance(i, Expr) for i in content.flat)


def _is_dealt(b: Builder, indices: Sequence[Value]) -> bool:
    """Whether indices are what a dynamic_partition made of the numbers from 0 on: each is below
    their number then, and the result needs no more memory than they do."""
    node = indices[0].node
    if node.op.name != "dynamic_partition" or any(v.node is not node for v in indices):
        return False
    numbers = node.inputs[0].node
    if numbers.op.name != "range":
        return False
    ends = [b.content(numbers.inputs[i]) for i in (0, 2)]
    return [None if end is None else end.tolist() for end in ends] == [0, 1]


def _partition_gradient(b: GradientBuilder, node: Forward, *dys: Any) -> Any:
    """The parts go back to where their rows came from."""
    data, partitions = node.inputs
    count = node.attrs["num_partitions"]
    rows = b.range(0, b.cast(b.count_of(partitions), DstT=dtypes.i32), 1)
    flat = b.reshape(partitions, (-1,))
    places = b.apply(op_named("dynamic_partition"), [rows, flat], {"num_partitions": count})
    places = [places] if count == 1 else list(places)
    return b.reshape(b.dynamic_stitch(*places, *dys), b.shape_of(data))


def _stitch_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    count = len(node.inputs) // 2
    rows = [b.gather(dy, indices, np.int32(0)) for indices in node.inputs[:count]]
    return [None] * count + rows


# What dynamic_partition and dynamic_stitch become; their sizes are those of the whole.
positions = define(
    "positions",
    "_Positions(partitions: i32; index: int, num_partitions: int) -> positions: i64",
    infer=lambda c: (c.fresh("part", c.inputs[0].size),),
    reference=_positions_of,
    lowering=_lower_positions,
    examples=(
        "i32[6]=[0,1,1,2,0,1]; index=1, num_partitions=3",
        "i32[3,2]=[0,1,1,2,0,1]; index=1, num_partitions=3",
        "i32[3,5]~index7; index=4, num_partitions=7",
    ),
)

stitched = define(
    "stitched",
    "_Stitched(indices: i32, data: T; T: type) -> merged: T",
    infer=lambda c: (c.fresh("stitched", c.dims(0)[0]), *c.dims(1)[1:]),
    reference=lambda indices, data: _stitch([indices], [data]),
    lowering=_lower_stitched,
    examples=("i32[3]=[2,0,1] f32[3,2]",),
)

dynamic_partition = define(
    "dynamic_partition",
    "DynamicPartition(data: T, partitions: i32; num_partitions: int >= 1, T: type)"
    " -> outputs: num_partitions*T",
    infer=_infer_partition,
    reference=_partition,
    lowering=Decompose(_lower_partition),
    gradient=_partition_gradient,
    examples=(
        "T[5,2] i32[5]=[1,0,1,3,0]; num_partitions=4",
        "f32[2,2] i32[2,2]=[1,0,0,1]; num_partitions=2",
        "f32[0,3] i32[0]; num_partitions=1",
    ),
)

dynamic_stitch = define(
    "dynamic_stitch",
    "DynamicStitch(indices: N*i32, data: N*T; N: int >= 1, T: type) -> merged: T",
    infer=_infer_stitch,
    reference=_stitch,
    lowering=Decompose(_lower_stitch),
    gradient=_stitch_gradient,
    examples=(
        "i32[2]=[0,2] i32[2]=[1,3] T[2,3] T[2,3]",
        "i32[]=0 i32[3]=[1,0,2] f32[] f32[3]",
    ),
    content=True,
    aliases=("ParallelDynamicStitch",),
    on_data=_stitch_of_data,
)
