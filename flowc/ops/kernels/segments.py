"""Kernels that fold the rows of segments: sorted ids, and ids in any order.

In: data [rows, width], a segment's number for each row. Out: one row a segment. Invariant: the rows
of a segment are folded in order; a segment without rows holds `EMPTY`.
"""

from __future__ import annotations

from typing import Any

from flowc.ir.lowering import ByThreads, Native, by_owners, on_gpu
from flowc.ops.kernels.status import fail

# Globals that the compiler gives to the kernels: how rows are folded, if not summed, and what a
# segment without rows holds.
PRODUCT = MINIMUM = MAXIMUM = MEAN = False
EMPTY: Any = 0


def globals_of_fold(fold: str, empty: Any) -> dict[str, Any]:
    """What the kernels are given for `sum`, `prod`, `min`, `max` or `mean`."""
    chosen = {"PRODUCT": "prod", "MINIMUM": "min", "MAXIMUM": "max", "MEAN": "mean"}
    return {"EMPTY": empty, **{name: fold == of for name, of in chosen.items()}}


def check_segment(ids, row, rows, segments, status):
    """Inlined: segments are in order, and in range. Of two faults it reports the one
    that a walk from segment to segment meets first."""
    if row > 0 and ids[row] < ids[row - 1]:
        status[0] = 2
    elif ids[row] < 0 or ids[row] >= segments:
        last = row
        while last + 1 < rows and ids[last + 1] == ids[row]:
            last += 1
        decreases = last + 1 < rows and ids[last + 1] < ids[row]
        fail(status, 2 if decreases else 1, ids[row], segments, 0)


def fold(out, at, value):
    """Inlined: NaN loses to the next value, as in (a > b ? a : b)."""
    if PRODUCT:
        out[at] *= value
    elif MINIMUM:
        out[at] = out[at] if out[at] < value else value
    elif MAXIMUM:
        out[at] = out[at] if out[at] > value else value
    else:
        out[at] += value


def owned_segments(data, ids, out, status, rows, width, segments, band, begin, end):
    """One column of `band` neighbouring segments a step."""
    for step in range(begin, end):
        column = step % width if width > 0 else 0
        first = (step // width if width > 0 else step) * band
        last = first + band if first + band < segments else segments
        if width > 0:
            for segment in range(first, last):
                out[segment * width + column] = EMPTY
        count = 0
        for row in range(rows):
            check_segment(ids, row, rows, segments, status)
            if status[0]:
                return
            segment = ids[row]
            if width > 0 and segment >= first and segment < last:
                at = segment * width + column
                if row == 0 or segment != ids[row - 1]:
                    out[at] = data[row * width + column]
                    count = 1
                else:
                    fold(out, at, data[row * width + column])
                    count += 1
                if MEAN and (row + 1 == rows or ids[row + 1] != segment):
                    out[at] /= count


def _by_owners(native: Native) -> Native:
    _, width, segments = native.arguments
    return by_owners(native, owned_segments, segments, width)


@on_gpu(ByThreads(_by_owners))
def segment_kernel(data, ids, out, status, rows, width, segments, begin, end):
    """Segments in order: the rows of one segment follow each other."""
    for i in range(segments * width):
        out[i] = EMPTY
    first = 0
    for row in range(rows):
        check_segment(ids, row, rows, segments, status)
        if status[0]:
            return
        segment = ids[row]
        if row > 0 and segment != ids[row - 1]:
            first = row
        last = row + 1 == rows or ids[row + 1] != segment
        for j in range(width):
            at = segment * width + j
            if first == row:
                out[at] = data[row * width + j]
            else:
                fold(out, at, data[row * width + j])
            if MEAN and last:
                out[at] /= row + 1 - first


def refuse_segment(row, segment, segments, columns, status):
    """Inlined: `columns` are those of ids that are a matrix, else 0."""
    if columns > 0:
        fail(status, 1, row // columns, segment, row % columns)
    else:
        fail(status, 1, row, segment, segments)


def owned_unsorted_segments(
    data, ids, _segments, out, status, rows, width, segments, columns, band, begin, end
):  # fmt: skip
    """One column of `band` neighbouring segments a step."""
    for step in range(begin, end):
        column = step % width if width > 0 else 0
        first = (step // width if width > 0 else step) * band
        last = first + band if first + band < segments else segments
        if width > 0:
            for segment in range(first, last):
                out[segment * width + column] = EMPTY
        for row in range(rows):
            segment = ids[row]
            if segment >= segments:
                refuse_segment(row, segment, segments, columns, status)
                return
            if width > 0 and segment >= first and segment < last:
                fold(out, segment * width + column, data[row * width + column])


def _unsorted_by_owners(native: Native) -> Native:
    _, width, segments, _ = native.arguments
    return by_owners(native, owned_unsorted_segments, segments, width)


@on_gpu(ByThreads(_unsorted_by_owners))
def unsorted_segment_kernel(
    data, ids, _segments, out, status, rows, width, segments, columns, begin, end
):  # fmt: skip
    """Segments in any order; rows of negative segments are dropped."""
    for i in range(segments * width):
        out[i] = EMPTY
    for row in range(rows):
        segment = ids[row]
        if segment >= segments:
            refuse_segment(row, segment, segments, columns, status)
            return
        if segment >= 0:
            for j in range(width):
                fold(out, segment * width + j, data[row * width + j])
