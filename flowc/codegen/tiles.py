"""Register tiles: the innermost loops of contractions, written as vector IR.

In: a `TileShape`, chosen from a target's vector width (`tile_shape`), never from the host.
Out: Numba intrinsics (`tile_intrinsics`) that generated kernel source calls by name. Each one
calls an internal LLVM function that is built once per kernel module, so many call sites cost one
body.

Invariant: no function here allocates, raises or calls out; every read is inside the run it was
given, except that `tile` reads whole rows of a packed panel (panels are padded to whole rows) and
all `rows` of the tile height from the gathered block (blocks are padded to whole tiles).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from flowc import dtypes
from flowc.dtypes import DType

I1 = ir.IntType(1)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
VOID = ir.VoidType()

DEPTH = 256  # elements of the inner dimension that one gathered block holds
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
        """The height of the second tile, which takes the last rows."""
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
        """Rows of one gathered block: what a second-level cache holds beside a few panels."""
        per_block = (112 << 10) // (self.row_stride * self.dtype.size)
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
    broadcast element (and the product, where multiply and add are two instructions).
    """
    lanes = max(1, vector_bits // (8 * dtype.size))
    if registers >= 32:
        rows = 14 if fma else 12
    else:
        rows = 6 if fma and dtype.is_floating else 4
    return TileShape(dtype, rows, 2 * lanes, lanes)


def element_type(dtype: DType) -> ir.Type:
    """LLVM's type of one element."""
    match dtype:
        case dtypes.f32:
            return ir.FloatType()
        case dtypes.f64:
            return ir.DoubleType()
        case _ if dtype.is_integer:
            return ir.IntType(8 * dtype.size)
    raise TypeError(f"no register tile for {dtype}")


def numba_type(dtype: DType) -> types.Type:
    """Numba's type of one element, as kernels' pointers are declared with."""
    return getattr(types, dtype.tf_name)


def const(value: int) -> ir.Constant:
    return ir.Constant(I64, value)


@contextmanager
def counted_loop(b: ir.IRBuilder, count: ir.Value, step: int = 1) -> Iterator[ir.Value]:
    """`for index in range(0, count, step)`: the body is emitted inside the `with`."""
    head, body, done = (b.append_basic_block(n) for n in ("head", "body", "done"))
    before = b.block
    b.branch(head)
    b.position_at_end(head)
    index = b.phi(I64)
    index.add_incoming(const(0), before)
    b.cbranch(b.icmp_signed("<", index, count), body, done)
    b.position_at_end(body)
    yield index
    following = b.add(index, const(step))
    index.add_incoming(following, b.block)
    b.branch(head)
    b.position_at_end(done)


def load_vector(b: ir.IRBuilder, pointer: ir.Value, lanes: int, align: int) -> ir.Value:
    vector = ir.VectorType(pointer.type.pointee, lanes)
    return b.load(b.bitcast(pointer, vector.as_pointer()), align=align)


def store_vector(b: ir.IRBuilder, value: ir.Value, pointer: ir.Value, align: int) -> None:
    b.store(value, b.bitcast(pointer, value.type.as_pointer()), align=align)


def broadcast(b: ir.IRBuilder, scalar: ir.Value, lanes: int) -> ir.Value:
    undefined = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
    first = b.insert_element(undefined, scalar, ir.Constant(I32, 0))
    return b.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(I32, lanes), None))


