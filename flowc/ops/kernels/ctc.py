"""Native kernels of decoders: the best label of each step, and the best paths of a beam.

In: logits [steps, batch, classes] and the lengths of the sequences. Out: for each sequence rows of
labels and how many there are. Invariant: of equal numbers the earlier one wins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.ops.kernels.status import fail

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels.
    f64: Any = None
    offset: Any = None
    as_f64_pointer: Any = None
    as_i64_pointer: Any = None
    exp_f64: Any = None
    log_f64: Any = None

# Whether labels that follow each other are one (`Native.constants`).
MERGE = 0
# Columns of i64 and of f64 that the beam has for each of its entries.
WORDS = 5
NUMBERS = 6
NO_PATH = -1e301  # the logarithm of what is as good as impossible


def bytes_of_beam(steps: Any, width: int) -> Any:
    """Entries: the root and at most `width` a step; then the leaves, now and in the making."""
    entries = steps * width + 1
    return entries * (8 * (WORDS + NUMBERS)) + (width + 1) * 40


def best_labels(
    inputs: Any, lengths: Any, labels: Any, counts: Any, log: Any, status: Any,
    steps: int, batch: int, classes: int, blank: int, begin: int, end: int,
) -> None:  # fmt: skip
    if classes < 1:
        fail(status, 2, 0, 0, 0)
        return
    skipped = blank + classes if blank < 0 else blank
    for row in range(batch):
        counts[row] = 0
        log[row] = 0
        for t in range(steps):
            labels[row * steps + t] = 0
        if lengths[row] > steps:
            fail(status, 1, row, steps, lengths[row])
            return
        before = -1
        for t in range(lengths[row]):
            at = (t * batch + row) * classes
            found = 0
            for k in range(1, classes):
                if inputs[at + k] > inputs[at + found]:
                    found = k
            log[row] -= inputs[at + found]
            if found != skipped and not (MERGE and found == before):
                labels[row * steps + counts[row]] = found
                counts[row] += 1
            before = found


def log_sum(a: Any, b: Any) -> Any:
    """Inlined: the logarithm of a sum of two numbers given by theirs."""
    high = a if a > b else b
    low = b if a > b else a
    found = high
    if low > f64(-1e300):
        found = high + log_f64(f64(1) + exp_f64(low - high))
    return found


def insert(
    made: Any, made_of: Any, made_letter: Any, made_total: Any, place: int,
    entry: int, of: int, letter: int, total: Any,
) -> None:  # fmt: skip
    """Inlined: puts a leaf in the making where its total belongs among those before
    `place`, which is free."""
    at = place
    while at > 0 and made_total[at - 1] < total:
        made[at] = made[at - 1]
        made_of[at] = made_of[at - 1]
        made_letter[at] = made_letter[at - 1]
        made_total[at] = made_total[at - 1]
        at -= 1
    made[at] = entry
    made_of[at] = of
    made_letter[at] = letter
    made_total[at] = total


def log_of_sum(inputs: Any, at: int, classes: int) -> Any:
    """Inlined: the logarithm of the sum of the exponentials of a step's logits."""
    top = f64(inputs[at])
    for k in range(classes):
        top = f64(inputs[at + k]) if f64(inputs[at + k]) > top else top
    total = f64(0)
    for k in range(classes):
        total += exp_f64(f64(inputs[at + k]) - top)
    return top + log_f64(total)


