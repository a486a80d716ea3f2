"""Computations in text, compiled and held against the references; loops that several tests take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from fused_text import assert_text_compiles_back
from ir_reference import reference_results

from flowc.codegen.program import Stages
from flowc.compiler import Report, compile_computation
from flowc.ir.computation import Computation
from flowc.ir.program_spec import ProgramSpec, spec_of
from flowc.ir.text.form import parse_computation
from flowc.options import Options
from flowc.passes.analysis.aliasing import updated_input
from flowc.plan.plan import Branch, Copy, Loop, Plan, Region, Run, Step
from flowc.plan.reuse import is_scalar
from flowc.run.executable import Executable


def plain_spec(c: Computation) -> ProgramSpec:
    """Inputs by the names of parameters, outputs by number."""
    fed, fetched = [p.attrs["name"] for p in c.parameters], range(len(c.results))
    return spec_of(c, fed, [f"out{i}" for i in fetched])


class Compiled:
    """A Computation (in text), compiled; `plan` is how."""

    def __init__(self, text: str | Computation) -> None:
        self.c = parse_computation(text) if isinstance(text, str) else text
        report = Report(stages=Stages())
        program = compile_computation(self.c, Options(), plain_spec(self.c), report=report)
        assert report.stages.plan is not None and report.stages.driver is not None
        assert report.fused is not None
        assert_text_compiles_back(report.fused)
        self.plan: Plan = report.stages.plan
        self.driver = report.stages.driver.text
        self.program = program
        self.run = Executable(program, threads=2).run

    def check(self, *inputs: Any) -> list[np.ndarray]:
        """Runs twice; results are the references', inputs stay as they are."""
        arrays = self.arrays(inputs)
        wanted = reference_results(self.c, [a.copy() for a in arrays])
        copies = [a.copy() for a in arrays]
        for _ in range(2):
            found = self.run(arrays)
            for x, y in zip(found, wanted, strict=True):
                assert x.dtype == y.dtype and x.shape == y.shape
                np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)
        for array, copy in zip(arrays, copies):
            np.testing.assert_array_equal(array, copy)
        return found

    def arrays(self, inputs: Sequence[Any]) -> list[np.ndarray]:
        dtypes = [p.output.type.dtype.numpy for p in self.c.parameters]
        return [np.asarray(x, t) for x, t in zip(inputs, dtypes, strict=True)]


def regions_in_loops(region: Region, inside: bool = False) -> Iterator[Region]:
    """Every region that iterations repeat."""
    if inside:
        yield region
    for step in region.steps:
        match step:
            case Loop():
                yield from regions_in_loops(step.condition, True)
                yield from regions_in_loops(step.body, True)
            case Branch():
                yield from regions_in_loops(step.then, inside)
                yield from regions_in_loops(step.otherwise, inside)
            case _:
                pass


def repeated(plan: Plan) -> list[tuple[Region, Step]]:
    return [(r, s) for r in regions_in_loops(plan.top) for s in r.steps]


def copies(plan: Plan) -> int:
    """How often an iteration of any loop copies a value that is no scalar."""
    found = sum(isinstance(s, Copy) and not is_scalar(s.value) for _, s in repeated(plan))
    for region, step in repeated(plan):
        if isinstance(step, Run):
            changed = updated_input(step.node)
            if changed is not None:
                found += region.place_of(changed) != region.places[step.node.outputs[0]]
    return found


NESTED = """\
computation(%n: i32[], %x: f32[n0,5]) {
  %zero = const {value=dense<0, i32, ()>, dtype=i32} : i32[]
  %i_, %y = while(%zero, %x, %n) {carried=2, varying=[]} : i32[], f32[n0,5]
    condition(%i: i32[], %v: f32[n0,5], %n: i32[]) {
      %1 = less(%i, %n) : bool[]
      return %1
    }
    body(%i: i32[], %v: f32[n0,5], %n: i32[]) {
      %zero = const {value=dense<0, i32, ()>, dtype=i32} : i32[]
      %one = const {value=dense<1, i32, ()>, dtype=i32} : i32[]
      %next = add(%i, %one) : i32[]
      %j_, %w_ = while(%zero, %v, %i) {carried=2, varying=[]} : i32[], f32[n0,5]
        condition(%j: i32[], %w: f32[n0,5], %i: i32[]) {
          %2 = less(%j, %i) : bool[]
          return %2
        }
        body(%j: i32[], %w: f32[n0,5], %i: i32[]) {
          %one = const {value=dense<1, i32, ()>, dtype=i32} : i32[]
          %3 = add(%j, %one) : i32[]
          %4 = tanh(%w) : f32[n0,5]
          %5 = add(%w, %4) : f32[n0,5]
          return %3, %5
        }
      return %next, %w_
    }
  return %y
}"""


