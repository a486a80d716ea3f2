"""Depthwise convolution kernels, 2-D, channels last: every channel by its own taps.

In: a `DepthwiseSpec`. Out: kernel source, and the packing of its weights.

Pixels are computed in groups that share what they load of the taps and of the image; elements
beyond a row of the image count as zeros and are not read. Where channels do not fill vectors and
windows move by one pixel, several pixels side by side are taken as one wide pixel, whose channels
do. With these, and in long rows with few taps, groups are of pixels whose windows lie inside the
image; every other pixel is computed by itself, over the taps that it sees.

Invariant: each output is one chain of multiply-adds over the taps in order, however many pixels
and channels are done side by side; so a group may be moved back over pixels that are done.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

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
)
from flowc.codegen.cpu.packing import Array
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.llvm.vector_ir import (
    Index,
    Routine,
    Value,
    Values,
    advance,
    ceil_div,
    counted_loop,
    element_type,
    index_function,
    index_range,
    indices,
    least,
    load_vector,
    multiply_add,
    offset,
    routine_call,
    store_vector,
)
from flowc.dataclass import dataclass
from flowc.ir.dims import Dim, maximum, minimum
from flowc_runtime.native.writer import i64

PIXELS = 8  # of a group, at most: each multiply-add waits for the one before of its pixel
# With more taps in a row, there are no registers for so many; with few, long rows come too slowly.
FEW_PIXELS, MANY_TAPS, FEW_TAPS, PIXELS_OF_FEW_TAPS = 4, 7, 3, 16
SINGLE_VECTORS = 4  # vectors of channels side by side, for a pixel by itself
FEW_VECTORS = 4  # of channels: with more, what the last one computes twice counts for little
SHORT_ROW = 32  # pixels: of longer rows, parts of all pixels are slower to fetch than whole ones
TAPS_BYTES = 16 << 10  # more of them do not stay in the first cache beside what they are for
BLOCK_BYTES = 384  # of the channels of a pixel: six lines
MOST_UNROLLED = 16  # taps, of a window or a row of it, whose code stands one after another

Taps = tuple[int, int]


@dataclass(frozen=True, slots=True)
class DepthwiseSpec:
    """The structure of a depthwise convolution: the window that it is to be fast for, where that is
    known, and its `stride` and `dilation` along a row.

    `edges`: whether windows of a group may reach beyond the row.
    A group is `pixels` wide pixels, each of which is `repeat` pixels; a vector of it has as many
    lanes as `shape`. Of a pixel by itself a vector has `lanes`, which are at most its channels
    where these are known, and otherwise those of `shape`.
    """

    shape: TileShape
    taps: Taps | None = None
    stride: int = 1
    dilation: int = 1
    repeat: int = 1
    pixels: int = FEW_PIXELS
    edges: bool = False
    lanes: int = 0

    @property
    def span(self) -> int:
        """The pixels of a group."""
        return self.pixels * self.repeat

    @property
    def name(self) -> str:
        window = "x".join(map(str, self.taps or ("any",)))
        steps = f"{self.stride}_{self.dilation}_{self.repeat}x{self.pixels}"
        return f"{window}_{steps}_{self.shape.lanes}_{self.lanes}"


def fitted_to_image(
    spec: DepthwiseSpec, channels: Dim, row: Dim, inside: Dim, wide: bool
) -> DepthwiseSpec:
    """The same for images of that many channels, with `row` pixels in a row of the output, `inside`
    of them with windows inside the image if these move by one pixel. `wide`: weights can be packed
    for wide pixels."""
    lanes = spec.shape.lanes
    if not isinstance(channels, int) or channels < 1:
        return spec
    halves = min(lanes, 1 << channels.bit_length() - 1)
    repeat = lanes // math.gcd(channels, lanes)
    groups = max(0, inside) // repeat if isinstance(inside, int) else FEW_PIXELS
    if wide and spec.stride == 1 and channels < FEW_VECTORS * lanes and repeat > 1 and groups:
        return replace(spec, repeat=repeat, pixels=min(FEW_PIXELS, groups), lanes=halves)
    spec = replace(spec, shape=replace(spec.shape, lanes=halves), lanes=halves)
    return _with_even_groups(spec, row) if isinstance(row, int) and row > 0 else spec


def _with_even_groups(spec: DepthwiseSpec, row: int) -> DepthwiseSpec:
    """A group has as many pixels of a row of so many as its others, as far as it goes."""
    taps = spec.taps[1] if spec.taps else 1
    is_long = taps <= FEW_TAPS and row > PIXELS_OF_FEW_TAPS
    most = FEW_PIXELS if is_long or taps > MANY_TAPS else PIXELS
    return replace(spec, pixels=-(-row // -(-row // most)), edges=not is_long)


def channel_block(spec: DepthwiseSpec, channels: Dim, row: Dim) -> Dim:
    """How many channels all rows are done for before the next ones, where images have rows of so
    many pixels: what the windows share of these, and their taps, stay in the first cache."""
    width = maximum(1, spec.repeat * channels)
    size = spec.shape.dtype.size
    is_short = isinstance(row, int) and row <= SHORT_ROW
    taps = math.prod(spec.taps) if spec.taps else 0
    has_many = isinstance(channels, int) and taps * channels * size > TAPS_BYTES
    if spec.repeat > 1 or not (is_short or has_many):
        return width
    return minimum(width, max(spec.shape.lanes, BLOCK_BYTES // size))


def pack_depthwise(weights: Array, spec: DepthwiseSpec, block: int) -> Array:
    """[kernel_h, kernel_w, channels, 1] -> blocks of channels (see `channel_block`), one after
    another, each [kernel_h, kernel_w, channels of the block]. In other orders taps are as far apart
    as pixels are, so that of 512 channels all stand in few sets of the first cache."""
    taps = np.tile(weights[..., 0], spec.repeat)
    width = taps.shape[-1]
    firsts = [i * block for i in range(max(1, width // block))] if width else []
    parts = zip(firsts, [*firsts[1:], width])
    found = [taps[..., first:last].reshape(-1) for first, last in parts]
    return np.concatenate(found, dtype=spec.shape.dtype.numpy) if found else taps.reshape(-1)


# -- tiles


def _emit_group(b: ir.IRBuilder, args: Values, spec: DepthwiseSpec) -> None:
    """The last vector of channels is moved back to end where the channels end: those it shares with
    the one before are computed twice, to the same values."""
    taps_h, *_, count = indices(b, args[3:])
    lanes = spec.shape.lanes
    with counted_loop(b, count, lanes) as first:
        channel = first.least(count - lanes)
        if spec.taps is None or math.prod(spec.taps) > MOST_UNROLLED:
            _group_sums(b, args, spec, channel)
            return
        with b.if_else(taps_h.compare("==", spec.taps[0])) as (whole, part):
            with whole:
                _group_sums(b, args, spec, channel, rows=spec.taps[0])
            with part:
                _group_sums(b, args, spec, channel)


def _emit_edge(b: ir.IRBuilder, args: Values, spec: DepthwiseSpec) -> None:
    """A group whose windows may reach beyond the row."""
    *group, first, pixels = args
    count = Index(b, group[-1])
    lanes = spec.shape.lanes
    zeros = _cleared_sums(b, spec.shape, lanes, 1)[0]
    row = _Row(zeros, Index(b, first), Index(b, pixels))
    with counted_loop(b, count, lanes) as channel:
        _group_sums(b, group, spec, channel.least(count - lanes), row)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of `pixels` pixels, beside which are `zeros`. A group's windows begin at `first`."""

    zeros: Value
    first: Index
    pixels: Index

    def vector(self, pixel: Index, seen: Value, size: int) -> Value:
        """That of a pixel, counted from `first`, which would stand at `seen`."""
        b, kind = pixel.b, self.zeros.type.pointee
        inside = b.icmp_unsigned("<", (self.first + pixel).value, self.pixels.value)
        place = b.select(inside, seen, b.bitcast(self.zeros, seen.type))
        return load_vector(b, place, kind.count, size)


