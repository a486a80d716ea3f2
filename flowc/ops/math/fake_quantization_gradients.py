"""Gradients of fake quantization, and of its range.

In: the gradient and the values, and the range as for the forward ops (`fake_quantization`). Out:
the gradient where values lie in the nudged range, elsewhere 0; what lies beyond an end goes to that
end. Invariant: the nudged range is the forward op's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.math.fake_quantization import (
    BITS,
    build_nudged,
    check_bits,
    check_ends,
    levels_of,
    nudged,
)

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

Array = np.ndarray
_F32 = np.float32


def _check_alike(c: Inference) -> Dims:
    check_bits(c)
    if "min" in c.attrs:
        check_ends(c)
    c.match_dims(c.dims(0), c.dims(1), "gradient and input must be the same size")
    return c.dims(1)


def _infer_ranges(rank: int) -> Any:
    def infer(c: Inference) -> list[Dims]:
        dims = _check_alike(c)
        for i, name in ((2, "min"), (3, "max")):
            if c.rank(i) != rank:
                raise c.fail(f"`{name}` must be rank {rank} but is rank {c.rank(i)}")
            if rank:
                c.equal(c.dims(i)[0], dims[-1])
        return [dims, c.dims(2), c.dims(2)]

    return infer


def _build_of_attrs(b: Builder, node: Node) -> Value:
    dy, x = node.inputs
    levels = levels_of(node.attrs["num_bits"], node.attrs["narrow_range"])
    low, high, _ = nudged(_F32(node.attrs["min"]), _F32(node.attrs["max"]), *levels)
    inside = b.logical_and(b.greater_equal(x, low), b.less_equal(x, high))
    return b.mul(dy, b.cast(inside, DstT=dtypes.f32))


def _build_of_inputs(b: Builder, node: Node) -> Sequence[Value]:
    dy, x, least, most = node.inputs
    low, high, _, empty = build_nudged(b, least, most, node.attrs)
    none = b.const(_F32(0))
    inside = b.logical_and(b.greater_equal(x, low), b.less_equal(x, high))
    dx = b.select_v2(b.logical_or(empty, inside), dy, none)
    axes = np.arange(x.type.rank - least.type.rank, dtype=np.int32)
    ends = []
    for beyond in (b.less(x, low), b.greater(x, high)):
        total = b.sum(b.mul(dy, b.cast(beyond, DstT=dtypes.f32)), axes)
        ends.append(b.select_v2(empty, none, total))
    return [dx, *ends]


def _of_attrs(
    gradients: Array, inputs: Array, *, min: float, max: float, num_bits: int, narrow_range: bool
) -> Array:
    low, high, _ = nudged(_F32(min), _F32(max), *levels_of(num_bits, narrow_range))
    return gradients * ((inputs >= low) & (inputs <= high)).astype(_F32)


def _of_ranges(
    gradients: Array, inputs: Array, min: Array, max: Array, *, num_bits: int, narrow_range: bool
) -> list[Array]:
    low, high, _ = nudged(min, max, *levels_of(num_bits, narrow_range))
    empty = (min == 0) & (max == 0)
    inside = empty | ((inputs >= low) & (inputs <= high))
    axes = tuple(range(inputs.ndim - min.ndim))
    ends = [
        np.where(empty, 0, (gradients * beyond.astype(_F32)).sum(axes, dtype=_F32))
        for beyond in (inputs < low, inputs > high)
    ]
    dx = np.where(inside, gradients, _F32(0))
    return [dx, *(np.asarray(e, _F32) for e in ends)]


fake_quant_with_min_max_args_gradient = define(
    "fake_quant_with_min_max_args_gradient",
    "FakeQuantWithMinMaxArgsGradient(gradients: f32, inputs: f32; min: float = -6.0,"
    f" max: float = 6.0, {BITS}) -> backprops: f32",
    infer=_check_alike,
    lowering=Decompose(_build_of_attrs),
    reference=_of_attrs,
    examples=("f32[3,7] f32[3,7]", "f32[9] f32[9]; min=-0.5, max=0.75, num_bits=4"),
)

for _name, _tf, _rank, _examples in (
    (
        "fake_quant_with_min_max_vars_gradient",
        "FakeQuantWithMinMaxVarsGradient",
        0,
        (
            "f32[3,7] f32[3,7] f32[]=-0.5 f32[]=0.7",
            "f32[9] f32[9] f32[]=-1 f32[]=0.3; num_bits=4, narrow_range=True",
            "f32[4] f32[4] f32[]=0 f32[]=0",
        ),
    ),
    (
        "fake_quant_with_min_max_vars_per_channel_gradient",
        "FakeQuantWithMinMaxVarsPerChannelGradient",
        1,
        (
            "f32[5,3] f32[5,3] f32[3]=[-0.5,-1,0] f32[3]=[0.7,0.2,0]",
            "f32[2] f32[2] f32[2]=[-0.1,-0.5] f32[2]=[0.1,0.9]; num_bits=5",
        ),
    ),
):
    define(
        _name,
        f"{_tf}(gradients: f32, inputs: f32, min: f32, max: f32; {BITS}) ->"
        " (backprops_wrt_input: f32, backprop_wrt_min: f32, backprop_wrt_max: f32)",
        infer=_infer_ranges(_rank),
        lowering=Decompose(_build_of_inputs),
        reference=_of_ranges,
        examples=_examples,
    )
