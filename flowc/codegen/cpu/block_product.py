"""Blocks of a product over the whole inner dimension, written as vector IR.

In: a `TileShape`. Out: routines that compute rows x columns of C, gathering one block of the left
operand after another into scratch and adding it times the packed panels.
"""

from __future__ import annotations

from collections.abc import Iterable

from llvmlite import ir

from flowc.codegen.cpu.block_copy import (
    copy_rows_routine,
    transpose_routine,
    zero_run_routine,
)
from flowc.codegen.cpu.gather import patches_routine
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.cpu.tiles import clear_rows_read, panels_routine
from flowc.codegen.llvm.vector_ir import (
    Index,
    Routine,
    Value,
    Values,
    counted_loop,
    index_range,
    indices,
    offset,
)
from flowc_runtime.native.writer import I64, i64


def _vectors(share: Index, shape: TileShape) -> Index:
    """A share of at most `shape.depth`, rounded up to whole vectors."""
    return share.ceil_div(shape.lanes) * shape.lanes


def _emit_gemm(
    b: ir.IRBuilder, args: Values, shape: TileShape, transpose_a: bool, pieces: int
) -> None:
    block, *left, panels, c = args[: 3 + pieces]
    k, *rest = indices(b, args[3 + pieces :])
    strides, c_stride, bounds = rest[:pieces], rest[pieces], rest[pieces + 1 :]
    row_begin, row_end = bounds[:2]
    blocks = k.ceil_div(shape.depth).most(1)
    step = _vectors(k.ceil_div(blocks), shape)
    rows = row_end - row_begin
    with counted_loop(b, blocks) as number:
        begin = number * step
        depth = (k - begin).least(step)
        if transpose_a:
            source = offset(left[0], begin * strides[0] + row_begin)
            move = transpose_routine(shape)
            move.call(b, block, source, depth, rows, shape.row_stride, strides[0])
        elif pieces == 1:
            source = offset(left[0], row_begin * strides[0] + begin)
            move = copy_rows_routine(shape)
            move.call(b, block, source, rows, depth, shape.row_stride, strides[0])
        else:
            _gather_pieces(b, block, zip(left, strides), begin, depth, row_begin, rows, shape)
        clear_rows_read(b, block, rows, bounds[3] - bounds[2], shape)
        first = offset(panels, begin * shape.columns)
        panels_routine(shape).call(b, block, first, c, k, depth, c_stride, *bounds, number)


def _gather_pieces(
    b: ir.IRBuilder,
    block: Value,
    pieces: Iterable[tuple[Value, Index]],
    begin: Index,
    depth: Index,
    row_begin: Index,
    rows: Index,
    shape: TileShape,
) -> None:
    """Columns `begin ... begin + depth` of matrices, each with its width, side by side."""
    first = Index(b, i64(0))
    for a, width in pieces:
        low, high = first.most(begin), (first + width).least(begin + depth)
        with b.if_then(high.compare(">", low)):
            source = offset(a, row_begin * width + (low - first))
            target = offset(block, low - begin)
            move = copy_rows_routine(shape)
            move.call(b, target, source, rows, high - low, shape.row_stride, width)
        first = first + width


