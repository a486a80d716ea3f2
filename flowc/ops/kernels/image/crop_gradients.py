"""Native kernels of the gradients of CropAndResize.

In: gradients of crops [boxes, out_height, out_width, channels], boxes [y1, x1, y2, x2] in units of
height-1 and width-1. Out: gradients of the images, or of the boxes. Invariant: pixels and weights
are those of the forward kernel (`resize`); what lies outside the image gives nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.ir.lowering import ByColumns, on_gpu
from flowc.ops.kernels.status import fail

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts by dtype, and to that of the elements.
    f32: Any = None
    i64: Any = None
    elem: Any = None


def places_of_crop(first: Any, last: Any, size: int, new: int) -> Any:
    """Where a crop of `new` pixels starts along an axis, and its step."""
    start = f32(0.5) * (first + last) * f32(size - 1)
    step = f32(0)
    if new > 1:
        start = first * f32(size - 1)
        step = (last - first) * f32(size - 1) / f32(new - 1)
    return start, step


def around(place: Any) -> Any:
    """The two pixels beside a place that is not negative, and how far it is behind the first."""
    low = i64(place)
    behind = place - f32(low)
    return low, low + 1 if behind > f32(0) else low, behind


def shares(i: int, size: int, new: int) -> Any:
    """How far pixel i of a crop moves with the first edge of its box, and with the last."""
    last = f32(0.5) * f32(size - 1)
    first = last
    if new > 1:
        last = f32(i) * (f32(size - 1) / f32(new - 1))
        first = f32(size - 1) - last
    return first, last


@on_gpu(ByColumns("channels"))
def crop_and_resize_grad_image(
    dy: Any, boxes: Any, box_ind: Any, _size: Any, dx: Any, status: Any,
    batches: int, height: int, width: int, channels: int, count: int, out_h: int, out_w: int,
    nearest: int, begin: int, end: int,
) -> None:  # fmt: skip
    """Runs over images, since crops overlap."""
    for pixel in range(begin * height * width, end * height * width):
        for c in range(channels):
            dx[pixel * channels + c] = elem(0)
    for box in range(count):
        batch = i64(box_ind[box])
        if batch < 0 or batch >= batches:
            fail(status, 1, batch, 0, 0)
            return
        if batch < begin or batch >= end:
            continue
        y, down = places_of_crop(boxes[box * 4], boxes[box * 4 + 2], height, out_h)
        x, across = places_of_crop(boxes[box * 4 + 1], boxes[box * 4 + 3], width, out_w)
        for row in range(out_h):
            place_y = y + f32(row) * down
            if not (place_y >= f32(0) and place_y <= f32(height - 1)):
                continue
            top, bottom, lower = around(place_y)
            for column in range(out_w):
                place_x = x + f32(column) * across
                if not (place_x >= f32(0) and place_x <= f32(width - 1)):
                    continue
                given = ((box * out_h + row) * out_w + column) * channels
                left, right, after = around(place_x)
                if nearest:
                    line = (batch * height + (bottom if lower >= f32(0.5) else top)) * width
                    at = (line + (right if after >= f32(0.5) else left)) * channels
                    for c in range(channels):
                        dx[at + c] += elem(dy[given + c])
                    continue
                top_line = (batch * height + top) * width
                bottom_line = (batch * height + bottom) * width
                for c in range(channels):
                    upper = (f32(1) - lower) * dy[given + c]
                    dx[(top_line + left) * channels + c] += elem((f32(1) - after) * upper)
                    dx[(top_line + right) * channels + c] += elem(after * upper)
                    under = lower * dy[given + c]
                    dx[(bottom_line + left) * channels + c] += elem((f32(1) - after) * under)
                    dx[(bottom_line + right) * channels + c] += elem(after * under)


def crop_and_resize_grad_boxes(
    dy: Any, image: Any, boxes: Any, box_ind: Any, dboxes: Any, status: Any,
    batches: int, height: int, width: int, channels: int, out_h: int, out_w: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    for box in range(begin, end):
        batch = i64(box_ind[box])
        if batch < 0 or batch >= batches:
            fail(status, 1, batch, 0, 0)
            return
        y, down = places_of_crop(boxes[box * 4], boxes[box * 4 + 2], height, out_h)
        x, across = places_of_crop(boxes[box * 4 + 1], boxes[box * 4 + 3], width, out_w)
        for edge in range(4):
            dboxes[box * 4 + edge] = f32(0)
        for row in range(out_h):
            place_y = y + f32(row) * down
            if not (place_y >= f32(0) and place_y <= f32(height - 1)):
                continue
            top, bottom, lower = around(place_y)
            top_line = (batch * height + top) * width
            bottom_line = (batch * height + bottom) * width
            with_first, with_last = shares(row, height, out_h)
            for column in range(out_w):
                place_x = x + f32(column) * across
                if not (place_x >= f32(0) and place_x <= f32(width - 1)):
                    continue
                left, right, after = around(place_x)
                with_left, with_right = shares(column, width, out_w)
                given = ((box * out_h + row) * out_w + column) * channels
                for c in range(channels):
                    a = f32(image[(top_line + left) * channels + c])
                    b = f32(image[(top_line + right) * channels + c])
                    d = f32(image[(bottom_line + left) * channels + c])
                    e = f32(image[(bottom_line + right) * channels + c])
                    slope_y = ((f32(1) - after) * (d - a) + after * (e - b)) * dy[given + c]
                    slope_x = ((f32(1) - lower) * (b - a) + lower * (e - d)) * dy[given + c]
                    dboxes[box * 4] += slope_y * with_first
                    dboxes[box * 4 + 1] += slope_x * with_left
                    dboxes[box * 4 + 2] += slope_y * with_last
                    dboxes[box * 4 + 3] += slope_x * with_right
