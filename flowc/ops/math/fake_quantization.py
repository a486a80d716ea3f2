"""Fake quantization: values of a range take the nearest of 2^bits levels, and stay floating.

In: f32 values and a range: of attrs, of two scalars, or one for each channel (the last axis). Out:
f32 of the same shape. Invariant: zero is one of the levels, for which the range is moved
("nudged"), and values beyond the range take its ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose
from flowc.ir.op import Op, define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

Array = np.ndarray
_F32 = np.float32
BITS = "num_bits: int = 8, narrow_range: bool = False"


def levels_of(num_bits: int, narrow_range: bool) -> tuple[np.float32, np.float32]:
    """The first and the last level."""
    return _F32(1 if narrow_range else 0), _F32(2**num_bits - 1)


def check_bits(c: Inference) -> None:
    if not 2 <= c.attrs["num_bits"] <= 16:
        raise c.fail("num_bits must be between 2 and 16, inclusive")


def check_ends(c: Inference) -> None:
    least, most = c.attrs["min"], c.attrs["max"]
    if not least < most:
        raise c.fail(f"min has to be smaller than max, was: {least:g} >= {most:g}")


# -- in NumPy


def nudged(least: Any, most: Any, first: np.float32, last: np.float32) -> list[Array]:
    """Both ends of the nudged range, and the distance of two levels."""
    with np.errstate(all="ignore"):
        step = np.asarray((most - least) / (last - first), _F32)
        zero = np.clip(first - least / step, first, last)
        below = np.floor(zero)
        zero = below + np.floor((zero - below) * _F32(2))  # halves are rounded up
        return [np.asarray(x, _F32) for x in ((first - zero) * step, (last - zero) * step, step)]


def _quantized(x: Array, least: Any, most: Any, levels: tuple[Any, Any], divide: bool) -> Array:
    low, high, step = nudged(least, most, *levels)
    with np.errstate(all="ignore"):
        inverse = np.asarray((levels[1] - levels[0]) / (most - least), _F32)
        zero = np.floor(_F32(0.5) - low * inverse)
        shifted = np.maximum(np.minimum(x, high), low) - low
        level = (shifted / step if divide else shifted * inverse) - zero
        found = np.floor(level + _F32(0.5)) * step
    return np.where((least == 0) & (most == 0), _F32(0), found).astype(_F32)


def _of_attrs(inputs: Array, *, min: float, max: float, num_bits: int, narrow_range: bool) -> Array:
    return _quantized(inputs, _F32(min), _F32(max), levels_of(num_bits, narrow_range), False)


# -- as ops


def _build_rounding(
    b: Builder, x: Value, ends: tuple[Any, Any], step: Any, inverse: Any, zero: Any, divide: bool
) -> Value:
    low, high = ends
    shifted = b.sub(b.maximum(b.minimum(x, high), low), low)
    level = b.sub(b.real_div(shifted, step) if divide else b.mul(shifted, inverse), zero)
    return b.mul(b.floor(b.add(level, _F32(0.5))), step)


def _build_of_attrs(b: Builder, node: Node) -> Value:
    first, last = levels_of(node.attrs["num_bits"], node.attrs["narrow_range"])
    least, most = _F32(node.attrs["min"]), _F32(node.attrs["max"])
    low, high, step = nudged(least, most, first, last)
    inverse = _F32((last - first) / (most - least))
    zero = np.floor(_F32(0.5) - low * inverse)
    return _build_rounding(b, node.inputs[0], (low, high), step, inverse, zero, False)


def build_nudged(
    b: Builder, least: Value, most: Value, attrs: Any
) -> tuple[Value, Value, Value, Value]:
    """As `nudged`, of a range that the run knows; and whether there is nothing but 0 in it."""
    first, last = levels_of(attrs["num_bits"], attrs["narrow_range"])
    step = b.real_div(b.sub(most, least), last - first)
    zero = b.minimum(b.maximum(b.sub(first, b.real_div(least, step)), first), last)
    below = b.floor(zero)
    zero = b.add(below, b.floor(b.mul(b.sub(zero, below), _F32(2))))
    low, high = b.mul(b.sub(first, zero), step), b.mul(b.sub(last, zero), step)
    empty = b.logical_and(b.equal(least, _F32(0)), b.equal(most, _F32(0)))
    return low, high, step, empty


def _build_of_inputs(b: Builder, node: Node, divide: bool) -> Value:
    x, least, most = node.inputs
    low, high, step, empty = build_nudged(b, least, most, node.attrs)
    first, last = levels_of(node.attrs["num_bits"], node.attrs["narrow_range"])
    inverse = b.real_div(last - first, b.sub(most, least))
    quantized_zero = b.floor(b.sub(_F32(0.5), b.mul(low, inverse)))
    y = _build_rounding(b, x, (low, high), step, inverse, quantized_zero, divide)
    return b.select_v2(empty, b.const(_F32(0)), y)


# -- records


def _infer_of_attrs(c: Inference) -> Dims:
    check_bits(c)
    check_ends(c)
    return c.dims(0)


def _infer_of_scalars(c: Inference) -> Dims:
    check_bits(c)
    for i, name in ((1, "min"), (2, "max")):
        if c.rank(i) != 0:
            raise c.fail(f"`{name}` must be rank 0 but is rank {c.rank(i)}")
    return c.dims(0)


def _infer_of_channels(c: Inference) -> Dims:
    check_bits(c)
    if c.rank(0) == 0:
        raise c.fail("inputs must be at least rank 1")
    channels = c.dims(0)[-1]
    for i, name in ((1, "min"), (2, "max")):
        if c.rank(i) != 1:
            raise c.fail(f"`{name}` must be rank 1 but is rank {c.rank(i)}")
        size = c.dims(i)[0]
        fault = f"{name} has incorrect size, expected {channels} was {size}"
        channels = c.equal(channels, size, fault)
    return (*c.dims(0)[:-1], channels)


def _gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    return b.with_attrs_of(node, f"{node.op.name}_gradient", dy, *node.inputs)


def _range_op(name: str, tf: str, infer: Any, divide: bool, examples: Sequence[str]) -> Op:
    def reference(
        inputs: Array, min: Array, max: Array, *, num_bits: int, narrow_range: bool
    ) -> Array:
        return _quantized(inputs, min, max, levels_of(num_bits, narrow_range), divide)

    return define(
        name,
        f"{tf}(inputs: f32, min: f32, max: f32; {BITS}) -> outputs: f32",
        infer=infer,
        lowering=Decompose(lambda b, node: _build_of_inputs(b, node, divide)),
        reference=reference,
        gradient=_gradient,
        examples=tuple(examples),
    )


fake_quant_with_min_max_args = define(
    "fake_quant_with_min_max_args",
    f"FakeQuantWithMinMaxArgs(inputs: f32; min: float = -6.0, max: float = 6.0, {BITS})"
    " -> outputs: f32",
    infer=_infer_of_attrs,
    lowering=Decompose(_build_of_attrs),
    reference=_of_attrs,
    gradient=_gradient,
    examples=(
        "f32[3,17]",
        "f32[40]; min=-0.3, max=0.7, num_bits=4, narrow_range=True",
        "f32[2,9]; min=0.5, max=3.0, num_bits=16",
        "f32[6]=[1e999,-1e999,-0.0,0.0,-2.5,0.25]; min=-1.0, max=0.0",
        "f32[64]~any",
        "f32[0]",
    ),
)
fake_quant_with_min_max_vars = _range_op(
    "fake_quant_with_min_max_vars",
    "FakeQuantWithMinMaxVars",
    _infer_of_scalars,
    True,
    (
        "f32[3,17] f32[]=-6 f32[]=6",
        "f32[40] f32[]=-0.3 f32[]=0.7; num_bits=4, narrow_range=True",
        "f32[2,9] f32[]=-0.1 f32[]=5; num_bits=16",
        "f32[5] f32[]=0 f32[]=0",
        "f32[5] f32[]=2 f32[]=2",
        "f32[5] f32[]=2 f32[]=-2",
        "f32[0] f32[]=-1 f32[]=1",
    ),
)
fake_quant_with_min_max_vars_per_channel = _range_op(
    "fake_quant_with_min_max_vars_per_channel",
    "FakeQuantWithMinMaxVarsPerChannel",
    _infer_of_channels,
    False,
    (
        "f32[2,5,3] f32[3]=[-6,-0.3,0] f32[3]=[6,0.7,0]",
        "f32[7,2] f32[2]=[0.5,-3] f32[2]=[2,-1]; num_bits=4, narrow_range=True",
        "f32[4] f32[4]=[-1,-2,-3,-4] f32[4]=[1,2,3,0]",
        "f32[3,0] f32[0] f32[0]",
    ),
)
