"""Every op against itself and against TensorFlow, from the examples of its record.

For each record: it has examples; what inference says is what the reference makes; the reference
agrees with TensorFlow's recorded answers (every dtype); compiled code agrees with the reference
(FEW_DTYPES for the first example, f32 for all; `FLOWC_ALL_DTYPES=1` for everything). The cases of
one record are compiled together, as one program.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest
import recordings
from closeness import Closeness, difference, flushed
from op_tolerances import (
    ANSWERS_APART,
    COMPILED,
    COMPILED_EXTREMES_APART,
    EXTREMES_APART,
    SIGNATURES_APART,
    TENSORFLOW,
    specified_outputs,
)

from flowc import dtypes
from flowc.compiler import load_executable
from flowc.dtypes import DType
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.examples import Case, cases_of
from flowc.ir.lowering import Extracted, Host, Structural
from flowc.ir.op import NeedsContent, Op, all_ops, call_reference
from flowc.ir.program_spec import spec_of
from flowc.ir.signature import REQUIRED, Arg
from flowc.ir.types import tensor_type
from flowc.options import Options

EXACT = Closeness(4)
FEW_DTYPES = (dtypes.f32, dtypes.i32, dtypes.bool_, dtypes.c64, dtypes.f16)
TESTED = [op for op in all_ops() if op.examples and op.reference is not None]
WITHOUT_EXAMPLES = {
    "check": "an effect of Assert",
    "write_message": "an effect of Print",
    "fail_with": "an effect of Assert",
    "variable_shape": "takes a resource",
    "resource_gather": "takes a resource",
    "transform_rows": "has outputs to work in; the Fourier transforms are made of it",
}
each_op = pytest.mark.parametrize("op", TESTED, ids=lambda op: op.name)


@pytest.fixture(autouse=True)
def quiet() -> None:
    """References overflow and divide by zero on purpose."""
    warnings.simplefilter("ignore", RuntimeWarning)
    np.seterr(all="ignore")


def reference(case: Case, inputs: Sequence[np.ndarray] | None = None) -> list[np.ndarray]:
    assert case.op.reference is not None
    arrays = list(case.inputs if inputs is None else inputs)
    found = call_reference(case.op, case.op.reference, arrays, case.attrs, case.dtypes)
    return [np.asarray(x) for x in found]


def assert_near(
    case: Case, found: Sequence[np.ndarray], expected: Sequence[np.ndarray], near: Closeness
) -> None:
    assert len(found) == len(expected), f"{case.name}: {len(found)} outputs"
    for i, (x, y) in enumerate(zip(found, expected)):
        wrong = difference(x, y, near)
        assert wrong is None, f"{case.name} ({case.text}) output {i}: {wrong}"


# -- the records themselves


def test_every_op_has_examples() -> None:
    missing = [
        op.name
        for op in all_ops()
        if not isinstance(op.lowering, (Structural, Extracted, Host))
        and op.name not in WITHOUT_EXAMPLES
        and (not op.examples or op.reference is None)
    ]
    assert missing == []


@each_op
def test_inference_agrees_with_the_reference(op: Op) -> None:
    for case in cases_of(op):
        b = Builder()
        node = b.emit(op, [b.const(a) for a in case.inputs], case.attrs)
        found = reference(case)
        assert len(node.outputs) == len(found), case.name
        for value, array in zip(node.outputs, found):
            assert dtypes.as_dtype(array.dtype) is value.type.dtype, f"{case.name}: {array.dtype}"
            assert len(value.dims) == array.ndim, f"{case.name}: {value.type}, {array.shape}"
            if value.type.is_static:
                assert value.type.static_dims == array.shape, case.name


DEFINITIONS = json.loads((recordings.FOLDER / "opdefs.json").read_text())


@pytest.mark.parametrize("name", sorted(set(DEFINITIONS) - set(SIGNATURES_APART)))
def test_signature_is_that_of_tensorflow(name: str) -> None:
    definition = DEFINITIONS[name]
    op = next(op for op in all_ops() if name in (op.tf_name, *op.aliases))
    for side, args in (("inputArg", op.signature.inputs), ("outputArg", op.signature.outputs)):
        assert [_shown(a) for a in args] == [_recorded(a) for a in definition.get(side, [])]
    attrs = {a["name"]: a for a in definition.get("attr", [])}
    assert set(op.signature.attrs) == set(attrs)
    for attr in op.signature.attrs.values():
        wanted = attrs[attr.name]
        assert attr.kind == wanted["type"], attr.name
        assert (attr.default is REQUIRED) == ("defaultValue" not in wanted), attr.name
        allowed = wanted.get("allowedValues", {}).get("list", {})
        if "type" in allowed and attr.allowed is not None and name == op.tf_name:
            names = {f"DT_{_enum_name(d)}" for d in attr.allowed}
            assert names <= set(allowed["type"]), attr.name


def _shown(arg: Arg) -> tuple[object, ...]:
    kind = f"DT_{_enum_name(arg.dtype)}" if arg.dtype is not None else None
    named = None if arg.is_list else arg.type_attr
    listed = arg.type_attr if arg.is_list else None
    return arg.name, kind, named, arg.number_attr, listed, arg.is_ref


def _recorded(arg: dict[str, object]) -> tuple[object, ...]:
    keys = ("name", "type", "typeAttr", "numberAttr", "typeListAttr")
    return (*(arg.get(k) for k in keys), arg.get("isRef", False))


def _enum_name(dtype: DType) -> str:
    odd = {"float32": "FLOAT", "float64": "DOUBLE", "float16": "HALF"}
    return odd.get(dtype.name, dtype.name.upper())


# -- TensorFlow


@pytest.mark.parametrize(
    "op",
    [op for op in TESTED if not op.tf_name.startswith("_") or op.tf_name in DEFINITIONS],
    ids=lambda op: op.name,
)
def test_reference_agrees_with_tensorflow(op: Op) -> None:
    answers = recordings.answers()
    for case in cases_of(op):
        answer = answers.get(case.name)
        if answer is None and any(a.is_ref for a in op.signature.inputs):
            continue
        fresh = answer is not None and answer.checksum == recordings.checksum(case)
        assert answer is not None and fresh, f"{case.name} is not recorded: make oracle"
        if answer.error is not None:
            # No kernel for this dtype or layout on a CPU: flowc may do more than TensorFlow.
            assert answer.lacks_kernel or (op.name, case.number) in ANSWERS_APART, (
                f"{case.name}: TensorFlow says {answer.error}: {answer.message}"
            )
            continue
        expected = [flushed(a) for a in answer.outputs]
        found = [flushed(a) for a in reference(case, [flushed(a) for a in case.inputs])]
        count = specified_outputs(case, len(found))
        if op.name in EXTREMES_APART:
            found, expected = ordinary_elements(case, found, expected)
        assert_near(case, found[:count], expected, TENSORFLOW.get(op.name, EXACT))


def ordinary_elements(
    case: Case, found: Sequence[np.ndarray], expected: Sequence[np.ndarray]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The elements of an elementwise op's output that no extreme input reaches."""
    ordinary = np.ones(expected[0].shape, bool)
    for a in case.inputs:
        ordinary &= ~np.broadcast_to(is_extreme(a), ordinary.shape)
    return [found[0][ordinary]], [expected[0][ordinary]]


