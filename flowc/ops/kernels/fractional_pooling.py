"""Native kernels of pooling by windows of uneven sizes.

In: row-major [batch, height, width, channels], and for rows and columns where each window begins:
one place more than there are windows. Out: what is pooled, or its gradient. Invariants: places are
checked before memory is touched; a worker writes only the rows, or the images, of its share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.ops.kernels.status import fail

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts to dtypes.
    elem: Any = None
    i64: Any = None

# Set through `Native.constants`.
MEAN = False
WHOLE = False  # of whole numbers: quotients are cut off towards 0
OVERLAPPING = False  # windows hold the first place of the next one, too


# -- functions that kernels inline


def window_end(places: Any, at: int, size: int) -> int:
    """Behind the last place of a window."""
    end = places[at + 1] + (1 if OVERLAPPING else 0)
    return size if end > size else end


def share(total: Any, count: Any) -> Any:
    if WHOLE:
        found = total // count if total >= 0 else -((-total) // count)
    else:
        found = total / count
    return found


def fits(places: Any, count: int, size: int) -> bool:
    """Whether every window has places, all of them inside."""
    good = places[0] >= 0
    for i in range(count):
        good = good and places[i] < places[i + 1] and places[i] < size
    return good


# -- kernels


def fractional_pool(
    x: Any, rows: Any, columns: Any, y: Any, status: Any,
    height: int, width: int, channels: int, out_h: int, out_w: int, begin: int, end: int,
) -> None:  # fmt: skip
    """The mean or the maximum of each window."""
    good = fits(rows, out_h, height)
    also = fits(columns, out_w, width)
    if not (good and also):
        fail(status, 1, 0, 0, 0)
        return
    for line in range(begin, end):
        image = line // out_h
        top = rows[line % out_h]
        bottom = window_end(rows, line % out_h, height)
        for ow in range(out_w):
            left = columns[ow]
            right = window_end(columns, ow, width)
            out = (line * out_w + ow) * channels
            for c in range(channels):
                first = ((image * height + top) * width + left) * channels + c
                y[out + c] = elem(0) if MEAN else x[first]
            for h in range(top, bottom):
                for w in range(left, right):
                    at = ((image * height + h) * width + w) * channels
                    for c in range(channels):
                        if MEAN:
                            y[out + c] = y[out + c] + x[at + c]
                        else:
                            y[out + c] = x[at + c] if x[at + c] > y[out + c] else y[out + c]
            if MEAN:
                count = elem((bottom - top) * (right - left))
                for c in range(channels):
                    y[out + c] = share(y[out + c], count)


def fractional_mean_gradient(
    _shape: Any, dy: Any, rows: Any, columns: Any, dx: Any, status: Any,
    height: int, width: int, channels: int, out_h: int, out_w: int, begin: int, end: int,
) -> None:  # fmt: skip
    """Each element of a window has an even share."""
    good = fits(rows, out_h, height)
    also = fits(columns, out_w, width)
    if not (good and also):
        fail(status, 1, 0, 0, 0)
        return
    for image in range(begin, end):
        for i in range(height * width * channels):
            dx[image * height * width * channels + i] = elem(0)
        for oh in range(out_h):
            top = rows[oh]
            bottom = window_end(rows, oh, height)
            for ow in range(out_w):
                left = columns[ow]
                right = window_end(columns, ow, width)
                count = elem((bottom - top) * (right - left))
                given = ((image * out_h + oh) * out_w + ow) * channels
                for h in range(top, bottom):
                    for w in range(left, right):
                        at = ((image * height + h) * width + w) * channels
                        for c in range(channels):
                            dx[at + c] = dx[at + c] + dy[given + c] / count


def fractional_max_gradient(
    x: Any, _pooled: Any, dy: Any, rows: Any, columns: Any, dx: Any, status: Any,
    height: int, width: int, channels: int, out_h: int, out_w: int, begin: int, end: int,
) -> None:  # fmt: skip
    """The first of the largest elements of a window has all."""
    good = fits(rows, out_h, height)
    also = fits(columns, out_w, width)
    if not (good and also):
        fail(status, 1, 0, 0, 0)
        return
    for image in range(begin, end):
        for i in range(height * width * channels):
            dx[image * height * width * channels + i] = elem(0)
        for oh in range(out_h):
            top = rows[oh]
            bottom = window_end(rows, oh, height)
            for ow in range(out_w):
                left = columns[ow]
                right = window_end(columns, ow, width)
                given = ((image * out_h + oh) * out_w + ow) * channels
                for c in range(channels):
                    best = ((image * height + top) * width + left) * channels + c
                    for h in range(top, bottom):
                        for w in range(left, right):
                            at = ((image * height + h) * width + w) * channels + c
                            if x[best] < x[at]:
                                best = at
                    dx[best] = dx[best] + dy[given + c]
