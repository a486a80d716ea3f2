"""Loop nests: their text reads back, the check holds of what is built and bites."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from calls.op_examples import Case, cases_of
from tensor_types import tensor_type

from flowc import dtypes
from flowc.codegen.cpu.numba_source import NumbaSource
from flowc.codegen.kernels.builder import int_name, int_number
from flowc.codegen.kernels.check import check_nest
from flowc.codegen.kernels.nest import (
    Apply,
    Assign,
    Carve,
    Declare,
    Expression,
    For,
    IndexSum,
    Let,
    Literal,
    Load,
    LoopNest,
    Name,
    Statement,
    Store,
    result_dtype,
)
from flowc.codegen.kernels.text import nest_text, parse_nest
from flowc.codegen.program import launches_of
from flowc.codegen.targets import target_named
from flowc.dtypes import DType
from flowc.errors import InternalError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation
from flowc.ir.dims import symbol
from flowc.ir.inference import NeedsContent
from flowc.ir.op import Op
from flowc.ir.scalar import PRIMITIVES
from flowc.ir.types import TensorType
from flowc.ops import all_ops
from flowc.options import Options
from flowc.passes.pipeline import run_passes

F32, I64 = dtypes.f32, dtypes.i64


def nests_of(c: Computation) -> Iterator[tuple[LoopNest, str]]:
    """The nests of a Computation's kernels, with the sources that were rendered from them."""
    for launches in launches_of(run_passes(c, Options()), target_named("x86-64-v3")).values():
        for kernel in (k for x in launches for k in x.kernels):
            if kernel.nest is not None:
                yield kernel.nest, kernel.source


def assert_reads_back(nest: LoopNest, source: str) -> None:
    check_nest(nest)
    found = parse_nest(nest_text(nest))
    assert found == nest
    assert NumbaSource(found).text == source


def type_of(array: np.ndarray) -> TensorType:
    return tensor_type(dtypes.as_dtype(array.dtype), array.shape)


def computation_of(case: Case) -> Computation:
    """The op alone; whole numbers that its example gives are constants."""
    b = Builder()
    inputs = [
        b.const(a)
        if x.given and a.dtype.kind in "iub"
        else b.parameter(f"x{i}", tensor_type(t, a.shape))
        for i, (x, a, t) in enumerate(zip(case.operands, case.inputs, case.dtypes))
    ]
    return b.build(b.emit(case.op, inputs, case.attrs).outputs)


def few_cases(op: Op) -> list[Case]:
    """One of every dtype that nests hold in a way of its own."""
    found: dict[DType | None, Case] = {}
    for case in cases_of(op):
        own = [d for d in case.bound.values() if d in (dtypes.f16, dtypes.c64, dtypes.bool_)]
        found.setdefault(own[0] if own else None, case)
    return list(found.values())


@pytest.mark.parametrize("part", range(8))
def test_nests_of_every_op_read_back(part: int) -> None:
    found = 0
    for case in (c for op in all_ops()[part::8] for c in few_cases(op)):
        try:
            c = computation_of(case)
        except NeedsContent:
            continue
        for nest, source in nests_of(c):
            assert_reads_back(nest, source)
            found += 1
    assert found > 50


def test_sizes_that_are_not_known_and_epilogues() -> None:
    b = Builder()
    n = symbol("n")
    x = b.parameter("x", tensor_type(F32, (n, 8)))
    product = b.mat_mul(x, b.const(np.ones((8, 64), np.float32)))
    y = b.softmax(b.sigmoid(product))
    found = list(nests_of(b.build([y, b.transpose(y, np.array([1, 0], np.int32))])))
    assert {nest.ranges for nest, _ in found} == {
        ("begin", "end"), ("begin", "end", "first", "last")
    }  # fmt: skip
    for nest, source in found:
        assert_reads_back(nest, source)


