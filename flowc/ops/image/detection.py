"""Object detection: NonMaxSuppression in its five forms, and the one that is told the overlaps.

In: boxes and scores. Out: indices of the boxes kept. Invariant: one kernel does the work, on a
buffer of at most max_output_size boxes; forms with an output of data-dependent size cut it later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.dims import Dim, Expr, minimum
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Lowering, Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.kernels.image import detection as kernels

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

f32 = np.float32
TYPES = "T: {f16, f32} = f32"
THRESHOLDS = "T: {f16, f32} = f32, T_threshold: {f16, f32} = f32"
_FAULTS = (
    "iou_threshold must be in [0, 1]",
    "output size must be non-negative",
    "soft_nms_sigma must be non-negative",
)


def _infer_kept(c: Inference, padded: bool) -> Dim:
    """How many boxes are kept: max_output_size, or a size that the run finds."""
    if c.rank(0) != 2:
        raise c.fail(f"boxes must be 2-D (Shape must be rank 2 but is rank {c.rank(0)})")
    count, corners = c.dims(0)
    if isinstance(corners, int) and corners != 4:
        raise c.fail(f"boxes must have 4 columns (Dimension must be 4 but is {corners})")
    c.equal(corners, 4)
    _check_scores(c, count)
    return c.need_size(2) if padded else c.fresh("selected", _most_kept(c))


def _check_scores(c: Inference, count: Dim) -> None:
    if c.rank(1) != 1:
        raise c.fail(f"scores must be 1-D (Shape must be rank 1 but is rank {c.rank(1)})")
    c.equal(count, c.dims(1)[0])
    for i in range(2, len(c.inputs)):
        if c.rank(i) != 0:
            raise c.fail("max_output_size and thresholds must be 0-D")
    known = _known_limit(c)
    if known is not None and known < 0:
        raise c.fail("output size must be non-negative")


def _known_limit(c: Inference) -> int | None:
    """max_output_size, where it is a number already."""
    content = c.content(2)
    found = None if content is None else content.reshape(-1)[0]
    return None if found is None or isinstance(found, Expr) else int(found)


def _most_kept(c: Inference) -> Dim:
    """A bound that needs nothing of the run: never more than there are boxes."""
    known, count = _known_limit(c), c.dims(0)[0]
    return count if known is None else minimum(known, count)


def _infer(c: Inference) -> list[Dims]:
    kept = (_infer_kept(c, c.attrs.get("pad_to_max_output_size", False)),)
    return [() if output.name == "valid_outputs" else kept for output in c.op.signature.outputs]


# -- lowering


def _suppression(node: Node, given: bool = False) -> Native:
    """The kernel, on outputs as long as the node's first. `given`: overlaps stand for boxes."""
    count = node.inputs[0].dims[0]
    return Native(
        kernels.non_max_suppression,
        arguments=(count, node.outputs[0].dims[0]),
        scratch=count * 12 + 4,  # never 0, which would take the parameter away
        errors=_FAULTS,
        functions=("exp_f32",),
        constants={"GIVEN": int(given)},
    )


def _lower_v5(node: Node) -> Lowering:
    return _suppression(node) if node.attrs["pad_to_max_output_size"] else Decompose(_cut_v5)


def _cut_v5(b: Builder, node: Node) -> list[Value]:
    kept, kept_scores, valid = b.select_boxes(*node.inputs)
    cut, cut_scores = b.cut_to_valid(kept, kept_scores, valid)
    return [cut, cut_scores, valid]


def _by_overlaps(b: Builder, node: Node) -> list[Value]:
    found = b.select_by_overlaps(*node.inputs, b.const(np.array(0, f32)))
    return b.cut_to_valid(*found)[:1]


def _as_v5(b: Builder, node: Node) -> list[Value]:
    """The earlier forms: what they lack is given its neutral value."""
    boxes, scores, limit, *thresholds = node.inputs
    kind = boxes.type.dtype
    cast = [t if t.type.dtype is kind else b.cast(t, DstT=kind) for t in thresholds]
    if not cast:
        cast = [b.const(np.array(node.attrs["iou_threshold"], kind.numpy))]
    if len(cast) == 1:
        cast.append(b.const(_lowest(kind.numpy)))
    cast.append(b.const(np.array(0, kind.numpy)))
    padded = node.attrs.get("pad_to_max_output_size", False)
    kept, _, valid = b.non_max_suppression_v5(
        boxes, scores, limit, *cast, pad_to_max_output_size=padded
    )
    return [kept, valid][: len(node.outputs)]


