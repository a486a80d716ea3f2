"""Ops that graph rewriters make of a contraction and what follows it: _FusedConv2D,
_FusedDepthwiseConv2dNative, _FusedMatMul, _FusedBatchNormEx.

In: a contraction's operands, and the extra operands of the ops named by `fused_ops`. Out: records
that decompose into the ops that were fused. Invariant: `fused_ops` are applied in order, each
taking its operands from the front of what is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.ir.inference import Inference
from flowc.ir.layout import layout_of
from flowc.ir.lowering import Decompose
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.linalg.matmul import infer_matmul, matmul_array
from flowc.ops.math.elementwise import HALVES
from flowc.ops.nn.bias import per_channel_array
from flowc.ops.nn.convolution import (
    convolution_array,
    depthwise_array,
    infer_convolution,
)
from flowc.ops.nn.normalization import (
    arrays_with_reserve,
    build_batch_norm,
    infer_batch_norm,
    normalize_by,
)

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

# How many extra operands each fused op takes.
OPERANDS = {
    "BiasAdd": 1,
    "FusedBatchNorm": 4,
    "Add": 1,
    "Prelu": 1,
    "Relu": 0,
    "Relu6": 0,
    "Elu": 0,
    "LeakyRelu": 0,
    "Tanh": 0,
    "Sigmoid": 0,
    "GeluExact": 0,
    "GeluApproximate": 0,
}


def _check(c: Inference, dims: Dims) -> Dims:
    """Checks the fused ops and their operands against the contraction's dims."""
    fused = c.attrs["fused_ops"]
    unknown = [name for name in fused if name not in OPERANDS]
    if unknown:
        raise c.fail(f"Fusion is not implemented: [{','.join(fused)}]")
    found, expected = len(c.inputs) - 2, sum(OPERANDS[name] for name in fused)
    if found != expected:
        raise c.fail(f"[{','.join(fused)}] takes {expected} more operands, found {found}")
    data_format = c.attrs.get("data_format", "NHWC")
    channels = dims[layout_of(data_format).channel_axis(len(dims))]
    at = 2
    for name in fused:
        for i in range(at, at + OPERANDS[name]):
            if name in ("BiasAdd", "FusedBatchNorm"):
                if c.rank(i) != 1:
                    raise c.fail(f"bias must be 1-dimensional{shown_dims(c.dims(i))}")
                c.equal(channels, c.dims(i)[0])
            else:
                c.broadcast_dims(dims, c.dims(i))
        at += OPERANDS[name]
    return dims


# -- the ops that follow, built


def _follow(b: Builder, y: Value, extra: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    left = list(extra)
    for name in attrs["fused_ops"]:
        operands, left = left[: OPERANDS[name]], left[OPERANDS[name] :]
        y = _FOLLOWERS[name](b, y, operands, attrs)
    return y


def _bias(b: Builder, y: Value, operands: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    return b.bias_add(y, operands[0], data_format=attrs.get("data_format", "NHWC"))


def _norm(b: Builder, y: Value, operands: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    data_format = attrs.get("data_format", "NHWC")
    epsilon = float(np.float32(attrs["epsilon"]))
    scale, offset, mean, variance = operands
    return normalize_by(b, y, scale, offset, mean, variance, epsilon, data_format)


def _prelu(b: Builder, y: Value, operands: Sequence[Value], _: Mapping[str, Any]) -> Value:
    negative = b.mul(operands[0], b.sub(y, b.relu(y)))
    return b.add(b.relu(y), negative)


def _gelu_exact(b: Builder, y: Value, _: Sequence[Value], __: Mapping[str, Any]) -> Value:
    return b.mul(b.mul(y, 0.5), b.add(b.erf(b.mul(y, math.sqrt(0.5))), 1.0))


def _gelu_approximate(b: Builder, y: Value, _: Sequence[Value], __: Mapping[str, Any]) -> Value:
    cube = b.mul(b.mul(y, b.mul(y, y)), 0.044715)
    inner = b.mul(b.add(y, cube), math.sqrt(2 / math.pi))
    return b.mul(b.mul(y, 0.5), b.add(b.tanh(inner), 1.0))


Follower = Callable[["Builder", "Value", Sequence["Value"], Mapping[str, Any]], "Value"]
_FOLLOWERS: dict[str, Follower] = {
    "BiasAdd": _bias,
    "FusedBatchNorm": _norm,
    "Add": lambda b, y, operands, _: b.add(y, operands[0]),
    "Prelu": _prelu,
    "Relu": lambda b, y, *_: b.relu(y),
    "Relu6": lambda b, y, *_: b.relu6(y),
    "Elu": lambda b, y, *_: b.elu(y),
    "LeakyRelu": lambda b, y, _, attrs: b.leaky_relu(y, alpha=attrs["leakyrelu_alpha"]),
    "Tanh": lambda b, y, *_: b.tanh(y),
    "Sigmoid": lambda b, y, *_: b.sigmoid(y),
    "GeluExact": _gelu_exact,
    "GeluApproximate": _gelu_approximate,
}


# -- the ops that follow, in NumPy


def _follow_array(
    y: np.ndarray, extra: Sequence[np.ndarray], attrs: Mapping[str, Any]
) -> np.ndarray:
    dtype = y.dtype
    wide = np.float32 if dtype in HALVES else dtype
    left = [x.astype(wide) for x in extra]
    with np.errstate(all="ignore"):
        for name in attrs["fused_ops"]:
            operands, left = left[: OPERANDS[name]], left[OPERANDS[name] :]
            y = _apply_array(name, y.astype(wide), operands, attrs).astype(dtype)
    return y


def _apply_array(
    name: str, y: np.ndarray, operands: Sequence[np.ndarray], attrs: Mapping[str, Any]
) -> np.ndarray:
    spread = lambda v: per_channel_array(v, attrs.get("data_format", "NHWC"), y.ndim)
    match name:
        case "BiasAdd":
            return y + spread(operands[0])
        case "Add":
            return y + operands[0]
        case "FusedBatchNorm":
            scale, offset, mean, variance = (spread(v) for v in operands)
            epsilon = y.dtype.type(np.float32(attrs["epsilon"]))
            return (y - mean) * (scale / np.sqrt(variance + epsilon)) + offset
        case "Prelu":
            return np.where(y < 0, y * operands[0], y)
        case "Relu":
            return np.maximum(y, 0)
        case "Relu6":
            return np.clip(y, 0, 6)
        case "Elu":
            return np.where(y < 0, np.expm1(y), y)
        case "LeakyRelu":
            return np.where(y < 0, y * y.dtype.type(np.float32(attrs["leakyrelu_alpha"])), y)
        case "Tanh":
            return np.tanh(y)
        case "Sigmoid":
            return 1 / (1 + np.exp(-y))
        case "GeluExact":
            erf = np.vectorize(math.erf, otypes=[np.float64])
            return y * 0.5 * (1 + erf(y * math.sqrt(0.5)))
        case _:
            return y * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)))


