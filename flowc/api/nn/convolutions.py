"""`tf.nn`: convolutions and pooling. Strides and windows may be one number, one for each spatial
dimension, or one for each dimension."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays import shaping as arrays
from flowc.api.framework.basics import constant
from flowc.api.framework.raw_ops import call, named
from flowc.api.framework.scopes import name_scope
from flowc.api.math.reductions import one_of
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


def for_each_dimension(value: Any, data_format: str, spatial: int, what: str) -> list[int]:
    """Strides or dilations, one for each dimension. Raises `ValueError` for other lengths."""
    given = [int(v) for v in (value if isinstance(value, list | tuple | np.ndarray) else [value])]
    if len(given) == spatial + 2:
        return given
    if len(given) == 1:
        given = given * spatial
    if len(given) != spatial:
        raise ValueError(
            f"{what} should be of length 1, {spatial} or {spatial + 2}. Received: {what}={value} "
            f"of length {len(given)}"
        )
    return [1, 1, *given] if data_format.startswith("NC") else [1, *given, 1]


def _padding(padding: Any) -> tuple[str, list[int]]:
    """The padding attr, and explicit paddings as one list."""
    if isinstance(padding, str):
        return padding, []
    if not isinstance(padding, list | tuple | np.ndarray):
        raise TypeError(f"Expected string for argument 'padding' not {padding}.")
    return "EXPLICIT", [int(v) for pair in padding for v in pair]


def windowed(
    op_type: str,
    inputs: Sequence[Any],
    per_dimension: Mapping[str, Any],
    padding: Any,
    layout: str,
    name: str | None,
    spatial: int = 2,
    **attrs: Any,
) -> Tensor:
    """An op that moves a window along `spatial` dimensions; `per_dimension`: attrs with a number
    for each."""
    sizes = {n: for_each_dimension(v, layout, spatial, n) for n, v in per_dimension.items()}
    kind, explicit = _padding(padding)
    if explicit:
        attrs["explicit_paddings"] = explicit
    return output(op_type, *inputs, padding=kind, data_format=layout, name=name, **sizes, **attrs)


def conv2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Convolution of images [batch, height, width, in] (`data_format` NCHW: channels second) with
    filters [height, width, in, out], of one dtype: [batch, rows, columns, out]. `padding`: SAME,
    VALID, or a list of pairs, one for each dimension.

    Raises `TypeError` where the dtypes differ or are no floats or int32, `ValueError` for other
    ranks, depths, strides and paddings."""
    inputs = input, one_of(filter, "filter", filters, "filters")
    sizes = {"strides": 1 if strides is None else strides, "dilations": dilations}
    cudnn = {"use_cudnn_on_gpu": use_cudnn_on_gpu}
    return windowed("Conv2D", inputs, sizes, padding, data_format, name, **cudnn)


