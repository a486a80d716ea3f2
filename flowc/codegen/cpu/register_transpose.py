"""Square tiles transposed in registers, with which a kernel reads its input along columns.

In: a pointer to the first element of a tile and the distance of its rows. Out: the tile's columns,
in a small buffer, or where they shall be. A tile is at most TILE_SIDE rows of so many elements, or
so many rows of at most TILE_SIDE elements, of which no others are touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from llvmlite import ir

from flowc import dtypes
from flowc.codegen.cpu.loop_choices import TILE_SIDE
from flowc.codegen.kernels.nest import COLUMNS, MOVE, TURN
from flowc.codegen.llvm.kernel_functions import KernelFunction
from flowc.codegen.llvm.quantity import size_of
from flowc.codegen.llvm.vector_ir import Routine, Value, Values, load_vector, store_vector
from flowc_runtime.native.writer import I32, i64

LANE_BYTES = 16  # shuffles within such parts of a vector are the cheapest
VECTOR_BYTES = 32  # of longer vectors there are half as many shuffles at a time
ELEMENTS = {dtype.size: dtype for dtype in (dtypes.u8, dtypes.u16, dtypes.u32, dtypes.u64)}


@cache
def turn_tile(rows: int) -> KernelFunction:
    """`target[c*TILE_SIDE + r] = source[r*distance + c]` for all `rows` of a tile. What stands
    behind so many elements of a column is undefined."""

    def emit(b: ir.IRBuilder, values: Values) -> None:
        _call(b, [*values, i64(TILE_SIDE)], rows, "turn")

    def signature(types: Any) -> Any:
        return lambda source, distance, target: types.void(source, types.int64, target)

    return KernelFunction(f"{TURN}{rows}", signature, emit)


@cache
def move_tile(rows: int) -> KernelFunction:
    """`target[c*step + r] = source[r*distance + c]` for all `rows` of a tile."""
    emit = lambda b, values: _call(b, values, rows, "move")
    return KernelFunction(f"{MOVE}{rows}", _moved, emit)


@cache
def move_columns(columns: int) -> KernelFunction:
    """`target[c*step + r] = source[r*distance + c]` for TILE_SIDE rows and all `columns` of a tile,
    which take PART_BYTES at least."""
    emit = lambda b, values: _call(b, values, TILE_SIDE, "move", columns)
    return KernelFunction(f"{COLUMNS}{columns}", _moved, emit)


def _moved(types: Any) -> Any:
    return lambda source, distance, target, step: types.void(
        source, types.int64, target, types.int64
    )


def _call(
    b: ir.IRBuilder, values: Sequence[Value], rows: int, how: str, columns: int = TILE_SIDE
) -> None:
    """Calls the routine for elements of that size, which kernels share."""
    source, distance, target, step = values
    element = ELEMENTS[size_of(source.type.pointee)]
    emit = partial(
        emit_turn, size=element.size, count=rows, columns=columns, is_whole=how == "turn"
    )
    sides = f"{rows}" if columns == TILE_SIDE else f"{rows}x{columns}"
    routine = Routine(f"{how}_tile.{element}.{sides}", element, "ppii", emit, shared=True)
    pointer = ir.IntType(8 * element.size).as_pointer()
    routine.call(b, b.bitcast(source, pointer), b.bitcast(target, pointer), distance, step)


def emit_turn(
    b: ir.IRBuilder, values: Values, size: int, count: int, columns: int, is_whole: bool
) -> None:
    """A vector gets parts of rows that are as far apart as a part has elements, so that what is
    left to do is the same within each part; the last part of the columns may be moved back.
    `is_whole`: a column is one store, as it is read again at once: of two, a processor makes no
    load before they are in the cache."""
    source, target, distance, step = values
    part, lanes = LANE_BYTES // size, min(TILE_SIDE, VECTOR_BYTES // size)
    lines = [b.gep(source, [b.mul(distance, i64(r))]) for r in range(count)]
    groups = [lines[row : row + lanes] for row in range(0, count, lanes)]
    for first in (min(left, columns - part) for left in range(0, columns, part)):
        transposed: list[list[Value]] = []
        for group in groups:
            vectors = [_of_parts(b, group[r::part], first, part, lanes, size) for r in range(part)]
            transposed.append(_transposed_within(b, vectors, lanes))
        # All of a column, one after another: it is written to memory once.
        for c, column in enumerate(zip(*transposed)):
            if is_whole:
                missing = [ir.Constant(column[0].type, ir.Undefined)] * (TILE_SIDE // lanes)
                joined = _joined(b, [*column, *missing][: TILE_SIDE // lanes])
                store_vector(b, joined, b.gep(target, [b.mul(step, i64(first + c))]), size)
                continue
            for number, (vector, group) in enumerate(zip(column, groups)):
                place = b.add(b.mul(step, i64(first + c)), i64(number * lanes))
                _store(b, vector, b.gep(target, [place]), lanes, len(group), size)


def _store(
    b: ir.IRBuilder, vector: Value, target: Value, lanes: int, count: int, size: int
) -> None:
    """The first `count` elements, by vectors each half as long as the one before."""
    done, length = 0, lanes
    while done < count:
        if done + length <= count:
            order = ir.Constant(ir.VectorType(I32, length), list(range(done, done + length)))
            part = vector if length == lanes else b.shuffle_vector(vector, vector, order)
            store_vector(b, part, b.gep(target, [i64(done)]), size)
            done += length
        length //= 2


def _of_parts(
    b: ir.IRBuilder, lines: Sequence[Value], first: int, part: int, lanes: int, size: int
) -> Value:
    """The elements from `first` on of these lines, one part of a vector each."""
    kind = ir.VectorType(ir.IntType(8 * size), part)
    parts = [load_vector(b, b.gep(line, [i64(first)]), part, size) for line in lines]
    parts += [ir.Constant(kind, ir.Undefined)] * (lanes // part - len(parts))
    return _joined(b, parts)


def _joined(b: ir.IRBuilder, parts: Sequence[Value]) -> Value:
    """A power of two of equally long vectors as one."""
    while len(parts) > 1:
        count = 2 * parts[0].type.count
        order = ir.Constant(ir.VectorType(I32, count), list(range(count)))
        parts = [b.shuffle_vector(x, y, order) for x, y in zip(parts[::2], parts[1::2])]
    return parts[0]


def _transposed_within(b: ir.IRBuilder, vectors: list[Value], lanes: int) -> list[Value]:
    """Squares side by side, each transposed: in each round a vector meets the one half of all
    behind it, element by element."""
    part = len(vectors)
    low, high = (_interleaving(part, first, lanes) for first in (0, part // 2))
    for _ in range(part.bit_length() - 1):
        pairs = zip(vectors[: part // 2], vectors[part // 2 :])
        vectors = [b.shuffle_vector(x, y, order) for x, y in pairs for order in (low, high)]
    return vectors


def _interleaving(part: int, first: int, lanes: int) -> ir.Constant:
    """Of two vectors: half of the elements of each part, from `first` on, in turns."""
    order = [
        start + first + k // 2 + (lanes if k % 2 else 0)
        for start in range(0, lanes, part)
        for k in range(part)
    ]
    return ir.Constant(ir.VectorType(I32, lanes), order)
