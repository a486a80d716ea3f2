"""The sums of register tiles: C[rows, columns] (+)= block x panel, all of it in registers.

In: a `TileShape`, and where the elements stand. Out: routines, and what other loops over tiles make
theirs of. Invariant: every element of C is one chain of multiply-adds in the order of the inner
dimension. Nothing here allocates, raises or calls out.

A core has ports for two multiply-adds a cycle, and few more. So a loop does several steps of the
inner dimension at a time, asks for lines of memory no more often than they are needed, and has its
rows at displacements from as few pointers as can be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple

from llvmlite import ir

from flowc.codegen.cpu.strided_rows import StridedRows
from flowc.codegen.cpu.tile_shape import AHEAD_BYTES, TileShape
from flowc.codegen.llvm.vector_ir import (
    I32,
    Counter,
    Index,
    Routine,
    Value,
    Values,
    broadcast,
    byte_offset,
    counted_loop,
    element_type,
    indices,
    load_vector,
    multiply_add,
    offset,
    prefetch,
    store_vector,
)
from flowc.dataclass import dataclass
from flowc_runtime.native.writer import i64

CACHE_LINE = 64
MULTIPLY_ADDS = 48  # of an iteration, at most: its other instructions are few beside them
SLOW_BYTES = 64  # of a vector: of much arithmetic with such, clocks are slower
STEPS = 4  # of the inner dimension in an iteration, at most

# The first column of a vector, and its lanes.
Vector = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Operands:
    """Where the elements stand that sums are made of: [i, k] of the block at `k * step + i *
    stride`, [k, j] of the panel at `k * width + j`. How many bytes ahead of what is multiplied
    each of the two is fetched into the first cache: 0 does not ask for it; `fetches_next`: whether
    what is multiplied next is, into the second. With `lines` the block is several, in groups, whose
    sums follow each other; sums take the numbers and steps of both, and the `stride`, which is 0
    here: so convolutions of many numbers of channels share them. `fetches_result`: of lines, where
    C is to be written is asked for before the sums are made, as it has left the caches."""

    step: int
    stride: int
    width: int
    block_ahead: int = 0
    panel_ahead: int = AHEAD_BYTES
    fetches_next: bool = True
    lines: bool = False
    fetches_result: bool = False


def sums_routine(shape: TileShape, rows: int, columns: int, operands: Operands) -> Routine:
    """`sums(block, panel, c, next, depth, c_stride, accumulate, next_step, ...)`: C[rows, columns]
    (+)= block x panel; behind these, with `operands.lines`, `groups, group_step, lines, line_step,
    stride`.
    Columns are whole vectors and at most a half, in panels of whole ones. What stands at `next` is
    fetched into the second cache, `next_step` bytes for each step of the depth.
    """
    o = operands
    emit, name = (_emit_line_sums, "line_sums") if o.lines else (_emit_sums, "sums")
    told = ".".join(str(int(x)) for x in astuple(o))
    return Routine(
        f"{name}.{shape.dtype}.{rows}x{columns}.{shape.lanes}.{told}",
        shape.dtype,
        "ppppiiii" + kinds_of_lines(o),
        lambda b, values: emit(b, values, shape, rows, columns, operands),
        shared=o.lines,  # rows of other widths have tiles of the same heights
    )


def kinds_of_lines(operands: Operands) -> str:
    """The letters of what routines take behind other arguments."""
    return "iiiii" if operands.lines else ""


def _vectors(shape: TileShape, columns: int) -> list[Vector]:
    """The vectors that hold so many columns. Half a one takes as long as a whole one, for which of
    64 bytes processors slow down; of others LLVM would spill the sums."""
    lanes = shape.lanes
    halves = lanes * shape.dtype.size >= SLOW_BYTES
    most = lambda first: min(lanes, columns - first) if halves else lanes
    return [(first, most(first)) for first in range(0, columns, lanes)]


def unroll_factor(products: int) -> int:
    """How many steps of the inner dimension are one iteration of its loop, where a step is so many
    multiply-adds of vectors."""
    return max(steps for steps in (1, 2, STEPS) if steps == 1 or steps * products <= MULTIPLY_ADDS)


class Sums:
    """Sums of `rows` x `vectors`, 0 at first. `values`: those so far, row by row, which loops that
    add to them carry: so they stay in registers."""

    def __init__(self, b: ir.IRBuilder, element: ir.Type, rows: int, vectors: Sequence[Vector]):
        self.b, self.vectors = b, vectors
        zeros = [ir.Constant(ir.VectorType(element, lanes), None) for _, lanes in vectors]
        self.values: list[Value] = zeros * rows

    def add(self, left: Sequence[Value], panel: Value, size: int) -> None:
        """One step of the inner dimension: `left` are pointers to an element for each row, `panel`
        to the elements of all columns, of `size` bytes."""
        place = lambda first: self.b.gep(panel, [i64(first)])
        self.add_products(
            left, [load_vector(self.b, place(j), lanes, size) for j, lanes in self.vectors]
        )

    def add_products(self, left: Sequence[Value], columns: Sequence[Value]) -> None:
        """The same, of columns in vectors."""
        b, number = self.b, 0
        for place in left:
            factor = b.load(place)
            wide = {n: broadcast(b, factor, n) for n in dict.fromkeys(n for _, n in self.vectors)}
            for column, (_, lanes) in zip(columns, self.vectors):
                self.values[number] = multiply_add(b, wide[lanes], column, self.values[number])
                number += 1

    def totals(self) -> list[list[Value]]:
        width = len(self.vectors)
        return [self.values[i : i + width] for i in range(0, len(self.values), width)]


class Ahead:
    """What is fetched into the second cache while sums are made: `step` bytes from `start` for each
    step of the inner dimension, a line of the cache at a time."""

    def __init__(self, b: ir.IRBuilder, start: Value, step: Index):
        self.b, self._start, self._step, self._fetched = b, start, step, Counter(b, 0)

    def fetch(self, steps: int, *, at_once: bool = True) -> None:
        """What so many steps ask for: of little, one line, of more, one a step; `at_once`: of more,
        too, one line."""
        place = byte_offset(self._start, self._fetched.get())
        prefetch(self.b, place, level=2)
        if not at_once:
            self._fetch_between(place, steps)
        self._fetched.add(self._step * steps)

    def _fetch_between(self, place: Value, apart: int, steps: int = 0) -> None:
        """What is between lines that are fetched for one in so many steps, if they are no
        neighbours."""
        b, steps = self.b, steps or apart
        if apart == 1:
            return
        with b.if_then((self._step * apart).compare(">", CACHE_LINE), likely=False):
            for n in range(apart // 2, steps, apart):
                prefetch(b, byte_offset(place, self._step * n), level=2)
            self._fetch_between(place, apart // 2, steps)


def emit_steps(
    b: ir.IRBuilder, count: Index, steps: int, emit: Callable[[int], None], *sums: Sums
) -> None:
    """`emit(n)` is the code of `n` steps, which add to `sums`: of `steps` at a time, then of one at
    a time."""
    whole, carried = count // steps, [x.values for x in sums]
    with counted_loop(b, whole, carried=carried):
        emit(steps)
    if steps > 1:
        with counted_loop(b, count - whole * steps, carried=carried):
            emit(1)


def _emit_sums(
    b: ir.IRBuilder,
    args: Values,
    shape: TileShape,
    rows: int,
    n: int,
    o: Operands,
) -> None:
    """C[rows, n] (+)= block[rows, depth] x panel[depth, n]."""
    block, panel, c, following, depth, c_stride, accumulate, next_step = args
    size, vectors = shape.dtype.size, _vectors(shape, n)
    sums = Sums(b, element_type(shape.dtype), rows, vectors)
    ahead, k, place = Ahead(b, following, Index(b, next_step)), Counter(b, 0), Counter(b, 0)
    # Of vectors that differ, LLVM spills the sums where the loop has a branch.
    is_even = len({lanes for _, lanes in vectors}) == 1

    def emit(steps: int) -> None:
        first, row_of_panel = offset(block, k.get() * o.step), offset(panel, place.get())
        if o.fetches_next:
            ahead.fetch(steps, at_once=not is_even)
        for n in range(steps):
            columns = b.gep(row_of_panel, [i64(n * o.width)])
            seen = b.gep(first, [i64(n * o.step)])
            emit_prefetches(b, columns, o.panel_ahead, o.width, size)
            emit_prefetches(b, seen, o.block_ahead, rows, size)
            sums.add([b.gep(seen, [i64(i * o.stride)]) for i in range(rows)], columns, size)
        k.add(steps)
        place.add(steps * o.width)

    emit_steps(b, Index(b, depth), unroll_factor(rows * len(vectors)), emit, sums)
    emit_sum_stores(b, sums.totals(), shape, n, (c, c_stride, accumulate))


def _emit_line_sums(
    b: ir.IRBuilder,
    args: Values,
    shape: TileShape,
    rows: int,
    n: int,
    o: Operands,
) -> None:
    """C[rows, n] (+)= the sum of lines[rows, depth] x panel[depth, n], the panel of a line behind
    that of the one before."""
    block, panel, c, following, depth, c_stride, accumulate, next_step = args[:8]
    groups, group_step, lines, line_step, stride = indices(b, args[8:])
    size, vectors = shape.dtype.size, _vectors(shape, n)
    apart = StridedRows(b, stride, rows, size)
    sums = Sums(b, element_type(shape.dtype), rows, vectors)
    ahead, place = Ahead(b, following, Index(b, next_step)), Counter(b, 0)
    steps = unroll_factor(rows * len(vectors))
    carried = [sums.values]
    for i in range(rows if o.fetches_result else 0):
        row = b.gep(c, [b.mul(c_stride, i64(i))])
        for at in range(0, n * size, CACHE_LINE):
            prefetch(b, b.gep(row, [i64(at // size)]), write=True)
    with (
        counted_loop(b, groups, carried=carried) as group,
        counted_loop(b, lines, carried=carried) as line,
    ):
        first, k = offset(block, group * group_step + line * line_step), Counter(b, 0)

        def emit(steps: int) -> None:
            seen, row_of_panel = offset(first, k.get() * o.step), offset(panel, place.get())
            ahead.fetch(steps)
            rows_seen = apart.at(seen, rows)
            for n in range(steps):
                left = [b.gep(row, [i64(n * o.step)]) for row in rows_seen]
                sums.add(left, b.gep(row_of_panel, [i64(n * o.width)]), size)
            k.add(steps)
            place.add(steps * o.width)

        emit_steps(b, Index(b, depth), steps, emit, sums)
    emit_sum_stores(b, sums.totals(), shape, n, (c, c_stride, accumulate))


def emit_prefetches(b: ir.IRBuilder, start: Value, ahead: int, count: int, size: int) -> None:
    """Prefetches `count` elements, `ahead` bytes after `start`; nothing where `ahead` is 0."""
    for at in range(ahead, ahead + count * size, CACHE_LINE) if ahead else ():
        prefetch(b, b.gep(start, [i64(at // size)]))


def emit_sum_stores(
    b: ir.IRBuilder,
    results: list[list[Value]],
    shape: TileShape,
    columns: int,
    target: tuple[Value, Value, Value],
) -> None:
    """`target`: C, its stride, and whether it is added to; else it is not read."""
    c, c_stride, accumulate = target
    size, lanes = shape.dtype.size, shape.lanes
    targets = [
        b.gep(b.gep(c, [b.mul(c_stride, i64(i))]), [i64(j)])
        for i in range(len(results))
        for j in range(0, columns, lanes)
    ]
    values = [
        first_lanes(b, value, min(lanes, columns - j * lanes))
        for row in results
        for j, value in enumerate(row)
    ]
    plus = b.add if isinstance(c.type.pointee, ir.IntType) else b.fadd
    with b.if_else(b.icmp_signed("!=", accumulate, i64(0))) as (add, replace):
        with add:
            for p, value in zip(targets, values):
                before = load_vector(b, p, value.type.count, size)
                store_vector(b, plus(before, value), p, size)
        with replace:
            for p, value in zip(targets, values):
                store_vector(b, value, p, size)


def first_lanes(b: ir.IRBuilder, vector: Value, count: int) -> Value:
    """So many lanes of a vector, in a shorter one."""
    if count == vector.type.count:
        return vector
    first = ir.Constant(ir.VectorType(I32, count), list(range(count)))
    return b.shuffle_vector(vector, vector, first)
