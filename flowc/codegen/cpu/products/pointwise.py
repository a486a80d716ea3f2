"""Products of pixels: windows of one pixel, whose channels are read where they are.

In: a matrix [rows, channels] in memory, weights packed by `pack_pointwise`. Out: kernel source, and
for which sizes it is meant. Invariant: every element of the result is a chain of multiply-adds over
the channels in order, or the sum of a few, however tasks are shared out.

A core waits for a dozen lines of its cache at a time, so that what it asks for all at once comes
slowly. While a panel of weights is multiplied, its tiles therefore ask for the next one, a line at
each step of their sums; those of the first panel ask for the next rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

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
from flowc.codegen.cpu.tile_sums import (
    SLOW_BYTES,
    Ahead,
    Sums,
    Vector,
    emit_steps,
    first_lanes,
    steps_of_iteration,
)
from flowc.codegen.llvm.vector_ir import (
    Counter,
    Index,
    Routine,
    Value,
    Values,
    advance,
    byte_offset,
    ceil_div,
    counted_loop,
    element_type,
    index_range,
    indices,
    least,
    load_vector,
    offset,
    routine_call,
    store_vector,
)
from flowc.codegen.packed import Packed, packed_in_a_row
from flowc.ir.dims import Dim
from flowc.ir.lowering import Convolution
from flowc_runtime.native.writer import i64

NEAR_ROWS = 42  # of a task, about: they stay in the first caches until they are finished
FAR_ROWS = 98  # of a task where weights are more than `NEAR_BYTES`: all share what is read of them
NEAR_BYTES = 256 << 10
POINTWISE_DEPTH = 2048  # input channels, at most: of so many, a panel and rows fill the caches
CHAIN = 512  # steps of a sum, at most: what is longer loses digits
TOGETHER = 3  # rows of a tile that have one pointer
SET_BYTES = 4096  # apart, lines are in one set of the first cache
LINES = 8  # of a set, that a tile's rows may take: of more, one displaces the other
FILLED, NARROW_FILLED = 0.9, 0.75  # of the rows of all tiles, at least: whole, narrow columns
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
    if isinstance(rows, int) and rows:
        height = _height(shape, min(n, shape.columns) or 1)
        filled = FILLED if n >= shape.columns else NARROW_FILLED
        if rows < max(height, filled * _rows_of_tiles(height, rows)):
            return False
    shared = math.gcd(channels * shape.dtype.size, SET_BYTES)
    fits = shape.rows * shared <= LINES * SET_BYTES
    return n > 0 and 0 < channels <= POINTWISE_DEPTH and fits


def rows_together(shape: TileShape, channels: Dim, n: Dim) -> int:
    """How many rows a task of `pointwise_source` has, about, for so many channels and columns."""
    size = channels * n * shape.dtype.size
    return FAR_ROWS if isinstance(size, int) and size > NEAR_BYTES else NEAR_ROWS


def _low(height: int) -> int:
    """Rows of the last tile, where no more are left."""
    return (height + 2) // 2


def _rows_of_tiles(height: int, rows: int) -> int:
    """Rows that are computed for so many, those of the last tile again that it shares."""
    left = rows % height
    if -rows % height <= -(-rows // height):
        return rows
    last = _low(height) if rows >= height and left <= _low(height) else height
    return rows - left + (last if left else 0)


def pack_pointwise(weights: Array, shape: TileShape) -> Packed:
    """[*window, channels, n] -> the whole panels, and behind them one of the columns that are left,
    followed by zeros as far as its vectors reach."""
    *_, channels, n = weights.shape
    rest = n % shape.columns
    whole = n - rest
    matrix = weights.reshape(channels, n)
    panels = pack_gemm_b(matrix[:, :whole], shape)

    def fill_rest(found: Array) -> None:
        found[:, :rest] = matrix[:, whole:]

    of_rest = Packed((channels, _width(shape, rest)), panels.dtype, fill_rest)
    return packed_in_a_row([panels, of_rest])


def _vectors(shape: TileShape, columns: int) -> list[Vector]:
    """The vectors that hold so many columns; of the last, fewer lanes may be stored. It is a
    shorter one where processors slow down for whole ones. Else all are equally long, as LLVM would
    spill the sums; and where storing it would take several stores, it is moved back to end with the
    columns, unless it is alone: those that it shares are computed twice."""
    lanes = min(shape.lanes, _power_of_two(columns))
    rest = columns % lanes
    found = [(first, lanes) for first in range(0, columns, lanes)]
    if rest and lanes * shape.dtype.size >= SLOW_BYTES:
        found[-1] = (columns - rest, _power_of_two(rest))
    elif rest & (rest - 1) and columns > lanes:
        found[-1] = (columns - lanes, lanes)
    return found


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


def _width(shape: TileShape, columns: int) -> int:
    """Elements from one row of a panel to the next."""
    return max(first + lanes for first, lanes in _vectors(shape, columns)) if columns else 0


def _height(shape: TileShape, columns: int) -> int:
    """Rows of a tile that is so wide."""
    alone = len(_vectors(shape, columns)) == 1 and shape.rows < SHORT_CHAIN
    return 2 * shape.rows if alone else shape.rows


@dataclass(frozen=True, slots=True)
class _Panel:
    """Rows of A, a panel of weights, where its columns of C begin, and what is fetched ahead:
    `step` bytes for each step of the sums, `fetched` bytes behind `following`. Sums are `chains`,
    each of `chain` steps, the last of those that are left."""

    shape: TileShape
    columns: int
    x: Value
    w: Value
    y: Value
    channels: Index
    y_stride: Index
    following: Value
    fetched: Counter
    step: Index
    chains: Index
    chain: Index

    @property
    def width(self) -> int:
        return _width(self.shape, self.columns)


def _emit_pointwise(b: ir.IRBuilder, args: Values, shape: TileShape, rest: int) -> None:
    x, w, y = args[:3]
    channels, y_stride, rows, columns, later = indices(b, args[3:])
    left = columns % shape.columns
    whole = columns - left
    fetched, tiles = Counter(b, 0), rows.ceil_div(shape.rows).most(1)
    chains = channels.ceil_div(CHAIN)
    chain = channels.ceil_div(chains.most(1)).ceil_div(shape.lanes) * shape.lanes

    def panel(first: Index, width: int) -> _Panel:
        """The first of later rows fetches the rows behind: what is multiplied by them is near."""
        places = offset(w, first * channels), offset(y, first)
        fetched.set(0)
        height = _height(shape, width)
        is_rows = b.and_(first.compare("==", 0), later.compare("!=", 0))
        behind = offset(x, channels * height), offset(w, (first + width) * channels)
        steps = i64(height), (Index(b, i64(_width(shape, width))) // tiles).value
        step = Index(b, b.select(is_rows, *steps)) * shape.dtype.size
        following = b.select(is_rows, *behind)
        ahead = following, fetched, step
        return _Panel(shape, width, x, *places, channels, y_stride, *ahead, chains, chain)

    with counted_loop(b, whole, shape.columns) as j:
        _emit_panel(b, panel(j, shape.columns), rows)
    if rest:
        with b.if_then(left.compare(">", 0)):
            _emit_panel(b, panel(whole, rest), rows)


def _emit_panel(b: ir.IRBuilder, panel: _Panel, rows: Index) -> None:
    """Tiles share out the rows, some a row lower than others. Where these would have to be more
    than there are, the last tile, a lower one where few rows are left, is moved back to end where
    the rows end: sums are computed twice alike."""
    height = _height(panel.shape, panel.columns)
    low, left = _low(height), rows % height
    tiles = rows.ceil_div(height)
    shorter = tiles * height - rows
    is_low = b.and_(left.compare(">", 0), left.compare("<=", low))
    whole = Index(b, b.select(is_low, (rows - left).value, rows.value))
    is_even = b.and_(shorter.compare(">", 0), shorter.compare("<=", tiles))
    stop = Index(b, b.select(is_even, ((tiles - shorter) * height).value, whole.value))
    with b.if_else(rows.compare(">=", height)) as (many, few):
        with many:
            with counted_loop(b, stop, height) as i:
                _emit_tile(b, panel, i.least(rows - height), height)
            with b.if_else(is_even, likely=False) as (even, uneven):
                with even, index_range(b, stop, rows, height - 1) as i:
                    _emit_tile(b, panel, i, height - 1)
                with uneven, b.if_then(is_low):
                    _emit_tile(b, panel, rows - low, low)
        with few, counted_loop(b, rows) as i:
            _emit_tile(b, panel, i, 1)


def _emit_tile(b: ir.IRBuilder, panel: _Panel, first: Index, height: int) -> None:
    """Rows `first ... first + height` of C = A x B, of which A is read where it stands. Sums of
    more than `CHAIN` steps are several, as even as whole vectors are: the first stands in C when
    the next is added."""
    p = panel
    rows = [offset(p.x, (first + n) * p.channels) for n in range(0, height, TOGETHER)]
    target = offset(p.y, first * p.y_stride)
    with counted_loop(b, p.chains) as chain:
        begin = chain * p.chain
        depth = (p.channels - begin).least(p.chain)
        _sums_routine(p.shape, p.columns, height).call(
            b,
            *(offset(row, begin) for row in rows),
            offset(p.w, begin * p.width),
            target,
            byte_offset(p.following, p.fetched.get()),
            depth,
            p.channels,
            p.y_stride,
            p.step,
            chain,
        )
        p.fetched.add(depth * p.step)


def _sums_routine(shape: TileShape, columns: int, height: int) -> Routine:
    """`sums(x, ..., w, y, next, depth, x_stride, y_stride, next_step, accumulate)`: y[height,
    columns] (+)= x[height, depth] x w[depth, columns]. There are pointers to the first of each
    `TOGETHER` rows of x: to LLVM they have nothing to do with each other. Of rows that it knows to
    be as far apart it computes each place from the one before, in every step of the sums, and these
    instructions take turns with the multiply-adds. `next`: as of `tile_sums.sums_routine`.
    """
    return Routine(
        f"row_sums.{shape.name}.{height}x{columns}",
        shape.dtype,
        "p" * -(-height // TOGETHER) + "pppiiiii",
        lambda b, values: _emit_sums(b, values, shape, columns, height),
        shared=columns == shape.columns,
    )


def _emit_sums(b: ir.IRBuilder, args: Values, shape: TileShape, columns: int, height: int) -> None:
    starts, (w, y, following, *sizes) = args[:-8], args[-8:]
    depth, x_stride, y_stride, next_step, accumulate = indices(b, sizes)
    vectors, width, size = _vectors(shape, columns), _width(shape, columns), shape.dtype.size
    sums = Sums(b, element_type(shape.dtype), height, vectors)
    ahead, place, k = Ahead(b, following, next_step), Counter(b, 0), Counter(b, 0)
    strides = [x_stride * n for n in range(TOGETHER)]

    def emit(steps: int) -> None:
        ahead.fetch(steps, at_once=False)
        firsts = [offset(start, k.get()) for start in starts]
        rows = [offset(firsts[n // TOGETHER], strides[n % TOGETHER]) for n in range(height)]
        for n in range(steps):
            weights = offset(w, place.get() + n * width)
            sums.add([b.gep(row, [i64(n)]) for row in rows], weights, size)
        k.add(steps)
        place.add(steps * width)

    emit_steps(b, depth, steps_of_iteration(height * len(vectors)), emit)
    rows = [offset(y, y_stride * n) for n in range(height)]
    with b.if_else(accumulate.compare("!=", 0)) as (add, replace):
        with add:
            _store(b, sums, rows, vectors, columns, size, add=True)
        with replace:
            _store(b, sums, rows, vectors, columns, size, add=False)


def _store(
    b: ir.IRBuilder, sums: Sums, rows: list[Value], vectors: list[Vector], columns: int, size: int,
    *, add: bool,
) -> None:  # fmt: skip
    """Vectors may share columns: each is added to what stood there before any is stored."""
    for row, totals in zip(rows, sums.totals()):
        places = [b.gep(row, [i64(column)]) for column, _ in vectors]
        kept = [min(lanes, columns - column) for column, lanes in vectors]
        values = [first_lanes(b, total, count) for total, count in zip(totals, kept)]
        if add:
            plus = b.add if isinstance(values[0].type.element, ir.IntType) else b.fadd
            before = [load_vector(b, at, count, size) for at, count in zip(places, kept)]
            values = [plus(old, value) for old, value in zip(before, values)]
        for at, value in zip(places, values):
            store_vector(b, value, at, size)


_KINDS = "pppiiiii"


def pointwise_source(
    shape: TileShape,
    rest: int,
    epilogue: EpilogueLines = no_epilogue,
    *,
    name: str = "pointwise_conv",
    extra: Sequence[Argument] = (),
    together: int = NEAR_ROWS,
    block_rows: int = 0,
) -> ContractionSource:
    """y[batch, m, n] = x[batch, m, channels] x weights[batch, channels, n], packed by
    `pack_pointwise`: what a window of one pixel makes of it. `rest`: the columns behind the last
    whole panel. `together`: the rows of a task, about, in whole tiles; `block_rows`: exactly.

    Arguments: `x, weights, y` and the pointers of `extra`; `batch m n channels parts c_stride`;
    `x_batch w_batch` (elements from one batch entry to the next); the indices of `extra`; `begin,
    end`.
    """
    sizes = ["batch", "m", "n", "channels", "parts", "c_stride", "x_batch", "w_batch"]
    arguments = arguments_of(shape, "x weights y", sizes, extra)
    height = _height(shape, rest or shape.columns)
    rows = block_rows or max(1, together // height) * height
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
            row_end - row_begin, column_end - column_begin, row_begin)
        """
    rows_done = "(first + row_begin)", "(first + row_end)"
    finish = epilogue(8, rows_done, ("column_begin", "column_end"))
    # Blocks of given rows have no others, which a last one would have beyond them.
    tile_rows = 1 if block_rows else height
    bound: dict[str, Routine | int | None] = {"product": routine, "block_rows": rows}
    if tile_rows > 1:
        bound["tile_rows"] = tile_rows
    text = function_text(
        name,
        arguments,
        indented(block_bounds(shape, "block_rows", "tile_rows" * (tile_rows > 1)), 4),
        each_block(shape, "entry", product_call),
        *finish,
        bound=bound,
    )
    tasks = f"batch * {block_count(shape, 'm', rows, tile_rows)}"
    known = {"advance": advance, "least": least, "ceil_div": ceil_div}
    known["call_product"] = routine_call(shape.dtype, _KINDS)
    cut = RowCut("m", rows, height)
    return ContractionSource(name, text, arguments, tasks, 0, known, cut, bound)
