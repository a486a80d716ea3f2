"""Matrix products vectorised along M: vectors hold rows of C, and elements of B are broadcast.

In: a `TileShape`. Out: a routine and kernel source for C = A x B, where enough rows of A are known
to fill vectors. B is packed as `pack_gemm_b` does it, in panels of `panel_columns` columns.

Tiles whose vectors hold columns fetch a panel of B in one burst and go over it once for every few
rows; here B is read once for all rows of a task, at an even pace, each element for two vectors of
multiply-adds. A is transposed once a call. The tiles compute the transpose of C, several panels of
which are transposed back while they are in cache.

Invariant: every element of C is one chain of multiply-adds for each `shape.depth` steps of the
inner dimension, added in their order: longer chains round worse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from llvmlite import ir

from flowc.codegen.cpu.block_copy import transpose_routine, zero_run_routine
from flowc.codegen.cpu.blocked import (
    Argument,
    ContractionSource,
    EpilogueLines,
    LeftOperand,
    arguments_of,
    function_text,
    indented,
    no_epilogue,
    parts,
)
from flowc.codegen.cpu.tile_shape import AHEAD_BYTES, TileShape
from flowc.codegen.cpu.tile_sums import Operands, sums_routine
from flowc.codegen.cpu.tiles import emit_by_size, least_size
from flowc.codegen.llvm.vector_ir import (
    Index,
    Routine,
    Values,
    advance,
    ceil_div,
    counted_loop,
    indices,
    least,
    offset,
)
from flowc.ir.dims import Dim
from flowc_runtime.native.writer import i64

SIDE = 16  # columns of a block are a multiple of it, so that all of C is transposed by vectors
COLUMNS = 120  # of one block, at most
WIDTHS = (8, 4)  # of lower tiles, for the columns that are left behind the last whole panel
TOGETHER = 4  # blocks that are finished at once: of columns in whole unrolled vectors
FILLED = 15 / 16  # of the rows of all blocks are rows of A, at least
SHALLOW, DEPTH = 128, 4096  # the inner dimension: below, transposing costs more; all of it is
CACHED_BYTES = 16 << 20  # of B that are read more than once, at most
NEAR_BYTES = 768 << 10  # of B: two of them stay in a second-level cache, and transposing costs more
IN_PLACE_BYTES = 8 << 20  # of B that several blocks read: wide tiles over A in place are faster


def panel_columns(shape: TileShape) -> int:
    """Columns of a panel of B: as many as have their sums in registers."""
    return shape.rows


def block_rows(shape: TileShape) -> int:
    """Rows of a block."""
    return 2 * shape.lanes


def is_m_vectorized(shape: TileShape, m: Dim, n: Dim, k: Dim, *, in_place: bool = False) -> bool:
    """Whether to vectorise a product along M: its rows are known to fill vectors, and B, read
    once for every `block_rows`, is neither near nor fetched from memory each time. `in_place`:
    whether A may be read where it is, which is faster if B is near, also of few columns."""
    if not (isinstance(m, int) and isinstance(n, int) and isinstance(k, int)):
        return False
    blocks = -(-m // block_rows(shape))
    if shape.lanes == 1 or m < FILLED * blocks * block_rows(shape) or not SHALLOW <= k <= DEPTH:
        return False
    size = n * k * shape.dtype.size
    near = IN_PLACE_BYTES if in_place and blocks > 1 else NEAR_BYTES
    if size <= near and (in_place or n >= 2 * shape.columns):
        return False
    return blocks == 1 or size <= CACHED_BYTES


def _block_columns(shape: TileShape) -> int:
    step = math.lcm(panel_columns(shape), SIDE)
    return COLUMNS // step * step


def _emit_left(b: ir.IRBuilder, args: Values, shape: TileShape) -> None:
    left, a = args[:2]
    k, a_stride, rows = indices(b, args[2:])
    width = Index(b, i64(block_rows(shape)))
    with b.if_then(rows.compare("<", width), likely=False):
        zero_run_routine(shape).call(b, left, k * width)
    transpose_routine(shape).call(b, left, a, rows, k, width, a_stride)


def _left_routine(shape: TileShape) -> Routine:
    """`transpose_left(left, a, k, a_stride, rows)`: `left[k, block_rows]`, which `transposed_block`

    takes, of at most that many rows of A, zeros in place of those that there are not.
    """
    return Routine(
        f"transpose_left.{shape.dtype}.{shape.lanes}",
        shape.dtype,
        "ppiii",
        lambda b, values: _emit_left(b, values, shape),
    )


def _emit_block(b: ir.IRBuilder, args: Values, shape: TileShape) -> None:
    scratch, left, panels, c = args[:4]
    k, c_stride, rows, columns = indices(b, args[4:])
    step, width = panel_columns(shape), Index(b, i64(block_rows(shape)))
    operands = Operands(
        step, 1, block_rows(shape), 2 * AHEAD_BYTES, AHEAD_BYTES, fetches_next=False
    )
    widths = tuple(w for w in WIDTHS if w < step)
    chains = k.ceil_div(shape.depth).most(1)  # no steps make one chain: C becomes 0
    with counted_loop(b, columns, _block_columns(shape)) as first:
        count = (columns - first).least(_block_columns(shape))
        with counted_loop(b, count, step) as j, counted_loop(b, chains) as number:
            begin = number * shape.depth
            passed = (
                offset(panels, (first + j) * k + begin * step),
                offset(left, begin * width),
                offset(scratch, j * width),
                panels,
                (k - begin).least(shape.depth),
                width,
                number,
                0,
            )
            emit_by_size(
                b,
                least_size(count - j, (step, *widths)),
                (step, *widths),
                lambda w: sums_routine(shape, w, 2 * shape.lanes, operands).call(b, *passed),
            )
        transpose_routine(shape).call(b, offset(c, first), scratch, count, rows, c_stride, width)


def _block_routine(shape: TileShape) -> Routine:
    """`transposed_block(scratch, left, panels, c, k, c_stride, rows, columns)`:

    C[rows, columns] = A x B, of at most `block_rows` rows, which `transpose_left` made.
    """
    return Routine(
        f"transposed_block.{shape.name}",
        shape.dtype,
        "pppp" + "i" * 4,
        lambda b, values: _emit_block(b, values, shape),
        shared=True,
    )


def m_vectorized_source(
    shape: TileShape,
    depth: int = DEPTH,
    epilogue: EpilogueLines = no_epilogue,
    *,
    pieces: int = 1,
    name: str = "gemm_m_vectorized",
    extra: Sequence[Argument] = (),
) -> ContractionSource:
    """C[m, n] = A x packed B. The inner dimension is at most `depth`.

    Arguments: the `LeftOperand`, `b, c, scratch` and the pointers of `extra`; `m n k`, the sizes of
    the `LeftOperand`, `c_stride` (elements from one row to the next); the indices of `extra`;
    `begin, end`.
    """
    left = LeftOperand(pieces)
    arguments = arguments_of(
        shape, f"{left.pointers} b c scratch", ["m", "n", "k", *left.sizes, "c_stride"], extra
    )
    rows, columns, panel = block_rows(shape), _block_columns(shape), panel_columns(shape)
    tile = f"{shape.rows}x{shape.columns}"
    head = f"""
        transposed = as_{shape.dtype}_pointer(scratch)
        left = advance(transposed, {rows * columns})
        panels = ceil_div(n, {panel})
        known = -1
        task = begin
        while task < end:
            row_block = idiv(task, panels)
            stop = least(least(task + {TOGETHER * columns // panel}, end), (row_block + 1) * panels)
            row_begin = row_block * {rows}
            row_end = least(row_begin + {rows}, m)
            column_begin = (task - row_block * panels) * {panel}
            column_end = least((stop - row_block * panels) * {panel}, n)
            if row_block != known:
        """
    moves = [
        f"transpose_left_{tile}(advance(left, ({part.first}) * {rows}), advance({part.pointer},"
        f" row_begin * {part.stride}),\n    {part.depth}, {part.stride}, row_end - row_begin)"
        for part in left.parts
    ]
    tail = f"""
        transposed_block_{tile}(
            transposed, left, advance(b, column_begin * k),
            advance(c, row_begin * c_stride + column_begin), k, c_stride,
            row_end - row_begin, column_end - column_begin)
        known = row_block
        task = stop
        """
    bounds = ("row_begin", "row_end"), ("column_begin", "column_end")
    body = (indented(head, 4), *(indented(move, 12) for move in moves), indented(tail, 8))
    text = function_text(name, arguments, *body, *epilogue(8, *bounds))
    tasks = f"{parts('m', rows)} * {parts('n', panel)}"
    scratch = rows * (columns + depth) * shape.dtype.size
    return ContractionSource(name, text, arguments, tasks, scratch, _symbols(shape, tile))


@lru_cache(maxsize=64)
def _symbols(shape: TileShape, tile: str) -> dict[str, Any]:
    return {
        "advance": advance,
        "least": least,
        "ceil_div": ceil_div,
        f"transpose_left_{tile}": _left_routine(shape).function,
        f"transposed_block_{tile}": _block_routine(shape).function,
    }
