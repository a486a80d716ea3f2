"""`tf.image`: resizing and boxes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays import shaping as arrays
from flowc.api.control_flow.cases import case
from flowc.api.framework.basics import cast
from flowc.api.framework.raw_ops import call, named
from flowc.api.framework.scopes import name_scope
from flowc.api.math.elementwise import equal, floormod
from flowc.api.math.elementwise import round as round_half_even
from flowc.api.math.reductions import one_of, reduce_min
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output
from flowc.graph.shape_inference import constant_elements

BOXES_LIMIT = float("-inf")


class ResizeMethod:
    """How `resize_images` computes new pixels. Raises nothing."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


def _resize(function_name: str, op_type: str, centers: bool = True) -> Callable[..., Tensor]:
    def resize(
        images: Any,
        size: Any,
        align_corners: bool = False,
        name: str | None = None,
        half_pixel_centers: bool = False,
    ) -> Tensor:
        attrs: dict[str, Any] = {"align_corners": align_corners}
        if centers:
            attrs["half_pixel_centers"] = half_pixel_centers
        return output(op_type, images, size, name=name, **attrs)

    dtype = "their dtype" if op_type == "ResizeNearestNeighbor" else "float32"
    doc = (
        f"TensorFlow's `{op_type}` of images [batch, height, width, channels] to `size`, int32[2] "
        f"of height and width, in {dtype}. Raises `ValueError` for another rank."
    )
    return named(resize, function_name, doc)


resize_bilinear = _resize("resize_bilinear", "ResizeBilinear")
resize_nearest_neighbor = _resize("resize_nearest_neighbor", "ResizeNearestNeighbor")
resize_bicubic = _resize("resize_bicubic", "ResizeBicubic")
resize_area = _resize("resize_area", "ResizeArea", centers=False)
_METHODS = (resize_bilinear, resize_nearest_neighbor, resize_bicubic, resize_area)


def resize_images(
    images: Any,
    size: Any,
    method: int = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images, one or a batch, in another size [height, width].

    `preserve_aspect_ratio`: in the image's own proportions, within that size. Images that are
    known to be of that size stay as they are, in their dtype. Raises `ValueError` for a rank other
    than 3 or 4, another shape of `size`, or an unknown method."""
    if method not in (0, 1, 2, 3):
        raise ValueError("Resize method is not implemented.")
    with name_scope(name, "resize", [images, size]):
        value = as_tensor(images, name="images")
        if value.shape.ndims not in (3, 4):
            raise ValueError("'images' must have either 3 or 4 dimensions.")
        single = value.shape.ndims == 3
        batch = arrays.expand_dims(value, 0) if single else value
        wanted = as_tensor(size, dtypes.i32, "size")
        if wanted.shape.ndims is not None and wanted.shape.as_list() != [2]:
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        if preserve_aspect_ratio:
            wanted = _in_proportion(batch, wanted)
        known = constant_elements(wanted)
        if known is not None and known.tolist() == batch.shape.as_list()[1:3]:
            return arrays.squeeze(batch, [0]) if single else batch
        found = _METHODS[method](batch, wanted, align_corners=align_corners)
        return arrays.squeeze(found, [0]) if single else found


def _in_proportion(images: Tensor, size: Tensor) -> Tensor:
    """The largest size [height, width] of the images' proportions within `size`."""
    sides, bounds = images.shape.as_list()[1:3], constant_elements(size)
    if bounds is not None and None not in sides:
        known = np.array(sides, np.float32)
        return as_tensor(np.rint((bounds.astype(np.float32) / known).min() * known), dtypes.i32)
    now = cast(arrays.shape(images)[1:3], dtypes.f32)
    scale = reduce_min(cast(size, dtypes.f32) / now)
    return cast(round_half_even(scale * now), dtypes.i32)


resize = resize_images


def crop_and_resize(
    image: Any,
    boxes: Any,
    box_ind: Any = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: Any = None,
) -> Tensor:
    """float32[boxes, crop height, crop width, channels]: the parts of images [batch, height, width,
    channels] in `boxes`, float32[boxes, 4] of y1, x1, y2, x2 in parts of the image, each of image
    `box_ind[i]` (int32; also called `box_indices`), resized to `crop_size` int32[2] by `method`
    (`bilinear` or `nearest`). Outside the image is `extrapolation_value`. Raises `ValueError` for
    shapes that do not fit and another method."""
    return output(
        "CropAndResize",
        image,
        boxes,
        box_ind if box_indices is None else box_indices,
        crop_size,
        method=method,
        extrapolation_value=extrapolation_value,
        name=name,
    )


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = BOXES_LIMIT,
    name: str | None = None,
) -> Tensor:
    """The indices int32[kept] of boxes to keep, best scores first and at most `max_output_size`:
    none overlaps a better one by more than `iou_threshold`. `boxes`: floats [n, 4] of y1, x1, y2,
    x2; `scores`: [n], those below `score_threshold` are left out. Raises `ValueError` for other
    shapes."""
    with name_scope(name, "non_max_suppression"):
        iou = as_tensor(iou_threshold, dtypes.f32, "iou_threshold")
        least = as_tensor(score_threshold, dtypes.f32, "score_threshold")
        return output("NonMaxSuppressionV3", boxes, scores, max_output_size, iou, least)


