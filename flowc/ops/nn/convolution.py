"""Convolutions: Conv2D, Conv3D, DepthwiseConv2dNative.

In: tensors with batch and channel axes, weights [*window, channels/groups, outputs]. Out: records
that lower to the channels-last Convolution. Invariant: other layouts and the depthwise form are
written as transposes and reshapes round it, and channel groups follow from shapes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.errors import UnsupportedError
from flowc.ir.dims import Dim
from flowc.ir.inference import Inference
from flowc.ir.layout import layout_of
from flowc.ir.lowering import Convolution, Decompose
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.nn.convolution_reference import convolve
from flowc.ops.nn.convolution_window import (
    EMPTY_FILTER,
    check_attrs,
    check_fit,
    check_rank,
    sliding_window,
)
from flowc.ops.nn.through_channels_last import in_channels_last, is_last

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

# -- Conv2D, Conv3D


def count_groups(c: Inference, channels: Dim, filter_channels: Dim, outputs: Dim) -> int:
    """How many groups the channels fall into. Raises `ShapeError` where they do not."""
    for size in (filter_channels, outputs):
        c.at_least(size, 1, EMPTY_FILTER)
    if not (isinstance(channels, int) and isinstance(filter_channels, int)):
        c.equal(channels, filter_channels)
        return 1
    if channels % filter_channels:
        raise c.fail(
            f"input depth must be evenly divisible by filter depth: {channels} vs "
            f"{filter_channels}",
            built=f"Depth of input ({channels}) is not a multiple of input depth of filter "
            f"({filter_channels})",
        )
    groups = channels // filter_channels
    if not groups:
        raise c.fail("Number of groups must not be 0")
    if isinstance(outputs, int) and outputs % groups:
        raise c.fail(
            f"output depth must be evenly divisible by number of groups: {outputs} vs {groups}"
        )
    return groups


def infer_convolution(c: Inference, rank: int, depthwise: bool = False) -> Dims:
    check_rank(c, 0, rank)
    check_rank(c, 1, rank)
    return convolved(c, c.dims(0), c.dims(1), depthwise)


def convolved(c: Inference, image: Dims, weights: Dims, depthwise: bool) -> Dims:
    """The dims of a convolution's result. Raises `ShapeError` where image, weights and attrs do not
    fit together."""
    rank = len(image)
    check_attrs(c, rank)
    layout = layout_of(c.attrs["data_format"])
    *window, filter_channels, outputs = weights
    batch, *sizes, channels = layout.logical(image)
    if depthwise:
        depths = f"{channels} vs {filter_channels}"
        fault = f"input depth must be evenly divisible by filter depth: {depths}"
        outputs = c.equal(channels, filter_channels, fault) * outputs
    elif count_groups(c, channels, filter_channels, outputs) != 1 and rank == 5:
        raise c.fail(f"input and filter must have the same depth: {channels} vs {filter_channels}")
    geometry = sliding_window(sizes, window, c.attrs)
    check_fit(c, sizes, geometry)
    return layout.stored((batch, *geometry.output, outputs))


def _lower_conv(node: Node) -> Convolution | Decompose:
    if not is_last(node):
        return in_channels_last(images=(0,))
    x, w = (v.dims for v in node.inputs)
    geometry = sliding_window(x[1:-1], w[:-2], node.attrs)
    known = isinstance(x[-1], int) and isinstance(w[-2], int)
    groups = x[-1] // w[-2] if known else 1
    assert isinstance(groups, int)
    return Convolution(geometry.strides, geometry.dilations, geometry.pad, groups)


def convolution_array(input: np.ndarray, filter: np.ndarray, **attrs: Any) -> np.ndarray:
    layout = layout_of(attrs["data_format"])
    x = layout.unpacked(input)
    geometry = sliding_window(x.shape[1:-1], filter.shape[:-2], attrs)
    return layout.packed(convolve(x, filter, geometry))


def _gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    (x, w), name = node.inputs, node.op.name
    dx = b.with_attrs_of(node, f"{name}_backprop_input", b.shape_of(x), w, dy)
    return dx, b.with_attrs_of(node, f"{name}_backprop_filter", x, b.shape_of(w), dy)


CONV2D_ATTRS = (
    "strides: list(int), use_cudnn_on_gpu: bool = True,"
    ' padding: {"SAME", "VALID", "EXPLICIT"}, explicit_paddings: list(int) = [],'
    ' data_format: {"NHWC", "NCHW"} = "NHWC", dilations: list(int) = [1, 1, 1, 1]'
)

conv2d = define(
    "conv2d",
    "Conv2D(input: T, filter: T; T: {f16, bf16, f32, f64, i32}, " + CONV2D_ATTRS + ") -> output: T",
    infer=lambda c: infer_convolution(c, 4),
    lowering=_lower_conv,
    reference=convolution_array,
    gradient=_gradient,
    examples=(
        'T[1,5,6,3] T[3,3,3,4]; strides=[1,1,1,1], padding="SAME"',
        'T[2,7,7,2] T[3,2,2,17]; strides=[1,2,2,1], padding="SAME"',
        'T[1,8,9,3] T[2,3,3,5]; strides=[1,2,1,1], padding="VALID", dilations=[1,1,2,1]',
        'T[1,5,5,4] T[3,3,2,6]; strides=[1,1,1,1], padding="SAME"',
        'T[1,4,4,2] T[1,1,2,3]; strides=[1,1,1,1], padding="VALID"',
        'T[1,5,6,2] T[3,3,2,4]; strides=[1,2,2,1], padding="EXPLICIT",'
        " explicit_paddings=[0,0,1,2,3,0,0,0]",
        'f32[1,3,6,5] f32[3,3,3,4]; strides=[1,1,2,1], padding="SAME", data_format="NCHW"',
    ),
)


CONV3D_ATTRS = (
    'strides: list(int) >= 5, padding: {"SAME", "VALID"},'
    ' data_format: {"NDHWC", "NCDHW"} = "NDHWC", dilations: list(int) = [1, 1, 1, 1, 1]'
)

conv3d = define(
    "conv3d",
    f"Conv3D(input: T, filter: T; T: FLOAT, {CONV3D_ATTRS}) -> output: T",
    infer=lambda c: infer_convolution(c, 5),
    lowering=_lower_conv,
    gradient=_gradient,
    reference=convolution_array,
    examples=(
        'T[1,4,5,6,2] T[2,3,3,2,4]; strides=[1,1,1,1,1], padding="SAME"',
        'T[2,5,5,5,1] T[2,2,2,1,3]; strides=[1,2,2,1,1], padding="VALID"',
        'f32[1,2,4,5,4] f32[2,2,2,2,3]; strides=[1,1,1,1,1], padding="SAME",'
        ' data_format="NCDHW", dilations=[1,1,2,1,1]',
    ),
)


# -- DepthwiseConv2dNative


def _build_depthwise(b: Builder, node: Node) -> Value:
    x, w = node.inputs
    attrs = {k: v for k, v in node.attrs.items() if k != "T"}
    at = layout_of(attrs["data_format"]).channel_axis(x.type.rank)
    channels = next((d for d in (x.dims[at], w.dims[-2]) if isinstance(d, int)), None)
    if channels is None:
        raise unknown_channels(node)
    x = with_known_sizes(b, x, (*x.dims[:at], channels, *x.dims[at + 1 :]))
    return b.conv2d(x, depthwise_weights(b, w, channels), **attrs)


def with_known_sizes(b: Builder, x: Value, dims: Dims) -> Value:
    """A value as one of these dims, which other operands imply: where its own say less, the run
    looks at them."""
    if all(d == known or not isinstance(known, int) for d, known in zip(x.dims, dims)):
        return x
    return b.ensure_shape(x, shape=tuple(d if isinstance(d, int) else None for d in dims))


def unknown_channels(node: Node) -> UnsupportedError:
    return UnsupportedError(
        f"{node.op.tf_name} needs the number of channels when it is compiled",
        node=node.name,
        hint="give the placeholders of the image and of the filter that size",
    )


def depthwise_weights(b: Builder, w: Value, channels: Dim) -> Value:
    """Weights [*window, channels, multiplier] as those of a convolution in groups of one."""
    *window, _, multiplier = w.dims
    return b.reshape(w, (*window, 1, channels * multiplier))


def depthwise_array(input: np.ndarray, filter: np.ndarray, **attrs: Any) -> np.ndarray:
    return convolution_array(input, filter.reshape(*filter.shape[:2], 1, -1), **attrs)


DEPTHWISE_ATTRS = CONV2D_ATTRS.replace(" use_cudnn_on_gpu: bool = True,", "")

depthwise_conv2d = define(
    "depthwise_conv2d",
    f"DepthwiseConv2dNative(input: T, filter: T; T: FLOAT, {DEPTHWISE_ATTRS}) -> output: T",
    infer=lambda c: infer_convolution(c, 4, depthwise=True),
    lowering=Decompose(_build_depthwise),
    gradient=_gradient,
    reference=depthwise_array,
    examples=(
        'T[1,5,6,3] T[3,3,3,1]; strides=[1,1,1,1], padding="SAME"',
        'T[2,7,7,17] T[3,3,17,1]; strides=[1,2,2,1], padding="SAME"',
        'f32[1,6,6,2] f32[2,3,2,3]; strides=[1,1,1,1], padding="VALID", dilations=[1,2,1,1]',
        'f32[1,3,6,5] f32[3,3,3,2]; strides=[1,1,1,1], padding="SAME", data_format="NCHW"',
    ),
)
