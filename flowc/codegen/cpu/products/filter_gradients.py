"""Gradients of convolutions with respect to their weights, of images and volumes, channels last.

In: the sizes of a tile, and which operand has the rows. Out: kernel source. For each tap of the
window the rows and columns of all pixels that it sees are multiplied and added up; nothing is
copied, transposed or packed. A block of some lines of pixels is multiplied for all taps before the
next, so that it stays in the first caches; sums stand in the result meanwhile.

Invariant: an element of the result is the sum over blocks in order, each a chain of multiply-adds
over its pixels in order, however tasks are shared out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
from flowc.codegen.cpu.products import tap_sums
from flowc.codegen.cpu.products.pixel_tiles import panel_height, pixel_shape
from flowc.codegen.cpu.products.tap_sums import tap_sums_routine
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.llvm.vector_ir import Routine, advance, ceil_div, least, routine_call
from flowc.dtypes import DType

PIXELS = 128  # of a block, about: what they read stays in the first cache
ROUTINES = [f"{panel}_{name}" for panel in ("whole", "rest") for name in ("high", "low")]


def filter_gradient_source(
    shape: TileShape,
    rows: int,
    columns: int,
    epilogue: EpilogueLines = no_epilogue,
    *,
    swapped: bool = False,
    extra: Sequence[Argument] = (),
) -> ContractionSource:
    """y[taps, rows, columns] = for each tap the sum over pixels of rows x columns, where the image
    has the rows, and the gradient `dy` of the result the columns; `swapped`, the other way round.

    Arguments: `x, dy, y` and the pointers of `extra`; `batch`; per axis `d h w` each of `in out
    kernel stride dilation pad`; `channels` and `outputs`, which a pixel of x and of dy has; the
    indices of `extra`; `begin, end`. A tap may have more rows than a pixel: those of several pixels
    of a line.
    """
    name = "filter_gradient_swapped" if swapped else "filter_gradient"
    names = ["batch", *per_axis("dhw", "in", "out", "kernel", "stride", "dilation", "pad")]
    arguments = arguments_of(shape, "x dy y", [*names, "channels", "outputs"], extra)
    tiles = pixel_shape(shape, columns)
    rest = columns % tiles.columns
    widths = tiles.columns if columns >= tiles.columns else 0, rest
    most = panel_height(tiles, max(widths))
    count = -(-rows // most)
    high = -(-rows // count)
    bound: dict[str, Routine | int | None] = {
        "rows": rows,
        "columns": columns,
        "tiles": count,
        "high_rows": high,
        "high_tiles": rows - count * (high - 1),
        "panel_columns": tiles.columns,
    }
    heights = high, high - 1 if rows < count * high else 0
    routines = [
        tap_sums_routine(tiles, width, height) if width and height else None
        for width in widths
        for height in heights
    ]
    bound |= dict(zip(ROUTINES, routines))
    panels = -(-columns // tiles.columns)
    tasks = f"kernel_d * kernel_h * kernel_w * {count * panels}"
    text = _text(name, arguments, bound, epilogue, swapped=swapped)
    return ContractionSource(name, text, arguments, tasks, 0, _symbols(shape.dtype), bound=bound)


def _text(
    name: str, arguments: Sequence[Argument], bound: Mapping[str, Any], epilogue: EpilogueLines,
    *, swapped: bool,
) -> str:  # fmt: skip
    of_x = ("advance(x, seen + {})", "x_image", "stride_h * in_w * channels", "stride_w * channels")
    of_dy = ("advance(dy, made + {})", "dy_image", "out_w * outputs", "outputs")
    left, right = (of_dy, of_x) if swapped else (of_x, of_dy)
    steps = [f"{x}, {y}" for x, y in zip(left[1:], right[1:])]
    places = f"{left[0].format('row')}, {right[0].format('column')}"
    call = f"""call_sums(
                        {{}}, {places}, advance(y, target * columns + column),
                        count, {steps[0]}, lines, {steps[1]}, pixels, {steps[2]},
                        columns, width, adds)"""
    calls = [call.format(routine) for routine in ROUTINES]
    body = f"""
        panels = ceil_div(columns, panel_columns)
        of_tap = tiles * panels
        band = ceil_div({PIXELS}, out_w + 1)
        images = idiv({PIXELS}, out_h * out_w + 1)
        images = images if images > 0 else 1
        x_image = in_d * in_h * in_w * channels
        dy_image = out_d * out_h * out_w * outputs
        adds = 0
        for image in range(0, batch if batch > 0 else 1, images):
            of_block = least(images, batch - image) * least(out_d, 1)
            for slice in range(out_d if out_d > 0 else 1):
                for first in range(0, out_h if out_h > 0 else 1, band):
                    last = least(first + band, out_h)
        """
    one_block = f"""
        task = begin
        while task < end:
            tap = idiv(task, of_tap)
            stop = least(end, (tap + 1) * of_tap)
            tap_h = idiv(tap, kernel_w)
            tap_w = tap - tap_h * kernel_w
            tap_d = idiv(tap_h, kernel_h)
            tap_h -= tap_d * kernel_h
            at_d = slice * stride_d + tap_d * dilation_d - pad_d
            at_h = tap_h * dilation_h - pad_h
            at_w = tap_w * dilation_w - pad_w
            top, left = first, 0
            if at_h < 0:
                top = ceil_div(-at_h, stride_h)
                top = first if top < first else top
            if at_w < 0:
                left = ceil_div(-at_w, stride_w)
            bottom = least(last, ceil_div(in_h - at_h, stride_h)) if in_h > at_h else 0
            right = least(out_w, ceil_div(in_w - at_w, stride_w)) if in_w > at_w else 0
            lines = bottom - top if bottom > top else 0
            pixels = right - left if right > left else 0
            count = of_block if 0 <= at_d < in_d else 0
            if count * lines * pixels == 0:
                if adds != 0:
                    task = stop
                count, lines, pixels, top, left, at_d = 0, 0, 0, 0, 0, 0
            seen = (image * in_d + at_d) * in_h + top * stride_h + at_h
            seen = (seen * in_w + left * stride_w + at_w) * channels
            made = (((image * out_d + slice) * out_h + top) * out_w + left) * outputs
            while task < stop:
                place = task - tap * of_tap
                tile = idiv(place, panels)
                column = (place - tile * panels) * panel_columns
                width = least(columns - column, panel_columns)
                row = tile * (high_rows - 1) + least(tile, high_tiles)
                target = tap * rows + row
                if tile < high_tiles:
                    if width == panel_columns:
                        {calls[0]}
                    else:
                        {calls[2]}
                elif width == panel_columns:
                    {calls[1]}
                else:
                    {calls[3]}
                task += 1
        adds = 1
        """
    finish = """
        for task in range(begin, end):
            tap = idiv(task, of_tap)
            place = task - tap * of_tap
            tile = idiv(place, panels)
            column = (place - tile * panels) * panel_columns
            width = least(columns - column, panel_columns)
            row = tap * rows + tile * (high_rows - 1) + least(tile, high_tiles)
            height = high_rows if tile < high_tiles else high_rows - 1
        """
    end = epilogue(8, ("row", "row + height"), ("column", "column + width"))
    lines = [indented(finish, 4), *end] if end else []
    return function_text(
        name, arguments, indented(body, 4), indented(one_block, 16), *lines, bound=bound
    )


def _symbols(dtype: DType) -> dict[str, Any]:
    known = {"advance": advance, "least": least, "ceil_div": ceil_div}
    return known | {"call_sums": routine_call(dtype, tap_sums.KINDS)}
