"""Native kernels of object detection: greedy suppression of overlapping boxes.

In: boxes [count, 4], any two opposite corners each, or how much they overlap, and a score a box.
Out: the indices of the boxes kept, best score first. Invariant: of equal scores the lower index is
looked at first, and a box meets the boxes kept so far newest first, as in TensorFlow, so that the
same floats decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels.
    f32: Any = None
    i64: Any = None
    offset: Any = None
    as_f32_pointer: Any = None
    as_i32_pointer: Any = None
    exp_f32: Any = None

# Whether overlaps are given, [count, count], in the place of boxes (`Native.constants`).
GIVEN = 0


def extent_of(boxes: Any, at: int) -> tuple[Any, Any, Any, Any, Any]:
    """Inlined: the sides of a box, and its area."""
    a0 = boxes[at]
    a1 = boxes[at + 1]
    a2 = boxes[at + 2]
    a3 = boxes[at + 3]
    top = a2 if a2 < a0 else a0
    bottom = a2 if a0 < a2 else a0
    left = a3 if a3 < a1 else a1
    right = a3 if a1 < a3 else a1
    area = (bottom - top) * (right - left)
    return top, bottom, left, right, area


def overlap_of(
    top: Any, bottom: Any, left: Any, right: Any, area: Any, boxes: Any, other: int
) -> Any:
    """Inlined: intersection over union with the box that starts at `other`."""
    other_top, other_bottom, other_left, other_right, other_area = extent_of(boxes, other)
    overlap = f32(0)
    if not (area <= f32(0) or other_area <= f32(0)):
        inner_top = other_top if top < other_top else top
        inner_left = other_left if left < other_left else left
        inner_bottom = other_bottom if other_bottom < bottom else bottom
        inner_right = other_right if other_right < right else right
        tall = inner_bottom - inner_top
        wide = inner_right - inner_left
        tall = f32(0) if tall < f32(0) else tall
        wide = f32(0) if wide < f32(0) else wide
        shared = tall * wide
        overlap = shared / (area + other_area - shared)
    return overlap


def weigh(
    box: int, score: Any, met: int, found: int, boxes: Any, kept: Any, count: int,
    iou_threshold: Any, lowest: Any, soft: bool, scale: Any,
) -> tuple[Any, bool]:  # fmt: skip
    """Inlined: the score of a candidate beside the boxes that were kept since it was
    last weighed, the newest first; and whether it overlaps one too much."""
    dropped = False
    if not GIVEN:
        top, bottom, left, right, area = extent_of(boxes, 4 * box)
    j = found - 1
    while j >= met:
        other = i64(kept[j])
        if GIVEN:
            overlap = boxes[count * box + other]
        else:
            overlap = overlap_of(top, bottom, left, right, area, boxes, 4 * other)
        if soft:
            score = score * exp_f32(scale * overlap * overlap)
        elif overlap > iou_threshold:
            dropped = True
            break
        elif not (overlap <= iou_threshold):  # NaN
            score = score * f32(0)
        elif GIVEN:
            score = score + (overlap - overlap)  # NaN where it is infinite
        if score <= lowest:
            break
        j -= 1
    return score, dropped


def sift_down(heap_score: Any, heap_box: Any, heap_met: Any, at: int, size: int) -> None:
    """Inlined: moves a candidate down to its place in the heap."""
    score = heap_score[at]
    box = i64(heap_box[at])
    met = heap_met[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size:
            a0 = heap_score[child]
            a1 = heap_score[child + 1]
            if a1 > a0 or (a1 == a0 and heap_box[child + 1] < heap_box[child]):
                child += 1
        a0 = heap_score[child]
        if not (a0 > score or (a0 == score and heap_box[child] < box)):
            break
        heap_score[at] = a0
        heap_box[at] = heap_box[child]
        heap_met[at] = heap_met[child]
        at = child
    heap_score[at] = score
    heap_box[at] = box
    heap_met[at] = met


def non_max_suppression(
    boxes: Any, scores: Any, wanted: Any, iou_threshold: Any, score_threshold: Any, sigma: Any,
    kept: Any, kept_scores: Any, valid: Any, scratch: Any, status: Any,
    count: int, capacity: int, begin: int, end: int,
) -> None:  # fmt: skip
    """Candidates wait in a heap, best at the root; one is weighed only against the boxes kept since
    it was last weighed. With sigma > 0 overlap lowers a score instead of removing the box.
    """
    if not GIVEN and not (iou_threshold[0] >= f32(0) and iou_threshold[0] <= f32(1)):
        status[0] = 1
        return
    if wanted[0] < 0:
        status[0] = 2
        return
    if not (sigma[0] >= f32(0)):
        status[0] = 3
        return
    heap_score = as_f32_pointer(scratch)
    heap_box = as_i32_pointer(offset(scratch, 4 * count))
    heap_met = as_i32_pointer(offset(scratch, 8 * count))
    lowest = score_threshold[0]
    size = 0
    for i in range(count):
        if scores[i] > lowest:
            heap_score[size] = scores[i]
            heap_box[size] = i
            heap_met[size] = 0
            size += 1
    soft = sigma[0] > f32(0)
    scale = f32(-0.5) / sigma[0] if soft else f32(0)
    limit = count if count < wanted[0] else i64(wanted[0])
    limit = capacity if capacity < limit else limit
    found = 0
    for i in range(size // 2):
        sift_down(heap_score, heap_box, heap_met, size // 2 - 1 - i, size)
    while found < limit and size > 0:
        # The root is taken out, weighed, and either kept, dropped or, with a lower score, put back;
        # a hole is filled by the last candidate.
        box = i64(heap_box[0])
        met = heap_met[0]
        score, dropped = weigh(
            box, heap_score[0], met, found, boxes, kept, count,
            iou_threshold[0], lowest, soft, scale,
        )  # fmt: skip
        if not dropped and score == heap_score[0]:
            kept[found] = box
            kept_scores[found] = score
            found += 1
            dropped = True
        if dropped or not (score > lowest):
            size -= 1
            heap_score[0] = heap_score[size]
            heap_box[0] = heap_box[size]
            heap_met[0] = heap_met[size]
        else:
            heap_score[0] = score
            heap_met[0] = found
        sift_down(heap_score, heap_box, heap_met, 0, size)
    valid[0] = found
    for i in range(found, capacity):
        kept[i] = 0
        kept_scores[i] = f32(0)


def cut_to_valid(
    kept: Any, scores: Any, valid: Any, kept_out: Any, scores_out: Any, sizes: Any,
    begin: int, end: int,
) -> None:  # fmt: skip
    """The first `valid` elements."""
    sizes[0] = valid[0]
    for i in range(valid[0]):
        kept_out[i] = kept[i]
        scores_out[i] = scores[i]