ELEMENT = Let("t1", Load("x0", int_name("i"), F32))
TWICE = Let("t2", Apply("add", (Name("t1", F32), Name("t1", F32)), F32))
STORE = Store("y0", int_name("i"), Name("t2", F32))


def nest_of(*body: Statement) -> LoopNest:
    loop = For("i", int_name("begin"), int_name("end"), 1, body)
    return LoopNest((("x0", F32), ("y0", F32)), ("n0",), ("begin", "end"), (loop,))


def test_text() -> None:
    nest = nest_of(ELEMENT, TWICE, STORE)
    check_nest(nest)
    assert nest_text(nest) == (
        "def kernel(x0: f32, y0: f32, /, n0, *, begin, end):\n"
        "    for i in range(begin, end):\n"
        "        t1: f32 = x0[i]\n"
        "        t2: f32 = add(t1, t1)\n"
        "        y0[i] = t2\n"
    )
    assert_reads_back(nest, NumbaSource(nest).text)


ONE = Literal("1.0", F32)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ((TWICE,), "t1 is not defined"),
        ((ELEMENT, ELEMENT), "t1 is defined twice"),
        ((ELEMENT, Assign("t1", ONE)), "t1 is assigned, but no variable"),
        ((Declare("s1", ONE), Assign("s1", Literal("1", I64))), "s1 is f32, not i64"),
        ((Let("t1", Load("x1", int_name("i"), F32)),), "there is no buffer x1"),
        ((Let("t1", Load("x0", int_name("i"), I64)),), "x0 has no elements of i64"),
        ((Let("t1", Load("x0", IndexSum(((2, ("j",)),)), F32)),), "j is no int in sight"),
        ((Store("y0", int_name("i"), int_number(1)),), "y0 is f32, not i64"),
        ((Let("t1", Apply("add", (ONE, int_number(1)), F32)),), "add is f32, not i64"),
        ((Let("t1", Apply("lt", (ONE, ONE), F32)),), "lt is bool, not f32"),
        ((Let("t1", Apply("plus", (ONE, ONE), F32)),), "no op plus takes 2 operands"),
        ((Carve("a0", F32, int_number(0)),), "a0 is in scratch memory"),
        ((For("i", int_number(0), int_number(3), 1, ()),), "i is defined twice"),
    ],
)
def test_what_is_malformed_is_refused(body: tuple[Statement, ...], fault: str) -> None:
    with pytest.raises(InternalError, match=fault):
        check_nest(nest_of(*body))


def test_names_are_known_to_the_end_of_their_block() -> None:
    inside = For("j", int_number(0), int_number(3), 1, (ELEMENT, TWICE))
    check_nest(nest_of(inside, inside))
    with pytest.raises(InternalError, match="t2 is not defined"):
        check_nest(nest_of(inside, STORE))


@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_every_primitive_is_rendered_for_every_kind_that_it_takes(name: str) -> None:
    primitive = PRIMITIVES[name]
    of_kind = {"f": F32, "i": I64, "u": dtypes.u8, "b": dtypes.bool_, "c": dtypes.c64}
    for kind in primitive.kinds:
        x = Name("x", of_kind[kind])
        operands: tuple[Expression, ...] = (x,) * primitive.operands
        if kind == "c" and name in ("abs", "sign", "mul", "div"):
            continue  # written by parts
        dtype = result_dtype(name, [x.dtype] * primitive.operands)
        assert dtype is not None
        nest = LoopNest((("y0", dtype),), (), (), (Let("t1", Apply(name, operands, dtype)),))
        assert "t1 = " in NumbaSource(nest).text


@pytest.mark.parametrize(
    ("op", "dtype", "fault"),
    [("exp", I64, "exp does not take i64"), ("abs", dtypes.c64, "abs has no form for c64")],
)
def test_what_has_no_form_is_refused(op: str, dtype: DType, fault: str) -> None:
    body = (Let("t1", Apply(op, (Name("x", dtype),), dtype)),)
    with pytest.raises(InternalError, match=fault):
        NumbaSource(LoopNest((), (), (), body))
