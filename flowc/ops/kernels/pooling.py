"""Native kernels of pooling, channels last.

In: row-major [batch, depth, height, width, channels] (depth 1 for images), the window as int64
arguments. Out: [batch, out_depth, out_height, out_width, channels]. Invariant: a worker writes only
the output rows (batch, depth, height) of its share [begin, end). Taps run outside and channels
inside, so that the inner loop is contiguous and vectorises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.ir.lowering import ByColumns, on_gpu

if TYPE_CHECKING:
    # A global that the compiler gives to kernels: the cast to the elements' dtype.
    elem: Any = None

# Set through `Native.constants`.
MEAN = False
START: Any = 0  # of a maximum the lowest number


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
    recomputed, so that its place is found in the same order as the forward kernel finds it.
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
