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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from llvmlite import ir

from flowc.codegen.cpu.blocked import (
    Argument,
    ContractionSource,
    EpilogueLines,
    RowCut,
    arguments_of,
    block_bounds,
    block_count,
    counts_of_rows,
    each_block,
    function_text,
    indented,
    no_epilogue,
    parts_of_blocks,
)
from flowc.codegen.cpu.products import row_sums
from flowc.codegen.cpu.products.pixel_tiles import (
    heights_needed,
    panel_height,
    panel_width,
)
from flowc.codegen.cpu.products.row_sums import IN_PANELS, Stored, row_sums_routine
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.llvm.vector_ir import (
    Counter,
    Index,
    Routine,
    Value,
    Values,
    advance,
    byte_offset,
    call_at,
    ceil_div,
    index_range,
    indices,
    least,
    offset,
    routine_call,
)
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.ir.dims import Dim
from flowc_runtime.native.writer import i64

NEAR_ROWS = 42  # of a task, about: they stay in the first caches until they are finished
NEAR_BYTES = 24 << 10  # of short rows and their results: as many are a task
FAR_ROWS = 98  # of a task where weights are more than `NEAR_WEIGHTS`: all share what is read
NEAR_WEIGHTS = 256 << 10  # bytes
FAR_WEIGHTS = 1 << 20  # bytes: they come from beyond the second cache,
FAR_BYTES = 640 << 10  # of rows that share them; these stay there
CHAIN = 512  # steps of a sum, at most: what is longer loses digits


