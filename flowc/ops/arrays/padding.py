"""Ops that repeat or surround a tensor: pad, mirror_pad, tile, broadcast_to.

In: a tensor and, for each dim, how it grows. Out: the larger tensor. Invariant: each element is a
copy of one of the input, or the padding value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, Expr, as_dim, maximum, minimum
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Lowering, View
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.arrays.shapes import known_dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.math.elementwise import widened

Pairs = list[tuple[Dim, Dim]]

# -- pad


def _paddings(c: Inference) -> Pairs:
    rank, dims = c.rank(0), c.dims(1)
    if len(dims) != 2 or any(isinstance(d, int) and d != n for d, n in zip(dims, (rank, 2))):
        fault = f"paddings must be a matrix with 2 columns and {rank} rows"
        given = dims[0] if len(dims) == 2 and isinstance(dims[0], int) else rank
        raise c.fail(fault, built=f"Shape must be rank {given} but is rank {rank}")
    for size, wanted in zip(dims, (rank, 2)):
        c.equal(size, wanted)
    found = c.need(1, shapes=[(None,) * rank])
    return [(as_dim(before), as_dim(after)) for before, after in found]


def _infer_pad(c: Inference) -> Dims:
    if len(c.inputs) == 3 and c.rank(2) != 0:
        raise c.fail(f"constant_values must be a scalar, not {c.inputs[2]}")
    result: list[Dim] = []
    for dim, (before, after) in zip(c.dims(0), _paddings(c)):
        if any(isinstance(p, int) and p < 0 for p in (before, after)):
            raise c.fail(f"Paddings must be non-negative: {before} {after}")
        result.append(dim + before + after)
    return tuple(result)


def _lower_pad(node: Node) -> Lowering:
    dims, target = node.inputs[0].dims, node.output.dims
    known = known_dims(node.inputs[1])

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        dtype = node.output.type.dtype
        value = k.load(2, ()) if len(node.inputs) == 3 else k.const(0, dtype)
        inside = None
        places: list[Dim] = []
        for axis, (dim, wide) in enumerate(zip(dims, target)):
            before = (
                k.as_index(k.load(1, (axis, 0)), wide + 1) if known is None else known[2 * axis]
            )
            places.append(index[axis] - before)
            if dim != wide:
                here = k.in_range(places[-1], 0, dim)
                inside = here if inside is None else k.logical_and(inside, here)
        if inside is None:
            return k.load(0, tuple(places))
        return k.load_if(inside, 0, tuple(places), value)

    return View(read)


def _pad(x: np.ndarray, paddings: np.ndarray) -> np.ndarray:
    return _pad_with(x, paddings, np.array(b"" if x.dtype.hasobject else 0, x.dtype))


def _pad_with(x: np.ndarray, paddings: np.ndarray, constant_values: np.ndarray) -> np.ndarray:
    pairs = [(int(before), int(after)) for before, after in paddings]
    result = np.empty([d + b + a for d, (b, a) in zip(x.shape, pairs)], x.dtype)
    result[...] = constant_values
    result[tuple(slice(b, b + d) for d, (b, _) in zip(x.shape, pairs))] = x
    return result


def _pad_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    x, paddings = node.inputs[:2]
    begin = b.reshape(b.slice(paddings, (0, 0), (-1, 1)), (-1,))
    dx = b.slice(dy, begin, b.shape_of(x, dtype=paddings.dtype))
    if len(node.inputs) == 2:
        return dx
    return dx, None, b.sub(b.sum(dy, b.axes_of(x)), b.sum(dx, b.axes_of(x)))


# -- mirror_pad

# How many elements the mirror stands beyond the edge's own element.
_EDGE = {"REFLECT": 1, "SYMMETRIC": 0}
_WANTED = {"REFLECT": "less than", "SYMMETRIC": "no greater than"}


def _infer_mirror_pad(c: Inference) -> Dims:
    mode = c.attrs["mode"]
    result: list[Dim] = []
    for dim, (before, after) in zip(c.dims(0), _paddings(c)):
        for pad in (before, after):
            if isinstance(pad, int) and isinstance(dim, int):
                _check_mirror(c, mode, dim, before, after, pad, "dimension size")
        result.append(dim + before + after)
    return tuple(result)


def _check_mirror(
    c: Inference, mode: str, dim: int, before: Dim, after: Dim, pad: int, what: str
) -> None:
    if pad < 0:
        raise c.fail(f"paddings must be non-negative: {before} {after}")
    if pad > dim - _EDGE[mode]:
        found = "not less than" if mode == "REFLECT" else "greater than"
        raise c.fail(
            f"paddings must be {_WANTED[mode]} the {what}: {before}, {after} {found} {dim}"
        )


def _lower_mirror_pad(node: Node) -> Lowering:
    dims, target = node.inputs[0].dims, node.output.dims
    mode = node.attrs["mode"]
    edge = _EDGE[mode]
    known = known_dims(node.inputs[1])
    message = f"paddings must be {_WANTED[mode]} the dimension size"

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        fits = None
        places: list[Dim] = []
        for axis, (dim, wide) in enumerate(zip(dims, target)):
            if dim == wide:
                places.append(index[axis])
                continue
            before, after = (
                _paddings_of(k, axis, wide) if known is None else known[2 * axis : 2 * axis + 2]
            )
            for pad in (before, after):
                # One that is too large would read beside the input.
                if not (isinstance(pad, int) and isinstance(dim, int)):
                    here = k.in_range(pad, 0, dim - edge + 1)
                    fits = here if fits is None else k.logical_and(fits, here)
            place = index[axis] - before
            place = maximum(place, edge - 1 - place)
            places.append(minimum(place, 2 * dim - 1 - edge - place))
        if fits is None:
            return k.load(0, tuple(places))
        k.check(fits, message)
        return k.load_if(fits, 0, tuple(places), k.const(0, node.output.type.dtype))

    return View(read)


def _paddings_of(k: Any, axis: int, wide: Dim) -> tuple[Dim, Dim]:
    """The padding before and after an axis, which the kernel reads from input 1."""
    before, after = (k.as_index(k.load(1, (axis, i)), wide + 1) for i in range(2))
    return before, after


def _mirror_pad(x: np.ndarray, paddings: np.ndarray, *, mode: str) -> np.ndarray:
    result = x
    for axis, places in enumerate(_mirrored_places(x.shape, paddings, mode)):
        result = np.take(result, places, axis=axis)
    return result


def _mirrored_places(shape: Sequence[int], paddings: np.ndarray, mode: str) -> list[np.ndarray]:
    """For each axis, the input index that each output index reads."""
    edge = _EDGE[mode]
    found = []
    for dim, (before, after) in zip(shape, paddings):
        if max(before, after) > dim - edge or min(before, after) < 0:
            raise InvalidArgumentError(
                f"paddings [{before}, {after}] do not fit mode {mode} and a dimension of {dim}"
            )
        place = np.arange(-int(before), dim + int(after))
        place = np.maximum(place, edge - 1 - place)
        found.append(np.minimum(place, 2 * dim - 1 - edge - place))
    return found


def _infer_mirror_pad_grad(c: Inference) -> Dims:
    c.refuse(0, dtypes.bool_, dtypes.string)
    mode = c.attrs["mode"]
    result: list[Dim] = []
    for dim, (before, after) in zip(c.dims(0), _paddings(c)):
        size = dim - before - after
        if isinstance(size, int) and size < 1:
            raise c.fail(
                "Total paddings must be less than the input dimension size: "
                f"{before + after} was not less than {dim}"
            )
        for pad in (before, after):
            if isinstance(pad, int) and isinstance(size, int):
                _check_mirror(c, mode, size, before, after, pad, "output dimension size")
        result.append(maximum(size, 0))
    return tuple(result)


def _mirror_pad_grad(dy: np.ndarray, paddings: np.ndarray, *, mode: str) -> np.ndarray:
    result = widened(dy)
    shape = [d - int(b) - int(a) for d, (b, a) in zip(dy.shape, paddings)]
    for axis, places in enumerate(_mirrored_places(shape, paddings, mode)):
        folded = np.zeros(
            (*result.shape[:axis], shape[axis], *result.shape[axis + 1 :]), result.dtype
        )
        moved = np.moveaxis(folded, axis, 0)
        np.add.at(moved, places, np.moveaxis(result, axis, 0))
        result = folded
    return result.astype(dy.dtype)


def _lower_mirror_pad_grad(b: Any, node: Node) -> Value:
    """For each axis, the middle plus both borders turned over onto the elements they mirror."""
    mode = node.attrs["mode"]
    edge = _EDGE[mode]
    value, paddings = node.inputs
    pairs = [as_dim(p) for p in b.content(paddings).reshape(-1)]
    room: list[Dim] = []
    for axis, size in enumerate(node.output.dims):
        before, after = pairs[2 * axis : 2 * axis + 2]
        room += [size - edge - pad for pad in (before, after)]
        room.append(value.dims[axis] - before - after - 1)
    if any(isinstance(r, Expr) for r in room):
        fits = b.greater_equal(b.sizes(room, dtypes.i64), np.int64(0))
        message = f"paddings must be {_WANTED[mode]} the output dimension size"
        b.check(b.all(fits, np.zeros(1, np.int32)), message=message)
    for axis, size in enumerate(node.output.dims):
        before, after = pairs[2 * axis : 2 * axis + 2]
        total = _part(b, value, axis, before, size)
        for start, count, place in (
            (0, before, edge),
            (before + size, after, size - edge - after),
        ):
            if count != 0:
                border = b.reverse(_part(b, value, axis, start, count), np.array([axis], np.int32))
                pads = np.zeros((value.type.rank, 2), object)
                pads[axis] = place, size - place - count
                flat = b.sizes([as_dim(p) for p in pads.reshape(-1)])
                total = b.add(total, b.pad(border, b.reshape(flat, pads.shape)))
        value = total
    return value


def _part(b: Any, value: Value, axis: int, start: Dim, size: Dim) -> Value:
    begin = tuple(start if a == axis else 0 for a in range(value.type.rank))
    box = tuple(size if a == axis else d for a, d in enumerate(value.dims))
    return b.slice(value, begin, box)


# -- tile and broadcast_to


def _infer_tile(c: Inference) -> Dims:
    rank, dims = c.rank(0), c.dims(1)
    if len(dims) != 1 or (isinstance(dims[0], int) and dims[0] != rank):
        fault = f"Expected multiples argument to be a vector of length {rank}"
        built = rank, dims[0] if len(dims) == 1 else len(dims)
        raise c.fail(fault, built="Shape must be rank {} but is rank {}".format(*built))
    c.equal(dims[0], rank)
    fault = "Expected multiples[{place}] >= 0, but got {size}"
    multiples = c.need_sizes(1, fault, shapes=[(None,) * rank])
    return tuple(d * m for d, m in zip(c.dims(0), multiples))


def _lower_tile(node: Node) -> Lowering:
    dims, target = node.inputs[0].dims, node.output.dims

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        if any(d == 0 for d in target):
            return k.const(0, node.output.type.dtype)
        places: list[Dim] = []
        for place, dim, wide in zip(index, dims, target):
            if dim == 1:
                places.append(0)
            else:
                places.append(place if dim == wide else place % dim)
        return k.load(0, tuple(places))

    return View(read)


def _tile(x: np.ndarray, multiples: np.ndarray) -> np.ndarray:
    return np.tile(x, [int(m) for m in multiples])


def _tile_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    x, multiples = node.inputs
    wide = b.reshape(b.pack(multiples, b.shape_of(x, dtype=multiples.dtype), axis=1), (-1,))
    axes = np.arange(0, 2 * b.rank_of(x), 2, dtype=np.int32)
    return b.sum(b.reshape(dy, wide), axes)


def _infer_broadcast_to(c: Inference) -> Dims:
    c.need_rank(1, 1, f"Shape must be a vector, found {c.inputs[1]}")
    wanted = c.need_sizes(1, "Dimension {place} of the shape must be non-negative, not {size}")
    dims = c.dims(0)
    if len(wanted) < len(dims):
        raise c.fail(f"Rank of input ({len(dims)}) must be no greater than {len(wanted)}")
    fault = f"Incompatible shapes: {shown_dims(dims)} vs. {shown_dims(wanted)}"
    for dim, size in zip(dims, wanted[len(wanted) - len(dims) :]):
        if dim != 1 and not _may_be_repeated(dim, size):
            c.equal(dim, size, fault)
    return wanted


def _may_be_repeated(dim: Dim, size: Dim) -> bool:
    """Whether only the run knows if a dim is 1, and so is repeated, or the size that is asked for
    already."""
    return isinstance(dim, Expr) and dim != size and size != 1


def broadcast_index(dims: Dims, index: Sequence[Dim]) -> tuple[Dim, ...]:
    """The index in an operand of `dims` that a broadcast reads for `index` of its result."""
    return tuple(0 if d == 1 else i for d, i in zip(dims, index[len(index) - len(dims) :]))


def _lower_broadcast_to(node: Node) -> Lowering:
    dims, target = node.inputs[0].dims, node.output.dims
    message = f"Incompatible shapes: {shown_dims(dims)} vs. {shown_dims(target)}"

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        fits = None
        places = list(broadcast_index(dims, index))
        for axis, (dim, size) in enumerate(zip(dims, target[len(target) - len(dims) :])):
            if _may_be_repeated(dim, size):
                here = k.logical_or(k.in_range(dim, 1, 2), k.in_range(size - dim, 0, 1))
                fits = here if fits is None else k.logical_and(fits, here)
                places[axis] = minimum(places[axis], dim - 1)
        if fits is None:
            return k.load(0, tuple(places))
        k.check(fits, message)
        return k.load_if(fits, 0, tuple(places), k.const(0, node.output.type.dtype))

    return View(read)


def _broadcast_to(x: np.ndarray, shape: np.ndarray) -> np.ndarray:
    try:
        return np.broadcast_to(x, tuple(int(d) for d in shape)).copy()
    except ValueError as error:
        raise InvalidArgumentError(
            f"Incompatible shapes: {list(x.shape)} vs. {shape.tolist()}"
        ) from error


pad = define(
    "pad",
    "Pad(input: T, paddings: Tpaddings; T: type, Tpaddings: {i32, i64} = i32) -> output: T",
    infer=_infer_pad,
    reference=_pad,
    lowering=_lower_pad,
    gradient=_pad_gradient,
    examples=(
        "T[2,3] i32[2,2]=[1,0,2,1]",
        "f32[0] i64[1,2]=[1,2]",
        "f32[1,2,1] i32[3,2]=[0,0,0,3,0,0]",
        "f32[] i32[0,2]",
    ),
    content=lambda x, paddings: _pad_with(x, paddings, np.array(0)),  # integers, as objects
)

pad_v2 = define(
    "pad_v2",
    "PadV2(input: T, paddings: Tpaddings, constant_values: T; T: type,"
    " Tpaddings: {i32, i64} = i32) -> output: T",
    infer=_infer_pad,
    reference=_pad_with,
    lowering=_lower_pad,
    gradient=_pad_gradient,
    examples=("T[2,3] i32[2,2]=[1,0,2,1] T[]", "f32[3] i64[1,2]=[0,0] f32[]"),
    content=True,
)

mirror_pad = define(
    "mirror_pad",
    "MirrorPad(input: T, paddings: Tpaddings; T: type, Tpaddings: {i32, i64} = i32,"
    ' mode: {"REFLECT", "SYMMETRIC"}) -> output: T',
    infer=_infer_mirror_pad,
    reference=_mirror_pad,
    lowering=_lower_mirror_pad,
    gradient=lambda b, node, dy: b.mirror_pad_grad(dy, node.inputs[1], mode=node.attrs["mode"]),
    examples=(
        'T[3,4] i32[2,2]=[2,1,3,0]; mode="REFLECT"',
        'f32[3,1] i64[2,2]=[3,2,1,1]; mode="SYMMETRIC"',
        'f32[1,2] i32[2,2]=[0,0,1,1]; mode="REFLECT"',
    ),
)

mirror_pad_grad = define(
    "mirror_pad_grad",
    "MirrorPadGrad(input: T, paddings: Tpaddings; T: type, Tpaddings: {i32, i64} = i32,"
    ' mode: {"REFLECT", "SYMMETRIC"}) -> output: T',
    infer=_infer_mirror_pad_grad,
    reference=_mirror_pad_grad,
    lowering=Decompose(_lower_mirror_pad_grad),
    gradient=lambda b, node, dy: b.mirror_pad(dy, node.inputs[1], mode=node.attrs["mode"]),
    examples=(
        'f32[6,7] i32[2,2]=[2,1,3,0]; mode="REFLECT"',
        'f64[8,3] i64[2,2]=[3,2,1,1]; mode="SYMMETRIC"',
    ),
)

tile = define(
    "tile",
    "Tile(input: T, multiples: Tmultiples; T: type, Tmultiples: {i32, i64} = i32) -> output: T",
    infer=_infer_tile,
    reference=_tile,
    lowering=_lower_tile,
    gradient=_tile_gradient,
    examples=(
        "T[2,3] i32[2]=[2,3]",
        "f32[1,4] i64[2]=[5,1]",
        "f32[3] i32[1]=[0]",
        "f32[0] i32[1]=[2]",
        "f32[] i32[0]",
    ),
    content=True,
)

broadcast_to = define(
    "broadcast_to",
    "BroadcastTo(input: T, shape: Tidx; T: type, Tidx: {i32, i64} = i32) -> output: T",
    infer=_infer_broadcast_to,
    reference=_broadcast_to,
    lowering=_lower_broadcast_to,
    gradient=lambda b, node, dy: b.sum_to_shape_of(dy, node.inputs[0]),
    examples=(
        "T[3] i32[2]=[2,3]",
        "f32[2,1] i64[3]=[4,2,5]",
        "f32[] i32[2]=[2,2]",
        "f32[1] i32[1]=[0]",
    ),
    content=True,
)
