"""Object detection in batches: CombinedNonMaxSuppression.

In: boxes [batch, count, 1 or classes, 4], scores [batch, count, classes], how many boxes a class
and an image keep at most. Out: the boxes kept of each image, best first, their scores and classes,
zeros behind them, and how many there are. Invariant: the kernel and the reference put equal scores
in order by the same functions, of which TensorFlow's answers are the judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.dims import Dim, Expr, minimum
from flowc.ir.inference import Inference
from flowc.ir.lowering import Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.arrays.shapes import known_dims
from flowc.ops.image.detection import box_overlap
from flowc.ops.kernels.image import combined_suppression as kernels

if TYPE_CHECKING:
    from flowc.ir.computation import Node

Array = np.ndarray[Any, Any]
Entry = tuple[np.float32, int, int]  # score, box, class
f32 = np.float32
FAULTS = (
    "max_size_per_class must be positive",
    "max_total_size must be > 0",
    "iou_threshold must be in [0, 1]",
)
COLUMNS = "third dimension of boxes must be either 1 or num classes"


def _infer(c: Inference) -> list[Dims]:
    if c.rank(0) != 4:
        raise c.fail("boxes must be 4-D [batch, num_boxes, q, 4]")
    if c.rank(1) != 3:
        raise c.fail("scores must be 3-D [batch, num_boxes, num_classes]")
    for i in range(2, len(c.inputs)):
        if c.rank(i) != 0:
            raise c.fail("sizes and thresholds must be 0-D")
    batch, count, own, corners = c.dims(0)
    classes = c.dims(1)[2]
    if isinstance(corners, int) and corners != 4:
        raise c.fail("boxes must have 4 columns")
    if own != 1 and isinstance(own, int) and isinstance(classes, int) and own != classes:
        raise c.fail(COLUMNS)
    c.equal(batch, c.dims(1)[0])
    c.equal(count, c.dims(1)[1])
    c.equal(corners, 4)
    total = _positive(c, 3, FAULTS[1])
    if c.attrs["pad_per_class"]:
        total = minimum(total, _positive(c, 2, FAULTS[0]) * classes)
    return [(batch, total, 4), (batch, total), (batch, total), (batch,)]


def _positive(c: Inference, i: int, fault: str) -> Dim:
    found = c.need_size(i)
    if not isinstance(found, Expr) and found <= 0:
        raise c.fail(fault)
    return found


def _lower(node: Node) -> Native:
    boxes, scores, most, *_ = node.inputs
    batch, count, own, _ = boxes.dims
    classes = scores.dims[2]
    known = known_dims(most)
    # A limit that the run computes is not trusted with the size of a buffer.
    entries = classes * (minimum(known[0], count) if known and _is_number(known[0]) else count)
    clip = int(node.attrs["clip_boxes"])
    return Native(
        kernels.combined_suppression,
        arguments=(count, classes, own, node.outputs[1].dims[1], clip),
        parallel=batch,
        scratch=kernels.bytes_of_image(count, entries),
        errors=(*FAULTS, COLUMNS),
        constants={name: getattr(kernels, name) for name in ("NOTHING", "SHORT", "WAITING")},
    )


def _is_number(dim: Dim) -> bool:
    return isinstance(dim, int) and dim > 0


# -- reference


def _reference(
    boxes: Array,
    scores: Array,
    max_output_size_per_class: Array,
    max_total_size: Array,
    iou_threshold: Array,
    score_threshold: Array,
    *,
    pad_per_class: bool,
    clip_boxes: bool,
) -> list[Array]:
    most, total = int(max_output_size_per_class), int(max_total_size)
    for fault, holds in zip(FAULTS, (most > 0, total > 0, 0 <= iou_threshold <= 1)):
        if not holds:
            raise InvalidArgumentError(fault)
    batch, count, own, _ = boxes.shape
    classes = scores.shape[2]
    if own not in (1, classes):
        raise InvalidArgumentError(COLUMNS)
    if pad_per_class:
        total = min(total, most * classes)
    found = [
        np.zeros((batch, total, 4), f32),
        np.zeros((batch, total), f32),
        np.zeros((batch, total), f32),
        np.zeros(batch, np.int32),
    ]
    for image in range(batch):
        kept: list[Entry | None] = []
        for label in range(classes):
            mine = boxes[image, :, label if own > 1 else 0]
            one = _kept_of_class(
                mine, scores[image, :, label], min(most, count), iou_threshold, score_threshold
            )
            kept += [(score, box, label) for score, box in one]
            kept += [None] * (min(most, count) - len(one))
        best = _best_first(kept)[:total]
        for i, (score, box, label) in enumerate(best):
            corners = boxes[image, box, label if own > 1 else 0]
            found[0][image, i] = np.clip(corners, f32(0), f32(1)) if clip_boxes else corners
            found[1][image, i], found[2][image, i] = score, label
        found[3][image] = len(best)
    return found


def _kept_of_class(
    boxes: Array, scores: Array, limit: int, iou: Array, threshold: Array
) -> list[tuple[np.float32, int]]:
    keys, items = np.empty(len(scores), f32), np.empty(len(scores), np.int32)
    size = 0
    for i, score in enumerate(scores):
        if score > threshold:
            kernels.rise(keys, items, 0, size, 0, score, i)
            size += 1
    kept: list[tuple[np.float32, int]] = []
    while len(kept) < limit and size:
        score, box = keys[0], int(items[0])
        size -= 1
        if size:
            kernels.settle(keys, items, 0, 0, size, keys[size], items[size])
        if not any(box_overlap(boxes[box], boxes[other]) > iou for _, other in reversed(kept)):
            kept.append((score, box))
    return kept


def _best_first(entries: list[Entry | None]) -> list[Entry]:
    keys = np.array([np.inf if e is None else -e[0] for e in entries], f32)
    order = np.arange(len(entries))
    kernels.sort(keys, order, len(entries), np.zeros(kernels.WAITING, np.int64))
    return [e for e in (entries[i] for i in order) if e is not None]


combined_non_max_suppression = define(
    "combined_non_max_suppression",
    "CombinedNonMaxSuppression(boxes: f32, scores: f32, max_output_size_per_class: i32,"
    " max_total_size: i32, iou_threshold: f32, score_threshold: f32;"
    " pad_per_class: bool = False, clip_boxes: bool = True) -> (nmsed_boxes: f32,"
    " nmsed_scores: f32, nmsed_classes: f32, valid_detections: i32)",
    infer=_infer,
    lowering=_lower,
    reference=_reference,
    examples=(
        "f32[2,12,1,4]~prob f32[2,12,3]~prob i32[]=4 i32[]=9 f32[]=0.3 f32[]=0.1",
        "f32[2,12,3,4] f32[2,12,3]~prob i32[]=20 i32[]=50 f32[]=0.3 f32[]=0.5;"
        " pad_per_class=True, clip_boxes=False",
        "f32[1,60,1,4]~prob f32[1,60,9]~small i32[]=30 i32[]=100 f32[]=0.5 f32[]=0.5;"
        " pad_per_class=True",
        "f32[2,30,7,4]~small f32[2,30,7]~small i32[]=50 i32[]=70 f32[]=0.2 f32[]=-1",
        "f32[1,5,1,4]~prob f32[1,5,2]~prob i32[]=1 i32[]=9 f32[]=1 f32[]=2; pad_per_class=True",
        "f32[2,0,1,4] f32[2,0,3] i32[]=2 i32[]=3 f32[]=0.5 f32[]=0",
        "f32[0,3,1,4] f32[0,3,2] i32[]=2 i32[]=3 f32[]=0.5 f32[]=0",
    ),
)
