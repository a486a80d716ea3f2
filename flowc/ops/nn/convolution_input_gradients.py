"""Gradients of convolutions with respect to their inputs, which models also use as transposed
convolutions: Conv2DBackpropInput, Conv3DBackpropInputV2, DepthwiseConv2dNativeBackpropInput.

In: the sizes of the input, the weights, the gradient of the result. Out: records that decompose to
`convolution_transposed`, the canonical channels-last form. Invariant: the result's gradient has the
dims that the forward convolution would give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.ir.dims import Dim
from flowc.ir.inference import Inference
from flowc.ir.layout import layout_of
from flowc.ir.lowering import Convolution, Decompose
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.nn.convolution import (
    CONV2D_ATTRS,
    CONV3D_ATTRS,
    DEPTHWISE_ATTRS,
    convolved,
    depthwise_weights,
    unknown_channels,
    with_known_sizes,
)
from flowc.ops.nn.convolution_reference import convolve_transposed
from flowc.ops.nn.convolution_window import (
    SlidingWindow,
    check_gradient,
    check_rank,
    covers_last_axis,
    sliding_window,
)
from flowc.ops.nn.through_channels_last import in_channels_last

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value


def _transposed_window(attrs: Mapping[str, Any]) -> tuple[tuple[Dim, Dim], ...]:
    pad = attrs["pad"]
    return tuple(zip(pad[::2], pad[1::2]))


def _infer_transposed(c: Inference) -> Dims:
    *_, channels, _ = c.dims(1)
    return (c.dims(0)[0], *c.attrs["output_dims"], channels * c.attrs["groups"])


def _transposed_reference(
    input: np.ndarray,
    filter: np.ndarray,
    *,
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pad: tuple[int, ...],
    output_dims: tuple[int, ...],
    groups: int,
) -> np.ndarray:
    pairs = tuple(zip(pad[::2], pad[1::2]))
    window = SlidingWindow(filter.shape[:-2], strides, dilations, pairs, input.shape[1:-1])
    return convolve_transposed(input, filter, window, output_dims, groups)


# The gradient of a channels-last convolution with respect to its input, whose spatial sizes are
# `output_dims`. `pad` holds the zeros before and after each spatial axis of that input.
convolution_transposed = define(
    "convolution_transposed",
    "_ConvolutionTransposed(input: T, filter: T; T: {f16, bf16, f32, f64, i32},"
    " strides: list(int), dilations: list(int), pad: shape, output_dims: shape,"
    " groups: int = 1) -> output: T",
    infer=_infer_transposed,
    lowering=lambda node: Convolution(
        tuple(node.attrs["strides"]),
        tuple(node.attrs["dilations"]),
        _transposed_window(node.attrs),
        node.attrs["groups"],
        transposed=True,
    ),
    reference=_transposed_reference,
    examples=(
        "T[1,4,4,3] T[3,3,2,3]; strides=[2,2], dilations=[1,1], pad=[0,1,0,1], output_dims=[8,8]",
        "T[2,3,5,4] T[2,3,1,4]; strides=[1,1], dilations=[1,2], pad=[0,0,1,1],"
        " output_dims=[4,7], groups=2",
    ),
)


def _infer_backprop(c: Inference, rank: int, depthwise: bool) -> Dims:
    check_rank(c, 1, rank)
    check_rank(c, 2, rank)
    layout = layout_of(c.attrs["data_format"])
    filter_channels, dy = c.dims(1)[-2], c.dims(2)
    given = c.need_sizes(0, shapes=[(None,) * rank])
    if len(given) == rank - 2:
        given = layout.stored((dy[0], *given, filter_channels))
    if len(given) != rank:
        raise c.fail(f"input_sizes must have {rank} elements, found {len(given)}")
    check_gradient(c, dy, convolved(c, given, c.dims(1), depthwise))
    if not depthwise:
        return given
    *rest, channels = layout.logical(given)
    return layout.stored((*rest, c.equal(channels, filter_channels)))


def _lower_backprop(node: Node, depthwise: bool) -> Decompose:
    def build(b: Builder, node: Node, operands: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
        _, w, dy = operands
        _, *sizes, channels = layout_of(node.attrs["data_format"]).logical(node.output.dims)
        geometry = sliding_window(sizes, w.dims[:-2], attrs)
        outputs = channels * w.dims[-1] if depthwise else w.dims[-1]
        dy = with_known_sizes(b, dy, (dy.dims[0], *geometry.output, outputs))
        if depthwise:
            if not (isinstance(channels, int) and isinstance(dy.dims[-1], int)):
                raise unknown_channels(node)
            w = depthwise_weights(b, w, channels)
        known = isinstance(channels, int) and isinstance(w.dims[-2], int)
        groups = channels // w.dims[-2] if known else 1
        whole, strides = (dy.dims[0], *sizes, channels), geometry.strides
        if known and groups == 1 and covers_last_axis(sizes, geometry):
            # Over zeros beside the one column of `dy`, most products would be of zeros.
            *rest, width = sizes
            w = b.reshape(w, (*w.dims[:-3], 1, width * channels, w.dims[-1]))
            sizes, strides = [*rest, 1], (*strides[:-1], 1)
        made = b.convolution_transposed(
            dy,
            w,
            strides=strides,
            dilations=geometry.dilations,
            pad=tuple(p for pair in geometry.pad for p in pair),
            output_dims=tuple(sizes),
            groups=groups,
        )
        return b.reshape(made, whole) if made.dims != whole else made

    return in_channels_last(build, (2,))


def _input_gradient(
    input_sizes: np.ndarray, filter: np.ndarray, out_backprop: np.ndarray, **attrs: Any
) -> np.ndarray:
    dims, w, dy = input_sizes, filter, out_backprop
    layout = layout_of(attrs["data_format"])
    sizes, channels = [int(d) for d in dims], w.shape[-2]
    if len(sizes) == dy.ndim:
        _, *sizes, channels = layout.logical(sizes)
    geometry = sliding_window(sizes, w.shape[:-2], attrs)
    groups = channels // w.shape[-2]
    return layout.packed(convolve_transposed(layout.unpacked(dy), w, geometry, sizes, groups))


def _depthwise_input_gradient(
    input_sizes: np.ndarray, filter: np.ndarray, out_backprop: np.ndarray, **attrs: Any
) -> np.ndarray:
    w = filter.reshape(*filter.shape[:2], 1, -1)
    return _input_gradient(input_sizes, w, out_backprop, **attrs)


def _gradient(b: GradientBuilder, node: Forward, dx: Any) -> Any:
    _, w, dy = node.inputs
    forward = node.op.name.removesuffix("_backprop_input")
    dw = b.with_attrs_of(node, f"{forward}_backprop_filter", dx, b.shape_of(w), dy)
    return None, dw, b.with_attrs_of(node, forward, dx, w)


conv2d_backprop_input = define(
    "conv2d_backprop_input",
    "Conv2DBackpropInput(input_sizes: i32, filter: T, out_backprop: T;"
    " T: {f16, bf16, f32, f64, i32}, " + CONV2D_ATTRS + ") -> output: T",
    infer=lambda c: _infer_backprop(c, 4, depthwise=False),
    gradient=_gradient,
    lowering=lambda node: _lower_backprop(node, depthwise=False),
    reference=_input_gradient,
    examples=(
        'i32[4]=[1,8,8,3] T[3,3,3,2] T[1,4,4,2]; strides=[1,2,2,1], padding="SAME"',
        'i32[4]=[2,7,9,2] T[3,3,2,5] T[2,4,9,5]; strides=[1,2,1,1], padding="SAME"',
        'i32[4]=[1,10,9,3] T[3,2,3,17] T[1,4,4,17]; strides=[1,2,2,1], padding="VALID"',
        'i32[2]=[8,8] T[4,4,3,2] T[1,4,4,2]; strides=[1,2,2,1], padding="SAME"',
        "i32[4]=[1,8,8,3] f32[3,3,3,2] f32[1,4,4,2]; strides=[1,2,2,1],"
        ' padding="EXPLICIT", explicit_paddings=[0,0,1,0,0,1,0,0]',
        'i32[4]=[1,3,8,8] f32[3,3,3,2] f32[1,2,8,8]; strides=[1,1,1,1], padding="SAME",'
        ' data_format="NCHW"',
    ),
)
depthwise_conv2d_backprop_input = define(
    "depthwise_conv2d_backprop_input",
    "DepthwiseConv2dNativeBackpropInput(input_sizes: i32, filter: T, out_backprop: T;"
    f" T: FLOAT, {DEPTHWISE_ATTRS}) -> output: T",
    infer=lambda c: _infer_backprop(c, 4, depthwise=True),
    lowering=lambda node: _lower_backprop(node, depthwise=True),
    gradient=_gradient,
    reference=_depthwise_input_gradient,
    examples=(
        'i32[4]=[1,8,8,3] T[3,3,3,2] T[1,4,4,6]; strides=[1,2,2,1], padding="SAME"',
        'i32[4]=[2,5,5,4] T[3,3,4,1] T[2,3,3,4]; strides=[1,1,1,1], padding="VALID"',
    ),
)


conv3d_backprop_input = define(
    "conv3d_backprop_input",
    "Conv3DBackpropInputV2(input_sizes: Tshape, filter: T, out_backprop: T; T: FLOAT,"
    f" {CONV3D_ATTRS}, Tshape: INDEX = i32) -> output: T",
    infer=lambda c: _infer_backprop(c, 5, depthwise=False),
    lowering=lambda node: _lower_backprop(node, depthwise=False),
    gradient=_gradient,
    reference=_input_gradient,
    examples=(
        'i32[5]=[1,4,6,8,3] T[3,3,3,3,2] T[1,2,3,4,2]; strides=[1,2,2,2,1], padding="SAME"',
        "i64[5]=[1,5,5,5,1] T[2,2,2,1,3] T[1,4,4,4,3]; strides=[1,1,1,1,1],"
        ' padding="VALID", Tshape=i64',
    ),
)
