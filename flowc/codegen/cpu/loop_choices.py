"""What a loop nest looks like on a CPU: how much work a chunk, a block and a tile have.

In: costs and sizes. Out: the choices that loops.py, pointwise.py, tile_loops.py and contractions.py
build nests by. Invariant: numbers of the caches, of vectors and of threads stand here alone; they
hold for every CPU that there is a target for, so that equal nests serve all of them.
"""

from __future__ import annotations

from flowc.ir.dims import Dim, floordiv, maximum

CHUNK_NANOSECONDS = 40_000  # work worth handing to another thread
MULTIPLICATIONS = 25  # a core does about so many a nanosecond, each with its addition

COLUMN_BLOCK = 1024  # columns whose running totals a worker keeps near
SUM_BLOCK = 1024  # elements added up before their total joins the running one

MOST_PARTS = 32  # stretches that one loop is split into
MOST_BODIES = 48  # copies of the body that splits make
MOST_NODES = 400  # nodes in all copies of the body

TILE_SIDE = 16  # rows and columns of a tile that is turned in registers
TILE_ROWS = 64  # rows whose tiles follow each other, for the sake of the pages that they read
FEW = TILE_SIDE // 2  # rows or columns that are not worth tiles

SHORT = 512  # elements of a loop whose rest matters, unless they are a multiple of WHOLE
WHOLE = 64


def grain(cost: float, inner: Dim = 1) -> Dim:
    """How many steps of the shared range make a chunk worth a thread."""
    steps = max(1, int(CHUNK_NANOSECONDS / cost))
    if isinstance(inner, int):
        return max(1, steps // max(1, inner))
    return maximum(1, floordiv(steps, maximum(1, inner)))


def is_interleaved(compute_bound: bool, count: Dim) -> bool:
    """Whether an innermost loop over `count` elements computes several vectors at a time: not where
    it is so short that its rest, which goes by smaller vectors, matters."""
    return compute_bound and (not isinstance(count, int) or count >= SHORT or count % WHOLE == 0)