def depthwise_conv2d_native(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """`depthwise_conv2d` as one op: `strides` and `dilations` have one number for each of the four
    dimensions. Raises `TypeError` where the dtypes differ, `ValueError` for shapes, strides and
    paddings that do not fit."""
    padding, explicit_paddings = _padding(padding)
    strides, dilations = list(strides), list(dilations)
    return output("DepthwiseConv2dNative", **locals())


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Each channel of images [batch, height, width, in] convolved with its own filters [height,
    width, in, multiplier], of one floating dtype: [batch, rows, columns, in * multiplier]. Raises
    as `conv2d`."""
    layout = data_format or "NHWC"
    spread = one_of(dilations, "dilations", rate, "rate")
    spread = for_each_dimension(1 if spread is None else spread, layout, 2, "rate")
    with name_scope(name, "depthwise") as scope:
        arrays.shape(filter)  # these two are read by nothing: TensorFlow's nodes
        constant([1, 1], name="dilation_rate")
        return depthwise_conv2d_native(input, filter, strides, padding, layout, spread, scope)


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """A depthwise convolution with filters [height, width, in, multiplier], then one with filters
    [1, 1, in * multiplier, out]. Raises as `conv2d`, and `ValueError` for pointwise filters of
    another height or width."""
    with name_scope(name, "separable_conv2d") as scope:
        pointwise_filter = as_tensor(pointwise_filter, name="pointwise_filter")
        for size in pointwise_filter.shape.with_rank(4)[:2]:
            size.assert_is_compatible_with(1)
        deep = depthwise_conv2d(
            input, depthwise_filter, strides, padding, rate, None, data_format, dilations
        )
        layout = data_format or "NHWC"
        return conv2d(deep, pointwise_filter, 1, "VALID", data_format=layout, name=scope)


def conv2d_backprop_input(
    input_sizes: Any,
    filter: Any = None,
    out_backprop: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """The gradient of `conv2d` by its input, of shape `input_sizes` int32[4]: from the filters and
    the gradient `out_backprop` of its result. Raises `ValueError` where that is not the result's
    shape."""
    inputs = input_sizes, one_of(filter, "filter", filters, "filters"), out_backprop
    sizes = {"strides": strides, "dilations": dilations}
    cudnn = {"use_cudnn_on_gpu": use_cudnn_on_gpu}
    return windowed("Conv2DBackpropInput", inputs, sizes, padding, data_format, name, **cudnn)


def conv2d_transpose(
    value: Any = None,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """The transposed convolution of images [batch, height, width, in], with filters [height, width,
    out, in] and the output's shape, int32[4]. Raises `ValueError` where that does not fit."""
    with name_scope(name, "conv2d_transpose") as scope:
        return conv2d_backprop_input(
            output_shape,
            one_of(filter, "filter", filters, "filters"),
            one_of(value, "value", input, "input"),
            strides,
            padding,
            data_format=data_format,
            dilations=1 if dilations is None else dilations,
            name=scope,
        )


def conv3d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: str | None = None,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Convolution of volumes [batch, depth, height, width, in] (`data_format` NCDHW: channels
    second) with filters [depth, height, width, in, out], of one floating dtype. `padding`: SAME or
    VALID. Raises `TypeError` for other dtypes, `ValueError` for other ranks, depths and
    paddings."""
    return output(
        "Conv3D",
        input,
        one_of(filter, "filter", filters, "filters"),
        strides=for_each_dimension(strides, data_format, 3, "strides"),
        padding=padding,
        data_format=data_format,
        dilations=for_each_dimension(dilations, data_format, 3, "dilations"),
        name=name,
    )


def conv1d(
    value: Any = None,
    filters: Any = None,
    stride: Any = None,
    padding: str | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NWC",
    name: str | None = None,
    input: Any = None,
    dilations: Any = None,
) -> Tensor:
    """A convolution of [batch, steps, in] (`data_format` NCW: channels second) with filters [width,
    in, out]: that of an image of height 1. Raises as `conv2d`."""
    with name_scope(name, "conv1d") as scope:
        channels_last = data_format in (None, "NHWC", "NWC")
        at = 1 if channels_last else 2
        image = arrays.expand_dims(one_of(value, "value", input, "input"), at)
        step = int(np.ravel(stride)[-1 if np.size(stride) == 1 else (1 if channels_last else 2)])
        spread = 1 if dilations is None else int(np.ravel(dilations)[0])
        layout = "NHWC" if channels_last else "NCHW"
        found = conv2d(
            image,
            arrays.expand_dims(filters, 0),
            [1, 1, step, 1] if channels_last else [1, 1, 1, step],
            padding,
            data_format=layout,
            dilations=[1, 1, spread, 1] if channels_last else [1, 1, 1, spread],
            name=scope,
        )
        return arrays.squeeze(found, [at])


def conv3d_transpose(
    value: Any,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """The transposed convolution of volumes [batch, depth, height, width, in], with filters [depth,
    height, width, out, in] and the output's shape, int32[5]. Raises `ValueError` where that does
    not fit."""
    with name_scope(name, "conv3d_transpose") as scope:
        return output(
            "Conv3DBackpropInputV2",
            output_shape,
            one_of(filter, "filter", filters, "filters"),
            one_of(value, "value", input, "input"),
            strides=for_each_dimension(strides, data_format, 3, "strides"),
            padding=padding,
            data_format=data_format,
            dilations=for_each_dimension(dilations or 1, data_format, 3, "dilations"),
            name=scope,
        )


# -- pooling


def _pool(op_type: str, function_name: str) -> Callable[..., Tensor]:
    def pool(
        value: Any,
        ksize: Any,
        strides: Any,
        padding: Any,
        data_format: str = "NHWC",
        name: str | None = None,
        input: Any = None,
    ) -> Tensor:
        x = one_of(value, "value", input, "input")
        sizes = {"ksize": ksize, "strides": strides}
        return windowed(op_type, [x], sizes, padding, data_format, name)

    return named(pool, function_name, _pool_doc(op_type, "images [batch, height, width, channels]"))


def _pool3d(op_type: str, function_name: str) -> Callable[..., Tensor]:
    def pool(
        input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NDHWC",
        name: str | None = None,
    ) -> Tensor:  # fmt: skip
        sizes = {"ksize": ksize, "strides": strides}
        return windowed(op_type, [input], sizes, padding, data_format, name, 3)

    volumes = "volumes [batch, depth, height, width, channels]"
    return named(pool, function_name, _pool_doc(op_type, volumes))


def _pool_doc(op_type: str, of: str) -> str:
    what = "maximum, of real numbers" if op_type.startswith("Max") else "mean, of floats"
    return (
        f"The {what}, of each window of {of} (`data_format` NC...: channels second), in their "
        "dtype; `ksize` is the window's size. Raises `TypeError` for other dtypes, `ValueError` "
        "for another rank, other lengths and paddings."
    )


max_pool = max_pool2d = _pool("MaxPool", "max_pool")
avg_pool = avg_pool2d = _pool("AvgPool", "avg_pool")
max_pool3d = _pool3d("MaxPool3D", "max_pool3d")
avg_pool3d = _pool3d("AvgPool3D", "avg_pool3d")


def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    Targmax: Any = None,
    name: str | None = None,
    output_dtype: Any = None,
    include_batch_in_index: bool = False,
) -> Any:
    """(maxima, indices) [batch, rows, columns, channels] of windows of images: the flat indices at
    which the maxima stand in an image, or in the batch with `include_batch_in_index`, as int64 or
    `output_dtype`. `ksize` and `strides` have four numbers. Raises `ValueError` for others."""
    wanted = one_of(output_dtype, "output_dtype", Targmax, "Targmax")
    return call(
        "MaxPoolWithArgmax",
        input,
        ksize=list(ksize),
        strides=list(strides),
        padding=padding,
        Targmax=dtypes.i64 if wanted is None else wanted,
        include_batch_in_index=include_batch_in_index,
        name=name,
    )


def dilation2d(
    input: Any,
    filter: Any = None,
    strides: Sequence[int] = (),
    rates: Sequence[int] = (),
    padding: str | None = None,
    name: str | None = None,
    filters: Any = None,
    dilations: Sequence[int] | None = None,
) -> Tensor:
    """The greyscale dilation: the maxima of windows of `input + filter`, filter [height, width,
    channels]. `input`: real numbers [batch, height, width, channels]. Raises `TypeError` for other
    dtypes, `ValueError` for shapes that do not fit."""
    weights = one_of(filter, "filter", filters, "filters")
    steps = {"strides": list(strides), "rates": list(rates if dilations is None else dilations)}
    return output("Dilation2D", input, weights, padding=padding, name=name, **steps)
