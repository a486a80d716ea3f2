"""The loss of connectionist temporal classification, and its gradient by the logits.

In: logits [time, batch, classes], of which the last class is the blank, labels as a sparse matrix
[batch, position], how many steps each sequence has. Out: for each sequence minus the logarithm of
the probability that its logits spell its labels, and that number's derivatives. Invariants: steps
behind a sequence's end have no part in it; where no path has a probability above 0, the loss is
infinite and the gradient is the softmax. Labels not below the blank are ignored; where no others
are left, the path of blanks may end a step early, as in TensorFlow. Source: Graves et al.,
"Connectionist temporal classification" (2006), equations 5.9 to 5.16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.dims import minimum
from flowc.ir.inference import Inference
from flowc.ir.lowering import Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.kernels.ctc import log_sum
from flowc.ops.kernels.status import fail

if TYPE_CHECKING:
    from flowc.ir.computation import Node

    # Globals that the compiler gives to kernels.
    f64: Any = None
    offset: Any = None
    as_f64_pointer: Any = None
    as_i64_pointer: Any = None
    exp_f64: Any = None
    log_f64: Any = None

Array = np.ndarray[Any, Any]

# What the kernel may find wrong: names that it knows as numbers from 1 (`Native.constants`).
FAULTS = {
    "OUT_OF_ORDER": "label SparseTensor is not valid: indices[{a}] = [{b},{c}] is out of order",
    "OUT_OF_BOUNDS": "label SparseTensor is not valid: indices[{a}] = [{b},{c}] is out of bounds",
    "TOO_LONG": "sequence_length({a}) <= {b}: it is {c}",
    "NEGATIVE_LENGTH": "seq_len({a}) < 0: it is {c}",
    "NO_LABELS": "Labels length is zero in batch {a}",
    "AFTER_BLANK": "Saw a non-null label (index >= num_classes - 1) following a null label,"
    " batch: {a}: {b}",
    "NEGATIVE_LABEL": "All labels must be nonnegative integers, batch: {a}: {b}",
    "NO_TIME": "Not enough time for target transition sequence (required: {b}, available: {c})"
    " in batch {a}. ignore_longer_outputs_than_inputs makes the loss 0 instead",
}
OUT_OF_ORDER = OUT_OF_BOUNDS = TOO_LONG = NEGATIVE_LENGTH = 0
NO_LABELS = AFTER_BLANK = NEGATIVE_LABEL = NO_TIME = 0

# Attrs of the op as the kernel knows them.
COLLAPSE = 0
MERGE = 1
IGNORE = 0


def softmax_of_row(
    inputs: Any, gradient: Any, logs: Any,
    row: int, length: int, steps: int, batch: int, classes: int,
) -> None:  # fmt: skip
    """Inlined: probabilities, in the gradient's place, and their logarithms."""
    for t in range(steps):
        at = (t * batch + row) * classes
        if t >= length:
            for k in range(classes):
                gradient[at + k] = 0
            continue
        top = inputs[at]
        for k in range(classes):
            top = inputs[at + k] if inputs[at + k] > top else top
        total = f64(0)
        for k in range(classes):
            total += exp_f64(f64(inputs[at + k]) - f64(top))
        for k in range(classes):
            gradient[at + k] = exp_f64(f64(inputs[at + k]) - f64(top)) / total
            found = f64(gradient[at + k])
            logs[t * classes + k] = log_f64(found) if found > f64(0) else f64(-1e301)


def forward(alpha: Any, logs: Any, path: Any, length: int, size: int, classes: int) -> None:
    """Inlined: log probabilities of having come to a place of the path by a step.
    Places from which the end cannot be reached any more stay impossible."""
    none = f64(-1e301)
    blank = classes - 1
    for i in range(length * size):
        alpha[i] = none
    alpha[0] = logs[blank]
    if size > 1:
        alpha[1] = logs[path[1]]
    for t in range(1, length):
        first = size - 2 * (length - t) if size > 2 * (length - t) else 0
        last = size if size < 2 * (t + 1) else 2 * (t + 1)
        before = (t - 1) * size
        for u in range(first, last):
            total = none
            if MERGE or path[u] == blank:
                total = alpha[before + u]
            if u > 0:
                total = log_sum(total, alpha[before + u - 1])
            if u > 1 and path[u] != blank and not (MERGE and path[u] == path[u - 2]):
                total = log_sum(total, alpha[before + u - 2])
            total += logs[t * classes + path[u]]
            alpha[t * size + u] = total if total > none else none


