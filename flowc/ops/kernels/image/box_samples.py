"""Native kernel of SampleDistortedBoundingBox: a part of an image that shows enough of an object.

In: the key and counter of Philox, the size of an image, boxes of objects. Out: where the part
begins, how large it is, and the same as a box. Invariant: words are taken in TensorFlow's order, so
that equal seeds give its parts; where no attempt succeeds, the part is the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.ops.kernels.candidates import below, word_at
from flowc.ops.kernels.status import fail

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts by dtype, and Native.constants: the
    # first aspect ratio and their span, the least and most area, a little less than half.
    f32: Any = None
    i64: Any = None
    f64: Any = None
    ASPECT_FIRST: Any = None
    ASPECT_SPAN: Any = None
    LEAST: Any = None
    MOST: Any = None
    NARROWER: Any = None

UNIT = 8388608  # a float is 23 bits of a word, as parts of one
LARGEST = 1000000000  # pixels of a side


def nearest(x: Any) -> int:
    """Inlined: the nearest integer of a number of 0 and more, halves to even."""
    whole = i64(x)
    rest = x - f32(whole)
    if rest > f32(0.5) or (rest == f32(0.5) and whole % 2 == 1):
        whole += 1
    return whole


def root_of(x: Any) -> Any:
    """Inlined: the square root of a number of 0 to 1e18, by Newton's way."""
    wide = f64(x)
    found = wide + 1.0
    for _ in range(48):
        found = 0.5 * (found + wide / found)
    return f32(found)


def draw_size(
    key: Any, counter: Any, at: int, height: int, width: int, least: Any, most: Any
) -> tuple[int, int, bool, int]:  # fmt: skip
    """Inlined: rows and columns of a random part of the image, whether its area is from `least` to
    `most`, and which word comes next. Its aspect ratio (width by height) is drawn first, then its
    height among those that give such an area."""
    rows = 0
    columns = 0
    fits = False
    word = word_at(key, counter, at)
    at += 1
    aspect = f32(i64(word) % UNIT) / f32(UNIT) * ASPECT_SPAN + ASPECT_FIRST
    if aspect > f32(0):
        root = root_of(least / aspect)
        rows = nearest(root)
        root = root_of(most / aspect)
        most_rows = nearest(root)
        reach = nearest(f32(most_rows) * aspect)
        if reach > width:
            most_rows = i64((f64(width) + 0.5 - NARROWER) / f64(aspect))
            reach = nearest(f32(most_rows) * aspect)
            most_rows = most_rows - 1 if reach > width else most_rows
        most_rows = height if most_rows > height else most_rows
        rows = most_rows if rows >= most_rows else rows
        if rows < most_rows:
            more, at = below(key, counter, at, most_rows - rows + 1)
            rows += more
        columns = nearest(f32(rows) * aspect)
        area = f32(columns * rows)
        if area < least:
            rows += 1
            columns = nearest(f32(rows) * aspect)
            area = f32(columns * rows)
        if area > most:
            rows -= 1
            columns = nearest(f32(rows) * aspect)
            area = f32(columns * rows)
        fits = not (area < least or area > most)
        fits = fits and 0 < columns <= width and 0 < rows <= height
    return rows, columns, fits, at


def shows_object(
    boxes: Any, objects: int, covered: Any, y: int, x: int, rows: int, columns: int,
    height: int, width: int,
) -> bool:  # fmt: skip
    """Inlined: whether enough of an object is in a part of the image."""
    shown = objects == 0 and f32(rows * columns) / f32(height * width) >= covered
    for k in range(objects):
        first_row = i64(boxes[4 * k] * f32(height))
        first_column = i64(boxes[4 * k + 1] * f32(width))
        last_row = i64(boxes[4 * k + 2] * f32(height))
        last_column = i64(boxes[4 * k + 3] * f32(width))
        whole = f32((last_row - first_row) * (last_column - first_column))
        if whole < f32(1):
            continue
        inner_top = y if y > first_row else first_row
        inner_left = x if x > first_column else first_column
        inner_bottom = y + rows if y + rows < last_row else last_row
        inner_right = x + columns if x + columns < last_column else last_column
        part = f32(0)
        if inner_bottom > inner_top and inner_right > inner_left:
            part = f32((inner_bottom - inner_top) * (inner_right - inner_left))
        if part / whole >= covered:
            shown = True
    return shown


def sample_box(
    key: Any, counter: Any, size: Any, boxes: Any, covered: Any,
    begins: Any, sizes: Any, box: Any, status: Any,
    objects: int, attempts: int, whole_if_none: int, begin: int, end: int,
) -> None:  # fmt: skip
    if not covered[0] >= f32(0):
        fail(status, 1, 0, 0, 0)
        return
    if objects == 0 and not whole_if_none:
        fail(status, 2, 0, 0, 0)
        return
    for i in range(4 * objects):
        if not (boxes[i] >= f32(0) and boxes[i] <= f32(1)):
            fail(status, 3, i // 4, 0, 0)
            return
    height = size[0]
    width = size[1]
    if not (0 <= height <= LARGEST and 0 <= width <= LARGEST):
        fail(status, 4, height, width, 0)
        return
    least = LEAST * f32(width) * f32(height)
    most = MOST * f32(width) * f32(height)
    top = 0
    left = 0
    tall = height
    wide = width
    at = 0
    attempt = 0
    done = height < 1 or width < 1 or f32(0) >= MOST or LEAST > MOST
    while attempt < attempts and not done:
        attempt += 1
        rows, columns, fits, at = draw_size(key, counter, at, height, width, least, most)
        if not fits:
            continue
        y = 0
        x = 0
        if rows < height:
            y, at = below(key, counter, at, height - rows)
        if columns < width:
            x, at = below(key, counter, at, width - columns)
        shown = shows_object(boxes, objects, covered[0], y, x, rows, columns, height, width)
        if shown:
            top = y
            left = x
            tall = rows
            wide = columns
            done = True
    begins[0] = top
    begins[1] = left
    begins[2] = 0
    sizes[0] = tall
    sizes[1] = wide
    sizes[2] = -1
    box[0] = f32(top) / f32(height)
    box[1] = f32(left) / f32(width)
    box[2] = f32(top + tall) / f32(height)
    box[3] = f32(left + wide) / f32(width)
