"""Native kernels of the gradients of image resizing: each image of a batch is one share.

In: gradients [batch, out_height, out_width, channels] of resized images. Out: [batch, height,
width, channels], to whose pixels every pixel read by the forward kernel (`resize_kernels`) gives
back its weight of the gradient. Invariant: places and weights are f32 arithmetic in TensorFlow's
order, and gradients are added in its order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts by dtype.
    f32: Any = None
    f64: Any = None
    i64: Any = None


def resize_nearest_grad(
    dy: Any, size: Any, dx: Any,
    height: int, width: int, channels: int, out_h: int, out_w: int, align: int, half: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    y_scale = f32(height) / f32(out_h)
    if align and out_h > 1:
        y_scale = f32(height - 1) / f32(out_h - 1)
    x_scale = f32(width) / f32(out_w)
    if align and out_w > 1:
        x_scale = f32(width - 1) / f32(out_w - 1)
    shift = f32(0.5) if half else f32(0)
    for batch in range(begin, end):
        image = batch * height * width * channels
        for i in range(height * width * channels):
            dx[image + i] = 0
        for row in range(out_h):
            place = (f32(row) + shift) * y_scale
            source = i64(place)
            if align and place - f32(source) >= f32(0.5):
                source += 1
            source = height - 1 if source > height - 1 else source
            line = image + source * width * channels
            for column in range(out_w):
                place = (f32(column) + shift) * x_scale
                source = i64(place)
                if align and place - f32(source) >= f32(0.5):
                    source += 1
                source = width - 1 if source > width - 1 else source
                at = line + source * channels
                given = ((batch * out_h + row) * out_w + column) * channels
                for c in range(channels):
                    dx[at + c] += dy[given + c]


def resize_bilinear_grad(
    dy: Any, image: Any, dx: Any,
    height: int, width: int, channels: int, out_h: int, out_w: int, align: int, half: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    y_scale = f32(height) / f32(out_h)
    if align and out_h > 1:
        y_scale = f32(height - 1) / f32(out_h - 1)
    x_scale = f32(width) / f32(out_w)
    if align and out_w > 1:
        x_scale = f32(width - 1) / f32(out_w - 1)
    shift = f32(0.5) if half else f32(0)
    for batch in range(begin, end):
        first = batch * height * width * channels
        for i in range(height * width * channels):
            dx[first + i] = 0
        for row in range(out_h):
            place = (f32(row) + shift) * y_scale - shift
            low = i64(place)
            low = low - 1 if f32(low) > place else low
            down = place - f32(low)
            up = f32(1) - down
            high = low + 1 if down > f32(0) else low
            top = first + (0 if low < 0 else low) * width * channels
            bottom = first + (height - 1 if high > height - 1 else high) * width * channels
            for column in range(out_w):
                place = (f32(column) + shift) * x_scale - shift
                low = i64(place)
                low = low - 1 if f32(low) > place else low
                right = place - f32(low)
                left = f32(1) - right
                high = low + 1 if right > f32(0) else low
                a = (0 if low < 0 else low) * channels
                b = (width - 1 if high > width - 1 else high) * channels
                given = ((batch * out_h + row) * out_w + column) * channels
                for c in range(channels):
                    value = dy[given + c]
                    dx[top + a + c] += value * up * left
                    dx[top + b + c] += value * up * right
                    dx[bottom + a + c] += value * down * left
                    dx[bottom + b + c] += value * down * right


def resize_bicubic_grad(
    dy: Any, image: Any, dx: Any,
    height: int, width: int, channels: int, out_h: int, out_w: int, align: int, half: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    """Weights as in `resize_kernels.resize_bicubic`."""
    y_scale = f32(height) / f32(out_h)
    if align and out_h > 1:
        y_scale = f32(height - 1) / f32(out_h - 1)
    x_scale = f32(width) / f32(out_w)
    if align and out_w > 1:
        x_scale = f32(width - 1) / f32(out_w - 1)
    shift = f32(0.5) if half else f32(0)
    bend = -0.5 if half else -0.75
    pixels = height * width * channels
    for i in range(begin * pixels, end * pixels):
        dx[i] = 0
    for step in range(begin * out_h * (out_w + 1), end * out_h * (out_w + 1)):
        # Column 0 of a row stands for the row itself: it sets the vertical weights.
        row = step // (out_w + 1)
        column = step % (out_w + 1) - 1
        vertical = column < 0
        limit = height if vertical else width
        scale = y_scale if vertical else x_scale
        place = (f32(row % out_h if vertical else column) + shift) * scale - shift
        base = i64(place)
        base = base - 1 if f32(base) > place else base
        # lrint: halves go to the even number.
        scaled = (place - f32(base)) * f32(1024)
        offset = i64(scaled)
        rest = scaled - f32(offset)
        if rest > f32(0.5) or (rest == f32(0.5) and offset % 2 == 1):
            offset += 1
        near = f64(f32(f64(offset) / 1024.0))
        far = f64(f32(near) + f32(1))
        w1 = f32(((bend + 2.0) * near - (bend + 3.0)) * near * near + 1.0)
        w0 = f32(((bend * far - 5.0 * bend) * far + 8.0 * bend) * far - 4.0 * bend)
        near = f64(f32(f64(1024 - offset) / 1024.0))
        far = f64(f32(near) + f32(1))
        w2 = f32(((bend + 2.0) * near - (bend + 3.0)) * near * near + 1.0)
        w3 = f32(((bend * far - 5.0 * bend) * far + 8.0 * bend) * far - 4.0 * bend)
        last = limit - 1
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
        if vertical:
            v0 = w0
            v1 = w1
            v2 = w2
            v3 = w3
            top = (row // out_h) * height
            line0 = (top + s0) * width * channels
            line1 = (top + s1) * width * channels
            line2 = (top + s2) * width * channels
            line3 = (top + s3) * width * channels
        if not vertical:
            given = (row * out_w + column) * channels
            for turn in range(4):
                line = line0 if turn == 0 else line1 if turn == 1 else line2 if turn == 2 else line3
                weight = v0 if turn == 0 else v1 if turn == 1 else v2 if turn == 2 else v3
                for c in range(channels):
                    value = f64(dy[given + c]) * weight  # what TensorFlow does for f64
                    dx[line + s0 * channels + c] += value * w0
                    dx[line + s1 * channels + c] += value * w1
                    dx[line + s2 * channels + c] += value * w2
                    dx[line + s3 * channels + c] += value * w3
