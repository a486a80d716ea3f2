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

import numpy as np
from llvmlite import ir

from flowc.codegen.cpu.blocked import (
    Argument,
    ContractionSource,
    EpilogueLines,
    RowCut,
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
from flowc.codegen.llvm.vector_ir import (
    Index,
    Routine,
    Value,
    Values,
    advance,
    broadcast,
    ceil_div,
    counted_loop,
    element_type,
    indices,
    least,
    load_vector,
    multiply_add,
    offset,
    prefetch,
    routine_call,
    store_vector,
)
from flowc.errors import InternalError
from flowc.ir.dims import Dim
from flowc.ir.layout import CHANNELS_LAST
from flowc.ir.lowering import Convolution
from flowc_runtime.native.writer import i64

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
    if spec.layout != CHANNELS_LAST:
        raise InternalError(f"no tiles for images in {spec.layout}")
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


# -- windows of one pixel, whose channels are read where they are

POINTWISE_ROWS = (
    42  # pixels of a task, about: they stay in the first caches until they are finished
)
POINTWISE_DEPTH = 1024  # input channels, at most: of more, a block is gathered and shared
FILLED = 0.9  # of the rows of all tiles are pixels, at least
SHORT_CHAIN = 8  # sums side by side, at least: each multiply-add waits for the one before


def is_pointwise(
    shape: TileShape, lowering: Convolution, weights: Sequence[Dim], rows: Dim
) -> bool:
    """Whether `pointwise_source` is for a convolution of `rows` pixels, with weights of those
    dims."""
    *window, channels, n = weights
    alone = set(window) == set(lowering.strides) == {1} and lowering.groups == 1
    if not alone or any(p != 0 for pair in lowering.pad for p in pair):
        return False
    return is_product_of_pixels(shape, channels, n, rows)


def is_product_of_pixels(shape: TileShape, channels: Dim, n: Dim, rows: Dim) -> bool:
    """Whether `pointwise_source` is for a matrix [rows, channels] times a known [channels, n]."""
    if not (isinstance(channels, int) and isinstance(n, int)) or shape.lanes < 2:
        return False
    if isinstance(rows, int) and rows < FILLED * _rows_of_tiles(shape, rows):
        return False
    return n > 0 and 0 < channels <= POINTWISE_DEPTH


def _low(height: int) -> int:
    """Rows of the last tile, where no more are left."""
    return (height + 2) // 2


def _rows_of_tiles(shape: TileShape, rows: int) -> int:
    """Rows that are computed for so many, those of the last tile again that it shares."""
    left = rows % shape.rows
    last = _low(shape.rows) if rows >= shape.rows and left <= _low(shape.rows) else shape.rows
    return rows - left + (last if left else 0)


def pack_pointwise(weights: Array, shape: TileShape) -> Array:
    """[*window, channels, n] -> the whole panels, and behind them the columns that are left."""
    *_, channels, n = weights.shape
    whole = n - n % shape.columns
    matrix = weights.reshape(channels, n)
    packed = np.zeros(channels * n, shape.dtype.numpy)
    panels = packed[: channels * whole].reshape(whole // shape.columns, channels, shape.columns)
    pack_gemm_b(matrix[:, :whole], shape, out=panels)
    packed[channels * whole :].reshape(channels, n - whole)[:] = matrix[:, whole:]
    return packed


def _vectors(shape: TileShape, columns: int) -> list[tuple[int, int]]:
    """The first column and the lanes of the vectors that hold so many columns. The last is moved
    back to end with them: columns that it shares with the one before are computed twice."""
    lanes = min(shape.lanes, 1 << columns.bit_length() - 1)
    found = [(first, lanes) for first in range(0, columns - lanes + 1, lanes)]
    rest = columns % lanes
    if rest:
        last = min(lanes, 1 << (rest - 1).bit_length())
        found.append((columns - last, last))
    return found


def _height(shape: TileShape, columns: int) -> int:
    """Rows of a tile that is so wide."""
    alone = len(_vectors(shape, columns)) == 1 and shape.rows < SHORT_CHAIN
    return 2 * shape.rows if alone else shape.rows


def _emit_pointwise(b: ir.IRBuilder, args: Values, shape: TileShape, rest: int) -> None:
    x, w, y = args[:3]
    channels, y_stride, rows, columns = indices(b, args[3:])
    left = columns % shape.columns
    whole = columns - left
    with counted_loop(b, whole, shape.columns) as j:
        panel = (x, offset(w, j * channels), offset(y, j), channels, y_stride)
        _emit_panel(b, panel, rows, shape, shape.columns)
    if rest:
        with b.if_then(left.compare(">", 0)):
            panel = (x, offset(w, whole * channels), offset(y, whole), channels, y_stride)
            _emit_panel(b, panel, rows, shape, rest)


Panel = tuple[Value, Value, Value, Index, Index]


def _emit_panel(b: ir.IRBuilder, panel: Panel, rows: Index, shape: TileShape, columns: int) -> None:
    """The last tile, a lower one where few rows are left, is moved back to end where the rows end:
    sums are computed twice alike."""
    height = _height(shape, columns)
    low, left = _low(height), rows % height
    with b.if_else(rows.compare(">=", height)) as (many, few):
        with many:
            is_low = b.and_(left.compare(">", 0), left.compare("<=", low))
            stop = Index(b, b.select(is_low, (rows - left).value, rows.value))
            with counted_loop(b, stop, height) as i:
                _pointwise_tile(b, panel, i.least(rows - height), height, shape, columns)
            with b.if_then(is_low):
                _pointwise_tile(b, panel, rows - low, low, shape, columns)
        with few, counted_loop(b, rows) as i:
            _pointwise_tile(b, panel, i, 1, shape, columns)


def _pointwise_tile(
    b: ir.IRBuilder, panel: Panel, first: Index, height: int, shape: TileShape, columns: int
) -> None:
    """Rows `first ... first + height` of C = A x B, of which A is read where it stands.

    One step of the inner dimension at a time: of several, LLVM would load more elements of A before
    it uses them than there are registers beside the sums.
    """
    x, w, y, channels, y_stride = panel
    size, element = shape.dtype.size, element_type(shape.dtype)
    vectors = _vectors(shape, columns)
    lines = [offset(x, (first + r) * channels) for r in range(height)]
    kinds = [ir.VectorType(element, lanes) for _, lanes in vectors]
    with b.goto_entry_block():
        sums = [[b.alloca(kind) for kind in kinds] for _ in lines]
    for total, kind in ((t, k) for row in sums for t, k in zip(row, kinds)):
        b.store(ir.Constant(kind, None), total)
    for r in range(height):
        following = offset(y, (first + (height + r)) * y_stride)
        for column, _ in vectors:
            prefetch(b, b.gep(following, [i64(column)]), write=True)
    with counted_loop(b, channels) as k:
        weights = offset(w, k * columns)
        factors = [
            load_vector(b, b.gep(weights, [i64(column)]), lanes, size) for column, lanes in vectors
        ]
        for line, row in zip(lines, sums):
            value = b.load(offset(line, k))
            for total, factor, (_, lanes) in zip(row, factors, vectors):
                wide = broadcast(b, value, lanes)
                b.store(multiply_add(b, wide, factor, b.load(total)), total)
    for r, row in enumerate(sums):
        target = offset(y, (first + r) * y_stride)
        for total, (column, _) in zip(row, vectors):
            store_vector(b, b.load(total), b.gep(target, [i64(column)]), size)


_POINTWISE = "pppiiii"


def pointwise_source(
    shape: TileShape,
    rest: int,
    epilogue: EpilogueLines = no_epilogue,
    *,
    name: str = "pointwise_conv",
    extra: Sequence[Argument] = (),
) -> ContractionSource:
    """y[batch, m, n] = x[batch, m, channels] x weights[batch, channels, n], packed by
    `pack_pointwise`: what a window of one pixel makes of it. `rest`: the columns behind the last
    whole panel.

    Arguments: `x, weights, y` and the pointers of `extra`; `batch m n channels parts c_stride`;
    `x_batch w_batch` (elements from one batch entry to the next); the indices of `extra`; `begin,
    end`. Every output is one chain of multiply-adds over the channels in order.
    """
    sizes = ["batch", "m", "n", "channels", "parts", "c_stride", "x_batch", "w_batch"]
    arguments = arguments_of(shape, "x weights y", sizes, extra)
    height = _height(shape, rest or shape.columns)
    rows = max(1, POINTWISE_ROWS // height) * height
    routine = Routine(
        f"pointwise.{shape.name}.{rest}",
        shape.dtype,
        _POINTWISE,
        lambda b, values: _emit_pointwise(b, values, shape, rest),
    )
    product_call = """
        first = entry * m
        call_product(
            product, advance(x, entry * x_batch + row_begin * channels),
            advance(weights, entry * w_batch + column_begin * channels),
            advance(y, (first + row_begin) * c_stride + column_begin), channels, c_stride,
            row_end - row_begin, column_end - column_begin)
        """
    rows_done = "(first + row_begin)", "(first + row_end)"
    finish = epilogue(8, rows_done, ("column_begin", "column_end"))
    bound = {"product": routine, "block_rows": rows}
    text = function_text(
        name,
        arguments,
        indented(block_bounds(shape, "block_rows"), 4),
        each_block(shape, "entry", product_call),
        *finish,
        bound=bound,
    )
    tasks = f"batch * {block_count(shape, 'm', rows)}"
    known = {"advance": advance, "least": least, "ceil_div": ceil_div}
    known["call_product"] = routine_call(shape.dtype, _POINTWISE)
    cut = RowCut("m", rows, height, is_even=True)  # a part of fewer rows goes one by one
    return ContractionSource(name, text, arguments, tasks, 0, known, cut, bound)
