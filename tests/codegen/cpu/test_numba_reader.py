"""Kernels are read from their source: what they compute, and how little is asked of Numba."""

from __future__ import annotations

import ast
import ctypes
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba.core import ir as numba_ir
from numba.core import types
from numba.core.typed_passes import type_inference_stage

from flowc.codegen.cpu.kernel_inlining import kernel_source
from flowc.codegen.cpu.numba_stages import inference, stages
from flowc.codegen.cpu.numba_stages.inference import infer_types
from flowc.codegen.cpu.numba_stages.kernel_globals import base_globals
from flowc.codegen.cpu.numba_stages.reader import read_definition
from flowc.codegen.cpu.numba_stages.stages import contexts
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.link.jit import engine_of
from flowc.codegen.target import made_anew
from flowc.codegen.targets import target_named
from flowc.errors import InternalError
from flowc.ops import kernels as native_kernels

STATEMENTS = {
    "loops in loops": """
        for j in range(i):
            if j == 3:
                break
            if j == 1:
                continue
            n += j
        else:
            n = n + 100
        y[i] = n""",
    "while, with its else": """
        j = i
        while j > 0 and j != 4:
            j -= 2
        else:
            n = 7
        y[i] = j * 10 + n""",
    "without an end of its own": """
        while True:
            n += 1
            if n > i:
                break
        y[i] = n""",
    "conditions": """
        if i > 1 and i < 6 or i == 8:
            n = 1
        elif not i:
            n = 2
        if not (i > 2 or x[i] > 12):
            n = n + 4
        y[i] = n""",
    "sums of many terms": f"""
        y[i] = {" + ".join(["i"] * 900)} - (n + {" + ".join(["7"] * 90)})""",
    "chains of comparisons": """
        if 2 < i < x[i] - 5 <= 8:
            n = n + 1
        y[i] = n + (1 < i < 5) + (i == 3 != n)
        del n
        n = i""",
    "pairs": """
        for a, b in ((i, 2), (n, 4)):
            n = n + a * b
        y[i] = n""",
    "values of conditions": """
        y[i] = (3 if i > 4 else 5) + (1 if x[i] > 12 and i > 5 else 0 if i < 3 or i == 4 else 9)
        found = i > 1 and x[i] > 11
        other = i > 6 or found
        if found & other:
            y[i] = -1
        known = i == 2 or i > 3 and (i < 6 or x[i] == 18)
        many = (i < 2 or i > 7) and (x[i] < 15 or i != 9 and i > 3)
        if known | many:
            y[i] += 50""",
    "variables that change places": """
        a, b = i, n
        a, b = b + 1, a
        y[i], n = a * 100 + b, n + 1
        a = y[0] = i""",
    "items": """
        y[i] = 2
        y[i] += x[i] - 1
        y[i] *= 3""",
    "operators": """
        y[i] = -(i << 2) + (~i & 7 | 16 ^ i) + (i >> 1) % 3 + x[i] // 4 - +i""",
    "numbers of numbers": """
        y[i] = i * (3 * 4 - -2) + (1 << 5)""",
    "what is written for others": """
        if WIDE > 2:
            half = WIDE // 2
            if half == 4:
                n = n + half
            else:
                n = i << x
        y[i] = n if WIDE else x""",
}
SOURCE = """def kernel(x, y, begin, end):
    n = 0
    for i in range(begin, end):{body}
"""
RETURNS = """def kernel(x, y, begin, end):
    n = begin
    if x[0] == 10:
        y[0] = 5
        return
    n = n + 1
    y[n] = n
"""


def run(source: str) -> tuple[list[int], list[int]]:
    """What a kernel leaves in `y`, and what Python does."""
    kernel = Kernel(source, ("i64", "i64"), 0, constants={"WIDE": 8})
    engine = engine_of(target_named("native").objects_of(kernel, made_anew))
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 4)
    x, y = np.arange(10, 20), np.full(10, 99)
    buffers = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
    address = engine.get_function_address(kernel.key)
    function(address)(ctypes.addressof(buffers), 0, 0, 10, 0)
    space: dict[str, Any] = {"WIDE": 8}
    exec(source, space)
    wanted = [99] * 10
    space["kernel"](list(range(10, 20)), wanted, 0, 10)
    return y.tolist(), wanted


def read(source: str, **space: object) -> Any:
    tree = ast.parse(source)
    exec(source, space)
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    return read_definition(space[definition.name], definition)


def statements(kernel: Any) -> list[Any]:
    return [x for block in kernel.blocks.values() for x in block.body]


@pytest.mark.parametrize("body", STATEMENTS.values(), ids=STATEMENTS)
def test_a_kernel_computes_what_python_does(body: str) -> None:
    source = SOURCE.format(body=body)
    found, wanted = run(source)
    assert found == wanted
    read(source, WIDE=8)


