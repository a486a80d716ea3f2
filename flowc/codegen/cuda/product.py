"""The kernel of a product on a GPU: a block computes a tile of the result, step by step.

In: how the operands are read (`operands.py`), the tile (`tile.py`) and what is done with a result
(`finish.py`). Out: the module of the kernel. For each step of the inner dimension the threads of a
block bring a tile of each operand into shared memory while they multiply the one before. Invariant:
every element of the result is summed in an order that follows from the sizes alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from flowc.codegen.cuda.device_writer import DeviceWriter, memory_type, total_type
from flowc.codegen.cuda.finish import Ending, Finish
from flowc.codegen.cuda.operands import Operand, Share
from flowc.codegen.cuda.tile import ProductTile, TensorTile
from flowc.codegen.llvm.vector_ir import Index
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.ir.scalar import held_dtype

GROUP = 8  # rows of tiles that neighbouring blocks share columns with, which caches then hold

# The ints of every product: entries (of a batch, or groups), their rows, columns and inner sizes;
# how much further an entry's rows and columns begin in the result than those of the one before;
# elements from one row of the result to the next; into how many parts the inner dimension is split,
# how long each is, and elements from the sums of one part to those of the next.
SIZES = (
    "entries", "rows", "columns", "depth", "entry_rows", "entry_columns", "c_stride",
    "parts", "part_depth", "part_step",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tile:
    """What a block has: an entry, where its rows and columns of the result begin, and a part of the
    inner dimension: its number, begin and end."""

    entry: Index
    row: Index
    column: Index
    part: Index
    begin: Index
    end: Index


# Makes the two operands of a block: what stands [rows, inner] and [columns, inner].
Operands = Callable[[DeviceWriter, Tile], tuple[Operand, Operand]]


@dataclass(frozen=True, slots=True)
class ProductSource:
    """What makes a product's kernel. `buffers`, `ints`: the names of its own. `along`: whether
    neighbours in memory are neighbours across, for the left and the right operand; `width`: how
    many of them are read at once; `blocks`: how many a multiprocessor shall hold at least."""

    tile: ProductTile | TensorTile
    dtype: DType
    buffers: tuple[str, ...]
    ints: tuple[str, ...]
    along: tuple[bool, bool]
    width: tuple[int, int]
    blocks: int
    operands: Operands

    def share(self, side: int) -> Share:
        t, kind = self.tile, memory_type(self.dtype)
        across = t.columns if side else t.rows
        most = across * t.depth // t.threads
        width = min(most, self.width[side])
        return Share(across, t.depth, t.threads, self.along[side], kind, self.dtype.size, width)


def product_text(
    made: type[TiledProduct], source: ProductSource, end: Ending, is_split: bool
) -> str:
    """LLVM IR of the kernel, for one part of the inner dimension or several. Its buffers: the
    source's, and the ending's; its ints: SIZES, the source's, the ending's."""
    names = [*source.buffers, *end.buffers], [*SIZES, *source.ints, *end.ints]
    w = DeviceWriter(*names, source.tile.threads)
    finish = Finish(w, end)
    made(w, source, finish, is_split).emit()
    finish.end()
    w.give()
    return w.text(1 if is_split else source.blocks)  # the parts' places take registers


class TiledProduct(ABC):
    """What the threads of a block do, but for the multiplications: `thread_product.py` has those of
    single threads, `tensor_product.py` those of warps. `kind`: what sums are held in; `parts`:
    of a tile's rows, in how many they go through shared memory at the end."""

    parts: int

    def __init__(
        self, w: DeviceWriter, source: ProductSource, finish: Finish, is_split: bool
    ) -> None:
        self.w, self.source, self.finish, self.is_split = w, source, finish, is_split
        self.kind = total_type(source.dtype)
        self.zero = ir.Constant(self.kind, None if isinstance(self.kind, ir.IntType) else 0.0)
        self.thread = w.thread()
        self.tile_bytes = self._begin()
        t = source.tile
        stage = t.rows // self.parts * t.columns * held_dtype(source.dtype).size
        self.memory = w.shared("tiles", max(2 * self.tile_bytes, stage))

    @abstractmethod
    def _begin(self) -> int:
        """Makes the sums, and finds where this thread stands. How many bytes the tiles of both
        operands take."""

    @abstractmethod
    def _keep(self, read: Sequence[Sequence[Any]], offset: Index) -> None:
        """Puts what was read of both operands `offset` bytes into shared memory."""

    @abstractmethod
    def _multiply(self, offset: Index) -> None:
        """Adds the products of the tiles that stand `offset` bytes into shared memory."""

    @abstractmethod
    def _stage(self, part: int) -> None:
        """Writes this thread's sums of a part of the rows to shared memory, row after row."""

    @abstractmethod
    def _row(self, part: Index, staged: Index) -> Index:
        """Which row of the tile stands in a row of a part."""

    def emit(self) -> None:
        tile = self._tile()
        with self.w.when(tile.end.compare(">", tile.begin)):
            self._sum(tile)
        self._store(tile)

    def _tile(self) -> Tile:
        """The tile of this block. Consecutive blocks take the tiles of a group of rows, column by
        column, so that they share what they read."""
        w, t = self.w, self.source.tile
        rows = w.narrow(w.int("rows").ceil_div(t.rows))
        columns = w.narrow(w.int("columns").ceil_div(t.columns))
        block = w.block_number()
        each = rows * columns
        outer = block.divide_unsigned(each)
        rest = block.remainder_unsigned(each)
        entry, part, begin, end = outer, w.number(0), w.number(0), w.int("depth")
        if self.is_split:
            parts = w.narrow(w.int("parts"))
            entry, part = outer.divide_unsigned(parts), w.wide(outer.remainder_unsigned(parts))
            begin = part * w.int("part_depth")
            end = (begin + w.int("part_depth")).least(end)
        in_group = columns * GROUP
        group = rest.divide_unsigned(in_group)
        inside = rest - group * in_group
        first = group * GROUP
        height = (rows - first).least(GROUP)
        row = first + inside.remainder_unsigned(height)
        column = inside.divide_unsigned(height)
        first_row, first_column = w.wide(row) * t.rows, w.wide(column) * t.columns
        return Tile(w.wide(entry), first_row, first_column, part, begin, end)

    def _sum(self, tile: Tile) -> None:
        """Adds up the inner dimension: one barrier a step, as two tiles take turns."""
        w, t = self.w, self.source.tile
        operands = self.source.operands(w, tile)
        begin, end = w.narrow(tile.begin), w.narrow(tile.end)
        self._keep([o.fetch(begin) for o in operands], w.number(0))
        w.barrier()
        turn = w.variable(w.number(0).value)
        with w.steps(end, t.depth, begin) as start:
            offset = Index(w.b, turn.get())
            other = w.number(self.tile_bytes) - offset
            following = [o.fetch(start + t.depth) for o in operands]
            self._multiply(offset)
            self._keep(following, other)
            turn.set(other.value)
            w.barrier()

    def _store(self, tile: Tile) -> None:
        """Through shared memory, a part of the rows at a time, so that neighbouring threads have
        neighbouring columns, and what is done with an element stands in the kernel once."""
        w = self.w
        with w.steps(w.number(self.parts), 1) as part:
            for i in range(self.parts):
                with w.when(part.compare("==", i)):
                    self._stage(i)
            w.barrier()
            self._finish_rows(tile, part)
            w.barrier()

    def _finish_rows(self, tile: Tile, part: Index) -> None:
        w, t = self.w, self.source.tile
        rows, columns = w.int("rows"), w.int("columns")
        begin = tile.entry * w.int("entry_rows"), tile.entry * w.int("entry_columns")
        first_of_part = tile.part * w.int("part_step")
        elements = w.number(t.rows // self.parts * t.columns)
        with w.steps(elements, t.threads, w.wide(self.thread)) as place:
            row = tile.row + self._row(part, place // t.columns)
            column = tile.column + place % t.columns
            with w.when(w.all(row.compare("<", rows), column.compare("<", columns))):
                total = w.read(w.at(self.memory, place, self.kind), self.kind)
                at = begin[0] + row, begin[1] + column
                self.finish.element(*at, total, first_of_part)
