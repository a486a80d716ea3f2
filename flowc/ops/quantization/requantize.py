"""32-bit integers as ones of 8 bits, in a range that is given or found.

In: i32 sums and the range that they have, one for all or one for each channel. Out: 8-bit integers
and their range, or the range alone. Invariant: 0 stays within the range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flowc import dtypes
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.quantization.conversions import ends_of, from_steps, requantized
from flowc.ops.quantization.definition import define_formula, need_scalars, ranged

_RANGED = "(output: out_type, output_min: f32, output_max: f32)"
Attrs = Mapping[str, Any]


def _infer(c: Inference) -> list[Dims]:
    need_scalars(c, 1)
    return ranged(c.dims(0))


def _infer_range(c: Inference) -> list[Dims]:
    return _infer(c)[1:]


def _used_range(k: Any, x: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """The range of the numbers that are there, and 0."""
    ends = (from_steps(k, e, low, high) for e in (k.least(x), k.largest(x)))
    least, largest = ends
    return k.minimum(least, 0.0), largest


def _requantize(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    x, low, high, least, most = operands
    zero = k.const(0, dtypes.f32)
    least = k.ordered(least, zero, "requested_output_min must be <= 0", False)
    fault = "requested_output_max must be >= requested_output_min"
    least = k.ordered(least, most, fault, False)
    return requantized(k, x, (low, high), (least, most), attrs["out_type"]), least, most


def _shrink(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    x, low, high = operands
    least, most = _used_range(k, x, low, high)
    return requantized(k, x, (low, high), (least, most), attrs["out_type"]), least, most


def _range(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    return _used_range(k, *operands)


define_formula(
    "requantize",
    "Requantize(input: Tinput, input_min: f32, input_max: f32, requested_output_min: f32,"
    f" requested_output_max: f32; Tinput: {{qi32}}, out_type: {{qi8, qu8}}) -> {_RANGED}",
    _infer,
    _requantize,
    (
        "qi32[23]~any f32[]=-200.0 f32[]=300.0 f32[]=-150.0 f32[]=250.0; out_type=qu8",
        "qi32[23]~any f32[]=-200.0 f32[]=300.0 f32[]=-150.0 f32[]=250.0; out_type=qi8",
        "qi32[5]~any f32[]=-2.0 f32[]=3.0 f32[]=0.0 f32[]=0.0; out_type=qu8",
    ),
)
define_formula(
    "quantize_down_and_shrink_range",
    "QuantizeDownAndShrinkRange(input: Tinput, input_min: f32, input_max: f32; Tinput: {qi32},"
    f" out_type: {{qu8}}) -> {_RANGED}",
    _infer,
    _shrink,
    (
        "qi32[3,7]~any f32[]=-2.0 f32[]=3.0; out_type=qu8",
        "qi32[9] f32[]=-1e9 f32[]=1e9; out_type=qu8",
        "qi32[3]=[7,900,5000] f32[]=-1e9 f32[]=1e9; out_type=qu8",
    ),
)
define_formula(
    "requantization_range",
    "RequantizationRange(input: Tinput, input_min: f32, input_max: f32; Tinput: {qi32})"
    " -> (output_min: f32, output_max: f32)",
    _infer_range,
    _range,
    ("qi32[3,7]~any f32[]=-2.0 f32[]=3.0", "qi32[3]=[7,900,5000] f32[]=-1e9 f32[]=1e9"),
)


# -- a range for each channel, the last axis


def _infer_channels(c: Inference) -> list[Dims]:
    c.need_rank(0, 4, "Input must have rank 4")
    for i in (1, 2):
        c.need_rank(i, 1)
        c.equal(c.dims(0)[3], c.dims(i)[0])
    need_scalars(c, 3)
    return ranged(c.dims(0))


def _infer_channel_range(c: Inference) -> list[Dims]:
    return _infer_channels(c)[1:]


def _magnitude(k: Any, low: Any, high: Any) -> Any:
    return k.maximum(abs(low), abs(high))


def _requantize_channels(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    x, low, high, least, most = operands
    if attrs["out_type"] is dtypes.qi8:
        fault = "If out_type is QINT8, requested_output_min must be negative"
        least = k.ordered(least, k.const(0, dtypes.f32), fault, True)
    bottom, top = (float(e) for e in ends_of(attrs["out_type"]))
    step = _magnitude(k, low, high) / _magnitude(k, least, most) / 2.0**31 * top
    at = k.rint(k.cast(x, dtypes.f32) * step)
    inside = k.minimum(k.maximum(at, bottom), top)
    return k.cast(inside, attrs["out_type"].carrier), least, most


def _channel_range(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    x, low, high = operands
    least, most = (k.cast(f(x, (0, 1, 2)), dtypes.f32) for f in (k.least, k.largest))
    largest = k.largest(_magnitude(k, low, high) * _magnitude(k, least, most) / 2.0**31)
    largest = k.minimum(largest, attrs["clip_value_max"])
    below = k.least(least) < 0.0
    return k.where(below, -largest, k.const(0, dtypes.f32)), largest


define_formula(
    "requantize_per_channel",
    "RequantizePerChannel(input: T, input_min: f32, input_max: f32, requested_output_min: f32,"
    " requested_output_max: f32; T: {qi32} = qi32, out_type: {qi8, qu8} = qu8)"
    f" -> {_RANGED}",
    _infer_channels,
    _requantize_channels,
    tuple(
        f"qi32[1,2,3,2]~any f32[2]=[-3,-4] f32[2]=[2,5] f32[]=-3.0 f32[]=4.0; out_type={t}"
        for t in ("qu8", "qi8")
    ),
)
define_formula(
    "requantization_range_per_channel",
    "RequantizationRangePerChannel(input: T, input_min: f32, input_max: f32; T: {qi32} = qi32,"
    " clip_value_max: float) -> (output_min: f32, output_max: f32)",
    _infer_channel_range,
    _channel_range,
    (
        "qi32[1,2,3,2]~any f32[2]=[-3,-4] f32[2]=[2,5]; clip_value_max=100.0",
        "qi32[1,2,3,2]~any f32[2]=[-3,-4] f32[2]=[2,5]; clip_value_max=1.5",
        "qi32[1,1,1,2]=[70000,9] f32[2]=[-3,-4] f32[2]=[2,5]; clip_value_max=1.5",
    ),
)
