"""What every generated contraction kernel has in common.

In: the pieces of one contraction (how a block of its left operand is gathered, what follows a
finished block). Out: a `ContractionSource`: the text of one Python function that Numba compiles in
nopython mode, with its arguments, the globals it calls, and how much scratch and how many tasks it
takes.

A kernel walks tasks `begin <= task < end`. A task is a block of rows x the columns of one panel (of
one batch entry or group), or one of the `parts` of its rows, owned by that task alone and summed
over the whole inner dimension in one fixed order, so results do not depend on how tasks are shared
out. Neighbours mostly have the same rows: those that a worker has are one block, of up to
`shape.block_columns`. Parts are for products of few panels and few rows, whose tasks would be too
few to be shared out evenly: who has all parts of a panel has one block as before. Per block of the
inner dimension the kernel gathers rows of A into `scratch` (row-major, `shape.row_stride` apart)
and runs the register tile over the packed panels of B. When a block of C is finished, and still in
cache, the epilogue's lines run over it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any, Protocol

from flowc.codegen.cpu.block_copy import copy_rows_routine
from flowc.codegen.cpu.block_product import conv_block_routine, gemm_block_routine
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.llvm.vector_ir import Routine, advance, ceil_div, least
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.ir.dims import Dim, evaluate, symbols_of
from flowc.ir.text.dim_parsing import parse_dim

WANTED_TASKS = 64  # of a kernel: so many are shared evenly by as many as 16 threads


@dataclass(frozen=True, slots=True)
class Argument:
    """A kernel argument: a pointer to elements of `type` (`"bytes"` for scratch), or an index."""

    name: str
    type: DType | str = "index"

    @property
    def is_pointer(self) -> bool:
        return self.type != "index"


@dataclass(frozen=True, slots=True)
class RowCut:
    """How a kernel with few tasks makes more: `rows` (an expression, as `tasks` is) form blocks of
    at most `block_rows`, and a block may be cut into parts of a multiple of `part_rows`. Each part
    reads the right operand again, so a kernel that has `enough` tasks cuts none.
    """

    rows: str
    block_rows: int
    part_rows: int
    enough: int = WANTED_TASKS


@dataclass(frozen=True, slots=True)
class ContractionSource:
    """One kernel as text.

    `arguments` are in order: pointers, indices, `begin, end`. `symbols` are the globals that the
    text calls. `tasks` (an expression over the index arguments, of `+ - * //`, `min` and `max`) is
    the end of the whole parallel range. `scratch_bytes` is what each worker must have at
    `scratch`, 64-byte aligned; its contents need no initial value. `cut`: how blocks of rows may be
    cut into more tasks, where `parts` is an argument. `bound`: arguments before these that a kernel
    fixes, by name.
    """

    name: str
    text: str
    arguments: tuple[Argument, ...]
    tasks: str
    scratch_bytes: int
    symbols: dict[str, Any] = field(compare=False)
    cut: RowCut | None = None
    bound: dict[str, Routine | int | None] = field(default_factory=dict)

    @property
    def kernel(self) -> Kernel:
        buffers = tuple(a.type for a in self.arguments if a.is_pointer)
        ints = len(self.arguments) - len(buffers) - 2
        bound = (x.code if isinstance(x, Routine) else x for x in self.bound.values())
        return Kernel(
            self.text,
            buffers,
            ints,
            globals=self.symbols,
            entry=self.name,
            as_written=True,
            bound=tuple(bound),
        )


def parts_of_blocks(source: ContractionSource, sizes: Mapping[str, Dim]) -> int:
    """What `parts` is best for these sizes: 1, unless there would be few tasks. Sizes that only the
    run knows count as 1; any number of parts gives the right result."""
    cut = source.cut
    if cut is None:
        return 1
    rows, tasks = (
        _least(parse_dim(text, {**sizes, "parts": 1})) for text in (cut.rows, source.tasks)
    )
    if rows <= 0 or tasks >= cut.enough:
        return 1
    blocks = -(-rows // cut.block_rows)
    units = -(-rows // (blocks * cut.part_rows))
    return -(-units // max(1, units * tasks // WANTED_TASKS))


def _least(size: Dim) -> int:
    return evaluate(size, dict.fromkeys(symbols_of(size), 1))


@dataclass(frozen=True, slots=True)
class Piece:
    """Columns of A that stand in one place: expressions of a kernel's text. `first` is the first of
    them among those of all of A, `depth` how many there are, `stride` from one row to the next."""

    pointer: str
    first: str
    depth: str
    stride: str


@dataclass(frozen=True, slots=True)
class LeftOperand:
    """The arguments for A[m, k], which is one array or `count` of them side by side.

    One: `a` and `a_stride` (elements from one stored row to the next). Several: `a0 a1 ...`, each
    with its columns `k0 k1 ...`, which add up to k and are what is from one row to the next.
    """

    count: int = 1

    @property
    def pointers(self) -> str:
        return " ".join(piece.pointer for piece in self.parts)

    @property
    def sizes(self) -> list[str]:
        return [piece.stride for piece in self.parts]

    @property
    def parts(self) -> list[Piece]:
        if self.count == 1:
            return [Piece("a", "0", "k", "a_stride")]
        sizes = [f"k{i}" for i in range(self.count)]
        return [
            Piece(f"a{i}", " + ".join(sizes[:i]) or "0", size, size) for i, size in enumerate(sizes)
        ]


class EpilogueLines(Protocol):
    """Writes the lines that finish a block of C in place.

    `indent` is the number of spaces each line must start with. `rows` and `columns` are pairs of
    expressions, begin and end: a row is a matrix row, counted over all batch entries, or a flat
    output pixel; an element is at row * stride + column of the kernel's result. Ranges may be
    empty, and together they cover every element once.
    """

    def __call__(
        self, indent: int, rows: tuple[str, str], columns: tuple[str, str]
    ) -> Sequence[str]: ...


def no_epilogue(indent: int, rows: tuple[str, str], columns: tuple[str, str]) -> Sequence[str]:
    return ()


def indented(text: str, indent: int) -> str:
    return textwrap.indent(textwrap.dedent(text).strip("\n"), " " * indent)


def per_axis(axes: str, *names: str) -> list[str]:
    return [f"{name}_{axis}" for name in names for axis in axes]


def parts(total: str, size: int) -> str:
    """How many blocks of `size` hold `total`, in the language of `ContractionSource.tasks`."""
    return f"(({total} + {size - 1}) // {size})"


def block_count(shape: TileShape, rows: str, of_block: int = 0, tile_rows: int = 1) -> str:
    """How many tasks `block_bounds` makes of `rows` x `n`."""
    whole = f"max({rows} // {tile_rows} * {tile_rows}, min({rows}, {tile_rows}))"
    whole = rows if tile_rows == 1 else whole
    return f"{parts(whole, of_block or shape.block_rows)} * {parts('n', shape.columns)} * parts"


def row_cut(shape: TileShape, rows: str) -> RowCut:
    """How the blocks of `block_bounds` are cut into parts."""
    return RowCut(rows, shape.block_rows, shape.rows)


def arguments_of(
    shape: TileShape, pointers: str, indices: Sequence[str], extra: Sequence[Argument]
) -> tuple[Argument, ...]:
    """All arguments in order; of the pointers, the one named `scratch` is to bytes."""
    return (
        *(Argument(p, "bytes" if p == "scratch" else shape.dtype) for p in pointers.split()),
        *(a for a in extra if a.is_pointer),
        *(Argument(name) for name in indices),
        *(a for a in extra if not a.is_pointer),
        Argument("begin"),
        Argument("end"),
    )


def block_pointer(shape: TileShape) -> str:
    """The line that makes `blocks`, where rows are gathered, of the scratch bytes."""
    return f"blocks = as_{shape.dtype}_pointer(scratch)"


def function_text(
    name: str, arguments: Sequence[Argument], *bodies: str, bound: Iterable[str] = ()
) -> str:
    """`def name(bound, arguments):` over bodies that are already indented by 4."""
    head = textwrap.fill(
        f"def {name}({', '.join([*bound, *(a.name for a in arguments)])}):",
        96,
        subsequent_indent=" " * 8,
        break_long_words=False,
    )
    return "\n".join([head, *(body for body in bodies if body)]) + "\n"


def block_bounds(
    shape: TileShape, of_block: int | str = 0, tile_rows: str = "", panel_columns: str = ""
) -> str:
    """Lines that share out `m` rows evenly over row blocks, by default of as many rows as have room
    where they are gathered, and each over its parts, and count the panels of `n`. With `tile_rows`
    blocks are of whole tiles: the rows that are left belong to the last block, whatever its room.
    """
    rows = tile_rows or shape.rows
    whole = f"idiv(m, {tile_rows}) * {tile_rows}" if tile_rows else "m"
    return f"""
        whole = {whole}
        if whole == 0:
            whole = m
        row_blocks = ceil_div(whole, {of_block or shape.block_rows})
        per_block = ceil_div(ceil_div(whole, row_blocks), {rows}) * {rows}
        per_part = ceil_div(ceil_div(per_block, parts), {rows}) * {rows}
        panel_count = ceil_div(n, {panel_columns or shape.columns})
        """


def counts_of_rows(
    rows: int, of_block: int, unit: int, parts: int, tile_rows: int
) -> dict[int, int]:
    """How many rows the pieces have that `each_block` makes of so many, and how often there are
    such: whole blocks, and any number of parts that follow each other. `unit`: what parts are
    multiples of."""
    whole = rows // tile_rows * tile_rows or rows
    up = lambda count: -(-count // unit) * unit
    blocks = max(1, -(-whole // of_block))
    per_block = up(-(-whole // blocks))
    per_part = up(-(-per_block // parts))
    end = lambda row: rows if row >= whole else row
    found: dict[int, int] = {}
    for number, times in ((0, blocks - 1), (blocks - 1, 1)):
        first, stop = number * per_block, (number + 1) * per_block
        begins = [first + part * per_part for part in range(parts)]
        pieces = [(first, stop)] + [
            (begin, min(begin + count * per_part, stop))
            for part, begin in enumerate(begins)
            for count in range(1, parts - part + 1)
        ]
        for begin, after in pieces if times else ():
            count = max(0, end(after) - end(begin))
            found[count] = found.get(count, 0) + times
    return found


def each_block(
    shape: TileShape, outer: str, *lines: str, panel_columns: str = "", block_panels: str = ""
) -> str:
    """The loop over the blocks of tasks `begin .. end`: `lines` for each, where `outer` (batch
    entry, group...) and `row_begin .. column_end` say which it is.

    Consecutive tasks go over the parts of a panel, over the panels of a block of columns, then down
    its rows: these panels stay in the caches. Parts behind the last row of a block, of more parts
    than it has tiles, are empty.
    """
    columns = panel_columns or shape.columns
    most = block_panels or shape.block_columns // shape.columns
    head = f"""
        task = begin
        while task < end:
            {outer} = idiv(task, row_blocks * panel_count * parts)
            place = task - {outer} * (row_blocks * panel_count * parts)
            first_panel = idiv(place, row_blocks * {most} * parts) * {most}
            place = place - row_blocks * first_panel * parts
            width = least(panel_count - first_panel, {most})
            row_block = idiv(place, width * parts)
            place = place - row_block * (width * parts)
            panel = idiv(place, parts)
            part = place - panel * parts
            count = least(width * parts - place, end - task)
            panels_done = idiv(count, parts)
            if part > 0 or panels_done == 0:
                panels_done = 1
                count = least(count, parts - part)
                rows_done = count * per_part
            else:
                count = panels_done * parts
                rows_done = per_block
            task += count
            row_begin = row_block * per_block + part * per_part
            row_end = least(row_begin + rows_done, (row_block + 1) * per_block)
            if row_begin >= whole:
                row_begin = m
            if row_end >= whole:
                row_end = m
            column_begin = (first_panel + panel) * {columns}
            column_end = least(column_begin + panels_done * {columns}, n)
            row_begin = least(row_begin, row_end)
        """
    return "\n".join([indented(head, 4), *(indented(text, 8) for text in lines if text)])


@lru_cache(maxsize=64)
def block_symbols(
    shape: TileShape, rank: int, transpose_a: bool, pieces: int = 1
) -> dict[str, Any]:
    """The globals of contraction kernels: the same objects for the same structure. Those that

    differ between tiles are named for the tile, so that equal texts have equal meanings.
    """
    return {
        "advance": advance,
        "least": least,
        "ceil_div": ceil_div,
        gemm_block_name(shape, pieces): gemm_block_routine(shape, transpose_a, pieces).function,
        block_name("conv_block", shape): conv_block_routine(shape, rank).function,
        "copy_rows": copy_rows_routine(shape).function,
    }


def block_name(name: str, shape: TileShape) -> str:
    return f"{name}_{shape.rows}x{shape.columns}"


def gemm_block_name(shape: TileShape, pieces: int) -> str:
    return block_name("gemm_block" if pieces == 1 else f"gemm_block{pieces}", shape)
