"""XLA's ops of single elements, and those that have one answer on one device.

In: what their OpDefs say. Out: records made of TensorFlow's ops. Invariant: the numbers are those
of XLA's operations.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from flowc import dtypes
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose
from flowc.ir.op import define
from flowc.ir.types import Dims

Array = np.ndarray[Any, Any]

# -- what has one answer on one device


define(
    "xla_optimization_barrier",
    "XlaOptimizationBarrier(input: T; T: list(type)) -> output: T",
    infer=lambda c: [t.dims for t in c.inputs],
    lowering=Decompose(lambda b, node: [b.identity(x) for x in node.inputs]),
    reference=lambda arrays: list(arrays),
    gradient=lambda b, node, *dys: dys,
    examples=("f32[2,3] i32[]",),
)
define(
    "xla_set_bound",
    "XlaSetBound(input: i32, bound: i32) -> output: i32",
    infer=lambda c: c.dims(0),
    lowering=Decompose(lambda b, node: b.identity(node.inputs[0])),
    reference=lambda x, bound: x,
    examples=("i32[]=3 i32[]=7",),
)

# -- fewer bits of an exponent and a mantissa

_LAYOUT = {  # bits of the mantissa and of the exponent
    dtypes.f16: (10, 5),
    dtypes.bf16: (7, 8),
    dtypes.f32: (23, 8),
    dtypes.f64: (52, 11),
}
_BITS = {2: dtypes.u16, 4: dtypes.u32, 8: dtypes.u64}


def _infer_precision(c: Inference) -> Dims:
    exponent, mantissa = c.attrs["exponent_bits"], c.attrs["mantissa_bits"]
    if exponent < 1 or mantissa < 0:
        raise c.fail(f"{exponent} bits of an exponent and {mantissa} of a mantissa are too few")
    return c.dims(0)


def _build_precision(b: Builder, node: Node) -> Value:
    """The mantissa is rounded half to even as an integer, which carries into the exponent. What the
    exponent cannot tell is infinite, or 0; a NaN stays one."""
    (x,) = node.inputs
    kind = x.type.dtype
    mantissa, exponent = _LAYOUT[kind]
    whole = _BITS[kind.size]
    bits = b.bitcast(x, type=whole)
    kept = node.attrs["mantissa_bits"]

    def number(value: int) -> Value:
        return b.const(np.array(value, whole.numpy))

    if kept < mantissa:
        cut = mantissa - kept
        last = b.bitwise_and(b.right_shift(bits, number(cut)), number(1))
        half = number((1 << (cut - 1)) - 1)
        bits = b.add(b.add(bits, last), half)
        bits = b.bitwise_and(bits, number(((1 << (8 * kind.size)) - 1) ^ ((1 << cut) - 1)))
    found = bits
    if node.attrs["exponent_bits"] < exponent:
        sign = b.bitwise_and(bits, number(1 << (8 * kind.size - 1)))
        field = number(((1 << exponent) - 1) << mantissa)
        own = b.bitwise_and(bits, field)
        bias, fewer = (1 << (exponent - 1)) - 1, (1 << (node.attrs["exponent_bits"] - 1)) - 1
        most, least = number((bias + fewer) << mantissa), number((bias - fewer) << mantissa)
        found = b.select_v2(b.greater(own, most), b.bitwise_or(sign, field), found)
        found = b.select_v2(b.less_equal(own, least), sign, found)
    return b.select_v2(b.is_nan(x), x, b.bitcast(found, type=kind))


def _precision(x: Array, *, exponent_bits: int, mantissa_bits: int) -> Array:
    info = ml_dtypes.finfo(x.dtype)
    wide = x.astype(np.longdouble)
    fraction, power = np.frexp(wide)
    scale = np.ldexp(np.longdouble(1), min(mantissa_bits, info.nmant) + 1)
    rounded = np.ldexp(np.round(fraction * scale) / scale, power)
    found = np.where(np.isfinite(wide), rounded, wide)
    if exponent_bits < info.nexp:
        bias = (1 << (exponent_bits - 1)) - 1
        found = np.where(abs(found) >= np.ldexp(np.longdouble(1), bias + 1), np.inf, abs(found))
        least = np.ldexp(np.longdouble(1), -bias + 1)
        found = np.copysign(np.where(found < least, 0, found), wide)
    with np.errstate(over="ignore"):
        return np.where(np.isnan(wide), x, found.astype(x.dtype))


define(
    "xla_reduce_precision",
    "XlaReducePrecision(operand: T; T: FLOAT, exponent_bits: int, mantissa_bits: int) -> output: T",
    infer=_infer_precision,
    lowering=Decompose(_build_precision),
    reference=_precision,
    examples=(
        "T[3,9]; exponent_bits=5, mantissa_bits=3",
        "f32[17]; exponent_bits=8, mantissa_bits=7",
        "f64[17]; exponent_bits=3, mantissa_bits=1",
    ),
)


# -- words of four numbers of 8 bits

_MODE = "MIN_COMBINED"


def _infer_words(c: Inference) -> Dims:
    mode = c.attrs["mode"]
    if mode != _MODE:
        raise c.fail(f"mode {mode!r} cannot be dequantized", hint=f"only {_MODE} can")
    *rest, last = c.dims(0) if c.rank(0) else (None,)
    if last is None:
        raise c.fail("a scalar has no last dimension for the four numbers of a word")
    dims = (*rest, 4 * last)
    return dims[::-1] if c.attrs["transpose_output"] else dims


def _scale(low: float, high: float) -> tuple[Array, Array]:
    """What a step is worth, and the least number: both as bf16."""
    kind = ml_dtypes.bfloat16
    return np.array(np.float32(high - low) / np.float32(255), kind), np.array(low, kind)


def _build_words(b: Builder, node: Node) -> Value:
    """Four 8-bit numbers of each word, that of the highest bits first, scaled to the range."""
    (words,) = node.inputs
    numbers: list[Value] = []
    for shift in (24, 16, 8, 0):
        shifted = b.right_shift(words, np.uint32(shift))
        numbers.append(b.cast(b.bitwise_and(shifted, np.uint32(255)), DstT=dtypes.bf16))
    rank = len(words.dims)
    found = b.reshape(b.pack(*numbers, axis=rank), (*words.dims[:-1], 4 * words.dims[-1]))
    scale, low = _scale(node.attrs["min_range"], node.attrs["max_range"])
    found = b.add(b.mul(found, b.const(scale)), b.const(low))
    if not node.attrs["transpose_output"]:
        return found
    return b.transpose(found, b.const(np.arange(rank, dtype=np.int32)[::-1]))


def _dequantized(
    words: Array, *, min_range: float, max_range: float, transpose_output: bool
) -> Array:
    shifted = words[..., None] >> np.array([24, 16, 8, 0], np.uint32)
    numbers = (shifted & np.uint32(255)).astype(ml_dtypes.bfloat16)
    scale, low = _scale(min_range, max_range)
    found = (numbers * scale + low).reshape(*words.shape[:-1], -1 if words.size else 0)
    return found.T if transpose_output else found


define(
    "xla_dequantize",
    "XlaDequantize(input: u32; min_range: float, max_range: float, mode: string,"
    " transpose_output: bool) -> output: bf16",
    infer=_infer_words,
    lowering=Decompose(_build_words),
    reference=_dequantized,
    examples=(
        "u32[2,3]~any; min_range=-1.0, max_range=1.0, mode='MIN_COMBINED', transpose_output=False",
        "u32[2,3,2]~any; min_range=0.5, max_range=7.0, mode='MIN_COMBINED', transpose_output=True",
        "u32[0]; min_range=0.0, max_range=1.0, mode='MIN_COMBINED', transpose_output=False",
    ),
)
