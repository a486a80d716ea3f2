"""Native kernel of detection in batches: each class suppresses its own, then the best of all stay.

In: boxes [batch, count, 1 or classes, 4] and scores [batch, count, classes]. Out: for each image
its best boxes, with their scores and classes, and how many there are. Invariant: equal scores end
in TensorFlow's order, which is the one that the heap and the sort of its C++ library leave them in:
David R. Musser, "Introspective Sorting and Selection Algorithms" (1997), with the median of the
second, the middle and the last element, and insertion sort for parts of at most SHORT elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.ops.kernels.image.detection import extent_of, overlap_of

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels.
    f32: Any = None
    i64: Any = None
    offset: Any = None
    as_f32_pointer: Any = None
    as_i32_pointer: Any = None
    as_i64_pointer: Any = None

# The key of a place that no box has taken (`Native.constants`).
NOTHING = float("inf")
SHORT = 16
# Parts that wait to be sorted, of three numbers each: at most two for each bit of their length.
WAITING = 3 * 128


def bytes_of_image(count: Any, entries: Any) -> Any:
    """Parts that wait, the heap of one class, and the entries of all classes."""
    return 8 * WAITING + 8 * count + 12 * entries


def rise(keys: Any, items: Any, first: int, hole: int, top: int, key: Any, item: Any) -> None:
    """Inlined: puts an element into a heap (largest key first, from `first` on) at the hole, or as
    far above it as it belongs, at most at `top`."""
    while hole > top and keys[first + (hole - 1) // 2] < key:
        above = (hole - 1) // 2
        keys[first + hole] = keys[first + above]
        items[first + hole] = items[first + above]
        hole = above
    keys[first + hole] = key
    items[first + hole] = item


def settle(keys: Any, items: Any, first: int, top: int, size: int, key: Any, item: Any) -> None:
    """Inlined: fills the hole at `top` with children down to a leaf, where the element then rises.
    Of children with equal keys the right one moves up."""
    hole = top
    while 2 * hole + 1 < size:
        child = 2 * hole + 2
        if child == size or keys[first + child] < keys[first + child - 1]:
            child -= 1
        keys[first + hole] = keys[first + child]
        items[first + hole] = items[first + child]
        hole = child
    rise(keys, items, first, hole, top, key, item)


def swap(keys: Any, items: Any, i: int, j: int) -> None:
    """Inlined: exchanges two elements."""
    key = keys[i]
    item = items[i]
    keys[i] = keys[j]
    items[i] = items[j]
    keys[j] = key
    items[j] = item


def heap_sort(keys: Any, items: Any, first: int, last: int) -> None:
    """Inlined: sorts a part of the arrays that would be split too often."""
    size = last - first
    top = size // 2
    while top > 0:
        top -= 1
        key = keys[first + top]
        item = items[first + top]
        settle(keys, items, first, top, size, key, item)
    while size > 1:
        size -= 1
        key = keys[first + size]
        item = items[first + size]
        keys[first + size] = keys[first]
        items[first + size] = items[first]
        settle(keys, items, first, 0, size, key, item)


def median_first(keys: Any, items: Any, first: int, last: int) -> None:
    """Inlined: the median of three elements changes places with the first."""
    a = first + 1
    b = first + (last - first) // 2
    c = last - 1
    if keys[a] < keys[b]:
        chosen = b if keys[b] < keys[c] else (c if keys[a] < keys[c] else a)
    else:
        chosen = a if keys[a] < keys[c] else (c if keys[b] < keys[c] else b)
    swap(keys, items, first, chosen)


def divide(keys: Any, items: Any, first: int, last: int) -> int:
    """Inlined: where the second half starts, after no key of the first is above the pivot's."""
    median_first(keys, items, first, last)
    pivot = keys[first]
    low = first + 1
    high = last
    crossed = False
    while not crossed:
        while keys[low] < pivot:
            low += 1
        high -= 1
        while pivot < keys[high]:
            high -= 1
        crossed = not low < high
        if not crossed:
            swap(keys, items, low, high)
            low += 1
    return low


def sort(keys: Any, items: Any, size: int, waiting: Any) -> None:
    """Inlined: sorts by key, smallest first."""
    depth = 0
    while size >> (depth + 1) > 0:
        depth += 1
    waiting[0] = 0
    waiting[1] = size
    waiting[2] = 2 * depth
    parts = 1
    while parts > 0:
        parts -= 1
        first = waiting[3 * parts]
        last = waiting[3 * parts + 1]
        left = waiting[3 * parts + 2]
        while last - first > SHORT:
            if left == 0:
                heap_sort(keys, items, first, last)
                last = first
            else:
                left -= 1
                middle = divide(keys, items, first, last)
                waiting[3 * parts] = middle
                waiting[3 * parts + 1] = last
                waiting[3 * parts + 2] = left
                parts += 1
                last = middle
    for i in range(1, size):
        key = keys[i]
        item = items[i]
        at = i
        while at > 0 and key < keys[at - 1]:
            keys[at] = keys[at - 1]
            items[at] = items[at - 1]
            at -= 1
        keys[at] = key
        items[at] = item