def _group_sums(
    b: ir.IRBuilder,
    args: Values,
    spec: DepthwiseSpec,
    channel: Index,
    row: _Row | None = None,
    rows: int = 0,
) -> None:
    """One vector of each wide pixel. What several pixels see of the image is loaded once; `row`:
    only where it lies in that. `rows`: of taps, where they stand one after another."""
    y, x, w = args[:3]
    taps_h, taps_w, x_row, x_pixel, width, _ = indices(b, args[3:])
    y_pixel = x_pixel if spec.repeat == 1 else width
    lanes, size = spec.shape.lanes, spec.shape.dtype.size
    sums = _cleared_sums(b, spec.shape, lanes, spec.pixels)
    most = spec.taps[1] if spec.taps else 1
    step = max(n for n in range(1, MOST_UNROLLED + 1) if most % n == 0)

    def add_taps(i: Index, first: Index) -> None:
        taps = offset(w, (i * taps_w + first) * width + channel)
        seen = offset(x, i * x_row + first * spec.dilation * x_pixel + channel)
        factors = [load_vector(b, offset(taps, width * j), lanes, size) for j in range(step)]
        place = lambda p, j: p * spec.repeat * spec.stride + j * spec.dilation
        places = {place(p, j): None for p in range(spec.pixels) for j in range(step)}
        for at in sorted(places):
            pointer = offset(seen, x_pixel * at)
            if row is None:
                value = load_vector(b, pointer, lanes, size)
            else:
                value = row.vector(first * spec.dilation + at, pointer, size)
            for p, total in enumerate(sums):
                for j, factor in enumerate(factors):
                    if place(p, j) == at:
                        b.store(multiply_add(b, value, factor, b.load(total)), total)

    if rows:
        for i in range(rows):
            add_taps(Index(b, i64(i)), Index(b, i64(0)))
    elif spec.taps is not None and step == most:
        with counted_loop(b, taps_h) as i:
            add_taps(i, Index(b, i64(0)))
    else:
        with counted_loop(b, taps_h) as i, counted_loop(b, taps_w, step) as first:
            add_taps(i, first)
    for p, total in enumerate(sums):
        store_vector(b, b.load(total), offset(y, y_pixel * p + channel), size)


