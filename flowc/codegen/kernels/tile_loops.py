"""Loops over tiles, where a cluster reads down the columns of an input while it writes rows.

In: the rows and columns of such a space and a function that stores one element. Out: loops that
walk it tile by tile. In whole tiles, such reads come from a buffer into which vector instructions
transpose the tile; at the edges they go to memory element by element. Where nothing is computed
there are no loops: a routine transposes the block, or fills it with a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowc.codegen.kernels.builder import (
    LOCAL,
    compare,
    int_name,
    int_number,
    int_op,
    int_sum,
    linear_factors,
)
from flowc.codegen.kernels.cluster import ClusterLowering, Read
from flowc.codegen.kernels.fills import between, dim_of, emit_fills, fills_of
from flowc.codegen.kernels.loop_choices import LoopChoices
from flowc.codegen.kernels.nest import (
    MOVE_BLOCK,
    TURN,
    Address,
    Carve,
    Index,
    Let,
    Load,
    Name,
    Store,
    names_made_within,
)
from flowc.dataclass import dataclass
from flowc.ir.dims import Dim, Symbol, substitute, symbol, symbols_of

ROW, COLUMN = f"{LOCAL}row", f"{LOCAL}column"

StoreElement = Callable[[ClusterLowering, Dim, Dim], None]


@dataclass(frozen=True, slots=True)
class _TransposedRead:
    """A read that steps over rows by `distance`: in a tile it starts at `start`."""

    read: Read
    distance: Dim
    start: Dim


@dataclass(frozen=True, slots=True)
class _Moved:
    """Where elements go that are stored as they were read: rows are `distance` apart."""

    name: str
    distance: Dim
    start: Dim


def tile_loops(
    c: ClusterLowering,
    probe: ClusterLowering,
    block: str,
    stretch: tuple[Dim, Dim],
    columns: Dim,
    within: tuple[Index, Index],
    store: StoreElement,
    choices: LoopChoices,
) -> Dim:
    """Walks those rows of block number `block` that are in a stretch, and the columns `within`
    two, the first at the side of a tile; returns the bytes of scratch it uses. `probe` is another
    lowering of the body, which finds the reads."""
    nest, side, together = c.nest, choices.tile_side, choices.tile_rows
    start, end = stretch
    rows = end - start
    row, column = symbol(ROW, rows) + start, symbol(COLUMN, columns)
    probe.nest.counter = nest.counter  # what it makes has not the names of indices around
    store(probe, row, column)
    transposed = transposed_reads(probe)
    widths = _widths(columns, choices) if transposed else []
    # A block begins at a multiple of `together`, and a stretch anywhere.
    are_high = all(isinstance(d, int) and d % side == 0 for d in (start, rows, together))
    are_wide = isinstance(columns, int) and columns % side in (0, *widths)
    top, bottom = rows_of_block(c, block, together, rows, start)
    corner, counts = (top, within[0]), (between(top, bottom), between(*within))
    fills = fills_of(probe)
    if fills is not None:
        step = linear_factors(fills[0].address).get(Symbol(ROW), 0)
        emit_fills(c, fills, dict(zip((Symbol(ROW), Symbol(COLUMN)), corner)), step, *counts)
        return 0
    if not probe.read_names:
        with nest.loop("row", top, bottom), nest.loop("column", *within):
            store(c, row, column)
        return 0
    target = _target_of(probe, transposed)
    if target is not None:
        _move(c, transposed[0], target, corner, counts)
        return 0
    tiles = _Tiles(c, transposed, store, row, column, side, are_high, are_wide)
    scratch = tiles.carve()
    with nest.loop("left", *within, side):
        _stop(c, "right", "left", side, nest.size(columns))
        with nest.loop("first", top, bottom, side):
            _stop(c, "stop", "first", side, bottom)
            tiles.tile(widths)
    return scratch


def rows_of_block(
    c: ClusterLowering, block: str, together: int, rows: Dim, start: Dim = 0
) -> tuple[Index, Index]:
    """The first row of a block and the one behind its last, counted from the start of a stretch.
    LLVM is not told how many there are: it would write out the rows of a few."""
    nest = c.nest
    if start == 0:
        nest.named("top", int_sum((together, block)))
        _stop(c, "bottom", "top", together, nest.parameter(rows))
        return int_name("top"), int_name("bottom")
    first, last = int_sum((together, block)), int_sum((together, block), together)
    begin, end = nest.parameter(start), nest.parameter(start + rows)
    top = nest.let(int_op("past", first, begin), "s")
    return top, nest.let(int_op("upto", last, end, begin), "s")


def _move(
    c: ClusterLowering,
    found: _TransposedRead,
    target: _Moved,
    corner: tuple[Index, Index],
    counts: tuple[Index, Index],
) -> None:
    """Transposes the block whose first row and column, and how many of them, are these."""
    nest = c.nest
    c.read_names.add(found.read.name)
    at = dict(zip((Symbol(f"{LOCAL}first"), Symbol(f"{LOCAL}left")), map(dim_of, corner)))
    source = Address(found.read.name, nest.index(substitute(found.start, at)))
    to = Address(target.name, nest.index(substitute(target.start, at)))
    steps = nest.size(found.distance), nest.size(target.distance)
    nest.invoke(MOVE_BLOCK, source, steps[0], to, steps[1], *reversed(counts))


def reads_memory(probe: ClusterLowering, rows: Dim, columns: Dim, store: StoreElement) -> bool:
    """Whether the elements of tiles read any, wherever their rows are."""
    store(probe, symbol(ROW, rows), symbol(COLUMN, columns))
    return bool(probe.read_names)


def _widths(columns: Dim, choices: LoopChoices) -> list[int]:
    """The widths of tiles that are transposed: the whole one, and that of what is left behind the
    last of these, unless it is so little, or not known."""
    side = choices.tile_side
    if not isinstance(columns, int):
        return [side]
    rest = columns % side
    return [side] * (columns >= side) + [rest] * (rest >= choices.few)


def _stop(c: ClusterLowering, stop: str, first: str, count: int, limit: Index) -> None:
    end = c.nest.declare(stop, int_sum(first, count))
    c.nest.assign(stop, int_op("smaller", end, limit))


@dataclass(frozen=True, slots=True)
class _Tiles:
    """Emits tiles. `are_high`: all have as many rows as columns; else the loop over rows has any
    number of them, which takes LLVM half as long as a loop for whole tiles and another for those at
    edges. `are_wide`: all have one of the widths that there is code for. What computes others costs
    these: LLVM makes vectors of its loops, and has the registers for what they need."""

    c: ClusterLowering
    transposed: Sequence[_TransposedRead]
    store: StoreElement
    row: Dim
    column: Dim
    side: int
    are_high: bool
    are_wide: bool

    def carve(self) -> int:
        """Makes the buffers; how many bytes they take."""
        scratch = 0
        for i, found in enumerate(self.transposed):
            self.c.nest.body.append(Carve(f"tile{i}", found.read.dtype, int_number(scratch)))
            scratch += self.side**2 * found.read.dtype.size
        return scratch

    def tile(self, widths: Sequence[int]) -> None:
        """A tile of one of these widths, or whatever is at the edge."""
        if not widths:
            self._plain()
            return
        nest, (width, *narrower) = self.c.nest, widths
        if self.are_wide and not narrower:
            self._computed(width)
            return
        with nest.when(compare("eq", int_sum("right", "-left"), int_number(width))):
            self._computed(width)
        with nest.otherwise():
            self.tile(narrower)

    def _plain(self) -> None:
        nest = self.c.nest
        rows = nest.loop("row", int_name("first"), int_name("stop"))
        with rows, nest.loop("column", int_name("left"), int_name("right")):
            self.store(self.c, self.row, self.column)

    def _computed(self, width: int) -> None:
        c, nest = self.c, self.c.nest
        height = int_number(self.side) if self.are_high else int_sum("stop", "-first")
        for i, found in enumerate(self.transposed):
            self._transpose(found, f"tile{i}", width, height)
            c.buffered[found.read] = f"tile{i}", int_sum((self.side, "r"), "q")
        with nest.loop("r", int_number(0), height):
            nest.named("row", int_sum("first", "r"))
            with nest.loop("q", int_number(0), int_number(width)):
                nest.named("column", int_sum("left", "q"))
                self.store(c, self.row, self.column)
        c.buffered.clear()

    def _transpose(self, found: _TransposedRead, tile: str, width: int, height: Index) -> None:
        """Reads a tile into its buffer."""
        nest = self.c.nest
        start = Address(found.read.name, nest.index(found.start))
        distance, side = nest.size(found.distance), int_number(self.side)
        whole = f"{TURN}{width}", start, distance, Address(tile)
        if self.are_high:
            nest.invoke(*whole)
            return
        with nest.when(compare("eq", height, side)):
            nest.invoke(*whole)
        with nest.otherwise():
            places = start, distance, Address(tile), side
            nest.invoke(MOVE_BLOCK, *places, int_number(width), height)


def _target_of(probe: ClusterLowering, transposed: Sequence[_TransposedRead]) -> _Moved | None:
    """Where the probe stores what it reads, if that is all it does, and rows are without gaps."""
    match probe.nest.body:
        case [Let(name, Load(condition=None)), Store(buffer, _, Name(stored))]:
            address = probe.addresses[-1]
        case _:
            return None
    row, column = Symbol(ROW), Symbol(COLUMN)
    distance = linear_factors(address).get(row, 0)
    rest = substitute(address, {row: 0, column: 0})
    linear = rest + symbol(ROW) * distance + symbol(COLUMN)
    if name != stored or len(transposed) != 1 or distance == 0 or linear != address:
        return None
    start = rest + symbol(f"{LOCAL}first") * distance + symbol(f"{LOCAL}left")
    return _Moved(buffer, distance, start)


def transposed_reads(probe: ClusterLowering) -> list[_TransposedRead]:
    """The reads whose address is `column*distance + row + what neither is in`, where this is known
    before any element is computed: a tile is read at once."""
    found = []
    made = {Symbol(LOCAL + name) for name in names_made_within(probe.nest.body)}
    for read in dict.fromkeys(probe.reads):
        if read.dtype.is_complex:
            continue
        row, column = Symbol(ROW), Symbol(COLUMN)
        factors = linear_factors(read.address)
        distance = factors.get(column, 0)
        if distance in (0, 1) or factors.get(row) != 1:
            continue
        if not made.isdisjoint(symbols_of(read.address)):
            continue
        rest = substitute(read.address, {row: 0, column: 0})
        if rest + symbol(ROW) + symbol(COLUMN) * distance != read.address:
            continue
        start = rest + symbol(f"{LOCAL}first") + symbol(f"{LOCAL}left") * distance
        found.append(_TransposedRead(read, distance, start))
    return found
