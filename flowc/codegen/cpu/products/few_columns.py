"""Products with weights known when compiling that have few columns: vectors hold steps of the inner
dimension.

In: a `TileShape`. Out: kernel source for C = A x B, and B packed for it: each column by itself, its
steps one behind the other. Tiles whose vectors hold columns compute as many of them as the vectors
have lanes, of which few are wanted here; these compute none in vain, as long as the inner dimension
is so long that adding up the lanes at its end counts for little.

Invariant: an element of C is the sum of `lanes` chains of multiply-adds, in the order of the inner
dimension, none longer than those of other products (`shape.depth`); a row of C depends on that row
of A alone, whatever rows are beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from llvmlite import ir

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
from flowc.codegen.cpu.packing import Array
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.cpu.tile_sums import first_lanes
from flowc.codegen.cpu.tiles import emit_by_size
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
    least,
    load_vector,
    masked_load,
    multiply_add,
    offset,
    routine_call,
    store_vector,
    vector_mask,
)
from flowc.codegen.packed import Packed
from flowc.ir.dims import Dim
from flowc_runtime.native.writer import i64

TASK_ROWS = 16
DEEP = 8  # vectors of the inner dimension, at least
LANE_SUM = 80  # steps of the inner dimension that take as long as adding up the lanes of an element
SPARED = 0.8  # of the time of tiles that compute columns in vain: it takes less than that


def is_product_of_few_columns(shape: TileShape, n: Dim, k: Dim) -> bool:
    """Whether `few_columns_source` is for so many columns, by what the lanes of vectors would
    compute in vain."""
    if not (isinstance(n, int) and isinstance(k, int)) or shape.lanes == 1:
        return False
    computed = -(-n // shape.lanes) * shape.lanes
    is_deep = DEEP * shape.lanes <= k <= shape.depth * shape.lanes and n > 0
    return is_deep and computed <= 2 * shape.lanes and n * (1 + LANE_SUM / k) <= SPARED * computed


def pack_few_columns(weights: Array, shape: TileShape) -> Packed:
    """[..., k, n] -> [n, k], each column padded with zeros to whole vectors."""
    *_, k, n = weights.shape

    def fill(found: Array) -> None:
        found[:, :k] = weights.reshape(k, n).T

    return Packed((n, -(-k // shape.lanes) * shape.lanes), np.dtype(shape.dtype.numpy), fill)


def few_columns_source(
    shape: TileShape, epilogue: EpilogueLines = no_epilogue, *, extra: Sequence[Argument] = ()
) -> ContractionSource:
    """C[m, n] = A[m, k] x packed B.

    Arguments: `a, b, c` and the pointers of `extra`; `m n k`, and `a_stride c_stride` (elements
    from one row to the next); the indices of `extra`; `begin, end`. A task is `TASK_ROWS` rows.
    """
    arguments = arguments_of(shape, "a b c", ["m", "n", "k", "a_stride", "c_stride"], extra)
    lines = f"""
        for task in range(begin, end):
            first = task * {TASK_ROWS}
            last = least(first + {TASK_ROWS}, m)
            call_product(product, a, b, c, k, n, a_stride, c_stride, first, last)
        """
    routine = Routine(
        f"few_columns.{shape.name}",
        shape.dtype,
        _KINDS,
        lambda b, values: _emit(b, values, shape),
        shared=True,
    )
    finish = epilogue(8, ("first", "last"), ("0", "n"))
    text = function_text(
        "few_columns", arguments, indented(lines, 4), *finish, bound={"product": routine}
    )
    symbols = {"least": least, "call_product": routine_call(shape.dtype, _KINDS)}
    return ContractionSource(
        "few_columns",
        text,
        arguments,
        parts("m", TASK_ROWS),
        0,
        symbols,
        bound={"product": routine},
    )


_KINDS = "pppiiiiii"


def _tile(shape: TileShape) -> tuple[int, int]:
    """Rows and columns of a tile: their sums, a vector of each row and one of a column fit in the
    registers; with more of either, less is loaded for each multiply-add. A vector has lanes for the
    sums of a row."""
    rows, columns = (4, 6) if shape.rows > 8 else (3, 4)
    return rows, min(columns, shape.lanes)


def _emit(b: ir.IRBuilder, args: Values, shape: TileShape) -> None:
    a, columns, c = args[:3]
    k, n, a_stride, c_stride, first, last = indices(b, args[3:])
    rows, most = _tile(shape)
    step = k.ceil_div(shape.lanes) * shape.lanes
    whole = first + (last - first) // rows * rows
    with counted_loop(b, n, most) as column:
        width = (n - column).least(most)
        weights = offset(columns, column * step)
        for begin, end, height in ((first, whole, rows), (whole, last, 1)):
            with index_range(b, begin, end, height) as row:
                places = offset(a, row * a_stride), offset(c, row * c_stride + column)
                left, result = zip(places, (a_stride, c_stride))
                tile = partial(_emit_tile, b, shape, left, (weights, step), result, k, height)
                emit_by_size(b, width, range(most, 0, -1), tile)


# A pointer, and the elements from one row to the next.
Strided = tuple[Value, Index]


def _emit_tile(
    b: ir.IRBuilder, shape: TileShape, left: Strided, right: Strided, result: Strided, k: Index,
    rows: int, columns: int,
) -> None:  # fmt: skip
    """Stores so many rows and columns of C."""
    sums = _sums(b, shape, left, right, k, rows, columns)
    for r in range(rows):
        totals = _lane_sums(b, sums[r * columns : (r + 1) * columns])
        place = offset(result[0], result[1] * r)
        store_vector(b, first_lanes(b, totals, columns), place, shape.dtype.size)


def _sums(
    b: ir.IRBuilder, shape: TileShape, left: Strided, right: Strided, k: Index, rows: int,
    columns: int,
) -> list[Value]:  # fmt: skip
    """The sums of so many rows and columns, row by row, each a vector whose lanes add up to it."""
    lanes, size = shape.lanes, shape.dtype.size
    zero = ir.Constant(ir.VectorType(element_type(shape.dtype), lanes), None)
    sums: list[Value] = [zero] * (rows * columns)
    seen = [offset(left[0], left[1] * r) for r in range(rows)]
    weights = [offset(right[0], right[1] * j) for j in range(columns)]

    def add(factors: Sequence[Value], at: Index) -> None:
        for j, place in enumerate(weights):
            weight = load_vector(b, offset(place, at), lanes, size)
            for r, factor in enumerate(factors):
                sums[r * columns + j] = multiply_add(b, factor, weight, sums[r * columns + j])

    end = k // lanes * lanes
    with index_range(b, Index(b, i64(0)), end, lanes, carried=[sums]) as at:
        add([load_vector(b, offset(place, at), lanes, size) for place in seen], at)
    # Behind the last step weights are zeros, but what stands behind a row may be no number.
    mask = vector_mask(b, k - end, lanes)
    with index_range(b, end, k, lanes, carried=[sums]) as at:
        add([masked_load(b, offset(place, at), mask, size) for place in seen], at)
    return sums


def _lane_sums(b: ir.IRBuilder, vectors: Sequence[Value]) -> Value:
    """A vector whose first lanes are the sums of the lanes of others."""
    found = list(vectors)
    while len(found) > 1:
        found += found[-1:] * (len(found) % 2)
        found = [_pair_sums(b, x, y) for x, y in zip(found[::2], found[1::2])]
    (total,) = found
    least_lanes = 1 << (len(vectors) - 1).bit_length()
    while total.type.count > least_lanes:
        total = _pair_sums(b, total)
    return total


def _pair_sums(b: ir.IRBuilder, x: Value, y: Value | None = None) -> Value:
    """The sums of neighbouring lanes of a vector, and behind these, those of another one's."""
    count = x.type.count * (1 if y is None else 2)
    numbers = range(0, count, 2)
    even, odd = (
        b.shuffle_vector(
            x, x if y is None else y, ir.Constant(ir.VectorType(I32, count // 2), list(lanes))
        )
        for lanes in (numbers, [n + 1 for n in numbers])
    )
    return b.add(even, odd) if isinstance(x.type.element, ir.IntType) else b.fadd(even, odd)
