"""Biases, one a channel: BiasAdd, BiasAddV1, BiasAddGrad.

In: a tensor whose channels stand last (NHWC) or second (NCHW, any rank). Out: records that
decompose to an addition that broadcasts, or to a sum. Invariant: a bias has one element a channel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.ir.inference import Inference, unequal
from flowc.ir.layout import layout_of
from flowc.ir.lowering import Decompose
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.reductions.folds import accumulator_of

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value


def per_channel(b: Builder, values: Value, data_format: str, rank: int) -> Value:
    """A vector, one element a channel, shaped so that it broadcasts against the tensor."""
    trailing = rank - 1 - layout_of(data_format).channel_axis(rank)
    return b.reshape(values, (*values.dims, *[1] * trailing)) if trailing else values


def per_channel_array(values: np.ndarray, data_format: str, rank: int) -> np.ndarray:
    """As `per_channel`, for arrays."""
    trailing = rank - 1 - layout_of(data_format).channel_axis(rank)
    return values.reshape(*values.shape, *[1] * trailing)


def _infer_bias_add(c: Inference, data_format: str) -> Dims:
    value, bias = c.dims(0), c.dims(1)
    if data_format == "NCHW" and len(value) < 3:
        raise c.fail(f"Shape must be at least rank 3 but is rank {len(value)}")
    if len(value) < 2:
        raise c.fail(f"Input tensor must be at least 2D: {shown_dims(value)}")
    if len(bias) != 1:
        raise c.fail(f"Biases must be 1D: {shown_dims(bias)}")
    at = layout_of(data_format).channel_axis(len(value))
    channels, biases = value[at], bias[0]
    if isinstance(channels, int) and isinstance(biases, int) and channels != biases:
        where = "last" if at == len(value) - 1 else "channel"
        raise c.fail(
            f"Must provide as many biases as the {where} dimension of the input tensor: "
            f"{shown_dims(bias)} vs. {shown_dims(value)}",
            built=unequal(channels, biases),
        )
    c.equal(value[at], bias[0])
    return value


def _build_bias_add(b: Builder, node: Node) -> Value:
    value, bias = node.inputs
    data_format = node.attrs.get("data_format", "NHWC")
    return b.add(value, per_channel(b, bias, data_format, value.type.rank))


def _bias_add(value: np.ndarray, bias: np.ndarray, *, data_format: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        return value + per_channel_array(bias, data_format, value.ndim)


def _bias_add_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    return dy, b.with_attrs_of(node, "bias_add_grad", dy)


_FORMAT = 'data_format: {"NHWC", "NCHW"} = "NHWC"'

bias_add = define(
    "bias_add",
    f"BiasAdd(value: T, bias: T; T: NUMBER, {_FORMAT}) -> output: T",
    infer=lambda c: _infer_bias_add(c, c.attrs["data_format"]),
    lowering=Decompose(_build_bias_add),
    reference=_bias_add,
    gradient=_bias_add_gradient,
    examples=(
        "T[2,3] T[3]",
        "T[2,5,1,17] T[17]",
        'T[2,3,4] T[3]; data_format="NCHW"',
        'T[1,3,1,2] T[3]; data_format="NCHW"',
        "T[0,3] T[3]",
    ),
)
bias_add_v1 = define(
    "bias_add_v1",
    "BiasAddV1(value: T, bias: T; T: NUMBER) -> output: T",
    infer=lambda c: _infer_bias_add(c, "NHWC"),
    lowering=Decompose(_build_bias_add),
    reference=lambda value, bias: _bias_add(value, bias, data_format="NHWC"),
    gradient=_bias_add_gradient,
    examples=("T[2,3] T[3]", "T[2,1,5] T[5]"),
)


# -- BiasAddGrad


def _infer_bias_add_grad(c: Inference) -> Dims:
    if c.rank(0) < 2:
        raise c.fail(f"Input tensor must be at least 2D: {shown_dims(c.dims(0))}")
    return (c.dims(0)[layout_of(c.attrs["data_format"]).channel_axis(c.rank(0))],)


def _other_axes(data_format: str, rank: int) -> tuple[int, ...]:
    at = layout_of(data_format).channel_axis(rank)
    return tuple(i for i in range(rank) if i != at)


def _build_bias_add_grad(b: Builder, node: Node) -> Value:
    (dy,) = node.inputs
    axes = _other_axes(node.attrs["data_format"], dy.type.rank)
    return b.sum(dy, np.array(axes, np.int32))


def _bias_add_grad(out_backprop: np.ndarray, *, data_format: str) -> np.ndarray:
    wide = out_backprop.astype(accumulator_of(out_backprop.dtype))
    axes = _other_axes(data_format, wide.ndim)
    return wide.sum(axis=axes, dtype=wide.dtype).astype(out_backprop.dtype)


def _grad_gradient(b: GradientBuilder, node: Forward, g: Any) -> Any:
    """To every place of a channel its gradient."""
    x = node.inputs[0]
    others = b.rank_of(x) - 1 - layout_of(node.attrs["data_format"]).channel_axis(b.rank_of(x))
    for _ in range(others):
        g = b.expand_dims(g, np.int32(-1))
    return b.broadcast_to(g, b.shape_of(x))


bias_add_grad = define(
    "bias_add_grad",
    f"BiasAddGrad(out_backprop: T; T: NUMBER, {_FORMAT}) -> output: T",
    infer=_infer_bias_add_grad,
    lowering=Decompose(_build_bias_add_grad),
    reference=_bias_add_grad,
    gradient=_grad_gradient,
    examples=("T[2,3]", "T[2,5,1,7]", 'T[2,3,4]; data_format="NCHW"', "T[0,3]"),
)
