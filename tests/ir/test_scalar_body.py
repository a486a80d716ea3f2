"""Scalar bodies: what is recorded says the same as what it was recorded from, also as text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from calls.op_examples import Case, cases_of
from node_evaluation import evaluate_node
from tensor_types import tensor_type

from flowc import dtypes
from flowc.errors import InternalError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node
from flowc.ir.dims import Dim, Symbol, symbol
from flowc.ir.inference import NeedsContent
from flowc.ir.op import Op
from flowc.ir.scalar_body import (
    BodyLiteral,
    Instruction,
    Recorder,
    Result,
    ScalarBody,
    index_symbols,
    record_map,
    record_view,
)
from flowc.ir.text.scalar_text import body_text, parse_body
from flowc.ops import all_ops
from flowc.options import Options
from flowc.passes.decompose import decompose
from flowc.passes.lower import lower

F32, I32, BOOL = dtypes.f32, dtypes.i32, dtypes.bool_
N = symbol("n")


def softplus(k: Any, x: Any) -> Any:
    return k.add(k.max(x, 0), k.log1p(k.exp(k.neg(k.abs(x)))))


def gathered(k: Any, index: tuple[Dim, ...]) -> Any:
    place = k.checked_index(k.load(1, index[:1]), N, "row {value} of {extent}; or none")
    inside = k.in_range(index[1], 1, 4)
    return k.load_if(inside, 0, (place, index[1] - 1), k.const(0, F32))


def test_a_map_is_recorded() -> None:
    body = record_map(lambda k, x: k.mul(x, 2), [I32])
    x = Result(0, I32)
    found = Instruction("mul", (x, BodyLiteral(2, I32)), I32)
    assert body == ScalarBody((I32,), None, (found,), Result(1, I32))
    assert body.dtype is I32 and body.read == (0,)


def test_a_recorded_body_makes_the_same_calls_again() -> None:
    body = record_map(softplus, [F32])
    k = Recorder([F32])
    assert k.body(body(k, *k.elements)) == body
    view = record_view(gathered, [F32, I32], (N, 4))
    k = Recorder([F32, I32], 2)
    assert k.body(view(k, index_symbols((N, 4)))) == view


def test_what_can_be_proved_of_an_index_is_seen_where_the_body_is_used() -> None:
    body = record_view(lambda k, index: k.load(0, (index[0] // 4, index[0] % 4)), [F32], (12,))
    k = Recorder([F32], 2)
    row, column = symbol("row", 3), symbol("column", 4)
    body(k, (row * 4 + column,))
    assert k.instructions[0].dims == (row, column)


def test_texts() -> None:
    assert body_text(record_map(softplus, [F32])) == ("add(max(x0, 0.0), log1p(exp(neg(abs(x0)))))")
    assert body_text(record_view(gathered, [F32, I32], (N, 4))) == (
        "p0 = checked_index(x1[i0], n, 'row {value} of {extent}; or none'); "
        "load_if(in_range(i1, 1, 4), x0[p0, i1 - 1], 0.0)"
    )
    assert body_text(record_map(lambda k, x: k.div(k.exp(x), k.add(k.exp(x), 1)), [F32])) == (
        "div(exp(x0), add(exp(x0), 1.0))"
    )

    def twice(k: Any, x: Any) -> Any:
        e = k.exp(x)
        return k.div(e, k.add(e, 1))

    assert body_text(record_map(twice, [F32])) == "v0 = exp(x0); div(v0, add(v0, 1.0))"


NUMBERS = [
    BodyLiteral(-0.0, F32), BodyLiteral(float("nan"), F32), BodyLiteral(float("-inf"), dtypes.f64),
    BodyLiteral(0.1, dtypes.f16), BodyLiteral(-(1 << 63), dtypes.i64),
    BodyLiteral((1 << 64) - 1, dtypes.u64),
    BodyLiteral(True, BOOL), BodyLiteral(1.5 - 2j, dtypes.c64),
]  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS, ids=str)
def test_numbers_keep_their_bits(number: BodyLiteral) -> None:
    body = ScalarBody((), None, (), number)
    again = parse_body(body_text(body), (), None).result
    assert isinstance(again, BodyLiteral) and again.dtype is number.dtype
    assert repr(again.value) == repr(number.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("add(x0, x1)", "malformed|x1"),
        ("add(x0)", "takes 2 operands"),
        ("frobnicate(x0)", "no scalar primitive is named 'frobnicate'"),
        ("add(x0, cast(x0, f64))", "different dtypes"),
        ("x3[0]", "x3 is not among the 1 inputs"),
        ("check(is_nan(x0), 'no')", "is no scalar"),
    ],
)
def test_what_is_no_body(text: str, message: str) -> None:
    with pytest.raises((ValueError, InternalError), match=message):
        parse_body(text, [F32], None)


def test_sizes_are_replaced_and_inputs_dropped() -> None:
    body = record_view(gathered, [F32, I32], (N, 4))
    assert body.sizes == {Symbol("n")}
    assert body.with_sizes({Symbol("n"): symbol("m") * 2}).sizes == {Symbol("m")}
    one = record_view(lambda k, index: k.load(2, index), [F32, I32, F32], (4,))
    assert one.read == (2,)
    assert body_text(one.with_inputs((2,))) == "x0[i0]"
    last = record_map(lambda k, x, y: k.neg(k.abs(y)), [F32, I32])
    assert body_text(last.with_inputs(last.read)) == "neg(abs(x0))"


LOWERED = [op for op in all_ops() if op.examples and op.reference is not None]


def computation(case: Case, constant: bool) -> tuple[Computation, list[np.ndarray]]:
    """One op; inputs that its example gives are constants, or all that are whole numbers."""
    b = Builder()
    inputs, arrays = [], []
    for i, (x, array) in enumerate(zip(case.operands, case.inputs)):
        if x.given and (constant or array.dtype.kind in "iub"):
            inputs.append(b.const(array))
        else:
            inputs.append(b.parameter(f"x{i}", tensor_type(case.dtypes[i], array.shape)))
            arrays.append(array)
    return b.build(b.emit(case.op, inputs, case.attrs).outputs), arrays


def lowered(case: Case) -> Computation:
    try:
        c, _ = computation(case, False)
    except NeedsContent:
        c, _ = computation(case, True)
    return lower(decompose(c, Options()), Options())


@pytest.mark.parametrize("op", LOWERED, ids=lambda op: op.name)
def test_bodies_of_every_op_read_back(op: Op) -> None:
    for case in list(cases_of(op))[:12]:
        for node in lowered(case).nodes:
            for body in bodies(node):
                dims = None if body.rank is None else node.output.dims
                again = parse_body(body_text(body), body.inputs, dims)
                assert repr(again) == repr(body), node  # of NaN too


def bodies(node: Node) -> list[ScalarBody]:
    return [a for a in node.attrs.values() if isinstance(a, ScalarBody)]


def test_a_view_is_evaluated_by_its_body() -> None:
    b = Builder()
    x = b.parameter("x", tensor_type("f32", (3, 4)))
    c = lower(b.build([b.transpose(x, np.array([1, 0], np.int32))]), Options())
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    (found,) = evaluate_node(c.results[0].node, [array])
    np.testing.assert_array_equal(found, array.T)
