"""Every elementwise record's lowering, evaluated over NumPy arrays, against its reference."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from node_evaluation import apply_op, run_nodes
from tensor_types import tensor_type
from value_gradients import ValueGradients

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.dims import symbol
from flowc.ir.lowering import Elementwise
from flowc.ir.op import Op, call_reference, op_named
from flowc.ops import all_ops
from flowc.ops.gradients import input_gradients
from flowc.ops.math import (
    accumulation,
    arithmetic,
    casts,
    comparison,
    complex_numbers,
    elementwise,
    logic,
    select,
    special_functions,
    unary_arithmetic,
    unary_math,
)
from flowc.ops.nn import activations

_FAMILIES = (
    accumulation, activations, arithmetic, casts, comparison, complex_numbers, logic, select,
    special_functions, unary_arithmetic, unary_math,
)  # fmt: skip
_SPECIAL = (0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 0.5, -0.5, 2.5, -3.0, 6.0, 7.0, 1e-4)
_DIVIDE = {"div", "floor_div", "floor_mod", "truncate_div", "truncate_mod", "mod"}
_ORDERS = {"zeta", "polygamma", "betainc", "igamma", "igammac"}


@dataclass(frozen=True)
class Case:
    op: Op
    attrs: dict[str, Any]
    arrays: tuple[np.ndarray, ...]

    def __str__(self) -> str:
        kinds = "-".join(dtypes.as_dtype(a.dtype).short for a in self.arrays)
        extra = "-".join(v.short for v in self.attrs.values() if isinstance(v, DType))
        return f"{self.op.name}-{kinds}{'-' + extra if extra else ''}"


def values_of(dtype: DType, position: int, name: str) -> np.ndarray:
    """25 values: special ones first, rotated by the operand's position, then random ones."""
    rng = np.random.default_rng(zlib.crc32(f"{name} {dtype} {position}".encode()))
    if dtype is dtypes.bool_:
        return rng.integers(0, 2, 25).astype(np.bool_)
    if dtype.is_integer:
        return _integers(dtype, position, name, rng)
    special = np.roll(np.array(_SPECIAL), 5 * position)
    found = np.concatenate([special, rng.normal(size=11) * 3])
    if name in _ORDERS:
        found = rng.uniform(0.1, 0.9, 25) * (1 if position == 2 else 10)
        found = np.floor(found) + (name == "zeta") * 2 if position == 0 else found
    with np.errstate(all="ignore"):
        if dtype.is_complex:
            found = rng.normal(size=25) * 2
            return (found + 1j * rng.normal(size=25) * 2).astype(dtype.numpy)
        return found.astype(dtype.numpy)


