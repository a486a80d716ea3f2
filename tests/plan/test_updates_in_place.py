"""Lists and tensors that loops and branches change: where they lie, or copied where somebody reads
them later.
"""

from __future__ import annotations

import numpy as np
import pytest
from compiled_ir import (
    BRANCH_BODY,
    NESTED_BODY,
    PLAIN_BODY,
    READ_BODY,
    SET,
    SETTING,
    Compiled,
    copies,
    plain_spec,
)

from flowc.codegen.program import Stages
from flowc.compiler import Report, compile_computation
from flowc.errors import InvalidArgumentError
from flowc.ir.text.form import parse_computation
from flowc.options import Options
from flowc.plan.plan import Cell, Copy
from flowc.run.executable import Executable


def setting(body: str) -> Compiled:
    return Compiled(SETTING.replace("BODY", body.replace("\n", "\n      ")))


@pytest.mark.parametrize("body", [PLAIN_BODY, BRANCH_BODY, NESTED_BODY])
def test_lists_are_updated_in_place(body: str) -> None:
    compiled = setting(body)
    for n in (0, 1, 4, 10):
        compiled.check(n, np.arange(6))
    assert copies(compiled.plan) == 0
    # The list has one place: the caller's buffer.
    assert not any(isinstance(s, Copy) and isinstance(s.target, Cell) and s.value.dims == (10, 6)
                   for s in compiled.plan.steps)  # fmt: skip
    assert not compiled.plan.slots


def test_a_list_that_is_read_later_is_copied() -> None:
    compiled = setting(READ_BODY)
    for n in (0, 1, 4):
        compiled.check(n, np.arange(6))
    assert copies(compiled.plan) == 1


def test_an_error_inside_a_loop_ends_the_run() -> None:
    compiled = setting(PLAIN_BODY)
    for _ in range(3):
        with pytest.raises(InvalidArgumentError):
            compiled.run(compiled.arrays([11, np.arange(6)]))
        compiled.check(3, np.arange(6))


def test_parameters_and_constants_are_never_overwritten() -> None:
    text = """\
computation(%l: f32[10,6], %i: i32[], %w: f32[6]) {
  %k = const {value=weights<0>, dtype=f32} : f32[10,6]
  %a = SET(%l)
  %b = SET(%k)
  %c = SET(%a)
  return %b, %c
}"""
    for name in "lka":
        text = text.replace(f"SET(%{name})", SET.format(f"%{name}", "%w"))
    c = parse_computation(text, [np.ones((10, 6), np.float32)])
    report = Report(stages=Stages())
    program = compile_computation(c, Options(), plain_spec(c), report=report)
    arrays = [np.zeros((10, 6), np.float32), np.array(3, np.int32), np.arange(6, dtype=np.float32)]
    wanted = np.ones((10, 6), np.float32)
    wanted[3] = np.arange(6)
    for _ in range(2):
        b, found = Executable(program).run(arrays)
        np.testing.assert_array_equal(b, wanted)
        np.testing.assert_array_equal(found, np.where(np.arange(10)[:, None] == 3, np.arange(6), 0))
    assert not arrays[0].any()


POPPING = """\
computation(%n: i32[], %x: f32[m,3]) {
  %t = tanh(%x) : f32[m,3]
  %zeros = const {value=dense<[0.0, 0.0, 0.0], f32, (3,)>, dtype=f32} : f32[3]
  %i_, %s_, %y = while(%n, %zeros, %t) {carried=3, varying=['k']} sizes(k_1 <= None) : i32[], f32[3], f32[k_1,3]
    condition(%i: i32[], %s: f32[3], %v: f32[k,3]) {
      %zero = const {value=dense<0, i32, ()>, dtype=i32} : i32[]
      %1 = greater(%i, %zero) : bool[]
      return %1
    }
    body(%i: i32[], %s: f32[3], %v: f32[k,3]) {
      %one = const {value=dense<1, i32, ()>, dtype=i32} : i32[]
      %next = sub(%i, %one) : i32[]
      %row = list_get(%v, %next) {message='{value} of {extent}'} : f32[3]
      %sum = add(%row, %s) : f32[3]
      %rows = sizes {dims=[size<k - 1>], dtype=i32} : i32[1]
      %popped = list_resize(%v, %rows) : f32[k - 1,3]
      return %next, %sum, %popped
    }
  return %s_, %y
}"""  # noqa: E501


def test_the_end_of_a_list_is_dropped_in_place() -> None:
    compiled = Compiled(POPPING)
    x = np.arange(24).reshape(8, 3)
    for n in (0, 1, 5, 8):
        compiled.check(n, x)
    assert copies(compiled.plan) == 0
