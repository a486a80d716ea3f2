"""Sums, products, biases and Relu of quantised numbers.

In: 8-bit integers, or sums of 32 bits, and their ranges. Out: integers of a range that holds every
result. Invariant: sums and products wrap, as integers of 32 bits do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flowc import dtypes
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.quantization.conversions import (
    from_steps,
    lowered,
    product_range,
    requantized,
    rescaled,
    to_steps,
)
from flowc.ops.quantization.definition import define_formula, need_scalars, ranged

_OPERANDS = "x: T1, y: T2, min_x: f32, max_x: f32, min_y: f32, max_y: f32"
_BYTES = "T1: {qu8}, T2: {qu8}"
Attrs = Mapping[str, Any]


def _infer_binary(c: Inference) -> list[Dims]:
    need_scalars(c, 2)
    return ranged(c.broadcast(0, 1))


def check_ranges(k: Any, ends: Sequence[Any], messages: Sequence[str]) -> list[Any]:
    """The ends of two ranges, once it is seen that neither is empty."""
    a, b, c, d = ends
    return [k.ordered(a, b, messages[0], True), b, k.ordered(c, d, messages[1], True), d]


def _add(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    x, y, *ends = operands
    low_x, high_x, low_y, high_y = check_ranges(
        k, ends, ("max_x must be larger than min_x.", "max_y must be larger than min_y.")
    )
    reach = k.maximum(abs(k.minimum(low_x, low_y)), abs(k.maximum(high_x, high_y)))
    new = (-reach * float(1 << 14), reach * float(1 << 14))
    # TensorFlow's loop over a tensor and a lone number takes the number by itself.
    alone = x if _is_lone(k, x) else y if _is_lone(k, y) else None
    total = 0
    for z, old in ((x, (low_x, high_x)), (y, (low_y, high_y))):
        if z is alone:
            total = total + to_steps(k, from_steps(k, z, *old), *new, dtypes.i32)
        else:
            total = total + rescaled(k, z, old, new)
    return total, *new


def _is_lone(k: Any, x: Any) -> bool:
    return all(isinstance(d, int) and d == 1 for d in k.dims(x))


def _multiply(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    x, y, *ends = operands
    ends = check_ranges(
        k, ends, ("max_x must be larger than min_a.", "max_x must be larger than min_b.")
    )
    product = shifted(k, x, ends[0], ends[1]) * shifted(k, y, ends[2], ends[3])
    return product, *product_range(k, tuple(ends), (k.dtype(x), k.dtype(y)))


def shifted(k: Any, x: Any, low: Any, high: Any) -> Any:
    """i32: integers less the one that stands for 0."""
    zero = lowered(k, k.const(0, dtypes.f32), low, high, k.dtype(x))
    return k.cast(x, dtypes.i32) - k.cast(zero, dtypes.i32)


def _infer_bias(c: Inference) -> list[Dims]:
    need_scalars(c, 2)
    if c.rank(0) < 2:
        raise c.fail(f"Input tensor must be at least 2D: {c.inputs[0]}")
    if c.rank(1) != 1:
        raise c.fail(f"Biases must be 1D: {c.inputs[1]}")
    c.equal(
        c.dims(0)[-1],
        c.dims(1)[0],
        "Must provide as many biases as the last dimension of the input tensor",
    )
    return ranged(c.dims(0))


def _bias_add(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    x, bias, low, high, low_bias, high_bias = operands
    reach = k.maximum(k.maximum(high, -low), k.maximum(high_bias, -low_bias)) * float(1 << 17)
    new = (-reach, reach)
    zero = to_steps(k, k.const(0, dtypes.f32), *new, dtypes.i32)
    total = requantized(k, x, (low, high), new, dtypes.i32)
    moved = requantized(k, bias, (low_bias, high_bias), new, dtypes.i32)
    return total + (moved + zero), *new


def _infer_relu(c: Inference) -> list[Dims]:
    need_scalars(c, 1)
    return ranged(c.dims(0))


def _relu(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    x, *most, low, high = operands
    kind = k.dtype(x)
    at = k.maximum(x, to_steps(k, k.const(0, dtypes.f32), low, high, kind))
    for end in most:
        at = k.minimum(at, to_steps(k, end, low, high, kind))
    return at, low, high


def _relu6(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    x, low, high = operands
    return _relu(k, (x, k.const(6, dtypes.f32), low, high), attrs)


_ENDS = ("f32[]=-3.0 f32[]=2.0 f32[]=-1.5 f32[]=4.0",)
_PAIRS = tuple(
    f"qu8[{x}]~any qu8[{y}]~any {_ENDS[0]}" for x, y in (("2,9", "2,9"), ("9", "1"), ("2,9", "9"))
)
for _name, _tf_name, _formula in (
    ("quantized_add", "QuantizedAdd", _add),
    ("quantized_mul", "QuantizedMul", _multiply),
):
    define_formula(
        _name,
        f"{_tf_name}({_OPERANDS}; {_BYTES}, Toutput: {{qi32}} = qi32)"
        " -> (z: Toutput, min_z: f32, max_z: f32)",
        _infer_binary,
        _formula,
        _PAIRS,
    )

define_formula(
    "quantized_bias_add",
    "QuantizedBiasAdd(input: T1, bias: T2, min_input: f32, max_input: f32, min_bias: f32,"
    " max_bias: f32; T1: {qu8, qi8}, T2: {qu8, qi8}, out_type: {qi32}) -> (output: out_type,"
    " min_out: f32, max_out: f32)",
    _infer_bias,
    _bias_add,
    tuple(f"{t}[3,9]~any {t}[9]~any {_ENDS[0]}; out_type=qi32" for t in ("qu8", "qi8")),
)
for _name, _tf_name, _formula, _more in (
    ("quantized_relu", "QuantizedRelu", _relu, ""),
    ("quantized_relu6", "QuantizedRelu6", _relu6, ""),
    ("quantized_relu_x", "QuantizedReluX", _relu, ", max_value: f32"),
):
    _least = "f32[]=2.5 " if _more else ""
    define_formula(
        _name,
        f"{_tf_name}(features: Tinput{_more}, min_features: f32, max_features: f32; Tinput:"
        " {qu8, qi32}, out_type: {qu8, qi32} = qu8) -> (activations: out_type,"
        " min_activations: f32, max_activations: f32)",
        _infer_relu,
        _formula,
        (
            f"qu8[3,9]~any {_least}f32[]=-3.0 f32[]=9.0",
            f"qi32[9]~any {_least}f32[]=-13.0 f32[]=19.0; out_type=qi32",
        ),
    )
