"""Register tiles: the innermost loops of contractions, written as vector IR.

In: a `TileShape`, chosen from a target's vector width (`tile_shape`), never from the host. Out: the
routine `add_panels`, which adds a gathered block times packed panels to a block of C.

Invariant: nothing here allocates, raises or calls out. All reads are inside what the caller gave,
where panels are padded to whole rows and blocks to whole tiles. Every element of C is one chain of
multiply-adds in the order of the inner dimension, whichever tile computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from flowc.codegen.cpu.block_copy import copy_rows_routine, zero_run_routine
from flowc.codegen.cpu.tile_shape import CHAINS, TileShape, tile_shape
from flowc.codegen.cpu.tile_sums import Operands, kinds_of_lines, sums_routine
from flowc.codegen.llvm.vector_ir import (
    Counter,
    Index,
    Routine,
    Value,
    Values,
    byte_offset,
    element_type,
    index_range,
    indices,
    offset,
    while_positive,
)
from flowc.dataclass import dataclass
from flowc_runtime.native.writer import i64

__all__ = [
    "TileShape",
    "TileSizes",
    "clear_rows_read",
    "emit_by_size",
    "least_size",
    "lower_tiles",
    "panels_routine",
    "sizes_needed",
    "sizes_of",
    "tile_shape",
]


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
    """The tiles for blocks of these numbers of rows, which they share out exactly, and so many
    columns. Where no panel is whole, narrow tiles are higher."""
    rest = columns % shape.columns
    width = min(w for w in (shape.columns, *shape.widths) if w >= rest)
    widths = (width,) if rest and width < shape.columns else ()
    is_narrow = columns < shape.columns and widths
    heights = _shared_heights(rows, _most_rows(shape, width) if is_narrow else shape.rows)
    return TileSizes(() if is_narrow else heights, widths, heights)


def _most_rows(shape: TileShape, width: int) -> int:
    """How many rows of so few columns have as many sums as a tile of all columns."""
    return shape.rows * (-(-shape.columns // shape.lanes)) // -(-width // shape.lanes)


def _shared_heights(rows: Sequence[int], most: int) -> tuple[int, ...]:
    """Heights of as few tiles as can be, of which those of a block differ by one row at most."""
    heights: set[int] = set()
    for count in rows:
        tiles = max(1, -(-count // most))
        heights |= {-(-(count - n) // tiles) for n in range(min(count, tiles))}
    return tuple(sorted(heights, reverse=True))


def _heights_with_lower(heights: Sequence[int]) -> list[int]:
    """Those with which rows are shared out exactly: there are tiles of one row less, too."""
    return [height for height in heights if height - 1 in heights]


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
        side = b.alloca(element_type(shape.dtype), i64(_elements_of_tile(shape, sizes)))
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


def _elements_of_tile(shape: TileShape, sizes: TileSizes) -> int:
    """Room for any tile, whose rows stand `shape.columns` apart."""
    return max(shape.rows, *sizes.narrow_heights) * shape.columns


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
    """Writes zeros behind the rows of a block, as far as tiles for so many columns read. Nobody
    reads the sums of these rows; but what memory held there before may be subnormal numbers, with
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
    return (before + last).most(rows + _wasted_by_lower(rows, shape, sizes))


def _wasted_by_lower(rows: Index, shape: TileShape, sizes: TileSizes) -> Index:
    """How many rows more than there are the tiles read that `_rows_of_next` chooses, at most."""
    b, found, highest = rows.b, i64(0), sizes.heights[0]
    lower = lower_tiles(shape, sizes.heights)
    for count, (_, wasted) in lower.items():
        is_met = rows.compare("==", count)
        if count > highest or count + highest not in lower:  # also behind whole tiles
            is_last = ((rows - count) % highest).compare("==", 0)
            is_met = b.and_(rows.compare(">=", count), is_last)
        if wasted:
            found = b.select(is_met, i64(wasted), found)
    return Index(b, found)


def least_size(needed: Index, sizes: Sequence[int]) -> Index:
    """The least of heights or widths, the largest of which comes first, that holds so many."""
    b = needed.b
    size = i64(sizes[0])
    for lower in sizes[1:]:
        size = b.select(needed.compare("<=", lower), i64(lower), size)
    return Index(b, size)


def _rows_of_next(rows: Index, shape: TileShape, heights: Sequence[int]) -> Index:
    """How many of the rows that are left the next tile has: all, or as many as the highest has,
    unless lower tiles cost less than those, which also sum rows that nobody reads."""
    b, found = rows.b, rows.least(heights[0]).value
    for count, (first, _) in lower_tiles(shape, heights).items():
        found = b.select(rows.compare("==", count), i64(first), found)
    return Index(b, found)


