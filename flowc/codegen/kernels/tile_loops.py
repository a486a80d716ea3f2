"""Loops over tiles, where a cluster reads down the columns of an input while it writes rows.

In: the rows and columns of such a space and a function that stores one element. Out: lines that
walk it tile by tile. In whole tiles, such reads come from a buffer into which vector instructions
turned the tile; at the edges they go to memory element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flowc import dtypes
from flowc.codegen.kernels.cluster import ClusterLowering, Load
from flowc.codegen.kernels.source_writer import LOCAL
from flowc.dtypes import DType
from flowc.ir.dims import Dim, Expr, Symbol, substitute, symbol

SIDE = 16  # rows and columns of a tile
BLOCK = 64  # rows whose tiles follow each other, for the sake of the pages that they read
ROW, COLUMN = f"{LOCAL}row", f"{LOCAL}column"

Store = Callable[[ClusterLowering, Dim, Dim], None]


@dataclass(frozen=True, slots=True)
class _Turned:
    """A read that steps over rows by `distance`: in a tile it starts at `start`."""

    load: Load
    distance: Dim
    start: Dim


def tile_loops(
    c: ClusterLowering, probe: ClusterLowering, block: str, rows: Dim, columns: Dim, store: Store
) -> Dim:
    """Walks block number `block` of the rows, all columns; returns the bytes of scratch it uses.
    `probe` is another lowering of the same body, which finds the reads."""
    w = c.writer
    row, column = symbol(ROW, rows), symbol(COLUMN, columns)
    with probe.writer.block("for row in range(1):"):
        store(probe, row, column)
    turned = _turned_reads(probe.loads)
    w.line(f"top = {block} * {BLOCK}")
    _stop(c, "bottom", "top", BLOCK, rows)
    scratch = 0
    for number, read in enumerate(turned):
        kind = _carrier(read.load.dtype)
        w.line(f"tile{number} = as_{kind}_pointer(offset(scratch, {scratch}))")
        scratch += SIDE * SIDE * read.load.dtype.size
    with w.block(f"for left in range(0, {w.size(columns)}, {SIDE}):"):
        _stop(c, "right", "left", SIDE, columns)
        with w.block(f"for first in range(top, bottom, {SIDE}):"):
            _stop(c, "stop", "first", SIDE, rows, "bottom")
            if not turned:
                _plain(c, store, row, column)
                return 0
            with w.block(f"if (right - left == {SIDE}) & (stop - first == {SIDE}):"):
                _whole_tile(c, turned, store, row, column)
            with w.block("else:"):
                _plain(c, store, row, column)
    return scratch


def _carrier(dtype: DType) -> str:
    """The type of a buffer's elements, as memory holds them."""
    carriers = {dtypes.f16: "i16", dtypes.bf16: "i16", dtypes.bool_: "u8"}
    return carriers.get(dtype, str(dtype))


def _stop(
    c: ClusterLowering, stop: str, first: str, count: int, extent: Dim, limit: str = ""
) -> None:
    w = c.writer
    limit = limit or w.size(extent)
    w.line(f"{stop} = {first} + {count}")
    w.line(f"{stop} = {stop} if {stop} < {limit} else {limit}")


def _plain(c: ClusterLowering, store: Store, row: Dim, column: Dim) -> None:
    w = c.writer
    with w.block("for row in range(first, stop):"), w.block("for column in range(left, right):"):
        store(c, row, column)


def _whole_tile(
    c: ClusterLowering, turned: Sequence[_Turned], store: Store, row: Dim, column: Dim
) -> None:
    w = c.writer
    for number, read in enumerate(turned):
        start = w.index(read.start)
        distance = w.size(read.distance)
        name = read.load.name
        w.line(f"turn_tile(offset({name}, {start}), {distance}, tile{number})")
        c.buffered[read.load] = f"tile{number}[r*{SIDE} + q]"
    with w.block(f"for r in range({SIDE}):"):
        w.line("row = first + r")
        with w.block(f"for q in range({SIDE}):"):
            w.line("column = left + q")
            store(c, row, column)
    c.buffered.clear()


def _turned_reads(loads: Sequence[Load]) -> list[_Turned]:
    """The reads whose address is `column*distance + row + what neither is in`."""
    found = []
    for load in dict.fromkeys(loads):
        if load.dtype.is_complex:
            continue
        distance = _factor(load.address, COLUMN)
        if distance in (0, 1) or _factor(load.address, ROW) != 1:
            continue
        rest = substitute(load.address, {ROW: 0, COLUMN: 0})
        if rest + symbol(ROW) + symbol(COLUMN) * distance != load.address:
            continue
        start = rest + symbol(f"{LOCAL}first") + symbol(f"{LOCAL}left") * distance
        found.append(_Turned(load, distance, start))
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
