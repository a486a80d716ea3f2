"""Loops over tiles, where a cluster reads down the columns of an input while it writes rows.

In: the rows and columns of such a space and a function that stores one element. Out: loops that
walk it tile by tile. In whole tiles, such reads come from a buffer into which vector instructions
turned the tile; at the edges they go to memory element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flowc.codegen.kernels.builder import (
    LOCAL,
    both,
    compare,
    int_name,
    int_number,
    int_op,
    int_sum,
    linear_factors,
)
from flowc.codegen.kernels.cluster import ClusterLowering, Read
from flowc.codegen.kernels.loop_choices import LoopChoices
from flowc.codegen.kernels.nest import Address, Carve, Index
from flowc.ir.dims import Dim, Symbol, substitute, symbol

ROW, COLUMN = f"{LOCAL}row", f"{LOCAL}column"

StoreElement = Callable[[ClusterLowering, Dim, Dim], None]


@dataclass(frozen=True, slots=True)
class _Turned:
    """A read that steps over rows by `distance`: in a tile it starts at `start`."""

    read: Read
    distance: Dim
    start: Dim


def tile_loops(
    c: ClusterLowering,
    probe: ClusterLowering,
    block: str,
    rows: Dim,
    columns: Dim,
    store: StoreElement,
    choices: LoopChoices,
) -> Dim:
    """Walks block number `block` of the rows, all columns; returns the bytes of scratch it uses.
    `probe` is another lowering of the same body, which finds the reads."""
    nest, side, together = c.nest, choices.tile_side, choices.tile_rows
    row, column = symbol(ROW, rows), symbol(COLUMN, columns)
    store(probe, row, column)
    turned = turned_reads(probe.reads)
    nest.named("top", int_sum((together, block)))
    _stop(c, "bottom", "top", together, nest.size(rows))
    scratch = 0
    for i, turn in enumerate(turned):
        nest.body.append(Carve(f"tile{i}", turn.read.dtype, int_number(scratch)))
        scratch += side * side * turn.read.dtype.size
    with nest.loop("left", int_number(0), nest.size(columns), side):
        _stop(c, "right", "left", side, nest.size(columns))
        with nest.loop("first", int_name("top"), int_name("bottom"), side):
            _stop(c, "stop", "first", side, int_name("bottom"))
            if not turned:
                _plain(c, store, row, column)
                return 0
            wide = compare("eq", int_sum("right", "-left"), int_number(side))
            with nest.when(both(wide, compare("eq", int_sum("stop", "-first"), int_number(side)))):
                _whole_tile(c, turned, store, row, column, side)
            with nest.otherwise():
                _plain(c, store, row, column)
    return scratch


def _stop(c: ClusterLowering, stop: str, first: str, count: int, limit: Index) -> None:
    end = c.nest.declare(stop, int_sum(first, count))
    c.nest.assign(stop, int_op("smaller", end, limit))


def _plain(c: ClusterLowering, store: StoreElement, row: Dim, column: Dim) -> None:
    rows = c.nest.loop("row", int_name("first"), int_name("stop"))
    with rows, c.nest.loop("column", int_name("left"), int_name("right")):
        store(c, row, column)


def _whole_tile(
    c: ClusterLowering,
    turned: Sequence[_Turned],
    store: StoreElement,
    row: Dim,
    column: Dim,
    side: int,
) -> None:
    nest = c.nest
    for i, turn in enumerate(turned):
        start = Address(turn.read.name, nest.index(turn.start))
        nest.invoke("turn_tile", start, nest.size(turn.distance), Address(f"tile{i}"))
        c.buffered[turn.read] = f"tile{i}", int_sum((side, "r"), "q")
    with nest.loop("r", int_number(0), int_number(side)):
        nest.named("row", int_sum("first", "r"))
        with nest.loop("q", int_number(0), int_number(side)):
            nest.named("column", int_sum("left", "q"))
            store(c, row, column)
    c.buffered.clear()


def turned_reads(reads: Sequence[Read]) -> list[_Turned]:
    """The reads whose address is `column*distance + row + what neither is in`."""
    found = []
    for read in dict.fromkeys(reads):
        if read.dtype.is_complex:
            continue
        row, column = Symbol(ROW), Symbol(COLUMN)
        factors = linear_factors(read.address)
        distance = factors.get(column, 0)
        if distance in (0, 1) or factors.get(row) != 1:
            continue
        rest = substitute(read.address, {row: 0, column: 0})
        if rest + symbol(ROW) + symbol(COLUMN) * distance != read.address:
            continue
        start = rest + symbol(f"{LOCAL}first") + symbol(f"{LOCAL}left") * distance
        found.append(_Turned(read, distance, start))
    return found
