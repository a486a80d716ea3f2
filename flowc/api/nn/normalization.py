"""`tf.nn`: biases, moments and normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays import shaping as arrays
from flowc.api.arrays.filling import zeros
from flowc.api.control_flow.conditionals import cond
from flowc.api.framework.basics import cast, identity
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise
from flowc.api.math.reductions import one_of, reduce_mean, reduce_prod, reduce_sum
from flowc.api.nn.activations import relu
from flowc.dtypes import DType
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


def bias_add(
    value: Any, bias: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """A vector [channels], of the dtype of `value`, added along the channels: the last dimension,
    or the second where `data_format` is `NC...`. Raises `ValueError` for another length, dtype or
    `data_format`."""
    layout = "NHWC" if data_format is None else data_format
    layout = {"N..C": "NHWC", "NC..": "NCHW"}.get(layout, layout)
    with name_scope(name, "BiasAdd", [value, bias]) as scope:
        x = as_tensor(value, name="input")
        b = as_tensor(bias, x.dtype, name="bias")
        return output("BiasAdd", x, b, data_format=layout, name=scope)


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """`matmul(x, weights) + biases`, of [batch, in], [in, out] and [out]. Raises as `matmul` and
    `bias_add`."""
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        product = output("MatMul", as_tensor(x, name="x"), as_tensor(weights, name="weights"))
        return bias_add(product, as_tensor(biases, name="biases"), name=scope)


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """`relu(matmul(x, weights) + biases)`. Raises `TypeError` where the dtypes differ, `ValueError`
    for shapes that do not fit."""
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
    """(mean, variance) over `axes` (None: all), which are gone from the two, or of size 1 with
    `keepdims`. `shift` has no effect. Raises as `reduce_mean`."""
    keep = bool(one_of(keepdims, "keepdims", keep_dims, "keep_dims"))
    with name_scope(name, "moments", [x]):
        value = as_tensor(x, name="x")
        half = value.base_dtype is dtypes.f16
        y = cast(value, dtypes.f32) if half else value
        mean = reduce_mean(y, axes, True, name="mean")
        spread = elementwise.squared_difference(y, output("StopGradient", mean))
        variance = reduce_mean(spread, axes, True, name="variance")
        if not keep:
            rest = None if axes is None else [int(a) for a in np.ravel(axes)]
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
    """`(x - mean) / sqrt(variance + variance_epsilon) * scale + offset`, of floats that broadcast
    to `x`; `scale` and `offset` may be None. Raises `TypeError` for other dtypes, `ValueError` for
    shapes that do not broadcast."""
    with name_scope(name, "batchnorm", [x, mean, variance]):
        value = as_tensor(x)
        factor = elementwise.rsqrt(as_tensor(variance) + variance_epsilon)
        if scale is not None:
            factor = factor * scale
        scaled = value * cast(factor, value.dtype)
        shift = -mean * factor if offset is None else offset - mean * factor
        return scaled + cast(shift, value.dtype)


def batch_norm_with_global_normalization(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: Any = None,
    variance_epsilon: Any = None,
    scale_after_normalization: bool | None = None,
    name: str | None = None,
    input: Any = None,
    mean: Any = None,
    variance: Any = None,
) -> Tensor:
    """`batch_normalization`, under the names that it had first. Raises as it does."""
    x, middle = one_of(t, "t", input, "input"), one_of(m, "m", mean, "mean")
    spread = one_of(v, "v", variance, "variance")
    scale = gamma if scale_after_normalization else None
    return batch_normalization(x, middle, spread, beta, scale, variance_epsilon, name)


def sufficient_statistics(
    x: Any,
    axes: Any,
    shift: Any = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """(how many elements, their sum, the sum of their squares, the shift) over `axes`, of `x` less
    the shift. `x`: floats. Raises `TypeError` for other dtypes, `IndexError` for an axis out of
    range."""
    keep = bool(one_of(keepdims, "keepdims", keep_dims, "keep_dims"))
    chosen = sorted({int(a) for a in np.ravel(axes)})
    with name_scope(name, "sufficient_statistics", [x, shift]):
        value = as_tensor(x, name="x")
        sizes: list[Any] = [
            None if value.shape.ndims is None else value.shape[a].value for a in chosen
        ]
        if None in sizes:
            lengths = [arrays.shape(value)[a] for a in chosen]
            count = cast(reduce_prod(arrays.stack(lengths)), value.dtype)
        else:
            count = as_tensor(float(np.prod(sizes)), value.dtype, name="count")
        if shift is None:
            moved, squares = value, elementwise.square(value)
        else:
            shift = as_tensor(shift, name="shift")
            moved = elementwise.subtract(value, shift)
            squares = elementwise.squared_difference(value, shift)
        total = reduce_sum(moved, chosen, keep, name="mean_ss")
        return count, total, reduce_sum(squares, chosen, keep, name="var_ss"), shift


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """(mean, variance) of what `sufficient_statistics` gave. Floats of one shape. Raises
    `TypeError` for other dtypes."""
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        share = elementwise.reciprocal(counts, name="divisor")
        moved = elementwise.multiply(mean_ss, share, name="shifted_mean")
        mean = moved if shift is None else elementwise.add(moved, shift, name="mean")
        squares = elementwise.multiply(variance_ss, share)
        return mean, elementwise.subtract(squares, elementwise.square(moved), name="variance")


def weighted_moments(
    x: Any,
    axes: Any,
    frequency_weights: Any,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """(mean, variance) over `axes`, of elements that count as often as their weights, which
    broadcast to `x`, say. The axes are gone from the two, or of size 1 with `keepdims`. Floats.
    Raises `TypeError` for other dtypes, `ValueError` for an axis out of range and shapes that do
    not broadcast."""
    keep = bool(one_of(keepdims, "keepdims", keep_dims, "keep_dims"))
    with name_scope(name, "weighted_moments", [x, frequency_weights]):
        value = as_tensor(x, name="x")
        weights = cast(as_tensor(frequency_weights, name="weights"), value.dtype)
        weights = weights + output("ZerosLike", value)
        total = reduce_sum(weights, axes, True)
        mean = elementwise.divide(reduce_sum(weights * value, axes, True), total)
        spread = weights * elementwise.squared_difference(value, mean)
        variance = elementwise.divide(reduce_sum(spread, axes, True), total)
        if not keep:
            rest = None if axes is None else [int(a) for a in np.ravel(axes)]
            mean, variance = arrays.squeeze(mean, rest), arrays.squeeze(variance, rest)
        return mean, variance


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
    """Batch normalisation of images [batch, height, width, channels] (`data_format` NCHW: channels
    second) as one op: (the result, the mean, the variance), the last two [channels]. `scale` and
    `offset`: float32 [channels]; without `is_training`, `mean` and `variance` too.

    Raises `ValueError` where those are missing, for another rank and other lengths."""
    if (not is_training or exponential_avg_factor != 1.0) and (mean is None or variance is None):
        raise ValueError(
            "Both `mean` and `variance` must be a 1D tensor when `is_training` is False or "
            f"`exponential_avg_factor` != 1.0. Received: `mean` {mean!r} and `variance` "
            f"{variance!r}"
        )
    mean = np.zeros(0, np.float32) if mean is None else mean
    variance = np.zeros(0, np.float32) if variance is None else variance
    epsilon = max(epsilon, 1.001e-5)
    found = call("FusedBatchNormV3", **locals())
    return found[0], found[1], found[2]


def l2_normalize(
    x: Any,
    axis: Any = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: Any = None,
) -> Tensor:
    """`x` divided by its Euclidean norm over `axis` (one, or a list), which counts as no less than
    sqrt(epsilon). Of floats and complex numbers; raises `TypeError` for integers."""
    axis = one_of(axis, "axis", dim, "dim")
    with name_scope(name, "l2_normalize", [x]) as scope:
        value = as_tensor(x, name="x")
        if value.base_dtype is not None and value.base_dtype.is_complex:
            parts = elementwise.real(value), elementwise.imag(value)
            real, imaginary = (elementwise.square(part) for part in parts)
            total = reduce_sum(elementwise.add(real, imaginary), axis, True)
            factor = elementwise.rsqrt(elementwise.maximum(total, epsilon))
            real, imaginary = (elementwise.multiply(part, factor) for part in parts)
            return elementwise.complex(real, imaginary, name=scope)
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
    """Local response normalisation of floats [batch, height, width, channels] across channels: `x /
    (bias + alpha * s) ** beta`, where s is the sum of the squares of the channels at most
    `depth_radius` away. Raises `ValueError` for another rank."""
    return output("LRN", **locals())


local_response_normalization = lrn


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """The share of elements that are zero, a float32 scalar. `value`: numbers of any shape. Raises
    `TypeError` for other dtypes."""
    with name_scope(name, "zero_fraction", [value]):
        x = as_tensor(value, name="value")
        count = arrays.size(x, out_type=dtypes.i64)
        found = cond(
            count <= dtypes.i32.max,
            lambda: cast(_nonzero(x, dtypes.i32), dtypes.i64),
            lambda: _nonzero(x, dtypes.i64),
        )
        with name_scope("counts_to_fraction"):
            share = cast(count - found, dtypes.f32) / cast(count, dtypes.f32)
        return identity(share, name="fraction")


def _nonzero(x: Tensor, dtype: DType) -> Tensor:
    """How many elements are not zero."""
    with name_scope("count_nonzero", values=[x]):
        found = elementwise.not_equal(x, zeros([], x.dtype))
        return reduce_sum(cast(found, dtype), name="nonzero_count")
