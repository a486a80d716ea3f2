"""Comparisons, and tests for NaN and infinity."""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.ir.computation import Node
from flowc.ir.dims import Expr
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Elementwise, Lowering
from flowc.ir.op import Op, define
from flowc.ir.types import Dims
from flowc.ops.gradients import no_gradient
from flowc.ops.math.elementwise import Array, broadcast_dims, equal_dims, map_op, numpy_reference

_ANY = "{f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool, c64, c128}"
_PAIRS = (
    "T[2,3] T[3]",
    "T[4,1] T[1,5]",
    "T[] T[7]~small",
    "T[0,2] T[1,2]",
    "T[9]~small T[9]~small",
)


def _broadcast(left: Dims, right: Dims) -> bool:
    """Whether two shapes may broadcast; sizes that are not known may."""
    pairs = zip(reversed(left), reversed(right))
    return all(
        isinstance(x, Expr) or isinstance(y, Expr) or x == y or 1 in (x, y) for x, y in pairs
    )


def _infer_equality(c: Inference) -> Dims:
    if not c.attrs["incompatible_shape_error"] and not _broadcast(c.dims(0), c.dims(1)):
        return ()
    return c.broadcast()


def _equality(name: str, tf_name: str, primitive: str, compare: Any, apart: bool) -> Op:
    """Equal or NotEqual; `apart` is the answer for shapes that do not broadcast, where the attr
    incompatible_shape_error does not make them an error."""

    def lowering(node: Node) -> Lowering:
        if not _broadcast(node.inputs[0].dims, node.inputs[1].dims):
            return Decompose(lambda b, _: b.const(np.asarray(apart)))
        if node.inputs[0].type.dtype is dtypes.string:
            return Decompose(lambda b, node: b.string_equal(*node.inputs, negated=apart))
        return Elementwise(lambda k, x, y: getattr(k, primitive)(x, y))

    def reference(x: Array, y: Array, *, incompatible_shape_error: bool) -> Array:
        if not incompatible_shape_error and not _broadcast(x.shape, y.shape):
            return np.asarray(apart)
        return np.asarray(compare(x, y))

    return define(
        name,
        f"{tf_name}(x: T, y: T; T: {_ANY[:-1]}, string}},"
        " incompatible_shape_error: bool = True) -> z: bool",
        infer=_infer_equality,
        lowering=lowering,
        reference=reference,
        gradient=no_gradient,
        traits=frozenset({"commutative"}),
        examples=_PAIRS,
    )


equal = _equality("equal", "Equal", "eq", np.equal, False)
not_equal = _equality("not_equal", "NotEqual", "ne", np.not_equal, True)


def _ordering(name: str, tf_name: str, primitive: str, compare: Any) -> Op:
    return map_op(
        name,
        f"{tf_name}(x: T, y: T; T: REAL) -> z: bool",
        lambda k, x, y: getattr(k, primitive)(x, y),
        compare,
        infer=broadcast_dims,
        gradient=no_gradient,
        examples=_PAIRS,
    )


less = _ordering("less", "Less", "lt", np.less)
less_equal = _ordering("less_equal", "LessEqual", "le", np.less_equal)
greater = _ordering("greater", "Greater", "gt", np.greater)
greater_equal = _ordering("greater_equal", "GreaterEqual", "ge", np.greater_equal)


def _approximate(node: Node) -> Lowering:
    tolerance = float(np.float32(node.attrs["tolerance"]))
    return Elementwise(lambda k, x, y: k.le(k.abs(k.sub(x, y)), tolerance))


def _approximate_reference(x: Array, y: Array, *, tolerance: float) -> Array:
    return np.abs(x - y) <= np.asarray(np.float32(tolerance)).astype(x.dtype)


# TensorFlow has CPU kernels for these two dtypes only.
approximate_equal = define(
    "approximate_equal",
    "ApproximateEqual(x: T, y: T; T: {f32, f64}, tolerance: float = 1e-05) -> z: bool",
    infer=equal_dims,
    lowering=_approximate,
    reference=numpy_reference(_approximate_reference),
    gradient=no_gradient,
    traits=frozenset({"commutative"}),
    examples=("T[9]~small T[9]~small; tolerance=1.0", "T[2,3] T[2,3]", "T[0] T[0]"),
)


def _float_test(name: str, tf_name: str, primitive: str, reference: Any) -> Op:
    return map_op(
        name,
        f"{tf_name}(x: T; T: FLOAT) -> y: bool",
        lambda k, x: getattr(k, primitive)(x),
        reference,
        gradient=no_gradient,
        examples=("T[17]", "T[2,3]", "T[]", "T[0]"),
    )


is_nan = _float_test("is_nan", "IsNan", "is_nan", np.isnan)
is_inf = _float_test("is_inf", "IsInf", "is_inf", np.isinf)
is_finite = _float_test("is_finite", "IsFinite", "is_finite", np.isfinite)
