"""Native kernels of selection and ranking along the last axis.

In: rows of `columns` elements. Out: one row of k winners, or one verdict, a row. Invariant: a total
order, so that results do not depend on how rows are shared out: larger first, NaN below every
number, and among equals the lower index first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.ops.kernels.status import fail

GROUP = 64  # columns that top_k looks at together
FEW = 64  # of the best, that it keeps in their order

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts by dtype.
    f32: Any = None
    i32: Any = None
    i64: Any = None


def sift_down(
    values: Any, indices: Any, out: int, at: int, size: int, value: Any, index: int
) -> None:
    """Inlined: children that are worse than (value, index) move up, and it takes the
    place that they leave."""
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size:
            a = values[out + child]
            b = values[out + child + 1]
            right_worse = b < a or (b != b and a == a)
            if not (b > a or right_worse or (a != a and b == b)):
                right_worse = indices[out + child + 1] > indices[out + child]
            child = child + 1 if right_worse else child
        a = values[out + child]
        worse = a < value or (a != a and value == value)
        if not (a > value or worse or (value != value and a == a)):
            worse = indices[out + child] > index
        if not worse:
            break
        values[out + at] = a
        indices[out + at] = indices[out + child]
        at = child
    values[out + at] = value
    indices[out + at] = index


def first_better(x: Any, source: int, index: int, columns: int, root: Any) -> int:
    """A part of the kernels: the first column from `index` on that is better than `root`; `columns`
    where none is. Most are not: whole groups of them are passed over."""
    while root == root and index + GROUP <= columns:
        beats = 0
        for c in range(GROUP):
            beats += 1 if x[source + index + c] > root else 0
        if beats != 0:
            first = i32(GROUP)
            for c in range(GROUP):
                place = i32(c) if x[source + index + c] > root else i32(GROUP)
                first = place if place < first else first
            index += first
            break
        index += GROUP
    while index < columns:
        value = x[source + index]
        if value > root or (root != root and value == value):
            break
        index += 1
    return index


def top_k(
    x: Any, _k: Any, values: Any, indices: Any, status: Any,
    columns: int, k: int, begin: int, end: int,
) -> None:  # fmt: skip
    """Keeps the k best so far in the output row: few of them in their order, of which the worst
    ones move on to let another in; many as a heap, worst at the root, which is sorted at last.

    Columns arrive by rising index, so one that equals the worst never replaces it.
    """
    if k > columns or k < 0:
        fail(status, 1, columns, k, 0)
        return
    for row in range(begin, end if k <= FEW else begin):
        source = row * columns
        out = row * k
        index = 0
        while index < columns and k > 0:
            value = x[source + index]
            at = index if index < k else k - 1
            while at > 0:
                before = values[out + at - 1]
                if not (value > before or (before != before and value == value)):
                    break
                values[out + at] = before
                indices[out + at] = indices[out + at - 1]
                at -= 1
            values[out + at] = value
            indices[out + at] = index
            index += 1
            if index >= k:
                index = first_better(x, source, index, columns, values[out + k - 1])
    for row in range(end if k <= FEW else begin, end):
        source = row * columns
        out = row * k
        for i in range(k):
            values[out + i] = x[source + i]
            indices[out + i] = i
        # From i = k/2 down: build the heap. From then on, each column that beats the root replaces
        # it. At last the root is swapped behind the shrinking heap, k-1 times.
        build = k // 2
        sort = build + (columns - k)
        step = 0
        while step < sort + k - 1:
            size = k
            at = 0
            if step < build:
                at = build - 1 - step
                value = values[out + at]
                index = i64(indices[out + at])
            elif step < sort:
                index = first_better(x, source, k + step - build, columns, values[out])
                step = build + index - k
                if step >= sort:
                    continue
                value = x[source + index]
            else:
                size = k - 1 - (step - sort)
                value = values[out + size]
                index = i64(indices[out + size])
                values[out + size] = values[out]
                indices[out + size] = indices[out]
            step += 1
            sift_down(values, indices, out, at, size, value, index)


def in_top_k(
    predictions: Any, targets: Any, k: Any, y: Any, classes: int, begin: int, end: int
) -> None:
    """Whether fewer than k classes beat the target's; false where a prediction is not finite."""
    for row in range(begin, end):
        target = i64(targets[row])
        found = 0
        if target >= 0 and target < classes:
            wanted = predictions[row * classes + target]
            above = 0
            strange = 0
            for c in range(classes):
                p = predictions[row * classes + c]
                above += 1 if p > wanted else 0
                # inf - inf and NaN are unequal to 0.
                strange += 1 if p - p != f32(0) else 0
            found = 1 if strange == 0 and above < k[0] else 0
        y[row] = found