class _Window:
    """The taps of a convolution, and which rows of a block see the image through them.

    `sizes`: per axis each of `in rows kernel stride dilation pad`. Rows are flat output pixels, so
    that those which a tap of the slowest axis sees outside the padding are one range of an image.
    """

    def __init__(self, b: ir.IRBuilder, sizes: list[Index], rank: int) -> None:
        self.extent, self.pixels, taps, self.stride, self.dilation, self.pad = sizes[::rank]
        self.inner_taps, self.inner_pixels = Index(b, i64(1)), Index(b, i64(1))
        for axis in range(1, rank):
            self.inner_pixels = self.inner_pixels * sizes[rank + axis]
            self.inner_taps = self.inner_taps * sizes[2 * rank + axis]
        self.taps = taps * self.inner_taps

    def groups(self, fit: Index) -> tuple[Index, Index]:
        """The taps that belong together, and how many of these a block has, of as many as `fit`:
        whole rows of the window, or even parts of one, so that what sees only padding is whole."""
        inner = self.inner_taps.most(1)
        group = ((fit // inner).most(1) * inner).least(self.taps).most(1)
        return group, group.ceil_div(group.ceil_div(fit))

    def rows_seen(
        self, begin: Index, end: Index, tap_begin: Index, tap_end: Index
    ) -> tuple[Index, Index]:
        """Those of rows `begin ... end` that taps see in the image; of several images, all."""
        b = begin.b
        inner = self.inner_taps.most(1)
        first, last = tap_begin // inner, (tap_end - 1).most(0) // inner
        ends = first * self.dilation - self.pad, last * self.dilation - self.pad
        zero = Index(b, i64(0))
        low = (zero - ends[0].most(ends[1])).most(0).ceil_div(self.stride)
        high = (self.extent - ends[0].least(ends[1])).most(0).ceil_div(self.stride)
        of_image = (self.pixels * self.inner_pixels).most(1)
        image = begin // of_image * of_image
        is_one = (image + of_image).compare(">=", end)
        seen = begin.most(image + low * self.inner_pixels).least(end)
        stop = end.least(image + high * self.inner_pixels).most(seen)
        return (
            Index(b, b.select(is_one, seen.value, begin.value)),
            Index(b, b.select(is_one, stop.value, end.value)),
        )


def _emit_conv(b: ir.IRBuilder, args: Values, shape: TileShape, rank: int) -> None:
    """Blocks hold whole taps where their channels fit, else a share of one tap's channels. Rows
    that see nothing but padding through the taps of a block are left out."""
    block, x, panels, c = args[:4]
    channels, x_stride, x_channel, c_stride, *rest = indices(b, args[4:])
    bounds, sizes = rest[:4], rest[4:]
    row_begin, row_end, *columns = bounds
    window = _Window(b, sizes, rank)
    taps = window.taps
    fit = (Index(b, i64(shape.depth)) // channels.most(1)).most(1)
    group, tap_step = window.groups(fit)
    in_group = group.ceil_div(tap_step)
    groups = taps.ceil_div(group).most(1)  # no taps make one block of depth 0: C becomes 0
    channel_blocks = channels.ceil_div(shape.depth).most(1)
    channel_step = _vectors(channels.ceil_div(channel_blocks), shape)
    seen = window.rows_seen(row_begin, row_end, Index(b, i64(0)), taps.least(tap_step))
    is_part = (seen[1] - seen[0]).compare("<", row_end - row_begin)
    with b.if_then(is_part):
        _clear_rows(b, c, bounds, c_stride, shape)
    added = Index(b, b.zext(is_part, I64))
    with (
        counted_loop(b, groups * in_group) as block_number,
        counted_loop(b, channel_blocks) as part,
    ):
        number = block_number // in_group
        tap_begin = number * group + (block_number - number * in_group) * tap_step
        tap_end = (tap_begin + tap_step).least((number + 1) * group).least(taps)
        first = part * channel_step
        span = (channels - first).least(channel_step)
        begin, end = window.rows_seen(row_begin, row_end, tap_begin, tap_end)
        k_begin, depth = tap_begin * channels + first, (tap_end - tap_begin) * span
        with b.if_then(end.compare(">", begin)):
            seen_by = (begin, end, tap_begin, tap_end, span, x_stride, x_channel + first)
            patches_routine(shape, rank).call(b, block, x, *seen_by, *sizes)
            clear_rows_read(b, block, end - begin, columns[1] - columns[0], shape)
            panel = offset(panels, k_begin * shape.columns)
            told = (taps * channels, depth, c_stride, begin, end, *columns, k_begin + added)
            panels_routine(shape).call(b, block, panel, c, *told)


def _clear_rows(
    b: ir.IRBuilder, c: Value, bounds: list[Index], c_stride: Index, shape: TileShape
) -> None:
    row_begin, row_end, column_begin, column_end = bounds
    with index_range(b, row_begin, row_end) as row:
        first = offset(c, row * c_stride + column_begin)
        zero_run_routine(shape).call(b, first, column_end - column_begin)


def gemm_block_routine(shape: TileShape, transpose_a: bool, pieces: int = 1) -> Routine:
    """`gemm_block(block, a, panels, c, k, a_stride, c_stride, row_begin, row_end, column_begin,

    column_end)`: C[rows, columns] = A x B, with A stored [k, rows] where it is transposed, and B
    packed in `panels`. `block` is scratch of `shape.block_bytes`. A of several pieces has a pointer
    and a stride, which is its number of columns, for each of them.
    """
    way = "t" if transpose_a else "n" if pieces == 1 else f"{pieces}n"
    return Routine(
        f"gemm_block.{way}.{shape.dtype}.{shape.rows}x{shape.columns}",
        shape.dtype,
        "p" * (3 + pieces) + "i" * (6 + pieces),
        lambda b, values: _emit_gemm(b, values, shape, transpose_a, pieces),
    )


def conv_block_routine(shape: TileShape, rank: int) -> Routine:
    """`conv_block(block, x, panels, c, channels, x_stride, x_channel, c_stride, row_begin, row_end,

    column_begin, column_end, ...)`, then per axis each of `in rows kernel stride dilation pad` as
    `gather_patches` has them: C[rows, columns], rows being flat output pixels, = the patches of
    `channels` channels from `x_channel`, times the packed weights.
    """
    return Routine(
        f"conv_block{rank}d.{shape.dtype}.{shape.rows}x{shape.columns}",
        shape.dtype,
        "pppp" + "i" * (8 + 6 * rank),
        lambda b, values: _emit_conv(b, values, shape, rank),
    )
