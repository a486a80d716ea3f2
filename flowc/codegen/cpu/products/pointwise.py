"""Products of pixels: windows of one pixel, whose channels are read where they are.

In: a matrix [rows, channels] in memory; weights packed by `pack_pointwise`, or a matrix [channels,
n] that is read where it stands, too. Out: kernel source. Invariant: every element of the result is
one chain of multiply-adds over the channels in order, however tasks are shared out.

A core waits for a dozen lines of its cache at a time, so that what it asks for all at once comes
slowly. While a panel of weights is multiplied, its tiles therefore ask for the next one, a line at
each step of their sums.
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
from flowc.codegen.cpu.strided_rows import StridedRows
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
    ceil_div,
    counted_loop,
    element_type,
    indices,
    least,
    offset,
    routine_call,
    store_vector,
)
from flowc_runtime.native.writer import i64

POINTWISE_ROWS = 42  # of a task, about: they stay in the first caches until they are finished
FEW_SUMS = 24  # vectors: of more, LLVM spills some where an iteration takes several steps


@dataclass(frozen=True, slots=True)
class _Operands:
    """A, whose rows are read where they are, and how its rows and those of a panel of weights
    follow each other; of a panel that is packed, they do without `weights`."""

    shape: TileShape
    x: Value
    channels: Index
    rows: StridedRows
    y_stride: Index
    w_stride: Index
    weights: StridedRows | None


@dataclass(frozen=True, slots=True)
class _Panel:
    """A panel of weights, where its columns of C begin, and the one behind it."""

    operands: _Operands
    columns: int
    w: Value
    y: Value
    following: Value | None = None

    @property
    def vectors(self) -> list[Vector]:
        in_place = self.operands.weights is not None
        return panel_vectors(self.operands.shape, self.columns, in_place=in_place)

    def weights(self, step: Index, count: int) -> list[Value]:
        """Pointers to the weights of a step and of those behind it, so many in all."""
        strided = self.operands.weights
        if strided is not None:
            return strided.at(offset(self.w, step * self.operands.w_stride), count)
        width = panel_width(self.operands.shape, self.columns)
        return [offset(self.w, step * width + n * width) for n in range(count)]


def _emit_pointwise(
    b: ir.IRBuilder, args: Values, shape: TileShape, rest: int, *, in_place: bool
) -> None:
    x, w, y = args[:3]
    channels, y_stride, rows, columns, w_stride, fetches = indices(b, args[3:])
    left, size = columns % shape.columns, shape.dtype.size
    whole = columns - left
    highest = max(panel_height(shape, width) for width in (shape.columns, rest or shape.columns))
    x_rows = StridedRows(b, channels, highest, size)
    w_rows = StridedRows(b, w_stride, STEPS, size) if in_place else None
    operands = _Operands(shape, x, channels, x_rows, y_stride, w_stride, w_rows)
    step = Index(b, i64(1)) if in_place else channels
    with counted_loop(b, whole, shape.columns) as j:
        following = None if in_place else offset(w, (j + shape.columns) * channels)
        places = offset(w, j * step), offset(y, j)
        _emit_panel(b, _Panel(operands, shape.columns, *places, following), rows, fetches)
    if rest:
        places = offset(w, whole * step), offset(y, whole)
        with b.if_then(left.compare(">", 0)):
            _emit_panel(b, _Panel(operands, rest, *places), rows, fetches)


def _emit_panel(b: ir.IRBuilder, panel: _Panel, rows: Index, fetches: Index) -> None:
    """The last tile, a lower one where few rows are left, is moved back to end where the rows end:
    sums are computed twice alike."""
    shape = panel.operands.shape
    height = panel_height(shape, panel.columns)
    low, left = lower_height(height), rows % height
    with b.if_else(rows.compare(">=", height)) as (many, few):
        with many:
            is_low = b.and_(left.compare(">", 0), left.compare("<=", low))
            stop = Index(b, b.select(is_low, (rows - left).value, rows.value))

            def tiles(ahead: Ahead | None) -> None:
                with counted_loop(b, stop, height) as i:
                    _emit_tile(b, panel, i.least(rows - height), height, ahead)

            if panel.following is None:
                tiles(None)
            else:
                row_bytes = Index(b, i64(shape.columns * shape.dtype.size))
                ahead = Ahead(b, panel.following, row_bytes // stop.ceil_div(height))
                with b.if_else(fetches.compare("!=", 0)) as (first, again):
                    with first:
                        tiles(ahead)
                    with again:
                        tiles(None)
            with b.if_then(is_low):
                _emit_tile(b, panel, rows - low, low)
        with few, counted_loop(b, rows) as i:
            _emit_tile(b, panel, i, 1)


def _emit_tile(
    b: ir.IRBuilder, panel: _Panel, first: Index, height: int, ahead: Ahead | None = None
) -> None:
    """Rows `first ... first + height` of C = A x B, of which A is read where it stands."""
    o, vectors = panel.operands, panel.vectors
    size, products = o.shape.dtype.size, height * len(vectors)
    sums = Sums(b, element_type(o.shape.dtype), height, vectors)
    x, done = offset(o.x, first * o.channels), Counter(b, 0)

    def emit(steps: int) -> None:
        if ahead is not None:
            ahead.fetch(steps, at_once=False)
        left = o.rows.at(offset(x, done.get()), height)
        for n, right in enumerate(panel.weights(done.get(), steps)):
            sums.add([b.gep(row, [i64(n)]) for row in left], right, size)
        done.add(steps)

    many = STEPS if products <= FEW_SUMS else steps_of_iteration(products)
    emit_steps(b, o.channels, many, emit)
    target = offset(panel.y, first * o.y_stride)
    for row in sums.totals():
        for total, (column, lanes) in zip(row, vectors):
            stored = first_lanes(b, total, min(lanes, panel.columns - column))
            store_vector(b, stored, b.gep(target, [i64(column)]), size)
        target = offset(target, o.y_stride)


_KINDS = "pppiiiiii"


def pointwise_source(
    shape: TileShape,
    rest: int,
    epilogue: EpilogueLines = no_epilogue,
    *,
    name: str = "pointwise_conv",
    extra: Sequence[Argument] = (),
    block_rows: int = 0,
    in_place: bool = False,
) -> ContractionSource:
    """y[batch, m, n] = x[batch, m, channels] x weights[batch, channels, n], packed by
    `pack_pointwise`: what a window of one pixel makes of it; or rows of n, read `in_place`. `rest`:
    the columns behind the last whole panel. `block_rows`: of a task, by default as many as stay in
    the first caches.

    Arguments: `x, weights, y` and the pointers of `extra`; `batch m n channels parts c_stride`;
    `x_batch w_batch` (elements from one batch entry to the next); `w_step` (from one column of
    whole panels to the next: the channels, or 1 in place); the indices of `extra`; `begin, end`.
    """
    sizes = ["batch", "m", "n", "channels", "parts", "c_stride", "x_batch", "w_batch", "w_step"]
    arguments = arguments_of(shape, "x weights y", sizes, extra)
    height = panel_height(shape, rest or shape.columns)
    rows = block_rows or max(1, POINTWISE_ROWS // height) * height
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
            row_end - row_begin, column_end - column_begin, n, fetches)
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
    cut = RowCut("m", rows, height, is_even=True)  # a part of fewer rows goes one by one
    return ContractionSource(name, text, arguments, tasks, 0, known, cut, bound)
