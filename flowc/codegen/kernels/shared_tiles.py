"""Tiles that the threads of a block transpose together, where a cluster reads down the columns of
an input while it writes rows.

In: the rows and columns of such a space, and a function that stores one element. Out: the loops of
the lanes over one tile. First they copy it, neighbours of the input by neighbouring lanes, then
they compute its elements, neighbours of the result by neighbouring lanes. Invariant: all lanes of a
block pass the same barriers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flowc.codegen.kernels.builder import (
    both,
    compare,
    int_name,
    int_number,
    int_op,
    int_sum,
)
from flowc.codegen.kernels.cluster import ClusterLowering
from flowc.codegen.kernels.nest import Carve, Load
from flowc.codegen.kernels.tile_loops import COLUMN, ROW, StoreElement, transposed_reads
from flowc.ir.dims import Dim, symbol

SIDE = 32
PITCH = SIDE + 1  # of rows in shared memory, so that columns are in different banks


def shared_tile(
    c: ClusterLowering,
    probe: ClusterLowering,
    names: tuple[str, str],
    rows: Dim,
    columns: Dim,
    store: StoreElement,
    lanes: int,
) -> int:
    """The tile of the numbers that two `names` have, among rows and columns; returns the bytes of
    scratch that the lanes share. `probe` is another lowering of the same body, which finds the
    reads."""
    nest = c.nest
    row, column = symbol(ROW, rows), symbol(COLUMN, columns)
    probe.nest.counter = nest.counter  # what it makes has not the names of indices around
    store(probe, row, column)
    transposed = transposed_reads(probe)
    nest.named("top", int_sum((SIDE, names[0])))
    nest.named("left", int_sum((SIDE, names[1])))
    above = nest.named("above", int_op("idiv", int_name("lane"), int_number(SIDE)))
    nest.named("beside", int_op("rest", int_name("lane"), above, int_number(SIDE)))
    size = 0
    for i, found in enumerate(transposed):
        nest.body.append(Carve(f"tile{i}", found.read.dtype, int_number(size)))
        size += -(-SIDE * PITCH * found.read.dtype.size // 64) * 64

    @contextmanager
    def elements(down: str, along: str) -> Iterator[None]:
        """Those of one lane; `row` and `column` are known inside."""
        with nest.loop("k", int_number(0), int_number(SIDE * SIDE // lanes)):
            nest.named("far", int_sum("above", (lanes // SIDE, "k")))
            in_row = nest.named("row", int_sum("top", down))
            in_column = nest.named("column", int_sum("left", along))
            inside = (
                compare("lt", in_row, nest.size(rows)),
                compare("lt", in_column, nest.size(columns)),
            )
            with nest.when(both(*inside)):
                yield

    if transposed:
        with elements("beside", "far"):
            for i, found in enumerate(transposed):
                read = found.read
                x = nest.let(Load(read.name, nest.index(read.address), read.dtype))
                nest.store(f"tile{i}", int_sum((PITCH, "far"), "beside"), x)
        nest.invoke("barrier")
    for i, found in enumerate(transposed):
        c.buffered[found.read] = f"tile{i}", int_sum((PITCH, "beside"), "far")
    with elements("far", "beside"):
        store(c, row, column)
    c.buffered.clear()
    if transposed:
        nest.invoke("barrier")
    return size
