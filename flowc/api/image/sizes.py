"""Images cropped, padded and resized within bounds.

In: one image [height, width, channels] or a batch of them, and sizes that are ints or tensors. Out:
images of the same rank. Invariant: what is known when the graph is built is checked then
(`ValueError`), the rest by each run (`InvalidArgumentError`).
"""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.arrays.shaping import expand_dims, pad, shape, slice_, squeeze, stack
from flowc.api.framework.basics import cast
from flowc.api.framework.checks import Assert
from flowc.api.framework.scopes import name_scope, with_dependencies
from flowc.api.image.image import ResizeMethod, resize_images
from flowc.api.math import elementwise
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.shape_inference import constant_elements


def image_batch(image: Any) -> tuple[Tensor, bool]:
    """A batch of images, and whether it was made of one: what is of unknown rank is taken for one.
    Raises `ValueError` for other ranks."""
    tensor = as_tensor(image, name="image")
    if tensor.shape.ndims == 4:
        return tensor, False
    if tensor.shape.ndims not in (None, 3):
        raise ValueError(f"'image' (shape {tensor.shape}) must have either 3 or 4 dimensions.")
    images = expand_dims(tensor, 0)
    images.set_shape([None] * 4)
    return images, True


def image_sizes(tensor: Tensor) -> list[Any]:
    """The sizes: ints where they are known, else tensors."""
    known = tensor.shape.as_list()
    if None not in known:
        return known
    found = shape(tensor)
    return [found[k] if size is None else size for k, size in enumerate(known)]


def _check(conditions: list[tuple[Any, str]], image: Tensor) -> Tensor:
    """The image once all conditions hold. Raises `ValueError` where one is known not to."""
    made = []
    for holds, message in conditions:
        if isinstance(holds, Tensor):
            made.append(Assert(holds, [message]))
        elif not holds:
            raise ValueError(message)
    return with_dependencies(made, image) if made else image


def _one_or_batch(images: Tensor, single: bool) -> Tensor:
    return squeeze(images, [0]) if single else images


def _larger(x: Any, y: Any) -> Any:
    if isinstance(x, Tensor) or isinstance(y, Tensor):
        return elementwise.maximum(x, y)
    return max(x, y)