def keep_leaves(
    inputs: Any, at: int, norm: Any, classes: int, leaves: Any, size: int,
    parent: Any, letter: Any, alive: Any, total: Any, blank: Any, ended: Any,
    new_total: Any, new_blank: Any, new_ended: Any,
    made: Any, made_of: Any, made_letter: Any, made_total: Any,
) -> int:  # fmt: skip
    """Inlined: leaves that stay as they are, in the order of the step before."""
    filled = 0
    for i in range(size):
        leaf = leaves[i]
        above = parent[leaf]
        again = ended[leaf]
        if above >= 0:
            if alive[above]:
                like = letter[leaf] == letter[above]
                again = log_sum(again, blank[above] if like else total[above])
            again += f64(inputs[at + letter[leaf]]) - norm
        new_ended[leaf] = again
        new_blank[leaf] = total[leaf] + f64(inputs[at + classes - 1]) - norm
        new_total[leaf] = log_sum(new_blank[leaf], again)
        own = letter[leaf]
        own_total = new_total[leaf]
        insert(made, made_of, made_letter, made_total, filled, leaf, above, own, own_total)
        filled += 1
    return filled


def grow_leaves(
    inputs: Any, at: int, norm: Any, classes: int, leaves: Any, size: int, filled: int, width: int,
    letter: Any, child: Any, sibling: Any, alive: Any, total: Any, blank: Any,
    made: Any, made_of: Any, made_letter: Any, made_total: Any,
) -> int:  # fmt: skip
    """Inlined: leaves that are one label longer, as far as they are among the best."""
    for i in range(size):
        leaf = leaves[i]
        if total[leaf] <= f64(-1e300) or (
            filled == width and total[leaf] <= made_total[filled - 1]
        ):
            continue
        for k in range(classes - 1):
            value = blank[leaf] if letter[leaf] == k else total[leaf]
            value += f64(inputs[at + k]) - norm
            there = child[leaf]
            while there >= 0 and letter[there] != k:
                there = sibling[there]
            if there >= 0 and alive[there]:
                continue
            if value <= f64(-1e300) or (filled == width and value <= made_total[filled - 1]):
                # A leaf that left the beam in this step, and that its parent cannot bring
                # back, is forgotten: if its turn is still to come, nothing grows from it.
                if there >= 0:
                    total[there] = f64(NO_PATH)
                continue
            if filled == width and made[filled - 1] >= 0:
                alive[made[filled - 1]] = 0
            place = filled if filled < width else filled - 1
            filled = filled + 1 if filled < width else filled
            insert(made, made_of, made_letter, made_total, place, -1, leaf, k, value)
    return filled


def plant_root(
    leaves: Any, parent: Any, letter: Any, child: Any, sibling: Any, alive: Any, total: Any,
    blank: Any, ended: Any,
) -> None:  # fmt: skip
    """Inlined: the empty path is the only leaf."""
    leaves[0] = 0
    parent[0] = -1
    letter[0] = -1
    child[0] = -1
    sibling[0] = -1
    alive[0] = 1
    total[0] = 0
    blank[0] = 0
    ended[0] = f64(NO_PATH)


def entry_of(
    of: int, label: int, used: int, parent: Any, letter: Any, child: Any, sibling: Any
) -> tuple[int, int]:
    """Inlined: the child of an entry for a label, made where there is none; and how
    many entries there are."""
    entry = child[of]
    while entry >= 0 and letter[entry] != label:
        entry = sibling[entry]
    if entry < 0:
        entry = used
        used += 1
        parent[entry] = of
        letter[entry] = label
        child[entry] = -1
        sibling[entry] = child[of]
        child[of] = entry
    return entry, used


def take_made(
    leaves: Any, filled: int, used: int, parent: Any, letter: Any, child: Any, sibling: Any,
    alive: Any, total: Any, blank: Any, ended: Any, new_blank: Any, new_ended: Any,
    made: Any, made_of: Any, made_letter: Any, made_total: Any,
) -> int:  # fmt: skip
    """Inlined: what was made in a step becomes the leaves; how many entries there
    are."""
    for i in range(filled):
        entry = made[i]
        if entry < 0:
            of = made_of[i]
            label = made_letter[i]
            entry, used = entry_of(of, label, used, parent, letter, child, sibling)
            new_blank[entry] = f64(NO_PATH)
            new_ended[entry] = made_total[i]
        leaves[i] = entry
        alive[entry] = 1
        total[entry] = made_total[i]
        blank[entry] = new_blank[entry]
        ended[entry] = new_ended[entry]
    return used