def step_back(
    beta: Any, after: Any, logs: Any, path: Any, t: int, length: int, size: int, classes: int
) -> None:  # fmt: skip
    """Inlined: log probabilities of reaching the end from a place at step t, by those
    of the step after it."""
    none = f64(-1e301)
    blank = classes - 1
    here = (t + 1) * classes
    for u in range(size):
        total = none
        if u >= size - 2 * (length - t) and u < 2 * (t + 1):
            if MERGE or path[u] == blank:
                total = after[u] + logs[here + path[u]]
            if u + 1 < size:
                total = log_sum(total, after[u + 1] + logs[here + path[u + 1]])
            if u + 2 < size and path[u] != blank and not (MERGE and path[u] == path[u + 2]):
                total = log_sum(total, after[u + 2] + logs[here + path[u + 2]])
        beta[u] = total if total > none else none


def read_labels(
    indices: Any, values: Any, path: Any, status: Any,
    row: int, batch: int, count: int, widest: int, blank: int,
) -> tuple[int, int, bool]:  # fmt: skip
    """Inlined: puts the labels of a row at the places 1, 3, 5 ... of its path. How
    many these are, how many with those that are left out, and whether all is well."""
    size = 0
    seen_blank = False
    labels = 0
    before = -1
    fine = True
    for i in range(count):
        of = indices[2 * i]
        if of < 0 or of >= batch:
            fail(status, OUT_OF_BOUNDS, i, of, indices[2 * i + 1])
            fine = False
            break
        if i > 0 and (
            of < indices[2 * i - 2]
            or (of == indices[2 * i - 2] and indices[2 * i + 1] <= indices[2 * i - 1])
        ):
            fail(status, OUT_OF_ORDER, i, of, indices[2 * i + 1])
            fine = False
            break
        if of != row:
            continue
        labels += 1
        label = values[i]
        same = COLLAPSE and labels > 1 and label == before
        before = label
        if same:
            continue
        if label >= blank:
            seen_blank = True
            continue
        if seen_blank:
            fail(status, AFTER_BLANK, row, label, 0)
            fine = False
            break
        if label < 0:
            fail(status, NEGATIVE_LABEL, row, label, 0)
            fine = False
            break
        if size < widest:
            path[2 * size + 1] = label
        size += 1
    return size, labels, fine


def subtract_expected(
    gradient: Any, at: int, alpha: Any, alpha_at: int, beta: Any, path: Any, sums: Any, total: Any,
    size: int, classes: int,
) -> None:  # fmt: skip
    """Inlined: takes from a step's softmax what the paths of the labels expect."""
    for k in range(classes):
        sums[k] = f64(-1e301)
    for u in range(size):
        if alpha[alpha_at + u] > f64(-1e300) and beta[u] > f64(-1e300):
            sums[path[u]] = log_sum(sums[path[u]], alpha[alpha_at + u] + beta[u])
    for k in range(classes):
        if sums[k] > f64(-1e300):
            gradient[at + k] = f64(gradient[at + k]) - exp_f64(sums[k] - total)


def ctc_loss_kernel(
    inputs: Any, indices: Any, values: Any, lengths: Any, loss: Any, gradient: Any,
    scratch: Any, status: Any,
    steps: int, batch: int, classes: int, count: int, widest: int, begin: int, end: int,
) -> None:  # fmt: skip
    blank = classes - 1
    none = f64(-1e301)
    places = 2 * widest + 1
    path = as_i64_pointer(scratch)
    logs = as_f64_pointer(offset(scratch, 8 * places))
    alpha = as_f64_pointer(offset(scratch, 8 * (places + steps * classes)))
    rest = offset(scratch, 8 * (places + steps * classes + steps * places))
    beta = as_f64_pointer(rest)
    after = as_f64_pointer(offset(rest, 8 * places))
    sums = as_f64_pointer(offset(rest, 16 * places))
    for row in range(begin, end):
        size, labels, fine = read_labels(
            indices, values, path, status, row, batch, count, widest, blank
        )
        if not fine:
            return
        length = lengths[row]
        if length < 0:
            fail(status, NEGATIVE_LENGTH, row, 0, length)
            return
        if length > steps:
            fail(status, TOO_LONG, row, steps, length)
            return
        if labels == 0:
            fail(status, NO_LABELS, row, 0, 0)
            return
        loss[row] = 0
        if labels > length or length == 0:
            if not IGNORE and labels > length:
                fail(status, NO_TIME, row, labels, length)
                return
            for t in range(steps):
                for k in range(classes):
                    gradient[(t * batch + row) * classes + k] = 0
            continue
        for u in range(size + 1):
            path[2 * u] = blank
        size = 2 * size + 1
        softmax_of_row(inputs, gradient, logs, row, length, steps, batch, classes)
        forward(alpha, logs, path, length, size, classes)
        total = alpha[(length - 1) * size + size - 1]
        if size > 1:
            total = log_sum(total, alpha[(length - 1) * size + size - 2])
        elif length > 1:
            total = log_sum(total, alpha[length - 2])
        if total <= f64(-1e300):
            loss[row] = -log_f64(f64(0))
            continue
        loss[row] = -total
        for u in range(size):
            beta[u] = f64(0) if u >= size - 2 else none
        for back in range(length):
            t = length - 1 - back
            if back > 0:
                for u in range(size):
                    after[u] = beta[u]
                step_back(beta, after, logs, path, t, length, size, classes)
            if back == 1 and size == 1:
                beta[0] = log_sum(beta[0], f64(0))
            at = (t * batch + row) * classes
            alpha_at = t * size
            subtract_expected(gradient, at, alpha, alpha_at, beta, path, sums, total, size, classes)


