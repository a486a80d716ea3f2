"""Blocks of pixels moved between space, batch and depth.

In: images (or any [batch, spatial..., rest...]). Out: the same elements elsewhere, and zeros where
padding is read. Invariant: every record is a View, so that these ops cost nothing where they fuse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.ir.dims import Dim, as_dim, floordiv
from flowc.ir.inference import Inference, indivisible
from flowc.ir.layout import layout_of
from flowc.ir.lowering import Decompose, Lowering, View
from flowc.ir.op import define
from flowc.ir.types import Dims

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value
    from flowc.ir.scalar import ScalarBuilder

IMAGE_FORMATS = '{"NHWC", "NCHW", "NCHW_VECT_C"}'


# -- space <-> batch


def _divided(c: Inference, name: str, size: Dim, by: int) -> Dim:
    return _whole_parts(c, size, by, f"{name}={size} is not divisible by block_shape={by}")


def _whole_parts(c: Inference, size: Dim, by: int, fault: str) -> Dim:
    """How many parts of `by` a size has. One that the run finds to have others fails there."""
    if isinstance(size, int) and size % by:
        raise c.fail(fault, built=indivisible(by, size))
    parts = floordiv(size, by)
    c.equal(size, parts * by, fault)
    return parts


def _infer_space_to_batch(c: Inference, blocks: Sequence[int], operand: int) -> Dims:
    dims = c.dims(0)
    count = len(blocks)
    _check_blocks(c, blocks, operand)
    spatial = []
    for i, (block, (before, after)) in enumerate(zip(blocks, _pairs(c, operand, "paddings"))):
        spatial.append(_divided(c, f"padded_shape[{i}]", dims[1 + i] + before + after, block))
    return (dims[0] * prod(blocks), *spatial, *dims[1 + count :])


def _infer_batch_to_space(c: Inference, blocks: Sequence[int], operand: int) -> Dims:
    dims = c.dims(0)
    count = len(blocks)
    _check_blocks(c, blocks, operand)
    spatial = []
    for i, (block, (before, after)) in enumerate(zip(blocks, _pairs(c, operand, "crops"))):
        size = dims[1 + i] * block - before - after
        if isinstance(size, int) and size < 0:
            raise c.fail(f"cropped_shape[{i}]={size} must be non-negative")
        spatial.append(size)
    batch = _divided(c, "input batch dimension", dims[0], prod(blocks))
    return (batch, *spatial, *dims[1 + count :])


def _pairs(c: Inference, operand: int, name: str) -> list[tuple[Dim, Dim]]:
    """Start and end of each spatial axis of a paddings or crops operand."""
    flat = [as_dim(d) for d in c.need(operand).reshape(-1)]
    if any(isinstance(d, int) and d < 0 for d in flat):
        raise c.fail(f"{name} must be non-negative")
    return list(zip(flat[::2], flat[1::2]))


def _check_blocks(c: Inference, blocks: Sequence[int], operand: int) -> None:
    count = len(blocks)
    if c.rank(0) < 1 + count:
        raise c.fail(f"input rank should be >= {1 + count} instead of {c.rank(0)}")
    if any(b <= 0 for b in blocks):
        raise c.fail(f"block_shape must be positive, found {list(blocks)}")
    c.need_dims(operand, (count, 2), f"paddings and crops should have shape [{count}, 2]")


def _shifts(k: ScalarBuilder, node: Node, operand: int, extents: Sequence[Dim]) -> list[Dim]:
    """How far each spatial axis is padded or cropped at its start."""
    value = node.inputs[operand]
    if value.constant is not None:
        return [int(n) for n in value.constant[:, 0]]
    loaded = [k.load(operand, (i, 0)) for i in range(len(extents))]
    return [k.as_index(x, extent) for x, extent in zip(loaded, extents)]


def _space_to_batch_view(node: Node, blocks: Sequence[int], operand: int) -> View:
    dims = node.inputs[0].dims
    count = len(blocks)

    def read(k: ScalarBuilder, index: tuple[Dim, ...]) -> Any:
        padded = [o * b + 1 for o, b in zip(node.output.dims[1:], blocks)]
        shifts = _shifts(k, node, operand, padded)
        batch, place = index[0] % dims[0], floordiv(index[0], dims[0])
        at: list[Dim] = []
        inside = k.const(True, dtypes.bool_)
        for i, (block, shift) in enumerate(zip(blocks, shifts)):
            offset = floordiv(place, prod(blocks[i + 1 :])) % block
            at.append(index[1 + i] * block + offset - shift)
            inside = k.logical_and(inside, k.in_range(at[-1], 0, dims[1 + i]))
        zero = k.const(0, node.output.type.dtype)
        return k.load_if(inside, 0, (batch, *at, *index[1 + count :]), zero)

    return View(read)


def _batch_to_space_view(node: Node, blocks: Sequence[int], operand: int) -> View:
    count = len(blocks)

    def read(k: ScalarBuilder, index: tuple[Dim, ...]) -> Any:
        full = [n * b for n, b in zip(node.inputs[0].dims[1:], blocks)]
        shifts = _shifts(k, node, operand, full)
        at: list[Dim] = []
        place: Dim = 0
        for i, (block, shift) in enumerate(zip(blocks, shifts)):
            position = index[1 + i] + shift
            at.append(floordiv(position, block))
            place = place * block + position % block
        return k.load(0, (place * node.output.dims[0] + index[0], *at, *index[1 + count :]))

    return View(read)


Make = Callable[["Node", Sequence[int], int], View]


def _of_attr(make: Make) -> Callable[[Node], Lowering]:
    return lambda node: make(node, (node.attrs["block_size"],) * 2, 1)


def _of_operand(make: Make) -> Callable[[Node], Lowering]:
    def lower(node: Node) -> Lowering:
        blocks = node.inputs[1].constant
        if blocks is None:
            return Decompose(_with_constant_blocks)
        return make(node, tuple(int(b) for b in blocks), 2)

    return lower


def _with_constant_blocks(b: Builder, node: Node) -> Value:
    """The block shape is known by shape arithmetic alone."""
    x, blocks, pads = node.inputs
    known = b.const(np.array(b.content(blocks), blocks.type.dtype.numpy))
    return b.emit(node.op, (x, known, pads), dict(node.attrs)).output


def _space_to_batch_reference(x: np.ndarray, blocks: Sequence[int], pads: np.ndarray) -> np.ndarray:
    count = len(blocks)
    rest = x.ndim - 1 - count
    x = np.pad(x, [(0, 0), *((int(a), int(b)) for a, b in pads), *[(0, 0)] * rest])
    split = [n for d, b in zip(x.shape[1:], blocks) for n in (d // b, b)]
    x = x.reshape(x.shape[0], *split, *x.shape[1 + count :])
    inner = range(2, 2 * count + 1, 2)
    outer = range(1, 2 * count, 2)
    x = x.transpose(*inner, 0, *outer, *range(2 * count + 1, x.ndim))
    return np.ascontiguousarray(x.reshape(prod(x.shape[: count + 1]), *x.shape[count + 1 :]))


def _batch_to_space_reference(
    x: np.ndarray, blocks: Sequence[int], crops: np.ndarray
) -> np.ndarray:
    count = len(blocks)
    batch, dims = x.shape[0] // prod(blocks), x.shape[1:]
    x = x.reshape(*blocks, batch, *dims)
    pairs = [n for i in range(count) for n in (count + 1 + i, i)]
    x = x.transpose(count, *pairs, *range(2 * count + 1, x.ndim))
    x = x.reshape(batch, *(d * b for d, b in zip(dims, blocks)), *dims[count:])
    cuts = [slice(int(a), n - int(b)) for n, (a, b) in zip(x.shape[1:], crops)]
    return np.ascontiguousarray(x[(slice(None), *cuts)])


space_to_batch_nd = define(
    "space_to_batch_nd",
    "SpaceToBatchND(input: T, block_shape: Tblock_shape, paddings: Tpaddings; T: type, "
    "Tblock_shape: INDEX = i32, Tpaddings: INDEX = i32) -> output: T",
    infer=lambda c: _infer_space_to_batch(c, c.need_int_vector(1), 2),
    lowering=_of_operand(_space_to_batch_view),
    gradient=lambda b, node, dy: b.batch_to_space_nd(dy, *node.inputs[1:]),
    reference=lambda x, blocks, pads: _space_to_batch_reference(x, blocks.tolist(), pads),
    examples=(
        "f32[2,4,6,3] i32[2]=[2,3] i32[2,2]=[[0,0],[0,0]]",
        "i64[1,5,4,2] i64[2]=[3,2] i32[2,2]=[[1,0],[2,2]]",
        "f64[3,7] i32[1]=[4] i64[1,2]=[[0,1]]",
        "bool[2,3,2,2,2] i32[3]=[3,1,2] i32[3,2]=[[2,1],[0,0],[1,1]]",
        "f32[0,4,2] i32[1]=[2] i32[1,2]=[[0,2]]",
    ),
)

batch_to_space_nd = define(
    "batch_to_space_nd",
    "BatchToSpaceND(input: T, block_shape: Tblock_shape, crops: Tcrops; T: type, "
    "Tblock_shape: INDEX = i32, Tcrops: INDEX = i32) -> output: T",
    infer=lambda c: _infer_batch_to_space(c, c.need_int_vector(1), 2),
    lowering=_of_operand(_batch_to_space_view),
    gradient=lambda b, node, dy: b.space_to_batch_nd(dy, *node.inputs[1:]),
    reference=lambda x, blocks, crops: _batch_to_space_reference(x, blocks.tolist(), crops),
    examples=(
        "f32[12,2,3,3] i32[2]=[2,3] i32[2,2]=[[0,0],[0,0]]",
        "i64[6,5,4,2] i64[2]=[3,2] i32[2,2]=[[1,0],[2,2]]",
        "f64[8,3] i32[1]=[4] i64[1,2]=[[3,1]]",
        "f32[0,4,2] i32[1]=[2] i32[1,2]=[[0,2]]",
    ),
)

space_to_batch = define(
    "space_to_batch",
    "SpaceToBatch(input: T, paddings: Tpaddings; T: type, Tpaddings: INDEX = i32, "
    "block_size: int >= 2) -> output: T",
    infer=lambda c: _infer_space_to_batch(c, (c.attrs["block_size"],) * 2, 1),
    lowering=_of_attr(_space_to_batch_view),
    gradient=lambda b, node, dy: b.with_attrs_of(node, "batch_to_space", dy, node.inputs[1]),
    reference=lambda x, pads, *, block_size: _space_to_batch_reference(x, (block_size,) * 2, pads),
    examples=(
        "f32[2,4,6,3] i32[2,2]=[[0,0],[1,1]]; block_size=2",
        "i8[1,1,5,2] i64[2,2]=[[1,1],[0,1]]; block_size=3",
    ),
)

batch_to_space = define(
    "batch_to_space",
    "BatchToSpace(input: T, crops: Tidx; T: type, block_size: int >= 2, Tidx: INDEX = i32)"
    " -> output: T",
    infer=lambda c: _infer_batch_to_space(c, (c.attrs["block_size"],) * 2, 1),
    lowering=_of_attr(_batch_to_space_view),
    gradient=lambda b, node, dy: b.with_attrs_of(node, "space_to_batch", dy, node.inputs[1]),
    reference=lambda x, crops, *, block_size: _batch_to_space_reference(
        x, (block_size,) * 2, crops
    ),
    examples=(
        "f32[8,2,3,3] i32[2,2]=[[0,1],[1,1]]; block_size=2",
        "u8[9,1,2,1] i64[2,2]=[[0,0],[2,0]]; block_size=3",
    ),
)


# -- space <-> depth


def _check_image(c: Inference) -> None:
    rank = 5 if c.attrs["data_format"] == "NCHW_VECT_C" else 4
    c.need_rank(0, rank, f"Input rank should be: {rank} instead of: {c.rank(0)}")


def _infer_space_to_depth(c: Inference) -> Dims:
    _check_image(c)
    layout, block = layout_of(c.attrs["data_format"]), c.attrs["block_size"]
    n, h, w, depth = layout.logical(c.dims(0))
    fault = f"Image width {w} and height {h} should be divisible by block_size: {block}"
    parts = (_whole_parts(c, size, block, fault) for size in (h, w))
    return layout.stored((n, *parts, depth * (block * block)))


def _infer_depth_to_space(c: Inference) -> Dims:
    _check_image(c)
    layout, block = layout_of(c.attrs["data_format"]), c.attrs["block_size"]
    n, h, w, depth = layout.logical(c.dims(0))
    fault = f"Input depth dimension {depth} should be divisible by: {block * block}"
    part = _whole_parts(c, depth, block * block, fault)
    return layout.stored((n, h * block, w * block, part))


def _space_to_depth(node: Node) -> Lowering:
    layout, block = layout_of(node.attrs["data_format"]), node.attrs["block_size"]
    depth = layout.logical(node.inputs[0].dims)[3]

    def read(k: ScalarBuilder, index: tuple[Dim, ...]) -> Any:
        n, h, w, c = layout.place(index)
        row, column = floordiv(c, depth * block), floordiv(c, depth) % block
        return k.load(0, layout.index((n, h * block + row, w * block + column, c % depth)))

    return View(read)


def _depth_to_space(node: Node) -> Lowering:
    layout, block = layout_of(node.attrs["data_format"]), node.attrs["block_size"]
    depth = layout.logical(node.output.dims)[3]

    def read(k: ScalarBuilder, index: tuple[Dim, ...]) -> Any:
        n, h, w, c = layout.place(index)
        channel = ((h % block) * block + w % block) * depth + c
        return k.load(0, layout.index((n, floordiv(h, block), floordiv(w, block), channel)))

    return View(read)


def _space_to_depth_reference(x: np.ndarray, *, block_size: int, data_format: str) -> np.ndarray:
    layout = layout_of(data_format)
    x = layout.unpacked(x)
    n, h, w, c = x.shape
    b = block_size
    x = x.reshape(n, h // b, b, w // b, b, c).transpose(0, 1, 3, 2, 4, 5)
    return layout.packed(x.reshape(n, h // b, w // b, b * b * c))


def _depth_to_space_reference(x: np.ndarray, *, block_size: int, data_format: str) -> np.ndarray:
    layout = layout_of(data_format)
    x = layout.unpacked(x)
    n, h, w, c = x.shape
    b = block_size
    x = x.reshape(n, h, w, b, b, c // (b * b)).transpose(0, 1, 3, 2, 4, 5)
    return layout.packed(x.reshape(n, h * b, w * b, c // (b * b)))


space_to_depth = define(
    "space_to_depth",
    "SpaceToDepth(input: T; T: type, block_size: int >= 2, "
    f'data_format: {IMAGE_FORMATS} = "NHWC") -> output: T',
    infer=_infer_space_to_depth,
    lowering=_space_to_depth,
    reference=_space_to_depth_reference,
    gradient=lambda b, node, dy: b.with_attrs_of(node, "depth_to_space", dy),
    examples=(
        "f32[2,4,6,3]; block_size=2",
        "i64[1,3,6,1]; block_size=3",
        'f64[2,3,4,2]; block_size=2; data_format="NCHW"',
        'i8[1,2,4,2,4]; block_size=2; data_format="NCHW_VECT_C"',
        "f32[0,2,2,1]; block_size=2",
    ),
)

depth_to_space = define(
    "depth_to_space",
    "DepthToSpace(input: T; T: type, block_size: int >= 2, "
    f'data_format: {IMAGE_FORMATS} = "NHWC") -> output: T',
    infer=_infer_depth_to_space,
    lowering=_depth_to_space,
    reference=_depth_to_space_reference,
    gradient=lambda b, node, dy: b.with_attrs_of(node, "space_to_depth", dy),
    examples=(
        "f32[2,2,3,12]; block_size=2",
        "i64[1,1,2,9]; block_size=3",
        'f64[2,8,2,1]; block_size=2; data_format="NCHW"',
        'i8[1,4,1,2,4]; block_size=2; data_format="NCHW_VECT_C"',
    ),
)
