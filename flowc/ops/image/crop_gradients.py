"""Gradients of CropAndResize: of the images, and of the boxes.

In: gradients of crops, boxes, the images or their size. Out: gradients of the images, of the boxes.
Invariant: the pixels and weights are those that the forward op (`resize`) takes; boxes move as if
crops were bilinear, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.inference import Inference
from flowc.ir.lowering import Native, own_class
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.kernels.image import crop_gradients as kernels

if TYPE_CHECKING:
    from flowc.ir.computation import Node

f32 = np.float32
OUTSIDE = "OutOfRangeError: box_index has values outside [0, batch_size): {a}"


def _check_boxes(c: Inference, boxes: int) -> None:
    if c.rank(0) != 4:
        raise c.fail("grads image must be 4-D")
    if c.rank(boxes) != 2:
        raise c.fail("boxes must have 4 columns")
    c.equal(c.dims(boxes)[1], 4, "boxes must have 4 columns")
    if c.rank(boxes + 1) != 1:
        raise c.fail("box_index must be 1-D")
    count = c.equal(c.dims(boxes)[0], c.dims(boxes + 1)[0])
    c.equal(count, c.dims(0)[0], "boxes and grads have incompatible shape")


def _infer_image(c: Inference) -> Dims:
    _check_boxes(c, 1)
    dims = c.need_sizes(3, "image_size must be positive, found {size}")
    if len(dims) != 4:
        raise c.fail("image_size must have 4 elements")
    c.equal(dims[3], c.dims(0)[3], "image_size and grads are incompatible")
    return dims


def _infer_boxes(c: Inference) -> Dims:
    _check_boxes(c, 2)
    if c.rank(1) != 4:
        raise c.fail("input image must be 4-D")
    c.equal(c.dims(1)[3], c.dims(0)[3], "image, grads depth differ")
    return c.dims(2)


def _lower_image(node: Node) -> Native:
    nearest = int(node.attrs["method"] == "nearest")
    return Native(
        kernels.crop_and_resize_grad_image,
        arguments=(*node.output.dims, *node.inputs[0].dims[:3], nearest),
        parallel=node.output.dims[0],
        errors=(OUTSIDE,),
    )


def _lower_boxes(node: Node) -> Native:
    return Native(
        kernels.crop_and_resize_grad_boxes,
        arguments=(*node.inputs[1].dims, *node.inputs[0].dims[1:3]),
        parallel=node.output.dims[0],
        errors=(OUTSIDE,),
    )


# -- references


def _places(first: Any, last: Any, size: int, new: int) -> Iterator[tuple[int, Any, Any]]:
    """(pixel of the crop, where it lies, how far it moves with the box's last edge)"""
    for i in range(new):
        share = f32(i) / f32(new - 1) if new > 1 else f32(0.5)
        step = (last - first) * f32(size - 1) / f32(max(new - 1, 1))
        middle = f32(0.5) * (first + last) * f32(size - 1)
        place = first * f32(size - 1) + f32(i) * step if new > 1 else middle
        if 0 <= place <= size - 1:
            yield i, place, share * f32(size - 1)


def _around(place: Any) -> tuple[int, int, Any]:
    low = int(place)
    return low, int(np.ceil(place)), place - f32(low)


def _check_index(box_ind: np.ndarray, batch: int) -> None:
    wrong = box_ind[(box_ind < 0) | (box_ind >= batch)]
    if len(wrong):
        raise InvalidArgumentError(own_class(OUTSIDE)[1].format(a=wrong[0]))


def _image_reference(
    grads: np.ndarray, boxes: np.ndarray, box_ind: np.ndarray, size: np.ndarray,
    *, T: DType, method: str,
) -> np.ndarray:  # fmt: skip
    _, out_h, out_w, _ = grads.shape
    batch, height, width, _ = size.tolist()
    _check_index(box_ind, batch)
    dx = np.zeros(size.tolist(), f32 if T is dtypes.f16 else T.numpy)
    for (y1, x1, y2, x2), into, given in zip(boxes, box_ind, grads):
        for i, y, _ in _places(y1, y2, height, out_h):
            top, bottom, down = _around(y)
            for j, x, _ in _places(x1, x2, width, out_w):
                left, right, across = _around(x)
                if method == "nearest":
                    dx[into, top + (down >= 0.5), left + (across >= 0.5)] += given[i, j]
                    continue
                for row, weight in ((top, 1 - down), (bottom, down)):
                    dx[into, row, left] += (1 - across) * (weight * given[i, j])
                    dx[into, row, right] += across * (weight * given[i, j])
    return dx.astype(T.numpy)


def _boxes_reference(
    grads: np.ndarray, image: np.ndarray, boxes: np.ndarray, box_ind: np.ndarray
) -> np.ndarray:
    _, out_h, out_w, _ = grads.shape
    batch, height, width, _ = image.shape
    _check_index(box_ind, batch)
    found = np.zeros(boxes.shape, f32)
    for k, ((y1, x1, y2, x2), source) in enumerate(zip(boxes, box_ind)):
        pixels = image[source].astype(f32)
        for i, y, with_bottom in _places(y1, y2, height, out_h):
            top, bottom, down = _around(y)
            for j, x, with_right in _places(x1, x2, width, out_w):
                left, right, across = _around(x)
                a, b, d, e = pixels[[top, top, bottom, bottom], [left, right, left, right]]
                slope_y = (((1 - across) * (d - a) + across * (e - b)) * grads[k, i, j]).sum()
                slope_x = (((1 - down) * (b - a) + down * (e - d)) * grads[k, i, j]).sum()
                rest = (height - 1 - with_bottom, width - 1 - with_right, with_bottom, with_right)
                found[k] += np.array(rest, f32) * [slope_y, slope_x, slope_y, slope_x]
    return found


def crop_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """The gradient of CropAndResize. Images of integers have none."""
    image, boxes, box_ind, _ = node.inputs
    method, of_image = node.attrs["method"], None
    if image.dtype in (dtypes.f16, dtypes.f32, dtypes.f64):
        size = b.shape_of(image)
        of_image = b.crop_and_resize_grad_image(
            dy, boxes, box_ind, size, T=image.dtype, method=method
        )
    return of_image, b.crop_and_resize_grad_boxes(dy, image, boxes, box_ind)


crop_and_resize_grad_image = define(
    "crop_and_resize_grad_image",
    "CropAndResizeGradImage(grads: f32, boxes: f32, box_ind: i32, image_size: i32;"
    ' T: {f32, f16, f64}, method: {"bilinear", "nearest"} = "bilinear") -> output: T',
    infer=_infer_image,
    lowering=_lower_image,
    reference=_image_reference,
    examples=(
        "f32[3,3,4,3] f32[3,4]~prob i32[3]=[1,0,1] i32[4]=[2,5,4,3]; T=f32",
        "f32[2,4,5,2] f32[2,4]=[[-0.2,0.1,0.8,1.3],[0.9,0.8,0.1,0]] i32[2]=[0,0] "
        "i32[4]=[1,6,7,2]; T=f64",
        'f32[2,5,3,2] f32[2,4]~prob i32[2]=[0,1] i32[4]=[2,6,7,2]; T=f32, method="nearest"',
        "f32[1,1,1,2] f32[1,4]=[[0,0.25,1,0.75]] i32[1]=[0] i32[4]=[1,3,4,2]; T=f16",
        "f32[0,2,2,2] f32[0,4] i32[0] i32[4]=[1,3,4,2]; T=f32",
    ),
)

crop_and_resize_grad_boxes = define(
    "crop_and_resize_grad_boxes",
    "CropAndResizeGradBoxes(grads: f32, image: T, boxes: f32, box_ind: i32;"
    ' T: {u8, u16, i8, i16, i32, i64, f16, f32, f64}, method: {"bilinear"} = "bilinear")'
    " -> output: f32",
    infer=_infer_boxes,
    lowering=_lower_boxes,
    reference=_boxes_reference,
    examples=(
        "f32[3,3,4,3] T[2,5,4,3]~small f32[3,4]~prob i32[3]=[1,0,1]",
        "f32[2,4,5,2] f32[1,6,7,2] f32[2,4]=[[-0.2,0.1,0.8,1.3],[0.9,0.8,0.1,0]] i32[2]=[0,0]",
        "f32[1,1,1,2] f32[1,3,4,2] f32[1,4]=[[0,0.25,1,0.75]] i32[1]=[0]",
        "f32[0,2,2,2] f32[1,3,4,2] f32[0,4] i32[0]",
    ),
)
