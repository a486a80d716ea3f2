"""Decoders of connectionist temporal classification: the labels that sequences of logits spell.

In: logits [time, batch, classes], how many steps each sequence has. Out: labels as sparse matrices
[batch, position], and logarithms of probabilities. Invariant: one kernel finds dense rows of labels
and their lengths; what is sparse is cut from them. Source: Graves et al., "Connectionist temporal
classification" (2006); the beam is that of Hannun et al., "First-pass large vocabulary continuous
speech recognition using bi-directional recurrent DNNs" (2014), ties as in TensorFlow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.errors import FailedPreconditionError, InvalidArgumentError
from flowc.ir.dims import Dim
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.kernels import ctc as kernels

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

Array = np.ndarray[Any, Any]
Path = tuple[int, ...]
Beam = dict[Path, tuple[float, float]]
NOTHING = -np.inf
TYPES = "T: {f32, f64} = f32"
NO_CLASSES = "inputs of no classes have no labels"
TOO_LONG = "FailedPreconditionError: sequence_length({a}) <= {b}: a sequence has {c} steps"


def _check(c: Inference) -> tuple[Dim, Dim]:
    if c.rank(0) != 3:
        raise c.fail(f"inputs is not a 3-Tensor: {c.inputs[0]}")
    if c.rank(1) != 1:
        raise c.fail(f"sequence_length is not a vector: {c.inputs[1]}")
    steps, batch, _ = c.dims(0)
    c.equal(batch, c.dims(1)[0])
    return steps, batch


# -- the best label of each step


def _infer_best(c: Inference) -> list[Dims]:
    steps, batch = _check(c)
    return [(batch, 1, steps), (batch, 1), (batch, 1)]


def _lower_best(node: Node) -> Native:
    steps, batch, classes = node.inputs[0].dims
    return Native(
        kernels.best_labels,
        arguments=(steps, batch, classes, node.attrs["blank"]),
        errors=(TOO_LONG, NO_CLASSES),
        constants={"MERGE": int(node.attrs["merge"])},
    )


def _best(inputs: Array, lengths: Array, *, merge: bool, blank: int) -> list[Array]:
    steps, batch, classes = inputs.shape
    labels = np.zeros((batch, 1, steps), np.int64)
    counts = np.zeros((batch, 1), np.int64)
    log = np.zeros((batch, 1), inputs.dtype)
    for row, length in enumerate(lengths):
        if length > steps:
            raise FailedPreconditionError(f"sequence_length({row}) <= {steps}")
        before = -1
        for t in range(length):
            found = int(inputs[t, row].argmax())
            log[row, 0] -= inputs[t, row, found]
            if found != blank % classes and not (merge and found == before):
                labels[row, 0, counts[row, 0]] = found
                counts[row, 0] += 1
            before = found
    return [labels, counts, log]


ctc_best_labels = define(
    "ctc_best_labels",
    f"_CtcBestLabels(inputs: T, lengths: i32; merge: bool, blank: int, {TYPES})"
    " -> (labels: i64, counts: i64, log_probability: T)",
    infer=_infer_best,
    lowering=_lower_best,
    reference=_best,
    examples=(
        "T[6,3,4] i32[3]=[6,0,4]; merge=True, blank=-1",
        "f32[9,1,2] i32[1]=[9]; merge=False, blank=0",
    ),
)


# -- the best paths of a beam


def _infer_paths(c: Inference) -> list[Dims]:
    steps, batch = _check(c)
    count, width = c.attrs["count"], c.attrs["width"]
    if count > width:
        raise c.fail("top_paths must be at most beam_width")
    return [(batch, count, steps), (batch, count), (batch, count)]


def _lower_paths(node: Node) -> Native:
    steps, batch, classes = node.inputs[0].dims
    width = node.attrs["width"]
    return Native(
        kernels.best_paths,
        arguments=(steps, batch, classes, width, node.attrs["count"]),
        scratch=kernels.bytes_of_beam(steps, width),
        errors=(TOO_LONG, "Less leaves in the beam search than requested.", NO_CLASSES),
        functions=("exp_f64", "log_f64"),
        constants={"MERGE": int(node.attrs["merge"]), "NO_PATH": kernels.NO_PATH},
    )


def _paths(inputs: Array, lengths: Array, *, width: int, count: int, merge: bool) -> list[Array]:
    steps, batch, _ = inputs.shape
    labels = np.zeros((batch, count, steps), np.int64)
    counts = np.zeros((batch, count), np.int64)
    log = np.zeros((batch, count), inputs.dtype)
    for row, length in enumerate(lengths):
        if length > steps:
            raise FailedPreconditionError(f"sequence_length({row}) <= {steps}")
        found = _beam(inputs[: max(length, 0), row].astype(np.float64), width)[:count]
        if len(found) < count:
            raise InvalidArgumentError("Less leaves in the beam search than requested.")
        for k, (path, total) in enumerate(found):
            kept = [
                x for i, x in enumerate(path) if not merge or i + 1 == len(path) or x != path[i + 1]
            ]
            labels[row, k, : len(kept)], counts[row, k], log[row, k] = kept, len(kept), total
    return [labels, counts, log]


def _beam(logits: Array, width: int) -> list[tuple[Path, float]]:
    """Paths and the logarithms of their probabilities, best first."""
    beam: Beam = {(): (0.0, NOTHING)}  # ending in a blank, in the path's last label
    for row in logits:
        top = row.max()
        row = row - top - np.log(np.exp(row - top).sum())
        after: Beam = {}
        for path, (blank, label) in beam.items():
            again = label
            if path and path[:-1] in beam:
                again = np.logaddexp(label, _before(beam, path[:-1], path[-1]))
            ended = again + row[path[-1]] if path else NOTHING
            after[path] = (np.logaddexp(blank, label) + row[-1], ended)
        kept = sorted(after, key=lambda p: -np.logaddexp(*after[p]))
        _grow(beam, after, kept, row, width)
        beam = {p: after[p] for p in kept}
    return [(p, float(np.logaddexp(*s))) for p, s in beam.items()]


def _grow(beam: Beam, after: Beam, kept: list[Path], row: Array, width: int) -> None:
    """Adds paths of one label more to those kept, best first; the worst leave. A path that left in
    this step, and that a shorter one could not bring back, is forgotten: nothing grows from it."""
    forgotten: set[Path] = set()
    for path in beam:
        if path in forgotten:
            continue
        for x in range(len(row) - 1):
            longer = (*path, x)
            if longer in beam and longer in kept:
                continue
            total = _before(beam, path, x) + row[x]
            full = len(kept) == width
            if total == NOTHING or (full and total <= np.logaddexp(*after[kept[-1]])):
                forgotten.add(longer)
                continue
            if full:
                kept.pop()
            after[longer] = (NOTHING, total)
            place = sum(np.logaddexp(*after[p]) >= total for p in kept)
            kept.insert(place, longer)


def _before(beam: Beam, path: Path, label: int) -> float:
    """What a label adds to: a label like the last one only counts after a blank."""
    blank, ended = beam[path]
    return blank if path and path[-1] == label else float(np.logaddexp(blank, ended))


ctc_best_paths = define(
    "ctc_best_paths",
    "_CtcBestPaths(inputs: T, lengths: i32; width: int, count: int, merge: bool,"
    f" {TYPES}) -> (labels: i64, counts: i64, log_probability: T)",
    infer=_infer_paths,
    lowering=_lower_paths,
    reference=_paths,
    traits=frozenset({"no_fold"}),  # the reference takes minutes for what the kernel does at once
    examples=(
        "T[6,3,4] i32[3]=[6,5,4]; width=7, count=3, merge=True",
        "f32[12,1,5] i32[1]=[12]; width=20, count=1, merge=False",
    ),
)


# -- TensorFlow's ops


def _infer_sparse(c: Inference, count: int) -> list[Dims]:
    steps, batch = _check(c)
    if count > c.attrs.get("beam_width", 1):
        raise c.fail(f"requested more paths than the beam width: {count}")
    sizes = [c.fresh("decoded", batch * steps) for _ in range(count)]
    return [*((n, 2) for n in sizes), *((n,) for n in sizes), *[(2,)] * count, (batch, count)]


def _sparse(b: Builder, labels: Value, counts: Value, path: int) -> tuple[Value, Value, Value]:
    """Indices, values and shape of the rows of one path."""
    batch, _, steps = labels.dims
    rows = b.reshape(b.slice(labels, (0, path, 0), (batch, 1, steps)), (batch, steps))
    lengths = b.slice(counts, (0, path), (batch, 1))
    stop = b.scalar_size(steps, dtypes.i64)
    places = b.range(b.const(np.int64(0)), stop, b.const(np.int64(1)))
    indices = b.where(b.less(b.reshape(places, (1, steps)), lengths))
    longest = b.maximum(b.max(lengths, np.array([0, 1], np.int32)), np.int64(0))
    shape = b.concat(b.sizes((batch,), dtypes.i64), b.reshape(longest, (1,)), b.const(np.int32(0)))
    return indices, b.gather_nd(rows, indices), shape


def _all_sparse(b: Builder, count: int, labels: Value, counts: Value, log: Value) -> list[Value]:
    found = [_sparse(b, labels, counts, path) for path in range(count)]
    return [*(part[k] for k in range(3) for part in found), log]


def _build_greedy(b: Builder, node: Node) -> list[Value]:
    blank, merge = node.attrs["blank_index"], node.attrs["merge_repeated"]
    return _all_sparse(b, 1, *b.ctc_best_labels(*node.inputs, merge=merge, blank=blank))


def _build_beam(b: Builder, node: Node) -> list[Value]:
    a = node.attrs
    found = b.ctc_best_paths(
        *node.inputs, width=a["beam_width"], count=a["top_paths"], merge=a["merge_repeated"]
    )
    return _all_sparse(b, a["top_paths"], *found)


def _sparse_arrays(labels: Array, counts: Array, log: Array) -> list[Array]:
    parts: list[list[Array]] = []
    for k in range(labels.shape[1]):
        mask = np.arange(labels.shape[2]) < counts[:, k : k + 1]
        shape = np.array([len(labels), counts[:, k].max(initial=0)], np.int64)
        parts.append([np.argwhere(mask).astype(np.int64), labels[:, k][mask], shape])
    return [*(part[i] for i in range(3) for part in parts), log]


def _greedy_reference(
    inputs: Array, lengths: Array, *, merge_repeated: bool, blank_index: int
) -> list[Array]:
    return _sparse_arrays(*_best(inputs, lengths, merge=merge_repeated, blank=blank_index))


def _beam_reference(
    inputs: Array, lengths: Array, *, beam_width: int, top_paths: int, merge_repeated: bool
) -> list[Array]:
    found = _paths(inputs, lengths, width=beam_width, count=top_paths, merge=merge_repeated)
    return _sparse_arrays(*found)


ctc_greedy_decoder = define(
    "ctc_greedy_decoder",
    "CTCGreedyDecoder(inputs: T, sequence_length: i32; merge_repeated: bool = False,"
    f" blank_index: int = -1, {TYPES}) -> (decoded_indices: i64, decoded_values: i64,"
    " decoded_shape: i64, log_probability: T)",
    infer=lambda c: _infer_sparse(c, 1),
    lowering=Decompose(_build_greedy),
    reference=_greedy_reference,
    examples=(
        "T[6,3,4] i32[3]=[6,0,4]",
        "f32[12,2,3] i32[2]=[12,12]; merge_repeated=True",
        "f32[12,2,3] i32[2]=[7,12]; merge_repeated=True, blank_index=0",
    ),
)

ctc_beam_search_decoder = define(
    "ctc_beam_search_decoder",
    "CTCBeamSearchDecoder(inputs: T, sequence_length: i32; beam_width: int >= 1,"
    f" top_paths: int >= 1, merge_repeated: bool = True, {TYPES}) -> (decoded_indices:"
    " top_paths*i64, decoded_values: top_paths*i64, decoded_shape: top_paths*i64,"
    " log_probability: T)",
    infer=lambda c: _infer_sparse(c, c.attrs["top_paths"]),
    lowering=Decompose(_build_beam),
    reference=_beam_reference,
    examples=(
        "f32[6,3,4] i32[3]=[6,5,4]; beam_width=7, top_paths=2",
        "f32[12,2,6] i32[2]=[12,9]; beam_width=30, top_paths=1, merge_repeated=False",
        "f32[9,1,3] i32[1]=[9]; beam_width=4, top_paths=4",
    ),
)