def multiply_add(b: ir.IRBuilder, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """x * y + z: fused where the target has it, two instructions where not."""
    element = x.type.element
    if isinstance(element, ir.IntType):
        return b.add(b.mul(x, y), z)
    suffix = "f32" if isinstance(element, ir.FloatType) else "f64"
    name = f"llvm.fmuladd.v{x.type.count}{suffix}"
    function = b.module.globals.get(name)
    if function is None:
        function = ir.Function(b.module, ir.FunctionType(x.type, [x.type] * 3), name)
    return b.call(function, [x, y, z])


def module_function(
    module: ir.Module,
    name: str,
    arguments: list[ir.Type],
    emit: Callable[[ir.IRBuilder, tuple[ir.Argument, ...]], None],
    *,
    inline: bool = False,
) -> ir.Function:
    """The internal function `name` of the module, built by `emit` when it is first wanted."""
    function = module.globals.get(name)
    if function is not None:
        return function
    function = ir.Function(module, ir.FunctionType(VOID, arguments), name)
    function.linkage = "internal"
    function.attributes.add("nounwind")
    function.attributes.add("alwaysinline" if inline else "noinline")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    emit(b, function.args)
    b.ret_void()
    return function


# --- the contraction tile -----------------------------------------------------------------------


def _sums_name(shape: TileShape, rows: int, vectors: int) -> str:
    return f"flowc.sums.{shape.dtype}.{rows}x{vectors * shape.lanes}"


def _emit_tile(
    b: ir.IRBuilder, args: tuple[ir.Value, ...], shape: TileShape, rows: int, vectors: int
) -> None:
    """C[rows, vectors] (+)= block[rows, depth] x panel[depth, vectors], all sums in registers."""
    block, panel, c, depth, panel_stride, c_stride, live_rows, accumulate = args
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
    totals: list[list[ir.Value]] = []
    for i in range(rows):
        a = b.load(b.gep(block, [b.add(k, const(i * shape.row_stride))]))
        wide = broadcast(b, a, lanes)
        totals.append([multiply_add(b, wide, columns[j], sums[i][j]) for j in range(vectors)])
    next_k, next_row = b.add(k, const(1)), b.gep(row_of_panel, [panel_stride])
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
    _emit_tile_stores(b, results, c, c_stride, live_rows, accumulate, shape)


def _emit_tile_stores(
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
    source: tuple[ir.Value, ir.Value],
    target: tuple[ir.Value, ir.Value],
    rows: ir.Value,
    columns: ir.Value,
) -> None:
    with counted_loop(b, rows) as i:
        from_, to = (b.gep(p, [b.mul(i, stride)]) for p, stride in (source, target))
        with counted_loop(b, columns) as j:
            b.store(b.load(b.gep(from_, [j])), b.gep(to, [j]))


def _emit_dispatch(b: ir.IRBuilder, args: tuple[ir.Value, ...], shape: TileShape) -> None:
    """Choose the tile body for `rows` x `columns`; odd widths go through a tile on the stack."""
    block, panel, c, depth, panel_stride, c_stride, rows, columns, accumulate = args
    pointer = element_type(shape.dtype).as_pointer()
    arguments: list[ir.Type] = [pointer, pointer, pointer, I64, I64, I64, I64, I64]

    def body(height: int, vectors: int) -> ir.Function:
        return module_function(
            b.module,
            _sums_name(shape, height, vectors),
            arguments,
            lambda inner, values: _emit_tile(inner, values, shape, height, vectors),
        )

    side = b.alloca(element_type(shape.dtype), const(shape.rows * shape.columns))
    whole = b.icmp_signed("==", columns, const(shape.columns))
    narrow = b.icmp_signed("<=", columns, const(shape.lanes))
    direct = b.or_(whole, b.icmp_signed("==", columns, const(shape.lanes)))
    side_stride = const(shape.columns)
    adds = b.icmp_signed("!=", accumulate, const(0))
    with b.if_then(b.and_(adds, b.not_(direct)), likely=False):
        _copy_rectangle(b, (c, c_stride), (side, side_stride), rows, columns)
    target = b.select(direct, c, side)
    target_stride = b.select(direct, c_stride, side_stride)
    passed = [block, panel, target, depth, panel_stride, target_stride, rows, accumulate]
    with b.if_else(narrow, likely=False) as (then, otherwise):
        with then:
            b.call(body(shape.rows, 1), passed)
        with otherwise:
            tall = b.icmp_signed(">", rows, const(shape.short_rows))
            with b.if_else(tall, likely=True) as (high, low):
                with high:
                    b.call(body(shape.rows, 2), passed)
                with low:
                    b.call(body(shape.short_rows, 2), passed)
    with b.if_then(b.not_(direct), likely=False):
        _copy_rectangle(b, (side, side_stride), (c, c_stride), rows, columns)


# --- runs: the moves that fill blocks and panels --------------------------------------------------


def _emit_copy_run(b: ir.IRBuilder, args: tuple[ir.Value, ...], shape: TileShape) -> None:
    """target[0:count] = source[0:count]."""
    target, source, count = args
    whole = b.and_(count, const(-shape.lanes))
    with counted_loop(b, whole, shape.lanes) as i:
        value = load_vector(b, b.gep(source, [i]), shape.lanes, shape.dtype.size)
        store_vector(b, value, b.gep(target, [i]), shape.dtype.size)
    with counted_loop(b, b.sub(count, whole)) as i:
        at = b.add(i, whole)
        b.store(b.load(b.gep(source, [at])), b.gep(target, [at]))


def _emit_zero_run(b: ir.IRBuilder, args: tuple[ir.Value, ...], shape: TileShape) -> None:
    """target[0:count] = 0."""
    target, count = args
    element = element_type(shape.dtype)
    zeros = ir.Constant(ir.VectorType(element, shape.lanes), None)
    whole = b.and_(count, const(-shape.lanes))
    with counted_loop(b, whole, shape.lanes) as i:
        store_vector(b, zeros, b.gep(target, [i]), shape.dtype.size)
    with counted_loop(b, b.sub(count, whole)) as i:
        b.store(ir.Constant(element, None), b.gep(target, [b.add(i, whole)]))


def _emit_transpose_run(b: ir.IRBuilder, args: tuple[ir.Value, ...], shape: TileShape) -> None:
    """target[j, i] = source[i, j] for i < rows, j < columns: square blocks, then the edges."""
    target, source, rows, columns, target_stride, source_stride = args
    side = min(8, shape.lanes)
    whole_rows, whole_columns = (b.and_(n, const(-side)) for n in (rows, columns))

    def at(pointer: ir.Value, stride: ir.Value, i: ir.Value, j: ir.Value) -> ir.Value:
        return b.gep(pointer, [b.add(b.mul(i, stride), j)])

    with counted_loop(b, whole_rows, side) as i:
        with counted_loop(b, whole_columns, side) as j:
            start = at(source, source_stride, i, j)
            block = [
                load_vector(b, b.gep(start, [b.mul(source_stride, const(r))]), side, 1)
                for r in range(side)
            ]
            end = at(target, target_stride, j, i)
            for r, value in enumerate(_transposed(b, block)):
                store_vector(b, value, b.gep(end, [b.mul(target_stride, const(r))]), 1)
        _transpose_rest(b, at, args, (i, b.add(i, const(side))), (whole_columns, columns))
    _transpose_rest(b, at, args, (whole_rows, rows), (const(0), columns))


def _transpose_rest(
    b: ir.IRBuilder,
    at: Callable[..., ir.Value],
    args: tuple[ir.Value, ...],
    rows: tuple[ir.Value, ir.Value],
    columns: tuple[ir.Value, ir.Value],
) -> None:
    target, source, _, _, target_stride, source_stride = args
    with counted_loop(b, b.sub(columns[1], columns[0])) as dj:
        j = b.add(columns[0], dj)
        with counted_loop(b, b.sub(rows[1], rows[0])) as di:
            i = b.add(rows[0], di)
            b.store(b.load(at(source, source_stride, i, j)), at(target, target_stride, j, i))


def _transposed(b: ir.IRBuilder, block: list[ir.Value]) -> list[ir.Value]:
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


# --- intrinsics ---------------------------------------------------------------------------------

_POINTER = "pointer"


def _void_intrinsic(
    name: str,
    shape: TileShape,
    arguments: str,
    emit: Callable[[ir.IRBuilder, tuple[ir.Value, ...], TileShape], None],
) -> Any:
    """An intrinsic over pointers (`p`) and int64s (`i`) that calls one internal function."""
    element = numba_type(shape.dtype)
    pointer = types.CPointer(element)
    signature = types.void(*(pointer if kind == "p" else types.int64 for kind in arguments))
    llvm_pointer = element_type(shape.dtype).as_pointer()
    llvm_arguments = [llvm_pointer if kind == "p" else I64 for kind in arguments]
    full_name = f"flowc.{name}.{shape.dtype}.{shape.rows}x{shape.columns}"

    def lower(context: Any, b: ir.IRBuilder, _: Any, values: tuple[ir.Value, ...]) -> Any:
        function = module_function(
            b.module, full_name, llvm_arguments, lambda inner, inside: emit(inner, inside, shape)
        )
        b.call(function, values)
        return context.get_dummy_value()

    return _fixed_arity(name, len(arguments), lambda *_: (signature, lower))


def _fixed_arity(name: str, count: int, typer: Callable[..., Any]) -> Any:
    """Numba takes an intrinsic's arity from its Python signature, so one is written for it."""
    names = ", ".join(f"x{i}" for i in range(count))
    scope: dict[str, Any] = {"typer": typer}
    exec(f"def {name}(typing, {names}): return typer({names})", scope)
    return intrinsic(scope[name])


@intrinsic
def advance(typing: Any, pointer: Any, offset: Any) -> Any:
    """pointer + offset, in elements."""

    def lower(context: Any, b: ir.IRBuilder, signature: Any, values: Any) -> Any:
        return b.gep(values[0], [values[1]])

    return pointer(pointer, types.int64), lower


@lru_cache(maxsize=64)
def tile_intrinsics(shape: TileShape) -> dict[str, Any]:
    """What generated contraction source calls, by name.

    - `advance(p, n)`: p + n elements.
    - `tile(block, panel, c, depth, panel_stride, c_stride, rows, columns, accumulate)`:
      C[rows, columns] = (C if accumulate) + block x panel; rows of the block lie
      `shape.row_stride` apart; `rows` <= `shape.rows` and `columns` <= `shape.columns`.
    - `copy_run(target, source, n)`, `zero_run(target, n)`.
    - `transpose_run(target, source, rows, columns, target_stride, source_stride)`:
      target[j, i] = source[i, j].
    """
    return {
        "advance": advance,
        "tile": _void_intrinsic("tile", shape, "pppiiiiii", _emit_dispatch),
        "copy_run": _void_intrinsic("copy_run", shape, "ppi", _emit_copy_run),
        "zero_run": _void_intrinsic("zero_run", shape, "pi", _emit_zero_run),
        "transpose_run": _void_intrinsic("transpose_run", shape, "ppiiii", _emit_transpose_run),
    }


# --- the depthwise tile -------------------------------------------------------------------------

DEPTHWISE_PIXELS = 4  # pixels side by side that share each load of the taps


def _emit_depthwise(b: ir.IRBuilder, args: tuple[ir.Value, ...], shape: TileShape) -> None:
    """y[pixels, channels] = sum over taps of x * w, for 1 or `DEPTHWISE_PIXELS` pixels."""
    channels, pixels = args[-1], args[3]
    lanes = const(shape.lanes)
    many = b.icmp_signed("==", pixels, const(DEPTHWISE_PIXELS))
    for count, chosen in ((DEPTHWISE_PIXELS, many), (1, b.not_(many))):
        with b.if_then(chosen):
            wide = 2 * shape.lanes if count > 1 else shape.lanes
            whole = b.sub(channels, b.srem(channels, const(wide)))
            with counted_loop(b, whole, wide) as channel:
                _depthwise_sums(b, args, shape, count, wide // shape.lanes, channel)
            with counted_loop(b, b.sub(channels, whole), shape.lanes) as past:
                # The last vector of a ragged end is moved back: some channels are done twice.
                channel = b.add(whole, past)
                latest = b.sub(channels, lanes)
                overhangs = b.icmp_signed(">", channel, latest)
                channel = b.select(overhangs, latest, channel)
                with b.if_else(b.icmp_signed(">=", channels, lanes)) as (vector, scalar):
                    with vector:
                        _depthwise_sums(b, args, shape, count, 1, channel)
                    with scalar, counted_loop(b, channels) as single:
                        _depthwise_sums(b, args, shape, count, 0, single)


def _depthwise_sums(
    b: ir.IRBuilder,
    args: tuple[ir.Value, ...],
    shape: TileShape,
    pixels: int,
    vectors: int,
    channel: ir.Value,
) -> None:
    """The sums of `vectors` vectors of channels (0: of one channel) at `channel`."""
    y, x, w, _, taps_h, taps_w, x_row, x_tap, w_row, x_pixel, channels = args
    element, size, lanes = element_type(shape.dtype), shape.dtype.size, shape.lanes
    width = lanes if vectors else 1
    vector = ir.VectorType(element, width)
    parts = range(max(1, vectors))

    def at(pointer: ir.Value, part: int) -> ir.Value:
        return b.gep(pointer, [b.add(channel, const(part * width))])

    with b.goto_entry_block():
        sums = [[b.alloca(vector) for _ in parts] for _ in range(pixels)]
    for row in sums:
        for total in row:
            b.store(ir.Constant(vector, None), total)
    with counted_loop(b, taps_h) as i, counted_loop(b, taps_w) as j:
        taps = b.gep(w, [b.add(b.mul(i, w_row), b.mul(j, channels))])
        seen = b.gep(x, [b.add(b.mul(i, x_row), b.mul(j, x_tap))])
        factors = [load_vector(b, at(taps, part), width, size) for part in parts]
        for p, row in enumerate(sums):
            pixel = b.gep(seen, [b.mul(x_pixel, const(p))])
            for part, total in enumerate(row):
                value = load_vector(b, at(pixel, part), width, size)
                b.store(multiply_add(b, value, factors[part], b.load(total)), total)
    for p, row in enumerate(sums):
        pixel = b.gep(y, [b.mul(channels, const(p))])
        for part, total in enumerate(row):
            store_vector(b, b.load(total), at(pixel, part), size)


@lru_cache(maxsize=64)
def depthwise_intrinsics(shape: TileShape) -> dict[str, Any]:
    """What generated depthwise source calls, by name: `advance` and

    `depthwise_tile(y, x, w, pixels, taps_h, taps_w, x_row, x_tap, w_row, x_pixel, channels)`, with
    the steps in elements from one tap row, tap, tap row of w and pixel to the next.
    """
    return {
        "advance": advance,
        "depthwise_tile": _void_intrinsic("depthwise", shape, "pppiiiiiiii", _emit_depthwise),
    }