def _emit_single(b: ir.IRBuilder, args: Values, spec: DepthwiseSpec) -> None:
    channels = Index(b, args[-1])
    lanes = spec.lanes or spec.shape.lanes
    if spec.lanes:
        _emit_single_vectors(b, args, spec.shape, lanes)
        return
    with b.if_else(channels.compare(">=", lanes)) as (vector, scalar):
        with vector:
            _emit_single_vectors(b, args, spec.shape, lanes)
        with scalar, counted_loop(b, channels) as channel:
            _single_sums(b, args, spec.shape, 1, 1, channel)


def _emit_single_vectors(b: ir.IRBuilder, args: Values, shape: TileShape, lanes: int) -> None:
    """Several vectors at once share the cost of a loop that ends after a few taps."""
    channels = Index(b, args[-1])
    width = SINGLE_VECTORS * lanes
    whole = channels - channels % width
    with counted_loop(b, whole, width) as channel:
        _single_sums(b, args, shape, lanes, SINGLE_VECTORS, channel)
    with index_range(b, whole, channels, lanes) as channel:
        _single_sums(b, args, shape, lanes, 1, channel.least(channels - lanes))


def _single_sums(
    b: ir.IRBuilder, args: Values, shape: TileShape, lanes: int, vectors: int, channel: Index
) -> None:
    """`vectors` vectors of channels of one pixel."""
    y, x, w = args[:3]
    taps_h, taps_w, x_row, x_tap, w_row, w_tap, _ = indices(b, args[3:])
    size = shape.dtype.size
    sums = _cleared_sums(b, shape, lanes, vectors)
    with counted_loop(b, taps_h) as i, counted_loop(b, taps_w) as j:
        taps = offset(w, i * w_row + j * w_tap + channel)
        seen = offset(x, i * x_row + j * x_tap + channel)
        for part, total in enumerate(sums):
            value, factor = (
                load_vector(b, b.gep(pointer, [i64(part * lanes)]), lanes, size)
                for pointer in (seen, taps)
            )
            b.store(multiply_add(b, value, factor, b.load(total)), total)
    for part, total in enumerate(sums):
        store_vector(b, b.load(total), offset(y, channel + part * lanes), size)


