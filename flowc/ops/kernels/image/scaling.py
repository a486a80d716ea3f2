"""Native kernels of ScaleAndTranslate: which pixels an output pixel is made of, and their sums.

In: scale, translation, images. Out: for each output row or column the first pixel of its span, how
many there are, and their weights; images made of spans, and gradients given back along them.
Invariant: positions and weights are f32 arithmetic in TensorFlow's order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.ops.kernels.status import fail

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts by dtype, and Native.constants.
    f32: Any = None
    i64: Any = None
    as_f32_pointer: Any = None
    sin_f32: Any = None
    exp_f32: Any = None

# The shape of the weights (`Native.constants`): its number, how far it reaches, and whether it
# grows where images shrink.
SHAPE = 0
RADIUS = 1.0
ANTIALIAS = 1
LANCZOS, GAUSSIAN, BOX, TRIANGLE, KEYS, MITCHELL = 0, 1, 2, 3, 4, 5
PI = 3.14159265359


def weight_at(distance: Any) -> Any:
    """Inlined: the weight of a pixel at a distance, of 0 and more."""
    x = distance
    weight = f32(0)
    if SHAPE == 0:  # LANCZOS
        if x <= f32(1e-3):
            weight = f32(1)
        elif x <= f32(RADIUS):
            turn = f32(PI) * x
            weight = f32(RADIUS) * sin_f32(turn) * sin_f32(turn / f32(RADIUS)) / (turn * turn)
    elif SHAPE == 1:  # GAUSSIAN
        if x < f32(RADIUS):
            weight = exp_f32(-x * x / (f32(2) * f32(RADIUS / 3.0) * f32(RADIUS / 3.0)))
    elif SHAPE == 2:  # BOX
        weight = f32(1) if x < f32(0.5) else (f32(0.5) if x == f32(0.5) else f32(0))
    elif SHAPE == 3:  # TRIANGLE
        weight = f32(1) - x if x < f32(1) else f32(0)
    elif SHAPE == 4:  # KEYS
        if x < f32(1):
            weight = ((f32(1.5) * x - f32(2.5)) * x) * x + f32(1)
        elif x < f32(2):
            weight = ((f32(-0.5) * x + f32(2.5)) * x - f32(4)) * x + f32(2)
    elif x < f32(1):
        weight = ((f32(7.0 / 6.0) * x - f32(2)) * x) * x + f32(8.0 / 9.0)
    elif x < f32(2):
        weight = ((f32(-7.0 / 18.0) * x + f32(2)) * x - f32(10.0 / 3.0)) * x + f32(16.0 / 9.0)
    return weight


def spans(
    scale: Any, translation: Any, sizes: Any, starts: Any, counts: Any, weights: Any, status: Any,
    axis: int, size: int, new: int, begin: int, end: int,
) -> None:  # fmt: skip
    """`weights` [new, size]: those of a span at the beginning of its row."""
    if not scale[axis] > f32(0):
        fail(status, 1, axis, 0, 0)
        return
    inverse = f32(1) / scale[axis]
    shift = -inverse * translation[axis]
    grown = inverse if ANTIALIAS and inverse > f32(1) else f32(1)
    reach = f32(RADIUS) * grown
    shrink = f32(1) / grown
    for i in range(begin, end):
        place = (f32(i) + f32(0.5)) * inverse + shift
        starts[i] = 0
        counts[i] = 0
        # What is no number is outside, too.
        if place >= f32(0) and place <= f32(size):
            low = place - reach - f32(0.5)
            high = place + reach - f32(0.5)
            low = f32(0) if low < f32(0) else low
            high = f32(size - 1) if high > f32(size - 1) else high
            first = i64(low)
            first = first + 1 if f32(first) < low else first
            first = size - 1 if first > size - 1 else first
            last = i64(high) if high > f32(0) else 0
            last = first if last < first else last
            total = f32(0)
            for source in range(first, last + 1):
                far = (f32(source) + f32(0.5) - place) * shrink
                weight = weight_at(abs(far))
                weights[i * size + source - first] = weight
                total += weight
            if abs(total) >= f32(1.1754944e-35):
                share = f32(1) / total
                for k in range(last - first + 1):
                    weights[i * size + k] = weights[i * size + k] * share
            starts[i] = first
            counts[i] = last - first + 1


def gather_spans(
    x: Any, row_starts: Any, row_counts: Any, row_weights: Any,
    column_starts: Any, column_counts: Any, column_weights: Any, y: Any, scratch: Any,
    height: int, width: int, channels: int, out_h: int, out_w: int, begin: int, end: int,
) -> None:  # fmt: skip
    """Each output row: source rows weighted into one line, then the pixels of that line."""
    line = as_f32_pointer(scratch)
    length = width * channels
    for row in range(begin, end):
        for i in range(length):
            line[i] = f32(0)
        place = row % out_h
        for k in range(row_counts[place]):
            weight = row_weights[place * height + k]
            source = ((row // out_h) * height + row_starts[place] + k) * length
            for i in range(length):
                line[i] += weight * f32(x[source + i])
        for column in range(out_w):
            out = (row * out_w + column) * channels
            for c in range(channels):
                y[out + c] = f32(0)
            for k in range(column_counts[column]):
                weight = column_weights[column * width + k]
                at = (column_starts[column] + k) * channels
                for c in range(channels):
                    y[out + c] += weight * line[at + c]


def scatter_spans(
    dy: Any, row_starts: Any, row_counts: Any, row_weights: Any,
    column_starts: Any, column_counts: Any, column_weights: Any, dx: Any, scratch: Any,
    height: int, width: int, channels: int, out_h: int, out_w: int, begin: int, end: int,
) -> None:  # fmt: skip
    """The way back: each image by itself."""
    line = as_f32_pointer(scratch)
    length = width * channels
    for image in range(begin, end):
        for i in range(height * length):
            dx[image * height * length + i] = f32(0)
        for row in range(out_h):
            for i in range(length):
                line[i] = f32(0)
            for column in range(out_w):
                given = ((image * out_h + row) * out_w + column) * channels
                for k in range(column_counts[column]):
                    weight = column_weights[column * width + k]
                    at = (column_starts[column] + k) * channels
                    for c in range(channels):
                        line[at + c] += weight * dy[given + c]
            for k in range(row_counts[row]):
                weight = row_weights[row * height + k]
                at = (image * height + row_starts[row] + k) * length
                for i in range(length):
                    dx[at + i] += weight * line[i]
