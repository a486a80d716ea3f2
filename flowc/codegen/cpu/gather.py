"""The patch gather: what the output pixels of a convolution see of its input. Vector IR.

In: a `TileShape` and the number of spatial axes. Out: a routine. Invariant: it reads only elements
that exist; what a tap sees outside the input is written as zero.
"""

from __future__ import annotations

from llvmlite import ir

from flowc.codegen.cpu.block_copy import copy_run, zero_run
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.llvm.vector_ir import (
    Counter,
    Index,
    Routine,
    Value,
    Values,
    index_range,
    indices,
    offset,
    while_positive,
)
from flowc_runtime.native.writer import i64


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
    one = Index(b, i64(1))
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
            left.add(Index(b, i64(0)) - count)
            axes[-1].tap.add(count)
            _carry(b, [(a.tap, a.taps) for a in axes], None)
        axes[-1].pixel.add(1)
        _carry(b, [(a.pixel, a.pixels) for a in axes], image)


def _spread(flat: Index, places: list[tuple[Counter, Index]]) -> Index:
    """Set the counters to the digits of a flat index, and return what is left over."""
    for counter, extent in reversed(places):
        some = extent.most(1)  # an axis without taps or pixels has no digits
        counter.set(flat % some)
        flat = flat // some
    return flat


def _patch_run(
    b: ir.IRBuilder,
    target: Value,
    x: Value,
    axes: list[_Axis],
    image: Index,
    count: Index,
    channels: tuple[Index, Index, Index],
    shape: TileShape,
) -> None:
    """Copy `count` taps along the last axis, zeros for those outside the input."""
    span, x_stride, x_channel = channels
    positions = [axis.position() for axis in axes]
    inside: Value | None = None
    pixel = image
    for axis, place in zip(axes, positions):
        pixel = pixel * axis.extent + place
        if axis is not axes[-1]:
            # One unsigned comparison: a negative position is a large one.
            fits = b.icmp_unsigned("<", place.value, axis.extent.value)
            inside = fits if inside is None else b.and_(inside, fits)
    low = (Index(b, i64(0)) - positions[-1]).most(0).least(count)
    high = (axes[-1].extent - positions[-1]).least(count).most(low)
    if inside is not None:
        low, high = (Index(b, b.select(inside, x_.value, count.value)) for x_ in (low, high))
    with b.if_then(low.compare(">", 0), likely=False):
        zero_run(b, target, low * span, shape)
    source = offset(x, (pixel + low) * x_stride + x_channel)
    copy_run(b, offset(target, low * span), source, (high - low) * span, shape)
    with b.if_then(high.compare("<", count), likely=False):
        zero_run(b, offset(target, high * span), (count - high) * span, shape)


def patches_routine(shape: TileShape, rank: int) -> Routine:
    """`gather_patches(block, x, row_begin, row_end, tap_begin, tap_end, span, x_stride, x_channel,

    ...)`, then per axis each of `in rows kernel stride dilation pad`: row r of the block becomes
    `span` channels, from `x_channel`, of each tap that flat output pixel r sees: along each axis
    the element at pixel * stride - pad + tap * dilation.
    """
    return Routine(
        f"gather_patches{rank}d.{shape.dtype}.{shape.lanes}",
        shape.dtype,
        "pp" + "i" * (7 + 6 * rank),
        lambda b, values: _emit_patches(b, values, shape, rank),
    )
