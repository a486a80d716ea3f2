"""Planes: what a block of output pixels sees of the input, taken apart. Vector IR.

In: a `TileShape`. Out: a routine. Invariant: it reads only elements that exist, and writes zeros in
the place of others.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from flowc.codegen.cpu.block_copy import copy_run, transpose_routine, zero_run
from flowc.codegen.cpu.tile_shape import TileShape
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


def _emit_planes(b: ir.IRBuilder, args: Values, shape: TileShape) -> None:
    planes, x = args[:2]
    first_row, rows, in_rows, first_column, in_columns, channels, stride, pitch = indices(
        b, args[2:]
    )
    zero = Index(b, i64(0))
    one_plane = channels * pitch
    with counted_loop(b, rows) as r:
        row = first_row + r
        target = offset(planes, r * stride * one_plane)
        inside = b.icmp_unsigned("<", row.value, in_rows.value)
        with b.if_else(inside) as (seen, outside):
            with seen, counted_loop(b, stride) as phase:
                begin = first_column + phase
                low = (zero - begin).most(0).ceil_div(stride).least(pitch)
                high = (in_columns - begin).most(0).ceil_div(stride).least(pitch).most(low)
                pixel = row * in_columns + begin + low * stride
                _emit_row(
                    b,
                    offset(target, phase * one_plane),
                    offset(x, pixel * channels),
                    (low, high, channels, stride, pitch),
                    shape,
                )
            with outside:
                zero_run(b, target, stride * one_plane, shape)


def _emit_row(
    b: ir.IRBuilder, target: Value, source: Value, sizes: Sequence[Index], shape: TileShape
) -> None:
    """The planes of one phase of one row: pixels `low ... high` are inside the image."""
    low, high, channels, stride, pitch = sizes
    with counted_loop(b, channels) as channel:
        plane = channel * pitch
        zero_run(b, offset(target, plane), low, shape)
        zero_run(b, offset(target, plane + high), pitch - high, shape)
    run = b.and_(channels.compare("==", 1), stride.compare("==", 1))
    with b.if_else(run) as (copied, transposed):
        with copied:
            copy_run(b, offset(target, low), source, high - low, shape)
        with transposed:
            move = transpose_routine(shape)
            step = stride * channels
            move.call(b, offset(target, low), source, high - low, channels, pitch, step)


def planes_routine(shape: TileShape) -> Routine:
    """`take_planes(planes, x, first_row, rows, in_rows, first_column, in_columns, channels, stride,

    pitch)`: planes[row, phase, channel, i] = x[first_row + row, first_column + i * stride + phase,
    channel], zeros where x, of which `in_rows` rows and `in_columns` columns exist, ends.
    """
    return Routine(
        f"take_planes.{shape.dtype}.{shape.lanes}",
        shape.dtype,
        "pp" + "i" * 8,
        lambda b, values: _emit_planes(b, values, shape),
        shared=True,
    )
