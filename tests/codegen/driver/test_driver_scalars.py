"""Scalars that the driver computes itself: as the references do, and without a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ir_reference import reference_results
from tensor_types import tensor_type

from flowc import dtypes
from flowc.codegen.program import Stages
from flowc.compiler import Report, compile_computation
from flowc.dtypes import DType
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Value
from flowc.ir.op import op_named
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.run.executable import Executable

INTEGERS = (dtypes.i8, dtypes.u8, dtypes.i32, dtypes.u32, dtypes.i64, dtypes.u64)


def branch(dtype: DType, build: Any) -> Computation:
    """A branch on two scalars: `build(b, x, y)` where p holds, the first of them elsewhere."""
    b = Builder()
    given = [b.parameter("p", tensor_type("bool", ()))]
    given += [b.parameter(n, tensor_type(dtype, ())) for n in "xy"]
    then, otherwise = Builder(), Builder()
    results = build(then, *(then.parameter(n, given[1].type) for n in "xy"))
    (first,) = (otherwise.parameter("x", given[1].type),)
    otherwise.parameter("y", given[1].type)
    others = [first if v.type.dtype is dtype else otherwise.const(0, v.type.dtype) for v in results]
    attrs = {
        "then": then.build(results),
        "otherwise": otherwise.build(others),
        "Tout": tuple(v.type.dtype for v in results),
    }
    return b.build(b.emit(op_named("if"), given, attrs).outputs)


def check(c: Computation, pairs: Any, *, kernels: int = 0) -> None:
    report = Report(stages=Stages())
    names = ["p", "x", "y"], [f"out{i}" for i in range(len(c.results))]
    run = Executable(compile_computation(c, Options(), spec_of(c, *names), report=report)).run
    assert len(report.stages.kernels) == kernels
    kind = c.parameters[1].output.type.dtype.numpy
    for p in (True, False):
        for x, y in pairs:
            arrays = [np.array(p), np.array(x, kind), np.array(y, kind)]
            for found, wanted in zip(run(arrays), reference_results(c, arrays), strict=True):
                assert found.dtype == wanted.dtype
                np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers(dtype: DType) -> None:
    def build(b: Builder, x: Value, y: Value) -> list[Value]:
        three = b.const(3, dtype)
        found = [b.add(x, y), b.sub(x, y), b.mul(x, y), b.maximum(x, y), b.minimum(x, y)]
        found += [b.floor_mod(x, three), b.floor_div(x, three)]
        found += [b.truncate_div(x, three), b.truncate_mod(x, three)]
        found += [b.less(x, y), b.less_equal(x, y), b.greater(x, y), b.greater_equal(x, y)]
        found += [b.equal(x, y), b.not_equal(x, y), b.select_v2(b.less(x, y), x, three)]
        found += [b.bitwise_and(x, y), b.bitwise_or(x, y), b.bitwise_xor(x, y), b.invert(x)]
        found += [b.cast(x, DstT=t) for t in (*INTEGERS, dtypes.bool_)]
        both = b.logical_or(b.logical_and(b.less(x, y), b.less(y, three)), b.equal(x, three))
        return [*found, both, b.logical_not(both), b.cast(both, DstT=dtype)]

    limits = np.iinfo(dtype.numpy)
    numbers = [0, 1, 3, 7, limits.max, limits.min, limits.max - 1, limits.min // 2]
    check(branch(dtype, build), [(x, y) for x in numbers for y in numbers])


@pytest.mark.parametrize("dtype", [dtypes.f32, dtypes.f64], ids=str)
def test_floats(dtype: DType) -> None:
    def build(b: Builder, x: Value, y: Value) -> list[Value]:
        found = [b.add(x, y), b.sub(x, y), b.mul(x, y), b.neg(x)]
        found += [b.less(x, y), b.less_equal(x, y), b.equal(x, y), b.not_equal(x, y)]
        return [*found, b.add(x, b.const(0.1, dtype))]

    numbers = [0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan, 1e-40]
    check(branch(dtype, build), [(x, y) for x in numbers for y in numbers])


def test_scalars_outside_of_bodies() -> None:
    """Counters of steps and the powers of their factors, which programs that train have."""
    b = Builder()
    p = b.parameter("p", tensor_type("bool", ()))
    x, y = (b.parameter(n, tensor_type(dtypes.f32, ())) for n in "xy")
    found = [b.mul(x, y), b.sub(b.const(1.0, dtypes.f32), x), b.less(x, y), b.logical_not(p)]
    check(b.build(found), [(0.9, 0.999), (-0.0, 2.0)])


def test_what_may_fault_is_left_to_kernels() -> None:
    c = branch(dtypes.i32, lambda b, x, y: [b.floor_mod(x, y), b.floor_div(x, y)])
    check(c, [(7, 2), (-7, 2), (-(2**31), -1)], kernels=2)
    c = branch(dtypes.f32, lambda b, x, y: [b.cast(b.exp(b.mul(x, y)), DstT=dtypes.i32)])
    check(c, [(1.0, 2.0)], kernels=1)
