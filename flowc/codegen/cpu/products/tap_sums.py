"""The sums of gradients of convolutions with respect to weights: C[rows, columns] += A^T x B, both
read where they stand, line by line of several images.

In: the height and the width of a tile. Out: a routine that makes one tile. Invariant: every element
of C is a chain of multiply-adds over pixels in order for each call, added to what stands there.
"""

from __future__ import annotations

from llvmlite import ir

from flowc.codegen.cpu.products.pixel_tiles import tile_columns
from flowc.codegen.cpu.products.row_sums import PanelTile
from flowc.codegen.cpu.strided_rows import StridedRows
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.cpu.tile_sums import STEPS, Sums, emit_steps, unroll_factor
from flowc.codegen.llvm.vector_ir import (
    Counter,
    Routine,
    Values,
    counted_loop,
    indices,
    offset,
    opaque,
)
from flowc_runtime.native.writer import i64

KINDS = "ppp" + "i" * 12


def tap_sums_routine(shape: TileShape, columns: int, height: int) -> Routine:
    """`sums(left, right, c, images, left_image, right_image, lines, left_line, right_line, pixels,

    left_pixel, right_pixel, c_stride, columns, adds)`: C[height, columns] (+)= the sum over all
    pixels of left[height] x right[columns], where rows and columns of a pixel are neighbours. Each
    of the two operands has its steps from one image, line and pixel to the next. What stands in C
    is added where `adds` is not 0, else not read.
    """
    width = tile_columns(shape, columns)
    is_cut = columns < width
    return Routine(
        f"tap_sums.{shape.dtype}.{height}x{width}.{shape.lanes}{'.cut' * is_cut}",
        shape.dtype,
        KINDS,
        lambda b, values: _emit(b, values, shape, width, height, is_cut),
        shared=True,
    )


def _emit(
    b: ir.IRBuilder, args: Values, shape: TileShape, width: int, height: int, is_cut: bool
) -> None:
    left, right, c = args[:3]
    images, left_image, right_image, lines, left_line, right_line, *sizes = indices(b, args[3:])
    pixels, left_pixel, right_pixel, c_stride, columns, adds = sizes
    size = shape.dtype.size
    tile = PanelTile(b, shape, width, columns, in_place=True, is_cut=is_cut)
    sums = Sums(b, tile.element, height, tile.vectors)
    strided = [StridedRows(b, x, STEPS, size) for x in (left_pixel, right_pixel)]
    carried = [sums.values]
    with (
        counted_loop(b, images, carried=carried) as image,
        counted_loop(b, lines, carried=carried) as line,
    ):
        done = Counter(b, 0)
        starts = (
            offset(left, image * left_image + line * left_line),
            offset(right, image * right_image + line * right_line),
        )

        def emit(steps: int) -> None:
            at = [
                rows.at(offset(start, done.get() * step), steps)
                for rows, start, step in zip(strided, starts, (left_pixel, right_pixel))
            ]
            for of_left, of_right in zip(*at):
                rows = [b.gep(of_left, [i64(n)]) for n in range(height)]
                sums.add_products(rows, [tile.load(of_right, v) for v in tile.vectors])
            done.add(steps)

        emit_steps(b, pixels, unroll_factor(height * len(tile.vectors)), emit, sums)
    # Addresses that are known earlier would be kept in memory.
    rows = [offset(c, type(c_stride)(b, opaque(b, (c_stride * n).value))) for n in range(height)]
    totals = tile.totals(sums)
    tile.add(totals, rows, adds.compare("!=", 0))
    for row, vectors in zip(rows, totals):
        tile.store(row, vectors)
