"""Native kernels of image resizing: rows of output pixels, channels inside.

In: [batch, height, width, channels], flags and sizes as int64 arguments. Out: [batch, out_height,
out_width, channels]. Invariant: source positions are f32 arithmetic in TensorFlow's order, since a
last bit decides which pixel is read; a worker writes only its share of the rows.

`align` puts the corner pixels' centres on each other; `half` measures from pixel centres.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flowc.ir.lowering import ByColumns, ByThreads, Native, NativeFunction, on_gpu
from flowc.ops.kernels.status import fail

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts by dtype, and Native.constants.
    f32: Any = None
    f64: Any = None
    i64: Any = None
    outside: Any = None
    offset: Any = None
    as_f32_pointer: Any = None
    as_i32_pointer: Any = None


# -- functions that kernels inline


def scale_of(size: int, new: int, align: int) -> Any:
    """Source pixels from one output pixel to the next."""
    scale = f32(size) / f32(new)
    if align and new > 1:
        scale = f32(size - 1) / f32(new - 1)
    return scale


def sampling(height: int, width: int, out_h: int, out_w: int, align: int, half: int) -> Any:
    """Both scales, and the offset of a pixel's center: 0.5 where pixels are squares whose centers
    are half a pixel in, else 0."""
    y_scale = scale_of(height, out_h, align)
    x_scale = scale_of(width, out_w, align)
    shift = f32(0.5) if half else f32(0)
    return y_scale, x_scale, shift


def nearest_pixel(place: Any, size: int, align: int) -> int:
    source = i64(place)
    if align and place - f32(source) >= f32(0.5):
        source += 1
    return size - 1 if source > size - 1 else source


def neighbours(place: Any, size: int) -> Any:
    """The pixels below and above a place, and how far it lies between them."""
    low = i64(place)
    low = low - 1 if f32(low) > place else low
    part = place - f32(low)
    high = low + 1 if part > f32(0) else low
    return 0 if low < 0 else low, size - 1 if high > size - 1 else high, part


def cubic_weights(offset: int, bend: float) -> Any:
    """The weights of the pixels at distance offset/1024 and one more."""
    near = f64(f32(f64(offset) / 1024.0))
    far = f64(f32(near) + f32(1))
    inner = f32(((bend + 2.0) * near - (bend + 3.0)) * near * near + 1.0)
    outer = f32(((bend * far - 5.0 * bend) * far + 8.0 * bend) * far - 4.0 * bend)
    return inner, outer


def cubic_taps(place: Any, size: int, half: int) -> Any:
    """The weights of the four pixels round a place, and their indices. Weights are taken at
    multiples of 1/1024, as from TensorFlow's table; with `half` (Keys' cubic) taps outside the
    image count nothing and the others are scaled up."""
    base = i64(place)
    base = base - 1 if f32(base) > place else base
    # lrint: halves go to the even number.
    scaled = (place - f32(base)) * f32(1024)
    offset = i64(scaled)
    rest = scaled - f32(offset)
    if rest > f32(0.5) or (rest == f32(0.5) and offset % 2 == 1):
        offset += 1
    bend = -0.5 if half else -0.75
    w1, w0 = cubic_weights(offset, bend)
    w2, w3 = cubic_weights(1024 - offset, bend)
    last = size - 1
    if half:
        w0 = w0 if 0 <= base - 1 <= last else f32(0)
        w1 = w1 if 0 <= base <= last else f32(0)
        w2 = w2 if 0 <= base + 1 <= last else f32(0)
        w3 = w3 if 0 <= base + 2 <= last else f32(0)
        total = w0 + w1 + w2 + w3
        if total >= f32(1.1754944e-35) or total <= f32(-1.1754944e-35):
            inverse = f32(1) / total
            w0 = w0 * inverse
            w1 = w1 * inverse
            w2 = w2 * inverse
            w3 = w3 * inverse
    s0 = 0 if base < 1 else (last if base - 1 > last else base - 1)
    s1 = 0 if base < 0 else (last if base > last else base)
    s2 = 0 if base < -1 else (last if base + 1 > last else base + 1)
    s3 = 0 if base < -2 else (last if base + 2 > last else base + 2)
    return w0, w1, w2, w3, s0, s1, s2, s3


def stretch(
    x: Any, source: int, lows: Any, highs: Any, rights: Any, lines: Any, line: int, count: int,
    channels: int,
) -> None:  # fmt: skip
    """A row of the source becomes a line of `count` pixels."""
    for column in range(count):
        low = source + lows[column]
        high = source + highs[column]
        right = rights[column]
        at = line + column * channels
        for c in range(channels):
            left = f32(x[low + c])
            lines[at + c] = left + (f32(x[high + c]) - left) * right


def stretch_colors(
    x: Any, source: int, lows: Any, highs: Any, rights: Any, lines: Any, line: int, count: int
) -> None:
    """`stretch` for three channels, four elements side by side: the last one is that of the next
    pixel, which then writes it again. So there is an element behind the last pixel of a line, and
    one behind the row of the source."""
    for column in range(count):
        low = source + lows[column]
        high = source + highs[column]
        right = rights[column]
        at = line + 3 * column
        a = f32(x[low])
        b = f32(x[low + 1])
        c = f32(x[low + 2])
        d = f32(x[low + 3])
        a_high = f32(x[high])
        b_high = f32(x[high + 1])
        c_high = f32(x[high + 2])
        d_high = f32(x[high + 3])
        lines[at] = a + (a_high - a) * right
        lines[at + 1] = b + (b_high - b) * right
        lines[at + 2] = c + (c_high - c) * right
        lines[at + 3] = d + (d_high - d) * right


# -- kernels


def by_pixels(native: Native, kernel: NativeFunction) -> Native:
    """Each pixel of a row of the output is a step of its own, which needs no lines of scratch."""
    out_w = native.arguments[4]
    return replace(native, kernel=kernel, parallel=native.parallel * out_w, scratch=0)


@on_gpu(ByColumns("channels"))
def resize_nearest(
    x: Any, size: Any, y: Any, status: Any,
    height: int, width: int, channels: int, out_h: int, out_w: int, align: int, half: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    if height < 1 or width < 1:
        fail(status, 1, height, width, 0)
        return
    y_scale, x_scale, shift = sampling(height, width, out_h, out_w, align, half)
    for row in range(begin, end):
        place = (f32(row % out_h) + shift) * y_scale
        source = nearest_pixel(place, height, align)
        line = ((row // out_h) * height + source) * width
        for column in range(out_w):
            place = (f32(column) + shift) * x_scale
            source = nearest_pixel(place, width, align)
            at = (line + source) * channels
            out = (row * out_w + column) * channels
            for c in range(channels):
                y[out + c] = x[at + c]


def resize_bilinear_pixels(
    x: Any, size: Any, y: Any, status: Any,
    height: int, width: int, channels: int, out_h: int, out_w: int, align: int, half: int,
    tile: int, begin: int, end: int,
) -> None:  # fmt: skip
    """`resize_bilinear` with a step for each pixel of the output instead of each row."""
    if height < 1 or width < 1:
        fail(status, 1, height, width, 0)
        return
    y_scale, x_scale, shift = sampling(height, width, out_h, out_w, align, half)
    for pixel in range(begin, end):
        row = pixel // out_w
        place = (f32(row % out_h) + shift) * y_scale - shift
        low, high, down = neighbours(place, height)
        image = (row // out_h) * height
        top = (image + low) * width
        bottom = (image + high) * width
        place = (f32(pixel % out_w) + shift) * x_scale - shift
        low, high, right = neighbours(place, width)
        for c in range(channels):
            left = f32(x[(top + low) * channels + c])
            upper = left + (f32(x[(top + high) * channels + c]) - left) * right
            left = f32(x[(bottom + low) * channels + c])
            lower = left + (f32(x[(bottom + high) * channels + c]) - left) * right
            y[pixel * channels + c] = upper + (lower - upper) * down


@on_gpu(ByThreads(lambda native: by_pixels(native, resize_bilinear_pixels)))
def resize_bilinear(
    x: Any, size: Any, y: Any, scratch: Any, status: Any,
    height: int, width: int, channels: int, out_h: int, out_w: int, align: int, half: int,
    tile: int, begin: int, end: int,
) -> None:  # fmt: skip
    """Source rows are stretched sideways into two lines of scratch, which further output rows
    between the same source rows find there; blending the two lines is one contiguous loop. Lines
    are `tile` pixels long, so that scratch does not depend on the width."""
    if height < 1 or width < 1:
        fail(status, 1, height, width, 0)
        return
    y_scale, x_scale, shift = sampling(height, width, out_h, out_w, align, half)
    length = tile * channels + 1
    lines = as_f32_pointer(scratch)
    rights = as_f32_pointer(offset(scratch, 8 * length))
    lows = as_i32_pointer(offset(scratch, 8 * length + 4 * tile))
    highs = as_i32_pointer(offset(scratch, 8 * length + 8 * tile))
    for start in range(0, out_w, tile):
        count = out_w - start if out_w - start < tile else tile
        for column in range(count):
            place = (f32(start + column) + shift) * x_scale - shift
            low, high, right = neighbours(place, width)
            rights[column] = right
            lows[column] = low * channels
            highs[column] = high * channels
        # Lines start at `first` and `second`; they hold the source rows `first_row`, `second_row`.
        first = 0
        second = length
        first_row = -1
        second_row = -1
        for row in range(begin, end):
            place = (f32(row % out_h) + shift) * y_scale - shift
            low, high, down = neighbours(place, height)
            top = (row // out_h) * height + low
            bottom = (row // out_h) * height + high
            if first_row != top:
                first, second = second, first
                first_row, second_row = second_row, first_row
            # The lines that are not there. LLVM would write a loop over two rows out.
            begin_line = 0 if first_row != top else 1
            end_line = 2 if bottom != top and second_row != bottom else 1
            for turn in range(begin_line, end_line):
                wanted = bottom if turn else top
                line = second if turn else first
                source = wanted * width * channels
                if channels == 3 and (wanted + 1) % height:
                    stretch_colors(x, source, lows, highs, rights, lines, line, count)
                else:
                    stretch(x, source, lows, highs, rights, lines, line, count, channels)
                if turn:
                    second_row = wanted
                else:
                    first_row = wanted
            lower = first if bottom == top else second
            out = (row * out_w + start) * channels
            for i in range(count * channels):
                upper = lines[first + i]
                y[out + i] = upper + (lines[lower + i] - upper) * down


@on_gpu(ByColumns("channels"))
def resize_bicubic(
    x: Any, size: Any, y: Any, status: Any,
    height: int, width: int, channels: int, out_h: int, out_w: int, align: int, half: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    """Sixteen taps."""
    if height < 1 or width < 1:
        fail(status, 1, height, width, 0)
        return
    y_scale, x_scale, shift = sampling(height, width, out_h, out_w, align, half)
    for row in range(begin, end):
        place = (f32(row % out_h) + shift) * y_scale - shift
        v0, v1, v2, v3, r0, r1, r2, r3 = cubic_taps(place, height, half)
        image = (row // out_h) * height
        line0 = (image + r0) * width * channels
        line1 = (image + r1) * width * channels
        line2 = (image + r2) * width * channels
        line3 = (image + r3) * width * channels
        for column in range(out_w):
            place = (f32(column) + shift) * x_scale - shift
            w0, w1, w2, w3, s0, s1, s2, s3 = cubic_taps(place, width, half)
            out = (row * out_w + column) * channels
            s0 = s0 * channels
            s1 = s1 * channels
            s2 = s2 * channels
            s3 = s3 * channels
            for c in range(channels):
                p0 = line0 + c
                p1 = line1 + c
                p2 = line2 + c
                p3 = line3 + c
                a = f32(x[p0 + s0]) * v0 + f32(x[p1 + s0]) * v1
                a = a + f32(x[p2 + s0]) * v2 + f32(x[p3 + s0]) * v3
                b = f32(x[p0 + s1]) * v0 + f32(x[p1 + s1]) * v1
                b = b + f32(x[p2 + s1]) * v2 + f32(x[p3 + s1]) * v3
                d = f32(x[p0 + s2]) * v0 + f32(x[p1 + s2]) * v1
                d = d + f32(x[p2 + s2]) * v2 + f32(x[p3 + s2]) * v3
                e = f32(x[p0 + s3]) * v0 + f32(x[p1 + s3]) * v1
                e = e + f32(x[p2 + s3]) * v2 + f32(x[p3 + s3]) * v3
                y[out + c] = a * w0 + b * w1 + d * w2 + e * w3


@on_gpu(ByColumns("channels"))
def resize_area(
    x: Any, size: Any, y: Any, status: Any,
    height: int, width: int, channels: int, out_h: int, out_w: int, align: int, half: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    """The mean over the area that an output pixel covers, parts of pixels counted as parts."""
    if height < 1 or width < 1:
        fail(status, 1, height, width, 0)
        return
    y_scale = scale_of(height, out_h, align)
    x_scale = scale_of(width, out_w, align)
    inverse = f32(1) / (y_scale * x_scale)
    for row in range(begin, end):
        top = f32(row % out_h) * y_scale
        bottom = f32(row % out_h + 1) * y_scale
        y_end = i64(bottom)
        y_end = y_end + 1 if f32(y_end) < bottom else y_end
        for column in range(out_w):
            left = f32(column) * x_scale
            right = f32(column + 1) * x_scale
            x_end = i64(right)
            x_end = x_end + 1 if f32(x_end) < right else x_end
            out = (row * out_w + column) * channels
            for c in range(channels):
                y[out + c] = f32(0)
            for i in range(i64(top), y_end):
                start = top if f32(i) < top else f32(i)
                part = (bottom if f32(i + 1) > bottom else f32(i + 1)) - start
                line = i if i < height else height - 1
                line = ((row // out_h) * height + line) * width
                for j in range(i64(left), x_end):
                    start = left if f32(j) < left else f32(j)
                    weight = (right if f32(j + 1) > right else f32(j + 1)) - start
                    weight = weight * part * inverse
                    at = (line + (j if j < width else width - 1)) * channels
                    for c in range(channels):
                        y[out + c] += f32(x[at + c]) * weight


@on_gpu(ByColumns("channels"))
def crop_and_resize(
    image: Any, boxes: Any, box_ind: Any, crop_size: Any, y: Any, status: Any,
    batches: int, height: int, width: int, channels: int, out_h: int, out_w: int, nearest: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    """Boxes are [y1, x1, y2, x2] in units of height-1 and width-1; pixels outside the image take
    the constant `outside`."""
    for row in range(begin, end):
        box = row // out_h
        batch = i64(box_ind[box])
        if batch < 0 or batch >= batches:
            fail(status, 1, batch, 0, 0)
            return
        y1 = boxes[box * 4]
        x1 = boxes[box * 4 + 1]
        y2 = boxes[box * 4 + 2]
        x2 = boxes[box * 4 + 3]
        # inf - inf and NaN are unequal to themselves.
        if y1 - y1 != f32(0) or x1 - x1 != f32(0) or y2 - y2 != f32(0) or x2 - x2 != f32(0):
            fail(status, 2, box, 0, 0)
            return
        last_row = f32(height - 1)
        last_column = f32(width - 1)
        place_y = f32(0.5) * (y1 + y2) * last_row
        if out_h > 1:
            y_scale = (y2 - y1) * last_row / f32(out_h - 1)
            place_y = y1 * last_row + f32(row % out_h) * y_scale
        inside = place_y >= f32(0) and place_y <= last_row
        top = i64(place_y) if inside else 0
        down = place_y - f32(top)
        bottom = top + 1 if down > f32(0) else top
        if nearest:
            top = top + 1 if down >= f32(0.5) else top
        top_line = (batch * height + top) * width
        bottom_line = (batch * height + bottom) * width
        x_scale = f32(0)
        start = f32(0.5) * (x1 + x2) * last_column
        if out_w > 1:
            x_scale = (x2 - x1) * last_column / f32(out_w - 1)
            start = x1 * last_column
        for column in range(out_w):
            out = (row * out_w + column) * channels
            place = start + f32(column) * x_scale
            if not inside or not (place >= f32(0) and place <= last_column):
                for c in range(channels):
                    y[out + c] = outside
            elif nearest:
                low = i64(place)
                low = low + 1 if place - f32(low) >= f32(0.5) else low
                at = (top_line + low) * channels
                for c in range(channels):
                    y[out + c] = f32(image[at + c])
            else:
                low = i64(place)
                across = place - f32(low)
                high = low + 1 if across > f32(0) else low
                a = (top_line + low) * channels
                b = (top_line + high) * channels
                d = (bottom_line + low) * channels
                e = (bottom_line + high) * channels
                for c in range(channels):
                    left = f32(image[a + c])
                    upper = left + (f32(image[b + c]) - left) * across
                    left = f32(image[d + c])
                    lower = left + (f32(image[e + c]) - left) * across
                    y[out + c] = upper + (lower - upper) * down