def write_path(
    leaf: int, path: int, steps: int, parent: Any, letter: Any, labels: Any, counts: Any
) -> None:
    """Inlined: the labels from the root to a leaf."""
    entry = leaf
    before = -1
    length = 0
    while parent[entry] >= 0:
        if not (MERGE and letter[entry] == before):
            length += 1
        before = letter[entry]
        entry = parent[entry]
    counts[path] = length
    entry = leaf
    before = -1
    while parent[entry] >= 0:
        if not (MERGE and letter[entry] == before):
            length -= 1
            labels[path * steps + length] = letter[entry]
        before = letter[entry]
        entry = parent[entry]


def best_paths(
    inputs: Any, lengths: Any, labels: Any, counts: Any, log: Any, scratch: Any, status: Any,
    steps: int, batch: int, classes: int, width: int, count: int, begin: int, end: int,
) -> None:  # fmt: skip
    """A tree of prefixes. A leaf is an entry that is in the beam; an entry that has left it stays
    for its children, and comes back when its parent makes it anew."""
    if classes < 1:
        fail(status, 3, 0, 0, 0)
        return
    entries = steps * width + 1
    parent = as_i64_pointer(scratch)
    letter = as_i64_pointer(offset(scratch, 8 * entries))
    child = as_i64_pointer(offset(scratch, 16 * entries))  # the newest one
    sibling = as_i64_pointer(offset(scratch, 24 * entries))
    alive = as_i64_pointer(offset(scratch, 32 * entries))
    total = as_f64_pointer(offset(scratch, 40 * entries))  # ... at the step before
    blank = as_f64_pointer(offset(scratch, 48 * entries))
    ended = as_f64_pointer(offset(scratch, 56 * entries))
    new_total = as_f64_pointer(offset(scratch, 64 * entries))
    new_blank = as_f64_pointer(offset(scratch, 72 * entries))
    new_ended = as_f64_pointer(offset(scratch, 80 * entries))
    rest = offset(scratch, 88 * entries)
    leaves = as_i64_pointer(rest)
    made = as_i64_pointer(offset(rest, 8 * (width + 1)))  # an entry, or -1 for a new one
    made_of = as_i64_pointer(offset(rest, 16 * (width + 1)))
    made_letter = as_i64_pointer(offset(rest, 24 * (width + 1)))
    made_total = as_f64_pointer(offset(rest, 32 * (width + 1)))
    for i in range(batch * count * steps):
        labels[i] = 0
    for i in range(batch * count):
        counts[i] = 0
        log[i] = 0
    for row in range(batch):
        if lengths[row] > steps:
            fail(status, 1, row, steps, lengths[row])
            return
        used = 1
        size = 1
        plant_root(leaves, parent, letter, child, sibling, alive, total, blank, ended)
        for t in range(lengths[row]):
            at = (t * batch + row) * classes
            norm = log_of_sum(inputs, at, classes)
            filled = keep_leaves(
                inputs, at, norm, classes, leaves, size,
                parent, letter, alive, total, blank, ended,
                new_total, new_blank, new_ended,
                made, made_of, made_letter, made_total,
            )  # fmt: skip
            filled = grow_leaves(
                inputs, at, norm, classes, leaves, size, filled, width,
                letter, child, sibling, alive, total, blank,
                made, made_of, made_letter, made_total,
            )  # fmt: skip
            for i in range(size):
                alive[leaves[i]] = 0
            used = take_made(
                leaves, filled, used, parent, letter, child, sibling, alive, total, blank, ended,
                new_blank, new_ended, made, made_of, made_letter, made_total,
            )  # fmt: skip
            size = filled
        if size < count:
            status[0] = 2
            return
        for i in range(count):
            path = row * count + i
            leaf = leaves[i]
            log[path] = total[leaf]
            write_path(leaf, path, steps, parent, letter, labels, counts)
