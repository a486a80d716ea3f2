"""Products of few rows with weights known when compiling, which come from memory once a run.

In: rows and a `TileShape`. Out: kernel source. Each weight is multiplied by few elements, so that
such a product takes as long as its weights take to come: what counts is how many lines of them are
on their way at a time. Two panels side by side are two streams, each over the whole inner
dimension and each fetched ahead: a core has twice as many lines on their way as with one. Where the
processor itself looks ahead far enough, to ask takes longer (`TileShape.prefetches`).

Invariant: an element of C is a sum of chains of `shape.depth` multiply-adds, as in other products.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from flowc.codegen.cpu.block_copy import copy_rows_routine
from flowc.codegen.cpu.blocked import (
    Argument,
    ContractionSource,
    EpilogueLines,
    arguments_of,
    function_text,
    indented,
    no_epilogue,
    parts,
)
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.cpu.tile_sums import Sums, emit_prefetches, emit_steps, emit_sum_stores
from flowc.codegen.llvm.vector_ir import (
    Counter,
    Index,
    Routine,
    Value,
    Values,
    element_type,
    index_range,
    indices,
    least,
    offset,
    routine_call,
)
from flowc.ir.dims import Dim
from flowc_runtime.native.writer import i64

STREAMS = 2
AHEAD_BYTES = 1024  # of each stream: as many lines as a core can have on their way
STEPS = 2  # of the inner dimension in an iteration


def has_few_rows(shape: TileShape, rows: int) -> bool:
    """Whether the sums of so many rows and two panels fit in the registers, beside a step of both
    panels, as those of a tile do beside one: of so few, a product waits for its weights."""
    return 0 < rows <= (shape.rows - 1) // STREAMS


def is_product_of_few_rows(shape: TileShape, rows: Dim, columns: Dim) -> bool:
    """Whether `few_rows_source` is best for so many rows and columns. Fewer columns than a vector
    has lanes have narrower tiles elsewhere."""
    wide = isinstance(columns, int) and columns > shape.lanes
    return wide and isinstance(rows, int) and has_few_rows(shape, rows)


def few_rows_source(
    shape: TileShape,
    rows: int,
    epilogue: EpilogueLines = no_epilogue,
    *,
    extra: Sequence[Argument] = (),
) -> ContractionSource:
    """C[rows, n] = A[rows, k] x packed B.

    Arguments: `a, b, c` and the pointers of `extra`; `n k a_stride c_stride` (elements from one row
    to the next); the indices of `extra`; `begin, end`. A task is a panel.
    """
    arguments = arguments_of(shape, "a b c", ["n", "k", "a_stride", "c_stride"], extra)
    lines = f"""
        for first in range(begin, end, {shape.block_columns // shape.columns}):
            column_begin = first * {shape.columns}
            column_end = least(column_begin + {shape.block_columns}, end * {shape.columns})
            column_end = least(column_end, n)
            call_product(product, a, b, c, k, a_stride, c_stride, column_begin, column_end)
        """
    routine = Routine(
        f"few_rows.{rows}.{shape.name}.{shape.prefetches}",
        shape.dtype,
        _KINDS,
        lambda b, values: _emit(b, values, shape, rows),
    )
    finish = epilogue(8, ("0", str(rows)), ("column_begin", "column_end"))
    text = function_text(
        "few_rows", arguments, indented(lines, 4), *finish, bound={"product": routine}
    )
    symbols = {"least": least, "call_product": routine_call(shape.dtype, _KINDS)}
    return ContractionSource(
        "few_rows",
        text,
        arguments,
        parts("n", shape.columns),
        0,
        symbols,
        bound={"product": routine},
    )


_KINDS = "pppiiiii"


def _emit(b: ir.IRBuilder, args: Values, shape: TileShape, rows: int) -> None:
    a, panels, c = args[:3]
    k, a_stride, c_stride, begin, end = indices(b, args[3:])
    together = STREAMS * shape.columns
    with b.goto_entry_block():
        side = b.alloca(element_type(shape.dtype), i64(rows * together))
    with index_range(b, begin, end, together) as j:
        columns = (end - j).least(together)
        panel = offset(panels, j * k)
        with b.if_else(columns.compare(">", shape.columns), likely=True) as (all_, one):
            with all_:
                _emit_panels(b, shape, STREAMS, (a, panel, side), [k, a_stride], rows)
            with one:
                _emit_panels(b, shape, 1, (a, panel, side), [k, a_stride], rows)
        target = offset(c, j)
        copy_rows_routine(shape).call(b, target, side, i64(rows), columns, c_stride, i64(together))


def _emit_panels(
    b: ir.IRBuilder,
    shape: TileShape,
    streams: int,
    places: tuple[Value, Value, Value],
    sizes: Sequence[Index],
    rows: int,
) -> None:
    """side[rows, streams x columns] = A x so many panels, which stand one behind the other."""
    a, panel, side = places
    k, a_stride = sizes
    size, together = shape.dtype.size, STREAMS * shape.columns
    vectors = [(first, shape.lanes) for first in range(0, shape.columns, shape.lanes)]
    starts = [panel, *(offset(panel, k * (n * shape.columns)) for n in range(1, streams))]
    lines = [offset(a, a_stride * r) for r in range(rows)]
    # The first chain may be of no steps, so that C becomes 0.
    with index_range(b, Index(b, i64(0)), k.most(1), shape.depth) as begin:
        sums = [Sums(b, element_type(shape.dtype), rows, vectors) for _ in starts]
        step, place = Counter(b, begin), Counter(b, begin * shape.columns)

        def emit(steps: int) -> None:
            for n in range(steps):
                left = [offset(line, step.get() + n) for line in lines]
                for start, total in zip(starts, sums):
                    weights = offset(start, place.get() + n * shape.columns)
                    if shape.prefetches:
                        emit_prefetches(b, weights, AHEAD_BYTES, shape.columns, size)
                    total.add(left, weights, size)
            step.add(steps)
            place.add(steps * shape.columns)

        emit_steps(b, (k - begin).least(shape.depth), STEPS, emit, *sums)
        for number, total in enumerate(sums):
            target = b.gep(side, [i64(number * shape.columns)]), i64(together), begin.value
            emit_sum_stores(b, total.totals(), shape, shape.columns, target)
