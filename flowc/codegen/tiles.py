"""Register tiles: the innermost loops of contractions, written as vector IR.

In: a `TileShape`, chosen from a target's vector width (`tile_shape`), never from the host. Out: the
intrinsic `add_panels`, which adds a gathered block times packed panels to a block of C.

Invariant: nothing here allocates, raises or calls out. All reads are inside what the caller gave,
where panels are padded to whole rows and blocks to whole tiles. Every element of C is one chain of
multiply-adds in the order of the inner dimension, whichever tile computes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from flowc.codegen.vector_ir import (
    I64,
    Index,
    Values,
    broadcast,
    const,
    counted_loop,
    element_type,
    function_intrinsic,
    index_range,
    indices,
    llvm_arguments,
    load_vector,
    module_function,
    multiply_add,
    offset,
    prefetch,
    store_vector,
)
from flowc.dtypes import DType

DEPTH = 384  # elements of the inner dimension that one gathered block holds
AHEAD = 8  # rows of a panel between what is multiplied and what is fetched into the first cache
BLOCK_BYTES = 160 << 10  # of a gathered block: it shares a second-level cache with a few panels
DEPTH_PAD_BYTES = 64  # a row of a block is one cache line longer: rows fall into different sets


@dataclass(frozen=True, slots=True)
class TileShape:
    """One register tile: `rows` x `columns` accumulators of `dtype`, `lanes` to a vector."""

    dtype: DType
    rows: int
    columns: int
    lanes: int

    @property
    def short_rows(self) -> int:
        """The height of the second tile, which takes the last rows; a single row has a third."""
        return max(1, self.rows // 2)

    @property
    def depth(self) -> int:
        return DEPTH

    @property
    def row_stride(self) -> int:
        """Elements from one row of a gathered block to the next: fixed, so it is a displacement."""
        return DEPTH + DEPTH_PAD_BYTES // self.dtype.size

    @property
    def block_rows(self) -> int:
        per_block = BLOCK_BYTES // (self.row_stride * self.dtype.size)
        return max(1, per_block // self.rows) * self.rows

    @property
    def block_columns(self) -> int:
        """Columns of one task: whole panels."""
        return 8 * self.columns if self.columns >= 32 else 256 // self.columns * self.columns

    @property
    def block_bytes(self) -> int:
        """Scratch that one gathered block takes."""
        return self.block_rows * self.row_stride * self.dtype.size


def tile_shape(
    dtype: DType, vector_bits: int, *, registers: int = 16, fma: bool = True
) -> TileShape:
    """The tile for a target with vectors of `vector_bits` and that many vector `registers`.

    Two vectors wide, and as high as the registers allow beside two vectors of the panel and the
    broadcast element (and the product, where multiply and add are two instructions). Raises
    `TypeError` for dtypes without vector arithmetic.
    """
    element_type(dtype)
    lanes = max(1, vector_bits // (8 * dtype.size))
    if registers >= 32:
        rows = 14 if fma else 12
    else:
        rows = 6 if fma and dtype.is_floating else 4
    return TileShape(dtype, rows, 2 * lanes, lanes)


def _emit_sums(b: ir.IRBuilder, args: Values, shape: TileShape, rows: int, vectors: int) -> None:
    """C[rows, vectors] (+)= block[rows, depth] x panel[depth, vectors], all sums in registers."""
    block, panel, c, depth, c_stride, live_rows, accumulate = args
    size, lanes = shape.dtype.size, shape.lanes
    vector = ir.VectorType(element_type(shape.dtype), lanes)
    zero = ir.Constant(vector, None)
    entry = b.block
    loop, stores = b.append_basic_block("depth"), b.append_basic_block("stores")
    b.cbranch(b.icmp_signed(">", depth, const(0)), loop, stores)
    b.position_at_end(loop)
    k, row_of_panel = b.phi(I64), b.phi(panel.type)
    sums = [[b.phi(vector) for _ in range(vectors)] for _ in range(rows)]
    columns = [
        load_vector(b, b.gep(row_of_panel, [const(j * lanes)]), lanes, size) for j in range(vectors)
    ]
    for j in range(vectors):
        prefetch(b, b.gep(row_of_panel, [const(AHEAD * shape.columns + j * lanes)]))
    totals: list[list[ir.Value]] = []
    for i in range(rows):
        a = b.load(b.gep(block, [b.add(k, const(i * shape.row_stride))]))
        wide = broadcast(b, a, lanes)
        totals.append([multiply_add(b, wide, columns[j], sums[i][j]) for j in range(vectors)])
    next_k, next_row = b.add(k, const(1)), b.gep(row_of_panel, [const(shape.columns)])
    for phi, first, following in [(k, const(0), next_k), (row_of_panel, panel, next_row)]:
        phi.add_incoming(first, entry)
        phi.add_incoming(following, loop)
    for i in range(rows):
        for j in range(vectors):
            sums[i][j].add_incoming(zero, entry)
            sums[i][j].add_incoming(totals[i][j], loop)
    b.cbranch(b.icmp_signed("<", next_k, depth), loop, stores)
    b.position_at_end(stores)
    results = [[b.phi(vector) for _ in range(vectors)] for _ in range(rows)]
    for i in range(rows):
        for j in range(vectors):
            results[i][j].add_incoming(zero, entry)
            results[i][j].add_incoming(totals[i][j], loop)
    _emit_sum_stores(b, results, c, c_stride, live_rows, accumulate, shape)


def _emit_sum_stores(
    b: ir.IRBuilder,
    results: list[list[ir.Value]],
    c: ir.Value,
    c_stride: ir.Value,
    live_rows: ir.Value,
    accumulate: ir.Value,
    shape: TileShape,
) -> None:
    """Rows past `live_rows` are dropped; C is read only where it is added to."""
    done = b.append_basic_block("stored")
    adds = b.icmp_signed("!=", accumulate, const(0))
    for i, row in enumerate(results):
        add, store = b.append_basic_block(f"add{i}"), b.append_basic_block(f"store{i}")
        if i:
            live = b.append_basic_block(f"row{i}")
            b.cbranch(b.icmp_signed(">", live_rows, const(i)), live, done)
            b.position_at_end(live)
        pointer = b.gep(c, [b.mul(c_stride, const(i))])
        targets = [b.gep(pointer, [const(j * shape.lanes)]) for j in range(len(row))]
        before = b.block
        b.cbranch(adds, add, store)
        b.position_at_end(add)
        plus = b.add if shape.dtype.is_integer else b.fadd
        added = [
            plus(load_vector(b, p, shape.lanes, shape.dtype.size), value)
            for p, value in zip(targets, row)
        ]
        b.branch(store)
        b.position_at_end(store)
        finals = [b.phi(value.type) for value in row]
        for final, value, total, p in zip(finals, row, added, targets):
            final.add_incoming(value, before)
            final.add_incoming(total, add)
            store_vector(b, final, p, shape.dtype.size)
    b.branch(done)
    b.position_at_end(done)


def _copy_rectangle(
    b: ir.IRBuilder,
    source: tuple[ir.Value, Index],
    target: tuple[ir.Value, Index],
    rows: Index,
    columns: Index,
) -> None:
    with counted_loop(b, rows) as i:
        from_, to = (offset(p, i * stride) for p, stride in (source, target))
        with counted_loop(b, columns) as j:
            b.store(b.load(offset(from_, j)), offset(to, j))


def _emit_tile(b: ir.IRBuilder, args: Values, shape: TileShape) -> None:
    """Choose the sums for `rows` x `columns`; odd widths go through a tile on the stack."""
    block, panel, c = args[:3]
    depth, c_stride, rows, columns, accumulate = indices(b, args[3:])

    def sums(height: int, vectors: int) -> ir.Function:
        return module_function(
            b.module,
            f"flowc.sums.{shape.dtype}.{height}x{vectors * shape.lanes}",
            llvm_arguments(shape.dtype, "pppiiii"),
            lambda inner, values: _emit_sums(inner, values, shape, height, vectors),
        )

    with b.goto_entry_block():
        side = b.alloca(element_type(shape.dtype), const(shape.rows * shape.columns))
    side_stride = Index(b, const(shape.columns))
    direct = b.or_(columns.compare("==", shape.columns), columns.compare("==", shape.lanes))
    with b.if_then(b.and_(accumulate.compare("!=", 0), b.not_(direct)), likely=False):
        _copy_rectangle(b, (c, c_stride), (side, side_stride), rows, columns)
    target = b.select(direct, c, side)
    target_stride = b.select(direct, c_stride.value, side_stride.value)
    passed = [block, panel, target, depth.value, target_stride, rows.value, accumulate.value]
    with b.if_else(columns.compare("<=", shape.lanes), likely=False) as (narrow, wide):
        with narrow:
            b.call(sums(shape.rows, 1), passed)
        with wide, b.if_else(rows.compare(">", shape.short_rows), likely=True) as (high, low):
            with high:
                b.call(sums(shape.rows, 2), passed)
            with low, b.if_else(rows.compare(">", 1)) as (several, single):
                with several:
                    b.call(sums(shape.short_rows, 2), passed)
                with single:
                    b.call(sums(1, 2), passed)
    with b.if_then(b.not_(direct), likely=False):
        _copy_rectangle(b, (side, side_stride), (c, c_stride), rows, columns)


def _emit_panels(b: ir.IRBuilder, args: Values, shape: TileShape) -> None:
    """Panels outside, tiles inside: a panel stays in the first caches for a whole block."""
    block, panels, c = args[:3]
    inner, depth, c_stride, *bounds, accumulate = indices(b, args[3:])
    row_begin, row_end, column_begin, column_end = bounds
    tile = module_function(
        b.module,
        f"flowc.tile.{shape.dtype}.{shape.rows}x{shape.columns}",
        llvm_arguments(shape.dtype, "pppiiiii"),
        lambda inner, values: _emit_tile(inner, values, shape),
    )
    with index_range(b, column_begin, column_end, shape.columns) as j:
        columns = (column_end - j).least(shape.columns)
        panel = offset(panels, j * inner)
        with index_range(b, row_begin, row_end, shape.rows) as i:
            rows = (row_end - i).least(shape.rows)
            rows_of_block = offset(block, (i - row_begin) * shape.row_stride)
            sums = [depth, c_stride, rows, columns, accumulate]
            pointers = [rows_of_block, panel, offset(c, i * c_stride + j)]
            b.call(tile, [*pointers, *(x.value for x in sums)])


def panel_intrinsics(shape: TileShape) -> dict[str, Any]:
    """`add_panels(block, panels, c, inner, depth, c_stride, row_begin, row_end, column_begin,

    column_end, accumulate)`: C[rows, columns] = (C if accumulate) + block x panels, over `depth`
    steps of the inner dimension. `block` starts at `row_begin`, rows `shape.row_stride` apart;
    `panels` starts at panel 0, at the first of the `depth` steps, and has `inner` steps in all.
    """
    name = f"flowc.add_panels.{shape.dtype}.{shape.rows}x{shape.columns}"
    emit = lambda b, values: _emit_panels(b, values, shape)  # noqa: E731
    return {"add_panels": function_intrinsic(name, shape.dtype, "pppiiiiiiii", emit)}