def _infer(c: Inference) -> list[Dims]:
    if c.rank(0) != 3:
        raise c.fail(f"inputs is not a 3-Tensor: {c.inputs[0]}")
    if c.rank(1) != 2:
        raise c.fail(f"labels_indices is not a matrix: {c.inputs[1]}")
    if c.rank(2) != 1:
        raise c.fail(f"labels_values is not a vector: {c.inputs[2]}")
    if c.rank(3) != 1:
        raise c.fail(f"sequence_length is not a vector: {c.inputs[3]}")
    steps, batch, _ = c.dims(0)
    if steps == 0:
        raise c.fail("Max time or first dimension of input cannot be 0.")
    if batch == 0:
        raise c.fail("batch_size must not be 0")
    c.equal(c.dims(1)[1], 2)
    c.equal(c.dims(1)[0], c.dims(2)[0])
    c.equal(batch, c.dims(3)[0])
    return [(batch,), c.dims(0)]


def _lower(node: Node) -> Native:
    steps, batch, classes = node.inputs[0].dims
    count = node.inputs[2].dims[0]
    # A row with more labels than steps has no path, so that nothing is kept for it.
    widest = minimum(count, steps)
    places = 2 * widest + 1
    return Native(
        ctc_loss_kernel,
        arguments=(steps, batch, classes, count, widest),
        parallel=batch,
        scratch=8 * (places * (steps + 3) + (steps + 1) * classes),
        errors=tuple(FAULTS.values()),
        functions=("exp_f64", "log_f64"),
        constants={
            **{name: 1 + i for i, name in enumerate(FAULTS)},
            "COLLAPSE": int(node.attrs["preprocess_collapse_repeated"]),
            "MERGE": int(node.attrs["ctc_merge_repeated"]),
            "IGNORE": int(node.attrs["ignore_longer_outputs_than_inputs"]),
        },
    )


# -- the reference


def _labels_of(row: int, found: list[int], blank: int, collapse: bool) -> list[int]:
    if collapse:
        found = [x for i, x in enumerate(found) if i == 0 or x != found[i - 1]]
    kept = [x for x in found if x < blank]
    if kept != found[: len(kept)]:
        late = kept[next(i for i, (x, y) in enumerate(zip(kept, found)) if x != y)]
        raise InvalidArgumentError(FAULTS["AFTER_BLANK"].format(a=row, b=late))
    if any(x < 0 for x in kept):
        raise InvalidArgumentError(FAULTS["NEGATIVE_LABEL"].format(a=row, b=min(kept)))
    return kept


def _places_before(path: list[int], u: int, blank: int, merge: bool) -> list[int]:
    """Places of the path from which a step can lead to place u."""
    found = [u] if merge or path[u] == blank else []
    found += [u - 1] if u else []
    skips = u > 1 and path[u] != blank and not (merge and path[u] == path[u - 2])
    return found + ([u - 2] if skips else [])


