"""Products of pixels: windows of one pixel, whose channels are read where they are.

In: a matrix [rows, channels] in memory, weights packed by `pack_pointwise`. Out: kernel source, and
for which sizes it is meant. Invariant: every element of the result is one chain of multiply-adds
over the channels in order, however tasks are shared out.

A core waits for a dozen lines of its cache at a time, so that what it asks for all at once comes
slowly. While a panel of weights is multiplied, its tiles therefore ask for the next one, a line at
each step of their sums.
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
    each_block,
    function_text,
    indented,
    no_epilogue,
)
from flowc.codegen.cpu.packing import Array, pack_gemm_b
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.llvm.vector_ir import (
    Counter,
    Index,
    Routine,
    Value,
    Values,
    advance,
    broadcast,
    byte_offset,
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
from flowc.ir.dims import Dim
from flowc.ir.lowering import Convolution
from flowc_runtime.native.writer import i64

POINTWISE_ROWS = 42  # of a task, about: they stay in the first caches until they are finished
PANEL_BYTES = 32 << 10  # of weights, at most: of larger ones, a gathered block shares each
POINTWISE_DEPTH = 1024  # input channels, at most: rows further apart share few sets of a cache
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
    panel = channels * min(n, shape.columns) * shape.dtype.size
    return n > 0 and 0 < channels <= POINTWISE_DEPTH and panel <= PANEL_BYTES


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


CACHE_LINE = 64


@dataclass(frozen=True, slots=True)
class _Panel:
    """Rows of A, a panel of weights, and where its columns of C begin. What is `ahead` bytes behind
    the panel's begin is fetched, `step` more at each step of the sums."""

    shape: TileShape
    columns: int
    x: Value
    w: Value
    y: Value
    channels: Index
    y_stride: Index
    ahead: Counter
    step: Index

    @property
    def vectors(self) -> list[tuple[int, int]]:
        return _vectors(self.shape, self.columns)

    @property
    def lines(self) -> int:
        """Of the cache, that a row of the panel takes."""
        return -(-self.columns * self.shape.dtype.size // CACHE_LINE)


def _emit_pointwise(b: ir.IRBuilder, args: Values, shape: TileShape, rest: int) -> None:
    x, w, y = args[:3]
    channels, y_stride, rows, columns = indices(b, args[3:])
    left = columns % shape.columns
    whole = columns - left
    ahead = Counter(b, 0)

    def emit_panel(first: Index, width: int) -> None:
        tiles = rows.ceil_div(_height(shape, width)).most(1)
        row_bytes = Index(b, i64(width * shape.dtype.size))
        ahead.set(row_bytes * channels)
        places = offset(w, first * channels), offset(y, first)
        panel = _Panel(shape, width, x, *places, channels, y_stride, ahead, row_bytes // tiles)
        _emit_panel(b, panel, rows)

    with counted_loop(b, whole, shape.columns) as j:
        emit_panel(j, shape.columns)
    if rest:
        with b.if_then(left.compare(">", 0)):
            emit_panel(whole, rest)


def _emit_panel(b: ir.IRBuilder, panel: _Panel, rows: Index) -> None:
    """The last tile, a lower one where few rows are left, is moved back to end where the rows end:
    sums are computed twice alike."""
    height = _height(panel.shape, panel.columns)
    low, left = _low(height), rows % height
    with b.if_else(rows.compare(">=", height)) as (many, few):
        with many:
            is_low = b.and_(left.compare(">", 0), left.compare("<=", low))
            stop = Index(b, b.select(is_low, (rows - left).value, rows.value))
            with counted_loop(b, stop, height) as i:
                _emit_tile(b, panel, i.least(rows - height), height)
            with b.if_then(is_low):
                _emit_tile(b, panel, rows - low, low)
        with few, counted_loop(b, rows) as i:
            _emit_tile(b, panel, i, 1)


def _emit_tile(b: ir.IRBuilder, panel: _Panel, first: Index, height: int) -> None:
    """Rows `first ... first + height` of C = A x B, of which A is read where it stands.

    One step of the inner dimension at a time: of several, LLVM would load more elements of A before
    it uses them than there are registers beside the sums.
    """
    p, size, element = panel, panel.shape.dtype.size, element_type(panel.shape.dtype)
    lines = [offset(p.x, (first + r) * p.channels) for r in range(height)]
    kinds = [ir.VectorType(element, lanes) for _, lanes in p.vectors]
    with b.goto_entry_block():
        sums = [[b.alloca(kind) for kind in kinds] for _ in lines]
    for total, kind in ((t, k) for row in sums for t, k in zip(row, kinds)):
        b.store(ir.Constant(kind, None), total)
    for r in range(height):
        place = (first + (height + r)) * p.y_stride
        for line in range(p.lines):
            prefetch(b, offset(p.y, place + line * (CACHE_LINE // size)), write=True)
    with counted_loop(b, p.channels) as k:
        prefetch(b, byte_offset(p.w, p.ahead.get()), level=2)
        p.ahead.add(p.step)
        weights = offset(p.w, k * p.columns)
        factors = [
            load_vector(b, b.gep(weights, [i64(column)]), lanes, size)
            for column, lanes in p.vectors
        ]
        for line, row in zip(lines, sums):
            value = b.load(offset(line, k))
            for total, factor, (_, lanes) in zip(row, factors, p.vectors):
                wide = broadcast(b, value, lanes)
                b.store(multiply_add(b, wide, factor, b.load(total)), total)
    for r, row in enumerate(sums):
        target = offset(p.y, (first + r) * p.y_stride)
        for total, (column, _) in zip(row, p.vectors):
            store_vector(b, b.load(total), b.gep(target, [i64(column)]), size)


_KINDS = "pppiiii"


def pointwise_source(
    shape: TileShape,
    rest: int,
    epilogue: EpilogueLines = no_epilogue,
    *,
    name: str = "pointwise_conv",
    extra: Sequence[Argument] = (),
    block_rows: int = 0,
) -> ContractionSource:
    """y[batch, m, n] = x[batch, m, channels] x weights[batch, channels, n], packed by
    `pack_pointwise`: what a window of one pixel makes of it. `rest`: the columns behind the last
    whole panel. `block_rows`: of a task, by default as many as stay in the first caches.

    Arguments: `x, weights, y` and the pointers of `extra`; `batch m n channels parts c_stride`;
    `x_batch w_batch` (elements from one batch entry to the next); the indices of `extra`; `begin,
    end`.
    """
    sizes = ["batch", "m", "n", "channels", "parts", "c_stride", "x_batch", "w_batch"]
    arguments = arguments_of(shape, "x weights y", sizes, extra)
    height = _height(shape, rest or shape.columns)
    rows = block_rows or max(1, POINTWISE_ROWS // height) * height
    routine = Routine(
        f"pointwise.{shape.name}.{rest}",
        shape.dtype,
        _KINDS,
        lambda b, values: _emit_pointwise(b, values, shape, rest),
    )
    product_call = """
        first = entry * m
        call_product(
            product, advance(x, entry * x_batch + row_begin * channels),
            advance(weights, entry * w_batch + column_begin * channels),
            advance(y, (first + row_begin) * c_stride + column_begin),
            channels, c_stride,
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
    known["call_product"] = routine_call(shape.dtype, _KINDS)
    cut = RowCut("m", rows, height, is_even=True)  # a part of fewer rows goes one by one
    return ContractionSource(name, text, arguments, tasks, 0, known, cut, bound)
