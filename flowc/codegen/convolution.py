"""Convolution kernels over channels-last tensors, 2-D and 3-D.

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

from flowc.codegen.blocked import (
    Argument,
    ContractionSource,
    Epilogue,
    add_panels_text,
    arguments_of,
    block_bounds,
    block_of_task,
    block_pointer,
    ceil_div,
    contraction_symbols,
    even_step,
    function_text,
    indented,
    no_epilogue,
)
from flowc.codegen.depthwise import PIXELS, depthwise_intrinsic
from flowc.codegen.tiles import TileShape
from flowc.codegen.vector_ir import advance

AXES = "dhw"  # names of the spatial axes, slowest first; a 2-D kernel takes the last two


@dataclass(frozen=True, slots=True)
class ConvSpec:
    """The structure of a convolution over `rank` spatial dimensions."""

    shape: TileShape
    rank: int = 2

    @property
    def axes(self) -> str:
        return AXES[-self.rank :]


def per_axis(axes: str, *names: str) -> list[str]:
    return [f"{name}_{axis}" for name in names for axis in axes]


def product(factors: Sequence[str]) -> str:
    return " * ".join(factors)


def blocking(shape: TileShape) -> str:
    """Lines that choose how many taps, or how much of one tap's channels, a block holds."""
    return f"""
        tap_step = {shape.depth} // channels if channels < {shape.depth} else 1
        tap_blocks = (taps + tap_step - 1) // tap_step
        tap_step = (taps + tap_blocks - 1) // tap_blocks if taps > 0 else 1
        channel_blocks = {ceil_div("channels", shape.depth)}
        channel_step = {even_step("channels", "channel_blocks", shape)}
        """


# No taps still make one block, of depth 0, which sets C to zero.
BLOCK_LOOPS = """
    for tap_block in range(tap_blocks if taps > 0 else 1):
        tap_begin = tap_block * tap_step
        tap_end = tap_begin + tap_step if tap_begin + tap_step < taps else taps
        for channel_block in range(channel_blocks):
            channel_begin = channel_block * channel_step
            span = channels - channel_begin
            span = span if span < channel_step else channel_step
            depth = (tap_end - tap_begin) * span
            k_begin = tap_begin * channels + channel_begin
            accumulate = 1 if k_begin > 0 else 0
    """


def conv_source(
    spec: ConvSpec,
    epilogue: Epilogue = no_epilogue,
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
    shape, axes = spec.shape, spec.axes
    sizes = per_axis(axes, "in", "out", "kernel", "stride", "dilation", "pad")
    indices = ["batch", *sizes, *["channels", "n", "groups", "x_stride", "c_stride"]]
    arguments = arguments_of(shape, "x weights y scratch", indices, extra)
    rows = product(["batch", *(f"out_{a}" for a in axes)])
    before = f"""
        taps = {product([f"kernel_{a}" for a in axes])}
        inner = taps * channels
        m = {rows}
        panel_elements = {ceil_div("n", shape.columns)} * {shape.columns} * inner
        """
    operands = """
        group = task // (row_blocks * column_blocks)
        block_index = task - group * (row_blocks * column_blocks)
        panels = advance(weights, group * panel_elements)
        c_block = advance(y, group * n)
        """
    gather = f"""
        gather_patches(blocks, x, row_begin, row_end, tap_begin, tap_end, span, x_stride,
                       group * channels + channel_begin,
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
        indented(blocking(shape), 4),
        "    for task in range(begin, end):",
        indented(operands, 8),
        indented(block_of_task(shape), 8),
        indented(BLOCK_LOOPS, 8),
        indented(gather, 16),
        indented(add_panels_text(shape), 16),
        *finish,
    )
    tasks = f"groups * {ceil_div(rows, shape.block_rows)} * {ceil_div('n', shape.block_columns)}"
    return ContractionSource(
        name, text, arguments, tasks, shape.block_bytes, contraction_symbols(shape, spec.rank)
    )


def depthwise_source(
    shape: TileShape,
    epilogue: Epilogue = no_epilogue,
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
        inside_begin = (pad_w + stride_w - 1) // stride_w
        inside_end = (in_w - 1 - (kernel_w - 1) * dilation_w + pad_w) // stride_w + 1
        for task in range(begin, end):
            image = task // out_h
            first_h = (task - image * out_h) * stride_h - pad_h
            low_h = (dilation_h - 1 - first_h) // dilation_h if first_h < 0 else 0
            high_h = (in_h - first_h + dilation_h - 1) // dilation_h
            high_h = high_h if high_h < kernel_h else kernel_h
            lines = advance(x, (image * in_h + first_h + low_h * dilation_h) * in_w * channels)
            tap_row = advance(weights, low_h * kernel_w * channels)
            pixels = advance(y, task * out_w * channels)
            w = 0
            while w < out_w:
                after = w + {PIXELS}
                inside = w >= inside_begin and after <= inside_end and after <= out_w
                count = {PIXELS} if inside and channels >= {shape.lanes} else 1
                first_w = w * stride_w - pad_w
                low_w = (dilation_w - 1 - first_w) // dilation_w if first_w < 0 else 0
                high_w = (in_w - first_w + dilation_w - 1) // dilation_w
                high_w = high_w if high_w < kernel_w else kernel_w
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
    return ContractionSource(
        name,
        text,
        arguments,
        "batch * out_h",
        0,
        {"advance": advance, tile: intrinsic},
    )
