"""Products of pixels: windows of one pixel, whose channels are read where they are.

In: a matrix [rows, channels] in memory; weights packed by `pack_pointwise`, or a matrix [channels,
n] that is read where it stands, too. Out: kernel source. Invariant: every element of the result is
a chain of multiply-adds over the channels in order, or the sum of a few, however tasks are shared
out.

A core waits for a dozen lines of its cache at a time, so that what it asks for all at once comes
slowly. While a panel of weights is multiplied, its tiles therefore ask for the next one, a line at
each step of their sums; those of the first panel ask for the next rows.
"""

from __future__ import annotations

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
from flowc.codegen.cpu.products.pixel_tiles import (
    lower_height,
    panel_height,
    panel_vectors,
    panel_width,
)
from flowc.codegen.cpu.products.strided_rows import StridedRows
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.cpu.tile_sums import (
    STEPS,
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
from flowc.ir.dims import Dim
from flowc_runtime.native.writer import i64

NEAR_ROWS = 42  # of a task, about: they stay in the first caches until they are finished
FAR_ROWS = 98  # of a task where weights are more than `NEAR_WEIGHTS`: all share what is read
NEAR_WEIGHTS = 256 << 10  # bytes
CHAIN = 512  # steps of a sum, at most: what is longer loses digits
SHORT_TILE = 9  # rows: of so many or fewer, tiles of one row less share out nearly any number


def rows_together(shape: TileShape, channels: Dim, n: Dim) -> int:
    """How many rows a task of `pointwise_source` has, about, for so many channels and columns."""
    size = channels * n * shape.dtype.size
    return FAR_ROWS if isinstance(size, int) and size > NEAR_WEIGHTS else NEAR_ROWS


@dataclass(frozen=True, slots=True)
class _Operands:
    """A matrix whose rows are read where they are, times weights, and how a sum is made: in
    `chains`, each of `chain` steps, the last of those that are left. `in_place`: weights are rows,
    `w_stride` apart, and not panels."""

    shape: TileShape
    x: Value
    channels: Index
    y_stride: Index
    w_stride: Index
    chains: Index
    chain: Index
    in_place: bool

    def row_of_weights(self, columns: int) -> Index | int:
        """Elements from one row of weights to the next."""
        return self.w_stride if self.in_place else panel_width(self.shape, columns)


@dataclass(frozen=True, slots=True)
class _Ahead:
    """What tiles fetch while they are made: `step` bytes for each step of their sums, of which
    `fetched` bytes behind `following` are on their way. `asks`: whether any are to come."""

    following: Value
    fetched: Counter
    step: Index
    asks: Value


@dataclass(frozen=True, slots=True)
class _Panel:
    """Columns of weights, and where these and their columns of C begin."""

    operands: _Operands
    columns: int
    w: Value
    y: Value


def _emit_pointwise(
    b: ir.IRBuilder, args: Values, shape: TileShape, rest: int, *, in_place: bool
) -> None:
    x, w, y = args[:3]
    channels, y_stride, rows, columns, w_stride, later, fetches = indices(b, args[3:])
    left = columns % shape.columns
    whole = columns - left
    chains = channels.ceil_div(CHAIN)
    chain = channels.ceil_div(chains.most(1)).ceil_div(shape.lanes) * shape.lanes
    operands = _Operands(shape, x, channels, y_stride, w_stride, chains, chain, in_place)
    apart = Index(b, i64(1)) if in_place else channels  # columns of weights
    fetched = Counter(b, 0)

    def emit(first: Index, width: int) -> None:
        """The first panel of later rows fetches the rows behind: what is multiplied by them is
        near. Others fetch the next panel, which rows of blocks before have fetched already."""
        panel = _Panel(operands, width, offset(w, first * apart), offset(y, first))
        if in_place:
            _emit_panel(b, panel, rows, None)
            return
        fetched.set(0)
        height = panel_height(shape, width)
        is_rows = b.and_(first.compare("==", 0), later.compare("!=", 0))
        following = b.select(
            is_rows, offset(x, channels * height), offset(w, (first + width) * channels)
        )
        share = Index(b, i64(panel_width(shape, width))) // rows.ceil_div(height).most(1)
        step = Index(b, b.select(is_rows, i64(height), share.value)) * shape.dtype.size
        asks = b.or_(is_rows, fetches.compare("!=", 0))
        _emit_panel(b, panel, rows, _Ahead(following, fetched, step, asks))

    with counted_loop(b, whole, shape.columns) as j:
        emit(j, shape.columns)
    if rest:
        with b.if_then(left.compare(">", 0)):
            emit(whole, rest)


def _emit_panel(b: ir.IRBuilder, panel: _Panel, rows: Index, ahead: _Ahead | None) -> None:
    """Tiles share out the rows, some a row lower than others. Where these would have to be more
    than there are, the last tile, a lower one where few rows are left, is moved back to end where
    the rows end: sums are computed twice alike. Each height is code of its own, so panels of few
    columns and tiles of few rows do with fewer."""
    shape = panel.operands.shape
    height = panel_height(shape, panel.columns)
    is_whole = panel.columns == shape.columns
    lower = height - 1 if is_whole else 0
    low = lower_height(height) if height > SHORT_TILE else 0
    left, tiles = rows % height, rows.ceil_div(height)
    shorter = tiles * height - rows
    is_low = b.and_(left.compare(">", 0), left.compare("<=", low))
    is_even = b.and_(shorter.compare(">", 0), shorter.compare("<=", tiles if lower else 0))
    whole = Index(b, b.select(is_low, (rows - left).value, rows.value))
    stop = Index(b, b.select(is_even, ((tiles - shorter) * height).value, whole.value))

    def emit_tiles(ahead: _Ahead | None) -> None:
        with counted_loop(b, stop, height) as i:
            _emit_tile(b, panel, i.least(rows - height), height, ahead)

    with b.if_else(rows.compare(">=", height)) as (many, few):
        with many:
            if ahead is None or not is_whole:
                emit_tiles(ahead)
            else:
                with b.if_else(ahead.asks) as (asking, near):
                    with asking:
                        emit_tiles(ahead)
                    with near:
                        emit_tiles(None)
            if lower:
                with b.if_then(is_even), index_range(b, stop, rows, lower) as i:
                    _emit_tile(b, panel, i, lower, ahead)
            if low:
                with b.if_then(b.and_(b.not_(is_even), is_low)):
                    _emit_tile(b, panel, rows - low, low, ahead)
        with few, counted_loop(b, rows) as i:
            _emit_tile(b, panel, i, 1, ahead)


def _emit_tile(
    b: ir.IRBuilder, panel: _Panel, first: Index, height: int, ahead: _Ahead | None
) -> None:
    """Rows `first ... first + height` of C = A x B, of which A is read where it stands. Sums of
    more than `CHAIN` steps are several, as even as whole vectors are: the first stands in C when
    the next is added."""
    o = panel.operands
    row, target = offset(o.x, first * o.channels), offset(panel.y, first * o.y_stride)
    sums = _sums_routine(o.shape, panel.columns, height, o.in_place, fetches=ahead is not None)
    with counted_loop(b, o.chains) as chain:
        begin = chain * o.chain
        depth = (o.channels - begin).least(o.chain)
        weights = offset(panel.w, begin * o.row_of_weights(panel.columns))
        sizes = (depth, o.channels, o.y_stride, o.w_stride, chain)
        if ahead is None:
            sums.call(b, offset(row, begin), weights, target, *sizes)
        else:
            following = byte_offset(ahead.following, ahead.fetched.get())
            sums.call(b, offset(row, begin), weights, target, *sizes, following, ahead.step)
            ahead.fetched.add(depth * ahead.step)


def _sums_routine(
    shape: TileShape, columns: int, height: int, in_place: bool, *, fetches: bool
) -> Routine:
    """`sums(x, w, y, depth, x_stride, y_stride, w_stride, accumulate, ...)`: y[height, columns]
    (+)= x[height, depth] x w[depth, columns], of rows `w_stride` apart where they are read
    `in_place`. Where it fetches, `next, next_step` are behind these, as of
    `tile_sums.sums_routine`."""
    ways = ".in_place" * in_place + ".fetching" * fetches
    return Routine(
        f"row_sums.{shape.dtype}.{height}x{columns}.{shape.lanes}{ways}",
        shape.dtype,
        "pppiiiii" + "pi" * fetches,
        lambda b, values: _emit_sums(b, values, shape, columns, height, in_place),
        shared=columns == shape.columns,
    )


def _emit_sums(
    b: ir.IRBuilder, args: Values, shape: TileShape, columns: int, height: int, in_place: bool
) -> None:
    x, w, y, *sizes = args[:8]
    depth, x_stride, y_stride, w_stride, accumulate = indices(b, sizes)
    vectors = panel_vectors(shape, columns, in_place=in_place)
    width, size, products = panel_width(shape, columns), shape.dtype.size, height * len(vectors)
    sums, done = Sums(b, element_type(shape.dtype), height, vectors), Counter(b, 0)
    ahead = Ahead(b, args[8], Index(b, args[9])) if args[8:] else None
    rows = StridedRows(b, x_stride, height, size)
    rows_of_weights = StridedRows(b, w_stride, STEPS, size) if in_place else None

    def emit(steps: int) -> None:
        if ahead is not None:
            ahead.fetch(steps, at_once=False)
        left = rows.at(offset(x, done.get()), height)
        if rows_of_weights is None:
            panel = offset(w, done.get() * width)
            right = [b.gep(panel, [i64(n * width)]) for n in range(steps)]
        else:
            right = rows_of_weights.at(offset(w, done.get() * w_stride), steps)
        for n, weights in enumerate(right):
            sums.add([b.gep(row, [i64(n)]) for row in left], weights, size)
        done.add(steps)

    emit_steps(b, depth, steps_of_iteration(products), emit)
    targets = [offset(y, y_stride * n) for n in range(height)]
    with b.if_else(accumulate.compare("!=", 0)) as (add, replace):
        with add:
            _store(b, sums, targets, vectors, columns, size, add=True)
        with replace:
            _store(b, sums, targets, vectors, columns, size, add=False)


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


_KINDS = "pppiiiiiii"


def pointwise_source(
    shape: TileShape,
    rest: int,
    epilogue: EpilogueLines = no_epilogue,
    *,
    name: str = "pointwise_conv",
    extra: Sequence[Argument] = (),
    together: int = NEAR_ROWS,
    block_rows: int = 0,
    in_place: bool = False,
) -> ContractionSource:
    """y[batch, m, n] = x[batch, m, channels] x weights[batch, channels, n], packed by
    `pack_pointwise`: what a window of one pixel makes of it; or rows of n, read `in_place`. `rest`:
    the columns behind the last whole panel. `together`: the rows of a task, about, in whole tiles;
    `block_rows`: exactly.

    Arguments: `x, weights, y` and the pointers of `extra`; `batch m n channels parts c_stride`;
    `x_batch w_batch` (elements from one batch entry to the next); `w_step` (from one column of
    whole panels to the next: the channels, or 1 in place); the indices of `extra`; `begin, end`.
    """
    sizes = ["batch", "m", "n", "channels", "parts", "c_stride", "x_batch", "w_batch", "w_step"]
    arguments = arguments_of(shape, "x weights y", sizes, extra)
    height = panel_height(shape, rest or shape.columns)
    rows = block_rows or max(1, together // height) * height
    routine = Routine(
        f"pointwise{'_in_place' * in_place}.{shape.name}.{rest}",
        shape.dtype,
        _KINDS,
        lambda b, values: _emit_pointwise(b, values, shape, rest, in_place=in_place),
    )
    # Rows of a block read the weights that those before it read.
    product_call = """
        fetches = 0 if row_block > 0 and task - count > begin else 1
        first = entry * m
        call_product(
            product, advance(x, entry * x_batch + row_begin * channels),
            advance(weights, entry * w_batch + column_begin * w_step),
            advance(y, (first + row_begin) * c_stride + column_begin),
            channels, c_stride,
            row_end - row_begin, column_end - column_begin, n,
            row_begin, fetches)
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
