"""Blocks of a product over the whole inner dimension, written as vector IR.

In: a `TileShape`. Out: routines that compute rows x columns of C, gathering one block of the left
operand after another into scratch and adding it times the packed panels.
"""

from __future__ import annotations

from collections.abc import Iterable

from llvmlite import ir

from flowc.codegen.cpu.block_copy import copy_rows_routine, transpose_routine
from flowc.codegen.cpu.gather import patches_routine
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.cpu.tiles import clear_rows_read, panels_routine
from flowc.codegen.llvm.vector_ir import (
    Index,
    Routine,
    Value,
    Values,
    counted_loop,
    indices,
    offset,
)
from flowc_runtime.native.writer import i64


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


def _emit_conv(b: ir.IRBuilder, args: Values, shape: TileShape, rank: int) -> None:
    """Blocks hold whole taps where their channels fit, else a share of one tap's channels."""
    block, x, panels, c = args[:4]
    channels, x_stride, x_channel, c_stride, *rest = indices(b, args[4:])
    bounds, sizes = rest[:4], rest[4:]
    taps = Index(b, i64(1))
    for size in sizes[2 * rank : 3 * rank]:
        taps = taps * size
    fit = (Index(b, i64(shape.depth)) // channels.most(1)).most(1)
    tap_blocks = taps.ceil_div(fit).most(1)  # no taps make one block of depth 0: C becomes 0
    tap_step = taps.ceil_div(tap_blocks)
    channel_blocks = channels.ceil_div(shape.depth).most(1)
    channel_step = _vectors(channels.ceil_div(channel_blocks), shape)
    with counted_loop(b, tap_blocks) as tap_block, counted_loop(b, channel_blocks) as part:
        tap_begin, first = tap_block * tap_step, part * channel_step
        tap_end = (tap_begin + tap_step).least(taps)
        span = (channels - first).least(channel_step)
        window = (*bounds[:2], tap_begin, tap_end, span, x_stride, x_channel + first)
        patches_routine(shape, rank).call(b, block, x, *window, *sizes)
        clear_rows_read(b, block, bounds[1] - bounds[0], bounds[3] - bounds[2], shape)
        k_begin, depth = tap_begin * channels + first, (tap_end - tap_begin) * span
        panel = offset(panels, k_begin * shape.columns)
        inner = taps * channels
        add = panels_routine(shape)
        add.call(b, block, panel, c, inner, depth, c_stride, *bounds, k_begin)


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
