"""Average pooling on a CPU, channels last: rows of the image are added up, then neighbours in their
sum.

In: row-major [batch, depth, height, width, channels] (depth 1 for images), the window as int64
arguments. Out: [batch, out_depth, out_height, out_width, channels]. Invariants: a worker writes
only the output rows (batch, depth, height) of its share [begin, end); what lies beside the image
counts as zeros, and not as elements.

A window of k x k takes 2k additions an element so, and both loops run over all elements of a row,
whatever its channels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flowc.ir.dims import Dim, maximum
from flowc.ir.lowering import ByThreads, Native, on_gpu
from flowc.ir.types import Dims
from flowc.ops.kernels.pooling import place_of, pool, window

if TYPE_CHECKING:
    from flowc.ops.nn.convolution_window import SlidingWindow

    # Globals that the compiler gives to kernels, for the dtype of the elements.
    elem: Any = None
    offset: Any = None
    as_elem_pointer: Any = None

# Set through `Native.constants`: the bytes of an element, and of how few channels sums at all
# places are sooner there than those at every second one.
SIZE, FEW_CHANNELS = 4, 32


def add_terms(
    x: Any, y: Any, at: int, place: int, terms: int, apart: int, count: int, begun: int
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
        begun = 1
        term += 3
    if term + 2 <= terms:
        first = at + term * apart
        second = first + apart
        for i in range(count):
            held = y[place + i] if begun else elem(0)
            y[place + i] = (held + x[first + i]) + x[second + i]
        begun = 1
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
        for d in range(d0, d1):
            at = ((batch * depth + d) * height + h0) * width * channels
            begun = 1 if d > d0 else 0
            apart = width * channels
            add_terms(x, line, at, left * channels, h1 - h0, apart, apart, begun)
        for p in range(pieces):
            add_terms(line, sums, p * sw * channels, p * channels, kw, channels, piece, 0)
        rows = (d1 - d0) * (h1 - h0)
        whole = elem(rows * kw)
        out = row * out_w * channels
        inside = (high - low) * channels if step == channels else 0
        for i in range(low * channels, low * channels + inside):
            y[out + i] = sums[i] / whole
        for ow in range(out_w):
            if ow < low or ow >= high or step != channels:
                w0, w1 = window(ow * sw - left, kw, width)
                count = elem(rows * (w1 - w0))
                for c in range(channels):
                    y[out + ow * channels + c] = sums[ow * step + c] / count
