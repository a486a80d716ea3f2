"""Boxes chosen by their scores and overlaps, beside those of `image.py`, and patches."""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope
from flowc.api.image.image import BOXES_LIMIT, extract_image_patches
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


def non_max_suppression_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = BOXES_LIMIT,
    name: str | None = None,
) -> Tensor:
    """The indices of boxes to keep, by their `overlaps` [boxes, boxes]."""
    with name_scope(name, "non_max_suppression_overlaps"):
        most = as_tensor(overlap_threshold, name="overlap_threshold")
        least = as_tensor(score_threshold, dtypes.f32, "score_threshold")
        inputs = overlaps, scores, max_output_size, most, least
        return output("NonMaxSuppressionWithOverlaps", *inputs)


def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = BOXES_LIMIT,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> Any:
    """The indices of boxes to keep, filled up with zeros to `max_output_size` where asked for, and
    how many of them count."""
    with name_scope(name, "non_max_suppression_padded"):
        most = as_tensor(iou_threshold, dtypes.f32, "iou_threshold")
        least = as_tensor(score_threshold, dtypes.f32, "score_threshold")
        return call(
            "NonMaxSuppressionV4",
            *(boxes, scores, max_output_size, most, least),
            pad_to_max_output_size=pad_to_max_output_size,
        )


def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = BOXES_LIMIT,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> Any:
    """The best boxes [batch, n, 4] over all classes, their scores and classes [batch, n], and how
    many of them count, [batch]. `boxes`: [batch, boxes, classes or 1, 4]; `scores`: [batch, boxes,
    classes]."""
    with name_scope(name, "combined_non_max_suppression"):
        most = as_tensor(iou_threshold, dtypes.f32, "iou_threshold")
        least = as_tensor(score_threshold, dtypes.f32, "score_threshold")
        return call(
            "CombinedNonMaxSuppression",
            *(boxes, scores, max_output_size_per_class, max_total_size, most, least),
            pad_per_class=pad_per_class,
            clip_boxes=clip_boxes,
        )


def extract_patches(
    images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """`extract_image_patches` with another name of an argument."""
    return extract_image_patches(images, sizes, strides, rates, padding, name)