def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = BOXES_LIMIT,
    soft_nms_sigma: Any = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """(indices, scores) of boxes to keep: as `non_max_suppression`, whose arguments it takes, and
    the scores after soft suppression by `soft_nms_sigma`. Raises as it does. int32[n] and
    float32[n]."""
    with name_scope(name, "non_max_suppression_with_scores"):
        limits = [
            as_tensor(v, dtypes.f32, n)
            for v, n in (
                (iou_threshold, "iou_threshold"),
                (score_threshold, "score_threshold"),
                (soft_nms_sigma, "soft_nms_sigma"),
            )
        ]
        found = call("NonMaxSuppressionV5", boxes, scores, max_output_size, *limits)
        return found[0], found[1]


def flip_left_right(image: Any) -> Tensor:
    """Mirrored along the width; one image [height, width, channels] or a batch of them. Raises
    `ValueError` for another rank."""
    return _flipped(image, 1, "flip_left_right")


def flip_up_down(image: Any) -> Tensor:
    """Mirrored along the height; one image [height, width, channels] or a batch of them. Raises
    `ValueError` for another rank."""
    return _flipped(image, 0, "flip_up_down")


def _flipped(image: Any, axis: int, name: str) -> Tensor:
    with name_scope(None, name, [image]):
        value = as_tensor(image, name="image")
        if value.shape.ndims in (0, 1, 2):
            raise ValueError(f"'image' (shape {value.shape}) must be at least three-dimensional.")
        if value.shape.ndims not in (None, 3, 4):
            raise ValueError(f"'image' (shape {value.shape}) must have either 3 or 4 dimensions.")
        return arrays.reverse(value, [axis - 3 + (value.shape.ndims or 0)])


def transpose_image(image: Any, name: str | None = None) -> Tensor:
    """Height and width of an image [height, width, channels], or of a batch of them, exchanged.
    Raises `ValueError` for another rank."""
    with name_scope(name, "transpose", [image]):
        value = as_tensor(image, name="image")
        perm = [1, 0, 2] if value.shape.ndims == 3 else [0, 2, 1, 3]
        return arrays.transpose(value, perm)


transpose = transpose_image


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """Turned counter-clockwise `k` times by 90 degrees; one image or a batch. Raises `ValueError`
    for other ranks."""
    with name_scope(name, "rot90", [image]) as scope:
        value = as_tensor(image, name="image")
        if value.shape.ndims not in (3, 4):
            raise ValueError(f"'image' (shape {value.shape}) must have either 3 or 4 dimensions.")
        height = value.shape.ndims - 3
        width = height + 1

        def rotated(quarters: int) -> Tensor:
            if quarters == 1:
                return transpose_image(arrays.reverse(value, [width]))
            if quarters == 2:
                return arrays.reverse(value, [height, width])
            return arrays.reverse(transpose_image(value), [width]) if quarters else value

        if not isinstance(k, Tensor):
            return rotated(int(k) % 4)
        quarters = floormod(k, 4)
        cases = [(equal(quarters, n), lambda n=n: rotated(n)) for n in (1, 2, 3)]
        found = case(cases, default=lambda: value, exclusive=True, name=scope)
        return found


def extract_image_patches(
    images: Any,
    ksizes: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: Any = None,
) -> Tensor:
    """Patches [batch, rows, columns, height * width * channels] of a batch of images. [batch,
    height, width, channels], of real dtypes. Raises `TypeError` for other dtypes, `ValueError` for
    shapes that do not fit."""
    window = list(one_of(sizes, "sizes", ksizes, "ksizes"))
    attrs = {"ksizes": window, "strides": list(strides), "rates": list(rates)}
    return output("ExtractImagePatches", images, padding=padding, name=name, **attrs)


def extract_volume_patches(
    input: Any, ksizes: Any, strides: Any, padding: str, name: str | None = None
) -> Tensor:
    """Patches [batch, planes, rows, columns, depth * height * width * channels] of a batch of
    volumes [batch, planes, rows, columns, channels] of a real dtype. `ksizes` and `strides`: five
    ints, 1 for batch and channels. Raises `TypeError` for other dtypes, `ValueError` for shapes
    that do not fit."""
    attrs = {"ksizes": list(ksizes), "strides": list(strides), "padding": padding}
    return output("ExtractVolumePatches", input, name=name, **attrs)


def extract_glimpse(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """Parts float32[batch, height, width, channels] of float32 images, of `size` int32[2], whose
    middles are at `offsets` float32[batch, 2] of y and x. `centered`: measured from the middle of
    an image; `normalized`: in parts of it, -1 to 1 from edge to edge. Beyond the edges is random
    noise. Raises `ValueError` for other shapes."""
    return output(
        "ExtractGlimpse",
        input,
        size,
        offsets,
        centered=centered,
        normalized=normalized,
        uniform_noise=uniform_noise,
        name=name,
    )
