"""Block moves: what fills gathered blocks and packed panels, written as vector IR.

In: a `TileShape`. Out: intrinsics that copy runs, transpose, and gather the inputs that a block of
output pixels sees. Invariant: they read only elements that exist; what a tap sees outside the input
is written as zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from flowc.codegen.tiles import TileShape
from flowc.codegen.vector_ir import (
    I32,
    Counter,
    Index,
    Values,
    const,
    counted_loop,
    element_type,
    function_intrinsic,
    index_range,
    indices,
    llvm_arguments,
    load_vector,
    module_function,
    offset,
    store_vector,
    while_positive,
)


def _copy_run(b: ir.IRBuilder, target: ir.Value, source: ir.Value, n: Index, s: TileShape) -> None:
    """target[0:n] = source[0:n]."""
    function = module_function(
        b.module,
        f"flowc.copy_run.{s.dtype}.{s.lanes}",
        llvm_arguments(s.dtype, "ppi"),
        lambda inner, values: _emit_copy(inner, values, s.lanes, s.dtype.size),
    )
    b.call(function, [target, source, n.value])


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


def _zero_run(b: ir.IRBuilder, target: ir.Value, n: Index, shape: TileShape) -> None:
    """target[0:n] = 0."""
    element = element_type(shape.dtype)
    zeros = ir.Constant(ir.VectorType(element, shape.lanes), None)
    whole = Index(b, b.and_(n.value, const(-shape.lanes)))
    with counted_loop(b, whole, shape.lanes) as i:
        store_vector(b, zeros, offset(target, i), shape.dtype.size)
    with index_range(b, whole, n) as i:
        b.store(ir.Constant(element, None), offset(target, i))


def _emit_rows(b: ir.IRBuilder, args: Values, shape: TileShape) -> None:
    target, source = args[:2]
    rows, columns, target_stride, source_stride = indices(b, args[2:])
    with counted_loop(b, rows) as i:
        to, from_ = offset(target, i * target_stride), offset(source, i * source_stride)
        _copy_run(b, to, from_, columns, shape)


def _emit_transpose(b: ir.IRBuilder, args: Values, shape: TileShape) -> None:
    """Square blocks in registers, then the edges element by element."""
    target, source = args[:2]
    rows, columns, target_stride, source_stride = indices(b, args[2:])
    side, size = min(8, shape.lanes), shape.dtype.size
    whole_rows, whole_columns = (Index(b, b.and_(n.value, const(-side))) for n in (rows, columns))

    def edges(first_row: Index, end_row: Index, first_column: Index) -> None:
        with index_range(b, first_column, columns) as j, index_range(b, first_row, end_row) as i:
            value = b.load(offset(source, i * source_stride + j))
            b.store(value, offset(target, j * target_stride + i))

    with counted_loop(b, whole_rows, side) as i:
        with counted_loop(b, whole_columns, side) as j:
            block = [
                load_vector(b, offset(source, (i + r) * source_stride + j), side, size)
                for r in range(side)
            ]
            for r, value in enumerate(_transposed(b, block)):
                store_vector(b, value, offset(target, (j + r) * target_stride + i), size)
        edges(i, i + side, whole_columns)
    edges(whole_rows, rows, Index(b, const(0)))


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


def _emit_zero(b: ir.IRBuilder, args: Values, shape: TileShape) -> None:
    _zero_run(b, args[0], Index(b, args[1]), shape)


class _Axis:
    """One spatial axis of a patch gather: its sizes, the current pixel and the current tap."""

    def __init__(self, b: ir.IRBuilder, sizes: list[Index]) -> None:
        self.extent, self.pixels, self.taps, self.stride, self.dilation, self.pad = sizes
        self.pixel, self.tap = Counter(b, 0), Counter(b, 0)

    def position(self) -> Index:
        read = self.pixel.get() * self.stride - self.pad
        return read + self.tap.get() * self.dilation


def _carry(b: ir.IRBuilder, pairs: list[tuple[Counter, Index]], outer: Counter | None) -> None:
    """Where the last counter has reached its end, set it to 0 and step the one before it."""
    if not pairs or (outer is None and len(pairs) == 1):
        return
    *before, (counter, end) = pairs
    above = before[-1][0] if before else outer
    assert above is not None
    with b.if_then(counter.get().compare("==", end)):
        counter.set(0)
        above.add(1)
        _carry(b, before, outer)


def _emit_patches(b: ir.IRBuilder, args: Values, shape: TileShape, rank: int) -> None:
    block, x = args[:2]
    row_begin, row_end, tap_begin, tap_end, span, x_stride, x_channel, *rest = indices(b, args[2:])
    axes = [_Axis(b, rest[i::rank]) for i in range(rank)]
    image = Counter(b, _spread(row_begin, [(a.pixel, a.pixels) for a in axes]))
    left, at = Counter(b, 0), Counter(b, 0)
    one = Index(b, const(1))
    side_by_side = b.and_(axes[-1].dilation.compare("==", 1), span.compare("==", x_stride))
    with index_range(b, row_begin, row_end) as row:
        _spread(tap_begin, [(a.tap, a.taps) for a in axes])
        left.set(tap_end - tap_begin)
        at.set((row - row_begin) * shape.row_stride)
        with while_positive(b, left):
            to_end = axes[-1].taps - axes[-1].tap.get()
            count = Index(b, b.select(side_by_side, to_end.value, one.value)).least(left.get())
            target = offset(block, at.get())
            _patch_run(b, target, x, axes, image.get(), count, (span, x_stride, x_channel), shape)
            at.add(count * span)
            left.add(Index(b, const(0)) - count)
            axes[-1].tap.add(count)
            _carry(b, [(a.tap, a.taps) for a in axes], None)
        axes[-1].pixel.add(1)
        _carry(b, [(a.pixel, a.pixels) for a in axes], image)


def _spread(flat: Index, places: list[tuple[Counter, Index]]) -> Index:
    """Set the counters to the digits of a flat index, and return what is left over."""
    for counter, extent in reversed(places):
        counter.set(flat % extent)
        flat = flat // extent
    return flat


def _patch_run(
    b: ir.IRBuilder,
    target: ir.Value,
    x: ir.Value,
    axes: list[_Axis],
    image: Index,
    count: Index,
    channels: tuple[Index, Index, Index],
    shape: TileShape,
) -> None:
    """Copy `count` taps along the last axis, zeros for those outside the input."""
    span, x_stride, x_channel = channels
    positions = [axis.position() for axis in axes]
    inside: ir.Value | None = None
    pixel = image
    for axis, place in zip(axes, positions):
        pixel = pixel * axis.extent + place
        if axis is not axes[-1]:
            # One unsigned comparison: a negative position is a large one.
            fits = b.icmp_unsigned("<", place.value, axis.extent.value)
            inside = fits if inside is None else b.and_(inside, fits)
    low = (Index(b, const(0)) - positions[-1]).most(0).least(count)
    high = (axes[-1].extent - positions[-1]).least(count).most(low)
    if inside is not None:
        low, high = (Index(b, b.select(inside, x_.value, count.value)) for x_ in (low, high))
    with b.if_then(low.compare(">", 0), likely=False):
        _zero_run(b, target, low * span, shape)
    source = offset(x, (pixel + low) * x_stride + x_channel)
    _copy_run(b, offset(target, low * span), source, (high - low) * span, shape)
    with b.if_then(high.compare("<", count), likely=False):
        _zero_run(b, offset(target, high * span), (count - high) * span, shape)


def gather_intrinsics(shape: TileShape, rank: int = 2) -> dict[str, Any]:
    """Intrinsics by name.

    - `copy_rows(target, source, rows, columns, target_stride, source_stride)`
    - `transpose(target, source, rows, columns, target_stride, source_stride)`: target[j, i] =
      source[i, j]
    - `zero_run(target, n)`
    - `gather_patches(block, x, row_begin, row_end, tap_begin, tap_end, span, x_stride, x_channel,
      ...)`, then per axis each of `in rows kernel stride dilation pad`: row r of the block becomes
      `span` channels, from `x_channel`, of each tap that flat output pixel r sees: along each axis
      the element at pixel * stride - pad + tap * dilation.
    """

    def named(name: str, kinds: str, emit: Callable[..., None], *more: Any) -> Any:
        full = f"flowc.{name}.{shape.dtype}.{shape.lanes}"
        return function_intrinsic(
            full, shape.dtype, kinds, lambda b, values: emit(b, values, shape, *more)
        )

    patches = f"gather_patches{rank}d.{shape.row_stride}"
    return {
        "copy_rows": named("copy_rows", "ppiiii", _emit_rows),
        "transpose": named("transpose", "ppiiii", _emit_transpose),
        "zero_run": named("zero_run", "pi", _emit_zero),
        "gather_patches": named(patches, "pp" + "i" * (7 + 6 * rank), _emit_patches, rank),
    }
