"""Normalisation of quantised images: by statistics that are given, and by those of each image.

In: 8-bit images, channels last, with the range of everything that is given. Out: quantised images
and their range. Invariant: statistics are one number a channel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.quantization.conversions import from_steps, to_steps, vector_to_steps
from flowc.ops.quantization.definition import define_formula, need_scalars, ranged

_REACH = float(1 << 20)  # what 32 bits hold beside 10 or so behind the point
_GIVEN = ("t", "m", "v", "beta", "gamma")
Attrs = Mapping[str, Any]


def _infer_batch_norm(c: Inference) -> list[Dims]:
    c.need_rank(0, 4, "input must be 4-dimensional")
    for i, name in enumerate(("input", "mean", "var", "beta", "gamma")):
        need_scalars(c, 3 * i + 1, 3 * i + 3)
        if i:
            c.need_rank(3 * i, 1, f"{name} must be 1-dimensional")
            c.equal(c.dims(0)[3], c.dims(3 * i)[0])
    return ranged(c.dims(0))


def _batch_norm(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    """Batch normalization in integers: x * scale + offset. The scale and offset of each channel are
    computed in f32 and quantized."""
    kind = dtypes.i32
    ends = k.const(-_REACH, dtypes.f32), k.const(_REACH, dtypes.f32)
    x, mean, variance, beta, gamma = (from_steps(k, *operands[3 * i : 3 * i + 3]) for i in range(5))
    scale = 1.0 / k.sqrt(variance + float(np.float32(attrs["variance_epsilon"])))
    if attrs["scale_after_normalization"]:
        scale = scale * gamma
    offset = -mean * scale + beta
    one = to_steps(k, k.const(1, dtypes.f32), *ends, kind)
    x, scale, offset = (to_steps(k, v, *ends, kind) for v in (x, scale, offset))
    return k.truncated_quotient(x * scale, one) + offset, *ends


def _infer_instance_norm(c: Inference) -> list[Dims]:
    attrs = c.attrs
    c.need_rank(0, 4)
    for i, name in ((1, "x_min"), (2, "x_max")):
        c.need_rank(i, 0, f"`{name}` must be rank 0 but is rank {c.rank(i)}")
    least, most = attrs["given_y_min"], attrs["given_y_max"]
    if attrs["output_range_given"] and not least < most:
        raise c.fail(f"given_y_min must be less than given_y_max : {least:g} >= {most:g}")
    return ranged(c.dims(0))


def _instance_norm(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    x, low, high = operands
    low = k.ordered(low, high, "input_min must be less than input_max", True)
    step = (high - low) / 255.0
    wide = k.cast(x, dtypes.f32)
    away = (wide - k.mean(wide, (1, 2))) * step
    variance = k.mean(away * away, (1, 2))
    normed = away * (1.0 / k.sqrt(variance + float(np.float32(attrs["variance_epsilon"]))))
    if attrs["output_range_given"]:
        least = k.const(attrs["given_y_min"], dtypes.f32)
        most = k.const(attrs["given_y_max"], dtypes.f32)
    else:
        least, most = k.least(normed), k.largest(normed)
    apart = float(np.float32(attrs["min_separation"]))
    most = k.where(most - least < apart, least + apart, most)
    return vector_to_steps(k, normed, least, most, dtypes.qu8), least, most


define_formula(
    "quantized_batch_norm_with_global_normalization",
    "QuantizedBatchNormWithGlobalNormalization("
    + ", ".join(f"{n}: Tinput, {n}_min: f32, {n}_max: f32" for n in _GIVEN)
    + "; Tinput: {qu8}, out_type: {qi32}, variance_epsilon: float,"
    " scale_after_normalization: bool) -> (result: out_type, result_min: f32, result_max: f32)",
    _infer_batch_norm,
    _batch_norm,
    tuple(
        "qu8[1,2,3,2]~any f32[]=-3.0 f32[]=2.0 qu8[2]~any f32[]=-1.0 f32[]=2.0 qu8[2]~any f32[]=0.5"
        " f32[]=2.0 qu8[2]~any f32[]=-1.0 f32[]=1.0 qu8[2]~any f32[]=-1.0 f32[]=1.0;"
        f" out_type=qi32, variance_epsilon=0.01, scale_after_normalization={scaled}"
        for scaled in (True, False)
    ),
)
define_formula(
    "quantized_instance_norm",
    "QuantizedInstanceNorm(x: T, x_min: f32, x_max: f32; T: {qu8}, output_range_given: bool ="
    " False, given_y_min: float = 0, given_y_max: float = 0, variance_epsilon: float = 1e-05,"
    " min_separation: float = 0.001) -> (y: T, y_min: f32, y_max: f32)",
    _infer_instance_norm,
    _instance_norm,
    (
        "qu8[2,3,4,2]~any f32[]=-3.0 f32[]=2.0",
        "qu8[1,3,4,2]~any f32[]=-3.0 f32[]=2.0; output_range_given=True, given_y_min=-2.0,"
        " given_y_max=2.5",
    ),
)
