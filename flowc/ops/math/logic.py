"""Logic on booleans, and on the bits of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.ir.lowering import Elementwise
from flowc.ir.op import Op, define
from flowc.ops.gradients import no_gradient
from flowc.ops.math.elementwise import Array, broadcast_dims, map_op, primitive, same_dims

_PAIRS = ("T[2,3] T[3]", "T[4,1] T[1,5]", "T[] T[7]", "T[0,2] T[1,2]")
_BOOL_PAIRS = tuple(e.replace("T", "bool") for e in _PAIRS)


for _name, _tf_name, _of_two in (
    ("logical_and", "LogicalAnd", np.logical_and),
    ("logical_or", "LogicalOr", np.logical_or),
):
    map_op(
        _name,
        f"{_tf_name}(x: bool, y: bool) -> z: bool",
        primitive(_name),
        _of_two,
        infer=broadcast_dims,
        gradient=no_gradient,
        traits=("commutative", "associative"),
        examples=_BOOL_PAIRS,
    )
logical_not = map_op(
    "logical_not",
    "LogicalNot(x: bool) -> y: bool",
    primitive("logical_not"),
    np.logical_not,
    gradient=no_gradient,
    traits=("involution",),
    examples=("bool[17]", "bool[]", "bool[0]"),
)


def _bitwise(name: str, tf_name: str, expr: Any, reference: Any, *traits: str) -> Op:
    return map_op(
        name,
        f"{tf_name}(x: T, y: T; T: INT) -> z: T",
        expr,
        reference,
        infer=broadcast_dims,
        gradient=no_gradient,
        traits=traits,
        examples=_PAIRS,
    )


for _name, _tf_name, _of_two in (
    ("bitwise_and", "BitwiseAnd", np.bitwise_and),
    ("bitwise_or", "BitwiseOr", np.bitwise_or),
    ("bitwise_xor", "BitwiseXor", np.bitwise_xor),
):
    _bitwise(_name, _tf_name, primitive(_name), _of_two, "commutative", "associative")


def _shift_expr(primitive: str) -> Any:
    """The count is clamped to [0, bits - 1], as TensorFlow does."""

    def expr(k: Any, x: Any, count: Any) -> Any:
        inside = k.min(k.max(count, 0), x.dtype.size * 8 - 1)
        return getattr(k, primitive)(x, inside)

    return expr


def _clamped(count: Array) -> Array:
    return np.clip(count, 0, count.dtype.itemsize * 8 - 1).astype(count.dtype)


left_shift = _bitwise(
    "left_shift",
    "LeftShift",
    _shift_expr("shift_left"),
    lambda x, y: np.left_shift(x, _clamped(y)),
)
right_shift = _bitwise(
    "right_shift",
    "RightShift",
    _shift_expr("shift_right"),
    lambda x, y: np.right_shift(x, _clamped(y)),
)

invert = map_op(
    "invert",
    "Invert(x: T; T: INT) -> y: T",
    primitive("bitwise_not"),
    np.invert,
    gradient=no_gradient,
    traits=("involution",),
    examples=("T[17]", "T[]", "T[0]"),
)


def _population_count(x: Array) -> Array:
    return np.asarray(np.bitwise_count(x.view(f"u{x.dtype.itemsize}")), np.uint8)


population_count = define(
    "population_count",
    "PopulationCount(x: T; T: INT) -> y: u8",
    infer=same_dims,
    lowering=Elementwise(lambda k, x: k.cast(k.popcount(x), dtypes.u8)),
    reference=_population_count,
    gradient=no_gradient,
    examples=("T[17]", "T[]", "T[0]"),
)