def is_extreme(array: np.ndarray) -> np.ndarray:
    """Where a float is NaN, infinite, zero, subnormal or the largest."""
    if array.dtype.kind in "iubc":
        return np.zeros(array.shape, bool)
    limits = ml_dtypes.finfo(array.dtype)
    magnitude = np.abs(array)
    return ~((magnitude >= limits.tiny) & (magnitude < limits.max))


# -- compiled code


def chosen_cases(op: Op) -> list[Case]:
    """What is compiled by default: see above."""
    found = list(cases_of(op))
    if os.environ.get("FLOWC_ALL_DTYPES"):
        return found
    if op.name == "cast":
        return found[::7]
    return [
        c
        for c in found
        if all(d is dtypes.f32 for d in c.bound.values())
        or (c.number == 0 and all(d in (*FEW_DTYPES, dtypes.i64) for d in c.bound.values()))
    ]


def placed(b: Builder, case: Case, feeds: dict[Value, np.ndarray]) -> Node:
    """The op in a graph: whole numbers that the example gives are constants, as in real graphs,
    unless then nothing is left to compute at run time; floats too where the op insists."""
    given = [x.given and a.dtype.kind in "iub" for x, a in zip(case.operands, case.inputs)]
    attempts = [given] if not all(given) else [[False] * len(given)]
    attempts += [[x.given for x in case.operands]]
    for last, constant in enumerate(attempts, 1 - len(attempts)):
        made = {
            b.parameter(
                f"{case.name}_{i}".replace("-", "_"), tensor_type(case.dtypes[i], array.shape)
            ): array
            for i, array in enumerate(case.inputs)
            if not constant[i]
        }
        values = iter(made)
        inputs = [b.const(a) if c else next(values) for a, c in zip(case.inputs, constant)]
        feeds.update(made)
        try:
            return b.emit(case.op, inputs, case.attrs, origin=(case.name,))
        except NeedsContent:
            if last == 0:
                raise
    raise AssertionError("unreachable")


def run_compiled(cases: Sequence[Case], options: Options) -> list[list[np.ndarray]]:
    """The outputs of each case, all computed by one program."""
    b = Builder()
    feeds: dict[Value, np.ndarray] = {}
    nodes = [placed(b, case, feeds) for case in cases]
    results = [v for n in nodes for v in n.outputs]
    names = [n.attrs["name"] for n in b.parameters], [f"y{i}" for i in range(len(results))]
    c = b.build(results)
    executable = load_executable(c, options, spec_of(c, *names), threads=1)
    outputs = iter(executable.run(list(feeds.values())))
    return [[next(outputs) for _ in n.outputs] for n in nodes]


def assert_compiled(cases: Sequence[Case], options: Options) -> None:
    for case, found in zip(cases, run_compiled(cases, options)):
        expected = reference(case)
        if case.op.name in COMPILED_EXTREMES_APART:
            found, expected = ordinary_elements(case, found, expected)
        assert_near(case, found, expected, COMPILED.get(case.op.name, EXACT))


@each_op
def test_compiled_code_agrees_with_the_reference(op: Op) -> None:
    assert_compiled(chosen_cases(op), Options())


@pytest.mark.parametrize("op", TESTED[::7], ids=lambda op: op.name)
def test_code_without_fusion_agrees_with_the_reference(op: Op) -> None:
    assert_compiled(chosen_cases(op)[:2], Options(fuse=False))
