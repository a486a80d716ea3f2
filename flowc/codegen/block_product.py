"""Blocks of a product over the whole inner dimension, written as vector IR.

In: a `TileShape`. Out: routines that compute rows x columns of C, gathering one block of the left
operand after another into scratch and adding it times the packed panels.
"""

from __future__ import annotations

from llvmlite import ir

from flowc.codegen.gather import patches_routine
from flowc.codegen.runs import copy_rows_routine, transpose_routine
from flowc.codegen.tile_shape import TileShape
from flowc.codegen.tiles import panels_routine
from flowc.codegen.vector_ir import (
    Index,
    Routine,
    Values,
    const,
    counted_loop,
    indices,
    offset,
)


def _vectors(share: Index, shape: TileShape) -> Index:
    """A share of at most `shape.depth`, rounded up to whole vectors."""
    return share.ceil_div(shape.lanes) * shape.lanes


def _emit_gemm(b: ir.IRBuilder, args: Values, shape: TileShape, transpose_a: bool) -> None:
    block, a, panels, c = args[:4]
    k, first, columns, a_stride, c_stride, *bounds = indices(b, args[4:])
    row_begin, row_end = bounds[:2]
    blocks = columns.ceil_div(shape.depth).most(1)
    step = _vectors(columns.ceil_div(blocks), shape)
    rows = row_end - row_begin
    with counted_loop(b, blocks) as number:
        begin = number * step
        depth = (columns - begin).least(step)
        if transpose_a:
            source = offset(a, begin * a_stride + row_begin)
            move = transpose_routine(shape)
            move.call(b, block, source, depth, rows, shape.row_stride, a_stride)
        else:
            source = offset(a, row_begin * a_stride + begin)
            move = copy_rows_routine(shape)
            move.call(b, block, source, rows, depth, shape.row_stride, a_stride)
        done = first + begin
        panel = offset(panels, done * shape.columns)
        panels_routine(shape).call(b, block, panel, c, k, depth, c_stride, *bounds, done)


def _emit_conv(b: ir.IRBuilder, args: Values, shape: TileShape, rank: int) -> None:
    """Blocks hold whole taps where their channels fit, else a share of one tap's channels."""
    block, x, panels, c = args[:4]
    channels, x_stride, x_channel, c_stride, *rest = indices(b, args[4:])
    bounds, sizes = rest[:4], rest[4:]
    taps = Index(b, const(1))
    for size in sizes[2 * rank : 3 * rank]:
        taps = taps * size
    fit = (Index(b, const(shape.depth)) // channels.most(1)).most(1)
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
        k_begin, depth = tap_begin * channels + first, (tap_end - tap_begin) * span
        panel = offset(panels, k_begin * shape.columns)
        inner = taps * channels
        add = panels_routine(shape)
        add.call(b, block, panel, c, inner, depth, c_stride, *bounds, k_begin)


def gemm_block_routine(shape: TileShape, transpose_a: bool) -> Routine:
    """`gemm_block(block, a, panels, c, k, first, columns, a_stride, c_stride, row_begin, row_end,

    column_begin, column_end)`: C[rows, columns] (+)= A x B, with A stored [columns, rows] where it
    is transposed, and B, of k rows, packed in `panels`. A has that many of the product's k columns,
    from `first`: what those before it made, if there are any, is added to. `block` is scratch of
    `shape.block_bytes`.
    """
    way = "t" if transpose_a else "n"
    return Routine(
        f"gemm_block.{way}.{shape.dtype}.{shape.rows}x{shape.columns}",
        shape.dtype,
        "pppp" + "i" * 9,
        lambda b, values: _emit_gemm(b, values, shape, transpose_a),
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
