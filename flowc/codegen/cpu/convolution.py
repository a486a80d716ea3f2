"""Convolution kernels, 2-D and 3-D, over images in the layouts that there are tiles for.

In: a `ConvSpec` (structure only: sizes, strides, dilations, padding and groups are run-time
arguments, so one kernel serves every layer with the same epilogue). Out: kernel source, and the
weights in the order in which it reads them.

A convolution is a matrix multiplication whose left operand is never stored: for a block of output
pixels (flattened over batch and space, so small maps fill whole tiles) and a block of taps x
channels, the kernel copies the input runs that the taps see into `scratch`, zeros where they fall
into the padding, and runs the register tile over the packed weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

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
    per_axis,
    row_cut,
)
from flowc.codegen.cpu.packing import Array, pack_gemm_b
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.packed import Packed
from flowc.dataclass import dataclass
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
    `channels` and `n` (input and output channels of one group); `groups parts`; `x_stride` and
    `c_stride` (elements from one pixel to the next); the indices of `extra`; `begin, end`.
    """
    _check_layout(spec)
    shape, axes = spec.shape, spec.axes
    sizes = per_axis(axes, "in", "out", "kernel", "stride", "dilation", "pad")
    indices = ["batch", *sizes, *["channels", "n", "groups", "parts"]]
    indices += ["x_stride", "c_stride"]
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
    cut = row_cut(shape, rows)
    return ContractionSource(name, text, arguments, tasks, shape.block_bytes, symbols, cut)


def pack_conv_weights(weights: Array, spec: ConvSpec, groups: int = 1) -> Packed:
    """[*kernel, channels per group, out channels] -> [groups, panels, taps * channels, columns].

    Output channels of one group are contiguous, as TensorFlow has them.
    """
    _check_layout(spec)
    *kernel, channels, out = weights.shape
    rows = math.prod(kernel) * channels
    by_group = weights.reshape(rows, groups, out // groups).transpose(1, 0, 2)
    return pack_gemm_b(by_group, spec.shape)


def _check_layout(spec: ConvSpec) -> None:
    if spec.layout != CHANNELS_LAST:
        raise InternalError(f"no tiles for images in {spec.layout}")
