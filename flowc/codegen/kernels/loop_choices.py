"""A target's parameters of loop nests: how much work a chunk, a block and a tile have.

In: costs and sizes. Out: the choices that loops.py, pointwise.py and tile_loops.py build nests by.
Invariant: any choices give the right results; numbers of one kind of machine stand in its folder.
"""

from __future__ import annotations

from flowc.dataclass import dataclass
from flowc.ir.dims import Dim, floordiv, maximum


def grain_of(enough: Dim, work: Dim) -> Dim:
    """How many steps make a chunk worth a thread, if `enough` do each of which has `work` of a
    unit: -c where one is worth c chunks, as far as that is known when compiling."""
    if isinstance(enough, int) and isinstance(work, int):
        more, less = max(1, enough), max(1, work)
        return more // less if more >= less else -(less // more)
    return maximum(1, floordiv(enough, maximum(1, work)))


@dataclass(frozen=True, slots=True)
class LoopChoices:
    """`chunk_nanoseconds`: work worth handing to another thread. `column_block`: columns whose
    running totals a worker keeps near; `sum_block`: elements added up before their total joins the
    running one. `most_parts`: stretches that one loop is split into, `most_bodies`: copies of the
    body that splits make, `most_nodes`: nodes in all of these. `tile_side`: rows and columns of a
    tile that is transposed in registers, `tile_rows`: rows whose tiles follow each other; fewer
    than `few` rows or columns are not worth tiles. `short`: a loop over fewer elements, unless they
    are a multiple of `whole`, has a rest that matters. `inner_loops`: a step of the shared range
    may walk many elements in loops of its own; else it computes one, or the `block` lanes that
    share memory compute a tile. `tells_places`: a fault says where a wrong index stands, which
    takes registers. `nan_masks`: NaN is looked for beside the largest element of a row, in bits
    where comparisons of vectors give such, else by counting; None: it joins the total. `near`:
    bytes of the first cache that rows may take, up to `most_rows`, which go through stages
    together. `vector_bytes`: of the vectors that LLVM makes of loops; 0 where it makes none."""

    chunk_nanoseconds: int
    column_block: int
    sum_block: int
    most_parts: int
    most_bodies: int
    most_nodes: int
    tile_side: int
    tile_rows: int
    few: int
    short: int
    whole: int
    inner_loops: bool = True
    tells_places: bool = True
    nan_masks: bool | None = None
    block: int = 1
    near: int = 0
    most_rows: int = 1
    vector_bytes: int = 0

    def grain(self, cost: float, inner: Dim = 1) -> Dim:
        """The grain of a range whose steps compute `inner` elements."""
        return grain_of(max(1, int(self.chunk_nanoseconds / cost)), inner)

    def lanes(self, row: Dim, rows: Dim) -> int:
        """How many threads walk a row of that size together, where there are so many rows."""
        return 1

    def parts(self, folded: Dim, kept: Dim, is_row: bool) -> int:
        """How many parts of that many elements are folded to `kept` by threads of their own, before
        one thread folds the parts. `is_row`: the elements are neighbours in memory."""
        return 1

    def neighbours(self, total: Dim, cost: float, size: int) -> int:
        """How many elements of `size` bytes a step computes where it would compute one."""
        return 1

    def rows_together(self, size: Dim) -> int:
        """How many rows, whose stages read and write `size` bytes each, go through one stage before
        the next: a power of two, so that few kernels differ in it alone."""
        if not isinstance(size, int) or size == 0:
            return 1
        return 1 << max(1, min(self.near // size, self.most_rows)).bit_length() - 1

    def is_interleaved(self, compute_bound: bool, count: Dim) -> bool:
        """Whether an innermost loop over `count` elements computes several vectors at a time: not
        where it is so short that its rest, which goes by smaller vectors, matters."""
        long = not isinstance(count, int) or count >= self.short or count % self.whole == 0
        return compute_bound and long
