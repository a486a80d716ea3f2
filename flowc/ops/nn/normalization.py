"""Batch normalization in all its versions, and local response normalization.

In: activations, and one scale, offset, mean and variance a channel. Out: records that decompose
into elementwise ops and reductions, so that fusion and constant folding see through them.
Invariant: everything is computed in f32, also for f16 and bf16 activations and statistics; an
inference-time normalization is one multiplication and one addition an element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.dims import Dim, maximum, product
from flowc.ir.inference import Inference
from flowc.ir.layout import layout_of
from flowc.ir.lowering import Decompose
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.math.elementwise import widened
from flowc.ops.nn.bias import per_channel, per_channel_array

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

_STATISTICS = ("scale", "offset", "estimated mean", "estimated variance")


# -- FusedBatchNorm


def infer_batch_norm(c: Inference) -> list[Dims]:
    """The dims of y and of the statistics, and of the third reserve space where there is one."""
    data_format, dims = c.attrs["data_format"], c.dims(0)
    if len(dims) != len(data_format):
        raise c.fail(f"input must be {len(data_format)}-dimensional{shown_dims(dims)}")
    channels = dims[layout_of(data_format).channel_axis(len(dims))]
    own = c.attrs["is_training"] and c.attrs["exponential_avg_factor"] == 1.0
    for i, name in enumerate(_STATISTICS, 1):
        given = c.dims(i)
        if len(given) != 1:
            raise c.fail(f"{name} must be 1-dimensional{shown_dims(given)}")
        if own and i > 2 and given == (0,):
            continue
        fault = (
            f"{name} must have the same number of elements as the channels of x, "
            f"got {given[0]} and {channels}"
        )
        channels = c.equal(channels, given[0], fault)
    outputs: list[Dims] = [dims, *[(channels,)] * 4]
    if len(c.op.signature.outputs) == 6:
        outputs.append(reserve_dims(c.inputs[0].dtype, len(dims)))
    return outputs


def reserve_dims(dtype: DType, rank: int) -> tuple[int, ...]:
    """The third reserve space, which only GPU kernels use: TensorFlow's CPU kernels leave it empty
    or make it a scalar 0."""
    return (0,) if rank == 4 and dtype is not dtypes.f16 else ()


def _normalize(b: Builder, inputs: Sequence[Value], attrs: Any) -> tuple[Value, ...]:
    """y, batch_mean, batch_variance and the two reserve spaces of a FusedBatchNorm."""
    x, scale, offset, mean, variance = (_cast(b, v, dtypes.f32) for v in inputs)
    build = _build_training if attrs["is_training"] else _build_inference
    y, *statistics = build(b, x, scale, offset, mean, variance, attrs)
    own = (_cast(b, v, inputs[1].type.dtype) for v in statistics)
    return _cast(b, y, inputs[0].type.dtype), *own


def _cast(b: Builder, value: Value, dtype: DType) -> Value:
    return value if value.type.dtype is dtype else b.cast(value, DstT=dtype)


def _build_inference(
    b: Builder, x: Value, scale: Value, offset: Value, mean: Value, variance: Value, attrs: Any
) -> tuple[Value, ...]:
    y = normalize_by(b, x, scale, offset, mean, variance, attrs["epsilon"], attrs["data_format"])
    return y, mean, variance, mean, variance


def normalize_by(
    b: Builder,
    x: Value,
    scale: Value,
    offset: Value,
    mean: Value,
    variance: Value,
    epsilon: float,
    data_format: str,
) -> Value:
    """One multiplication and one addition an element, of statistics that are known."""
    factor = b.mul(b.rsqrt(b.add(variance, epsilon)), scale)
    shift = b.sub(offset, b.mul(mean, factor))
    scaled = b.mul(x, per_channel(b, factor, data_format, x.type.rank))
    return b.add(scaled, per_channel(b, shift, data_format, x.type.rank))


def _build_training(
    b: Builder, x: Value, scale: Value, offset: Value, mean: Value, variance: Value, attrs: Any
) -> tuple[Value, ...]:
    data_format, rank = attrs["data_format"], x.type.rank
    at = layout_of(data_format).channel_axis(rank)
    axes = np.array([i for i in range(rank) if i != at], np.int32)
    spread = lambda value: per_channel(b, value, data_format, rank)
    batch_mean = b.mean(x, axes)
    centered = b.sub(x, spread(batch_mean))
    batch_variance = b.mean(b.mul(centered, centered), axes)
    factor = b.mul(b.rsqrt(b.add(batch_variance, attrs["epsilon"])), scale)
    y = b.add(b.mul(centered, spread(factor)), spread(offset))

    count = product(d for i, d in enumerate(x.dims) if i != at)
    unbiased = b.mul(
        batch_variance, b.real_div(_number(b, count), _number(b, maximum(count - 1, 1)))
    )
    momentum = attrs["exponential_avg_factor"]
    if momentum == 1.0:
        return y, batch_mean, unbiased, batch_mean, batch_variance
    blend = lambda old, new: b.add(b.mul(old, 1.0 - momentum), b.mul(new, momentum))
    return y, blend(mean, batch_mean), blend(variance, unbiased), batch_mean, batch_variance


def _number(b: Builder, size: Dim) -> Value:
    """A size as an f32 scalar."""
    return b.reshape(b.cast(b.sizes((size,)), DstT=dtypes.f32), ())


def build_batch_norm(b: Builder, node: Node) -> Sequence[Value]:
    """The outputs of a FusedBatchNorm. FusedBatchNormV3 has one more, `reserve_space_3`: zeros."""
    outputs = _normalize(b, node.inputs[:5], node.attrs)
    if len(node.outputs) == 5:
        return outputs
    reserve = node.outputs[5].type
    return [*outputs, b.const(np.zeros(reserve.static_dims, reserve.dtype.numpy))]


def _batch_norm_gradient(b: GradientBuilder, node: Forward, dy: Any, *_: Any) -> Any:
    """The statistics' outputs feed moving averages, through which no gradient flows."""
    x, scale = node.inputs[:2]
    kept = {n: node.attrs[n] for n in ("epsilon", "data_format", "is_training")}
    saved = node.outputs[3:]
    grad = {5: b.fused_batch_norm_grad_v2, 6: b.fused_batch_norm_grad}[len(node.outputs)]
    return grad(dy, x, scale, *saved, **kept)[:3]


