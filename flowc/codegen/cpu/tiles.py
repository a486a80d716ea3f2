"""Register tiles: the innermost loops of contractions, written as vector IR.

In: a `TileShape`, chosen from a target's vector width (`tile_shape`), never from the host. Out: the
routine `add_panels`, which adds a gathered block times packed panels to a block of C.

Invariant: nothing here allocates, raises or calls out. All reads are inside what the caller gave,
where panels are padded to whole rows and blocks to whole tiles. Every element of C is one chain of
multiply-adds in the order of the inner dimension, whichever tile computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import ir

from flowc.codegen.cpu.block_copy import copy_rows_routine, zero_run_routine
from flowc.codegen.cpu.tile_shape import AHEAD_BYTES, TileShape, tile_shape
from flowc.codegen.llvm.loop_metadata import unroll
from flowc.codegen.llvm.vector_ir import (
    I64,
    Counter,
    Index,
    Routine,
    Value,
    Values,
    broadcast,
    byte_offset,
    counted_loop,
    element_type,
    index_range,
    indices,
    load_vector,
    multiply_add,
    offset,
    prefetch,
    steps_of_iteration,
    store_vector,
)
from flowc_runtime.native.writer import i64

__all__ = [
    "Operands",
    "TileShape",
    "TileSizes",
    "clear_rows_read",
    "emit_by_size",
    "least_size",
    "panels_routine",
    "sizes_needed",
    "sizes_of",
    "sums_routine",
    "tile_shape",
]


@dataclass(frozen=True, slots=True)
class Operands:
    """Where the elements stand that sums are made of: [i, k] of the block at `k * step + i *
    stride`, [k, j] of the panel at `k * width + j`. How many bytes ahead of what is multiplied
    each of the two is fetched into the first cache: 0 does not ask for it. With `lines` the block
    is several, in groups, whose sums follow each other; sums take the numbers and steps of both."""

    step: int
    stride: int
    width: int
    block_ahead: int = 0
    panel_ahead: int = AHEAD_BYTES
    lines: bool = False


@dataclass(frozen=True, slots=True)
class TileSizes:
    """The tiles that there are: `heights` of those of all columns, `widths` and heights of narrower
    ones, the largest first."""

    heights: tuple[int, ...]
    widths: tuple[int, ...]
    narrow_heights: tuple[int, ...]

    @property
    def name(self) -> str:
        sizes = self.heights, self.narrow_heights, self.widths
        return "x".join("_".join(map(str, x)) for x in sizes)


def sizes_of(shape: TileShape) -> TileSizes:
    """Tiles for blocks of any rows and columns."""
    return TileSizes(shape.heights, shape.widths, shape.narrow_heights)


def sizes_needed(shape: TileShape, rows: Sequence[int], columns: int) -> TileSizes:
    """The tiles for blocks of these numbers of rows, and so many columns: those that `add_panels`
    would choose among all."""
    least = lambda needed, sizes: min(size for size in sizes if size >= needed)
    rest = columns % shape.columns
    width = least(rest, (shape.columns, *shape.widths))
    widths = (width,) if rest and width < shape.columns else ()
    if columns < shape.columns and widths:
        return TileSizes((), widths, (shape.rows,))
    heights: set[int] = set()
    for count in rows:
        even = -(-count // max(1, -(-count // shape.rows)))
        step = least(even, shape.heights)
        heights |= {
            least(min(step, count - first), shape.heights) for first in range(0, count, step)
        }
    return TileSizes(tuple(sorted(heights, reverse=True)), widths, (shape.rows,))


def sums_routine(shape: TileShape, rows: int, columns: int, operands: Operands) -> Routine:
    """`sums(block, panel, c, next, depth, c_stride, accumulate, next_step, ...)`: C[rows, columns]

    (+)= block x panel; behind these, with `operands.lines`, `groups, group_step, lines, line_step`.
    Columns are whole vectors and at most a half. At each step of the depth, the line of `next` that
    stands `next_step` bytes behind the one before is fetched into the second cache.
    """
    o = operands
    emit, name = (_emit_line_sums, "line_sums") if o.lines else (_emit_sums, "sums")
    return Routine(
        f"{name}.{shape.dtype}.{rows}x{columns}.{o.step}.{o.stride}.{o.width}",
        shape.dtype,
        "ppppiiii" + _kinds(o),
        lambda b, values: emit(b, values, shape, rows, _vectors(shape, columns), operands),
    )


# The first column of a vector, and its lanes.
Vector = tuple[int, int]


def _vectors(shape: TileShape, columns: int) -> list[Vector]:
    """The vectors that hold so many columns."""
    lanes = shape.lanes
    return [(first, min(lanes, columns - first)) for first in range(0, columns, lanes)]


def _kinds(operands: Operands) -> str:
    """The letters of what routines take behind other arguments."""
    return "iiii" if operands.lines else ""


def _emit_line_sums(
    b: ir.IRBuilder,
    args: Values,
    shape: TileShape,
    rows: int,
    vectors: Sequence[Vector],
    o: Operands,
) -> None:
    """C[rows, vectors] (+)= the sum of lines[rows, depth] x panel[depth, vectors], the panel of a
    line behind that of the one before; all sums in registers."""
    block, panel, c, following, depth, c_stride, accumulate, next_step = args[:8]
    groups, group_step, lines, line_step = indices(b, args[8:])
    size, element = shape.dtype.size, element_type(shape.dtype)
    kinds = [ir.VectorType(element, lanes) for _, lanes in vectors]
    with b.goto_entry_block():
        sums = [[b.alloca(kind) for kind in kinds] for _ in range(rows)]
    for kind, total in (pair for row in sums for pair in zip(kinds, row)):
        b.store(ir.Constant(kind, None), total)
    place, fetched = Counter(b, 0), Counter(b, 0)
    # Of more steps at once, elements that rows share would take the registers of sums.
    steps = min(steps_of_iteration(rows * len(vectors)), o.stride)
    with counted_loop(b, groups) as group, counted_loop(b, lines) as line:
        first = offset(block, group * group_step + line * line_step)
        with counted_loop(b, Index(b, depth), unrolled=steps) as k:
            row_of_panel, seen = offset(panel, place.get()), offset(first, k * o.step)
            prefetch(b, byte_offset(following, fetched.get()), level=2)
            columns = [
                load_vector(b, b.gep(row_of_panel, [i64(j)]), lanes, size) for j, lanes in vectors
            ]
            for i, row in enumerate(sums):
                seen_of_row = b.load(b.gep(seen, [i64(i * o.stride)]))
                for column, total, (_, lanes) in zip(columns, row, vectors):
                    wide = broadcast(b, seen_of_row, lanes)
                    b.store(multiply_add(b, wide, column, b.load(total)), total)
            place.add(o.width)
            fetched.add(Index(b, next_step))
    results = [[b.load(total) for total in row] for row in sums]
    _emit_sum_stores(b, results, vectors, (c, c_stride, accumulate), size)


def _emit_sums(
    b: ir.IRBuilder,
    args: Values,
    shape: TileShape,
    rows: int,
    vectors: Sequence[Vector],
    o: Operands,
) -> None:
    """C[rows, vectors] (+)= block[rows, depth] x panel[depth, vectors], all sums in registers."""
    block, panel, c, following, depth, c_stride, accumulate, next_step = args
    size, element = shape.dtype.size, element_type(shape.dtype)
    kinds = [ir.VectorType(element, lanes) for _, lanes in vectors]
    entry = b.block
    loop, stores = b.append_basic_block("depth"), b.append_basic_block("stores")
    b.cbranch(b.icmp_signed(">", depth, i64(0)), loop, stores)
    b.position_at_end(loop)
    k, row_of_panel = b.phi(I64), b.phi(panel.type)
    sums = [[b.phi(kind) for kind in kinds] for _ in range(rows)]
    columns = [load_vector(b, b.gep(row_of_panel, [i64(j)]), lanes, size) for j, lanes in vectors]
    first = b.gep(block, [b.mul(k, i64(o.step))])
    _emit_prefetches(b, row_of_panel, o.panel_ahead, sum(lanes for _, lanes in vectors), size)
    _emit_prefetches(b, first, o.block_ahead, rows, size)
    prefetch(b, byte_offset(following, Index(b, k) * Index(b, next_step)), level=2)
    totals: list[list[Value]] = []
    for i in range(rows):
        a = b.load(b.gep(first, [i64(i * o.stride)]))
        totals.append(
            [
                multiply_add(b, broadcast(b, a, lanes), column, total)
                for column, total, (_, lanes) in zip(columns, sums[i], vectors)
            ]
        )
    next_k, next_row = b.add(k, i64(1)), b.gep(row_of_panel, [i64(o.width)])
    for phi, start, following in [(k, i64(0), next_k), (row_of_panel, panel, next_row)]:
        phi.add_incoming(start, entry)
        phi.add_incoming(following, loop)
    for i in range(rows):
        for j, kind in enumerate(kinds):
            sums[i][j].add_incoming(ir.Constant(kind, None), entry)
            sums[i][j].add_incoming(totals[i][j], loop)
    back = b.cbranch(b.icmp_signed("<", next_k, depth), loop, stores)
    unroll(back, steps_of_iteration(rows * len(vectors)))
    b.position_at_end(stores)
    results = [[b.phi(kind) for kind in kinds] for _ in range(rows)]
    for i in range(rows):
        for j, kind in enumerate(kinds):
            results[i][j].add_incoming(ir.Constant(kind, None), entry)
            results[i][j].add_incoming(totals[i][j], loop)
    _emit_sum_stores(b, results, vectors, (c, c_stride, accumulate), size)


def _emit_prefetches(b: ir.IRBuilder, start: Value, ahead: int, count: int, size: int) -> None:
    """Prefetches `count` elements, `ahead` bytes after `start`; nothing where `ahead` is 0."""
    for at in range(ahead, ahead + count * size, 64) if ahead else ():
        prefetch(b, b.gep(start, [i64(at // size)]))


def _emit_sum_stores(
    b: ir.IRBuilder,
    results: list[list[Value]],
    vectors: Sequence[Vector],
    target: tuple[Value, Value, Value],
    size: int,
) -> None:
    """`target`: C, its stride, and whether it is added to; else it is not read."""
    c, c_stride, accumulate = target
    targets = [
        b.gep(b.gep(c, [b.mul(c_stride, i64(i))]), [i64(j)])
        for i in range(len(results))
        for j, _ in vectors
    ]
    values = [value for row in results for value in row]
    plus = b.add if isinstance(c.type.pointee, ir.IntType) else b.fadd
    with b.if_else(b.icmp_signed("!=", accumulate, i64(0))) as (add, replace):
        with add:
            for p, value in zip(targets, values):
                before = load_vector(b, p, value.type.count, size)
                store_vector(b, plus(before, value), p, size)
        with replace:
            for p, value in zip(targets, values):
                store_vector(b, value, p, size)


def _emit_tile(
    b: ir.IRBuilder, args: Values, shape: TileShape, operands: Operands, sizes: TileSizes
) -> None:
    """Choose the sums that cover `rows` x `columns`; where they do not fit exactly, they go through

    a tile on the stack.
    """
    block, panel, c, following = args[:4]
    depth, c_stride, rows, columns, accumulate, next_step, *lines = indices(b, args[4:])

    def sums(height: int, width: int) -> Routine:
        return sums_routine(shape, height, width, operands)

    with b.goto_entry_block():
        side = b.alloca(element_type(shape.dtype), i64(shape.rows * shape.columns))
    height, width = _tile_sizes(rows, columns, shape, sizes)
    direct = b.and_(rows.compare("==", height), columns.compare("==", width))
    spill = b.not_(direct)
    copy_rows = copy_rows_routine(shape)
    with b.if_then(b.and_(accumulate.compare("!=", 0), spill), likely=False):
        copy_rows.call(b, side, c, rows, columns, shape.columns, c_stride)
    target = b.select(direct, c, side)
    target_stride = b.select(direct, c_stride.value, i64(shape.columns))
    passed = (block, panel, target, following, depth, target_stride, accumulate, next_step, *lines)
    whole = lambda h: sums(h, shape.columns).call(b, *passed)
    narrow = lambda w: emit_by_size(
        b, height, sizes.narrow_heights, lambda h: sums(h, w).call(b, *passed)
    )
    if sizes.widths and sizes.heights:
        with b.if_else(width.compare("<", shape.columns), likely=False) as (thin, wide):
            with thin:
                emit_by_size(b, width, sizes.widths, narrow)
            with wide:
                emit_by_size(b, height, sizes.heights, whole)
    elif sizes.heights:
        emit_by_size(b, height, sizes.heights, whole)
    else:
        emit_by_size(b, width, sizes.widths, narrow)
    with b.if_then(spill, likely=False):
        copy_rows.call(b, c, side, rows, columns, c_stride, shape.columns)


def _tile_sizes(
    rows: Index, columns: Index, shape: TileShape, sizes: TileSizes
) -> tuple[Index, Index]:
    """The height and the width of the tile for so many rows and columns that are left."""
    b = rows.b
    narrow = least_size(rows, sizes.narrow_heights)
    if not sizes.heights:
        return narrow, least_size(columns, sizes.widths)
    width = least_size(columns, (shape.columns, *sizes.widths))
    is_whole = width.compare("==", shape.columns)
    lower = least_size(rows, sizes.heights)
    return Index(b, b.select(is_whole, lower.value, narrow.value)), width


def clear_rows_read(
    b: ir.IRBuilder, block: Value, rows: Index, columns: Index, shape: TileShape
) -> None:
    """Zeros behind the rows of a block, as far as tiles for so many columns read. They make sums
    that nobody reads, but of what memory held before: of subnormal numbers, among others, with
    which a multiply-add may take a hundred times as long."""
    of_last_panel = (columns - 1) % shape.columns + 1
    widths = of_last_panel, columns.least(shape.columns)
    read = _rows_read(rows, widths[0], shape).most(_rows_read(rows, widths[1], shape))
    left = offset(block, rows * shape.row_stride)
    zero_run_routine(shape).call(b, left, (read - rows) * shape.row_stride)


def _rows_read(rows: Index, columns: Index, shape: TileShape) -> Index:
    """How many rows of a block the tiles of a panel with so many columns read."""
    tiles = rows.ceil_div(shape.rows).most(1)
    sizes = sizes_of(shape)
    step, _ = _tile_sizes(rows.ceil_div(tiles), columns, shape, sizes)
    before = (rows - 1).most(0) // step * step
    last, _ = _tile_sizes(rows - before, columns, shape, sizes)
    return before + last


def least_size(needed: Index, sizes: Sequence[int]) -> Index:
    """The least of heights or widths, the largest of which comes first, that holds so many."""
    b = needed.b
    size = i64(sizes[0])
    for lower in sizes[1:]:
        size = b.select(needed.compare("<=", lower), i64(lower), size)
    return Index(b, size)


def emit_by_size(
    b: ir.IRBuilder, size: Index, sizes: Sequence[int], emit: Callable[[int], None]
) -> None:
    """The code of one of `sizes`, the largest of which is the likely one."""
    first, *lower = sizes
    if not lower:
        emit(first)
        return
    with b.if_else(size.compare("==", first), likely=True) as (found, other):
        with found:
            emit(first)
        with other:
            emit_by_size(b, size, lower, emit)


def _emit_panels(
    b: ir.IRBuilder, args: Values, shape: TileShape, operands: Operands, sizes: TileSizes
) -> None:
    """Panels outside, tiles inside: a panel stays in the first caches for a whole block.

    As few tiles as can be share its rows evenly. Each fetches its share of what is multiplied
    behind this panel: the same steps of the next one, or the next steps of the first. A core waits
    for few lines at a time, so that weights come from beyond the second cache as fast as they are
    multiplied only if they come all the time, and not with the first tile of their panel.
    """
    block, panels, c = args[:3]
    inner, depth, c_stride, *bounds = indices(b, args[3:10])
    accumulate, *lines = indices(b, args[10:])
    steps = depth * lines[0] * lines[2] if operands.lines else depth
    row_begin, row_end, column_begin, column_end = bounds
    tile = Routine(
        f"tile{_suffix(shape, operands)}.{sizes.name}",
        shape.dtype,
        "ppppiiiiii" + _kinds(operands),
        lambda inside, values: _emit_tile(inside, values, shape, operands, sizes),
    )
    count = row_end - row_begin
    even = count.ceil_div(count.ceil_div(shape.rows).most(1))
    with index_range(b, column_begin, column_end, shape.columns) as j:
        columns = (column_end - j).least(shape.columns)
        panel = offset(panels, j * inner)
        step, _ = _tile_sizes(even, columns, shape, sizes)
        is_last = b.and_((j + shape.columns).compare(">=", column_end), steps.compare("<", inner))
        following = Counter(b, (j + shape.columns) * inner)
        with b.if_then(is_last):
            following.set(column_begin * inner + steps * shape.columns)
        next_step = Index(b, i64(shape.columns * shape.dtype.size)) // count.ceil_div(step).most(1)
        fetched = Counter(b, following.get() * shape.dtype.size)
        with index_range(b, row_begin, row_end, step) as i:
            rows = (row_end - i).least(step)
            rows_of_block = offset(block, (i - row_begin) * operands.stride)
            c_tile = offset(c, i * c_stride + j)
            place = byte_offset(panels, fetched.get())
            passed = (depth, c_stride, rows, columns, accumulate, next_step, *lines)
            tile.call(b, rows_of_block, panel, c_tile, place, *passed)
            fetched.add(next_step * steps)


def _suffix(shape: TileShape, operands: Operands) -> str:
    """What tells the names of routines apart."""
    lines = f".{operands.stride}" if operands.lines else ""
    return f".{shape.name}{lines}"


def panels_routine(
    shape: TileShape, line_stride: int = 0, sizes: TileSizes | None = None
) -> Routine:
    """`add_panels(block, panels, c, inner, depth, c_stride, row_begin, row_end, column_begin,

    column_end, accumulate)`: C[rows, columns] = (C if accumulate) + block x panels, over `depth`
    steps of the inner dimension. `block` starts at `row_begin`, rows `shape.row_stride` apart;
    `panels` starts at panel 0, at the first of the `depth` steps, and has `inner` steps in all.

    With a `line_stride` the rows of the block are as far apart, and may overlap; there are several
    blocks, whose `depth` steps follow each other, lines of groups: `groups, group_step, lines,
    line_step` are four more arguments. `sizes`: those that its blocks need, where that is known.
    """
    sizes = sizes or sizes_of(shape)
    stride = line_stride or shape.row_stride
    operands = Operands(1, stride, shape.columns, lines=line_stride > 0)
    return Routine(
        f"add_panels{_suffix(shape, operands)}.{sizes.name}",
        shape.dtype,
        "pppiiiiiiii" + _kinds(operands),
        lambda b, values: _emit_panels(b, values, shape, operands, sizes),
        shared=True,
    )
