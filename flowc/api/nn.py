"""`tf.nn`: activations, convolutions, pooling, normalisation and losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api import arrays, elementwise
from flowc.api.basics import cast
from flowc.api.conversion import as_tensor
from flowc.api.elementwise import unary
from flowc.api.raw_ops import call, output
from flowc.api.reductions import one_of, reduce_mean, reduce_sum
from flowc.api.scopes import name_scope
from flowc.graph import Tensor

relu = unary("Relu", "features")
elu = unary("Elu", "features")
selu = unary("Selu", "features")
softplus = unary("Softplus", "features")
softsign = unary("Softsign", "features")
relu6 = unary("Relu6", "features")
sigmoid = elementwise.sigmoid
tanh = elementwise.tanh
log_sigmoid = elementwise.log_sigmoid
l2_loss = unary("L2Loss", "t")


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """`alpha * x` for negative elements, `x` for the others."""
    with name_scope(name, "LeakyRelu", [features]) as scope:
        x = as_tensor(features, name="features")
        if x.dtype is not None and x.dtype.is_integer:
            x = cast(x, dtypes.f32)
        return output("LeakyRelu", x, alpha=alpha, name=scope)


def crelu(features: Any, name: str | None = None, axis: int = -1) -> Tensor:
    """relu of `x` and of `-x`, joined."""
    with name_scope(name, "CRelu", [features]) as scope:
        x = as_tensor(features, name="features")
        return relu(arrays.concat([x, -x], axis, name=scope), name=scope)


def swish(features: Any, name: str | None = None) -> Tensor:
    """`x * sigmoid(x)`."""
    x = as_tensor(features, name="features")
    return elementwise.multiply(x, elementwise.sigmoid(x), name=name)


silu = swish


def gelu(features: Any, approximate: bool = False, name: str | None = None) -> Tensor:
    """`x * P(X <= x)` for a standard normal X; `approximate` with tanh."""
    with name_scope(name, "Gelu", [features]):
        x = as_tensor(features, name="features")
        if approximate:
            inner = 0.7978845608028654 * (x + 0.044715 * elementwise.pow(x, 3))
            return 0.5 * x * (1.0 + elementwise.tanh(inner))
        return 0.5 * x * (1.0 + elementwise.erf(x / 1.4142135623730951))


def _over_axis(op_type: str, logits: Any, axis: int, name: str | None) -> Tensor:
    """Softmax along any axis: moved to the end and back. Raises `ValueError` for an axis outside
    the rank."""
    x = as_tensor(logits, name="logits")
    count = x.shape.ndims
    if axis == -1 or (count is not None and axis == count - 1):
        return output(op_type, x, name=name)
    if count is None:
        raise ValueError(f"{op_type} over the axis {axis} needs a tensor of known rank")
    if not -count <= axis < count:
        raise ValueError(
            f"`axis` must be in the range [{-count}, {count}) where {count} is the number of "
            f"dimensions in the input. Received: axis={axis}"
        )
    order = list(np.arange(count))
    order[axis], order[-1] = order[-1], order[axis]
    with name_scope(name, op_type) as scope:
        moved = output(op_type, arrays.transpose(x, order))
        return arrays.transpose(moved, order, name=scope)


def softmax(
    logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """exp(x) divided by its sum along `axis` (the last)."""
    chosen = one_of(axis, "axis", dim, "dim")
    return _over_axis("Softmax", logits, -1 if chosen is None else chosen, name)


def log_softmax(
    logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """log(softmax(x)) along `axis` (the last)."""
    chosen = one_of(axis, "axis", dim, "dim")
    return _over_axis("LogSoftmax", logits, -1 if chosen is None else chosen, name)


# -- convolutions


def _per_dimension(value: Any, data_format: str, spatial: int, what: str) -> list[int]:
    """Strides or dilations, one for each dimension. Raises `ValueError` for other lengths."""
    given = [int(v) for v in (value if isinstance(value, list | tuple | np.ndarray) else [value])]
    if len(given) == spatial + 2:
        return given
    if len(given) == 1:
        given = given * spatial
    if len(given) != spatial:
        raise ValueError(
            f"`{what}` should be of length 1, {spatial} or {spatial + 2}. Received: {value}"
        )
    return [1, 1, *given] if data_format.startswith("NC") else [1, *given, 1]


def _padding(padding: Any) -> tuple[str, list[int]]:
    """The padding attr, and explicit paddings as one list."""
    if isinstance(padding, str):
        return padding, []
    return "EXPLICIT", [int(v) for pair in padding for v in pair]


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
    """Convolution of images (`data_format`) with filters [height, width, in, out]. `padding`: SAME,
    VALID, or a list of pairs, one for each dimension."""
    kind, explicit = _padding(padding)
    return output(
        "Conv2D",
        input,
        one_of(filter, "filter", filters, "filters"),
        strides=_per_dimension(1 if strides is None else strides, data_format, 2, "strides"),
        padding=kind,
        explicit_paddings=explicit,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        data_format=data_format,
        dilations=_per_dimension(dilations, data_format, 2, "dilations"),
        name=name,
    )


def depthwise_conv2d_native(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    kind, explicit = _padding(padding)
    return output(
        "DepthwiseConv2dNative",
        input,
        filter,
        strides=list(strides),
        padding=kind,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=list(dilations),
        name=name,
    )


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
    """Each channel convolved with its own filters [height, width, in, multiplier]."""
    layout = data_format or "NHWC"
    spread = one_of(dilations, "dilations", rate, "rate")
    spread = _per_dimension(1 if spread is None else spread, layout, 2, "rate")
    return depthwise_conv2d_native(
        input, filter, strides, padding, layout, spread, name or "depthwise"
    )


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
    """A depthwise convolution, then one with filters of size 1."""
    with name_scope(name, "separable_conv2d") as scope:
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
    kind, explicit = _padding(padding)
    return output(
        "Conv2DBackpropInput",
        input_sizes,
        one_of(filter, "filter", filters, "filters"),
        out_backprop,
        strides=_per_dimension(strides, data_format, 2, "strides"),
        padding=kind,
        explicit_paddings=explicit,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        data_format=data_format,
        dilations=_per_dimension(dilations, data_format, 2, "dilations"),
        name=name,
    )


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
    """The transposed convolution, with filters [height, width, out, in] and the output's shape."""
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
    return output(
        "Conv3D",
        input,
        one_of(filter, "filter", filters, "filters"),
        strides=_per_dimension(strides, data_format, 3, "strides"),
        padding=padding,
        data_format=data_format,
        dilations=_per_dimension(dilations, data_format, 3, "dilations"),
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
    """A convolution along one axis: that of an image of height 1."""
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
        )
        return arrays.squeeze(found, [at], name=scope)


