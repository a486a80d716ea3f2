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
from flowc.codegen.cpu.planar.blocks import LONGEST_SUM, PlanarBlock
from flowc.codegen.cpu.planar.planes import planes_routine
from flowc.codegen.cpu.planar.sums import pixels_routine
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.cpu.tiles import TileSizes, panels_routine, sizes_needed
from flowc.codegen.llvm.vector_ir import Routine, advance, ceil_div, least, routine_call
from flowc.dataclass import dataclass
from flowc.ir.dims import Dim


def planar_source(
    shape: TileShape,
    block: PlanarBlock,
    outputs: int,
    epilogue: EpilogueLines = no_epilogue,
    *,
    extra: Sequence[Argument] = (),
    groups: int = 1,
    width: Dim | None = None,
) -> ContractionSource:
    """y[batch, out_d, out_h, out_w, outputs] = x convolved with `weights`, as TensorFlow has them,
    or packed by `pack_conv_weights` for a block with a `line_stride`. An image is a volume of one
    slice.

    Arguments: `x, weights, y, scratch` and the pointers of `extra`; `batch`; per axis (`_d _h _w`)
    each of `in out kernel stride dilation pad`; `channels n` (of all groups) `groups`;
    `block_slices block_rows block_pixels pitch` as the `PlanarBlock` has them; the indices of
    `extra`; `begin, end`. `width`: pixels of a row of the output, where they are known, by which
    lines of `groups` have no tiles but those that they need.
    """
    axes = per_axis("dhw", "in", "out", "kernel", "stride", "dilation", "pad")
    own = ["channels", "n", "groups", "block_slices", "block_rows", "block_pixels", "pitch"]
    arguments = arguments_of(shape, "x weights y scratch", ["batch", *axes, *own], extra)
    shape = block.tile or shape
    tile = _tile(shape, block, outputs, groups, width)
    finish = epilogue(16, ("first", "first + count"), ("0", "n"))
    planes = planes_routine(shape)
    bound: dict[str, Routine | int | None] = {"tile": tile.routine, "take": planes}
    bound["panel"] = shape.columns
    body = indented(_body(shape, block, tile), 4)
    text = function_text(tile.kernel, arguments, body, *finish, bound=bound)
    symbols = {
        "advance": advance,
        "least": least,
        "ceil_div": ceil_div,
        "take_planes": routine_call(shape.dtype, planes.kinds),
        "call_tile": routine_call(shape.dtype, tile.routine.kinds),
    }
    blocks = zip("dhw", ("slices", "rows", "pixels"))
    counts = [f"((out_{a} + block_{name} - 1) // block_{name})" for a, name in blocks]
    tasks = " * ".join(["batch", *counts])
    return ContractionSource(
        tile.kernel, text, arguments, tasks, block.scratch_bytes, symbols, bound=bound
    )


@dataclass(frozen=True, slots=True)
class _Tile:
    """The routine that sums up one row of pixels of a block, and what the kernel's text says of it.
    `kernel`: the name of the kernel; `given`: the arguments of the routine. `unit`, `parts`: the
    elements of a pixel that are copied together, and as how many planes; `plane_row`: elements from
    a row of a plane to the next. Expressions are over the kernel's names."""

    kernel: str
    routine: Routine
    unit: str
    parts: str
    plane_row: str
    given: str


