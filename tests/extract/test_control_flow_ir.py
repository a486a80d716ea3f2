"""Loops and branches in the plan and the driver: what they compute is what the references compute,
what is updated stays where it is, and a steady loop copies and acquires nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from campaigns.random_control_flow import inputs_of, random_control_flow
from compiled_ir import (
    BRANCH_BODY,
    GROWING,
    NESTED,
    NESTED_BODY,
    SETTING,
    Compiled,
    copies,
    plain_spec,
)

import flowc_runtime
from flowc.aot import write_library
from flowc.codegen.driver.driver import DriverTables, emit_driver
from flowc.codegen.program import driver_object
from flowc.codegen.targets import target_named
from flowc.ir.text.form import parse_computation
from flowc.plan.plan import Branch, Copy, Heap, Loop
from flowc.plan.planner import make_plan
from flowc.plan.text import plan_text

# -- loops

COUNTER = """\
computation(%n: i32[]) {
  %0 = const {value=dense<0, i32, ()>, dtype=i32} : i32[]
  %i, %s = while(%0, %0, %n) {carried=2, varying=[], Tout=[i32, i32]} : i32[], i32[]
    condition(%i: i32[], %s: i32[], %n: i32[]) {
      %1 = less(%i, %n) : bool[]
      return %1
    }
    body(%i: i32[], %s: i32[], %n: i32[]) {
      %2 = const {value=dense<1, i32, ()>, dtype=i32} : i32[]
      %3 = add(%i, %2) : i32[]
      %4 = add(%s, %i) : i32[]
      return %3, %4
    }
  return %i, %s
}"""


@pytest.mark.parametrize("n", [0, 1, 7, -3])
def test_a_counter(n: int) -> None:
    found = Compiled(COUNTER).check(n)
    assert found[0] == max(n, 0)


def vectors(body: str, results: str, carried: str = "f32[5]", count: int = 2) -> str:
    """A loop of n iterations over `count` vectors %a, %b, ..."""
    letters = "abcdef"[:count]
    parameters = ", ".join(f"%{x}: {carried}" for x in letters)
    values = ", ".join(f"%{x}" for x in letters)
    outs = ", ".join(f"%{x}_" for x in letters)
    types = ", ".join([carried] * count)
    lines = "".join(f"      {line}\n" for line in body.splitlines())
    return f"""\
computation(%n: i32[], {parameters}) {{
  %zero = const {{value=dense<0, i32, ()>, dtype=i32}} : i32[]
  %i_, {outs} = while(%zero, {values}, %n) {{carried={count + 1}, varying=[]}} : i32[], {types}
    condition(%i: i32[], {parameters}, %n: i32[]) {{
      %less = less(%i, %n) : bool[]
      return %less
    }}
    body(%i: i32[], {parameters}, %n: i32[]) {{
      %one = const {{value=dense<1, i32, ()>, dtype=i32}} : i32[]
      %next = add(%i, %one) : i32[]
{lines}\
      return %next, {results}
    }}
  return {outs}
}}"""


A, B = np.arange(5, dtype=np.float32), np.array([1, 1, 2, 3, 5], np.float32)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_fibonacci_of_vectors_exchanges_cells(n: int) -> None:
    compiled = Compiled(vectors("%s = add(%a, %b) : f32[5]", "%b, %s"))
    compiled.check(n, A, B)
    assert copies(compiled.plan) == 0
    assert len(compiled.plan.cells) == 3


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_carried_values_change_places(n: int) -> None:
    compiled = Compiled(vectors("", "%b, %a"))
    compiled.check(n, A, B)
    assert copies(compiled.plan) == 0 and len(compiled.plan.cells) == 2
    three = Compiled(vectors("", "%c, %a, %b", count=3))
    three.check(n, A, B, A + B)
    assert copies(three.plan) == 0


def test_carried_values_that_stay_or_become_equal() -> None:
    stays = Compiled(vectors("%d = neg(%b) : f32[5]", "%a, %d"))
    stays.check(3, A, B)
    assert copies(stays.plan) == 0
    same = Compiled(vectors("%d = neg(%b) : f32[5]", "%d, %d"))
    same.check(3, A, B)
    assert copies(same.plan) == 1
    both = Compiled(vectors("", "%b, %b"))
    both.check(2, A, B)
    constant = "%k = const {value=dense<[9.0, 8.0, 7.0, 6.0, 5.0], f32, (5,)>, dtype=f32} : f32[5]"
    for results in ("%k, %a", "%k, %k", "%b, %k"):
        compiled = Compiled(vectors(constant, results))
        for n in (0, 1, 2):
            compiled.check(n, A, B)


def test_results_through_reshapes() -> None:
    body = """\