def _cleared_sums(b: ir.IRBuilder, shape: TileShape, lanes: int, count: int) -> list[Value]:
    vector = ir.VectorType(element_type(shape.dtype), lanes)
    with b.goto_entry_block():
        sums = [b.alloca(vector) for _ in range(count)]
    for total in sums:
        b.store(ir.Constant(vector, None), total)
    return sums


_GROUP, _EDGE, _SINGLE = "pppiiiiii", "pppiiiiiiii", "pppiiiiiii"


@lru_cache(maxsize=64)
def _routines(spec: DepthwiseSpec) -> dict[str, Routine | None]:
    """`group(y, x, w, taps_h, taps_w, x_row, x_pixel, width, count)`: `count` elements of each wide

    pixel of a group. Taps are `width` elements apart in w, and wide pixels in y, which are as far
    apart as those of x if they are single ones; steps, in elements, go from one tap row and one
    pixel to the next. `edge(..., first, pixels)`: the same at
    the pixel `first` of a row of so many, of which it reads no other. `single(y, x, w, taps_h,
    taps_w, x_row, x_tap, w_row, w_tap, channels)`: one pixel over any part of the window.
    """
    dtype = spec.shape.dtype
    group, edge, single = (
        f"depthwise_{n}_{spec.name}.{dtype}" for n in ("group", "edge", "single")
    )
    return {
        "group": Routine(group, dtype, _GROUP, lambda b, v: _emit_group(b, v, spec)),
        "edge": Routine(edge, dtype, _EDGE, lambda b, v: _emit_edge(b, v, spec))
        if spec.edges
        else None,
        "single": Routine(single, dtype, _SINGLE, lambda b, v: _emit_single(b, v, spec)),
    }


def _emit_first_tap(b: ir.IRBuilder, values: Values) -> Value:
    position, dilation = indices(b, values)
    return (Index(b, i64(0)) - position).most(0).ceil_div(dilation).value


# `first_tap(position, dilation)`: the first tap that reads at 0 or later, where tap 0 reads at
# `position`.
first_tap = index_function("first_tap", _emit_first_tap)


# -- the kernel