def normalize_arrays(*inputs: np.ndarray, **attrs: Any) -> list[np.ndarray]:
    """The NumPy reference of FusedBatchNorm: its five outputs."""
    x, scale, *_ = inputs
    y, *statistics = _normalized(*map(widened, inputs), **attrs)
    return [y.astype(x.dtype), *(v.astype(scale.dtype) for v in statistics)]


def _normalized(
    x: np.ndarray,
    scale: np.ndarray,
    offset: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    *,
    epsilon: float,
    exponential_avg_factor: float,
    data_format: str,
    is_training: bool,
    **_rest: Any,
) -> list[np.ndarray]:
    spread = lambda values: per_channel_array(values, data_format, x.ndim)
    at = layout_of(data_format).channel_axis(x.ndim)
    axes = tuple(i for i in range(x.ndim) if i != at)
    number = scale.dtype.type
    with np.errstate(all="ignore"):
        if not is_training:
            factor = scale / np.sqrt(variance + number(epsilon))
            y = (x - spread(mean)) * spread(factor) + spread(offset)
            return [y, mean, variance, mean, variance]
        own_mean = x.mean(axis=axes, dtype=np.float64).astype(number)
        centered = x - spread(own_mean)
        own_variance = (centered * centered).mean(axis=axes, dtype=np.float64).astype(number)
        y = centered * spread(scale / np.sqrt(own_variance + number(epsilon))) + spread(offset)
        count = x.size // max(x.shape[at], 1)
        unbiased = own_variance * number(count / max(count - 1, 1))
        new_mean, new_variance = own_mean, unbiased
        if exponential_avg_factor != 1.0:
            kept, momentum = number(1 - exponential_avg_factor), number(exponential_avg_factor)
            new_mean = mean * kept + own_mean * momentum
            new_variance = variance * kept + unbiased * momentum
        return [y, new_mean, new_variance, own_mean, own_variance]


def arrays_with_reserve(
    x: np.ndarray, scale: np.ndarray, *statistics: np.ndarray, **attrs: Any
) -> list[np.ndarray]:
    """`normalize_arrays` with the third reserve space."""
    found = normalize_arrays(x, scale, *statistics, **attrs)
    dims = reserve_dims(dtypes.as_dtype(x.dtype), x.ndim)
    return [*found, np.zeros(dims, scale.dtype)]


