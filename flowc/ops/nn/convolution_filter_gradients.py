"""Gradients of convolutions with respect to their weights: Conv2DBackpropFilter,
Conv3DBackpropFilterV2, DepthwiseConv2dNativeBackpropFilter.

In: the input, the sizes of the weights, the gradient of the result. Out: records that decompose
into `convolution_filter_gradient`, the channels-last form without groups; with groups and small
windows into one matrix product for each window element, depthwise into one sum. A convolution of
the input with the gradient, the batch being the channels that are summed over, is what large
windows in groups are, and what a GPU runs.
Invariant: window and channels are known when compiling; batch and spatial sizes may be symbolic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.ir.dims import Dim, product
from flowc.ir.inference import Inference
from flowc.ir.layout import layout_of
from flowc.ir.lowering import Decompose, FilterGradient
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.math.elementwise import HALVES
from flowc.ops.nn.convolution import (
    CONV2D_ATTRS,
    CONV3D_ATTRS,
    DEPTHWISE_ATTRS,
    convolved,
    with_known_sizes,
)
from flowc.ops.nn.convolution_reference import met
from flowc.ops.nn.convolution_window import (
    SlidingWindow,
    check_gradient,
    check_rank,
    sliding_window,
)
from flowc.ops.nn.through_channels_last import in_channels_last

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

MOST_TAPS = 64  # of a window in groups, of which each becomes a product


def _infer(c: Inference, rank: int, depthwise: bool) -> Dims:
    check_rank(c, 0, rank)
    check_rank(c, 2, rank)
    fault = f"filter_sizes must be a vector of {rank} elements, not {c.inputs[1]}"
    c.need_dims(1, (rank,), fault)
    dims = c.need_ints(1, shapes=[(None,) * rank])
    check_gradient(c, c.dims(2), convolved(c, c.dims(0), dims, depthwise))
    return dims


# -- the decomposition


FEW_CHANNELS = 16  # that fill no tile: what the taps of a line see of them is one row
FEW_OUTPUTS = 16  # that fill no vector
MANY_CHANNELS = 64  # that fill vectors, whatever the taps


def _amounts(b: Builder, pad: Sequence[tuple[Dim, Dim]]) -> Value:
    """The paddings of an image, none of its batch and its channels."""
    flat = [p for pair in pad for p in pair]
    return b.reshape(b.sizes((0, 0, *flat, 0, 0)), (len(pad) + 2, 2))


def _padded(b: Builder, x: Value, pad: Sequence[tuple[Dim, Dim]]) -> Value:
    is_none = all(isinstance(p, int) and p == 0 for pair in pad for p in pair)
    return x if is_none else b.pad(x, _amounts(b, pad))


def _direct(b: Builder, x: Value, dy: Value, dims: Dims, geometry: SlidingWindow) -> Value:
    """The gradient of a convolution without groups.

    Vectors hold outputs; of few of these, channels. Of few channels the taps of a line are more
    rows, and of one output they are more columns, where nothing of the line is padding.
    """
    *window, channels, outputs = dims
    assert isinstance(channels, int) and isinstance(outputs, int)
    swapped = outputs < FEW_OUTPUTS <= channels or outputs == 1
    pad = geometry.pad
    if channels < (FEW_CHANNELS if not swapped else MANY_CHANNELS if outputs == 1 else 0):
        x = _padded(b, x, (*((0, 0) for _ in pad[:-1]), pad[-1]))
        pad = (*pad[:-1], (0, 0))
    made = b.convolution_filter_gradient(
        x,
        dy,
        strides=geometry.strides,
        dilations=geometry.dilations,
        pad=tuple(p for pair in pad for p in pair),
        window=tuple(window),
        swapped=swapped,
    )
    rank = len(window)
    order = np.array([*range(rank), rank + 1, rank], np.int32)
    return b.transpose(made, order) if swapped else made


def _convolved(
    b: Builder, x: Value, dy: Value, dims: Dims, geometry: SlidingWindow, groups: int = 1
) -> Value:
    """The gradient as a convolution: the channels of a group for a batch, the batch for channels,
    the gradient of the result for weights, steps and dilations exchanged."""
    *window, channels, outputs = dims
    rank = len(window)
    spatial = (*range(1, rank + 1),)
    x = _padded(b, x, geometry.pad)
    if groups == 1:
        transposed = b.transpose(x, np.array([rank + 1, *spatial, 0], np.int32))
    else:
        batch, *sizes, _ = x.dims
        parts = b.reshape(x, (batch, *sizes, groups, channels))
        order = np.array([rank + 2, *spatial, rank + 1, 0], np.int32)
        transposed = b.reshape(b.transpose(parts, order), (channels, *sizes, groups * batch))
    weights = b.transpose(dy, np.array([*spatial, 0, rank + 1], np.int32))
    attrs = {
        "strides": (1, *geometry.dilations, 1),
        "dilations": (1, *geometry.strides, 1),
        "padding": "VALID",
    }
    convolution = b.conv2d if rank == 2 else b.conv3d
    made = convolution(transposed, weights, **attrs)
    # Steps that do not reach the end of the input leave elements that no window has.
    wanted = (channels, *window, outputs)
    if made.dims != wanted:
        made = b.slice(made, np.zeros(rank + 2, np.int32), b.sizes(wanted))
    return b.transpose(made, np.array([*spatial, 0, rank + 1], np.int32))


def _taps(
    b: Builder, x: Value, window: Sequence[int], geometry: SlidingWindow, output: Dims
) -> Iterator[Value]:
    """For each window element the part of the padded input that it meets, [N, *output, C]."""
    x = _padded(b, x, geometry.pad)
    steps = np.array((1, *geometry.strides, 1), np.int32)
    batch, *_, channels = x.dims
    for tap in np.ndindex(*window):
        first = [t * d for t, d in zip(tap, geometry.dilations)]
        last = [f + s * (n - 1) + 1 for f, s, n in zip(first, geometry.strides, output)]
        begin = np.array((0, *first, 0), np.int32)
        yield b.strided_slice(x, begin, b.sizes((batch, *last, channels)), steps)


def _product(b: Builder, part: Value, dy: Value, channels: int, outputs: int) -> Value:
    """[N, *spatial, groups*channels] and [N, *spatial, outputs] -> [channels, outputs]."""
    rows = product(part.dims[:-1])
    total = part.dims[-1]
    assert isinstance(total, int)
    groups = total // channels
    if groups == 1:
        flat = b.reshape(part, (rows, channels))
        return b.mat_mul(flat, b.reshape(dy, (rows, outputs)), transpose_a=True)
    first = np.array([1, 0, 2], np.int32)
    x = b.transpose(b.reshape(part, (rows, groups, channels)), first)
    y = b.transpose(b.reshape(dy, (rows, groups, outputs // groups)), first)
    result = b.transpose(b.batch_mat_mul(x, y, adj_x=True), first)
    return b.reshape(result, (channels, outputs))


def _depthwise_product(b: Builder, part: Value, dy: Value, channels: int, outputs: int) -> Value:
    """[N, *spatial, channels] and [N, *spatial, channels*outputs] -> [channels, outputs]."""
    rows = product(part.dims[:-1])
    x = b.reshape(part, (rows, channels, 1))
    y = b.reshape(dy, (rows, channels, outputs))
    return b.sum(b.mul(x, y), np.array([0], np.int32))


def _lower(node: Node, depthwise: bool) -> Decompose:
    dims = node.output.type.static_dims
    *window, channels, outputs = dims
    one = _depthwise_product if depthwise else _product

    def build(b: Builder, node: Node, operands: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
        x, _, dy = operands
        if not isinstance(x.dims[-1], int):
            x = with_known_sizes(b, x, (*x.dims[:-1], channels))
        geometry = sliding_window(x.dims[1:-1], window, attrs)
        inner = 1 if depthwise else channels
        total = x.dims[-1]
        groups = total // inner if isinstance(total, int) else 1
        # In groups each tap is a product of its own, which compiles for as long as there are taps.
        is_small = math.prod(window) <= MOST_TAPS or len(window) > 2
        few = (depthwise or groups > 1) and (is_small or not isinstance(x.dims[0], int))
        if not few and any(n != 1 for n in window):
            by_group = (*window, inner, dy.dims[-1])
            if groups == 1:
                return _direct(
                    b, x, with_known_sizes(b, dy, (*dy.dims[:-1], outputs)), dims, geometry
                )
            return b.reshape(_convolved(b, x, dy, by_group, geometry, groups), dims)
        parts = _taps(b, x, window, geometry, dy.dims[1:-1])
        products = [one(b, part, dy, channels, outputs) for part in parts]
        return b.reshape(b.pack(*products, N=len(products)), dims)

    return in_channels_last(build, (0, 2), moves_result=False)


# -- the channels-last form without groups


def _window(image: Sequence[Dim], attrs: Mapping[str, Any], output: Dims) -> SlidingWindow:
    pad = attrs["pad"]
    pairs = tuple(zip(pad[::2], pad[1::2]))
    return SlidingWindow(attrs["window"], attrs["strides"], attrs["dilations"], pairs, output)


def _infer_direct(c: Inference) -> Dims:
    channels, outputs = (c.need_number(c.dims(i)[-1], "the channels") for i in (0, 1))
    return (
        *c.attrs["window"],
        *((outputs, channels) if c.attrs["swapped"] else (channels, outputs)),
    )


def _direct_reference(input: np.ndarray, out_backprop: np.ndarray, **attrs: Any) -> np.ndarray:
    window = _window(input.shape[1:-1], attrs, out_backprop.shape[1:-1])
    wide = np.float32 if input.dtype in HALVES else input.dtype
    dy = out_backprop.astype(wide)
    axes = list(range(dy.ndim - 1))
    made = [np.tensordot(part, dy, (axes, axes)) for _, part in met(input.astype(wide), window)]
    result = np.stack(made) if made else np.zeros((0, input.shape[-1], dy.shape[-1]), wide)
    result = np.swapaxes(result, 1, 2) if attrs["swapped"] else result
    return result.reshape(*attrs["window"], *result.shape[1:]).astype(input.dtype)


def _by_channels(b: Builder, node: Node) -> Value:
    x, dy = node.inputs
    geometry = _window(x.dims[1:-1], node.attrs, dy.dims[1:-1])
    made = _convolved(b, x, dy, (*node.attrs["window"], x.dims[-1], dy.dims[-1]), geometry)
    rank = len(node.attrs["window"])
    order = np.array([*range(rank), rank + 1, rank], np.int32)
    return b.transpose(made, order) if node.attrs["swapped"] else made


_DIRECT = (
    "(input: T, out_backprop: T; T: FLOAT, strides: list(int), dilations: list(int), pad: shape,"
    " window: list(int), swapped: bool = False) -> output: T"
)
_DIRECT_EXAMPLES = (
    "T[2,5,6,3] T[2,5,6,4]; strides=[1,1], dilations=[1,1], pad=[1,1,1,1], window=[3,3]",
    "T[2,7,7,2] T[2,3,4,3]; strides=[2,2], dilations=[1,2], pad=[0,0,1,1], window=[3,2],"
    " swapped=True",
)
convolution_by_channels_filter_gradient = define(
    "convolution_by_channels_filter_gradient",
    f"_ConvolutionByChannelsFilterGradient{_DIRECT}",
    infer=_infer_direct,
    lowering=Decompose(_by_channels),
    reference=_direct_reference,
    examples=_DIRECT_EXAMPLES,
)
# The gradient of a channels-last convolution with respect to its weights. `pad` holds the zeros
# before and after each spatial axis of the input; `swapped`, the outputs come before the channels.
convolution_filter_gradient = define(
    "convolution_filter_gradient",
    f"_ConvolutionFilterGradient{_DIRECT}",
    infer=_infer_direct,
    lowering=lambda node: FilterGradient(
        tuple(node.attrs["strides"]),
        tuple(node.attrs["dilations"]),
        tuple(zip(node.attrs["pad"][::2], node.attrs["pad"][1::2])),
        node.attrs["swapped"],
    ),
    on_gpu=lambda node: convolution_by_channels_filter_gradient,
    reference=_direct_reference,
    examples=_DIRECT_EXAMPLES,
)


# -- references


def _filter_gradient(depthwise: bool) -> Callable[..., np.ndarray]:
    def reference(
        input: np.ndarray, filter_sizes: np.ndarray, out_backprop: np.ndarray, **attrs: Any
    ) -> np.ndarray:
        *window, channels, outputs = filter_sizes.tolist()
        wide = np.float32 if input.dtype in HALVES else input.dtype
        layout = layout_of(attrs["data_format"])
        x, dy = (layout.unpacked(v).astype(wide) for v in (input, out_backprop))
        groups = x.shape[-1] // channels
        result = np.empty((*window, channels, outputs), wide)
        rows = int(np.prod(dy.shape[:-1]))
        for tap, part in met(x, sliding_window(x.shape[1:-1], window, attrs)):
            if depthwise:
                pairs = part.reshape(rows, channels, 1) * dy.reshape(rows, channels, outputs)
                result[tap] = pairs.sum(axis=0)
            else:
                left = part.reshape(rows, groups, channels)
                right = dy.reshape(rows, groups, outputs // groups)
                result[tap] = np.einsum("rgc,rgo->cgo", left, right).reshape(channels, outputs)
        return result.astype(input.dtype)

    return reference


# -- records


def _gradient(b: GradientBuilder, node: Forward, dw: Any) -> Any:
    x, _, dy = node.inputs
    forward = node.op.name.removesuffix("_backprop_filter")
    dx = b.with_attrs_of(node, f"{forward}_backprop_input", b.shape_of(x), dw, dy)
    return dx, None, b.with_attrs_of(node, forward, x, dw)


conv2d_backprop_filter = define(
    "conv2d_backprop_filter",
    "Conv2DBackpropFilter(input: T, filter_sizes: i32, out_backprop: T; T: FLOAT,"
    f" {CONV2D_ATTRS}) -> output: T",
    infer=lambda c: _infer(c, 4, depthwise=False),
    gradient=_gradient,
    lowering=lambda node: _lower(node, depthwise=False),
    reference=_filter_gradient(depthwise=False),
    examples=(
        'T[1,8,8,3] i32[4]=[3,3,3,2] T[1,4,4,2]; strides=[1,2,2,1], padding="SAME"',
        'T[2,6,5,2] i32[4]=[2,3,2,5] T[2,5,3,5]; strides=[1,1,1,1], padding="VALID"',
        'f32[2,5,5,4] i32[4]=[3,3,2,6] f32[2,5,5,6]; strides=[1,1,1,1], padding="SAME"',
        'f32[1,3,6,6] i32[4]=[3,3,3,2] f32[1,2,6,6]; strides=[1,1,1,1], padding="SAME",'
        ' data_format="NCHW"',
    ),
)
depthwise_conv2d_backprop_filter = define(
    "depthwise_conv2d_backprop_filter",
    "DepthwiseConv2dNativeBackpropFilter(input: T, filter_sizes: i32, out_backprop: T;"
    f" T: FLOAT, {DEPTHWISE_ATTRS}) -> output: T",
    infer=lambda c: _infer(c, 4, depthwise=True),
    lowering=lambda node: _lower(node, depthwise=True),
    gradient=_gradient,
    reference=_filter_gradient(depthwise=True),
    examples=(
        'T[1,8,8,3] i32[4]=[3,3,3,2] T[1,4,4,6]; strides=[1,2,2,1], padding="SAME"',
        'T[2,5,5,4] i32[4]=[3,3,4,1] T[2,3,3,4]; strides=[1,1,1,1], padding="VALID"',
    ),
)
conv3d_backprop_filter = define(
    "conv3d_backprop_filter",
    "Conv3DBackpropFilterV2(input: T, filter_sizes: i32, out_backprop: T; T: FLOAT,"
    f" {CONV3D_ATTRS}) -> output: T",
    infer=lambda c: _infer(c, 5, depthwise=False),
    lowering=lambda node: _lower(node, depthwise=False),
    gradient=_gradient,
    reference=_filter_gradient(depthwise=False),
    examples=('T[1,4,5,6,2] i32[5]=[2,3,3,2,3] T[1,4,5,6,3]; strides=[1,1,1,1,1], padding="SAME"',),
)