def clipped(value: Any) -> Any:
    """Inlined: the nearest number in [0, 1]."""
    below = f32(1) if f32(1) < value else value
    return f32(0) if below < f32(0) else below


def suppress_class(
    boxes: Any, scores: Any, iou_threshold: Any, score_threshold: Any, heap_score: Any,
    heap_box: Any, keys: Any, box_of: Any, first: int, label: int, entry: int, limit: int,
    count: int, classes: int, own: int,
) -> int:  # fmt: skip
    """Inlined: the boxes of an image, `first` and the following, that one class keeps, best first,
    take its entries from `entry` on. How many these are."""
    size = 0
    for i in range(count):
        score = scores[(first + i) * classes + label]
        if score > score_threshold:
            size += 1
            rise(heap_score, heap_box, 0, size - 1, 0, score, i)
    column = label if own > 1 else 0
    found = 0
    while found < limit and size > 0:
        score = heap_score[0]
        box = i64(heap_box[0])
        size -= 1
        if size > 0:
            last_score = heap_score[size]
            last_box = heap_box[size]
            settle(heap_score, heap_box, 0, 0, size, last_score, last_box)
        at = 4 * ((first + box) * own + column)
        top, bottom, left, right, area = extent_of(boxes, at)
        dropped = False
        j = found - 1
        while j >= 0 and not dropped:
            other = 4 * ((first + i64(box_of[entry + j])) * own + column)
            overlap = overlap_of(top, bottom, left, right, area, boxes, other)
            dropped = overlap > iou_threshold
            j -= 1
        if not dropped:
            box_of[entry + found] = box
            keys[entry + found] = -score
            found += 1
    return found


def combined_suppression(
    boxes: Any, scores: Any, most: Any, total: Any, iou_threshold: Any, score_threshold: Any,
    kept_boxes: Any, kept_scores: Any, kept_classes: Any, valid: Any, scratch: Any, status: Any,
    count: int, classes: int, own: int, capacity: int, clip: int, begin: int, end: int,
) -> None:  # fmt: skip
    """An entry is a place that a class has for a box; its number says which class."""
    if most[0] <= 0:
        status[0] = 1
        return
    if total[0] <= 0:
        status[0] = 2
        return
    if not (iou_threshold[0] >= f32(0) and iou_threshold[0] <= f32(1)):
        status[0] = 3
        return
    if own != 1 and own != classes:
        status[0] = 4
        return
    limit = count if count < most[0] else i64(most[0])
    entries = limit * classes
    waiting = as_i64_pointer(scratch)
    heap_score = as_f32_pointer(offset(scratch, 8 * WAITING))
    heap_box = as_i32_pointer(offset(scratch, 8 * WAITING + 4 * count))
    rest = offset(scratch, 8 * WAITING + 8 * count)
    keys = as_f32_pointer(rest)
    places = as_i32_pointer(offset(rest, 4 * entries))
    box_of = as_i32_pointer(offset(rest, 8 * entries))
    for image in range(begin, end):
        taken = 0
        for i in range(entries):
            keys[i] = f32(NOTHING)
            places[i] = i
        for label in range(classes):
            found = suppress_class(
                boxes, scores, iou_threshold[0], score_threshold[0], heap_score, heap_box, keys,
                box_of, image * count, label, limit * label, limit, count, classes, own,
            )  # fmt: skip
            taken += found
        sort(keys, places, entries, waiting)
        taken = taken if taken < capacity else capacity
        valid[image] = taken
        for i in range(capacity):
            to = image * capacity + i
            if i < taken:
                place = i64(places[i])
                label = place // limit
                column = label if own > 1 else 0
                at = 4 * ((image * count + i64(box_of[place])) * own + column)
                kept_scores[to] = -keys[i]
                kept_classes[to] = f32(label)
                for k in range(4):
                    value = boxes[at + k]
                    inside = clipped(value)
                    kept_boxes[4 * to + k] = inside if clip else value
            else:
                kept_scores[to] = f32(0)
                kept_classes[to] = f32(0)
                for k in range(4):
                    kept_boxes[4 * to + k] = f32(0)
