"""Choices by condition: Select, SelectV2, ClipByValue, Bucketize."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Elementwise, Lowering
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder, no_gradient
from flowc.ops.math.elementwise import Array, broadcast_dims, map_op, primitive


def _infer_select(c: Inference) -> Dims:
    """The condition is a scalar, has the shape of t and e, or is a vector over their first axis."""
    if c.rank(1) != c.rank(2):
        raise c.fail("'t' and 'e' must have the same size")
    dims = tuple(c.equal(x, y) for x, y in zip(c.dims(1), c.dims(2)))
    condition = c.dims(0)
    if condition == ():
        return dims
    if len(condition) == len(dims):
        return tuple(c.equal(x, y) for x, y in zip(condition, dims))
    if len(condition) != 1 or not dims:
        raise c.fail("'condition' must be a scalar, a vector, or of the shape of 't' and 'e'")
    return (c.equal(condition[0], dims[0]), *dims[1:])


def _lower_select(node: Node) -> Lowering:
    condition, value = node.inputs[0], node.inputs[1]
    if condition.type.rank in (0, value.type.rank):
        return Elementwise(primitive("select"))

    def build(b: Builder, inner: Node) -> Value:
        rows, x, y = inner.inputs
        column = b.reshape(rows, (rows.dims[0], *(1,) * (x.type.rank - 1)))
        return b.select_v2(column, x, y)

    return Decompose(build)


def _select(condition: Array, t: Array, e: Array) -> Array:
    if 0 < condition.ndim < t.ndim:
        condition = condition.reshape(condition.shape + (1,) * (t.ndim - 1))
    return np.where(condition, t, e)


def _select_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    condition = node.inputs[0]
    zeros = b.zeros_like(dy)
    return None, b.select(condition, dy, zeros), b.select(condition, zeros, dy)


def _select_v2_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    condition, t, e = node.inputs
    zero = b.const(0, dy.dtype)
    return (
        None,
        b.sum_to_shape_of(b.select_v2(condition, dy, zero), t),
        b.sum_to_shape_of(b.select_v2(condition, zero, dy), e),
    )


select = define(
    "select",
    "Select(condition: bool, t: T, e: T; T: type) -> output: T",
    infer=_infer_select,
    lowering=_lower_select,
    reference=_select,
    gradient=_select_gradient,
    traits=frozenset({"chooses"}),
    examples=(
        "bool[2,3] T[2,3] T[2,3]",
        "bool[] T[2,3] T[2,3]",
        "bool[4] T[4,3] T[4,3]",
        "bool[] T[] T[]",
        "bool[0] T[0,3] T[0,3]",
    ),
)

select_v2 = define(
    "select_v2",
    "SelectV2(condition: bool, t: T, e: T; T: type) -> output: T",
    infer=broadcast_dims,
    lowering=Elementwise(primitive("select")),
    reference=lambda condition, t, e: np.where(condition, t, e),
    gradient=_select_v2_gradient,
    traits=frozenset({"chooses"}),
    examples=(
        "bool[2,3] T[2,3] T[2,3]",
        "bool[2,1] T[3] T[]",
        "bool[] T[2,1] T[1,3]",
        "bool[] T[] T[]",
        "bool[0,1] T[1,3] T[3]",
    ),
)


def _infer_clip(c: Inference) -> Dims:
    for i in (1, 2):
        if c.rank(i) not in (0, c.rank(0)):
            raise c.fail(
                "clip_value_min and clip_value_max must be either of the same shape as input, "
                "or a scalar"
            )
        for x, y in zip(c.dims(0), c.dims(i)):
            c.equal(x, y)
    return c.dims(0)


def _clip_expr(k: Any, x: Any, low: Any, high: Any) -> Any:
    below = k.select(k.gt(x, high), high, x)
    return k.select(k.lt(below, low), low, below)


def _clip_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    x, low, high = node.inputs
    zero = b.const(0, x.dtype)
    below, above = b.less(x, low), b.greater(x, high)
    inside = b.logical_not(b.logical_or(below, above))
    return (
        b.select_v2(inside, dy, zero),
        b.sum_to_shape_of(b.select_v2(below, dy, zero), low),
        b.sum_to_shape_of(b.select_v2(above, dy, zero), high),
    )


def _clip(x: Array, low: Array, high: Array) -> Array:
    below = np.where(x > high, high, x)
    return np.where(below < low, low, below)


# A bound that is NaN bounds nothing; where min is above max, the result is min.
clip_by_value = map_op(
    "clip_by_value",
    "ClipByValue(t: T, clip_value_min: T, clip_value_max: T; T: REAL) -> output: T",
    _clip_expr,
    _clip,
    infer=_infer_clip,
    gradient=_clip_gradient,
    examples=("T[2,3] T[]=1 T[]=3", "T[2,3] T[2,3] T[2,3]", "T[5] T[]=3 T[5]", "T[] T[] T[]"),
)


def _infer_bucketize(c: Inference) -> Dims:
    boundaries = c.attrs["boundaries"]
    if list(boundaries) != sorted(boundaries):
        raise c.fail("Expected sorted boundaries")
    return c.dims(0)


def _lower_bucketize(node: Node) -> Lowering:
    """Counts the boundaries that x is not below."""
    wide = dtypes.f64 if node.inputs[0].type.dtype is dtypes.f64 else dtypes.f32

    def expr(k: Any, x: Any) -> Any:
        value = k.cast(x, wide)
        count = k.const(0, dtypes.i32)
        for boundary in node.attrs["boundaries"]:
            limit = k.const(float(np.float32(boundary)), wide)
            count = k.add(count, k.cast(k.logical_not(k.lt(value, limit)), dtypes.i32))
        return count

    return Elementwise(expr)


def _bucketize(input: Array, *, boundaries: Sequence[float]) -> Array:
    wide = np.float64 if input.dtype == np.float64 else np.float32
    limits = np.asarray(boundaries, np.float32).astype(wide)
    below = input.astype(wide)[..., None] < limits
    return np.asarray(np.sum(~below, axis=-1, dtype=np.int32), np.int32)


bucketize = define(
    "bucketize",
    "Bucketize(input: T; T: {i32, i64, f32, f64}, boundaries: list(float)) -> output: i32",
    infer=_infer_bucketize,
    lowering=_lower_bucketize,
    reference=_bucketize,
    gradient=no_gradient,
    examples=(
        "T[17]; boundaries=(-1.0,0.0,0.5,3.0)",
        "T[2,3]; boundaries=()",
        "T[]; boundaries=(2.5,)",
        "T[0]; boundaries=(1.0,)",
    ),
)