def _infer_by_overlaps(c: Inference) -> Dims:
    if c.rank(0) != 2:
        raise c.fail("overlaps must be 2-D")
    count, columns = c.dims(0)
    c.equal(count, columns, f"overlaps must be square [{count},{columns}]")
    _check_scores(c, count)
    return (c.fresh("selected", _most_kept(c)),)


def _lowest(dtype: np.dtype[Any]) -> np.ndarray:
    return np.array(ml_dtypes.finfo(dtype).min, dtype)


# -- references


def box_overlap(a: np.ndarray, b: np.ndarray) -> np.float32:
    """Intersection over union of two boxes given by any opposite corners."""
    low_a, high_a = _lower(a[:2], a[2:]), _higher(a[:2], a[2:])
    low_b, high_b = _lower(b[:2], b[2:]), _higher(b[:2], b[2:])
    area_a, area_b = (high_a - low_a).prod(), (high_b - low_b).prod()
    if area_a <= 0 or area_b <= 0:
        return f32(0)
    sides = _higher(_lower(high_a, high_b) - _higher(low_a, low_b), np.zeros(2, f32))
    shared = sides.prod()
    return shared / (area_a + area_b - shared)


def _lower(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The first where neither is lower: NaN counts where TensorFlow's comparisons leave it."""
    return np.where(y < x, y, x)


def _higher(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(x < y, y, x)


Overlap = Callable[[int, int], np.float32]


def _between(boxes: np.ndarray) -> Overlap:
    corners = boxes.astype(f32)
    return lambda i, j: box_overlap(corners[i], corners[j])


def _suppress(
    overlap_of: Overlap,
    scores: np.ndarray,
    limit: int,
    iou: Any,
    threshold: Any,
    sigma: Any,
) -> tuple[list[int], list[np.float32]]:
    """Indices and scores of the boxes kept, in order."""
    scores = scores.astype(f32)
    iou, threshold, sigma = f32(iou), f32(threshold), f32(sigma)
    waiting = {i: (s, 0) for i, s in enumerate(scores) if s > threshold}
    kept: list[int] = []
    kept_scores: list[np.float32] = []
    while waiting and len(kept) < limit:
        best = min(waiting, key=lambda i: (-waiting[i][0], i))
        before, met = waiting.pop(best)
        score, dropped = before, False
        for j in range(len(kept) - 1, met - 1, -1):
            overlap = overlap_of(best, kept[j])
            if sigma > 0:
                score = score * np.exp(f32(-0.5) / sigma * overlap * overlap)
            elif overlap > iou:
                dropped = True
                break
            elif not overlap <= iou:
                score = score * f32(0)
            elif np.isinf(overlap):
                score = f32(np.nan)
            if score <= threshold:
                break
        if not dropped and score == before:
            kept.append(best)
            kept_scores.append(score)
        elif not dropped and score > threshold:
            waiting[best] = (score, len(kept))
    return kept, kept_scores


def _kept(
    overlap_of: Overlap,
    scores: np.ndarray,
    limit: np.ndarray,
    *thresholds: np.ndarray,
    pad_to_max_output_size: bool = False,
) -> list[np.ndarray]:
    """Indices and scores of the boxes kept, and their number. `thresholds`: those of overlap and
    score, and the sigma; those that a version of the op lacks have no effect."""
    neutral = (None, _lowest(scores.dtype), f32(0))
    given = (*(t.astype(scores.dtype) for t in thresholds), *neutral[len(thresholds) :])
    kept, kept_scores = _suppress(overlap_of, scores, int(limit), *given)
    unused = int(limit) - len(kept) if pad_to_max_output_size else 0
    return [
        np.array(kept + [0] * unused, np.int32),
        np.array(kept_scores + [f32(0)] * unused, scores.dtype),
        np.array(len(kept), np.int32),
    ]


def _checked(*settings: np.ndarray) -> tuple[np.ndarray, ...]:
    """Scores, limit and thresholds of boxes, which the kernel checks, too."""
    _, limit, iou, *more = settings
    sigma = more[1] if len(more) > 1 else 0
    for holds, fault in zip((0 <= iou <= 1, int(limit) >= 0, sigma >= 0), _FAULTS):
        if not holds:
            raise InvalidArgumentError(fault)
    return settings


def _v5_reference(
    boxes: np.ndarray, *rest: np.ndarray, pad_to_max_output_size: bool = False
) -> list[np.ndarray]:
    return _kept(_between(boxes), *_checked(*rest), pad_to_max_output_size=pad_to_max_output_size)


def _indices_reference(boxes: np.ndarray, *rest: np.ndarray) -> np.ndarray:
    return _v5_reference(boxes, *rest)[0]


def _overlap_in(overlaps: np.ndarray) -> Overlap:
    return lambda i, j: overlaps[i, j]


def _select(
    overlap_of: Overlap, scores: np.ndarray, limit: np.ndarray, *thresholds: np.ndarray
) -> list[np.ndarray]:
    most = np.minimum(limit, len(scores))
    return _kept(overlap_of, scores, most, *thresholds, pad_to_max_output_size=True)


# -- records

select_boxes = define(
    "select_boxes",
    "_SelectBoxes(boxes: T, scores: T, max_output_size: i32, iou_threshold: T, "
    f"score_threshold: T, soft_nms_sigma: T; {TYPES})"
    " -> (selected_indices: i32, selected_scores: T, valid_outputs: i32)",
    infer=lambda c: [(_most_kept(c),), (_most_kept(c),), ()],
    lowering=_suppression,
    reference=lambda boxes, *rest: _select(_between(boxes), *_checked(*rest)),
    examples=("f32[12,4]~prob f32[12]~prob i32[]=20 f32[]=0.3 f32[]=0.1 f32[]=0",),
)

select_by_overlaps = define(
    "select_by_overlaps",
    "_SelectByOverlaps(overlaps: f32, scores: f32, max_output_size: i32,"
    " overlap_threshold: f32, score_threshold: f32, soft_nms_sigma: f32)"
    " -> (selected_indices: i32, selected_scores: f32, valid_outputs: i32)",
    infer=lambda c: [(_most_kept(c),), (_most_kept(c),), ()],
    lowering=lambda node: _suppression(node, given=True),
    reference=lambda overlaps, *rest: _select(_overlap_in(overlaps), *rest),
    examples=("f32[12,12]~prob f32[12]~prob i32[]=20 f32[]=0.6 f32[]=0.1 f32[]=0",),
)

cut_to_valid = define(
    "cut_to_valid",
    "_CutToValid(indices: i32, scores: T, valid: i32; T: {f16, f32})"
    " -> (kept: i32, kept_scores: T)",
    infer=lambda c: [(c.fresh("selected", c.dims(0)[0]),)] * 2,
    lowering=Native(kernels.cut_to_valid),
    reference=lambda indices, scores, valid: [indices[: int(valid)], scores[: int(valid)]],
    examples=("i32[5] T[5] i32[]=3", "i32[2] f32[2] i32[]=0"),
)

non_max_suppression_v5 = define(
    "non_max_suppression_v5",
    "NonMaxSuppressionV5(boxes: T, scores: T, max_output_size: i32, iou_threshold: T, "
    f"score_threshold: T, soft_nms_sigma: T; {TYPES}, pad_to_max_output_size: bool = False)"
    " -> (selected_indices: i32, selected_scores: T, valid_outputs: i32)",
    infer=_infer,
    lowering=_lower_v5,
    reference=_v5_reference,
    examples=(
        "f32[20,4]~prob f32[20]~prob i32[]=8 f32[]=0.3 f32[]=0.1 f32[]=0",
        "f32[20,4]~prob f32[20]~prob i32[]=8 f32[]=0.3 f32[]=0.1 f32[]=0.5; "
        "pad_to_max_output_size=True",
        "f32[20,4]~small f32[20]~small i32[]=30 f32[]=0.2 f32[]=1.5 f32[]=0.25; "
        "pad_to_max_output_size=True",
        "f32[9,4]~prob f32[9]~prob i32[]=0 f32[]=0.3 f32[]=0.1 f32[]=0",
        "f32[0,4] f32[0] i32[]=3 f32[]=0.3 f32[]=0.1 f32[]=0.5",
    ),
)

non_max_suppression_v4 = define(
    "non_max_suppression_v4",
    "NonMaxSuppressionV4(boxes: T, scores: T, max_output_size: i32, "
    f"iou_threshold: T_threshold, score_threshold: T_threshold; {THRESHOLDS}, "
    "pad_to_max_output_size: bool = False) -> (selected_indices: i32, valid_outputs: i32)",
    infer=_infer,
    lowering=Decompose(_as_v5),
    reference=lambda *inputs, pad_to_max_output_size: _v5_reference(
        *inputs, pad_to_max_output_size=pad_to_max_output_size
    )[::2],
    examples=(
        "f32[15,4]~prob f32[15]~prob i32[]=20 f32[]=0.3 f32[]=0.1; pad_to_max_output_size=True",
        "f32[30,4]~small f32[30]~small i32[]=20 f32[]=0.3 f32[]=0.1",
    ),
)

non_max_suppression_v3 = define(
    "non_max_suppression_v3",
    "NonMaxSuppressionV3(boxes: T, scores: T, max_output_size: i32, "
    "iou_threshold: T_threshold, "
    f"score_threshold: T_threshold; {THRESHOLDS}) -> selected_indices: i32",
    infer=_infer,
    lowering=Decompose(_as_v5),
    reference=_indices_reference,
    examples=(
        "f32[40,4]~prob f32[40]~prob i32[]=20 f32[]=0.5 f32[]=0.25",
        "f32[40,4]~small f32[40]~small i32[]=100 f32[]=0 f32[]=-1",
        "f32[5,4]~prob f32[5]~prob i32[]=5 f32[]=1 f32[]=2",
    ),
)

non_max_suppression_v2 = define(
    "non_max_suppression_v2",
    "NonMaxSuppressionV2(boxes: T, scores: T, max_output_size: i32, "
    "iou_threshold: T_threshold; "
    f"{THRESHOLDS}) -> selected_indices: i32",
    infer=_infer,
    lowering=Decompose(_as_v5),
    reference=_indices_reference,
    examples=("f32[25,4]~prob f32[25] i32[]=20 f32[]=0.4",),
)

non_max_suppression = define(
    "non_max_suppression",
    "NonMaxSuppression(boxes: f32, scores: f32, max_output_size: i32; "
    "iou_threshold: float = 0.5) -> selected_indices: i32",
    infer=_infer,
    lowering=Decompose(_as_v5),
    reference=lambda *inputs, iou_threshold: _indices_reference(
        *inputs, np.array(iou_threshold, f32)
    ),
    examples=("f32[25,4]~prob f32[25] i32[]=20; iou_threshold=0.25",),
)

non_max_suppression_with_overlaps = define(
    "non_max_suppression_with_overlaps",
    "NonMaxSuppressionWithOverlaps(overlaps: f32, scores: f32, max_output_size: i32,"
    " overlap_threshold: f32, score_threshold: f32) -> selected_indices: i32",
    infer=_infer_by_overlaps,
    lowering=Decompose(_by_overlaps),
    reference=lambda overlaps, *rest: _kept(_overlap_in(overlaps), *rest)[0],
    examples=(
        "f32[15,15]~prob f32[15]~prob i32[]=20 f32[]=0.8 f32[]=0.1",
        "f32[30,30]~small f32[30]~small i32[]=4 f32[]=5 f32[]=-1",
        "f32[30,30] f32[30] i32[]=30 f32[]=2 f32[]=-1",
        "f32[6,6]~any f32[6]~small i32[]=9 f32[]=2 f32[]=-1",
        "f32[0,0] f32[0] i32[]=3 f32[]=0.5 f32[]=0",
    ),
)