# The lines of a kernel: blocks of channels, of these rows, and of these groups of pixels, or single
# ones where a group would not lie inside the row.
_LINES = """
    width = repeat * channels
    x_row = dilation_h * in_w * channels
    reach = (span - 1) * stride_w + (kernel_w - 1) * dilation_w + 1
    if edges:
        groups_begin = 0
        groups_end = out_w
    else:
        groups_begin = ceil_div(pad_w, stride_w)
        last_w = (in_w - 1 - (kernel_w - 1) * dilation_w + pad_w) // stride_w
        groups_end = least(last_w + 1, out_w)
    if groups_end - groups_begin < span or width < lanes:
        groups_end = groups_begin
    blocks = idiv(width, block) if width > block else 1
    for part in range(blocks):
        first = part * block
        count = block if part + 1 < blocks else width - first
        if in_blocks:
            tap_width = count
            taps = advance(weights, first * kernel_h * kernel_w)
        else:
            tap_width = width
            taps = advance(weights, first)
        last = least(first + count, channels)
        behind = blocks - 1 - part
        for row in range(idiv(begin + behind, blocks), idiv(end + behind, blocks)):
            image = idiv(row, out_h)
            first_h = (row - image * out_h) * stride_h - pad_h
            low_h = first_tap(first_h, dilation_h)
            taps_h = least(kernel_h, first_tap(first_h - in_h, dilation_h)) - low_h
            lines = advance(x, (image * in_h + first_h + low_h * dilation_h) * in_w * channels)
            lines = advance(lines, first)
            tap_row = advance(taps, low_h * kernel_w * tap_width)
            pixels = advance(y, row * out_w * channels + first)
            w = 0
            while w < out_w:
                if w >= groups_begin and w < groups_end:
                    w = least(w, groups_end - span)
                    first_w = w * stride_w - pad_w
                    at = advance(pixels, w * channels)
                    seen = advance(lines, first_w * channels)
                    if not edges or (first_w >= 0 and first_w + reach <= in_w):
                        call_group(
                            group, at, seen, tap_row, taps_h, kernel_w, x_row, channels,
                            tap_width, count)
                    else:
                        call_edge(
                            edge, at, seen, tap_row, taps_h, kernel_w, x_row, channels,
                            tap_width, count, first_w, in_w)
                    w += span
                else:
                    first_w = w * stride_w - pad_w
                    low_w = first_tap(first_w, dilation_w)
                    high_w = least(kernel_w, first_tap(first_w - in_w, dilation_w))
                    call_single(
                        single, advance(pixels, w * channels),
                        advance(lines, (first_w + low_w * dilation_w) * channels),
                        advance(tap_row, low_w * tap_width),
                        taps_h, high_w - low_w, x_row, dilation_w * channels,
                        kernel_w * tap_width, tap_width, least(count, channels))
                    w += 1
    """


def depthwise_source(
    spec: DepthwiseSpec,
    epilogue: EpilogueLines = no_epilogue,
    *,
    name: str = "depthwise",
    extra: Sequence[Argument] = (),
) -> ContractionSource:
    """y[batch, out_h, out_w, channels]: every channel by its own taps, packed by `pack_depthwise`
    (`in_blocks` is 1), or [kernel_h, kernel_w, channels] (0).

    A channel multiplier above 1 is a `conv_source` with one group to a channel. Arguments: `x,
    weights, y` and the pointers of `extra`; `batch`; per axis `in out kernel stride dilation pad`;
    `channels`, `block` (see `channel_block`), `in_blocks`; the indices of `extra`; `begin,
    end`. A task is a block of channels of one row of output pixels; of the tasks that it has, a
    worker does all rows for one block before the next.
    """
    sizes = [f"{n}_{a}" for n in ("in", "out", "kernel", "stride", "dilation", "pad") for a in "hw"]
    numbers = ["batch", *sizes, "channels", "block", "in_blocks"]
    arguments = arguments_of(spec.shape, "x weights y", numbers, extra)
    finish = epilogue(12, ("row * out_w", "(row + 1) * out_w"), ("first", "last"))
    fixed = {"edges": int(spec.edges), "repeat": spec.repeat, "span": spec.span}
    bound = _routines(spec) | fixed | {"lanes": spec.shape.lanes}
    text = function_text(name, arguments, indented(_LINES, 4), *finish, bound=bound)
    known = {"advance": advance, "least": least, "ceil_div": ceil_div, "first_tap": first_tap}
    calls = {"call_group": _GROUP, "call_edge": _EDGE, "call_single": _SINGLE}
    known |= {name: routine_call(spec.shape.dtype, kinds) for name, kinds in calls.items()}
    tasks = f"batch * out_h * max(1, {spec.repeat} * channels // block)"
    return ContractionSource(name, text, arguments, tasks, 0, known, bound=bound)
