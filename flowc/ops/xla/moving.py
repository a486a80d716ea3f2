"""XLA's ops that move elements: padding, updated slices, gathers, broadcasts of two ranks.

In: what their OpDefs say; paddings and sizes are constants. Out: records. Invariant: a start that
the run knows is moved to where the slice fits, as XLA does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, as_dim, is_nonnegative, maximum, product
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Lowering, View
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.xla.dimension_numbers import SliceNumbers, check_axes

Array = np.ndarray[Any, Any]
WITH_BOOL = "{f32, f64, i32, u8, i16, i8, c64, i64, bf16, u16, c128, f16, u32, u64, bool}"

# -- padding: around and between elements, and off the edges where it is negative


def _infer_pad(c: Inference) -> Dims:
    low, high, between = (c.need_int_vector(i) for i in (2, 3, 4))
    if {len(low), len(high), len(between)} != {c.rank(0)} or c.rank(1):
        raise c.fail(f"a scalar and paddings of {c.rank(0)} dimensions are expected")
    if any(n < 0 for n in between):
        raise c.fail(f"padding_interior must be non-negative: {list(between)}")
    spread = (d + maximum(d - 1, 0) * n for d, n in zip(c.dims(0), between))
    return tuple(d + a + z for d, a, z in zip(spread, low, high))


def _lower_pad(node: Node) -> Lowering:
    low, between = (node.inputs[i].constant for i in (2, 4))
    assert low is not None and between is not None
    dims = node.inputs[0].dims

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        condition = k.const(True, dtypes.bool_)
        places: list[Dim] = []
        for i, dim, first, gap in zip(index, dims, low.tolist(), between.tolist()):
            place, step = i - first, gap + 1
            whole = place // step
            condition = k.logical_and(condition, k.in_range(place, 0, (dim - 1) * step + 1))
            if gap:
                condition = k.logical_and(condition, k.in_range(place - whole * step, 0, 1))
            places.append(whole)
        return k.load_if(condition, 0, tuple(places), k.load(1, ()))

    return View(read)


def pad_array(x: Array, value: Array, low: Array, high: Array, between: Array) -> Array:
    """An array with a value around and between its elements."""
    for axis, gap in enumerate(between.tolist()):
        spread = max((x.shape[axis] - 1) * (gap + 1) + 1, 0)
        wide = np.full((*x.shape[:axis], spread, *x.shape[axis + 1 :]), value, x.dtype)
        wide[(slice(None),) * axis + (slice(None, None, gap + 1),)] = x
        x = wide
    pairs = [(max(int(a), 0), max(int(z), 0)) for a, z in zip(low, high)]
    padded = np.pad(x, pairs, constant_values=value[()])
    cut = (slice(max(-int(a), 0), n - max(-int(z), 0)) for a, z, n in zip(low, high, padded.shape))
    return padded[tuple(cut)]


define(
    "xla_pad",
    "XlaPad(input: T, padding_value: T, padding_low: Tindices, padding_high: Tindices,"
    " padding_interior: Tindices; T: type, Tindices: INDEX) -> output: T",
    traits=frozenset({"moves"}),
    infer=_infer_pad,
    lowering=_lower_pad,
    reference=pad_array,
    examples=(
        "T[2,3] T[] i32[2]=[1,0] i32[2]=[2,1] i32[2]=[1,2]",
        "f32[4,3] f32[] i64[2]=[-1,2] i64[2]=[1,-2] i64[2]=[1,0]",
        "f32[0] f32[] i32[1]=[1] i32[1]=[1] i32[1]=[3]",
    ),
)


# -- slices whose start the run knows


def _infer_slice(c: Inference) -> Dims:
    sizes = c.need_sizes(2)
    fault = "start_indices and size_indices must have one element for each dimension"
    if len(sizes) != c.rank(0):
        raise c.fail(fault)
    c.need_dims(1, (len(sizes),), fault)
    for size, dim in zip(sizes, c.dims(0)):
        if isinstance(size, int) and isinstance(dim, int) and size > dim:
            raise c.fail(f"a slice of {size} elements of a dimension of {dim}")
    return sizes


def _moved_start(b: Builder, start: Value, dims: Dims, part: Dims) -> Value:
    """The start of a slice, moved to where the slice fits."""
    kind = start.type.dtype
    room = b.sizes(tuple(as_dim(d - s) for d, s in zip(dims, part)), kind)
    return b.maximum(b.minimum(start, room), b.const(0, kind))


def _build_slice(b: Builder, node: Node) -> Value:
    x, start, size = node.inputs
    return b.slice(x, _moved_start(b, start, x.dims, node.output.dims), size)


def _slice(x: Array, start: Array, size: Array) -> Array:
    begin = [min(max(int(a), 0), d - int(s)) for a, s, d in zip(start, size, x.shape)]
    return x[tuple(slice(a, a + int(s)) for a, s in zip(begin, size))]


define(
    "xla_dynamic_slice",
    "XlaDynamicSlice(input: T, start_indices: Tindices, size_indices: Tindices; T: type, Tindices:"
    " INDEX) -> output: T",
    infer=_infer_slice,
    lowering=Decompose(_build_slice),
    reference=_slice,
    examples=("f32[5,6] i32[2]~index7 i32[2]=[2,3]", "i32[4] i64[1]~index4 i64[1]=[2]"),
)


# -- updated slices


def _infer_update(c: Inference) -> Dims:
    rank = c.rank(0)
    fault = "the update and the indices must have one dimension or element for each"
    if c.rank(1) != rank:
        raise c.fail(fault)
    c.need_dims(2, (rank,), fault)
    for own, part in zip(c.dims(0), c.dims(1)):
        if isinstance(own, int) and isinstance(part, int) and part > own:
            raise c.fail(f"an update of {part} elements does not fit into {own}")
    return c.dims(0)


def _build_update(b: Builder, node: Node) -> Value:
    """Whole slices are written: of the first dimensions, those that the update has not all of."""
    x, update, indices = node.inputs
    rank = x.type.rank
    depth = max((i + 1 for i in range(rank) if x.dims[i] != update.dims[i]), default=0)
    if depth == 0 or 0 in update.dims:
        return b.identity(x if depth else update)
    start = _moved_start(b, b.cast(indices, DstT=dtypes.i64), x.dims, update.dims)
    first = b.slice(start, np.array([0]), np.array([depth]))
    parts = update.dims[:depth]
    rows = product(parts)
    zero, one = (b.const(n, dtypes.i64) for n in (0, 1))
    numbers = b.range(zero, b.scalar_size(rows, dtypes.i64), one)
    places = b.transpose(b.unravel_index(numbers, b.sizes(parts, dtypes.i64)), (1, 0))
    slices = b.reshape(update, (rows, *update.dims[depth:]))
    return b.change_slices(x, b.add(places, first), slices, combine="update", depth=depth)


def _update(x: Array, update: Array, indices: Array) -> Array:
    found = x.copy()
    first = [max(min(int(i), d - n), 0) for i, d, n in zip(indices, x.shape, update.shape)]
    found[tuple(slice(a, a + n) for a, n in zip(first, update.shape))] = update
    return found


define(
    "xla_dynamic_update_slice",
    "XlaDynamicUpdateSlice(input: T, update: T, indices: Tindices; T: type, Tindices: INDEX)"
    " -> output: T",
    infer=_infer_update,
    lowering=Decompose(_build_update),
    reference=_update,
    examples=(
        "T[5,6] T[2,3] i32[2]~index7",
        "f32[3,4,2] f32[1,4,2] i64[3]=[7,0,-1]",
        "f32[4] f32[4] i32[1]=[2]",
        "f32[3,4] f32[2,0] i32[2]=[1,2]",
        "i32[] i32[] i32[0]",
    ),
)


# -- gathered slices


def _infer_gather(c: Inference) -> Dims:
    numbers, sizes = SliceNumbers.of(c.attrs["dimension_numbers"]), c.need_int_vector(2)
    rank, index_rank = c.rank(0), c.rank(1)
    if len(sizes) != rank:
        raise c.fail(f"slice_sizes has {len(sizes)} elements, expected {rank}")
    places = numbers.places(index_rank)
    numbers.check(c, len(places) + len(numbers.window))
    for axis, (size, dim) in enumerate(zip(sizes, c.dims(0))):
        gone = axis in numbers.dropped or axis in numbers.batch
        if size < 0 or (gone and size != 1) or (isinstance(dim, int) and size > dim):
            raise c.fail(f"a slice of size {size} along axis {axis} does not fit into {dim}")
    ahead = [c.dims(1)[a] for a in places]
    inside = [sizes[a] for a in numbers.kept(rank)]
    count = len(ahead) + len(inside)
    return tuple((inside if i in numbers.window else ahead).pop(0) for i in range(count))


def _lower_gather(node: Node) -> Lowering:
    numbers = SliceNumbers.of(node.attrs["dimension_numbers"])
    dims, index_rank = node.inputs[0].dims, node.inputs[1].type.rank
    sizes = node.inputs[2].constant
    assert sizes is not None

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        ahead = [index[i] for i in range(len(index)) if i not in numbers.window]
        place = dict(zip(numbers.places(index_rank), ahead))
        found: list[Dim] = [0] * len(dims)
        fits = k.const(True, dtypes.bool_)
        for axis, i in zip(numbers.kept(len(dims)), (index[w] for w in sorted(numbers.window))):
            found[axis] = i
        for own, other in zip(numbers.batch, numbers.index_batch):
            found[own] = place[other]
        for number, axis in enumerate(numbers.starts):
            at = tuple(place.get(a, number) for a in range(index_rank))
            room = dims[axis] - int(sizes[axis])
            start = k.cast(k.load(1, at), dtypes.i64)
            start = k.max(k.min(start, k.index_value(room, dtypes.i64)), k.const(0, dtypes.i64))
            found[axis] = found[axis] + k.as_index(start, room + 1)
        for axis, dim in enumerate(dims):
            size = int(sizes[axis])
            if not is_nonnegative(dim - size):  # known in the run: one that is too long is not read
                inside = k.ge(k.index_value(dim, dtypes.i64), k.const(size, dtypes.i64))
                k.check(inside, f"a slice of size {size} along axis {axis} does not fit into {dim}")
                fits = k.logical_and(fits, inside)
        return k.load_if(fits, 0, tuple(found), k.const(0, node.output.type.dtype))

    return View(read)


def _gather(operand: Array, indices: Array, sizes: Array, *, dimension_numbers: str) -> Array:
    numbers = SliceNumbers.of(dimension_numbers)
    rank = operand.ndim
    vectors = np.moveaxis(indices, numbers.vector, -1) if numbers.vector < indices.ndim else (
        indices[..., None]
    )  # fmt: skip
    ahead, kept = vectors.shape[:-1], numbers.kept(rank)
    slices = np.empty((*ahead, *(int(sizes[a]) for a in kept)), operand.dtype)
    places = numbers.places(indices.ndim)
    for row in np.ndindex(*ahead):
        first = [0] * rank
        for axis, start in zip(numbers.starts, vectors[row].tolist()):
            first[axis] = max(min(start, operand.shape[axis] - int(sizes[axis])), 0)
        for own, other in zip(numbers.batch, numbers.index_batch):
            first[own] = row[places.index(other)]
        part = operand[tuple(slice(a, a + int(n)) for a, n in zip(first, sizes))]
        slices[row] = part.reshape(slices.shape[len(ahead) :])
    last = range(len(ahead), slices.ndim)
    return np.moveaxis(slices, tuple(last), tuple(sorted(numbers.window)))


define(
    "xla_gather",
    "XlaGather(operand: T, start_indices: Tindices, slice_sizes: Tindices;"
    " dimension_numbers: string, indices_are_sorted: bool, T: " + WITH_BOOL + ", Tindices: INDEX)"
    " -> output: T",
    infer=_infer_gather,
    lowering=_lower_gather,
    reference=_gather,
    examples=(
        # Rows by number; rectangles by their corner; one element of each row.
        'T[5,3] i32[4]~index7 i32[2]=[1,3]; dimension_numbers="\\n\\x01\\x01\\x12\\x01\\x00\\x1a'
        '\\x01\\x00 \\x01", indices_are_sorted=False',
        'f32[4,5] i64[2,3]~index7 i64[2]=[2,3]; dimension_numbers="\\n\\x02\\x01\\x02\\x1a\\x02'
        '\\x00\\x01 \\x00", indices_are_sorted=False',
        'f32[3,5] i32[3,1]~index5 i32[2]=[1,1]; dimension_numbers="\\x12\\x01\\x01\\x1a\\x01\\x01'
        ' \\x01*\\x01\\x002\\x01\\x00", indices_are_sorted=False',
    ),
)


# -- two tensors made to be broadcast


def _infer_broadcast(c: Inference) -> list[Dims]:
    axes = c.need_int_vector(2)
    one, other = c.dims(0), c.dims(1)
    if not axes:
        if len(one) != len(other) and one and other:
            raise c.fail("broadcast_dims must map the smaller operand's dimensions to the result's")
        return [one, other]
    small, large = sorted((one, other), key=len)
    if len(axes) != len(small):
        raise c.fail(f"broadcast_dims has {len(axes)} elements, expected {len(small)}")
    check_axes(c, axes, len(large), "broadcast_dims")
    wide: list[Dim] = [1] * len(large)
    for axis, dim in zip(axes, small):
        wide[axis] = dim
    return [tuple(wide), other] if len(one) < len(other) else [one, tuple(wide)]


def _broadcast(lhs: Array, rhs: Array, axes: Array) -> list[Array]:
    small, large = (lhs, rhs) if lhs.ndim < rhs.ndim else (rhs, lhs)
    dims = [1] * large.ndim
    for axis, dim in zip(axes.tolist(), small.shape):
        dims[axis] = dim
    wide = small.reshape(dims) if axes.size else small
    return [wide, rhs] if small is lhs else [lhs, wide]


define(
    "xla_broadcast_helper",
    "XlaBroadcastHelper(lhs: T, rhs: T, broadcast_dims: Tindices; T: NUMBER, Tindices: INDEX)"
    " -> (lhs_output: T, rhs_output: T)",
    infer=_infer_broadcast,
    lowering=Decompose(
        lambda b, node: [
            b.reshape(x, y.dims) for x, y in zip(node.inputs, node.outputs, strict=False)
        ]
    ),
    reference=_broadcast,
    examples=(
        "T[3] T[3,2] i32[1]=[0]",
        "f32[2,3,4] f32[2,4] i64[2]=[0,2]",
        "f32[2,3] f32[2,3] i32[0]",
    ),
)
