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
    minus,
    plus,
    times,
)
from flowc.codegen.kernels.cluster import ClusterLowering, Read
from flowc.codegen.kernels.nest import Address, Carve, Index, IndexSum
from flowc.ir.dims import Dim, Expr, Symbol, substitute, symbol

SIDE = 16  # rows and columns of a tile
BLOCK = 64  # rows whose tiles follow each other, for the sake of the pages that they read
ROW, COLUMN = f"{LOCAL}row", f"{LOCAL}column"

Store = Callable[[ClusterLowering, Dim, Dim], None]


@dataclass(frozen=True, slots=True)
class _Turned:
    """A read that steps over rows by `distance`: in a tile it starts at `start`."""

    read: Read
    distance: Dim
    start: Dim


def tile_loops(
    c: ClusterLowering, probe: ClusterLowering, block: str, rows: Dim, columns: Dim, store: Store
) -> Dim:
    """Walks block number `block` of the rows, all columns; returns the bytes of scratch it uses.
    `probe` is another lowering of the same body, which finds the reads."""
    nest = c.nest
    row, column = symbol(ROW, rows), symbol(COLUMN, columns)
    store(probe, row, column)
    turned = _turned_reads(probe.reads)
    nest.named("top", times(block, BLOCK))
    _stop(c, "bottom", "top", BLOCK, nest.size(rows))
    scratch = 0
    for i, turn in enumerate(turned):
        nest.body.append(Carve(f"tile{i}", turn.read.dtype, int_number(scratch)))
        scratch += SIDE * SIDE * turn.read.dtype.size
    with nest.loop("left", int_number(0), nest.size(columns), SIDE):
        _stop(c, "right", "left", SIDE, nest.size(columns))
        with nest.loop("first", int_name("top"), int_name("bottom"), SIDE):
            _stop(c, "stop", "first", SIDE, int_name("bottom"))
            if not turned:
                _plain(c, store, row, column)
                return 0
            wide = compare("eq", minus("right", "left"), int_number(SIDE))
            with nest.when(both(wide, compare("eq", minus("stop", "first"), int_number(SIDE)))):
                _whole_tile(c, turned, store, row, column)
            with nest.otherwise():
                _plain(c, store, row, column)
    return scratch


def _stop(c: ClusterLowering, stop: str, first: str, count: int, limit: Index) -> None:
    end = c.nest.declare(stop, plus(first, count))
    c.nest.assign(stop, int_op("smaller", end, limit))


def _plain(c: ClusterLowering, store: Store, row: Dim, column: Dim) -> None:
    rows = c.nest.loop("row", int_name("first"), int_name("stop"))
    with rows, c.nest.loop("column", int_name("left"), int_name("right")):
        store(c, row, column)


def _whole_tile(
    c: ClusterLowering, turned: Sequence[_Turned], store: Store, row: Dim, column: Dim
) -> None:
    nest = c.nest
    for i, turn in enumerate(turned):
        start = Address(turn.read.name, nest.index(turn.start))
        nest.invoke("turn_tile", start, nest.size(turn.distance), Address(f"tile{i}"))
        c.buffered[turn.read] = f"tile{i}", IndexSum(((SIDE, ("r",)), (1, ("q",))))
    with nest.loop("r", int_number(0), int_number(SIDE)):
        nest.named("row", _sum("first", "r"))
        with nest.loop("q", int_number(0), int_number(SIDE)):
            nest.named("column", _sum("left", "q"))
            store(c, row, column)
    c.buffered.clear()


def _sum(a: str, b: str) -> IndexSum:
    return IndexSum(((1, (a,)), (1, (b,))))


def _turned_reads(reads: Sequence[Read]) -> list[_Turned]:
    """The reads whose address is `column*distance + row + what neither is in`."""
    found = []
    for read in dict.fromkeys(reads):
        if read.dtype.is_complex:
            continue
        distance = _factor(read.address, COLUMN)
        if distance in (0, 1) or _factor(read.address, ROW) != 1:
            continue
        rest = substitute(read.address, {ROW: 0, COLUMN: 0})
        if rest + symbol(ROW) + symbol(COLUMN) * distance != read.address:
            continue
        start = rest + symbol(f"{LOCAL}first") + symbol(f"{LOCAL}left") * distance
        found.append(_Turned(read, distance, start))
    return found


def _factor(address: Dim, name: str) -> Dim:
    """What a symbol is multiplied with in a polynomial."""
    total: Dim = 0
    if isinstance(address, Expr):
        for monomial, coefficient in address.terms:
            own = [a for a in monomial if isinstance(a, Symbol) and a.name == name]
            if len(own) == 1:
                factor: Dim = coefficient
                for atom in monomial:
                    if atom is not own[0]:
                        factor = factor * Expr((((atom,), 1),))
                total = total + factor
    return total
