"""Blocks of elements that loop kernels move and fill: routines for any size, which kernels share.

In: addresses, the distances of rows, and how many there are. Out: the block transposed, or filled
with one number. Invariant: no elements but those of the block are touched. A kernel in which such
loops are written out takes LLVM five times as long: each is made into vectors, with its rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from llvmlite import ir

from flowc.codegen.cpu.loop_choices import TILE_SIDE
from flowc.codegen.cpu.register_transpose import ELEMENTS, LANE_BYTES, VECTOR_BYTES, emit_turn
from flowc.codegen.kernels.nest import FILL_BLOCK, MOVE_BLOCK
from flowc.codegen.llvm.kernel_functions import KernelFunction
from flowc.codegen.llvm.quantity import size_of
from flowc.codegen.llvm.vector_ir import (
    Index,
    Routine,
    Value,
    Values,
    broadcast,
    counted_loop,
    indices,
    offset,
    store_vector,
)
from flowc_runtime.native.writer import I64

SIDES = (TILE_SIDE, TILE_SIDE // 2, TILE_SIDE // 4)  # of the squares that are transposed


@cache
def move_block() -> KernelFunction:
    """`target[c*step + r] = source[r*distance + c]` for r < rows and c < columns, which are given
    behind the others."""

    def signature(types: Any) -> Any:
        return lambda source, distance, target, step, rows, columns: types.void(
            source, types.int64, target, types.int64, types.int64, types.int64
        )

    return KernelFunction(MOVE_BLOCK, signature, _call_move)


@cache
def fill_block() -> KernelFunction:
    """`target[r*step + c] = value` for r < rows and c < columns."""

    def signature(types: Any) -> Any:
        return lambda target, step, rows, columns, value: types.void(
            target, types.int64, types.int64, types.int64, value
        )

    return KernelFunction(FILL_BLOCK, signature, _call_fill)


def _call_move(b: ir.IRBuilder, values: Values) -> None:
    source, distance, target, step, *counts = values
    element = ELEMENTS[size_of(source.type.pointee)]
    emit = partial(_emit_move, size=element.size)
    routine = Routine(f"move_block.{element}", element, "ppiiii", emit, shared=True)
    pointer = ir.IntType(8 * element.size).as_pointer()
    places = b.bitcast(source, pointer), b.bitcast(target, pointer)
    routine.call(b, *places, distance, step, *counts)


def _emit_move(b: ir.IRBuilder, values: Values, size: int) -> None:
    rows, columns = indices(b, values[4:])
    _by_squares(b, values, size, rows.least(columns), SIDES)


def _by_squares(
    b: ir.IRBuilder, values: Values, size: int, least: Index, sides: Sequence[int]
) -> None:
    """By the largest squares that fit into the block; the last ones are moved back to end where it
    ends, as an element may be moved twice. Blocks narrower than all go element by element."""
    source, target = values[:2]
    distance, step, rows, columns = indices(b, values[2:])
    sides = [side for side in sides if side * size >= LANE_BYTES]
    if not sides:
        with counted_loop(b, rows) as r, counted_loop(b, columns) as c:
            b.store(b.load(offset(source, r * distance + c)), offset(target, c * step + r))
        return
    side, *smaller = sides
    with b.if_else(least.compare(">=", side)) as (fits, narrow):
        with fits, counted_loop(b, rows, side) as first:
            if side // 2 not in sides:
                _squares(b, values, size, first.least(rows - side), side, side)
            else:
                left = rows - first
                with b.if_else(left.compare("<=", side // 2)) as (few, many):
                    with few:
                        _squares(b, values, size, rows - side // 2, side // 2, side)
                    with many:
                        _squares(b, values, size, first.least(rows - side), side, side)
        with narrow:
            _by_squares(b, values, size, least, smaller)


def _squares(b: ir.IRBuilder, values: Values, size: int, row: Index, count: int, side: int) -> None:
    """`count` rows from `row` on, `side` columns after the other."""
    source, target = values[:2]
    distance, step, _, columns = indices(b, values[2:])
    with counted_loop(b, columns, side) as first:
        column = first.least(columns - side)
        places = offset(source, row * distance + column), offset(target, column * step + row)
        operands = [*places, distance.value, step.value]
        emit_turn(b, operands, size, count, side, is_whole=False)


def _call_fill(b: ir.IRBuilder, values: Values) -> None:
    target, step, rows, columns, value = values
    element = ELEMENTS[size_of(target.type.pointee)]
    bits = ir.IntType(8 * element.size)
    emit = partial(_emit_fill, lanes=VECTOR_BYTES // element.size, size=element.size)
    routine = Routine(f"fill_block.{element}", element, "piiii", emit, shared=True)
    word: Value = b.bitcast(value, bits)
    if bits != I64:
        word = b.zext(word, I64)
    routine.call(b, b.bitcast(target, bits.as_pointer()), step, rows, columns, word)


def _emit_fill(b: ir.IRBuilder, values: Values, lanes: int, size: int) -> None:
    """Whole vectors, the last moved back to end where the row ends; short rows one by one."""
    target, word = values[0], values[4]
    step, rows, columns = indices(b, values[1:4])
    element = target.type.pointee
    number = word if element == I64 else b.trunc(word, element)
    vector = broadcast(b, number, lanes)
    with counted_loop(b, rows) as r:
        row = offset(target, r * step)
        with b.if_else(columns.compare(">=", lanes)) as (long, short):
            with long:
                with counted_loop(b, columns - lanes, lanes) as c:
                    store_vector(b, vector, offset(row, c), size)
                store_vector(b, vector, offset(row, columns - lanes), size)
            with short, counted_loop(b, columns) as c:
                b.store(number, offset(row, c))
