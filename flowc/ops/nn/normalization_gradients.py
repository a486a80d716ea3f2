"""Gradients of batch normalization: FusedBatchNormGrad in its three versions.

In: the gradient of y, x, the scale, and the statistics that the forward op saved. Out: records that
decompose into reductions and elementwise ops. Invariant: the saved variance is the biased one, and
the statistics' own gradients are not part of the outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flowc import dtypes
from flowc.ir.dims import product
from flowc.ir.inference import Inference
from flowc.ir.layout import layout_of
from flowc.ir.lowering import Decompose
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.nn.bias import per_channel, per_channel_array
from flowc.ops.nn.normalization_second_order import second_order

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value


# The two reserve spaces, which only GPU kernels use, are empty on a CPU.
NO_RESERVE = (0,)


def _infer(c: Inference) -> list[Dims]:
    data_format, dims = c.attrs["data_format"], c.dims(1)
    if len(dims) != len(data_format):
        raise c.fail(f"input must be {len(data_format)}-dimensional{shown_dims(dims)}")
    if c.rank(0) != len(dims):
        raise c.fail(
            f"y_backprop and x must have the same shape: {shown_dims(c.dims(0))} vs. "
            f"{shown_dims(dims)}"
        )
    same = tuple(c.equal(a, b) for a, b in zip(dims, c.dims(0)))
    channels = same[layout_of(data_format).channel_axis(len(dims))]
    for i in (2, 3, 4):
        if c.rank(i) != 1:
            raise c.fail(f"statistics must be 1-dimensional{shown_dims(c.dims(i))}")
        channels = c.equal(channels, c.dims(i)[0])
    return [same, (channels,), (channels,), NO_RESERVE, NO_RESERVE]


def _build(b: Builder, node: Node) -> Sequence[Value]:
    dy, x, scale, mean, variance, *_ = node.inputs
    attrs, dtype, rank = node.attrs, x.type.dtype, x.type.rank
    at = layout_of(attrs["data_format"]).channel_axis(rank)
    axes = np.array([i for i in range(rank) if i != at], np.int32)
    spread = lambda value: per_channel(b, value, attrs["data_format"], rank)
    if dtype is not dtypes.f32:
        dy, x = b.cast(dy, DstT=dtypes.f32), b.cast(x, DstT=dtypes.f32)
    inverse = b.rsqrt(b.add(variance, attrs["epsilon"]))
    centered = b.sub(x, spread(mean))
    products = b.mul(dy, centered)
    total, d_offset = b.sum(products, axes), b.sum(dy, axes)
    d_scale = b.mul(total, inverse)
    factor = b.mul(scale, inverse)
    if attrs["is_training"]:
        count = product(d for i, d in enumerate(x.dims) if i != at)

        def mean_of(values: Value, total: Value) -> Value:
            """Of the total that there is, where it is known of how many elements."""
            if isinstance(count, int) and count:
                return b.div(total, np.float32(count))
            return b.mean(values, axes)

        slope = b.mul(mean_of(products, total), b.mul(inverse, inverse))
        dy = b.sub(b.sub(dy, spread(mean_of(dy, d_offset))), b.mul(centered, spread(slope)))
    dx = b.mul(dy, spread(factor))
    if dtype is not dtypes.f32:
        dx = b.cast(dx, DstT=dtype)
    reserve = node.outputs[3].type
    nothing = b.const(np.zeros(reserve.static_dims, reserve.dtype.numpy))
    return dx, d_scale, d_offset, nothing, nothing


def _gradients(
    dy: np.ndarray,
    x: np.ndarray,
    scale: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    *_: np.ndarray,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> list[np.ndarray]:
    at = layout_of(data_format).channel_axis(x.ndim)
    axes = tuple(i for i in range(x.ndim) if i != at)
    spread = lambda values: per_channel_array(values, data_format, x.ndim)
    with np.errstate(all="ignore"):
        dy = dy.astype(np.float64)
        inverse = 1 / np.sqrt(variance.astype(np.float64) + epsilon)
        centered = x.astype(np.float64) - spread(mean)
        d_scale = (dy * centered).sum(axis=axes) * inverse
        d_offset = dy.sum(axis=axes)
        dx = dy
        if is_training:
            slope = (dy * centered).mean(axis=axes) * inverse * inverse
            dx = dy - spread(dy.mean(axis=axes)) - centered * spread(slope)
        dx = dx * spread(scale * inverse)
    nothing = np.zeros(NO_RESERVE, scale.dtype)
    found = [dx.astype(x.dtype), d_scale.astype(scale.dtype), d_offset.astype(scale.dtype)]
    return [*found, nothing, nothing.copy()]


_ATTRS = 'epsilon: float = 0.0001, data_format: {"NHWC", "NCHW"} = "NHWC", is_training: bool = True'
_EXAMPLES = (
    "T[2,3,2,4] T[2,3,2,4] f32[4] f32[4] f32[4]~positive",
    "T[2,3,2,4] T[2,3,2,4] f32[4] f32[4] f32[4]~positive; is_training=False",
    'f32[2,4,2,3] f32[2,4,2,3] f32[4] f32[4] f32[4]~positive; data_format="NCHW"',
)

_HALVES = "T: {f16, bf16, f32}, U: {f32}"
_VOLUMES = _ATTRS.replace('"NCHW"}', '"NCHW", "NDHWC", "NCDHW"}')

# The last version takes one reserve space more.
for _name, _tf_name, _scale, _saved, _attrs, _examples in (
    ("fused_batch_norm_grad_v1", "FusedBatchNormGrad", "T", 2, f"T: {{f32}}, {_ATTRS}", _EXAMPLES),
    (
        "fused_batch_norm_grad_v2",
        "FusedBatchNormGradV2",
        "f32",
        2,
        f"{_HALVES}, {_ATTRS}",
        _EXAMPLES,
    ),
    (
        "fused_batch_norm_grad",
        "FusedBatchNormGradV3",
        "f32",
        3,
        f"{_HALVES}, {_VOLUMES}",
        (
            *(e.replace("~positive", "~positive f32[0]") for e in _EXAMPLES),
            "f32[2,1,2,3,4] f32[2,1,2,3,4] f32[4] f32[4] f32[4]~positive f32[0];"
            ' data_format="NDHWC"',
        ),
    ),
):
    _kind = "T" if _scale == "T" else "U"
    _reserves = [f"reserve_space_{i + 1}: {_kind}" for i in range(_saved + 2)]
    define(
        _name,
        f"{_tf_name}(y_backprop: T, x: T, scale: {_scale}, {', '.join(_reserves[:_saved])};"
        f" {_attrs}) -> (x_backprop: T, scale_backprop: {_kind}, offset_backprop: {_kind},"
        f" {', '.join(_reserves[_saved:])})",
        infer=_infer,
        lowering=Decompose(_build),
        reference=_gradients,
        gradient=second_order,
        examples=_examples,
    )