# -- contractions and what follows them

_CONTRACTION_ATTRS = (
    *("strides", "padding", "explicit_paddings", "data_format", "dilations"),
    *("transpose_a", "transpose_b"),
)
_FUSED_ATTRS = "fused_ops: list(string) = [], epsilon: float = 0.0001, leakyrelu_alpha: float = 0.2"


def _contracted(name: str) -> Decompose:
    """The contraction of that name, and what follows it."""

    def build(b: Builder, node: Node) -> Value:
        x, w, *extra = node.inputs
        attrs = {n: node.attrs[n] for n in _CONTRACTION_ATTRS if n in node.attrs}
        return _follow(b, getattr(b, name)(x, w, **attrs), extra, node.attrs)

    return Decompose(build)


def _contracted_array(contract: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def reference(x: np.ndarray, w: np.ndarray, args: list[np.ndarray], **attrs: Any) -> np.ndarray:
        return _follow_array(contract(x, w, **attrs), args, attrs)

    return reference


# Newer graphs also name the operands' types (TArgs) and say how many operands stand in host memory,
# which is none on a CPU.
fused_conv2d = define(
    "fused_conv2d",
    "_FusedConv2D(input: T, filter: T, args: num_args*T; T: {f16, bf16, f32, f64},"
    " num_args: int >= 0, TArgs: list(type) = [], num_host_args: int = 0, strides: list(int),"
    ' padding: {"SAME", "VALID", "EXPLICIT"}, explicit_paddings: list(int) = [],'
    ' data_format: {"NHWC", "NCHW"} = "NHWC", filter_format: {"HWIO"} = "HWIO",'
    " dilations: list(int) = [1, 1, 1, 1], use_cudnn_on_gpu: bool = True,"
    f" {_FUSED_ATTRS}) -> output: T",
    infer=lambda c: _check(c, infer_convolution(c, 4)),
    lowering=_contracted("conv2d"),
    reference=_contracted_array(convolution_array),
    examples=(
        'f32[1,5,6,3] f32[3,3,3,4] f32[4]; num_args=1, strides=[1,1,1,1], padding="SAME",'
        ' fused_ops=["BiasAdd"], TArgs=[f32]',
        'f32[1,5,6,3] f32[3,3,3,4] f32[4]; num_args=1, strides=[1,2,2,1], padding="VALID",'
        ' fused_ops=["BiasAdd","Relu6"], TArgs=[f32]',
        "f32[1,5,5,2] f32[1,1,2,4] f32[4] f32[4] f32[4] f32[4]~positive; num_args=4,"
        ' strides=[1,1,1,1], padding="SAME", fused_ops=["FusedBatchNorm","LeakyRelu"],'
        " TArgs=[f32,f32,f32,f32]",
        "f64[1,5,5,2] f64[1,1,2,4] f64[4] f64[4] f64[4] f64[4]~positive; num_args=4,"
        ' strides=[1,1,1,1], padding="SAME", fused_ops=["FusedBatchNorm","LeakyRelu"],'
        " TArgs=[f64,f64,f64,f64]",
    ),
)
fused_depthwise_conv2d = define(
    "fused_depthwise_conv2d",
    "_FusedDepthwiseConv2dNative(input: T, filter: T, args: num_args*T; T: FLOAT,"
    ' num_args: int >= 0, strides: list(int), padding: {"SAME", "VALID"},'
    ' data_format: {"NHWC", "NCHW"} = "NHWC", dilations: list(int) = [1, 1, 1, 1],'
    f" {_FUSED_ATTRS}) -> output: T",
    infer=lambda c: _check(c, infer_convolution(c, 4, depthwise=True)),
    lowering=_contracted("depthwise_conv2d"),
    reference=_contracted_array(depthwise_array),
    examples=(
        'f32[1,5,6,3] f32[3,3,3,2] f32[6]; num_args=1, strides=[1,1,1,1], padding="SAME",'
        ' fused_ops=["BiasAdd","Relu"]',
        'f32[1,5,6,3] f32[3,3,3,1] f32[3]; num_args=1, strides=[1,2,2,1], padding="SAME",'
        ' fused_ops=["BiasAdd","Elu"]',
    ),
)


def _matmul(
    a: np.ndarray, b: np.ndarray, *, transpose_a: bool, transpose_b: bool, **_: Any
) -> np.ndarray:
    return matmul_array(a, b, transpose_a=transpose_a, transpose_b=transpose_b)


fused_mat_mul = define(
    "fused_mat_mul",
    "_FusedMatMul(a: T, b: T, args: num_args*T; transpose_a: bool = False,"
    " transpose_b: bool = False, T: {bf16, f16, f32}, num_args: int >= 0,"
    f" {_FUSED_ATTRS}) -> product: T",
    infer=lambda c: _check(c, infer_matmul(c, c.attrs["transpose_a"], c.attrs["transpose_b"])),
    lowering=_contracted("mat_mul"),
    reference=_contracted_array(_matmul),
    examples=(
        'f32[2,3] f32[3,4] f32[4]; num_args=1, fused_ops=["BiasAdd"]',
        'f32[3,2] f32[5,3] f32[5]; num_args=1, fused_ops=["BiasAdd","Relu"],'
        " transpose_a=True, transpose_b=True",
        'f32[2,3] f32[3,17] f32[17]; num_args=1, fused_ops=["BiasAdd","Tanh"]',
        'f32[2,3] f32[3,17] f32[17]; num_args=1, fused_ops=["BiasAdd","GeluExact"]',
        'f32[2,3] f32[3,17] f32[17]; num_args=1, fused_ops=["BiasAdd","GeluApproximate"]',
    ),
)


# -- _FusedBatchNormEx


def _infer_batch_norm_ex(c: Inference) -> list[Dims]:
    if c.attrs["activation_mode"] not in ("Identity", "Relu"):
        raise c.fail(f"Unsupported activation mode: {c.attrs['activation_mode']}")
    for i in range(5, len(c.inputs)):
        for x, y in zip(c.dims(0), c.dims(i)):
            c.equal(x, y)
    return infer_batch_norm(c)


def _build_batch_norm_ex(b: Builder, node: Node) -> Sequence[Value]:
    y, *rest = build_batch_norm(b, node)
    for side in node.inputs[5:]:
        y = b.add(y, side)
    if node.attrs["activation_mode"] == "Relu":
        y = b.relu(y)
    return y, *rest


def _batch_norm_ex(*inputs: Any, **attrs: Any) -> list[np.ndarray]:
    *arrays, side_input = inputs
    y, *rest = arrays_with_reserve(*arrays, **attrs)
    for side in side_input:
        y = y + side
    if attrs["activation_mode"] == "Relu":
        y = np.maximum(y, np.zeros((), y.dtype))
    return [y, *rest]


fused_batch_norm_ex = define(
    "fused_batch_norm_ex",
    "_FusedBatchNormEx(x: T, scale: U, offset: U, mean: U, variance: U,"
    " side_input: num_side_inputs*T; T: {f16, bf16, f32}, U: {f32}, epsilon: float = 0.0001,"
    " exponential_avg_factor: float = 1.0, num_side_inputs: int >= 0 = 0,"
    ' activation_mode: string = "Identity", data_format: {"NHWC", "NCHW"} = "NHWC",'
    " is_training: bool = True) -> (y: T, batch_mean: U, batch_variance: U,"
    " reserve_space_1: U, reserve_space_2: U, reserve_space_3: U)",
    infer=_infer_batch_norm_ex,
    lowering=Decompose(_build_batch_norm_ex),
    reference=_batch_norm_ex,
    examples=(
        "f32[2,3,1,4] f32[4] f32[4] f32[4] f32[4]~positive; is_training=False,"
        ' activation_mode="Relu"',
        "f32[2,3,2,4] f32[4] f32[4] f32[4] f32[4]~positive; is_training=False",
    ),
)
