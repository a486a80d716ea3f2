"""Every op against itself and against TensorFlow, from the examples of its record.

For each record: it has examples; what inference says is what the reference makes; the reference
agrees with TensorFlow's recorded answers (every dtype); compiled code agrees with the reference
(`support/op_cases.py` chooses for which dtypes; `FLOWC_ALL_DTYPES=1` for everything), on one
thread, on two, and however the ranges of its kernels are cut; what records made of others become in
further dtypes is evaluated without being compiled. The cases of one record are compiled together,
as one program.
"""

from __future__ import annotations

import json
import warnings
from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import recordings
from calls.op_examples import Case, cases_of
from closeness import flushed
from ir_reference import reference_results
from op_cases import (
    EXACT,
    TESTED,
    assert_near,
    chosen_cases,
    compiled_cases,
    is_made_of_others,
    lowered_cases,
    ordinary_elements,
    placed,
    reference,
    signature_types,
    types_of,
)
from op_tolerances import (
    ANSWERS_APART,
    COMPILED,
    COMPILED_EXTREMES_APART,
    EXTREMES_APART,
    SIGNATURES_APART,
    TENSORFLOW,
    specified_outputs,
)
from partitions import PartitionedProgram

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Value
from flowc.ir.core_ops import is_core
from flowc.ir.lowering import Extracted, Host, Structural
from flowc.ir.op import Op
from flowc.ir.signature import REQUIRED, Arg
from flowc.ops import all_ops
from flowc.options import Options
from flowc.passes.pipeline import run_passes
from flowc.proto.tensor_pb2 import DataType

WITHOUT_EXAMPLES = {
    "check": "an effect of Assert",
    "needed": "computes nothing: what may fail, and nobody reads",
    "write_message": "an effect of Print",
    "fail_with": "an effect of Assert",
    "variable_shape": "takes a resource",
    "resource_gather": "takes a resource",
    "spans": "has outputs of which only parts are filled; scale_and_translate is made of it",
    "gather_spans": "takes what spans gives",
    "scatter_spans": "takes what spans gives",
    "transform_rows": "has outputs to work in; the Fourier transforms are made of it",
}
each_op = pytest.mark.parametrize("op", TESTED, ids=lambda op: op.name)


@pytest.fixture(autouse=True)
def quiet() -> None:
    """References overflow and divide by zero on purpose."""
    warnings.simplefilter("ignore", RuntimeWarning)
    np.seterr(all="ignore")


# -- the records themselves


def test_every_op_has_examples() -> None:
    missing = [
        op.name
        for op in all_ops()
        if not (is_core(op) or isinstance(op.lowering, (Structural, Extracted, Host)))
        and op.name not in WITHOUT_EXAMPLES
        and (not op.examples or op.reference is None)
    ]
    assert missing == []


@each_op
def test_inference_agrees_with_the_reference(op: Op) -> None:
    for case in cases_of(op):
        b = Builder()
        node = b.emit(op, [b.const(*x) for x in zip(case.inputs, case.dtypes)], case.attrs)
        found = reference(case)
        assert len(node.outputs) == len(found), case.name
        for value, array in zip(node.outputs, found):
            assert dtypes.as_dtype(array.dtype) is value.type.dtype.carrier, (
                f"{case.name}: {array.dtype}"
            )
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
        assert (attr.minimum or 0) == int(wanted.get("minimum", 0)), attr.name
        if "defaultValue" in wanted:
            assert attr.default == _default(attr.kind, wanted["defaultValue"]), attr.name
        allowed = wanted.get("allowedValues", {}).get("list", {})
        if "s" in allowed:
            texts = {b64decode(text).decode() for text in allowed["s"]}
            assert texts - LAYOUTS_OF_GPUS <= set(attr.allowed or ()) <= texts, attr.name
        if "type" in allowed and attr.allowed is not None and name == op.tf_name:
            names = {f"DT_{_enum_name(d)}" for d in attr.allowed}
            assert names <= set(allowed["type"]), attr.name


# Vectors of channels: TensorFlow has kernels of these layouts for GPUs alone.
LAYOUTS_OF_GPUS = {"NCHW_VECT_C"}
_FIELDS = {"int": "i", "float": "f", "bool": "b", "string": "s", "type": "type", "shape": "shape"}


def _default(kind: str, value: dict[str, Any]) -> object:
    """A default of an OpDef as a signature has it."""
    inner = kind.removeprefix("list(").removesuffix(")")
    given = value.get("list", {}) if kind != inner else value
    found = given.get(_FIELDS[inner], [])
    many = [_plain(inner, v) for v in (found if isinstance(found, list) else [found])]
    return tuple(many) if kind != inner else many[0]


def _plain(kind: str, value: Any) -> object:
    if kind == "float":
        return pytest.approx(float(value), rel=1e-6)
    if kind == "string":
        return b64decode(value).decode()
    if kind == "type":
        return dtypes.from_enum(DataType.Value(value))
    if kind == "shape":
        return (
            None
            if value.get("unknownRank")
            else tuple(int(d["size"]) for d in value.get("dim", ()))
        )
    return int(value)


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


# -- compiled code


def run_together(
    cases: Sequence[Case], run: Callable[[Computation, list[np.ndarray]], list[np.ndarray]]
) -> list[list[np.ndarray]]:
    """The outputs of each case, all computed by one Computation."""
    b = Builder()
    feeds: dict[Value, np.ndarray] = {}
    nodes = [placed(b, case, feeds) for case in cases]
    results = [v for n in nodes for v in n.outputs]
    outputs = iter(run(b.build(results), list(feeds.values())))
    return [[next(outputs) for _ in n.outputs] for n in nodes]


def assert_together(
    cases: Sequence[Case], run: Callable[[Computation, list[np.ndarray]], list[np.ndarray]]
) -> None:
    for case, found in zip(cases, run_together(cases, run)):
        expected = reference(case)
        if case.op.name in COMPILED_EXTREMES_APART:
            found, expected = ordinary_elements(case, found, expected)
        assert_near(case, found, expected, COMPILED.get(case.op.name, EXACT))


def assert_compiled(cases: Sequence[Case], options: Options) -> None:
    assert_together(cases, lambda c, arrays: PartitionedProgram(c, options).run(arrays))


@each_op
def test_every_dtype_of_the_signature_is_chosen(op: Op) -> None:
    assert signature_types(op) <= {bound for c in chosen_cases(op) for bound in types_of(c)}


@each_op
def test_compiled_code_agrees_with_the_reference(op: Op) -> None:
    assert_compiled(compiled_cases(op), Options())


@pytest.mark.parametrize("op", filter(is_made_of_others, TESTED), ids=lambda op: op.name)
def test_what_is_lowered_agrees_with_the_reference(op: Op) -> None:
    """The core ops and clusters that all passes make of it, evaluated one by one."""
    assert_together(
        lowered_cases(op), lambda c, arrays: reference_results(run_passes(c, Options()), arrays)
    )


@pytest.mark.parametrize("op", TESTED[::7], ids=lambda op: op.name)
def test_code_without_fusion_agrees_with_the_reference(op: Op) -> None:
    assert_compiled(compiled_cases(op)[:2], Options(fuse=False))
