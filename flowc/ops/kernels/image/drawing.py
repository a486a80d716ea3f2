"""Native kernels that move pixels by rule: boxes drawn on images, projected images, glimpses.

In: channels-last images. Out: images. Invariant: no pixel outside of an image is read or written,
whatever numbers say where it is; comparisons are so that what is no number is outside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.ops.kernels.status import fail

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts by dtype, and Native.constants.
    f32: Any = None
    i64: Any = None

# How pixels beyond the edges are made (`Native.constants`).
CONSTANT, REFLECT, WRAP, NEAREST = 0, 1, 2, 3
FILL = 0
BILINEAR = 0


def edge_of(place: Any, size: int) -> int:
    """Inlined: the pixel of a place in parts of an image. What no integer holds is
    far below 0, as on TensorFlow's processors."""
    at = place * f32(size - 1)
    found = i64(at) if abs(at) < f32(9e18) else -4611686018427387904
    return found


def draw_boxes(
    images: Any, boxes: Any, colors: Any, y: Any, status: Any,
    height: int, width: int, channels: int, count: int, color_count: int, color_size: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    """`y` holds the images. Lines that would be outside are not drawn."""
    if color_count < 1 or color_size < channels:
        fail(status, 1, color_count, color_size, 0)
        return
    for image in range(begin, end):
        for box in range(count):
            at = (image * count + box) * 4
            top = edge_of(boxes[at], height)
            left = edge_of(boxes[at + 1], width)
            bottom = edge_of(boxes[at + 2], height)
            right = edge_of(boxes[at + 3], width)
            if top > bottom or left > right or top >= height or left >= width:
                continue
            if bottom < 0 or right < 0:
                continue
            first_row = 0 if top < 0 else top
            last_row = height - 1 if bottom >= height else bottom
            first_column = 0 if left < 0 else left
            last_column = width - 1 if right >= width else right
            color = (box % color_count) * color_size
            for row in range(first_row, last_row + 1):
                is_top = row == top
                is_bottom = row == bottom
                for column in range(first_column, last_column + 1):
                    is_left = column == left
                    is_right = column == right
                    if is_top or is_bottom or is_left or is_right:
                        out = ((image * height + row) * width + column) * channels
                        for c in range(channels):
                            y[out + c] = colors[color + c]


def inside_of(place: Any, size: int) -> Any:
    """Inlined: the place within an image that stands for one beyond its edges."""
    last = f32(size - 1)
    found = place
    if FILL == 1 and size > 1:
        period = f32(2 * size)
        if place < f32(0):
            if found < period:
                found = period * f32(i64(-found / period)) + found
            found = found + period if found < f32(-size) else -found - f32(1)
        elif place > last:
            found = found - period * f32(i64(found / period))
            found = period - found - f32(1) if found >= f32(size) else found
    elif FILL == 2 and size > 1:
        if place < f32(0):
            found = found + f32(size) * f32(i64(-found / last) + 1)
        elif place > last:
            found = found - f32(size) * f32(i64(found / last))
    if FILL > 0:
        found = f32(0) if not found > f32(0) else found
        found = last if found > last else found
    return found


def floor_of(x: Any) -> Any:
    """Inlined; of what no image has, something outside."""
    kept = x if abs(x) < f32(1e9) else f32(-1e9)
    whole = f32(i64(kept))
    whole = whole - f32(1) if whole > kept else whole
    return whole


def rounded(x: Any) -> Any:
    """Inlined: halves go away from zero."""
    whole = floor_of(abs(x) + f32(0.5))
    whole = -whole if x < f32(0) else whole
    return whole


def place_of(image: int, row: Any, column: Any, height: int, width: int) -> int:
    """Inlined: the number of a pixel, -1 outside."""
    found = -1
    if row >= f32(0) and row < f32(height) and column >= f32(0) and column < f32(width):
        found = (image * height + i64(row)) * width + i64(column)
    return found


def project(
    images: Any, transforms: Any, size: Any, fill_value: Any, y: Any,
    height: int, width: int, channels: int, transform_count: int, out_h: int, out_w: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    """An output pixel is read where its transform says; a share of 0 is nowhere."""
    fill = fill_value[0]
    for row in range(begin, end):
        image = row // out_h
        at = 8 * image if transform_count > 1 else 0
        t0 = transforms[at]
        t1 = transforms[at + 1]
        t2 = transforms[at + 2]
        t3 = transforms[at + 3]
        t4 = transforms[at + 4]
        t5 = transforms[at + 5]
        t6 = transforms[at + 6]
        t7 = transforms[at + 7]
        down = f32(row % out_h)
        for column in range(out_w):
            out = (row * out_w + column) * channels
            across = f32(column)
            share = t6 * across + t7 * down + f32(1)
            z = f32(-1e9)
            x = f32(-1e9)
            if share != f32(0):
                x = inside_of((t0 * across + t1 * down + t2) / share, width)
                z = inside_of((t3 * across + t4 * down + t5) / share, height)
            if BILINEAR:
                top = floor_of(z)
                left = floor_of(x)
                right = left + f32(1)
                below = top + f32(1)
                a = place_of(image, top, left, height, width)
                b = place_of(image, top, right, height, width)
                d = place_of(image, below, left, height, width)
                e = place_of(image, below, right, height, width)
                outside = a < 0 and b < 0 and d < 0 and e < 0
                for c in range(channels):
                    p = f32(images[a * channels + c]) if a >= 0 else fill
                    q = f32(images[b * channels + c]) if b >= 0 else fill
                    r = f32(images[d * channels + c]) if d >= 0 else fill
                    s = f32(images[e * channels + c]) if e >= 0 else fill
                    upper = (right - x) * p + (x - left) * q
                    lower = (right - x) * r + (x - left) * s
                    value = fill if outside else (below - z) * upper + (z - top) * lower
                    y[out + c] = value
            else:
                level = rounded(z)
                near = rounded(x)
                a = place_of(image, level, near, height, width)
                for c in range(channels):
                    if a >= 0:
                        y[out + c] = images[a * channels + c]
                    else:
                        y[out + c] = fill


def glimpse(
    images: Any, size: Any, offsets: Any, y: Any,
    height: int, width: int, channels: int, out_h: int, out_w: int,
    centered: int, normalized: int, older: int, noise: int, begin: int, end: int,
) -> None:  # fmt: skip
    """`older`: offsets are those of the glimpse's middle, and of half of their length from the
    image's. `noise`: what is beyond the edges: 0 for zeros, 1 for numbers of the range of the
    image, 2 for those of a normal distribution in it."""
    for image in range(begin, end):
        down = offsets[2 * image]
        across = offsets[2 * image + 1]
        if normalized:
            down = down * f32(height)
            across = across * f32(width)
        if centered:
            halved = f32(0.5) if older or normalized else f32(1)
            down = down * halved + f32(height) / f32(2)
            across = across * halved + f32(width) / f32(2)
        if older or (centered and normalized):
            down = down - f32(out_h) / f32(2)
            across = across - f32(out_w) / f32(2)
        # Far beyond all images, where whole numbers end.
        down = down if abs(down) < f32(1e9) else f32(1e9)
        across = across if abs(across) < f32(1e9) else f32(1e9)
        top = i64(down)
        left = i64(across)
        source = image * height * width * channels
        length = height * width * channels
        least = f32(0)
        most = f32(1)
        if noise > 0 and length > 0:
            least = images[source]
            most = images[source]
            for i in range(length):
                value = images[source + i]
                least = value if value < least else least
                most = value if value > most else most
        state = image * 2654435769 + 40503
        for row in range(out_h):
            for column in range(out_w):
                out = ((image * out_h + row) * out_w + column) * channels
                inside = 0 <= top + row < height and 0 <= left + column < width
                at = source + ((top + row) * width + left + column) * channels
                for c in range(channels):
                    if inside:
                        y[out + c] = images[at + c]
                    elif noise == 0:
                        y[out + c] = f32(0)
                    elif noise == 1:
                        state = (state * 1103515245 + 12345) % 2147483648
                        y[out + c] = least + (most - least) * (f32(state) / f32(2147483648))
                    else:
                        # Twelve evenly spread numbers add up to a normal one.
                        total = f32(-6)
                        for _ in range(12):
                            state = (state * 1103515245 + 12345) % 2147483648
                            total += f32(state) / f32(2147483648)
                        middle = (least + most) / f32(2)
                        value = middle + total * (most - least) / f32(4)
                        value = least if value < least else value
                        y[out + c] = most if value > most else value