def _tile(
    shape: TileShape, block: PlanarBlock, outputs: int, groups: int, width: Dim | None
) -> _Tile:
    if block.grouped:
        sizes = _sizes_of_rows(shape, block, outputs // groups, width)
        routine = panels_routine(shape, sizes, lines=True)
        given = """advance(seen, group * of_group), advance(
                                    weights, group * kernel_h * kernel_w * of_group * padded
                                    + first_tap * kernel_w * of_group * panel),
                                advance(pixels, group * n_of_group),
                                kernel_h * kernel_w * of_group, of_group, n, 0, count, 0,
                                n_of_group, first_tap - tap_begin, taps, dilation_h * plane_row,
                                kernel_w, dilation_w * channels, stride_w * channels"""
        return _Tile("grouped_conv", routine, "channels", "1, 1", "pitch", given)
    if block.line_stride:
        sizes = _sizes_of_rows(shape, block, outputs, width)
        routine = panels_routine(shape, sizes, lines=True, is_far=block.is_far)
        given = """seen, advance(weights, first_tap * kernel_w * channels * panel),
                                pixels, kernel_d * kernel_h * kernel_w * channels,
                                kernel_w * channels, n, 0, count, 0, n, first_tap - tap_begin,
                                kernel_d, dilation_d * plane_slice, taps, dilation_h * plane_row,
                                stride_w * channels"""
        return _Tile("line_conv", routine, "channels", "1, 1", "pitch", given)
    given = """pixels, seen, advance(weights, first_tap * kernel_w * channels * n), count,
                                kernel_d, taps, kernel_w, channels, pitch, dilation_d * plane_slice,
                                dilation_h * plane_row, stride_w, dilation_w"""
    plane_row = "stride_w * channels * pitch"
    routine, parts = pixels_routine(shape, outputs), "channels, stride_w"
    return _Tile("planar_conv", routine, "1", parts, plane_row, given)


def _body(shape: TileShape, block: PlanarBlock, tile: _Tile) -> str:
    """The lines of a kernel: each task copies what it sees of the image, a plane or a line of
    pixels at a time, then sums up row by row, and of these the rows of taps inside the image."""
    unit = tile.unit
    return f"""
        planes = as_{shape.dtype}_pointer(scratch)
        slice_blocks = ceil_div(out_d, block_slices)
        row_blocks = ceil_div(out_h, block_rows)
        pixel_blocks = ceil_div(out_w, block_pixels)
        plane_row = {tile.plane_row}
        of_group = idiv(channels, groups)
        n_of_group = idiv(n, groups)
        padded = ceil_div(n_of_group, panel) * panel
        tap_step = {_tap_step(block)}
        if tap_step == 0 or kernel_d > 1:
            tap_step = kernel_h
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
                    take, advance(planes, s * plane_slice),
                    advance(x, place * in_h * in_w * channels),
                    first_h * stride_h - pad_h, rows, rows_there,
                    (first_w * stride_w - pad_w) * {unit}, in_w * {unit}, {tile.parts}, pitch)
            for d in range(first_d, last_d):
                planes_of_slice = advance(planes, (d - first_d) * stride_d * plane_slice)
                for h in range(first_h, last_h):
                    first = ((image * out_d + d) * out_h + h) * out_w + first_w
                    pixels = advance(y, first * n)
                    planes_of_row = advance(planes_of_slice, (h - first_h) * stride_h * plane_row)
                    tap_begin = 0
                    tap_end = kernel_h
                    if kernel_d == 1:
                        above = pad_h - h * stride_h
                        if above > 0:
                            tap_begin = least(ceil_div(above, dilation_h), kernel_h - 1)
                        if in_h + above > 0:
                            tap_end = least(ceil_div(in_h + above, dilation_h), kernel_h)
                        if tap_end <= tap_begin:
                            tap_end = tap_begin + 1
                    first_tap = tap_begin
                    while first_tap < tap_end:
                        taps = least(tap_step, tap_end - first_tap)
                        seen = advance(planes_of_row, first_tap * dilation_h * plane_row)
                        for group in range(groups):
                            call_tile(tile,
                                {tile.given})
                        first_tap += taps
        """


def _tap_step(block: PlanarBlock) -> str:
    """Rows of taps, at most, whose products are one chain of roundings: chains of an image are
    added up. Rows of one row of pixels that lie in the padding are left out. 0: all."""
    return f"idiv({LONGEST_SUM}, kernel_w * of_group)" if block.line_stride else "0"


def _sizes_of_rows(
    shape: TileShape, block: PlanarBlock, outputs: int, width: Dim | None
) -> TileSizes | None:
    """The tiles that rows of pixels are cut into; None where the pixels of a row are not known."""
    if not isinstance(width, int) or not width or not outputs:
        return None
    rest = width % block.pixels
    counts = {min(width, block.pixels), *((rest,) if rest else ())}
    return sizes_needed(shape, sorted(counts), outputs)
