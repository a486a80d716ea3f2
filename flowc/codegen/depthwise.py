"""The depthwise tile: sums over taps, each channel by itself, written as vector IR.

In: a `TileShape`, of which the dtype and lanes count. Out: the intrinsic `depthwise_tile`.
Invariant: each output is one chain of multiply-adds over the taps in order, however many pixels
and channels are done side by side.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from llvmlite import ir

from flowc.codegen.tiles import TileShape
from flowc.codegen.vector_ir import (
    Index,
    Values,
    counted_loop,
    element_type,
    function_intrinsic,
    index_range,
    indices,
    load_vector,
    multiply_add,
    offset,
    store_vector,
)

PIXELS = 4  # pixels side by side that share each load of the taps


def _emit_depthwise(b: ir.IRBuilder, args: Values, shape: TileShape) -> None:
    pixels, *_, channels = indices(b, args[3:])
    many = pixels.compare("==", PIXELS)
    for count, chosen in ((PIXELS, many), (1, b.not_(many))):
        with b.if_then(chosen):
            width = (2 if count > 1 else 1) * shape.lanes
            whole = channels - channels % width
            with counted_loop(b, whole, width) as channel:
                _sums(b, args, shape, count, width // shape.lanes, channel)
            fits = channels.compare(">=", shape.lanes)
            with (
                index_range(b, whole, channels, shape.lanes) as channel,
                b.if_else(fits) as (vector, scalar),
            ):
                with vector:
                    # The last vector is moved back to end where the channels end: those it
                    # shares with the one before are computed twice, to the same values.
                    _sums(b, args, shape, count, 1, channel.least(channels - shape.lanes))
                with scalar, counted_loop(b, channels) as single:
                    _sums(b, args, shape, count, 0, single)


def _sums(
    b: ir.IRBuilder, args: Values, shape: TileShape, pixels: int, vectors: int, channel: Index
) -> None:
    """Sums of `vectors` vectors of channels (0: of one channel) for that many pixels."""
    y, x, w = args[:3]
    _, taps_h, taps_w, x_row, x_tap, w_row, x_pixel, channels = indices(b, args[3:])
    width = shape.lanes if vectors else 1
    vector = ir.VectorType(element_type(shape.dtype), width)
    size, parts = shape.dtype.size, range(max(1, vectors))
    with b.goto_entry_block():
        sums = [[b.alloca(vector) for _ in parts] for _ in range(pixels)]
    for total in (total for row in sums for total in row):
        b.store(ir.Constant(vector, None), total)
    with counted_loop(b, taps_h) as i, counted_loop(b, taps_w) as j:
        taps = offset(w, i * w_row + j * channels + channel)
        seen = offset(x, i * x_row + j * x_tap + channel)
        factors = [load_vector(b, _part(b, taps, part * width), width, size) for part in parts]
        for p, row in enumerate(sums):
            pixel = offset(seen, x_pixel * p)
            for part, total in enumerate(row):
                value = load_vector(b, _part(b, pixel, part * width), width, size)
                b.store(multiply_add(b, value, factors[part], b.load(total)), total)
    for p, row in enumerate(sums):
        pixel = offset(y, channels * p + channel)
        for part, total in enumerate(row):
            store_vector(b, b.load(total), _part(b, pixel, part * width), size)


def _part(b: ir.IRBuilder, pointer: ir.Value, elements: int) -> ir.Value:
    return b.gep(pointer, [ir.Constant(ir.IntType(64), elements)])


@lru_cache(maxsize=64)
def depthwise_intrinsic(shape: TileShape) -> tuple[str, Any]:
    """The name and intrinsic of `tile(y, x, w, pixels, taps_h, taps_w, x_row, x_tap, w_row,

    x_pixel, channels)`: y[pixels, channels] = sum over taps_h x taps_w of x * w, for 1 or `PIXELS`
    pixels. The steps, in elements, go from one tap row, one tap, one tap row of w and one pixel to
    the next.
    """

    def emit(b: ir.IRBuilder, values: Values) -> None:
        _emit_depthwise(b, values, shape)

    name = f"flowc.depthwise.{shape.dtype}.{shape.lanes}"
    return f"depthwise_tile_{shape.lanes}", function_intrinsic(
        name, shape.dtype, "pppiiiiiiii", emit
    )