BATCH_NORM_ATTRS = (
    "epsilon: float = 0.0001, exponential_avg_factor: float = 1.0,"
    ' data_format: {"NHWC", "NCHW"} = "NHWC", is_training: bool = True'
)


def _signature(tf_name: str, types: str, statistic: str, reserves: int) -> str:
    attrs = BATCH_NORM_ATTRS
    if reserves == 3:
        attrs = attrs.replace('"NCHW"}', '"NCHW", "NDHWC", "NCDHW"}')
    inputs = ", ".join(f"{n}: {statistic}" for n in ("scale", "offset", "mean", "variance"))
    outputs = ", ".join(
        f"{n}: {statistic}"
        for n in (
            "batch_mean",
            "batch_variance",
            *(f"reserve_space_{i + 1}" for i in range(reserves)),
        )
    )
    return f"{tf_name}(x: T, {inputs}; {types}, {attrs}) -> (y: T, {outputs})"


# TensorFlow's CPU kernel leaves the reserve spaces of an f16 inference uninitialised, so that there
# is nothing to compare them with.
_INFERENCE = (
    "f32[2,3,4,5] f32[5] f32[5] f32[5] f32[5]~positive; is_training=False, epsilon=0.001",
    'f32[2,3,4,1] f32[3] f32[3] f32[3] f32[3]~positive; is_training=False, data_format="NCHW"',
    "f32[1,1,1,17] f32[17] f32[17] f32[17] f32[17]~positive; is_training=False",
)
_TRAINING = (
    "T[2,3,4,5] f32[5] f32[5] f32[5] f32[5]~positive",
    'T[2,3,4,2] f32[3] f32[3] f32[0] f32[0]; data_format="NCHW"',
    "T[2,3,2,3] f32[3] f32[3] f32[3] f32[3]~positive; exponential_avg_factor=0.3",
)
_VOLUMES = ('f32[1,2,3,4,5] f32[5] f32[5] f32[5] f32[5]~positive; data_format="NDHWC"',)

for _name, _tf_name, _types, _statistic, _reserves in (
    ("fused_batch_norm_v1", "FusedBatchNorm", "T: {f32}", "T", 2),
    ("fused_batch_norm_v2", "FusedBatchNormV2", "T: {f16, bf16, f32}, U: {f32}", "U", 2),
    ("fused_batch_norm", "FusedBatchNormV3", "T: {f16, bf16, f32}, U: {bf16, f32}", "U", 3),
):
    define(
        _name,
        _signature(_tf_name, _types, _statistic, _reserves),
        infer=infer_batch_norm,
        lowering=Decompose(build_batch_norm),
        reference=arrays_with_reserve if _reserves == 3 else normalize_arrays,
        gradient=_batch_norm_gradient,
        examples=(*_INFERENCE, *_TRAINING, *(_VOLUMES if _reserves == 3 else ())),
    )


# -- BatchNormWithGlobalNormalization


def _infer_global(c: Inference) -> Dims:
    c.need_rank(0, 4, f"input must be 4-dimensional{shown_dims(c.dims(0))}")
    *rest, channels = c.dims(0)
    for i, name in enumerate(("mean", "var", "beta", "gamma"), 1):
        if c.rank(i) != 1:
            raise c.fail(f"{name} must be 1-dimensional{shown_dims(c.dims(i))}")
        channels = c.equal(channels, c.dims(i)[0])
    return (*rest, channels)


def _build_global(b: Builder, node: Node) -> Value:
    x, mean, variance, beta, gamma = node.inputs
    factor = b.rsqrt(b.add(variance, node.attrs["variance_epsilon"]))
    if node.attrs["scale_after_normalization"]:
        factor = b.mul(factor, gamma)
    return b.add(b.mul(x, factor), b.sub(beta, b.mul(mean, factor)))


def _global(
    t: np.ndarray,
    m: np.ndarray,
    v: np.ndarray,
    beta: np.ndarray,
    gamma: np.ndarray,
    *,
    variance_epsilon: float,
    scale_after_normalization: bool,
) -> np.ndarray:
    with np.errstate(all="ignore"):
        factor = np.asarray(1, t.dtype) / np.sqrt(v + np.asarray(variance_epsilon, t.dtype))
        if scale_after_normalization:
            factor = factor * gamma
        return (t - m) * factor + beta


