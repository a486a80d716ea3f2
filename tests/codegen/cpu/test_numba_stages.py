"""The stages of Numba that kernels go through: types of variables, and text that repeats."""

from __future__ import annotations

import ast
import ctypes
import inspect
import itertools
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numba.core import types

from flowc import dtypes
from flowc.codegen.cpu.kernel_text import kernel_text
from flowc.codegen.cpu.numba_stages import function_text
from flowc.codegen.cpu.numba_stages.kernel_globals import base_globals
from flowc.codegen.cpu.numba_stages.lowering import dominators_of
from flowc.codegen.cpu.numba_stages.reader import read_definition
from flowc.codegen.cpu.numba_stages.stages import _typed, contexts
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.link.jit import engine_of
from flowc.codegen.target import made_anew
from flowc.codegen.targets import target_named
from flowc.errors import InternalError

SOURCE = """
def kernel(x, y, n, begin, end):
    for i in range(begin, end):
        {body}
"""
ALIKE = "v = f32(0.0)\n        v = v + x[i]\n        y[i] = v"
# The two values of `v` have nothing in common: mixed, the division would be of floats.
MIXED = "v = n\n        w = v // 2\n        v = x[i]\n        y[i] = v + f32(w)"


def kernel(body: str) -> Kernel:
    return Kernel(SOURCE.format(body=body), ("f32", "f32"), 1)


@pytest.mark.parametrize("body, halves", [(ALIKE, {"float32"}), (MIXED, {"int64", "float32"})])
def test_values_of_one_variable_keep_their_types(body: str, halves: set[str]) -> None:
    source = SOURCE.format(body=body)
    space: dict[str, object] = {"f32": types.float32}
    exec(source, space)
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.FunctionDef)
    pointer = types.CPointer(types.float32)
    arguments = (pointer, pointer, types.int64, types.int64, types.int64)
    _, typemap, _ = _typed(space["kernel"], arguments, definition)
    assert {str(t) for name, t in typemap.items() if name.split(".")[0] == "v"} == halves


def test_a_rejected_kernel_is_named_with_its_source() -> None:
    with pytest.raises(InternalError, match="unknown_name"):
        kernel_text(kernel("y[i] = unknown_name(x[i])"))


@pytest.mark.parametrize(
    "known, other",
    [
        ("_ZN08NumbaEnv", "_ZN09NumbaEnv"),
        ('@"_ZN08NumbaEnv', '@"_ZN08Environment'),
        ("define i32", "define i64"),
        ('@".const.pickle', '@".const.marshal.pickle'),
        ("store {i8*, i32, i8*, i8*, i32}*", "store volatile {i8*, i32, i8*, i8*, i32}*"),
    ],
)
def test_text_of_another_form_is_refused(known: str, other: str) -> None:
    """What is removed from Numba's text is found by its form; a Numba that writes another one must
    not pass unseen."""
    divided = kernel("for j in range(begin, end, n):\n            y[j] = x[i]")
    lowered = function_text._lowered(divided, divided.key)
    assert known in lowered.text
    function_text._clean(lowered.text, lowered.name, "key")
    with pytest.raises(InternalError, match="another form"):
        function_text._clean(lowered.text.replace(known, other), lowered.name, "key")


def test_functions_of_kernels_are_made_for_the_names_that_they_use() -> None:
    found = base_globals(["idiv", "range", "x"])
    assert "idiv" in found and not {"range", "x", "conj", "fold_add"} & set(found)
    assert base_globals(["idiv"])["idiv"] is found["idiv"]


def test_floors_and_magnitudes_of_floats_are_found() -> None:
    """They are in Numba's rules for `math`, which are imported when a kernel has need of them."""
    assert "floorf" in kernel_text(kernel("y[i] = x[i] // f32(n)"))
    assert "llvm.fabs.f32" in kernel_text(kernel("y[i] = abs(x[i])"))


def test_text_depends_neither_on_order_nor_on_threads() -> None:
    kernels = [kernel(ALIKE), kernel(MIXED)] * 4
    alone = [kernel_text(k) for k in kernels]
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(kernel_text, kernels[::-1])) == alone[::-1]


