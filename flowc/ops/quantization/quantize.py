"""QuantizeV2 and Dequantize: floats as integers of a range, and back.

In: f32 and a range, or integers and theirs; along `axis` one range for each index. Out: integers
and the range that they have, or floats. Invariant: in mode SCALED 0 is the number 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.errors import UnimplementedError
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.quantization.conversions import (
    as_number,
    ends_of,
    round_away,
    steps_of,
    vector_from_steps,
    vector_to_steps,
)
from flowc.ops.quantization.definition import define_formula

_HUGE = float(np.finfo(np.float32).max)
_FIRST = "MIN_FIRST"
MODES = 'mode: {"MIN_COMBINED", "MIN_FIRST", "SCALED"} = "MIN_COMBINED"'


def _check_axis(c: Inference) -> Dims:
    """The dims of both ends of the range."""
    axis = c.attrs["axis"]
    if axis < -1 or axis >= c.rank(0):
        raise c.fail(
            f"Axis must be less than input dimension({c.rank(0)}), got {axis}"
            if axis >= -1
            else f"axis should be at least -1, got {axis}"
        )
    for i in (1, 2):
        if axis == -1:
            c.need_rank(i, 0)
        else:
            c.need_rank(i, 1)
            c.equal(c.dims(0)[axis], c.dims(i)[0])
    return c.dims(1)


def _check_first(c: Inference, name: str) -> None:
    axis = c.attrs["axis"]
    if c.attrs["mode"] == _FIRST and axis != -1 and c.dims(0)[axis] != 1:
        raise UnimplementedError(
            f"MIN_FIRST mode is not implemented for {name} with axis != -1.", node=c.node_name
        )


def _infer_quantize(c: Inference) -> list[Dims]:
    ends = _check_axis(c)
    attrs = c.attrs
    if attrs["round_mode"] == "HALF_TO_EVEN" and attrs["mode"] != "SCALED":
        raise c.fail(
            "Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', "
            f"but mode is '{attrs['mode']}'."
        )
    _check_first(c, "Quantize")
    return [c.dims(0), ends, ends]


def _infer_dequantize(c: Inference) -> Dims:
    _check_axis(c)
    attrs = c.attrs
    _check_first(c, "Dequantize")
    if attrs["dtype"] is dtypes.bf16 and attrs["mode"] != "MIN_COMBINED":
        raise c.fail(
            "When output type is bfloat16, Mode string must be 'MIN_COMBINED', "
            f"is '{attrs['mode']}'"
        )
    return c.dims(0)


def _along(k: Any, end: Any, x: Any, axis: int) -> Any:
    """The end of a range, reshaped to broadcast against `x`: it has one element for each index
    along `axis`, or is a scalar where that is -1."""
    if axis < 0:
        return end
    return k.reshape(end, [d if i == axis else 1 for i, d in enumerate(k.dims(x))])


def _quantize(k: Any, operands: Sequence[Any], attrs: Mapping[str, Any]) -> Sequence[Any]:
    x, low, high = operands
    message = "input_max_range must be larger than input_min_range."
    low = k.ordered(low, high, message, False)
    largest = k.maximum(k.maximum(abs(low), abs(high)), 1.0)
    low = k.minimum(low, 0.0)
    nearest = low + largest * float(np.float32(attrs["ensure_minimum_range"]))
    high = k.maximum(k.maximum(high, nearest), 0.0)
    if attrs["mode"] == "SCALED":
        low, high, scale = _scaled_range(k, low, high, attrs)
    dtype, axis = attrs["T"], attrs["axis"]
    bottom, top = (_along(k, e, x, axis) for e in (low, high))
    if attrs["mode"] == _FIRST:
        return vector_to_steps(k, x, bottom, top, dtype), low, high
    inside = k.maximum(k.minimum(x, top), bottom)
    if attrs["mode"] == "SCALED":
        at = inside * _along(k, scale, x, axis)
        whole = k.rint(at) if attrs["round_mode"] == "HALF_TO_EVEN" else round_away(k, at)
    else:
        wide = k.const(steps_of(dtype), dtypes.f64) / k.cast(top - bottom, dtypes.f64)
        scale = k.cast(wide, dtypes.f32)
        at = (inside - bottom) * scale
        least = ends_of(dtype)[0]
        whole = round_away(k, at + float(least)) if least else at + 0.5
    return k.cast(whole, dtype.carrier), low, high


def _scaled_range(k: Any, low: Any, high: Any, attrs: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Both ends where 0 is the number 0, and the steps to 1."""
    least, most = (float(e) for e in ends_of(attrs["T"]))
    least += attrs["narrow_range"]
    none = k.const(_HUGE, dtypes.f32)
    by_low = k.where(low * least > 0.0, least / low, none)
    by_high = k.where(high * most > 0.0, most / high, none)
    scale = k.minimum(by_low, by_high)
    return least / scale, most / scale, scale