batch_norm_with_global_normalization = define(
    "batch_norm_with_global_normalization",
    "BatchNormWithGlobalNormalization(t: T, m: T, v: T, beta: T, gamma: T; T: FLOAT,"
    " variance_epsilon: float, scale_after_normalization: bool) -> result: T",
    infer=_infer_global,
    lowering=Decompose(_build_global),
    reference=_global,
    gradient=lambda b, node, dy: b.with_attrs_of(
        node, "batch_norm_with_global_normalization_grad", *node.inputs[:3], node.inputs[4], dy
    ),
    examples=(
        "T[2,3,4,5] T[5] T[5]~positive T[5] T[5]; variance_epsilon=0.0009765625,"
        " scale_after_normalization=True",
        "T[1,2,2,3] T[3] T[3]~positive T[3] T[3]; variance_epsilon=0.0078125,"
        " scale_after_normalization=False",
    ),
)


def _infer_global_grad(c: Inference) -> list[Dims]:
    dims = c.dims(0)
    c.need_rank(0, 4, f"input must be 4-dimensional{shown_dims(dims)}")
    for i, name in enumerate(("mean", "var", "gamma"), 1):
        if c.rank(i) != 1:
            raise c.fail(f"{name} must be 1-dimensional{shown_dims(c.dims(i))}")
        c.equal(dims[3], c.dims(i)[0])
    c.match_dims(dims, c.dims(4), "backprop must have the shape of the input")
    return [dims, *[(dims[3],)] * 4]


def _build_global_grad(b: Builder, node: Node) -> Sequence[Value]:
    x, mean, variance, gamma, dy = node.inputs
    axes = np.arange(3, dtype=np.int32)
    scales = node.attrs["scale_after_normalization"]
    inverse = b.rsqrt(b.add(variance, node.attrs["variance_epsilon"]))
    factor = b.mul(inverse, gamma) if scales else inverse
    along = b.sum(b.mul(dy, b.sub(x, mean)), axes)
    d_beta = b.sum(dy, axes)
    d_variance = b.mul(b.mul(along, b.mul(factor, b.square(inverse))), -0.5)
    d_gamma = b.mul(along, inverse) if scales else b.zeros_like(gamma)
    return b.mul(dy, factor), b.neg(b.mul(d_beta, factor)), d_variance, d_beta, d_gamma


def _global_grad(
    t: np.ndarray,
    m: np.ndarray,
    v: np.ndarray,
    gamma: np.ndarray,
    backprop: np.ndarray,
    *,
    variance_epsilon: float,
    scale_after_normalization: bool,
) -> list[np.ndarray]:
    x, dy, axes = t.astype(np.float64), backprop.astype(np.float64), (0, 1, 2)
    inverse = 1 / np.sqrt(v.astype(np.float64) + variance_epsilon)
    factor = inverse * gamma if scale_after_normalization else inverse
    along, d_beta = (dy * (x - m)).sum(axes), dy.sum(axes)
    d_gamma = along * inverse if scale_after_normalization else np.zeros_like(along)
    found = [dy * factor, -d_beta * factor, -0.5 * along * factor * inverse**2, d_beta, d_gamma]
    return [a.astype(t.dtype) for a in found]


batch_norm_with_global_normalization_grad = define(
    "batch_norm_with_global_normalization_grad",
    "BatchNormWithGlobalNormalizationGrad(t: T, m: T, v: T, gamma: T, backprop: T; T: FLOAT,"
    " variance_epsilon: float, scale_after_normalization: bool)"
    " -> (dx: T, dm: T, dv: T, db: T, dg: T)",
    infer=_infer_global_grad,
    lowering=Decompose(_build_global_grad),
    reference=_global_grad,
    examples=(
        "T[2,3,4,5] T[5] T[5]~positive T[5] T[2,3,4,5]; variance_epsilon=0.0009765625,"
        " scale_after_normalization=True",
        "f32[1,2,2,3] f32[3] f32[3]~positive f32[3] f32[1,2,2,3]; variance_epsilon=0.0078125,"
        " scale_after_normalization=False",
    ),
)