def test_a_kernel_may_return_early() -> None:
    found, wanted = run(RETURNS)
    assert found == wanted
    read(RETURNS)


@pytest.mark.parametrize(
    "value, named",
    [
        ("(n := x[i]) + n", "NamedExpr"),
        ("[x[i]]", "List"),
        ("x[i] in (1, 2)", "In"),
        ("f'{i}'", "JoinedStr"),
        ("max(*x)", "Starred"),
        ("max(**x)", "Call"),
    ],
)
def test_what_kernels_cannot_have_is_named(value: str, named: str) -> None:
    with pytest.raises(InternalError, match=f"a kernel has no {named}"):
        run(SOURCE.format(body=f"\n        y[i] = {value}"))


def test_variables_are_assigned_before_they_are_read() -> None:
    with pytest.raises(InternalError, match="last"):
        run(SOURCE.format(body="\n        y[i] = last\n        last = i"))


def test_a_name_and_a_number_are_one_statement_wherever_they_stand() -> None:
    body = "\n        y[i] = f32(i * 4) + f32(4)\n        y[i + 4] = f32(x[i])"
    found = statements(read(SOURCE.format(body=body), f32=types.float32))
    values = [x.value for x in found if isinstance(x, numba_ir.Assign)]
    names = sorted(x.name for x in values if isinstance(x, numba_ir.Global))
    assert names == ["f32", "range"]
    assert [x.value for x in values if isinstance(x, numba_ir.Const)].count(4) == 1


def test_what_constants_rule_out_is_not_read() -> None:
    source = SOURCE.format(body=STATEMENTS["what is written for others"])
    branches = [x for x in statements(read(source, WIDE=8)) if isinstance(x, numba_ir.Branch)]
    assert len(branches) == 1  # of the loop


def test_parameters_that_are_assigned_are_not_known() -> None:
    source = """def kernel(x, y, begin, end):
    if begin > 2:
        begin = WIDE
    if begin == 8:
        y[0] = 1
"""
    found, wanted = run(source)
    assert found == wanted == [99] * 10


def _native_kernels() -> list[Callable[..., None]]:
    found: list[Callable[..., None]] = []
    for module in pkgutil.iter_modules(native_kernels.__path__):
        held = importlib.import_module(f"{native_kernels.__name__}.{module.name}")
        for function in vars(held).values():
            if not inspect.isfunction(function) or function.__module__ != held.__name__:
                continue
            if [*inspect.signature(function).parameters][-2:] == ["begin", "end"]:
                found.append(function)
    return found


@pytest.mark.parametrize("function", _native_kernels(), ids=lambda f: f.__name__)
def test_native_kernels_are_read_from_their_source(function: Callable[..., None]) -> None:
    (definition,) = ast.parse(kernel_source(function)).body
    assert isinstance(definition, ast.FunctionDef)
    space = {**base_globals(function.__code__.co_names), **function.__globals__}
    exec(kernel_source(function), space)
    kernel = read_definition(space[function.__name__], definition)
    for block in kernel.blocks.values():
        *inner, last = (x.is_terminator for x in block.body)
        assert last and not any(inner)


STRAIGHT = """def kernel(x, y, n, begin, end):
    for i in range(begin, end):
        y[i] = x[i] * x[i] + f32(n)
"""
# `other` is an integer until the loop is read.
LATE = """def kernel(x, y, n, begin, end):
    other = n
    for i in range(begin, end):
        y[i] = f32(other)
        other = other * x[i]
"""


@pytest.mark.parametrize("source, again", [(STRAIGHT, False), (LATE, True)])
def test_rules_are_asked_again_where_types_changed(
    source: str, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pointer = types.CPointer(types.float32)
    arguments = (pointer, pointer, types.int64, types.int64, types.int64)
    asked: list[object] = []
    fault = inference._Inferer._fault

    def counted(self: Any, rule: Any) -> Any:
        asked.append(rule)
        return fault(self, rule)

    monkeypatch.setattr(inference._Inferer, "_fault", counted)
    kernel = read(source, f32=types.float32)
    stages.build_definitions(kernel.blocks)
    kernel.generator_info = None
    typemap, calltypes = infer_types(*contexts(), kernel, arguments)
    rules = len({id(x) for x in asked})
    assert (len(asked) > rules) is again
    assert len(asked) < 2 * rules  # Numba asks each of them twice, or three times
    numbas = type_inference_stage(*contexts(), kernel, arguments, types.void, {})
    assert dict(typemap) == dict(numbas.typemap)
    assert dict(calltypes) == dict(numbas.calltypes)
