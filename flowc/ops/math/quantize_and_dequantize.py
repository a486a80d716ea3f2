"""QuantizeAndDequantize in all its versions: numbers rounded to those that so many bits can hold.

In: floats, and a range or none. Out: records made of elementwise ops. Invariant: the step comes
from the side of the range that needs the larger one, so that 0 stays 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder, same_gradient

_WRONG_RANGE = "Invalid range: input_min > input_max"
_HALVES = (dtypes.f16, dtypes.bf16)
TYPES = "{bf16, f16, f32, f64}"
ROUNDING = 'round_mode: {"HALF_TO_EVEN", "HALF_UP"} = "HALF_TO_EVEN"'


def _limits(bits: int, attrs: Any) -> tuple[float, float]:
    """The smallest and the largest whole number."""
    narrow = attrs.get("narrow_range", False)
    if attrs["signed_input"]:
        return -(2.0 ** (bits - 1)) + narrow, 2.0 ** (bits - 1) - 1
    return float(narrow), 2.0**bits - 1


def _infer(c: Inference) -> Dims:
    axis = c.attrs.get("axis", -1)
    if axis < -1 or axis >= c.rank(0):
        raise c.fail(f"Axis should be at least -1 and less than the rank, got {axis}")
    bits = c.need_int(3) if len(c.inputs) == 4 else c.attrs["num_bits"]
    if not 0 < bits < (62 if c.attrs["signed_input"] else 63):
        raise c.fail(f"num_bits is out of range: {bits} with signed_input")
    if len(c.inputs) > 2 and c.attrs["range_given"]:
        wanted = () if axis < 0 else (c.dims(0)[axis],)
        for place, name in ((1, "input_min"), (2, "input_max")):
            if axis < 0 and c.rank(place):
                raise c.fail(f"{name} must be a scalar.")
            c.match_dims(c.dims(place), wanted, f"{name} must have one number for each on the axis")
    return c.dims(0)


def _check_range(b: Builder, low: Value, high: Value) -> None:
    """Checks that low <= high: at once where both are constants, else by a check in the program."""
    least, most = low.constant, high.constant
    if least is None or most is None:
        b.check(b.less_equal(low, high), message=_WRONG_RANGE)
    elif not least <= most:
        raise InvalidArgumentError(f"{_WRONG_RANGE}: {least} > {most}")


def _build(b: Builder, node: Node, low: Value, high: Value, bits: int) -> Value:
    x, attrs = node.inputs[0], node.attrs
    own = x.type.dtype
    dtype = dtypes.f32 if own in _HALVES else own
    x, low, high = (v if v.type.dtype is dtype else b.cast(v, DstT=dtype) for v in (x, low, high))
    axis = attrs.get("axis", -1)
    if attrs["range_given"] and axis < 0:
        _check_range(b, low, high)
    if not attrs["range_given"]:
        axes = np.array([i for i in range(x.type.rank) if i != axis], np.int32)
        low, high = b.min(x, axes), b.max(x, axes)
    if axis >= 0:
        shape = tuple(d if i == axis else 1 for i, d in enumerate(x.dims))
        low, high = b.reshape(low, shape), b.reshape(high, shape)
    least, most = _limits(bits, attrs)
    zero, huge = b.const(0, dtype), b.const(np.finfo(np.float32).max, dtype)

    def step(limit: float, end: Value) -> Value:
        own = b.const(limit, dtype)
        return b.select_v2(b.greater(b.mul(own, end), zero), b.real_div(own, end), huge)

    steps = step(least, low), step(most, high)
    by_low = b.less(*steps)
    scale = b.select_v2(by_low, *steps)
    inverse = b.select_v2(
        by_low,
        b.real_div(low, b.const(least or 1.0, dtype)),
        b.real_div(high, b.const(most, dtype)),
    )
    if attrs["range_given"]:
        bottom = b.select_v2(by_low, low, b.mul(b.const(least, dtype), inverse))
        top = b.select_v2(by_low, b.mul(b.const(most, dtype), inverse), high)
        x = b.minimum(b.maximum(x, bottom), top)
    scaled = b.mul(x, scale)
    if attrs.get("round_mode", "HALF_TO_EVEN") == "HALF_UP":
        whole = b.floor(b.add(scaled, b.const(0.5, dtype)))
    else:
        whole = b.rint(scaled)
    found = b.mul(whole, inverse)
    return found if dtype is own else b.cast(found, DstT=own)


def _rounded(x: np.ndarray, low: Any, high: Any, bits: int, attrs: Any) -> np.ndarray:
    wide = x.astype(np.float64 if x.dtype == np.float64 else np.float32)
    kind, axis = wide.dtype.type, attrs.get("axis", -1)
    low, high = np.asarray(low).astype(kind), np.asarray(high).astype(kind)
    if attrs["range_given"] and axis < 0 and not low <= high:
        raise InvalidArgumentError(f"{_WRONG_RANGE}: {low} > {high}")
    if not attrs["range_given"]:
        axes = tuple(i for i in range(x.ndim) if i != axis)
        low, high = wide.min(axes, initial=np.inf), wide.max(axes, initial=-np.inf)
    if axis >= 0:
        shape = [d if i == axis else 1 for i, d in enumerate(x.shape)]
        low, high = low.reshape(shape), high.reshape(shape)
    least, most = (kind(v) for v in _limits(bits, attrs))
    huge = kind(np.finfo(np.float32).max)
    with np.errstate(all="ignore"):
        steps = [np.where(n * e > 0, n / e, huge) for n, e in ((least, low), (most, high))]
        by_low = steps[0] < steps[1]
        scale = np.where(by_low, *steps)
        inverse = np.where(by_low, low / (least or kind(1)), high / most)
        if attrs["range_given"]:
            bottom = np.where(by_low, low, least * inverse)
            wide = np.clip(wide, bottom, np.where(by_low, most * inverse, high))
        scaled = wide * scale
        half_up = attrs.get("round_mode") == "HALF_UP"
        whole = np.floor(scaled + kind(0.5)) if half_up else np.rint(scaled)
        return (whole * inverse).astype(x.dtype)


def _define(name: str, signature: str, examples: Sequence[str], gradient: Any) -> None:
    def build(b: Builder, node: Node) -> Value:
        if len(node.inputs) == 1:
            ends = (node.attrs["input_min"], node.attrs["input_max"])
            low, high = (b.const(e, node.output.type.dtype) for e in ends)
            return _build(b, node, low, high, node.attrs["num_bits"])
        bits = node.attrs.get("num_bits")
        if bits is None:
            known = b.content(node.inputs[3])
            assert known is not None  # `infer` asked for it
            bits = int(known[()])
        return _build(b, node, node.inputs[1], node.inputs[2], bits)

    def reference(x: Any, low: Any = None, high: Any = None, bits: Any = None, **attrs: Any) -> Any:
        if low is None:
            low, high = attrs["input_min"], attrs["input_max"]
        return _rounded(x, low, high, int(attrs.get("num_bits", bits)), attrs)

    define(
        name,
        signature,
        infer=_infer,
        lowering=Decompose(build),
        reference=reference,
        gradient=gradient,
        examples=tuple(examples),
    )


_VERSION_2 = (
    f"signed_input: bool = True, num_bits: int = 8, range_given: bool = False, T: {TYPES},"
    f" {ROUNDING}, narrow_range: bool = False, axis: int = -1"
)
_define(
    "quantize_and_dequantize_v1",
    "QuantizeAndDequantize(input: T; signed_input: bool = True, num_bits: int = 8, range_given:"
    f" bool = False, input_min: float = 0, input_max: float = 0, T: {TYPES}) -> output: T",
    ("T[3,4]", "f32[3,4]; range_given=True, input_min=-1.0, input_max=2.0, num_bits=4"),
    same_gradient,
)
_define(
    "quantize_and_dequantize_v2",
    f"QuantizeAndDequantizeV2(input: T, input_min: T, input_max: T; {_VERSION_2}) -> output: T",
    (
        "T[3,4] T[]=-2.0 T[]=3.0",
        "f32[3,4] f32[]=-2.0 f32[]=3.0; range_given=True",
        "f32[3,4] f32[]=0.0 f32[]=3.0; range_given=True, signed_input=False, num_bits=4",
        'f32[3,4] f32[]=-2.0 f32[]=1.0; round_mode="HALF_UP", narrow_range=True, num_bits=5',
    ),
    lambda b, node, dy: (dy, None, None),
)
_define(
    "quantize_and_dequantize_v3",
    "QuantizeAndDequantizeV3(input: T, input_min: T, input_max: T, num_bits: i32; signed_input:"
    f" bool = True, range_given: bool = True, T: {TYPES}, narrow_range: bool = False,"
    " axis: int = -1) -> output: T",
    ("T[3,4] T[]=-2.0 T[]=3.0 i32[]=6", "f32[3,4] f32[] f32[] i32[]=8; range_given=False"),
    lambda b, node, dy: (dy, None, None, None),
)


def _range_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    return b.quantize_and_dequantize_v4_grad(dy, *node.inputs, axis=node.attrs["axis"])


_define(
    "quantize_and_dequantize_v4",
    f"QuantizeAndDequantizeV4(input: T, input_min: T, input_max: T; {_VERSION_2}) -> output: T",
    ("T[3,4] T[]=-2.0 T[]=3.0; range_given=True",),
    _range_gradient,
)


def _along(shape: Sequence[Any], axis: int) -> tuple[Any, ...]:
    return tuple(d if i == axis else 1 for i, d in enumerate(shape))


def _infer_grad(c: Inference) -> list[Dims]:
    axis = c.attrs["axis"]
    c.match_dims(c.dims(1), c.dims(0), "gradients must have the shape of the input")
    if axis < -1 or axis >= c.rank(1):
        raise c.fail(f"Axis should be at least -1 and less than the rank, got {axis}")
    ends: Dims = (c.dims(1)[axis],) if axis >= 0 else ()
    for i in (2, 3):
        if len(c.dims(i)) != len(ends):
            raise c.fail(f"the ends of the range must have rank {len(ends)}, got {c.inputs[i]}")
        c.match_dims(ends, c.dims(i), "the ends of the range must be as many as the axis is long")
    return [c.dims(1), c.dims(2), c.dims(3)]


def _build_grad(b: Builder, node: Node) -> list[Value]:
    dy, x, low, high = node.inputs
    axis = node.attrs["axis"]
    ends = (low, high)
    if axis >= 0:
        low, high = (b.reshape(e, _along(x.dims, axis)) for e in ends)
    inside = b.logical_and(b.greater_equal(x, low), b.less_equal(x, high))
    zero = b.const(0, x.type.dtype)
    return [b.select_v2(inside, dy, zero), *(b.zeros_like(e) for e in ends)]


def _grad(dy: Any, x: Any, low: Any, high: Any, *, axis: int) -> list[Any]:
    own = [e.reshape(_along(x.shape, axis)) if axis >= 0 else e for e in (low, high)]
    inside = (x >= own[0]) & (x <= own[1])
    return [np.where(inside, dy, x.dtype.type(0)), np.zeros_like(low), np.zeros_like(high)]


define(
    "quantize_and_dequantize_v4_grad",
    "QuantizeAndDequantizeV4Grad(gradients: T, input: T, input_min: T, input_max: T;"
    f" T: {TYPES}, axis: int = -1) -> (input_backprop: T, input_min_backprop: T,"
    " input_max_backprop: T)",
    infer=_infer_grad,
    lowering=Decompose(_build_grad),
    reference=_grad,
    examples=(
        "T[3,4] T[3,4] T[]=-2.0 T[]=3.0",
        "f32[3,2] f32[3,2] f32[2]=[-1,-2] f32[2]=[2,1]; axis=1",
    ),
)