def test_what_constants_rule_out_need_not_fit_the_types() -> None:
    source = """def kernel(x, y, begin, end):
    for i in range(begin, end):
        if WHOLE == 0:
            y[i] = x[i] + x[i]
        else:
            y[i] = x[i] << x[i]
"""
    kernel = Kernel(source, (dtypes.f32, dtypes.f32), 0, constants={"WHOLE": 0})
    assert "define" in kernel_text(kernel)


@pytest.mark.parametrize("step", [1, 16, -16])
def test_a_loop_has_one_counter_that_is_compared_with_its_end(step: int) -> None:
    text = kernel_text(kernel(f"for j in range(n, end, {step}):\n            y[j] = x[i]"))
    assert text.count("alloca i64") == text.count("icmp") == 2  # of two loops


VARIABLES = """def kernel(x, y, n, begin, end):
    above = x[0]
    total = above
    for i in range(begin, end):
        part = x[i] + above
        if part > f32(0.0):
            last = part
        total = total + part
    y[0] = total
    y[1] = last
"""


def test_variables_are_in_memory_where_their_value_depends_on_the_way() -> None:
    """`total` has two values, `last` may have none; the others come first on every way."""
    text = kernel_text(Kernel(VARIABLES, ("f32", "f32"), 1))
    held = re.findall(r'%"(\w+)" = alloca', text)
    assert sorted(x for x in held if x != "try_state") == ["last", "total"]


def test_blocks_are_dominated_by_those_on_every_way_to_them() -> None:
    space: dict[str, object] = {"f32": types.float32}
    exec(VARIABLES, space)
    (definition,) = ast.parse(VARIABLES).body
    assert isinstance(definition, ast.FunctionDef)
    blocks = read_definition(space["kernel"], definition).blocks
    found = dominators_of(blocks)
    paths = _paths(blocks)
    for offset in blocks:
        ways = [set(way) for way in paths if way[-1] == offset]
        assert found[offset] == set.intersection(*ways)


def _paths(blocks: Any) -> list[tuple[int, ...]]:
    """Every way from the first block that meets none twice."""
    left = [(min(blocks),)]
    found: list[tuple[int, ...]] = []
    while left:
        way = left.pop()
        found.append(way)
        targets = blocks[way[-1]].terminator.get_targets()
        left += [(*way, t) for t in targets if t not in way]
    return found


