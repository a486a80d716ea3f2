"""Native kernels of pooling, channels last.

In: row-major [batch, depth, height, width, channels] (depth 1 for images), the window as int64
arguments. Out: [batch, out_depth, out_height, out_width, channels]. Invariant: a worker writes only
the output rows (batch, depth, height) of its share [begin, end). Taps run outside and channels
inside, so that the inner loop is contiguous and vectorises. Means of large windows, or of few
channels, are of sums of rows of the image and of neighbours in these: k + k additions an element
instead of k x k, in loops over all of a row, beside which zeros stand for what is no element.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flowc.ir.dims import Dim, maximum
from flowc.ir.lowering import ByColumns, ByThreads, Native, on_gpu
from flowc.ir.types import Dims

if TYPE_CHECKING:
    from flowc.ops.nn.convolution_window import SlidingWindow

    # Globals that the compiler gives to kernels; `elem` is the cast to the elements' dtype.
    elem: Any = None
    offset: Any = None
    as_elem_pointer: Any = None

# Set through `Native.constants`.
MEAN = False
START: Any = 0  # of a maximum the lowest number
# Of `mean_pool`: the bytes of an element, and of how few channels sums at all places are sooner
# there than those at every second one.
SIZE, FEW_CHANNELS = 4, 32


def window(first: int, size: int, limit: int) -> Any:
    """The part of a window that lies inside the image: from its first tap to behind its last."""
    last = limit if first + size > limit else first + size
    return 0 if first < 0 else first, last


def place_of(row: int, out_d: int, out_h: int) -> Any:
    """The batch, depth and height of a row of the output."""
    plane = row // out_h
    return plane // out_d, plane % out_d, row % out_h


def clear(dx: Any, batch: int, pixels: int, channels: int) -> None:
    for pixel in range(batch * pixels, batch * pixels + pixels):
        for c in range(channels):
            dx[pixel * channels + c] = elem(0)


@on_gpu(ByColumns("channels"))
def pool(
    x: Any, y: Any,
    depth: int, height: int, width: int, channels: int, out_d: int, out_h: int, out_w: int,
    kd: int, kh: int, kw: int, sd: int, sh: int, sw: int, front: int, top: int, left: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    """The maximum, or the mean, of the elements inside the image: padding is neither added nor
    counted. A NaN never wins, as `v > best` is false for it; a window of NaNs gives the lowest
    number."""
    for row in range(begin, end):
        batch, od, oh = place_of(row, out_d, out_h)
        d0, d1 = window(od * sd - front, kd, depth)
        h0, h1 = window(oh * sh - top, kh, height)
        for ow in range(out_w):
            w0, w1 = window(ow * sw - left, kw, width)
            out = (row * out_w + ow) * channels
            for c in range(channels):
                y[out + c] = START
            for d in range(d0, d1):
                for h in range(h0, h1):
                    at = (((batch * depth + d) * height + h) * width + w0) * channels
                    w = w0
                    # Three taps at a time spare two thirds of the loads and stores of y.
                    while w + 3 <= w1 if MEAN else w < w1:
                        # Of a maximum a tap may be taken twice.
                        right = at + channels if MEAN or w + 1 < w1 else at
                        far = right + channels if MEAN or w + 2 < w1 else right
                        for c in range(channels):
                            held = y[out + c]
                            if MEAN:
                                held = ((held + x[at + c]) + x[right + c]) + x[far + c]
                            else:
                                held = x[at + c] if x[at + c] > held else held
                                held = x[right + c] if x[right + c] > held else held
                                held = x[far + c] if x[far + c] > held else held
                            y[out + c] = held
                        at = far + channels
                        w += 3
                    if MEAN:
                        while w < w1:
                            for c in range(channels):
                                y[out + c] = y[out + c] + x[at + c]
                            at += channels
                            w += 1
            if MEAN:
                count = elem((d1 - d0) * (h1 - h0) * (w1 - w0))
                for c in range(channels):
                    y[out + c] = y[out + c] / count


def add_terms(
    x: Any, y: Any, at: int, place: int, terms: int, apart: int, count: int, begun: bool
) -> None:
    """To `count` elements of y the neighbours of x from `at` on, `terms` of them, so far apart;
    where y has not `begun`, it is zeros."""
    term = 0
    while term + 3 <= terms:
        first = at + term * apart
        second = first + apart
        third = second + apart
        for i in range(count):
            held = y[place + i] if begun else elem(0)
            y[place + i] = ((held + x[first + i]) + x[second + i]) + x[third + i]
        begun = True
        term += 3
    if term + 2 <= terms:
        first = at + term * apart
        second = first + apart
        for i in range(count):
            held = y[place + i] if begun else elem(0)
            y[place + i] = (held + x[first + i]) + x[second + i]
        begun = True
        term += 2
    if term < terms:
        first = at + term * apart
        for i in range(count):
            held = y[place + i] if begun else elem(0)
            y[place + i] = held + x[first + i]


def elements_of_line(dims: Dims, window: SlidingWindow) -> Dim:
    """Of a row of the image with zeros beside it, or of sums at as many places."""
    taps, out_w, stride = window.sizes[-1], window.output[-1], window.strides[-1]
    return (maximum(dims[-2], out_w * stride) + taps) * dims[-1]


def is_sooner_by_lines(dims: Dims, window: SlidingWindow) -> bool:
    """Whether what results take of loads and stores is less by far: by taps, three of which are
    added at a time to what a row of them has in memory, or by sums of rows and of their neighbours.
    """
    *_, width, channels = dims
    (*_, kh, kw), out_w, stride = window.sizes, window.output[-1], window.strides[-1]
    if not (isinstance(kh, int) and isinstance(kw, int) and isinstance(channels, int)):
        return True
    if channels < FEW_CHANNELS:
        return True
    columns, results = stride if isinstance(stride, int) else 1, 1
    if isinstance(width, int) and isinstance(out_w, int):
        columns, results = width, out_w
    of_rows, of_neighbours = (k + 2 * -(-k // 3) for k in (kh, kw))
    by_sums = columns * (of_rows - 1) + results * (of_neighbours - 1)
    return 2 * results * kh * of_neighbours > 3 * by_sums


def by_lines(taps: Native, line: Dim, size: int) -> Native:
    """What does the same as `taps`, with lines of so many elements of `size` bytes."""
    numbers = {"SIZE": size, "FEW_CHANNELS": FEW_CHANNELS}
    constants = {**taps.constants, **numbers}
    return replace(taps, kernel=mean_pool, scratch=2 * line * size, constants=constants)


def _of_gpu(native: Native) -> Native:
    return replace(native, kernel=pool, scratch=0)


@on_gpu(ByThreads(_of_gpu))
def mean_pool(
    x: Any, y: Any, scratch: Any,
    depth: int, height: int, width: int, channels: int, out_d: int, out_h: int, out_w: int,
    kd: int, kh: int, kw: int, sd: int, sh: int, sw: int, front: int, top: int, left: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    """The mean of the elements inside the image."""
    places = width if width > out_w * sw else out_w * sw
    seen = (places + kw) * channels
    line = as_elem_pointer(scratch)
    sums = as_elem_pointer(offset(scratch, seen * SIZE))
    for i in range(seen if begin < end else 0):
        line[i] = elem(0)
    # Sums at each place of a row, of which some are taken, or at those of a stride alone.
    everywhere = sw == 1 or channels < FEW_CHANNELS
    pieces = 1 if everywhere else out_w
    piece = ((out_w - 1) * sw + 1) * channels if everywhere else channels
    step = sw * channels if everywhere else channels
    # The pixels whose windows lie inside the row.
    low = (left + sw - 1) // sw
    high = (width + left - kw) // sw + 1 if width + left >= kw else 0
    high = out_w if high > out_w else high
    low = high if low > high else low
    for row in range(begin, end):
        batch, od, oh = place_of(row, out_d, out_h)
        d0, d1 = window(od * sd - front, kd, depth)
        h0, h1 = window(oh * sh - top, kh, height)
        # Sums of the rows of each slice of the image, then of neighbours in these: there is one
        # place where terms are added, as its loops take LLVM long.
        slices = d1 - d0
        for n in range(slices + pieces):
            source, target = x, line
            at = ((batch * depth + d0 + n) * height + h0) * width * channels
            place = left * channels
            terms, apart, count = h1 - h0, width * channels, width * channels
            if n >= slices:
                source, target = line, sums
                at = (n - slices) * sw * channels
                place = (n - slices) * channels
                terms, apart, count = kw, channels, piece
            add_terms(source, target, at, place, terms, apart, count, 0 < n < slices)
        rows = (d1 - d0) * (h1 - h0)
        whole = elem(rows * kw)
        out = row * out_w * channels
        inside = (high - low) * channels if step == channels else 0
        for i in range(low * channels, low * channels + inside):
            y[out + i] = sums[i] / whole
        for ow in range(out_w):
            if ow < low or ow >= high or step != channels:
                w0, w1 = window(ow * sw - left, kw, width)
                seen_there = elem(rows * (w1 - w0))
                for c in range(channels):
                    y[out + ow * channels + c] = sums[ow * step + c] / seen_there


@on_gpu(ByColumns("channels"))
def max_pool_with_argmax(
    x: Any, y: Any, argmax: Any,
    depth: int, height: int, width: int, channels: int, out_d: int, out_h: int, out_w: int,
    kd: int, kh: int, kw: int, sd: int, sh: int, sw: int, front: int, top: int, left: int,
    include_batch: int, begin: int, end: int,
) -> None:  # fmt: skip
    """Max pooling of images, and the flat position of each maximum: the first of equals. A NaN wins
    only as the first."""
    for row in range(begin, end):
        oh = row % out_h
        batch = row // out_h
        h0, h1 = window(oh * sh - top, kh, height)
        counted = batch if include_batch else 0
        for ow in range(out_w):
            w0, w1 = window(ow * sw - left, kw, width)
            out = (row * out_w + ow) * channels
            first = ((batch * height + h0) * width + w0) * channels
            shown = ((counted * height + h0) * width + w0) * channels
            for c in range(channels):
                y[out + c] = x[first + c]
                argmax[out + c] = shown + c
            for h in range(h0, h1):
                for w in range(w0, w1):
                    at = ((batch * height + h) * width + w) * channels
                    shown = ((counted * height + h) * width + w) * channels
                    for c in range(channels):
                        if x[at + c] > y[out + c]:
                            y[out + c] = x[at + c]
                            argmax[out + c] = shown + c


@on_gpu(ByColumns("channels"))
def max_pool_grad(
    x: Any, pooled: Any, dy: Any, dx: Any,
    depth: int, height: int, width: int, channels: int, out_d: int, out_h: int, out_w: int,
    kd: int, kh: int, kw: int, sd: int, sh: int, sw: int, front: int, top: int, left: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    """Gives each window's gradient to the first element that equals its maximum.

    Runs over batches, since windows overlap. `pooled` only confirms the shape: the maximum is
    recomputed, so that its place is found in the same order as the forward kernel finds it. Windows
    of 2 x 2 write all they see instead, which takes a quarter of the time: channels side by side.
    """
    pixels = depth * height * width
    for batch in range(begin, end):
        clear(dx, batch, pixels, channels)
        for od in range(out_d):
            d0, d1 = window(od * sd - front, kd, depth)
            for oh in range(out_h):
                h0, h1 = window(oh * sh - top, kh, height)
                for ow in range(out_w):
                    w0, w1 = window(ow * sw - left, kw, width)
                    out = (((batch * out_d + od) * out_h + oh) * out_w + ow) * channels
                    if d1 - d0 == 1 and h1 - h0 == 2 and w1 - w0 == 2:
                        first = (((batch * depth + d0) * height + h0) * width + w0) * channels
                        line = width * channels
                        for c in range(channels):
                            i = first + c
                            best = x[i]
                            second = x[i + channels] > best
                            best = x[i + channels] if second else best
                            third = x[i + line] > best
                            best = x[i + line] if third else best
                            fourth = x[i + line + channels] > best
                            left_over = dy[out + c]
                            dx[i + line + channels] += left_over if fourth else elem(0)
                            left_over = elem(0) if fourth else left_over
                            dx[i + line] += left_over if third else elem(0)
                            left_over = elem(0) if third else left_over
                            dx[i + channels] += left_over if second else elem(0)
                            dx[i] += elem(0) if second else left_over
                        continue
                    for c in range(channels):
                        place = (((batch * depth + d0) * height + h0) * width + w0) * channels + c
                        best = x[place]
                        for d in range(d0, d1):
                            for h in range(h0, h1):
                                line = ((batch * depth + d) * height + h) * width
                                for w in range(w0, w1):
                                    at = (line + w) * channels + c
                                    if x[at] > best:
                                        best = x[at]
                                        place = at
                        dx[place] += dy[out + c]


@on_gpu(ByColumns("channels"))
def max_pool_equal_grad(
    x: Any, pooled: Any, dy: Any, dx: Any,
    depth: int, height: int, width: int, channels: int, out_d: int, out_h: int, out_w: int,
    kd: int, kh: int, kw: int, sd: int, sh: int, sw: int, front: int, top: int, left: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    """Gives each window's gradient to every element that equals what `pooled` says."""
    pixels = depth * height * width
    for batch in range(begin, end):
        clear(dx, batch, pixels, channels)
        for place in range(out_d * out_h * out_w):
            d0, d1 = window(place // (out_h * out_w) * sd - front, kd, depth)
            h0, h1 = window(place // out_w % out_h * sh - top, kh, height)
            w0, w1 = window(place % out_w * sw - left, kw, width)
            out = (batch * out_d * out_h * out_w + place) * channels
            for d in range(d0, d1):
                for h in range(h0, h1):
                    line = ((batch * depth + d) * height + h) * width
                    for w in range(w0, w1):
                        at = (line + w) * channels
                        for c in range(channels):
                            if x[at + c] == pooled[out + c]:
                                dx[at + c] += dy[out + c]


@on_gpu(ByColumns("channels"))
def max_pool_grad_grad(
    x: Any, pooled: Any, g: Any, y: Any,
    depth: int, height: int, width: int, channels: int, out_d: int, out_h: int, out_w: int,
    kd: int, kh: int, kw: int, sd: int, sh: int, sw: int, front: int, top: int, left: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    """Takes of `g`, which has the image's shape, what lies where `x` first equals `pooled`."""
    for row in range(begin, end):
        batch, od, oh = place_of(row, out_d, out_h)
        d0, d1 = window(od * sd - front, kd, depth)
        h0, h1 = window(oh * sh - top, kh, height)
        for ow in range(out_w):
            w0, w1 = window(ow * sw - left, kw, width)
            out = (row * out_w + ow) * channels
            for c in range(channels):
                place = -1
                for d in range(d0, d1):
                    for h in range(h0, h1):
                        line = ((batch * depth + d) * height + h) * width
                        for w in range(w0, w1):
                            at = (line + w) * channels + c
                            if place < 0 and x[at] == pooled[out + c]:
                                place = at
                y[out + c] = elem(0) if place < 0 else g[place]


@on_gpu(ByColumns("channels"))
def avg_pool_grad(
    dy: Any, _shape: Any, dx: Any,
    depth: int, height: int, width: int, channels: int, out_d: int, out_h: int, out_w: int,
    kd: int, kh: int, kw: int, sd: int, sh: int, sw: int, front: int, top: int, left: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    """Spreads each window's gradient evenly over its elements inside the image, batch by batch."""
    pixels = depth * height * width
    for batch in range(begin, end):
        clear(dx, batch, pixels, channels)
        for od in range(out_d):
            d0, d1 = window(od * sd - front, kd, depth)
            for oh in range(out_h):
                h0, h1 = window(oh * sh - top, kh, height)
                for ow in range(out_w):
                    w0, w1 = window(ow * sw - left, kw, width)
                    out = (((batch * out_d + od) * out_h + oh) * out_w + ow) * channels
                    count = elem((d1 - d0) * (h1 - h0) * (w1 - w0))
                    for d in range(d0, d1):
                        for h in range(h0, h1):
                            line = ((batch * depth + d) * height + h) * width
                            for w in range(w0, w1):
                                at = (line + w) * channels
                                for c in range(channels):
                                    dx[at + c] += dy[out + c] / count
