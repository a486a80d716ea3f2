"""Runs of elements: copied, zeroed, transposed. Written as vector IR.

In: a `TileShape`, of which the dtype and lanes count. Out: routines. Invariant: they read and write
only the elements that they are given.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.llvm.vector_ir import (
    I32,
    Index,
    Routine,
    Value,
    Values,
    counted_loop,
    element_type,
    index_range,
    indices,
    load_vector,
    offset,
    store_vector,
)
from flowc_runtime.native.writer import i64

SIDES = (16, 8, 4, 2)  # of the squares that are transposed in registers


def copy_run(b: ir.IRBuilder, target: Value, source: Value, n: Index, s: TileShape) -> None:
    """target[0:n] = source[0:n]."""
    emit = lambda inner, values: _emit_copy(inner, values, s.lanes, s.dtype.size)
    Routine(f"copy_run.{s.dtype}.{s.lanes}", s.dtype, "ppi", emit).call(b, target, source, n)


def _emit_copy(b: ir.IRBuilder, args: Values, lanes: int, size: int) -> None:
    """Whole vectors, the last moved back to end where the run ends; short runs in halves."""
    target, source, n = args[0], args[1], Index(b, args[2])
    if lanes < 2:
        with counted_loop(b, n) as i:
            b.store(b.load(offset(source, i)), offset(target, i))
        return
    with b.if_else(n.compare(">=", lanes)) as (long, short):
        with long:
            last = n - lanes
            with counted_loop(b, last, lanes) as i:
                store_vector(
                    b, load_vector(b, offset(source, i), lanes, size), offset(target, i), size
                )
            end = load_vector(b, offset(source, last), lanes, size)
            store_vector(b, end, offset(target, last), size)
        with short:
            _emit_copy(b, args, lanes // 2, size)


def zero_run(b: ir.IRBuilder, target: Value, n: Index, shape: TileShape) -> None:
    """target[0:n] = 0."""
    element = element_type(shape.dtype)
    zeros = ir.Constant(ir.VectorType(element, shape.lanes), None)
    whole = Index(b, b.and_(n.value, i64(-shape.lanes)))
    with counted_loop(b, whole, shape.lanes) as i:
        store_vector(b, zeros, offset(target, i), shape.dtype.size)
    with index_range(b, whole, n) as i:
        b.store(ir.Constant(element, None), offset(target, i))


def _emit_rows(b: ir.IRBuilder, args: Values, shape: TileShape) -> None:
    target, source = args[:2]
    rows, columns, target_stride, source_stride = indices(b, args[2:])
    with counted_loop(b, rows) as i:
        to, from_ = offset(target, i * target_stride), offset(source, i * source_stride)
        copy_run(b, to, from_, columns, shape)


def _emit_transpose(b: ir.IRBuilder, args: Values, shape: TileShape) -> None:
    """Squares in registers, smaller ones for columns that are left; the edges one by one."""
    target, source = args[:2]
    rows, columns, target_stride, source_stride = indices(b, args[2:])
    size = shape.dtype.size

    def edges(first_row: Index, first_column: Index, end_column: Index) -> None:
        over_rows = index_range(b, first_row, rows)
        with index_range(b, first_column, end_column) as j, over_rows as i:
            value = b.load(offset(source, i * source_stride + j))
            b.store(value, offset(target, j * target_stride + i))

    done = zero = Index(b, i64(0))
    for side in (n for n in SIDES if n <= shape.lanes):
        end = done + Index(b, b.and_((columns - done).value, i64(-side)))
        whole_rows = Index(b, b.and_(rows.value, i64(-side)))
        over_columns = index_range(b, done, end, side)
        with counted_loop(b, whole_rows, side) as i, over_columns as j:
            block = [
                load_vector(b, offset(source, (i + r) * source_stride + j), side, size)
                for r in range(side)
            ]
            for r, value in enumerate(_transposed(b, block)):
                store_vector(b, value, offset(target, (j + r) * target_stride + i), size)
        edges(whole_rows, done, end)
        done = end
    edges(zero, done, columns)


def _transposed(b: ir.IRBuilder, block: list[Value]) -> list[Value]:
    """The transpose of a square of vectors: log2(n) rounds that swap off-diagonal halves."""
    n = len(block)
    half = n // 2
    while half:
        following = list(block)
        for i in range(n):
            if i & half:
                continue
            low = [j if not j & half else n + j - half for j in range(n)]
            high = [j + half if not j & half else n + j for j in range(n)]
            for row, order in ((i, low), (i + half, high)):
                mask = ir.Constant(ir.VectorType(I32, n), order)
                following[row] = b.shuffle_vector(block[i], block[i + half], mask)
        block = following
        half //= 2
    return block


def _emit_zero(b: ir.IRBuilder, args: Values, shape: TileShape) -> None:
    zero_run(b, args[0], Index(b, args[1]), shape)


def _routine(
    shape: TileShape,
    name: str,
    kinds: str,
    emit: Callable[[ir.IRBuilder, Values, TileShape], None],
    *,
    shared: bool = False,
) -> Routine:
    full = f"{name}.{shape.dtype}.{shape.lanes}"
    return Routine(full, shape.dtype, kinds, lambda b, values: emit(b, values, shape), shared)


def copy_rows_routine(shape: TileShape) -> Routine:
    """`copy_rows(target, source, rows, columns, target_stride, source_stride)`."""
    return _routine(shape, "copy_rows", "ppiiii", _emit_rows)


def transpose_routine(shape: TileShape) -> Routine:
    """`transpose(target, source, rows, columns, target_stride, source_stride)`:

    target[j, i] = source[i, j] for i < rows, j < columns.
    """
    return _routine(shape, "transpose", "ppiiii", _emit_transpose, shared=True)


def zero_run_routine(shape: TileShape) -> Routine:
    """`zero_run(target, n)`."""
    return _routine(shape, "zero_run", "pi", _emit_zero)