def _integers(dtype: DType, position: int, name: str, rng: np.random.Generator) -> np.ndarray:
    limits = np.iinfo(dtype.numpy)
    if name == "pow":
        return rng.integers(0, 9, 25).astype(dtype.numpy)
    ends = [limits.min, limits.max, 0, 1, 2, 3, limits.max // 2]
    low, high = max(limits.min, -100), min(limits.max, 100)
    found = np.roll(
        np.array([*ends, *rng.integers(low, high, 18).tolist()], dtype.numpy), 3 * position
    )
    if name in _DIVIDE and position == 1:
        found[found == 0] = 3
    return found


def cases_of(op: Op) -> Iterator[Case]:
    """One case for each dtype that the type attrs of the op allow (for Cast: each pair)."""
    if op.name in ("select", "bitcast", "bucketize", "cast"):
        yield from _special_cases(op)
        return
    free = [a for a in op.signature.attrs.values() if a.kind == "type" and a.name in ("T", "SrcT")]
    for dtype in free[0].allowed or () if free else (dtypes.bool_,):
        if dtype in (dtypes.string, dtypes.variant):
            continue  # by host steps, which test_python_functions.py runs, and lists
        attrs: dict[str, Any] = {}
        if "Tout" in op.signature.attrs:
            pairs = {"c64": dtypes.f32, "c128": dtypes.f64, "f32": dtypes.c64, "f64": dtypes.c128}
            attrs["Tout"] = pairs[dtype.short]
        if op.name == "accumulate_n":
            attrs["shape"] = (25,)
        arrays = [
            values_of(dtypes.bool_ if arg.dtype is dtypes.bool_ else dtype, i, op.name)
            for i, arg in enumerate(op.signature.inputs)
        ]
        if op.name in ("add_n", "accumulate_n"):
            arrays = [values_of(dtype, i, op.name) for i in range(3)]
        yield Case(op, attrs, tuple(arrays))


def _special_cases(op: Op) -> Iterator[Case]:
    numbers = [*dtypes.NUMBERS, dtypes.bool_]
    if op.name == "cast":
        for source in numbers:
            for target in numbers:
                x = values_of(source, 0, "cast")
                yield Case(op, {"DstT": target, "Truncate": False}, (x,))
        for source, target in ((dtypes.f64, dtypes.f16), (dtypes.c128, dtypes.c64)):
            x = values_of(source, 0, "cast")
            yield Case(op, {"DstT": target, "Truncate": True}, (x,))
    elif op.name == "select":
        t, e = (values_of(dtypes.f32, i, "select")[:24].reshape(4, 6) for i in (0, 1))
        for c in (np.array(True), np.arange(4) > 1, t > e):
            yield Case(op, {}, (c, t, e))
    elif op.name == "bucketize":
        for dtype in (dtypes.i32, dtypes.i64, dtypes.f32, dtypes.f64):
            yield Case(op, {"boundaries": (-1.0, 0.0, 2.5)}, (values_of(dtype, 0, "bucketize"),))
    else:
        for source in dtypes.NUMBERS:
            for target in dtypes.NUMBERS:
                ratio = max(target.size // source.size, 1)
                x = np.tile(values_of(source, 0, "bitcast"), ratio).reshape(ratio, 25).T.copy()
                x = x if ratio > 1 else x[:, 0].copy()
                yield Case(op, {"type": target}, (x,))


def _is_primitive(op: Op) -> bool:
    """Whether a table of functions defines it, each of which is the primitive of its name."""
    return (
        isinstance(op.lowering, Elementwise) and op.lowering.body.__module__ == elementwise.__name__
    )


CASES = [
    case
    for op in all_ops()
    if any(op in vars(family).values() for family in _FAMILIES)
    or op.name.startswith("bessel")
    or _is_primitive(op)
    for case in cases_of(op)
]


def reference_of(case: Case) -> np.ndarray:
    assert case.op.reference is not None
    kinds = [dtypes.as_dtype(a.dtype) for a in case.arrays]
    attrs: Mapping[str, Any] = case.attrs
    if any(a.number_attr for a in case.op.signature.inputs):
        attrs = {**attrs, "N": len(case.arrays)}
    with np.errstate(all="ignore"):
        (found,) = call_reference(case.op, case.op.reference, case.arrays, attrs, kinds)
    return found


def assert_close(found: np.ndarray, expected: np.ndarray, slack: float = 8.0) -> None:
    """Equal in dtype and shape; floats to `slack` units in the last place, NaN where NaN."""
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    kind = dtypes.as_dtype(found.dtype)
    if not (kind.is_floating or kind.is_complex):
        np.testing.assert_array_equal(found, expected)
        return
    bits = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[kind.real_dtype.short]
    wide = np.complex128 if kind.is_complex else np.float64
    scale = slack * 2.0**-bits
    np.testing.assert_allclose(
        found.astype(wide), expected.astype(wide), rtol=scale, atol=scale * 0.3, equal_nan=True
    )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_lowering_agrees_with_reference(case: Case) -> None:
    (found,) = apply_op(case.op, case.arrays, case.attrs)
    # exp(y log x) amplifies the rounding of the logarithm.
    complex_power = case.op.name == "pow" and case.arrays[0].dtype.kind == "c"
    assert_close(found, reference_of(case), slack=64.0 if complex_power else 8.0)


@pytest.mark.parametrize("name", sorted(_DIVIDE))
def test_integer_division_by_zero_fails(name: str) -> None:
    x, y = np.array([7, 8], np.int32), np.array([2, 0], np.int32)
    op = op_named(name)
    with pytest.raises(InvalidArgumentError, match="Integer division by zero"):
        apply_op(op, (x, y))
    with pytest.raises(InvalidArgumentError, match="Integer division by zero"):
        reference_of(Case(op, {}, (x, y)))


def test_negative_integer_power_fails() -> None:
    x, y = np.array([7], np.int64), np.array([-1], np.int64)
    with pytest.raises(InvalidArgumentError, match="negative integer powers"):
        apply_op(op_named("pow"), (x, y))
    with pytest.raises(InvalidArgumentError, match="negative integer powers"):
        reference_of(Case(op_named("pow"), {}, (x, y)))


def test_scalars_and_broadcasts_keep_their_shape() -> None:
    add = op_named("add")
    for left, right, shape in (((), (), ()), ((2, 1), (3,), (2, 3)), ((0, 2), (1,), (0, 2))):
        case = Case(add, {}, (np.ones(left, np.float32), np.ones(right, np.float32)))
        (found,) = apply_op(add, case.arrays)
        assert found.shape == reference_of(case).shape == shape


def _gradient_cases() -> Iterator[tuple[Op, dict[str, Any]]]:
    for op in {case.op: None for case in CASES}:
        attr = op.signature.attrs.get("T")
        if op.gradient is None or attr is None or dtypes.f64 not in (attr.allowed or ()):
            continue
        other = ("bitcast", "bucketize", "complex")
        if op.signature.outputs[0].dtype is None and op.name not in other:
            yield op, {"shape": (3, 4)} if op.name == "accumulate_n" else {}


@pytest.mark.parametrize(("op", "attrs"), _gradient_cases(), ids=lambda v: getattr(v, "name", ""))
def test_gradient_agrees_with_differences(op: Op, attrs: dict[str, Any]) -> None:
    """Every input's gradient against central differences in f64, with broadcast where allowed."""
    rng = np.random.default_rng(zlib.crc32(op.name.encode()))
    low, high = (1.1, 1.9) if op.name == "acosh" else (0.15, 0.85)
    count = 2 if any(a.number_attr for a in op.signature.inputs) else len(op.signature.inputs)
    arrays: list[np.ndarray] = [rng.uniform(low, high, (3, 4)) for _ in range(count)]
    if op.infer is elementwise.broadcast_dims and count == 2:
        arrays[1] = rng.uniform(low, high, (3, 1))
    if op.name == "clip_by_value":
        arrays[1:] = [np.array(0.3), np.full((3, 4), 0.6)]
    if op.name in ("polygamma", "zeta"):
        arrays[0] = np.full((3, 4), 2.0)
    for i, arg in enumerate(op.signature.inputs):
        if arg.dtype is dtypes.bool_:
            arrays[i] = rng.integers(0, 2, (3, 4)).astype(np.bool_)
    b = Builder()
    values = [
        b.parameter(f"x{i}", tensor_type(dtypes.as_dtype(a.dtype), a.shape))
        for i, a in enumerate(arrays)
    ]
    node = b.emit(op, values, attrs)
    dy = b.parameter("dy", node.output.type)
    weights = rng.normal(size=(3, 4)).astype(dtypes.as_dtype(node.output.type.dtype).numpy)
    gradients = input_gradients(ValueGradients(b), node, dy)
    assert len(gradients) == count
    known = run_nodes(b.nodes, {**dict(zip(values, arrays)), dy: weights})
    for i, gradient in enumerate(gradients):
        if gradient is None or op.name in ("round", "floor"):
            continue
        assert gradient.type == values[i].type
        expected = _differences(op, attrs, arrays, i, weights)
        np.testing.assert_allclose(known[gradient], expected, rtol=2e-4, atol=1e-5)


def _differences(
    op: Op, attrs: dict[str, Any], arrays: list[np.ndarray], which: int, weights: np.ndarray
) -> np.ndarray:
    """d(sum(weights * op(arrays))) / d(arrays[which]) from two evaluations an element."""
    step = 1e-5
    found = np.zeros_like(arrays[which])
    for at in np.ndindex(found.shape):
        totals = []
        for sign in (1, -1):
            moved = [a.copy() for a in arrays]
            moved[which][at] += sign * step
            totals.append(float(np.sum(reference_of(Case(op, attrs, tuple(moved))) * weights)))
        found[at] = (totals[0] - totals[1]) / (2 * step)
    return found


def test_sizes_pass_through_integer_arithmetic() -> None:
    b = Builder()
    n = symbol("n")
    x = b.sizes((n, 6))
    two = b.const(np.array([2, -4], np.int32))

    def elements(value: Value) -> list[Any]:
        found = b.content(value)
        assert found is not None
        return list(found)

    assert elements(b.add(x, two)) == [n + 2, 2]
    assert elements(b.mul(b.neg(x), two)) == [n * -2, 24]
    assert elements(b.floor_div(x, two)) == [n // 2, -2]
    assert elements(b.div(b.neg(x), two)) == [(n // 2) * -1, 1]
    assert elements(b.floor_mod(b.mul(x, two), two)) == [0, 0]
    assert elements(b.maximum(x, b.const(np.array(0, np.int32)))) == [n, 6]
    assert elements(b.cast(b.square(x), DstT=dtypes.i64)) == [n * n, 36]
    assert elements(b.add_n(x, x)) == [n * 2, 12]
