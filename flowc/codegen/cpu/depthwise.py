"""The depthwise tile: sums over taps, each channel by itself, written as vector IR.

In: a `TileShape`, of which the dtype and lanes count. Out: the intrinsic `depthwise_tile`.
Invariant: each output is one chain of multiply-adds over the taps in order, however many pixels
and channels are done side by side.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.llvm.numba_functions import numba_function
from flowc.codegen.llvm.vector_ir import (
    Index,
    Routine,
    Value,
    Values,
    counted_loop,
    element_type,
    index_range,
    indices,
    load_vector,
    multiply_add,
    offset,
    store_vector,
)
from flowc_runtime.native.writer import i64

PIXELS = 4  # pixels side by side that share each load of the taps
SINGLE_VECTORS = 4  # vectors of channels side by side, for a pixel by itself
# Taps whose code stands one after another: of a whole window, else of a part of each of its rows.
MOST_UNROLLED, MOST_UNROLLED_IN_ROW = 64, 16

Taps = tuple[int, int]


def _emit_depthwise(b: ir.IRBuilder, args: Values, shape: TileShape, taps: Taps | None) -> None:
    """Whole windows of a known size are unrolled (large ones in part); every other window is a loop

    over its taps.
    """
    pixels, taps_h, taps_w, *_ = indices(b, args[3:])
    many = pixels.compare("==", PIXELS)
    if taps is not None:
        whole = b.and_(taps_h.compare("==", taps[0]), taps_w.compare("==", taps[1]))
        with b.if_else(b.and_(many, whole)) as (unrolled, looped):
            with unrolled:
                _emit_channels(b, args, shape, PIXELS, taps)
            with looped:
                _emit_looped(b, args, shape, many)
    else:
        _emit_looped(b, args, shape, many)


def _emit_looped(b: ir.IRBuilder, args: Values, shape: TileShape, many: Value) -> None:
    channels = Index(b, args[-1])
    with b.if_else(many) as (several, one):
        with several:
            _emit_channels(b, args, shape, PIXELS, None)
        with one, b.if_else(channels.compare(">=", shape.lanes)) as (vector, scalar):
            with vector:
                # More vectors at once share the cost of a loop that ends after a few taps.
                width = SINGLE_VECTORS * shape.lanes
                whole = channels - channels % width
                with counted_loop(b, whole, width) as channel:
                    _sums(b, args, shape, 1, SINGLE_VECTORS, channel, None)
                _emit_channels(b, args, shape, 1, None, begin=whole)
            with scalar, counted_loop(b, channels) as channel:
                _sums(b, args, shape, 1, 0, channel, None)


def _emit_channels(
    b: ir.IRBuilder,
    args: Values,
    shape: TileShape,
    pixels: int,
    taps: Taps | None,
    *,
    begin: Index | None = None,
) -> None:
    """Channels from `begin` on, vector by vector. The last one is moved back to end where the

    channels end: those it shares with the one before are computed twice, to the same values.
    """
    channels = Index(b, args[-1])
    first = begin or Index(b, i64(0))
    with index_range(b, first, channels, shape.lanes) as channel:
        _sums(b, args, shape, pixels, 1, channel.least(channels - shape.lanes), taps)


def _sums(
    b: ir.IRBuilder,
    args: Values,
    shape: TileShape,
    pixels: int,
    vectors: int,
    channel: Index,
    unrolled: Taps | None,
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

    def add_tap(i: Index, j: Index) -> None:
        taps = offset(w, i * w_row + j * channels + channel)
        seen = offset(x, i * x_row + j * x_tap + channel)
        factors = [load_vector(b, _part(b, taps, part * width), width, size) for part in parts]
        for p, row in enumerate(sums):
            pixel = offset(seen, x_pixel * p)
            for part, total in enumerate(row):
                value = load_vector(b, _part(b, pixel, part * width), width, size)
                b.store(multiply_add(b, value, factors[part], b.load(total)), total)

    if unrolled and np.prod(unrolled) <= MOST_UNROLLED:
        for i, j in np.ndindex(unrolled):
            add_tap(Index(b, i64(i)), Index(b, i64(j)))
    elif unrolled:
        step = max(n for n in range(1, MOST_UNROLLED_IN_ROW + 1) if unrolled[1] % n == 0)
        with counted_loop(b, taps_h) as i, counted_loop(b, taps_w, step) as first:
            for part in range(step):
                add_tap(i, first + part)
    else:
        with counted_loop(b, taps_h) as i, counted_loop(b, taps_w) as j:
            add_tap(i, j)
    for p, row in enumerate(sums):
        pixel = offset(y, channels * p + channel)
        for part, total in enumerate(row):
            store_vector(b, b.load(total), _part(b, pixel, part * width), size)


def _part(b: ir.IRBuilder, pointer: Value, elements: int) -> Value:
    return b.gep(pointer, [i64(elements)])


@lru_cache(maxsize=64)
def depthwise_intrinsic(shape: TileShape, taps: Taps | None) -> tuple[str, Any]:
    """The name and intrinsic of `tile(y, x, w, pixels, taps_h, taps_w, x_row, x_tap, w_row,

    x_pixel, channels)`: y[pixels, channels] = sum over taps_h x taps_w of x * w, for 1 pixel or, of
    at least a vector of channels, `PIXELS`. The steps, in elements, go from one tap row, one tap,
    one tap row of w and one pixel to the next. `taps`, if given, is the window to be fast for.
    """

    def emit(b: ir.IRBuilder, values: Values) -> None:
        _emit_depthwise(b, values, shape, taps)

    window = f"{taps[0]}x{taps[1]}" if taps else "any"
    short = f"depthwise_{shape.lanes}_{window}"
    name = f"{short}.{shape.dtype}"
    return short, Routine(name, shape.dtype, "pppiiiiiiii", emit).intrinsic()


def _emit_first_tap(b: ir.IRBuilder, values: Values) -> Value:
    position, dilation = indices(b, values)
    return (Index(b, i64(0)) - position).most(0).ceil_div(dilation).value


# `first_tap(position, dilation)`: the first tap that reads at 0 or later, where tap 0 reads at
# `position`.
first_tap = numba_function("first_tap", types.int64(types.int64, types.int64), _emit_first_tap)