def _dequantize(k: Any, operands: Sequence[Any], attrs: Mapping[str, Any]) -> Sequence[Any]:
    x, low, high = operands
    low, high = (_along(k, e, x, attrs["axis"]) for e in (low, high))
    dtype = k.dtype(x)
    least, most = ends_of(dtype)
    if attrs["mode"] == _FIRST:
        found = vector_from_steps(k, x, low, high)
    elif attrs["mode"] == "SCALED":
        scale = high / float(most)
        if least:
            scale = k.maximum(low / float(least + attrs["narrow_range"]), scale)
        found = as_number(k, as_number(k, x, dtypes.i32), dtypes.f32) * scale
    else:
        half = (float(np.float32(most) - np.float32(least)) + 1.0) / 2.0 if least else 0.0
        scale = (high - low) / float(np.float32(most) - np.float32(least))
        found = (k.cast(x, dtypes.f32) + half) * scale + low
    return (k.cast(found, attrs["dtype"]),)


define_formula(
    "quantize_v2",
    f"QuantizeV2(input: f32, min_range: f32, max_range: f32; T: QUANTIZED, {MODES}, round_mode:"
    ' {"HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"} = "HALF_AWAY_FROM_ZERO", narrow_range: bool = False,'
    " axis: int = -1, ensure_minimum_range: float = 0.01) -> (output: T, output_min: f32,"
    " output_max: f32)",
    _infer_quantize,
    _quantize,
    (
        "f32[3,5] f32[]=-3.0 f32[]=2.0; T=qu8",
        *(f"f32[17] f32[]=-3.0 f32[]=3.5; T={t}" for t in ("qi8", "qi16", "qu16")),
        "f32[5] f32[]=-30.0 f32[]=3.5; T=qi32",
        *(
            f'f32[17] f32[]=-3.0 f32[]=2.5; T={t}, mode="{mode}"'
            for t in ("qi8", "qu8", "qi16", "qu16")
            for mode in ("MIN_FIRST", "SCALED")
        ),
        'f32[5] f32[]=-4.0 f32[]=3.5; T=qi32, mode="MIN_FIRST"',
        'f32[5] f32[]=-4.0 f32[]=3.5; T=qi32, mode="SCALED"',
        'f32[9] f32[]=-3.0 f32[]=2.5; T=qi8, mode="SCALED", round_mode="HALF_TO_EVEN",'
        " narrow_range=True",
        "f32[9] f32[]=0.5 f32[]=0.5; T=qu8, ensure_minimum_range=0.5",
        'f32[3,4] f32[4]=[-1,-2,-3,0] f32[4]=[1,3,2,1]; T=qi8, mode="SCALED", axis=1',
        "f32[3,2,2] f32[3]=[-1,-2,0] f32[3]=[1,3,1]; T=qu8, axis=0",
        "f32[0] f32[]=-3.0 f32[]=2.0; T=qu8",
    ),
)
define_formula(
    "dequantize",
    f"Dequantize(input: T, min_range: f32, max_range: f32; T: QUANTIZED, {MODES}, narrow_range:"
    " bool = False, axis: int = -1, dtype: {bf16, f32} = f32) -> output: dtype",
    _infer_dequantize,
    _dequantize,
    (
        "T[3,5] f32[]=-3.0 f32[]=2.0",
        'T[17] f32[]=-3.0 f32[]=3.5; mode="MIN_FIRST"',
        'T[17] f32[]=-3.0 f32[]=3.5; mode="SCALED"',
        "T[7] f32[]=-3.0 f32[]=2.0; dtype=bf16",
        'qi8[7] f32[]=-3.0 f32[]=2.0; mode="SCALED", narrow_range=True',
        'qi8[3,4] f32[4]=[-1,-2,-3,0] f32[4]=[1,3,2,1]; mode="SCALED", axis=1',
        "qu8[3,2,2] f32[3]=[-1,-2,0] f32[3]=[1,3,1]; axis=0",
    ),
)
