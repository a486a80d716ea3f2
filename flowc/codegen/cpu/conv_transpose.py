"""Transposed convolution kernels (the gradient of a convolution by its input), channels last.

In: a `ConvSpec`. Out: kernel source, and the packing of its weights.

An output pixel is touched only by taps with (pixel + pad - tap * dilation) divisible by the stride,
so pixels fall into phases by their residue. Within one phase the same taps touch every pixel, and
the phase is a plain convolution with stride 1 whose taps run backwards: it is computed as one, into
a block in scratch, and its rows are then spread over the output. Weights are packed phase by phase,
so that each phase finds its taps side by side.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

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
from flowc.codegen.cpu.convolution import ConvSpec, product
from flowc.codegen.cpu.packing import Array, pack_gemm_b
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.packed import Packed, packed_in_a_row


def pack_conv_transpose_weights(
    weights: Array, shape: TileShape, strides: Sequence[int], dilations: Sequence[int]
) -> Packed:
    """[*kernel, out channels, in channels] -> the panels of each phase, one after another."""
    *kernel, out, channels = weights.shape
    phases: list[Packed] = []
    for residues in itertools.product(*(range(s) for s in strides)):
        taps = [
            [k for k in range(size) if k * dilation % stride == residue]
            for size, stride, dilation, residue in zip(kernel, strides, dilations, residues)
        ]
        chosen = weights[np.ix_(*taps)].reshape(-1, out, channels)
        matrix = chosen.transpose(0, 2, 1).reshape(-1, out)
        phases.append(pack_gemm_b(matrix, shape))
    return packed_in_a_row(phases)


def _phase_of_axis(axis: str) -> str:
    """Lines that find an axis's taps and pixels of the phase with residue `phase % stride`."""
    return f"""
        residue = phase % stride_{axis}
        phase = phase // stride_{axis}
        count_{axis} = 0
        before_{axis} = 0
        first = 0
        spacing = 0
        for tap in range(kernel_{axis}):
            class_ = tap * dilation_{axis} % stride_{axis}
            if class_ < residue:
                before_{axis} += 1
            if class_ == residue:
                first = tap if count_{axis} == 0 else first
                spacing = tap - first if count_{axis} == 1 else spacing
                count_{axis} += 1
        start_{axis} = (residue - pad_{axis}) % stride_{axis}
        rows_{axis} = (out_{axis} - start_{axis} + stride_{axis} - 1) // stride_{axis}
        shift_{axis} = (first * dilation_{axis} - start_{axis} - pad_{axis}) // stride_{axis}
        back_{axis} = -(spacing * dilation_{axis} // stride_{axis})
        """


def _spread_rows(axes: str, finish: Sequence[str]) -> str:
    """Lines that copy the finished block's rows to their pixels and run the epilogue on each."""
    split = [f"    place_{a} = rest % rows_{a}\n    rest = rest // rows_{a}" for a in axes[::-1]]
    pixel = "rest"
    for a in axes:
        pixel = f"({pixel} * out_{a} + start_{a} + place_{a} * stride_{a})"
    return "\n".join(
        [
            "for i in range(row_begin, row_end):",
            "    rest = i",
            *split,
            f"    pixel = {pixel}",
            "    copy_rows(advance(y, pixel * y_stride + column_begin),",
            "              advance(c_block, i * c_stride + column_begin), 1,",
            "              column_end - column_begin, 0, 0)",
            *finish,
        ]
    )


def conv_transpose_source(
    spec: ConvSpec,
    epilogue: EpilogueLines = no_epilogue,
    *,
    name: str = "conv_transpose",
    extra: Sequence[Argument] = (),
) -> ContractionSource:
    """y[batch, *out, n] = the transposed convolution of x[batch, *in, channels].

    Arguments as those of `conv_source` without `groups`, and with `y_stride` for `c_stride`;
    weights are packed by `pack_conv_transpose_weights`. `pad` is the padding of the convolution
    that this one transposes: output pixel p is reached from x where p = x * stride - pad + tap *
    dilation. The epilogue is called for one pixel at a time.
    """
    shape, axes = spec.shape, spec.axes
    sizes = per_axis(axes, "in", "out", "kernel", "stride", "dilation", "pad")
    indices = ["batch", *sizes, *["channels", "n", "parts", "x_stride", "y_stride"]]
    arguments = arguments_of(shape, "x weights y scratch", indices, extra)
    most_rows = ["batch", *(f"((out_{a} + stride_{a} - 1) // stride_{a})" for a in axes)]
    taps_before = "0"
    for a in reversed(axes):
        inside = product([f"kernel_{x}" for x in axes[axes.index(a) + 1 :]] or ["1"])
        taps_before = f"(before_{a} * {inside} + count_{a} * {taps_before})"
    block_elements = shape.block_rows * shape.row_stride
    before = f"""
        m = {product(most_rows)}
        panel_elements = ceil_div(n, {shape.columns}) * {shape.columns}
        c_stride = {shape.block_columns}
        """
    phase = f"""
        rows = {product(["batch", *(f"rows_{a}" for a in axes)])}
        row_end = least(row_end, rows)
        if row_begin >= row_end:
            continue
        panels = advance(weights, {taps_before} * channels * panel_elements)
        c_block = advance(blocks, {block_elements} - row_begin * c_stride - column_begin)
        """
    ones = ["1"] * len(axes)
    gathered = [*per_axis(axes, "in", "rows", "count"), *ones, *per_axis(axes, "back", "shift")]
    product_call = f"""
        {block_name("conv_block", shape)}(
            blocks, x, panels, c_block, channels, x_stride, 0, c_stride,
            row_begin, row_end, column_begin, column_end,
            {", ".join(gathered)})
        """
    finish = epilogue(4, ("pixel", "(pixel + 1)"), ("column_begin", "column_end"))
    text = function_text(
        name,
        arguments,
        indented(block_pointer(shape), 4),
        indented(before, 4),
        indented(block_bounds(shape), 4),
        each_block(
            shape,
            "phase",
            # The slowest axis is the leading digit of the phase.
            *(_phase_of_axis(a) for a in reversed(axes)),
            phase,
            product_call,
            _spread_rows(axes, finish),
        ),
    )
    phases = product([f"stride_{a}" for a in axes])
    tasks = f"{phases} * {block_count(shape, product(most_rows))}"
    scratch = shape.block_bytes + shape.block_rows * shape.block_columns * shape.dtype.size
    symbols = block_symbols(shape, spec.rank, False)
    cut = row_cut(shape, product(most_rows))
    return ContractionSource(name, text, arguments, tasks, scratch, symbols, cut)