def lower_tiles(shape: TileShape, heights: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Of numbers of rows that lower tiles hold at less cost: how many the first has, and how many
    rows they sum in vain. `heights`: of all tiles, the highest first."""
    highest = heights[0]
    least = CHAINS * shape.lanes // shape.columns  # fewer rows than these wait for themselves
    costs, wasted = [0], [0]
    found: dict[int, tuple[int, int]] = {}

    def cost(first: int, rows: int) -> int:
        return max(first, least) + costs[max(0, rows - first)]

    for rows in range(1, 2 * highest):
        plain = min(height for height in heights if height >= min(rows, highest))
        best = min(heights, key=lambda first: cost(first, rows))
        costs.append(cost(best, rows))
        if costs[rows] == cost(plain, rows):
            best = plain
        wasted.append(max(0, best - rows) or wasted[max(0, rows - best)])
        if best != plain:
            found[rows] = best, wasted[rows]
    return found


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

    As few tiles as can be share its rows evenly, of the same height or where there are such of one
    row less exactly. Each fetches its share of what is multiplied
    behind this panel: the same steps of the next one, or the next steps of the first. A core waits
    for few lines at a time, so that weights come from beyond the second cache as fast as they are
    multiplied only if they come all the time, and not with the first tile of their panel.
    """
    block, panels, c = args[:3]
    inner, depth, c_stride, *bounds = indices(b, args[3:10])
    accumulate, *lines = indices(b, args[10:])
    steps = depth * lines[0] * lines[2] if operands.lines else depth
    stride = lines[-1] if operands.lines else operands.stride
    row_begin, row_end, column_begin, column_end = bounds
    tile = Routine(
        f"tile{_suffix(shape, operands)}.{sizes.name}",
        shape.dtype,
        "ppppiiiiii" + kinds_of_lines(operands),
        lambda inside, values: _emit_tile(inside, values, shape, operands, sizes),
    )
    count = row_end - row_begin
    heights = sizes.heights or sizes.narrow_heights
    tiles = count.ceil_div(heights[0]).most(1)
    even = count.ceil_div(tiles)
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
        is_exact = ir.Constant(ir.IntType(1), 0)
        for height in _heights_with_lower(heights):
            of_height = b.and_(even.compare("==", height), step.compare("==", height))
            is_exact = b.or_(is_exact, of_height)
        of_even = row_end - (even * tiles - count) * (even - 1)
        lower_begin = Index(b, b.select(is_exact, of_even.value, row_end.value))
        for begin, end, height in (
            (row_begin, lower_begin, step),
            (lower_begin, row_end, (step - 1).most(1)),
        ):
            done, left = Counter(b, begin), Counter(b, end - begin)
            with while_positive(b, left):
                i, rows = done.get(), left.get().least(height)
                if sizes.heights and not operands.lines:
                    shared = _rows_of_next(left.get(), shape, sizes.heights)
                    is_highest = height.compare("==", sizes.heights[0])
                    is_free = b.and_(columns.compare("==", shape.columns), is_highest)
                    rows = Index(b, b.select(is_free, shared.value, rows.value))
                done.add(rows)
                left.add(Index(b, i64(0)) - rows)
                rows_of_block = offset(block, (i - row_begin) * stride)
                c_tile = offset(c, i * c_stride + j)
                place = byte_offset(panels, fetched.get())
                passed = (depth, c_stride, rows, columns, accumulate, next_step, *lines)
                tile.call(b, rows_of_block, panel, c_tile, place, *passed)
                fetched.add(next_step * steps)


def _suffix(shape: TileShape, operands: Operands) -> str:
    """What tells the names of routines apart."""
    return f".{shape.name}{'.lines' * operands.lines}{'.far' * operands.fetches_result}"


def panels_routine(
    shape: TileShape,
    sizes: TileSizes | None = None,
    *,
    lines: bool = False,
    is_far: bool = False,
) -> Routine:
    """`add_panels(block, panels, c, inner, depth, c_stride, row_begin, row_end, column_begin,

    column_end, accumulate)`: C[rows, columns] = (C if accumulate) + block x panels, over `depth`
    steps of the inner dimension. `block` starts at `row_begin`, rows `shape.row_stride` apart;
    `panels` starts at panel 0, at the first of the `depth` steps, and has `inner` steps in all.

    With `lines` there are several blocks, whose `depth` steps follow each other, lines of groups:
    `groups, group_step, lines, line_step, stride` are five more arguments. Rows of a block are
    `stride` apart, and may overlap. `sizes`: those that its blocks need, where that is known;
    `is_far`: C, of lines, has left the caches.
    """
    sizes = sizes or sizes_of(shape)
    stride = 0 if lines else shape.row_stride
    operands = Operands(1, stride, shape.columns, lines=lines, fetches_result=is_far)
    return Routine(
        f"add_panels{_suffix(shape, operands)}.{sizes.name}",
        shape.dtype,
        "pppiiiiiiii" + kinds_of_lines(operands),
        lambda b, values: _emit_panels(b, values, shape, operands, sizes),
        shared=True,
    )