def _private_names() -> list[tuple[object, str, str]]:
    from numba.core import (
        base,
        bytecode,
        compiler,
        cpu,
        ir,
        lowering,
        typed_passes,
        typeinfer,
    )
    from numba.core.typing import context, npydecl, templates

    return [
        (base.BaseContext, "get_function", "self fn sig _firstcall"),
        (base.BaseContext, "pair_first", "self builder val ty"),
        (base.BaseContext, "pair_second", "self builder val ty"),
        (base.BaseContext, "get_abi_sizeof", "self ty"),
        (base.BaseContext, "install_registry", "self registry"),
        (base.BaseContext, "refresh", "self"),
        (cpu.CPUContext, "load_additional_registries", "self"),
        (cpu.CPUContext, "post_lowering", "self mod library"),
        (context.BaseContext, "_insert_global", "self gv gty"),
        (context.BaseContext, "_load_builtins", "self"),
        (context.BaseContext, "resolve_function_type", "self func args kws"),
        (context.Context, "load_additional_registries", "self"),
        (types.Function, "get_call_type", "self context args kws"),
        (templates, "_OverloadFunctionTemplate", ""),
        (npydecl, "NumpyRulesArrayOperator", ""),
        (compiler, "_make_subtarget", "targetctx flags"),
        (lowering, "Lower", "context library fndesc func_ir metadata"),
        (lowering.Lower, "_cast_var", "self var ty"),
        (lowering.Lower, "_find_singly_assigned_variable", "self"),
        (lowering.Lower, "getvar", "self name"),
        (lowering.Lower, "loadvar", "self name"),
        (lowering.Lower, "lower_assign", "self ty inst"),
        (lowering.Lower, "lower_binop", "self resty expr op"),
        (lowering.Lower, "lower_block", "self block"),
        (lowering.Lower, "lower_inst", "self inst"),
        (lowering.Lower, "pre_block", "self block"),
        (lowering.Lower, "storevar", "self value name argidx"),
        (bytecode.FunctionIdentity, "from_function", "pyfunc"),
        (ir, "Assign", "value target loc"),
        (ir, "Branch", "cond truebr falsebr loc"),
        (ir, "Const", "value loc use_literal_type"),
        (ir, "FunctionIR", "blocks is_generator func_id loc definitions arg_count arg_names"),
        (ir.Expr, "binop", "fn lhs rhs loc"),
        (ir.Expr, "call", "func args kws loc vararg varkwarg target"),
        (ir.Expr, "inplace_binop", "fn immutable_fn lhs rhs loc"),
        (ir.Expr, "static_getitem", "value index index_var loc"),
        (ir.Scope, "get_or_define", "self name loc"),
        (ir.Scope, "redefine", "self name loc rename"),
        (typeinfer.TypeInferer, "__init__", "self context func_ir warnings"),
        (typeinfer.TypeInferer, "add_type", "self var tp loc unless_locked"),
        (typeinfer.TypeInferer, "build_constraint", "self"),
        (typeinfer.TypeInferer, "copy_type", "self src_var dest_var loc"),
        (typeinfer.TypeInferer, "propagate", "self raise_errors"),
        (typeinfer.TypeInferer, "seed_argument", "self name index typ"),
        (typeinfer.TypeInferer, "seed_return", "self typ"),
        (typeinfer.TypeInferer, "unify", "self raise_errors"),
        (typed_passes.PreLowerStripPhis, "_strip_phi_nodes", "self func_ir"),
    ]  # fmt: skip


@pytest.mark.parametrize("holder, name, parameters", _private_names(), ids=lambda x: str(x)[:60])
def test_what_is_used_of_numbas_inside_is_as_it_was(
    holder: object, name: str, parameters: str
) -> None:
    found = getattr(holder, name, None)
    assert found is not None, f"Numba has no {holder}.{name} any more"
    if parameters:
        now = " ".join(inspect.signature(found).parameters)
        assert now == parameters, f"{holder}.{name} takes other parameters in this version of Numba"


def test_ranges_are_held_as_our_lowerings_take_them_to_be() -> None:
    context = contexts()[1]
    pair = types.Pair(types.int64, types.boolean)
    forms = {
        types.range_state64_type: "{i64, i64, i64}",
        types.range_iter64_type: "{i64*, i64, i64, i64*}",
        pair: "{i64, i1}",
    }
    assert {t: str(context.get_value_type(t)) for t in forms} == forms


@pytest.mark.parametrize("bounds", ["end", "begin, end", "begin, end, 2", "end, begin, x[0]"])
def test_a_kernels_ranges_are_those_of_python(bounds: str) -> None:
    source = f"""def kernel(x, y, begin, end):
    n = 0
    for i in range({bounds}):
        y[n] = i
        n = n + 1
"""
    kernel = Kernel(source, ("i64", "i64"), 0)
    target = target_named("native")
    engine = engine_of(target.objects_of(kernel, made_anew))
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 4)
    for begin, end, step in itertools.product((-3, 0, 5), (-2, 0, 5, 8), (1, 2, -3)):
        x, y = np.array([step]), np.full(16, 99)
        buffers = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
        run(engine.get_function_address(kernel.key))(ctypes.addressof(buffers), 0, begin, end, 0)
        wanted = list(eval(f"range({bounds})", {"begin": begin, "end": end, "x": x}))
        assert y.tolist() == wanted + [99] * (16 - len(wanted))


def test_classes_that_kernels_name_are_looked_up_and_compared_with_no_containers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def compared(*_: object) -> None:
        raise AssertionError("numba.typed would be imported")

    typing_context = contexts()[0]
    monkeypatch.setattr("numba.core.typing.context.typeof", compared)
    assert isinstance(typing_context.resolve_value_type(range), types.Function)
