"""Transposed convolutions by rank, and the gradients of convolutions as functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc.api.arrays.shaping import concat, expand_dims, squeeze
from flowc.api.framework.scopes import name_scope
from flowc.api.nn.convolutions import (
    conv2d_backprop_input,
    conv2d_transpose,
    conv3d_transpose,
    windowed,
)
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


def conv1d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str | None = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transposed convolution of [batch, width, channels] with filters [width, out, in].

    Raises `ValueError` for another `data_format` than NWC and NCW."""
    with name_scope(name, "conv1d_transpose", [input, filters, output_shape]) as scope:
        if data_format not in (None, "NWC", "NCW"):
            raise ValueError(
                f"`data_format` must be 'NWC' or 'NCW'. Received: data_format={data_format}"
            )
        at, layout = (2, "NCHW") if data_format == "NCW" else (1, "NHWC")
        steps, spread = (
            [1, int(np.ravel(v)[0 if np.size(v) == 1 else at])]
            for v in (strides, 1 if dilations is None else dilations)
        )
        sizes = as_tensor(output_shape)
        found = conv2d_backprop_input(
            concat([sizes[:at], [1], sizes[at:]], 0),
            expand_dims(filters, 0),
            expand_dims(input, at),
            steps,
            padding,
            data_format=layout,
            dilations=spread,
            name=scope,
        )
        return squeeze(found, [at])


def conv_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transposed convolution along one, two or three spatial dimensions, as many as
    `output_shape` has. Raises `ValueError` for another number."""
    length = as_tensor(output_shape).shape.with_rank(1).as_list()[0]
    if length not in (3, 4, 5):
        raise ValueError(f"`output_shape` must be of length 3, 4 or 5. Received: "
                         f"output_shape={output_shape} of length {length}.")  # fmt: skip
    layout = data_format or ("NWC", "NHWC", "NDHWC")[length - 3]
    function = (conv1d_transpose, conv2d_transpose, conv3d_transpose)[length - 3]
    with name_scope(name, "conv_transpose") as scope:
        more: dict[str, Any] = {"data_format": layout, "dilations": dilations, "name": scope}
        return function(input, filters, output_shape, strides, padding, **more)


def atrous_conv2d_transpose(
    value: Any, filters: Any, output_shape: Any, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """The transpose of `atrous_conv2d`, with filters [height, width, out, in]. Raises `ValueError`
    for a rate below 1."""
    if rate < 1:
        raise ValueError(f"`rate` cannot be less than one. Received: rate={rate}")
    return conv2d_transpose(
        value, filters, output_shape, 1, padding, name=name or "atrous_conv2d_transpose",
        dilations=rate,
    )  # fmt: skip


def conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv2d` by its filter, whose sizes are given. Images, the gradient and the
    result [height, width, in, out] are of one float dtype. Raises `TypeError` for other dtypes,
    `ValueError` for shapes that do not fit."""
    inputs = input, filter_sizes, out_backprop
    sizes = {"strides": strides, "dilations": dilations}
    cudnn = {"use_cudnn_on_gpu": use_cudnn_on_gpu}
    return windowed("Conv2DBackpropFilter", inputs, sizes, padding, data_format, name, **cudnn)


def conv3d_backprop_filter_v2(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv3d` by its filter, whose sizes are given. Volumes, the gradient and the
    result [depth, height, width, in, out] are of one float dtype. Raises `TypeError` for other
    dtypes, `ValueError` for shapes that do not fit."""
    inputs = input, filter_sizes, out_backprop
    sizes = {"strides": strides, "dilations": dilations}
    return windowed("Conv3DBackpropFilterV2", inputs, sizes, padding, data_format, name, 3)


def depthwise_conv2d_native_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `depthwise_conv2d_native` by its filter, whose sizes are given. Images, the
    gradient and the result [height, width, in, multiplier] are of one float dtype. Raises
    `TypeError` for other dtypes, `ValueError` for shapes that do not fit."""
    inputs = input, filter_sizes, out_backprop
    sizes = {"strides": strides, "dilations": dilations}
    op_type = "DepthwiseConv2dNativeBackpropFilter"
    return windowed(op_type, inputs, sizes, padding, data_format, name)


def depthwise_conv2d_native_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `depthwise_conv2d_native` by its input, whose sizes are given. The filter,
    the gradient and the result [batch, height, width, channels] are of one float dtype. Raises
    `TypeError` for other dtypes, `ValueError` for shapes that do not fit."""
    inputs = input_sizes, filter, out_backprop
    sizes = {"strides": strides, "dilations": dilations}
    op_type = "DepthwiseConv2dNativeBackpropInput"
    return windowed(op_type, inputs, sizes, padding, data_format, name)