%dims = const {value=dense<[3, 3], i32, (2,)>, dtype=i32} : i32[2]
%flat = const {value=dense<[9], i32, (1,)>, dtype=i32} : i32[1]
%square = reshape(%a, %dims) : f32[3,3]
%p = mat_mul(%square, %square) {transpose_a=False, transpose_b=False} : f32[3,3]
%r = reshape(%p, %flat) : f32[9]
%q = reshape(%square, %flat) : f32[9]"""
    compiled = Compiled(vectors(body, "%r, %q", "f32[9]"))
    for n in range(4):
        compiled.check(n, np.arange(9) / 9, np.ones(9))
    assert copies(compiled.plan) == 0


def test_symbolic_sizes() -> None:
    text = vectors("%s = add(%a, %b) : f32[batch,3]", "%b, %s", "f32[batch,3]")
    compiled = Compiled(text)
    assert copies(compiled.plan) == 0 and not compiled.plan.blocks
    for batch in (0, 1, 5, 300):
        a = np.random.default_rng(0).normal(size=(batch, 3))
        compiled.check(4, a, a + 1)


def test_a_buffer_through_an_inner_loop_is_not_copied() -> None:
    compiled = Compiled(NESTED)
    for n in (0, 1, 2, 4):
        compiled.check(n, np.linspace(-1, 1, 15).reshape(3, 5))
    assert copies(compiled.plan) == 0
    assert len(compiled.plan.cells) == 2
    lines = plan_text(compiled.plan).splitlines()
    loops = [len(x) - len(x.lstrip()) for x in lines if " repeat " in x]
    assert len(loops) == 2 and loops[0] < loops[1]


# -- sizes that change


def test_a_growing_loop() -> None:
    compiled = Compiled(GROWING)
    x = np.arange(6).reshape(3, 2)
    for n in (0, 1, 2, 300, 3):
        compiled.check(n, x)
    compiled.check(5, np.zeros((0, 2)))
    assert copies(compiled.plan) == 0


APPENDING = """\
computation(%n: i32[], %x: f32[3]) {
  %zero = const {value=dense<0, i32, ()>, dtype=i32} : i32[]
  %empty = const {value=dense<[], f32, (0, 3)>, dtype=f32} : f32[0,3]
  %i_, %y, %s_ = while(%zero, %empty, %x, %n) {carried=3, varying=['k']} sizes(k_1 <= None) : i32[], f32[k_1,3], f32[3]
    condition(%i: i32[], %v: f32[k,3], %s: f32[3], %n: i32[]) {
      %1 = less(%i, %n) : bool[]
      return %1
    }
    body(%i: i32[], %v: f32[k,3], %s: f32[3], %n: i32[]) {
      %one = const {value=dense<1, i32, ()>, dtype=i32} : i32[]
      %next = add(%i, %one) : i32[]
      %half = const {value=dense<0.5, f32, ()>, dtype=f32} : f32[]
      %t = mul(%s, %half) : f32[3]
      %c = list_append(%v, %t) : f32[k + 1,3]
      return %next, %c, %t
    }
  return %y
}"""  # noqa: E501


def test_a_list_grows_in_place() -> None:
    compiled = Compiled(APPENDING)
    for n in (0, 1, 2, 1000, 5):
        compiled.check(n, [1, 2, 3])
    assert copies(compiled.plan) == 0
    (loop,) = (s for s in compiled.plan.steps if isinstance(s, Loop))
    assert not any(isinstance(p, Heap) for move in loop.exchanged for p in move)


SIZES_INSIDE = """\
computation(%n: i32[], %x: i32[m]) {
  %zero = const {value=dense<0, i32, ()>, dtype=i32} : i32[]
  %i_, %s_ = while(%zero, %zero, %x, %n) {carried=2, varying=[]} : i32[], i32[]
    condition(%i: i32[], %s: i32[], %x: i32[m], %n: i32[]) {
      %1 = less(%i, %n) : bool[]
      return %1
    }
    body(%i: i32[], %s: i32[], %x: i32[m], %n: i32[]) {
      %one = const {value=dense<1, i32, ()>, dtype=i32} : i32[]
      %next = add(%i, %one) : i32[]
      %axes = const {value=dense<[0], i32, (1,)>, dtype=i32} : i32[1]
      %div = floor_div(%x, %next) : i32[m]
      %u, %p = unique(%div) {out_idx=i32} sizes(w <= m) : i32[w], i32[m]
      %dims = reshape(%next, %axes2) : i32[1]
      %t = sum(%u, %axes) {keep_dims=False} : i32[]
      %sum = add(%s, %t) : i32[]
      return %next, %sum
    }
  return %s_
}"""


def test_sizes_found_inside_bodies() -> None:
    text = SIZES_INSIDE.replace("      %dims = reshape(%next, %axes2) : i32[1]\n", "")
    compiled = Compiled(text)
    for n in (0, 1, 4):
        compiled.check(n, [5, 3, 3, 8, 1, 0])
    compiled.check(3, np.zeros(0))


FILLING = """\
computation(%n: i32[]) {
  %zero = const {value=dense<0, i32, ()>, dtype=i32} : i32[]
  %f = const {value=dense<0.0, f32, ()>, dtype=f32} : f32[]
  %i_, %s_ = while(%zero, %f, %n) {carried=2, varying=[]} : i32[], f32[]
    condition(%i: i32[], %s: f32[], %n: i32[]) {
      %1 = less(%i, %n) : bool[]
      return %1
    }
    body(%i: i32[], %s: f32[], %n: i32[]) {
      %one = const {value=dense<1, i32, ()>, dtype=i32} : i32[]
      %next = add(%i, %one) : i32[]
      %axes = const {value=dense<[0], i32, (1,)>, dtype=i32} : i32[1]
      %dims = reshape(%next, %axes) : i32[1]
      read_sizes(%dims) sizes(q <= None)
      %value = const {value=dense<2.0, f32, ()>, dtype=f32} : f32[]
      %w = fill(%dims, %value) : f32[q]
      %cum = cumsum(%w, %zero_) {exclusive=False, reverse=False} : f32[q]
      %t = sum(%cum, %axes) {keep_dims=False} : f32[]
      %sum = add(%s, %t) : f32[]
      return %next, %sum
    }
  return %s_
}"""


def test_blocks_of_sizes_read_inside_bodies_are_kept() -> None:
    text = FILLING.replace("%zero_", "%axis").replace(
        "      %dims = reshape(%next, %axes)",
        "      %axis = const {value=dense<0, i32, ()>, dtype=i32} : i32[]\n"
        "      %reshaped = const {value=dense<[1], i32, (1,)>, dtype=i32} : i32[1]\n"
        "      %dims = reshape(%next, %reshaped)",
    )
    compiled = Compiled(text)
    assert compiled.plan.blocks
    for n in (0, 1, 50):
        (found,) = compiled.check(n)
        assert found == sum(q * (q + 1) for q in range(1, n + 1))


# -- branches

CHOICE = """\
computation(%p: bool[], %x: f32[n], %y: f32[n]) {
  %a, %b, %c = if(%p, %x, %y) sizes(n_1 <= None) : f32[n], f32[n], f32[n_1]
    then(%x: f32[n], %y: f32[n]) {
      %1 = tanh(%x) : f32[n]
      %axis = const {value=dense<0, i32, ()>, dtype=i32} : i32[]
      %2 = concat(%y, %1, %axis) : f32[2*n]
      return %1, %x, %2
    }
    otherwise(%x: f32[n], %y: f32[n]) {
      %1 = neg(%y) : f32[n]
      return %y, %1, %x
    }
  %4 = neg(%c) : f32[n_1]
  return %a, %b, %c, %4
}"""


@pytest.mark.parametrize("bound", ["None", "2*n"])
def test_branches_of_differing_sizes(bound: str) -> None:
    text = CHOICE if bound == "None" else CHOICE.replace("n_1 <= None", "n_1 <= max(2*n, n)")
    if bound != "None":
        text = text.replace("max(2*n, n)", "2*n")
    compiled = Compiled(text)
    for p in (True, False):
        for n in (0, 1, 5):
            x = np.linspace(-2, 2, n)
            compiled.check(p, x, x + 1)


def test_a_branch_writes_into_the_callers_buffer() -> None:
    text = """\
