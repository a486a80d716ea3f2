"""The kernel of a product on a GPU: a block computes a tile of the result, step by step.

In: how the operands are read (`operands.py`), the tile (`tile.py`) and what is done with a result
(`finish.py`). Out: the module of the kernel. For each step of the inner dimension the threads of a
block bring a tile of each operand into shared memory while they multiply the one before. Invariant:
every element of the result is one chain of multiply-adds in the order of the inner dimension,
whichever tile computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from flowc.codegen.cuda.device_writer import DeviceWriter, memory_type, total_type
from flowc.codegen.cuda.finish import Ending, Finish
from flowc.codegen.cuda.operands import Operand, Share
from flowc.codegen.cuda.tile import ProductTile
from flowc.codegen.llvm.vector_ir import Index
from flowc.dtypes import DType

PAD = 4  # elements by which rows of a tile in shared memory are longer: they start in other banks
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
    many of them are read at once."""

    tile: ProductTile
    dtype: DType
    buffers: tuple[str, ...]
    ints: tuple[str, ...]
    along: tuple[bool, bool]
    width: tuple[int, int]
    operands: Operands

    def share(self, side: int) -> Share:
        t, kind = self.tile, memory_type(self.dtype)
        across = t.columns if side else t.rows
        most = across * t.depth // t.threads
        width = min(most, self.width[side])
        return Share(across, t.depth, t.threads, self.along[side], kind, self.dtype.size, width)


def product_text(source: ProductSource, end: Ending, is_split: bool) -> str:
    """LLVM IR of the kernel, for one part of the inner dimension or several. Its buffers: the
    source's, and the ending's; its ints: SIZES, the source's, the ending's."""
    names = [*source.buffers, *end.buffers], [*SIZES, *source.ints, *end.ints]
    w = DeviceWriter(*names, source.tile.threads)
    finish = Finish(w, end)
    _SimtProduct(w, source, finish, is_split).emit()
    finish.end()
    w.give()
    return str(w.module)


class _SimtProduct:
    """A product by the multiply-adds of single threads."""

    def __init__(
        self, w: DeviceWriter, source: ProductSource, finish: Finish, is_split: bool
    ) -> None:
        self.w, self.source, self.finish, self.is_split = w, source, finish, is_split
        self.t = t = source.tile
        self.kind = total_type(source.dtype)
        self.bits = source.dtype.size * 8 if self.kind == memory_type(source.dtype) else 32
        self.size = self.bits // 8
        self.left_step, self.right_step = t.rows + PAD, t.columns + PAD
        self.left_bytes = t.depth * self.left_step * self.size
        self.tile_bytes = self.left_bytes + t.depth * self.right_step * self.size
        stage = (t.rows // t.row_parts) * t.columns * self.size
        self.memory = w.shared("tiles", max(2 * self.tile_bytes, stage))

    def emit(self) -> None:
        w, t = self.w, self.t
        self.thread = w.thread()
        across = t.columns // t.thread_columns
        self.thread_row = w.wide(self.thread // across)
        self.thread_column = w.wide(self.thread % across)
        zero = ir.Constant(self.kind, None if isinstance(self.kind, ir.IntType) else 0.0)
        self.totals = [
            [w.variable(zero) for _ in range(t.thread_columns)] for _ in range(t.thread_rows)
        ]
        tile = self._tile()
        with w.when(tile.end.compare(">", tile.begin)):
            self._sum(tile)
        self._store(tile)

    def _tile(self) -> Tile:
        """Blocks that follow one another take the rows of a group, column by column."""
        w, t = self.w, self.t
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
        w, t = self.w, self.t
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

    def _keep(self, read: Sequence[Sequence[Any]], offset: Index) -> None:
        """Puts what was read where the block finds it, `offset` bytes into shared memory."""
        w, before = self.w, 0
        for side, step in enumerate((self.left_step, self.right_step)):
            base = w.at(self.memory, offset + before, ir.IntType(8))
            share = self.source.share(side)
            for (across, inner), vector in zip(share.places(w), read[side], strict=True):
                elements = [w.held(x, self.source.dtype) for x in w.lanes(vector)]
                apart = 1 if share.along else step
                for i, element in enumerate(elements):
                    place = w.wide(inner * step + across) + i * apart
                    w.b.store(element, w.at(base, place, self.kind))
            before = self.left_bytes

    def _multiply(self, offset: Index) -> None:
        """One step of the tile at `offset`: each thread the products of its rows and columns."""
        w, t = self.w, self.t
        left = w.at(self.memory, offset, ir.IntType(8))
        right = w.at(left, w.number(self.left_bytes), ir.IntType(8))
        left = w.at(left, self.thread_row * t.row_lanes, self.kind)
        right = w.at(right, self.thread_column * t.column_lanes, self.kind)
        for inner in range(t.depth):
            first = inner * self.left_step, inner * self.right_step
            rows = self._elements(left, first[0], t.rows, t.row_parts, t.row_lanes)
            columns = self._elements(right, first[1], t.columns, t.column_parts, t.column_lanes)
            for i, x in enumerate(rows):
                for j, y in enumerate(columns):
                    total = self.totals[i][j]
                    total.set(w.multiply_add(x, y, total.get()))

    def _elements(self, base: Any, first: int, size: int, parts: int, lanes: int) -> list[Any]:
        """A thread's rows or columns of one step: `parts` of as many neighbours as a vector has."""
        w, found = self.w, list[Any]()
        for part in range(parts):
            pointer = w.at(base, w.number(first + part * (size // parts)), self.kind)
            kind = self.kind if lanes == 1 else ir.VectorType(self.kind, lanes)
            found += w.lanes(w.read(pointer, kind, lanes * self.size))
        return found

    def _store(self, tile: Tile) -> None:
        """Through shared memory, a part of the rows at a time, so that neighbouring threads have
        neighbouring columns, and what is done with an element stands in the kernel once."""
        w, t = self.w, self.t
        height = t.rows // t.row_parts
        with w.steps(w.number(t.row_parts), 1) as part:
            for i in range(t.row_parts):
                with w.when(part.compare("==", i)):
                    self._stage(i)
            w.barrier()
            self._finish_rows(tile, tile.row + part * height, height)
            w.barrier()

    def _stage(self, part: int) -> None:
        """Writes a part of this thread's sums to shared memory."""
        w, t = self.w, self.t
        for i in range(t.row_lanes):
            row = self.thread_row * t.row_lanes + i
            for j in range(t.thread_columns):
                apart = (j // t.column_lanes) * (t.columns // t.column_parts)
                column = self.thread_column * t.column_lanes + apart
                place = row * t.columns + column + j % t.column_lanes
                value = self.totals[part * t.row_lanes + i][j].get()
                w.b.store(value, w.at(self.memory, place, self.kind))

    def _finish_rows(self, tile: Tile, first: Index, height: int) -> None:
        w, t = self.w, self.t
        rows, columns = w.int("rows"), w.int("columns")
        begin = tile.entry * w.int("entry_rows"), tile.entry * w.int("entry_columns")
        first_of_part = tile.part * w.int("part_step")
        with w.steps(w.number(height * t.columns), t.threads, w.wide(self.thread)) as place:
            row, column = first + place // t.columns, tile.column + place % t.columns
            with w.when(w.all(row.compare("<", rows), column.compare("<", columns))):
                total = w.read(w.at(self.memory, place, self.kind), self.kind)
                at = begin[0] + row, begin[1] + column
                self.finish.element(*at, total, first_of_part)
