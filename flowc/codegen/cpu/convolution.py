"""Convolution kernels, 2-D and 3-D, over images in the layouts that there are tiles for.

In: a `ConvSpec` (structure only: sizes, strides, dilations, padding and groups are run-time
arguments, so one kernel serves every layer with the same epilogue). Out: kernel source.

A convolution is a matrix multiplication whose left operand is never stored: for a block of output
pixels (flattened over batch and space, so small maps fill whole tiles) and a block of taps x
channels, the kernel copies the input runs that the taps see into `scratch`, zeros where they fall
into the padding, and runs the register tile over the packed weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flowc.codegen.cpu.blocked import (
    Argument,
    ContractionSource,
    EpilogueLines,
    arguments_of,
    block_bounds,
    block_count,
    block_name,
    block_pointer,
    block_symbols,
    each_block,
    function_text,
    indented,
    no_epilogue,
)
from flowc.codegen.cpu.depthwise import PIXELS, depthwise_intrinsic, first_tap
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.llvm.vector_ir import advance, ceil_div, least
from flowc.errors import InternalError
from flowc.ir.layout import CHANNELS_LAST

AXES = "dhw"  # names of the spatial axes, slowest first; a 2-D kernel takes the last two


@dataclass(frozen=True, slots=True)
class ConvSpec:
    """The structure of a convolution over `rank` spatial dimensions, of images in a `layout`."""

    shape: TileShape
    rank: int = 2
    layout: str = CHANNELS_LAST

    @property
    def axes(self) -> str:
        return AXES[-self.rank :]


def per_axis(axes: str, *names: str) -> list[str]:
    return [f"{name}_{axis}" for name in names for axis in axes]


def product(factors: Sequence[str]) -> str:
    return " * ".join(factors)


def conv_source(
    spec: ConvSpec,
    epilogue: EpilogueLines = no_epilogue,
    *,
    name: str = "conv",
    extra: Sequence[Argument] = (),
) -> ContractionSource:
    """y[batch, *out, groups * n] = x convolved with weights packed by `pack_conv_weights`.

    Arguments: `x, weights, y, scratch` and the pointers of `extra`; `batch`; per axis (`_d _h _w`,
    or `_h _w`) each of `in out kernel stride dilation pad` (`pad`: zeros before the first element);
    `channels` and `n` (input and output channels of one group); `groups`; `x_stride` and `c_stride`
    (elements from one pixel to the next); the indices of `extra`; `begin, end`.
    """
    if spec.layout != CHANNELS_LAST:
        raise InternalError(f"no tiles for images in {spec.layout}")
    shape, axes = spec.shape, spec.axes
    sizes = per_axis(axes, "in", "out", "kernel", "stride", "dilation", "pad")
    indices = ["batch", *sizes, *["channels", "n", "groups", "x_stride", "c_stride"]]
    arguments = arguments_of(shape, "x weights y scratch", indices, extra)
    rows = product(["batch", *(f"out_{a}" for a in axes)])
    taps = product([f"kernel_{a}" for a in axes])
    before = f"""
        m = {rows}
        group_elements = ceil_div(n, {shape.columns}) * {shape.columns} * {taps} * channels
        """
    product_call = f"""
        panels = advance(weights, group * group_elements)
        {block_name("conv_block", shape)}(
            blocks, x, panels, advance(y, group * n), channels, x_stride, group * channels,
            c_stride, row_begin, row_end, column_begin, column_end,
            {", ".join(sizes)})
        """
    finish = epilogue(
        8, ("row_begin", "row_end"), ("(group * n + column_begin)", "(group * n + column_end)")
    )
    text = function_text(
        name,
        arguments,
        indented(block_pointer(shape), 4),
        indented(before, 4),
        indented(block_bounds(shape), 4),
        each_block(shape, "group", product_call),
        *finish,
    )
    tasks = f"groups * {block_count(shape, rows)}"
    symbols = block_symbols(shape, spec.rank, False)
    return ContractionSource(name, text, arguments, tasks, shape.block_bytes, symbols)


def depthwise_source(
    shape: TileShape,
    epilogue: EpilogueLines = no_epilogue,
    *,
    taps: tuple[int, int] | None = None,
    name: str = "depthwise",
    extra: Sequence[Argument] = (),
) -> ContractionSource:
    """y[batch, out_h, out_w, channels]: every channel by its own taps, packed by `pack_depthwise`.

    `taps` is the window that the kernel is to be fast for, where it is known. A channel multiplier
    above 1 is a `conv_source` with one group to a channel. Arguments: `x,
    weights, y` and the pointers of `extra`; `batch`; per axis `in out kernel stride dilation pad`;
    `channels`; the indices of `extra`; `begin, end`. A task is one row of output pixels.
    """
    sizes = per_axis("hw", "in", "out", "kernel", "stride", "dilation", "pad")
    arguments = arguments_of(shape, "x weights y", ["batch", *sizes, "channels"], extra)
    tile, intrinsic = depthwise_intrinsic(shape, taps)
    body = f"""
        inside_begin = ceil_div(pad_w, stride_w)
        inside_end = (in_w - 1 - (kernel_w - 1) * dilation_w + pad_w) // stride_w + 1
        inside_end = least(inside_end, out_w) if channels >= {shape.lanes} else 0
        for task in range(begin, end):
            image = idiv(task, out_h)
            first_h = (task - image * out_h) * stride_h - pad_h
            low_h = first_tap(first_h, dilation_h)
            high_h = least(kernel_h, first_tap(first_h - in_h, dilation_h))
            lines = advance(x, (image * in_h + first_h + low_h * dilation_h) * in_w * channels)
            tap_row = advance(weights, low_h * kernel_w * channels)
            pixels = advance(y, task * out_w * channels)
            w = 0
            while w < out_w:
                count = 1
                if w >= inside_begin and w + {PIXELS} <= inside_end:
                    count = {PIXELS}
                first_w = w * stride_w - pad_w
                low_w = first_tap(first_w, dilation_w)
                high_w = least(kernel_w, first_tap(first_w - in_w, dilation_w))
                {tile}(
                    advance(pixels, w * channels),
                    advance(lines, (first_w + low_w * dilation_w) * channels),
                    advance(tap_row, low_w * channels),
                    count, high_h - low_h, high_w - low_w, dilation_h * in_w * channels,
                    dilation_w * channels, kernel_w * channels, stride_w * channels, channels)
                w += count
        """
    finish = epilogue(8, ("task * out_w", "(task + 1) * out_w"), ("0", "channels"))
    text = function_text(name, arguments, indented(body, 4), *finish)
    symbols = {
        "advance": advance,
        "least": least,
        "ceil_div": ceil_div,
        "first_tap": first_tap,
        tile: intrinsic,
    }
    return ContractionSource(name, text, arguments, "batch * out_h", 0, symbols)
