"""Convolutions of images that are resized and mirrored at the edges first: what TensorFlow's
quantized and mobile models have in one op.

In: channels-last images, a size, paddings, a filter. Out: the convolution. Invariant: what the ops
say that it is made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose
from flowc.ir.op import define, op_named
from flowc.ir.types import Dims
from flowc.ops.image.resize import new_size
from flowc.ops.nn.convolution import convolution_array
from flowc.ops.nn.convolution_window import sliding_window

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

Array = np.ndarray[Any, Any]


def _infer(c: Inference) -> Dims:
    last = len(c.inputs) - 1
    for i, rank in ((0, 4), (last - 1, 2), (last, 4)):
        c.need_rank(i, rank)
    batch, *sizes, channels = c.dims(0)
    if last == 3:
        sizes = list(new_size(c, 1, "output dimensions"))
    paddings = c.need_ints(last - 1)
    if len(paddings) != 8 or min(paddings) < 0 or any(paddings[i] for i in (0, 1, 6, 7)):
        raise c.fail("paddings must be [4,2], of 0 and more, and 0 for batch and channels")
    padded = [n + paddings[2 + 2 * i] + paddings[3 + 2 * i] for i, n in enumerate(sizes)]
    rows, columns, depth, out = c.dims(last)
    c.equal(channels, depth, "input depth must be equal to the filter's")
    if len(c.attrs["strides"]) != 4 or min(c.attrs["strides"]) < 1:
        raise c.fail("Sliding window strides field must specify 4 dimensions of 1 and more")
    window = sliding_window(padded, (rows, columns), c.attrs)
    return (batch, *window.output, out)


def _padded(b: Builder, node: Node) -> Value:
    *images, paddings, kernel = node.inputs
    attrs, kind = node.attrs, node.output.type.dtype
    found = images[0]
    if len(images) > 1:
        align = attrs["resize_align_corners"]
        found = b.cast(b.resize_bilinear(*images, align_corners=align), DstT=kind)
    mirrored = b.mirror_pad(found, paddings, mode=attrs["mode"])
    return b.conv2d(mirrored, kernel, strides=attrs["strides"], padding=attrs["padding"])


def _reference(*inputs: Array, mode: str, strides: Any, padding: str) -> Array:
    image, paddings, kernel = inputs
    how = "symmetric" if mode == "SYMMETRIC" else "reflect"
    attrs = {"strides": strides, "padding": padding, "data_format": "NHWC"}
    return convolution_array(np.pad(image, paddings, mode=how), kernel, **attrs)


def _resized_reference(
    image: Array, size: Array, paddings: Array, kernel: Array, *,
    resize_align_corners: bool, mode: str, strides: Any, padding: str,
) -> Array:  # fmt: skip
    resize = op_named("resize_bilinear").reference
    assert resize is not None
    found = resize(image, size, align_corners=resize_align_corners, half_pixel_centers=False)
    return _reference(
        found.astype(image.dtype), paddings, kernel, mode=mode, strides=strides, padding=padding
    )


_ATTRS = 'mode: {"REFLECT", "SYMMETRIC"}, strides: list(int), padding: {"SAME", "VALID"}'
_PADS = "i32[4,2]=[[0,0],[1,2],[2,1],[0,0]]"
define(
    "fused_pad_conv2d",
    "FusedPadConv2D(input: T, paddings: i32, filter: T;"
    f" T: {{f16, bf16, f32, f64}}, {_ATTRS}) -> output: T",
    infer=_infer,
    lowering=Decompose(_padded),
    reference=_reference,
    examples=(
        f'T[1,5,6,3] {_PADS} T[3,2,3,4]; mode="REFLECT", strides=[1,1,1,1], padding="VALID"',
        f'f32[1,4,4,2] {_PADS} f32[3,3,2,1]; mode="SYMMETRIC", strides=[1,2,2,1], padding="SAME"',
    ),
)
define(
    "fused_resize_and_pad_conv2d",
    "FusedResizeAndPadConv2D(input: T, size: i32, paddings: i32, filter: T;"
    f" T: {{f16, f32, f64}}, resize_align_corners: bool = False, {_ATTRS}) -> output: T",
    infer=_infer,
    lowering=Decompose(_padded),
    reference=_resized_reference,
    examples=(
        f'f32[1,5,6,3] i32[2]=[7,4] {_PADS} f32[3,2,3,4]; mode="REFLECT", strides=[1,1,1,1],'
        ' padding="VALID"',
        f'f32[1,4,4,2] i32[2]=[8,8] {_PADS} f32[3,3,2,1]; mode="SYMMETRIC", strides=[1,2,2,1],'
        ' padding="VALID", resize_align_corners=True',
    ),
)