def _row_loss(p: Array, path: list[int], merge: bool) -> tuple[float, Array]:
    """The loss of one sequence by its probabilities [time, classes], and its gradient."""
    steps, classes = p.shape
    with np.errstate(divide="ignore"):
        logs = np.log(p.astype(np.float64))
    size = len(path)
    alpha = np.full((steps, size), -np.inf)
    beta = np.full((steps, size), -np.inf)
    alpha[0, :2] = logs[0, path[:2]]
    beta[-1, -2:] = 0
    if size == 1:
        beta[-2:, 0] = 0
    before = [_places_before(path, u, classes - 1, merge) for u in range(size)]
    for t in range(1, steps):
        for u in range(size):
            alpha[t, u] = np.logaddexp.reduce(alpha[t - 1, before[u]]) + logs[t, path[u]]
    for t in range(steps - 1, 0, -1):
        for u in range(size):
            for v in before[u]:
                come = beta[t, u] + logs[t, path[u]]
                beta[t - 1, v] = np.logaddexp(beta[t - 1, v], come)
    total = np.logaddexp.reduce(alpha[-1, -2:] if size > 1 else alpha[-2:, 0])
    if total == -np.inf:
        return np.inf, p
    gradient = p.astype(np.float64)
    for t in range(steps):
        for u in range(size):
            gradient[t, path[u]] -= np.exp(alpha[t, u] + beta[t, u] - total)
    return -total, gradient


def _reference(
    inputs: Array,
    labels_indices: Array,
    labels_values: Array,
    sequence_length: Array,
    *,
    preprocess_collapse_repeated: bool,
    ctc_merge_repeated: bool,
    ignore_longer_outputs_than_inputs: bool,
) -> list[Array]:
    steps, batch, classes = inputs.shape
    loss, gradient = np.zeros(batch, inputs.dtype), np.zeros_like(inputs)
    blank = classes - 1
    before = (-1, 0)
    for i, place in enumerate(map(tuple, labels_indices.tolist())):
        fault = "" if before < place else "OUT_OF_ORDER"
        fault = fault if 0 <= place[0] < batch else "OUT_OF_BOUNDS"
        if fault:
            raise InvalidArgumentError(FAULTS[fault].format(a=i, b=place[0], c=place[1]))
        before = place
    for row, length in enumerate(sequence_length.tolist()):
        found = labels_values[labels_indices[:, 0] == row].tolist()
        labels = _labels_of(row, found, blank, preprocess_collapse_repeated)
        if not 0 <= length <= steps:
            fault = "NEGATIVE_LENGTH" if length < 0 else "TOO_LONG"
            raise InvalidArgumentError(FAULTS[fault].format(a=row, b=steps, c=length))
        if not found:
            raise InvalidArgumentError(FAULTS["NO_LABELS"].format(a=row))
        if len(found) > length and not ignore_longer_outputs_than_inputs:
            fault = FAULTS["NO_TIME"].format(a=row, b=len(found), c=length)
            raise InvalidArgumentError(fault)
        if len(found) > length or not length:
            continue
        path = [x for label in labels for x in (blank, label)] + [blank]
        logits = inputs[:length, row]
        p = np.exp((logits - logits.max(1, keepdims=True)).astype(np.float64))
        p = (p / p.sum(1, keepdims=True)).astype(inputs.dtype)
        loss[row], gradient[:length, row] = _row_loss(p, path, ctc_merge_repeated)
    return [loss, gradient]


_FUSED = (
    "Currently there is no way to take the second derivative of ctc_loss due to the fused "
    "implementation's interaction with tf.gradients()"
)


def _gradient(b: GradientBuilder, node: Forward, dy: Any, *_: Any) -> Any:
    known = b.prevent_gradient(node.outputs[1], message=_FUSED)
    return b.mul(b.expand_dims(dy, -1), known)


ctc_loss = define(
    "ctc_loss",
    "CTCLoss(inputs: T, labels_indices: i64, labels_values: i32, sequence_length: i32;"
    " preprocess_collapse_repeated: bool = False, ctc_merge_repeated: bool = True,"
    " ignore_longer_outputs_than_inputs: bool = False, T: {f32, f64} = f32)"
    " -> (loss: T, gradient: T)",
    infer=_infer,
    lowering=_lower,
    reference=_reference,
    gradient=_gradient,
    examples=(
        "f32[6,2,4] i64[5,2]=[0,0,0,1,0,2,1,0,1,1] i32[5]=[1,1,0,2,2] i32[2]=[6,4]",
        "f32[6,2,4] i64[5,2]=[0,0,0,1,0,2,1,0,1,1] i32[5]=[1,1,0,2,2] i32[2]=[6,4];"
        " ctc_merge_repeated=False",
        "f32[6,2,4] i64[5,2]=[0,0,0,1,0,2,1,0,1,1] i32[5]=[1,1,0,2,2] i32[2]=[6,4];"
        " preprocess_collapse_repeated=True",
        "f32[3,3,4] i64[6,2]=[0,0,0,1,1,0,1,1,1,2,2,0] i32[6]=[1,1,0,2,0,2] i32[3]=[2,2,0];"
        " ignore_longer_outputs_than_inputs=True",
    ),
)