def rows_together(shape: TileShape, channels: Dim, n: Dim) -> int:
    """How many rows a task of `pointwise_source` has, about, for so many channels and columns."""
    if not (isinstance(channels, int) and isinstance(n, int)):
        return NEAR_ROWS
    if channels * n * shape.dtype.size > FAR_WEIGHTS:
        return max(FAR_ROWS, FAR_BYTES // (channels * shape.dtype.size))
    if channels * n * shape.dtype.size > NEAR_WEIGHTS:
        return FAR_ROWS
    return max(NEAR_ROWS, NEAR_BYTES // ((channels + n) * shape.dtype.size))


@dataclass(frozen=True, slots=True)
class _PanelTiles:
    """The tiles of panels that are equally wide, as the run knows them: how many rows they have (0
    of what is not there), and where their code is."""

    high: Index
    low: Index
    call_high: Value
    call_low: Value
    call_single: Value

    def or_else(self, other: _PanelTiles, is_other: Value) -> _PanelTiles:
        chosen = lambda x, y: Index(x.b, x.b.select(is_other, y.value, x.value))
        address = lambda x, y: self.high.b.select(is_other, y, x)
        return _PanelTiles(
            chosen(self.high, other.high),
            chosen(self.low, other.low),
            address(self.call_high, other.call_high),
            address(self.call_low, other.call_low),
            address(self.call_single, other.call_single),
        )


# x, w, y; the tiles of whole panels and of the rest; channels, x_stride, y_stride, rows, columns,
# w_stride, later, fetches, the columns of a panel, the width of the rest, and the heights of tiles.
_KINDS = "ppp" + "fff" * 2 + "i" * 14


def _panels_routine(dtype: DType, lanes: int, *, in_place: bool) -> Routine:
    """C[rows, columns] = A x B over all panels, whatever their sizes."""
    return Routine(
        f"pixel_panels.{dtype}.{lanes}{'.in_place' * in_place}",
        dtype,
        _KINDS,
        lambda b, values: _emit_panels(b, values, dtype, lanes, in_place=in_place),
        shared=True,
    )


def _emit_panels(
    b: ir.IRBuilder, args: Values, dtype: DType, lanes: int, *, in_place: bool
) -> None:
    x, w, y = args[:3]
    sizes = indices(b, args[9:])
    channels, x_stride, y_stride, rows, columns, w_stride, later, fetches, *sizes = sizes
    panel_columns, rest_width, *heights = sizes
    whole, rest = _PanelTiles(*heights[:2], *args[3:6]), _PanelTiles(*heights[2:], *args[6:9])
    steps = Counter(b, channels)
    with b.if_then(channels.compare(">", CHAIN), likely=False):
        steps.set(channels.ceil_div(channels.ceil_div(CHAIN)).ceil_div(lanes) * lanes)
    chain = steps.get()
    with index_range(b, Index(b, i64(0)), columns, panel_columns) as j:
        count = (columns - j).least(panel_columns)
        is_rest = count.compare("<", panel_columns)
        tiles = whole.or_else(rest, is_rest)
        panel = offset(w, j if in_place else j * channels)
        following, step = panel, Index(b, i64(0))
        if not in_place:
            # The first panel of later rows fetches the rows behind: what is multiplied by them is
            # near. Others fetch the next panel, which rows of blocks before have fetched already.
            is_rows = b.and_(j.compare("==", 0), later.compare("!=", 0))
            next_rows, next_panel = (
                offset(x, x_stride * tiles.high),
                offset(panel, count * channels),
            )
            width = Index(b, b.select(is_rest, rest_width.value, panel_columns.value))
            share = width // rows.ceil_div(tiles.high).most(1)
            asked = Index(b, b.select(is_rows, tiles.high.value, share.value)) * dtype.size
            asks = b.or_(is_rows, fetches.compare("!=", 0))
            # Of what is there: to ask for what is not near takes time also where it is not far.
            following = b.select(asks, b.select(is_rows, next_rows, next_panel), panel)
            step = Index(b, b.select(asks, asked.value, i64(0)))
        _emit_panel(
            b, tiles, rows, dtype, [x, panel, offset(y, j), following],
            [channels, x_stride, chain, y_stride, w_stride, count, step],
        )  # fmt: skip


def _emit_panel(
    b: ir.IRBuilder,
    tiles: _PanelTiles,
    rows: Index,
    dtype: DType,
    places: list[Value],
    sizes: list[Index],
) -> None:
    """Tiles share out the rows: of one height, or with enough others that are one row lower. Where
    these would have to be more than there are, the last tile, a lower one where few rows are left,
    is moved back to end where the rows end: sums are computed twice alike."""
    *_, following = places
    channels, *_, step = sizes
    count = rows.ceil_div(tiles.high)
    shorter = count * tiles.high - rows
    is_even = b.and_(shorter.compare("<=", count), tiles.low.compare("==", tiles.high - 1))
    left = tiles.high - shorter
    is_low = b.and_(shorter.compare(">", 0), left.compare("<=", tiles.low))
    low_begin = Index(b, b.select(is_low, (rows - left).value, rows.value))
    low_begin = Index(b, b.select(is_even, ((count - shorter) * tiles.high).value, low_begin.value))

    def emit(address: Value, begin: Index | int, end: Index, following: Value) -> None:
        passed = (*places[:3], following, begin, end, *sizes)
        call_at(b, address, dtype, row_sums.KINDS, *passed)

    with b.if_else(rows.compare(">=", tiles.high), likely=True) as (many, few):
        with many:
            emit(tiles.call_high, 0, low_begin, following)
            with b.if_then(low_begin.compare("<", rows)):
                done = low_begin.ceil_div(tiles.high) * channels * step
                emit(tiles.call_low, low_begin, rows, byte_offset(following, done))
        with few, b.if_then(rows.compare(">", 0)):
            emit(tiles.call_single, 0, rows, following)


def pointwise_source(
    shape: TileShape,
    rest: int,
    epilogue: EpilogueLines = no_epilogue,
    *,
    name: str = "pointwise_conv",
    extra: Sequence[Argument] = (),
    together: int = NEAR_ROWS,
    block_rows: int = 0,
    stored: Stored = IN_PANELS,
    sizes: Mapping[str, Dim] | None = None,
) -> ContractionSource:
    """y[batch, m, n] = x[batch, m, channels] x weights[batch, channels, n], packed by
    `pack_pointwise`: what a window of one pixel makes of it; or rows of n, read in place. `rest`:
    the columns behind the last whole panel. A transposed x is [channels, m]. `together`: rows of a
    task, about, in whole tiles; `block_rows`: exactly. `sizes`: the ints of its launch, where it is
    for one.

    Arguments: `x, weights, y` and the pointers of `extra`; `batch m n channels parts c_stride`;
    `x_batch w_batch` (elements from one batch entry to the next); `w_step` (from one column of
    whole panels to the next: the channels, or 1 in place); `x_stride` (from one row of x to the
    next, or one column if it is transposed); the indices of `extra`; `begin, end`.
    """
    names = ["batch", "m", "n", "channels", "parts", "c_stride"]
    names += ["x_batch", "w_batch", "w_step", "x_stride"]
    arguments = arguments_of(shape, "x weights y", names, extra)
    height = panel_height(shape, rest or shape.columns)
    rows = block_rows or max(1, together // height) * height
    # Blocks of given rows have no others, which a last one would have beyond them.
    tile_rows = 1 if block_rows else height
    tasks = f"batch * {block_count(shape, 'm', rows, tile_rows)}"
    bound: dict[str, Routine | int | None] = {"block_rows": rows}
    if tile_rows > 1:
        bound["tile_rows"] = tile_rows
    source = ContractionSource(
        name, "", arguments, tasks, 0, _symbols(shape.dtype), RowCut("m", rows, height), bound
    )
    counts, n = None, shape.columns
    if sizes is not None and isinstance(sizes["m"], int) and isinstance(sizes["n"], int):
        given, n = sizes.get("parts"), sizes["n"]
        parts = given if isinstance(given, int) else parts_of_blocks(source, sizes)
        unit = height if tile_rows > 1 else shape.rows
        counts = counts_of_rows(sizes["m"], rows, unit, parts, tile_rows)
    # Of no whole panel there are no tiles of such.
    widths = shape.columns if n >= shape.columns else 0, rest
    bound |= _tiles_bound(shape, widths, counts, stored)
    text = _source_text(name, arguments, epilogue, shape, bound, stored)
    return replace(source, text=text, bound=bound)


def _source_text(
    name: str,
    arguments: Sequence[Argument],
    epilogue: EpilogueLines,
    shape: TileShape,
    bound: Iterable[str],
    stored: Stored,
) -> str:
    """The function, which has all that differs between sizes bound to it."""
    # Rows of a block read the weights that those before it read. Rows of a transposed x do not
    # follow each other, so none of them is asked for before it is read.
    row, later = ("row_begin", "0") if stored.transposed else ("row_begin * x_stride", "row_begin")
    product_call = f"""
        fetches = 0 if row_block > 0 and task - count > begin else 1
        first = entry * m
        call_product(
            product, advance(x, entry * x_batch + {row}),
            advance(weights, entry * w_batch + column_begin * w_step),
            advance(y, (first + row_begin) * c_stride + column_begin),
            {", ".join(_ROUTINES)},
            channels, x_stride, c_stride,
            row_end - row_begin, column_end - column_begin, n,
            {later}, fetches,
            {", ".join(_NUMBERS)})
        """
    rows_done = "(first + row_begin)", "(first + row_end)"
    tile_rows = "tile_rows" if "tile_rows" in bound else ""
    return function_text(
        name,
        arguments,
        indented(block_bounds(shape, "block_rows", tile_rows, "panel_columns"), 4),
        each_block(
            shape, "entry", product_call, panel_columns="panel_columns", block_panels="block_panels"
        ),
        *epilogue(8, rows_done, ("column_begin", "column_end")),
        bound=bound,
    )


def _symbols(dtype: DType) -> dict[str, Any]:
    known = {"advance": advance, "least": least, "ceil_div": ceil_div}
    return known | {"call_product": routine_call(dtype, _KINDS)}


# What is bound of whole panels, and of what is behind them.
_ROUTINES = [f"{panel}_{name}" for panel in ("whole", "rest") for name in ("high", "low", "single")]
_NUMBERS = ["panel_columns", "rest_width"]
_NUMBERS += [f"{panel}_{name}_rows" for panel in ("whole", "rest") for name in ("high", "low")]


def _tiles_bound(
    shape: TileShape, widths: tuple[int, int], counts: Mapping[int, int] | None, stored: Stored
) -> dict[str, Routine | int | None]:
    """The routines of all tiles, and their sizes. `widths`: the columns of whole panels, and those
    behind them; 0 where there are none."""
    routines: list[Routine | None] = []
    numbers = [shape.columns, panel_width(shape, widths[1])]
    for columns in widths:
        tiles = heights_needed(panel_height(shape, columns or shape.columns), counts)
        for height in (tiles.high, tiles.low, int(tiles.single)):
            has_code = columns and height
            tile = row_sums_routine(shape, columns, height, stored) if has_code else None
            routines.append(tile)
        numbers += [tiles.high, tiles.low]
    panels = shape.block_columns // shape.columns
    product = _panels_routine(shape.dtype, shape.lanes, in_place=stored.in_place)
    found: dict[str, Routine | int | None] = {"product": product, "block_panels": panels}
    return found | dict(zip(_ROUTINES, routines)) | dict(zip(_NUMBERS, numbers))