GROWING = """\
computation(%n: i32[], %x: f32[m,2]) {
  %zero = const {value=dense<0, i32, ()>, dtype=i32} : i32[]
  %i_, %y = while(%zero, %x, %x, %n) {carried=2, varying=['k']} sizes(k_1 <= None) : i32[], f32[k_1,2]
    condition(%i: i32[], %v: f32[k,2], %x: f32[m,2], %n: i32[]) {
      %1 = less(%i, %n) : bool[]
      return %1
    }
    body(%i: i32[], %v: f32[k,2], %x: f32[m,2], %n: i32[]) {
      %axis = const {value=dense<0, i32, ()>, dtype=i32} : i32[]
      %one = const {value=dense<1, i32, ()>, dtype=i32} : i32[]
      %next = add(%i, %one) : i32[]
      %c = concat(%v, %x, %axis) : f32[k + m,2]
      return %next, %c
    }
  %z = neg(%y) : f32[k_1,2]
  return %y, %z
}"""  # noqa: E501


SETTING = """\
computation(%n: i32[], %v: f32[6]) {
  %zero = const {value=dense<0, i32, ()>, dtype=i32} : i32[]
  %dims = const {value=dense<[10, 6], i32, (2,)>, dtype=i32} : i32[2]
  %list = list_new(%dims) {value=0} : f32[10,6]
  %i_, %l_, %v_ = while(%zero, %list, %v, %n) {carried=3, varying=[]} : i32[], f32[10,6], f32[6]
    condition(%i: i32[], %l: f32[10,6], %v: f32[6], %n: i32[]) {
      %1 = less(%i, %n) : bool[]
      return %1
    }
    body(%i: i32[], %l: f32[10,6], %v: f32[6], %n: i32[]) {
      %one = const {value=dense<1, i32, ()>, dtype=i32} : i32[]
      %next = add(%i, %one) : i32[]
      %w = add(%v, %v) : f32[6]
      BODY
    }
  return %l_
}"""

SET = "list_set({}, %i, {}) {{message='index {{value}} of {{extent}}'}} : f32[10,6]"
PLAIN_BODY = "%m = " + SET.format("%l", "%w") + "\nreturn %next, %m, %w"
BRANCH_BODY = f"""\
%two = const {{value=dense<2, i32, ()>, dtype=i32}} : i32[]
%rest = floor_mod(%i, %two) : i32[]
%odd = equal(%rest, %one) {{incompatible_shape_error=True}} : bool[]
%m = if(%odd, %l, %i, %w) : f32[10,6]
  then(%l: f32[10,6], %i: i32[], %w: f32[6]) {{
    %m = {SET.format("%l", "%w")}
    return %m
  }}
  otherwise(%l: f32[10,6], %i: i32[], %w: f32[6]) {{
    return %l
  }}
return %next, %m, %w"""
NESTED_BODY = f"""\
%m, %i2 = while(%l, %i, %w, %next) {{carried=2, varying=[]}} : f32[10,6], i32[]
  condition(%l: f32[10,6], %i: i32[], %w: f32[6], %next: i32[]) {{
    %1 = less(%i, %next) : bool[]
    return %1
  }}
  body(%l: f32[10,6], %i: i32[], %w: f32[6], %next: i32[]) {{
    %one = const {{value=dense<1, i32, ()>, dtype=i32}} : i32[]
    %m = {SET.format("%l", "%w")}
    %n = add(%i, %one) : i32[]
    return %m, %n
  }}
return %next, %m, %w"""
READ_BODY = (
    "%m = " + SET.format("%l", "%w") + "\n%o = maximum(%m, %l) : f32[10,6]\nreturn %next, %o, %w"
)