# -- pooling


def _pool(
    op_type: str, x: Any, ksize: Any, strides: Any, padding: Any, layout: str, name: str | None,
    spatial: int = 2,
) -> Tensor:  # fmt: skip
    kind, explicit = _padding(padding)
    extra = {"explicit_paddings": explicit} if explicit else {}
    return output(
        op_type,
        x,
        ksize=_per_dimension(ksize, layout, spatial, "ksize"),
        strides=_per_dimension(strides, layout, spatial, "strides"),
        padding=kind,
        data_format=layout,
        name=name,
        **extra,
    )


def max_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    x = one_of(value, "value", input, "input")
    return _pool("MaxPool", x, ksize, strides, padding, data_format, name)


def avg_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    x = one_of(value, "value", input, "input")
    return _pool("AvgPool", x, ksize, strides, padding, data_format, name)


max_pool2d, avg_pool2d = max_pool, avg_pool


def max_pool3d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    return _pool("MaxPool3D", input, ksize, strides, padding, data_format, name, 3)


def avg_pool3d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    return _pool("AvgPool3D", input, ksize, strides, padding, data_format, name, 3)


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
    """The maxima and the flat indices at which they stand."""
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


# -- normalisation


def bias_add(
    value: Any, bias: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """A vector added along the channels."""
    layout = "NHWC" if data_format is None else data_format
    layout = {"N..C": "NHWC", "NC..": "NCHW"}.get(layout, layout)
    with name_scope(name, "BiasAdd", [value, bias]) as scope:
        x = as_tensor(value, name="input")
        b = as_tensor(bias, x.dtype, name="bias")
        return output("BiasAdd", x, b, data_format=layout, name=scope)


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """`matmul(x, weights) + biases`."""
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        product = output("MatMul", as_tensor(x, name="x"), as_tensor(weights, name="weights"))
        return bias_add(product, as_tensor(biases, name="biases"), name=scope)


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """`relu(matmul(x, weights) + biases)`."""
    with name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        return relu(xw_plus_b(x, weights, biases), name=scope)


def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance over `axes`."""
    keep = bool(one_of(keepdims, "keepdims", keep_dims, "keep_dims"))
    with name_scope(name, "moments", [x]):
        value = as_tensor(x, name="x")
        half = value.dtype is dtypes.f16
        y = cast(value, dtypes.f32) if half else value
        mean = reduce_mean(y, axes, True, name="mean")
        spread = elementwise.squared_difference(y, output("StopGradient", mean))
        variance = reduce_mean(spread, axes, True, name="variance")
        if not keep:
            rest = [int(a) for a in np.ravel(axes)]
            mean, variance = arrays.squeeze(mean, rest), arrays.squeeze(variance, rest)
        if half:
            return cast(mean, dtypes.f16), cast(variance, dtypes.f16)
        return mean, variance


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: Any,
    name: str | None = None,
) -> Tensor:
    """`(x - mean) / sqrt(variance + epsilon) * scale + offset`."""
    with name_scope(name, "batchnorm", [x, mean, variance]):
        value = as_tensor(x)
        factor = elementwise.rsqrt(as_tensor(variance) + variance_epsilon)
        if scale is not None:
            factor = factor * scale
        shift = -mean * factor if offset is None else offset - mean * factor
        return value * cast(factor, value.dtype) + cast(shift, value.dtype)


def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch normalisation as one op: the result, the mean and the variance."""
    if (not is_training or exponential_avg_factor != 1.0) and (mean is None or variance is None):
        raise ValueError(
            "Both `mean` and `variance` must be a 1D tensor when `is_training` is False or "
            f"`exponential_avg_factor` != 1.0. Received: `mean` {mean!r} and `variance` "
            f"{variance!r}"
        )
    empty = np.zeros(0, np.float32)
    found = call(
        "FusedBatchNormV3",
        x,
        scale,
        offset,
        empty if mean is None else mean,
        empty if variance is None else variance,
        epsilon=max(epsilon, 1.001e-5),
        exponential_avg_factor=exponential_avg_factor,
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    return found[0], found[1], found[2]


def l2_normalize(
    x: Any,
    axis: Any = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: Any = None,
) -> Tensor:
    """`x` divided by its Euclidean norm over `axis`."""
    axis = one_of(axis, "axis", dim, "dim")
    with name_scope(name, "l2_normalize", [x]) as scope:
        value = as_tensor(x, name="x")
        total = reduce_sum(elementwise.square(value), axis, True)
        return elementwise.multiply(
            value, elementwise.rsqrt(elementwise.maximum(total, epsilon)), name=scope
        )


def lrn(
    input: Any,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """Local response normalisation across channels."""
    return output(
        "LRN", input, depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta, name=name
    )


local_response_normalization = lrn


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """The share of elements that are zero."""
    with name_scope(name, "zero_fraction", [value]):
        x = as_tensor(value, name="value")
        zero = as_tensor(np.zeros((), x.dtype.numpy))  # type: ignore[union-attr]
        return reduce_mean(cast(elementwise.equal(x, zero), dtypes.f32))


# -- losses


def sigmoid_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """`max(x, 0) - x * z + log1p(exp(-abs(x)))` for logits x and labels z.

    Raises `ValueError` where the shapes differ."""
    _need_both("sigmoid_cross_entropy_with_logits", labels, logits)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        x, z = as_tensor(logits, name="logits"), as_tensor(labels, name="labels")
        if not z.shape.is_compatible_with(x.shape):
            raise ValueError(
                f"`logits` and `labels` must have the same shape, received ({x.shape} vs "
                f"{z.shape})."
            )
        zeros = arrays.zeros_like(x)
        positive = x >= zeros
        top = output("Select", positive, x, zeros)
        low = output("Select", positive, -x, x)
        return elementwise.add(top - x * z, elementwise.log1p(elementwise.exp(low)), name=scope)


def weighted_cross_entropy_with_logits(
    labels: Any = None,
    logits: Any = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: Any = None,
) -> Tensor:
    """The logistic loss with positive labels weighted."""
    z = one_of(labels, "labels", targets, "targets")
    with name_scope(name, "logistic_loss", [logits, z]) as scope:
        x, z = as_tensor(logits, name="logits"), as_tensor(z, name="labels")
        weight = 1 + (pos_weight - 1) * z
        low = elementwise.log1p(elementwise.exp(-elementwise.abs(x))) + relu(-x)
        return elementwise.add((1 - z) * x, weight * low, name=scope)


def _need_both(what: str, labels: Any, logits: Any) -> None:
    if labels is None or logits is None:
        raise ValueError(f"Both labels and logits must be provided to {what}.")


def softmax_cross_entropy_with_logits_v2(
    labels: Any,
    logits: Any,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """The cross entropy of softmax(logits) and the labels' distributions, along `axis` (the
    last)."""
    chosen = one_of(axis, "axis", dim, "dim")
    _need_both("softmax_cross_entropy_with_logits", labels, logits)
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        x = as_tensor(logits, name="logits")
        z = as_tensor(labels, name="labels", preferred=x.dtype)
        x, z, sizes = _rows(x, z, -1 if chosen is None else chosen)
        flat = [_two_dimensional(t) for t in (x, z)]
        cost = call("SoftmaxCrossEntropyWithLogits", *flat, name=scope)[0]
        return arrays.reshape(cost, sizes)


def _rows(x: Tensor, z: Tensor, axis: int) -> tuple[Tensor, Tensor, Tensor]:
    """The tensors with `axis` last, and the shape without it."""
    count = x.shape.ndims
    if axis != -1 and count is not None and axis % count != count - 1:
        order = [i for i in np.arange(count) if i != axis % count] + [axis % count]
        x, z = arrays.transpose(x, order), arrays.transpose(z, order)
    return x, z, arrays.shape(x)[:-1]


def _two_dimensional(x: Tensor) -> Tensor:
    if x.shape.ndims == 2:
        return x
    return arrays.reshape(x, arrays.stack([-1, arrays.shape(x)[-1]]))


def softmax_cross_entropy_with_logits(
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """As `softmax_cross_entropy_with_logits_v2`; no gradient goes to the labels."""
    _need_both("softmax_cross_entropy_with_logits", labels, logits)
    with name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as scope:
        fixed = output("StopGradient", as_tensor(labels), name="labels_stop_gradient")
        return softmax_cross_entropy_with_logits_v2(
            fixed, logits, axis=dim if axis is None else axis, name=scope
        )


def sparse_softmax_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """The cross entropy of softmax(logits) and class numbers. Raises `ValueError` where the rank of
    the labels is not that of the logits less one."""
    _need_both("sparse_softmax_cross_entropy_with_logits", labels, logits)
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]) as scope:
        z, x = as_tensor(labels), as_tensor(logits)
        if x.shape.ndims is not None and z.shape.ndims not in (None, x.shape.ndims - 1):
            raise ValueError(
                f"`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: labels.shape="
                f"{z.shape} of rank {z.shape.ndims} and logits.shape={x.shape} of rank "
                f"{x.shape.ndims}"
            )
        if x.shape.ndims == 2:
            return call("SparseSoftmaxCrossEntropyWithLogits", x, z, name=scope)[0]
        flat = arrays.reshape(x, arrays.stack([-1, arrays.shape(x)[-1]]))
        found = call(
            "SparseSoftmaxCrossEntropyWithLogits", flat, arrays.reshape(z, [-1]), name=scope
        )
        return arrays.reshape(found[0], arrays.shape(z))


# -- look-ups


def top_k(
    input: Any, k: Any = 1, sorted: bool = True, index_type: Any = dtypes.i32,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The k largest elements of each row and where they stand."""
    return call("TopKV2", input, k, sorted=sorted, index_type=index_type, name=name)


def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """Whether each target's prediction is among the k largest of its row."""
    with name_scope(name, "in_top_k"):
        return output("InTopKV2", predictions, targets, k)


def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """Rows of one tensor. Raises `ValueError` for several tensors or a norm, which flowc does not
    take yet."""
    if isinstance(params, list | tuple):
        if len(params) != 1:
            raise ValueError("embedding_lookup takes one tensor of parameters, found "
                             f"{len(params)}")  # fmt: skip
        params = params[0]
    if max_norm is not None:
        raise ValueError("embedding_lookup does not take max_norm")
    with name_scope(name, "embedding_lookup", [params, ids]) as scope:
        return arrays.gather(params, as_tensor(ids, name="ids"), name=scope)


def dilation2d(
    input: Any,
    filter: Any = None,
    strides: Sequence[int] = (),
    rates: Sequence[int] = (),
    padding: str | None = None,
    name: str | None = None,
) -> Tensor:
    return output(
        "Dilation2D", input, filter, strides=list(strides), rates=list(rates), padding=padding,
        name=name,
    )  # fmt: skip


depth_to_space, space_to_depth = arrays.depth_to_space, arrays.space_to_depth
