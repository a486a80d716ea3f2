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
    """The indices of boxes to keep, by their `overlaps` [boxes, boxes]. float32; the result:
    int32[n]. Raises `TypeError` for other dtypes, `ValueError` for shapes that do not fit."""
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
    how many of them count. `boxes`: float32[n, 4], `scores`: float32[n]; the indices are int32.
    Raises `TypeError` for other dtypes, `ValueError` for shapes that do not fit."""
    with name_scope(name, "non_max_suppression_padded"):
        most = as_tensor(iou_threshold, dtypes.f32, "iou_threshold")
        least = as_tensor(score_threshold, dtypes.f32, "score_threshold")
        kept, valid = call(
            "NonMaxSuppressionV4",
            *(boxes, scores, max_output_size, most, least),
            pad_to_max_output_size=pad_to_max_output_size,
        )
        return kept, valid


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
    classes]. float32. Raises `TypeError` for other dtypes, `ValueError` for shapes that do not fit.
    """
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
    """`extract_image_patches` with another name of an argument. Raises as it does."""
    return extract_image_patches(images, sizes, strides, rates, padding, name)


def draw_bounding_boxes(
    images: Any, boxes: Any, name: str | None = None, colors: Any = None
) -> Tensor:
    """Images [batch, height, width, 1, 3 or 4] of float32 or float16 with the edges of boxes drawn:
    float32[batch, n, 4] of y1, x1, y2, x2 in parts of the image. `colors`: float32[count,
    channels], which boxes take in turn; else ten of TensorFlow's. Raises `ValueError` for other
    shapes."""
    if colors is None:
        return output("DrawBoundingBoxes", images, boxes, name=name)
    return output("DrawBoundingBoxesV2", images, boxes, colors, name=name)


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """A random part of an image as (begin int[3], size int[3], bboxes float32[1, 1, 4]): what
    `slice` and `draw_bounding_boxes` take. `image_size`: int[3] of height, width and channels;
    `bounding_boxes`: float32[batch, n, 4], of one of which it shows `min_object_covered` at least.
    Its width over its height is in `aspect_ratio_range` (0.75, 1.33), its share of the image in
    `area_range` (0.05, 1); after `max_attempts` (100) it is the whole image.

    With seeds, the parts are TensorFlow's. Raises `ValueError` for other shapes and ranges; a run
    raises `InvalidArgumentError` for boxes beyond the image, and for none unless
    `use_image_if_no_bounding_boxes`."""
    given = {
        "seed": seed,
        "seed2": seed2,
        "aspect_ratio_range": aspect_ratio_range,
        "area_range": area_range,
        "max_attempts": max_attempts,
        "use_image_if_no_bounding_boxes": use_image_if_no_bounding_boxes,
    }
    attrs = {key: value for key, value in given.items() if value is not None}
    with name_scope(name, "sample_distorted_bounding_box"):
        return call(
            "SampleDistortedBoundingBoxV2", image_size, bounding_boxes, min_object_covered, **attrs
        )
