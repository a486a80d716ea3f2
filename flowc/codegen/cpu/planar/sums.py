"""Sums over planes: rows of pixels, vectors of which are multiplied with one weight. Vector IR.

In: a `TileShape` and the number of output channels, too few to fill a vector. Out: a routine.
Invariant: every output is one chain of multiply-adds, over taps and then channels, in order.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from flowc.codegen.cpu.block_copy import copy_run
from flowc.codegen.cpu.planar.blocks import vectors_of_pixels
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.cpu.tile_sums import unroll_factor
from flowc.codegen.cpu.tiles import emit_by_size, least_size
from flowc.codegen.llvm.loop_metadata import unroll
from flowc.codegen.llvm.vector_ir import (
    I32,
    I64,
    Counter,
    Index,
    Routine,
    Value,
    Values,
    broadcast,
    counted_loop,
    element_type,
    indices,
    load_vector,
    multiply_add,
    offset,
    store_vector,
)
from flowc_runtime.native.writer import i64

FEWER = (4, 2, 1)  # where a row ends


def _emit_pixels(b: ir.IRBuilder, args: Values, shape: TileShape, outputs: int) -> None:
    """Tiles of whole vectors; what does not fill the last one goes through the stack."""
    y, planes, *rest = args
    count, *sizes = rest[1:]
    pixels = Index(b, count)
    lanes, vectors = shape.lanes, vectors_of_pixels(shape, outputs)
    heights = (vectors, *(v for v in FEWER if v < vectors))
    with b.goto_entry_block():
        side = b.alloca(element_type(shape.dtype), i64(vectors * lanes * outputs))
    done = Counter(b, 0)
    head, body, end = (b.append_basic_block(n) for n in ("tiles", "tile", "end"))
    b.branch(head)
    b.position_at_end(head)
    b.cbranch(done.get().compare("<", pixels), body, end)
    b.position_at_end(body)
    first = done.get()
    height = least_size((pixels - first).ceil_div(lanes).least(vectors), heights)
    some = (pixels - first).least(height * lanes)
    whole = some.compare("==", height * lanes)
    place = offset(y, first * outputs)
    target = b.select(whole, place, side)
    passed = (target, offset(planes, first), rest[0], *sizes)
    emit_by_size(
        b,
        height,
        heights,
        lambda v: _tile_routine(shape, outputs, v).call(b, *passed),
    )
    with b.if_then(b.not_(whole), likely=False):
        copy_run(b, place, side, some * outputs, shape)
    done.add(height * lanes)
    unroll(b.branch(head), 1)
    b.position_at_end(end)


def _tile_routine(shape: TileShape, outputs: int, vectors: int) -> Routine:
    return Routine(
        f"planar_tile.{shape.dtype}.{vectors}x{shape.lanes}.{outputs}",
        shape.dtype,
        "ppp" + "i" * 9,
        lambda b, values: _emit_tile(b, values, shape, outputs, vectors),
    )


def _emit_tile(b: ir.IRBuilder, args: Values, shape: TileShape, outputs: int, vectors: int) -> None:
    target, planes, weights = args[:3]
    kernel_d, kernel_h, kernel_w, channels, pitch, tap_slice, tap_row, *rest = indices(b, args[3:])
    stride, dilation = rest
    lanes, size = shape.lanes, shape.dtype.size
    vector = ir.VectorType(element_type(shape.dtype), lanes)
    with b.goto_entry_block():
        sums = [[b.alloca(vector) for _ in range(vectors)] for _ in range(outputs)]
    for total in (total for of_output in sums for total in of_output):
        b.store(ir.Constant(vector, None), total)
    phase, shift = Counter(b, 0), Counter(b, 0)
    weight = Counter(b, 0)
    step, left_over = dilation // stride, dilation % stride
    with counted_loop(b, kernel_d) as d, counted_loop(b, kernel_h) as i:
        phase.set(0)
        shift.set(0)
        with counted_loop(b, kernel_w):
            seen = d * tap_slice + i * tap_row + phase.get() * channels * pitch + shift.get()
            at_once = unroll_factor(outputs * vectors)
            with counted_loop(b, channels, unrolled=at_once) as channel:
                row = offset(planes, seen + channel * pitch)
                factors = offset(weights, weight.get())
                values = [
                    load_vector(b, b.gep(row, [i64(v * lanes)]), lanes, size)
                    for v in range(vectors)
                ]
                for o, of_output in enumerate(sums):
                    factor = broadcast(b, b.load(b.gep(factors, [i64(o)])), lanes)
                    for value, total in zip(values, of_output):
                        b.store(multiply_add(b, value, factor, b.load(total)), total)
                weight.add(outputs)
            following = phase.get() + left_over
            wraps = following.compare(">=", stride)
            phase.set(Index(b, b.select(wraps, (following - stride).value, following.value)))
            shift.add(step + Index(b, b.zext(wraps, I64)))
    for v in range(vectors):
        columns = [b.load(of_output[v]) for of_output in sums]
        for part, pixels in enumerate(_side_by_side(b, columns)):
            place = b.gep(target, [i64((v * outputs + part) * lanes)])
            store_vector(b, pixels, place, size)


def _side_by_side(b: ir.IRBuilder, columns: Sequence[Value]) -> list[Value]:
    """Vectors, each of one output of all pixels, as vectors of all outputs of one pixel after
    another."""
    count, lanes = len(columns), columns[0].type.count
    found: list[Value] = []
    for part in range(count):
        places = [divmod(part * lanes + lane, count) for lane in range(lanes)]  # pixel, output
        joined = columns[0]
        for output, column in enumerate(columns):
            order = [
                lanes + pixel if of == output else (lane if output else pixel)
                for lane, (pixel, of) in enumerate(places)
            ]
            mask = ir.Constant(ir.VectorType(I32, lanes), order)
            joined = b.shuffle_vector(joined, column, mask)
        found.append(joined)
    return found


def pixels_routine(shape: TileShape, outputs: int) -> Routine:
    """`planar_pixels(y, planes, weights, count, kernel_d, kernel_h, kernel_w, channels, pitch,

    tap_slice, tap_row, stride, dilation)`: y[count, outputs] of one row of pixels; `tap_slice,
    tap_row`: elements of the planes from one slice or row of taps to the next; stride and dilation
    are the horizontal ones.
    """
    return Routine(
        f"planar_pixels.{shape.dtype}.{shape.lanes}.{outputs}",
        shape.dtype,
        "ppp" + "i" * 10,
        lambda b, values: _emit_pixels(b, values, shape, outputs),
        shared=True,
    )
