"""Winograd convolutions: small windows, with fewer multiplications.

Of a volume the algorithm is that of images: what the taps of the depth see are more channels. So
are those of the sections of a larger window, of which each sees the pixels a section further; taps
that the last of them has too many are zeros. With a dilation of d, every d-th pixel belongs to an
image of its own: tiles hold pixels d apart, and d neighbours are tiles side by side.

In: a `WinogradSpec` (structure only; sizes are run-time arguments). Out: kernel source.

A task is a block of tiles, or one of the `parts` of a block, x a block of output channels. Its
tiles of the input are transformed into scratch, once for the tasks in a row that share them; at
each position of the transform they are multiplied with the weights that belong there, by the
register tiles of every contraction, together with the next parts of the same block; then the
products become tiles of the result, and the epilogue runs over them while they are in cache.

Invariant: an element of the result depends on its own tile only, and its sums are one chain of
multiply-adds a position, in the order of the channels, however tasks are shared out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir

from flowc.codegen.cpu.block_copy import zero_run_routine
from flowc.codegen.cpu.blocked import (
    Argument,
    ContractionSource,
    EpilogueLines,
    RowCut,
    arguments_of,
    function_text,
    indented,
    no_epilogue,
    parts,
    per_axis,
)
from flowc.codegen.cpu.packing import pack_gemm_b
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.cpu.tiles import clear_rows_read, panels_routine
from flowc.codegen.cpu.winograd.transforms import Array, Winograd
from flowc.codegen.llvm.vector_ir import (
    Counter,
    Index,
    Routine,
    Value,
    Values,
    advance,
    ceil_div,
    counted_loop,
    index_range,
    indices,
    least,
    load_vector,
    offset,
    store_vector,
    while_positive,
)
from flowc.codegen.packed import Packed, packed_in_a_row
from flowc.dataclass import dataclass
from flowc_runtime.native.writer import i64

COLUMNS = 32  # output channels of one task, at most: whole panels
TILES = 28  # tiles of one task, at most: they share each load of the weights
TASKS = 16  # are enough for threads: the weights at all positions are many to be read again
CACHE_LINE = 64
TRANSFORMED_AT_ONCE = 768  # weights of a tap: of 36 positions, 220 kB


@dataclass(frozen=True, slots=True)
class WinogradSpec:
    """A Winograd convolution by register tiles of a `shape`."""

    shape: TileShape
    winograd: Winograd  # of one section of the window
    sections: tuple[int, int] = (1, 1)  # along the height and the width

    @property
    def sections_in_all(self) -> int:
        return self.sections[0] * self.sections[1]

    @property
    def tiles(self) -> int:
        """Tiles of one task, at most."""
        return TILES // self.shape.rows * self.shape.rows

    @property
    def part_tiles(self) -> int:
        """Tiles of a part of them, of which there is a whole number in a task of all: as many as
        half a register tile has rows, where that is still as fast."""
        return self.shape.rows if self.shape.rows < 8 else self.shape.rows // 2

    @property
    def input_stride(self) -> int:
        """Elements from one position to the next of the transformed input."""
        return self.tiles * self.shape.row_stride

    @property
    def product_stride(self) -> int:
        """Elements from one position to the next of the products. A cache line more than there are
        keeps what is read together out of the same sets."""
        return self.tiles * COLUMNS + CACHE_LINE // self.shape.dtype.size

    def scratch_elements(self, channels: int) -> int:
        """Zeros, the products and the transformed input, in blocks of channels, behind which a tile
        of the last part reads."""
        blocks = -(-channels // self.shape.depth)
        positions = self.winograd.positions
        inputs = blocks * positions * self.input_stride + self.shape.rows * self.shape.row_stride
        return channels + COLUMNS + positions * self.product_stride + inputs


def pack_winograd_weights(weights: Array, spec: WinogradSpec) -> Packed:
    """[*window, channels, n] -> for each block of `COLUMNS` outputs [positions, panels, channels,
    columns], as tasks read them, flat; the taps of the depth and the sections are more channels."""
    weights = _in_sections(weights, spec)
    blocks = range(0, weights.shape[-1], COLUMNS)
    return packed_in_a_row([_packed_block(weights[..., n : n + COLUMNS], spec) for n in blocks])


def _in_sections(weights: Array, spec: WinogradSpec) -> Array:
    """[*window, channels, n] -> [*section, depth * sections * channels, n]"""
    *taps_d, height, width, channels, n = weights.shape
    (h, w), (window_h, window_w) = spec.sections, (spec.winograd.h.window, spec.winograd.w.window)
    depth = taps_d[0] if taps_d else 1
    whole = weights.reshape(depth, height, width, channels, n)
    missing = (0, h * window_h - height), (0, w * window_w - width)
    if missing != ((0, 0), (0, 0)):
        whole = np.pad(whole, ((0, 0), *missing, (0, 0), (0, 0)))
    cut = whole.reshape(depth, h, window_h, w, window_w, channels, n)
    return cut.transpose(2, 4, 0, 1, 3, 5, 6).reshape(window_h, window_w, -1, n)


def _packed_block(weights: Array, spec: WinogradSpec) -> Packed:
    """Those of one block of outputs. A few channels at a time, so that what is wide, before it is
    rounded, stays in the caches."""
    winograd, shape, (channels, n) = spec.winograd, spec.shape, weights.shape[-2:]
    rows = max(1, TRANSFORMED_AT_ONCE // n)
    dims = (winograd.positions, -(-n // shape.columns), channels, shape.columns)

    def fill(packed: Array) -> None:
        for c in range(0, channels, rows):
            found = winograd.transformed_weights(weights[..., c : c + rows, :])
            pack_gemm_b(found, shape).fill(packed[..., c : c + rows, :])

    return Packed(dims, np.dtype(shape.dtype.numpy), fill)


Pair = tuple[Index, Index]  # of the height and the width


class _Place:
    """Where the first output of a tile stands in the images of a batch."""

    def __init__(self, tile: Index, tiles: Pair, dilations: Pair, winograd: Winograd) -> None:
        tiles_h, tiles_w = tiles
        line = tile // tiles_w
        self.image = line // tiles_h
        self.h = _first(line - self.image * tiles_h, dilations[0], winograd.h.outputs)
        self.w = _first(tile - line * tiles_w, dilations[1], winograd.w.outputs)


def _first(tile: Index, dilation: Index, outputs: int) -> Index:
    return tile + tile // dilation * dilation * (outputs - 1)


def _elements(
    b: ir.IRBuilder,
    table: Value,
    sides: tuple[int, int],
    start: Value,
    first: tuple[Index, Index, Index],
    sizes: Pair,
    apart: Pair,
    stride: Index,
    elsewhere: Value,
    is_there: Value | None = None,
) -> None:
    """Writes pointers to a rectangle of pixels that are so far `apart`, `elsewhere` for those that
    there are not, which all are unless the slice `is_there`."""
    image, h, w = first
    height, width = sizes
    places = [w + apart[1] * j for j in range(sides[1])]
    columns = [b.icmp_unsigned("<", place.value, width.value) for place in places]
    for i in range(sides[0]):
        place_h = h + apart[0] * i
        row = b.icmp_unsigned("<", place_h.value, height.value)
        row = row if is_there is None else b.and_(row, is_there)
        line = (image * height + place_h) * width
        for j in range(sides[1]):
            there = offset(start, (line + places[j]) * stride)
            chosen = b.select(b.and_(row, columns[j]), there, elsewhere)
            b.store(chosen, b.gep(table, [i64(i * sides[1] + j)]))


def _emit_input(b: ir.IRBuilder, args: Values, spec: WinogradSpec) -> None:
    inputs, zeros, x = args[:3]
    begin, end, in_h, in_w, tiles_h, tiles_w, pad_h, pad_w, *rest = indices(b, args[3:])
    channels, stride, in_d, out_d, kernel_d, stride_d, dilation_d, pad_d, n, *dilations = rest
    apart = dilations[0], dilations[1]
    shape, winograd = spec.shape, spec.winograd
    lanes, size, sides = shape.lanes, shape.dtype.size, (winograd.h.side, winograd.w.side)
    with b.goto_entry_block():
        table = b.alloca(x.type, i64(winograd.positions))
    taps = kernel_d * spec.sections_in_all
    _, step = _channel_blocks(taps * channels, shape)
    to_next_block = winograd.positions * spec.input_stride - step
    # What is left of a block of channels, and of those of a slice, and where the next stand.
    left, unseen, at = Counter(b, 0), Counter(b, 0), Counter(b, 0)
    with index_range(b, begin, end) as tile:
        place = _Place(tile, (tiles_h, tiles_w), apart, winograd)
        top, left_side = place.h * winograd.h.stride - pad_h, place.w * winograd.w.stride - pad_w
        volume = place.image // out_d
        first_slice = (place.image - volume * out_d) * stride_d - pad_d
        left.set(step)
        at.set((tile - begin) * shape.row_stride)
        with counted_loop(b, taps) as tap:
            tap_d, *corner = _seen_first(tap, (top, left_side), spec, apart)
            slice_ = first_slice + tap_d * dilation_d
            is_there = b.icmp_unsigned("<", slice_.value, in_d.value)
            first = (volume * in_d + slice_, corner[0], corner[1])
            _elements(b, table, sides, x, first, (in_h, in_w), apart, stride, zeros, is_there)
            unseen.set(channels)
            with while_positive(b, unseen):
                count = unseen.get().least(left.get())
                before, row = channels - unseen.get(), offset(inputs, at.get())
                with counted_loop(b, count, lanes) as c:
                    channel = before + c
                    starts = [b.load(b.gep(table, [i64(p)])) for p in range(winograd.positions)]
                    elements = [load_vector(b, offset(p, channel), lanes, size) for p in starts]
                    columns = [elements[j :: sides[1]] for j in range(sides[1])]
                    target = offset(row, c)
                    for p, value in enumerate(winograd.emit_input(b, columns)):
                        place_of = b.gep(target, [i64(p * spec.input_stride)])
                        store_vector(b, value, place_of, size)
                at.add(count)
                with b.if_then(count.compare("==", left.get())):
                    at.add(to_next_block)
                    left.set(step + count)
                left.set(left.get() - count)
                unseen.set(unseen.get() - count)
    blocks, _ = _channel_blocks(taps * channels, shape)
    with counted_loop(b, blocks * winograd.positions) as block:
        place = offset(inputs, block * spec.input_stride)
        clear_rows_read(b, place, end - begin, n, shape)


def _seen_first(
    tap: Index, corner: Pair, spec: WinogradSpec, apart: Pair
) -> tuple[Index, Index, Index]:
    """Of a tap of the depth and a section, as one number: that tap, and the first pixel that the
    section sees of a tile, whose first section sees `corner`."""
    (h, w), winograd = spec.sections, spec.winograd
    if spec.sections_in_all == 1:
        return tap, *corner
    line = tap // w
    tap_d = line // h
    down, right = (line - tap_d * h) * winograd.h.window, (tap - line * w) * winograd.w.window
    return tap_d, corner[0] + apart[0] * down, corner[1] + apart[1] * right


def _channel_blocks(channels: Index, shape: TileShape) -> tuple[Index, Index]:
    """How many blocks of channels there are, and how many channels they have, whole vectors."""
    blocks = channels.ceil_div(shape.depth).most(1)
    return blocks, channels.ceil_div(blocks).ceil_div(shape.lanes) * shape.lanes


def _emit_products(b: ir.IRBuilder, args: Values, spec: WinogradSpec) -> None:
    products, inputs, weights = args[:3]
    tiles, channels, column_begin, column_end = indices(b, args[3:])
    shape, positions = spec.shape, spec.winograd.positions
    blocks, step = _channel_blocks(channels, shape)
    zero = Index(b, i64(0))
    width = column_end - column_begin
    panels = width.ceil_div(shape.columns) * shape.columns * channels
    with counted_loop(b, Index(b, i64(positions))) as position, counted_loop(b, blocks) as block:
        first = block * step
        source = offset(inputs, (block * positions + position) * spec.input_stride)
        panel = column_begin * positions * channels + position * panels + first * shape.columns
        panels_routine(shape).call(
            b,
            source,
            offset(weights, panel),
            offset(products, position * spec.product_stride),
            channels,
            (channels - first).least(step),
            COLUMNS,
            zero,
            tiles,
            zero,
            width,
            block,
        )


def _emit_output(b: ir.IRBuilder, args: Values, spec: WinogradSpec) -> None:
    products, dump, y = args[:3]
    begin, end, out_h, out_w, tiles_h, tiles_w, stride, width, *dilations = indices(b, args[3:])
    apart = dilations[0], dilations[1]
    shape, winograd = spec.shape, spec.winograd
    lanes, size, outputs = shape.lanes, shape.dtype.size, (winograd.h.outputs, winograd.w.outputs)
    with b.goto_entry_block():
        table = b.alloca(y.type, i64(outputs[0] * outputs[1]))
    with index_range(b, begin, end) as tile:
        place = _Place(tile, (tiles_h, tiles_w), apart, winograd)
        first = (place.image, place.h, place.w)
        _elements(b, table, outputs, y, first, (out_h, out_w), apart, stride, dump)
        row = offset(products, (tile - begin) * COLUMNS)
        with counted_loop(b, width, lanes) as c:
            source = offset(row, c)
            places = range(0, winograd.positions * spec.product_stride, spec.product_stride)
            values = [load_vector(b, b.gep(source, [i64(p)]), lanes, size) for p in places]
            columns = [values[j :: winograd.w.side] for j in range(winograd.w.side)]
            for i, value in enumerate(winograd.emit_output(b, columns)):
                at = b.load(b.gep(table, [i64(i)]))
                store_vector(b, value, offset(at, c), size)


def winograd_source(
    spec: WinogradSpec,
    channels: int,
    epilogue: EpilogueLines = no_epilogue,
    *,
    name: str = "winograd",
    extra: Sequence[Argument] = (),
) -> ContractionSource:
    """y[batch, out_d, out_h, out_w, n] = x convolved with weights packed by
    `pack_winograd_weights`. An image is a volume of one slice.

    Channels of the input and `n` are multiples of `shape.lanes`; `channels`: those that all taps of
    the depth and sections see. Arguments: `x, weights, y, scratch` and the pointers of `extra`;
    `batch`; per axis `in out pad dilation` (`pad`: zeros before the first element); `kernel_d
    stride_d`; `channels` (of the input) `n`; `parts`; `x_stride` and `c_stride` (elements from one
    pixel to the next); the indices of `extra`; `begin, end`.
    """
    shape, winograd = spec.shape, spec.winograd
    sizes = [*per_axis("dhw", "in", "out", "pad", "dilation"), "kernel_d", "stride_d"]
    names = ["batch", *sizes, "channels", "n", "parts", "x_stride", "c_stride"]
    arguments = arguments_of(shape, "x weights y scratch", names, extra)
    h, w, suffix = winograd.h.outputs, winograd.w.outputs, _suffix(spec)
    products = winograd.positions * spec.product_stride
    body = f"""
        products = as_{shape.dtype}_pointer(scratch)
        dump = advance(products, {products})
        zeros = advance(dump, {COLUMNS})
        inputs = advance(zeros, channels)
        zero_run(zeros, channels)
        tiles_h = dilation_h * ceil_div(ceil_div(out_h, dilation_h), {h})
        tiles_w = dilation_w * ceil_div(ceil_div(out_w, dilation_w), {w})
        tiles = batch * out_d * tiles_h * tiles_w
        tile_blocks = ceil_div(tiles, {spec.tiles})
        per_block = ceil_div(ceil_div(tiles, tile_blocks), {spec.part_tiles}) * {spec.part_tiles}
        per_part = ceil_div(ceil_div(per_block, parts), {spec.part_tiles}) * {spec.part_tiles}
        column_blocks = ceil_div(n, {COLUMNS})
        known_first = 0
        known_last = 0
        task = begin
        while task < end:
            tile_block = idiv(task, column_blocks * parts)
            place = task - tile_block * (column_blocks * parts)
            column_block = idiv(place, parts)
            part = place - column_block * parts
            count = least(parts - part, end - task)
            task += count
            block_first = tile_block * per_block
            block_last = least(block_first + per_block, tiles)
            first = least(block_first + part * per_part, block_last)
            last = least(block_first + (part + count) * per_part, block_last)
            column_begin = column_block * {COLUMNS}
            column_end = least(column_begin + {COLUMNS}, n)
            if first < known_first or last > known_last:
                known_first = first
                known_last = last
                if task < end and column_block + 1 < column_blocks:
                    known_first = block_first
                    known_last = block_last
                winograd_input_{suffix}(
                    inputs, zeros, x, known_first, known_last, in_h, in_w, tiles_h, tiles_w,
                    pad_h, pad_w, channels, x_stride, in_d, out_d, kernel_d, stride_d, dilation_d,
                    pad_d, n, dilation_h, dilation_w)
            winograd_products_{suffix}(
                products, advance(inputs, (first - known_first) * {shape.row_stride}), weights,
                last - first, {spec.sections_in_all} * kernel_d * channels, column_begin,
                column_end)
            winograd_output_{suffix}(
                products, dump, advance(y, column_begin), first, last, out_h, out_w, tiles_h,
                tiles_w, c_stride, column_end - column_begin, dilation_h, dilation_w)
        """
    text = function_text(name, arguments, indented(body, 4), *_finished_pixels(winograd, epilogue))
    rows = f"(batch * out_d * {_tiles('h', h)} * {_tiles('w', w)})"
    tasks = f"{parts(rows, spec.tiles)} * {parts('n', COLUMNS)} * parts"
    scratch = spec.scratch_elements(channels) * shape.dtype.size
    cut = RowCut(rows, spec.tiles, spec.part_tiles, enough=TASKS)
    return ContractionSource(name, text, arguments, tasks, scratch, _symbols(spec), cut)


def _tiles(axis: str, outputs: int) -> str:
    of_phase = f"((out_{axis} + dilation_{axis} - 1) // dilation_{axis})"
    return f"(dilation_{axis} * {parts(of_phase, outputs)})"


def _finished_pixels(winograd: Winograd, epilogue: EpilogueLines) -> Sequence[str]:
    """Lines that run the epilogue over the pixels of a block of tiles, row by row of the images:
    over those of neighbours at once, unless pixels of a tile are apart."""
    h, w = winograd.h.outputs, winograd.w.outputs
    rows = "line + i", "line + least(i + run, out_w)"
    finish = epilogue(20, rows, ("column_begin", "column_end"))
    if not finish:
        return ()
    walk = f"""
        tile = first
        while tile < last:
            tile_row = idiv(tile, tiles_w)
            tile_column = tile - tile_row * tiles_w
            left = tile_column + idiv(tile_column, dilation_w) * dilation_w * {w - 1}
            right = least(left + dilation_w * {w}, out_w)
            count = 1
            run = 1
            if dilation_w == 1:
                count = least(last - tile, tiles_w - tile_column)
                run = count * {w}
                right = least(left + run, out_w)
            image = idiv(tile_row, tiles_h)
            top = tile_row - image * tiles_h
            top += idiv(top, dilation_h) * dilation_h * {h - 1}
            for h in range(top, least(top + {h} * dilation_h, out_h), dilation_h):
                line = (image * out_h + h) * out_w
                for i in range(left, right, run * dilation_w):
        """
    return [indented(walk, 8), *finish, " " * 12 + "tile += count"]


@lru_cache(maxsize=64)
def _symbols(spec: WinogradSpec) -> dict[str, Any]:
    suffix = _suffix(spec)
    return {
        "advance": advance,
        "least": least,
        "ceil_div": ceil_div,
        "zero_run": zero_run_routine(spec.shape).function,
        f"winograd_input_{suffix}": _routine(spec, _input(spec), "ppp" + "i" * 19, _emit_input),
        f"winograd_products_{suffix}": _routine(spec, "products", "pppiiii", _emit_products),
        f"winograd_output_{suffix}": _routine(spec, "output", "ppp" + "i" * 10, _emit_output),
    }


def _routine(
    spec: WinogradSpec,
    name: str,
    kinds: str,
    emit: Callable[[ir.IRBuilder, Values, WinogradSpec], None],
) -> Any:
    shape = spec.shape
    full = f"winograd_{name}.{shape.name}.{spec.winograd.name}"
    shared = name != "products"  # a loop that calls what is shared
    return Routine(full, shape.dtype, kinds, lambda b, v: emit(b, v, spec), shared).function


def _input(spec: WinogradSpec) -> str:
    """The name of the only routine that knows of sections."""
    return (
        "input" if spec.sections_in_all == 1 else f"input_in_{spec.sections[0]}x{spec.sections[1]}"
    )


def _suffix(spec: WinogradSpec) -> str:
    return f"{spec.winograd.name}_{spec.shape.rows}x{spec.shape.columns}"
