"""The kernel of a convolution by planes or by lines.

In: a `TileShape`, a `PlanarBlock`, the number of output channels. Out: kernel source.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowc.codegen.cpu.blocked import (
    Argument,
    ContractionSource,
    EpilogueLines,
    arguments_of,
    function_text,
    indented,
    no_epilogue,
    per_axis,
)
from flowc.codegen.cpu.planar.blocks import PlanarBlock, shape_of_group
from flowc.codegen.cpu.planar.planes import planes_routine
from flowc.codegen.cpu.planar.sums import pixels_routine
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.cpu.tiles import panels_routine
from flowc.codegen.llvm.vector_ir import advance, ceil_div, least


def planar_source(
    shape: TileShape,
    block: PlanarBlock,
    outputs: int,
    epilogue: EpilogueLines = no_epilogue,
    *,
    extra: Sequence[Argument] = (),
) -> ContractionSource:
    """y[batch, out_d, out_h, out_w, outputs] = x convolved with `weights`, as TensorFlow has them,
    or packed by `pack_conv_weights` for a block with a `line_stride`. An image is a volume of one
    slice.

    Arguments: `x, weights, y, scratch` and the pointers of `extra`; `batch`; per axis (`_d _h _w`)
    each of `in out kernel stride dilation pad`; `channels n`; `block_slices block_rows block_pixels
    pitch` as the `PlanarBlock` has them; of several groups, `groups` and `per_group` (channels of
    one); the indices of `extra`; `begin, end`.
    """
    sizes = per_axis("dhw", "in", "out", "kernel", "stride", "dilation", "pad")
    own = ["channels", "n", "block_slices", "block_rows", "block_pixels", "pitch"]
    if block.groups > 1:
        own += ["groups", "per_group"]
        of_group = shape_of_group(shape, outputs // block.groups)
        routine = panels_routine(of_group, block.line_stride)
        name, tile = "group_conv", f"lines_{of_group.rows}x{of_group.columns}_{block.line_stride}"
        unit, parts, plane_row = "channels", "1, 1", "pitch"
        product = f"""
            taken = kernel_h * kernel_w * per_group
            given = idiv(n, groups)
            for group in range(groups):
                {tile}(
                    advance(planes_of_row, group * per_group),
                    advance(weights, group * ceil_div(given, {of_group.columns})
                        * {of_group.columns} * taken),
                    advance(pixels, group * given), taken, per_group, n, 0, count, 0, given, 0,
                    kernel_h, dilation_h * plane_row, kernel_w, dilation_w * channels)
            """
    elif block.line_stride:
        name, tile = "line_conv", f"lines_{shape.rows}x{shape.columns}_{block.line_stride}"
        routine = panels_routine(shape, block.line_stride)
        unit, parts, plane_row = "channels", "1, 1", "pitch"
        product = f"""
            {tile}(
                planes_of_row, weights, pixels, kernel_d * kernel_h * kernel_w * channels,
                kernel_w * channels, n, 0, count, 0, n, 0, kernel_d,
                dilation_d * plane_slice, kernel_h, dilation_h * plane_row)
            """
    else:
        name, tile = "planar_conv", f"planar_{shape.lanes}_{outputs}"
        routine = pixels_routine(shape, outputs)
        unit, parts, plane_row = "1", "channels, stride_w", "stride_w * channels * pitch"
        product = f"""
            {tile}(
                pixels, planes_of_row, weights, count, kernel_d, kernel_h, kernel_w, channels,
                pitch, dilation_d * plane_slice, dilation_h * plane_row, stride_w, dilation_w)
            """
    arguments = arguments_of(shape, "x weights y scratch", ["batch", *sizes, *own], extra)
    body = f"""
        planes = as_{shape.dtype}_pointer(scratch)
        slice_blocks = ceil_div(out_d, block_slices)
        row_blocks = ceil_div(out_h, block_rows)
        pixel_blocks = ceil_div(out_w, block_pixels)
        plane_row = {plane_row}
        for task in range(begin, end):
            line = idiv(task, pixel_blocks)
            slices = idiv(line, row_blocks)
            image = idiv(slices, slice_blocks)
            first_d = (slices - image * slice_blocks) * block_slices
            last_d = least(first_d + block_slices, out_d)
            first_h = (line - slices * row_blocks) * block_rows
            last_h = least(first_h + block_rows, out_h)
            first_w = (task - line * pixel_blocks) * block_pixels
            count = least(block_pixels, out_w - first_w)
            rows = (last_h - first_h - 1) * stride_h + (kernel_h - 1) * dilation_h + 1
            plane_slice = rows * plane_row
            first_slice = first_d * stride_d - pad_d
            for s in range((last_d - first_d - 1) * stride_d + (kernel_d - 1) * dilation_d + 1):
                place = image * in_d
                rows_there = 0
                if 0 <= first_slice + s and first_slice + s < in_d:
                    place += first_slice + s
                    rows_there = in_h
                take_planes(
                    advance(planes, s * plane_slice), advance(x, place * in_h * in_w * channels),
                    first_h * stride_h - pad_h, rows, rows_there,
                    (first_w * stride_w - pad_w) * {unit}, in_w * {unit}, {parts}, pitch)
            for d in range(first_d, last_d):
                planes_of_slice = advance(planes, (d - first_d) * stride_d * plane_slice)
                for h in range(first_h, last_h):
                    first = ((image * out_d + d) * out_h + h) * out_w + first_w
                    pixels = advance(y, first * n)
                    planes_of_row = advance(planes_of_slice, (h - first_h) * stride_h * plane_row)
        """
    finish = epilogue(16, ("first", "first + count"), ("0", "n"))
    text = function_text(name, arguments, indented(body, 4), indented(product, 16), *finish)
    symbols = {
        "advance": advance,
        "least": least,
        "ceil_div": ceil_div,
        "take_planes": planes_routine(shape).intrinsic(),
        tile: routine.intrinsic(),
    }
    blocks = zip("dhw", ("slices", "rows", "pixels"))
    counts = [f"((out_{a} + block_{name} - 1) // block_{name})" for a, name in blocks]
    tasks = " * ".join(["batch", *counts])
    return ContractionSource(name, text, arguments, tasks, block.scratch_bytes, symbols)