computation(%p: bool[], %x: f32[8]) {
  %a = if(%p, %x) : f32[8]
    then(%x: f32[8]) {
      %1 = tanh(%x) : f32[8]
      return %1
    }
    otherwise(%x: f32[8]) {
      %1 = neg(%x) : f32[8]
      return %1
    }
  return %a
}"""
    compiled = Compiled(text)
    for p in (True, False):
        compiled.check(p, np.arange(8))
    assert not compiled.plan.slots and not any(isinstance(s, Copy) for s in compiled.plan.steps)
    (branch,) = (s for s in compiled.plan.steps if isinstance(s, Branch))
    assert not any(isinstance(s, Copy) for s in (*branch.then.steps, *branch.otherwise.steps))


# -- in all


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_libraries_have_loops_and_branches(tmp_path: Path) -> None:
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    cases = [
        (GROWING, [200, rows]),
        (SETTING.replace("BODY", BRANCH_BODY), [6, np.arange(6)]),
    ]
    for i, (text, inputs) in enumerate(cases):
        compiled = Compiled(text)
        path = tmp_path / f"case{i}.so"
        write_library(compiled.program, path)
        arrays = compiled.arrays(inputs)
        spec = plain_spec(compiled.c)
        model = flowc_runtime.load(path)
        wanted = compiled.check(*inputs)
        for _ in range(2):
            found = model.run(dict(zip((t.name for t in spec.inputs), arrays)))
            for tensor, array in zip(spec.outputs, wanted):
                np.testing.assert_array_equal(found[tensor.name], array)


@pytest.mark.parametrize("seed", [1000, 1002, 1005, 1008, 1013, 1017, 1021, 1030])
def test_random_nests(seed: int) -> None:
    compiled = Compiled(random_control_flow(seed))
    for n in (0, 2, 3, 39):
        compiled.check(*inputs_of(seed, n))


def test_loops_take_no_memory() -> None:
    for text in (NESTED, GROWING, SETTING.replace("BODY", NESTED_BODY)):
        run = Compiled(text).driver.split('@"flowc_program_run"')[1].split("\ndefine")[0]
        entry, _, rest = run.partition("\nsteps:")
        assert "alloca" in entry and "alloca" not in rest
        # Only what grows asks for blocks after the arena is there.
        assert ('call i64 @"flowc_arena_grow"' in rest) == (text is GROWING)


def test_deep_nests() -> None:
    """As deep as graphs get: the plan and the driver alone."""
    depth = 100
    head = "(%p: bool[], %x: f32[5], %y: f32[5])"
    lines = [f"computation{head} {{"]
    for d in range(depth):
        pad = "  " * (2 * d + 1)
        lines += [
            f"{pad}%p_, %x_, %y_ = while(%p, %x, %y) {{carried=3, varying=[]}}"
            " : bool[], f32[5], f32[5]",
            f"{pad}  condition{head} {{",
            f"{pad}    return %p",
            f"{pad}  }}",
            f"{pad}  body{head} {{",
        ]
    lines.append("  " * (2 * depth + 1) + "return %p, %y, %x")
    for d in reversed(range(depth)):
        lines.append("  " * (2 * d + 2) + "}")
        lines.append("  " * (2 * d + 1) + "return %p_, %y_, %x_")
    c = parse_computation("\n".join([*lines, "}"]))
    plan = make_plan(c, {})
    assert copies(plan) == 0 and len(plan.cells) == 2
    target = target_named("native")
    driver = emit_driver(plan, {}, DriverTables((), 0, lambda array: 0), target)
    assert driver.text.count("\nloop") == depth
    assert driver_object(driver.text, target.processor)