def _smaller(x: Any, y: Any) -> Any:
    if isinstance(x, Tensor) or isinstance(y, Tensor):
        return elementwise.minimum(x, y)
    return min(x, y)


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """The part of the target sizes whose upper left corner is at the offsets. Raises `ValueError`
    where that is not inside the image."""
    with name_scope(None, "crop_to_bounding_box", [image]):
        images, single = image_batch(image)
        _, height, width, _ = image_sizes(images)
        conditions = [
            (offset_width >= 0, "offset_width must be >= 0."),
            (offset_height >= 0, "offset_height must be >= 0."),
            (target_width > 0, "target_width must be > 0."),
            (target_height > 0, "target_height must be > 0."),
            (width >= target_width + offset_width, "width must be >= target + offset."),
            (height >= target_height + offset_height, "height must be >= target + offset."),
        ]
        checked = _check(conditions, images)
        begin = stack([0, offset_height, offset_width, 0])
        cropped = slice_(checked, begin, stack([-1, target_height, target_width, -1]))
        return _one_or_batch(cropped, single)


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """The image at the offsets in one of zeros, of the target sizes. Raises `ValueError` where it
    does not fit."""
    with name_scope(None, "pad_to_bounding_box", [image]):
        images, single = image_batch(image)
        _, height, width, _ = image_sizes(images)
        right = target_width - offset_width - width
        below = target_height - offset_height - height
        conditions = [
            (offset_height >= 0, "offset_height must be >= 0"),
            (offset_width >= 0, "offset_width must be >= 0"),
            (right >= 0, "width must be <= target - offset"),
            (below >= 0, "height must be <= target - offset"),
        ]
        checked = _check(conditions, images)
        paddings = stack(
            [stack([0, 0]), stack([offset_height, below]), stack([offset_width, right]),
             stack([0, 0])]
        )  # fmt: skip
        padded = pad(checked, paddings)
        batch, _, _, depth = images.shape.as_list()
        sizes = [None if isinstance(s, Tensor) else s for s in (target_height, target_width)]
        padded.set_shape([batch, *sizes, depth])
        return _one_or_batch(padded, single)


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """The image cropped around its middle where it is too large and padded with zeros evenly where
    it is too small. Raises `ValueError` for target sizes below 1."""
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        images, single = image_batch(image)
        conditions = [
            (target_width > 0, "target_width must be > 0."),
            (target_height > 0, "target_height must be > 0."),
        ]
        checked = _check(conditions, images)
        _, height, width, _ = image_sizes(checked)
        wider, higher = target_width - width, target_height - height
        cropped = crop_to_bounding_box(
            checked,
            _larger(-higher // 2, 0),
            _larger(-wider // 2, 0),
            _smaller(target_height, height),
            _smaller(target_width, width),
        )
        padded = pad_to_bounding_box(
            cropped, _larger(higher // 2, 0), _larger(wider // 2, 0), target_height, target_width
        )
        return _one_or_batch(padded, single)


def resize_image_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: int = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """The image resized to fit into the target sizes, in its own proportions, and padded with zeros
    evenly. Raises `ValueError` for target sizes below 1."""
    with name_scope(None, "resize_image_with_pad", [image]):
        images, single = image_batch(image)
        conditions = [
            (target_width > 0, "target_width must be > 0."),
            (target_height > 0, "target_height must be > 0."),
        ]
        checked = _check(conditions, images)
        _, *sizes, _ = image_sizes(checked)
        floats = [cast(size, dtypes.f32) for size in sizes]
        targets = [cast(size, dtypes.f32) for size in (target_height, target_width)]
        ratio = elementwise.maximum(floats[1] / targets[1], floats[0] / targets[0])
        scaled = [size / ratio for size in floats]
        new_sizes = [cast(elementwise.floor(size), dtypes.i32) for size in scaled]
        gaps = [(target - size) / 2 for target, size in zip(targets, scaled)]
        before = [elementwise.maximum(0, cast(elementwise.floor(gap), dtypes.i32)) for gap in gaps]
        resized = resize_images(checked, stack(new_sizes), method, align_corners)
        above, left = before
        padded = pad_to_bounding_box(resized, above, left, target_height, target_width)
        return _one_or_batch(padded, single)


def central_crop(image: Any, central_fraction: Any) -> Tensor:
    """The middle of the image, `central_fraction` of its height and of its width: (0, 1].

    Raises `ValueError` for another fraction, and for other ranks than 3 and 4."""
    with name_scope(None, "central_crop", [image]):
        tensor = as_tensor(image, name="image")
        is_tensor = isinstance(central_fraction, Tensor)
        known = constant_elements(central_fraction) if is_tensor else central_fraction
        if known is not None and not 0.0 < float(known) <= 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if known is not None and float(known) == 1.0:
            return tensor
        if tensor.shape.ndims not in (3, 4):
            raise ValueError(
                "`image` should either be a Tensor with rank = 3 or rank = 4. Had rank = "
                f"{tensor.shape.ndims}."
            )
        if known is None:
            inside = elementwise.logical_and(central_fraction > 0.0, central_fraction <= 1.0)
            tensor = _check([(inside, "central_fraction must be within (0, 1]")], tensor)
        *batch, height, width, _ = image_sizes(tensor)
        starts = [_central_start(size, central_fraction, known) for size in (height, width)]
        sizes = [size - start * 2 for size, start in zip((height, width), starts)]
        none, all_ = [0] * len(batch), [-1] * len(batch)
        return slice_(tensor, stack([*none, *starts, 0]), stack([*all_, *sizes, -1]))


def _central_start(size: Any, fraction: Any, known: Any) -> Any:
    """Where the middle of an axis begins."""
    if known is not None and not isinstance(size, Tensor):
        return int((float(size) - float(size) * float(known)) / 2)
    whole = cast(size, dtypes.f64)
    return cast((whole - whole * cast(fraction, dtypes.f64)) / 2, dtypes.i32)
