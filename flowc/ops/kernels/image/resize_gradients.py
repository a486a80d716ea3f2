"""Native kernels of the gradients of image resizing: each image of a batch is one share.

In: gradients [batch, out_height, out_width, channels] of resized images. Out: [batch, height,
width, channels], to whose pixels every pixel read by the forward kernel (`resize`) gives
back its weight of the gradient. Invariant: places and weights are f32 arithmetic in TensorFlow's
order, and gradients are added in its order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.ir.lowering import ByColumns, on_gpu
from flowc.ops.kernels.image.resize import cubic_taps, nearest_pixel, neighbours, sampling
from flowc.ops.kernels.status import fail

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts by dtype.
    f32: Any = None
    f64: Any = None


@on_gpu(ByColumns("channels"))
def resize_nearest_grad(
    dy: Any, size: Any, dx: Any, status: Any,
    height: int, width: int, channels: int, out_h: int, out_w: int, align: int, half: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    if height < 1 or width < 1:
        fail(status, 1, height, width, 0)
        return
    y_scale, x_scale, shift = sampling(height, width, out_h, out_w, align, half)
    for batch in range(begin, end):
        image = batch * height * width * channels
        for pixel in range(height * width):
            for c in range(channels):
                dx[image + pixel * channels + c] = 0
        for row in range(out_h):
            place = (f32(row) + shift) * y_scale
            source = nearest_pixel(place, height, align)
            line = image + source * width * channels
            for column in range(out_w):
                place = (f32(column) + shift) * x_scale
                source = nearest_pixel(place, width, align)
                at = line + source * channels
                given = ((batch * out_h + row) * out_w + column) * channels
                for c in range(channels):
                    dx[at + c] += dy[given + c]


@on_gpu(ByColumns("channels"))
def resize_bilinear_grad(
    dy: Any, image: Any, dx: Any, status: Any,
    height: int, width: int, channels: int, out_h: int, out_w: int, align: int, half: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    if height < 1 or width < 1:
        fail(status, 1, height, width, 0)
        return
    if out_h < 1 or out_w < 1:
        fail(status, 2, out_h, out_w, 0)
        return
    y_scale, x_scale, shift = sampling(height, width, out_h, out_w, align, half)
    for batch in range(begin, end):
        first = batch * height * width * channels
        for pixel in range(height * width):
            for c in range(channels):
                dx[first + pixel * channels + c] = 0
        for row in range(out_h):
            place = (f32(row) + shift) * y_scale - shift
            low, high, down = neighbours(place, height)
            up = f32(1) - down
            top = first + low * width * channels
            bottom = first + high * width * channels
            for column in range(out_w):
                place = (f32(column) + shift) * x_scale - shift
                low, high, right = neighbours(place, width)
                left = f32(1) - right
                a = low * channels
                b = high * channels
                given = ((batch * out_h + row) * out_w + column) * channels
                for c in range(channels):
                    value = dy[given + c]
                    dx[top + a + c] += value * up * left
                    dx[top + b + c] += value * up * right
                    dx[bottom + a + c] += value * down * left
                    dx[bottom + b + c] += value * down * right


@on_gpu(ByColumns("channels"))
def resize_bicubic_grad(
    dy: Any, image: Any, dx: Any, status: Any,
    height: int, width: int, channels: int, out_h: int, out_w: int, align: int, half: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    if height < 1 or width < 1:
        fail(status, 1, height, width, 0)
        return
    if out_h < 1 or out_w < 1:
        fail(status, 2, out_h, out_w, 0)
        return
    y_scale, x_scale, shift = sampling(height, width, out_h, out_w, align, half)
    for pixel in range(begin * height * width, end * height * width):
        for c in range(channels):
            dx[pixel * channels + c] = 0
    for row in range(begin * out_h, end * out_h):
        place = (f32(row % out_h) + shift) * y_scale - shift
        v0, v1, v2, v3, r0, r1, r2, r3 = cubic_taps(place, height, half)
        top = (row // out_h) * height
        for column in range(out_w):
            place = (f32(column) + shift) * x_scale - shift
            w0, w1, w2, w3, s0, s1, s2, s3 = cubic_taps(place, width, half)
            given = (row * out_w + column) * channels
            for turn in range(4):
                line = r0 if turn == 0 else r1 if turn == 1 else r2 if turn == 2 else r3
                line = (top + line) * width * channels
                weight = v0 if turn == 0 else v1 if turn == 1 else v2 if turn == 2 else v3
                for c in range(channels):
                    value = f64(dy[given + c]) * weight  # what TensorFlow does for f64
                    dx[line + s0 * channels + c] += value * w0
                    dx[line + s1 * channels + c] += value * w1
                    dx[line + s2 * channels + c] += value * w2
                    dx[line + s3 * channels + c] += value * w3
