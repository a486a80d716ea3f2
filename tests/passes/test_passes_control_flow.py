"""Passes on loops and branches: every pass keeps the numbers, and what they are for happens."""

from __future__ import annotations

import numpy as np
import pytest
from campaigns.random_control_flow import inputs_of, random_control_flow
from ir_reference import random_inputs, reference_results
from tensor_types import tensor_type

from flowc import dtypes
from flowc.errors import InternalError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import symbol
from flowc.ir.text.form import parse_computation, weights_of
from flowc.ir.verifier import verify
from flowc.options import Options
from flowc.passes.analysis.failures import may_fail
from flowc.passes.pipeline import run_pass, run_passes
from flowc.passes.prune import prune

# A running sum over rows, with a branch, sizes from the run, a nested loop and leftovers of frames.
PROGRAM = """\
computation(%x: f32[n,4], %w: f32[4,4], %extra: i32[1]) {
  %0 = const {value=dense<0>} : i32[]
  %1 = const {value=dense<[0.0, 0.0, 0.0, 0.0]>} : f32[4]
  %2 = shape(%x) : i32[2]
  %3 = const {value=dense<[0]>} : i32[1]
  %4 = const {value=dense<[1]>} : i32[1]
  %5 = strided_slice(%2, %3, %4, %4) {shrink_axis_mask=1} : i32[]
  %6 = const {value=dense<True>} : bool[]
  %i, %sum, %kept, %on, %rows = while(%0, %1, %w, %6, %x, %x, %5, %extra) {carried=5, varying=['m']} sizes(m) : i32[], f32[4], f32[4,4], bool[], f32[m,4]
    condition(%i: i32[], %sum: f32[4], %kept: f32[4,4], %on: bool[], %rows: f32[m,4], %x: f32[n,4], %limit: i32[], %extra: i32[1]) {
      %7 = less(%i, %limit) : bool[]
      %8 = logical_and(%7, %on) : bool[]
      return %8
    }
    body(%i: i32[], %sum: f32[4], %kept: f32[4,4], %on: bool[], %rows: f32[m,4], %x: f32[n,4], %limit: i32[], %extra: i32[1]) {
      %9 = const {value=dense<1>} : i32[]
      %i.next = add(%i, %9) : i32[]
      %10 = const {value=dense<0>} : i32[]
      %11 = gather(%x, %i, %10) : f32[4]
      %12 = exp(%kept) : f32[4,4]
      %13 = sum(%12, %10) {keep_dims=False} : f32[4]
      %14 = mul(%11, %13) : f32[4]
      %15 = greater(%i, %10) : bool[]
      %16, %17 = if(%15, %14, %sum, %extra, %on) sizes(p) : f32[4], f32[p]
        then(%row: f32[4], %sum: f32[4], %extra: i32[1], %on: bool[]) {
          %18 = add(%row, %sum) : f32[4]
          read_sizes(%extra) sizes(k)
          %19 = const {value=dense<2.0>} : f32[]
          %20 = fill(%extra, %19) : f32[k]
          return %18, %20
        }
        otherwise(%row: f32[4], %sum: f32[4], %extra: i32[1], %on: bool[]) {
          %21 = if(%on, %row) : f32[4]
            then(%row: f32[4]) {
              return %row
            }
            otherwise(%row: f32[4]) {
              %22 = neg(%row) : f32[4]
              return %22
            }
          return %21, %row
        }
      %23 = identity(%kept) : f32[4,4]
      %on.next = const {value=dense<True>} : bool[]
      %24 = concat(%rows, %x, %10) : f32[m+n,4]
      return %i.next, %16, %23, %on.next, %24
    }
  return %sum, %kept, %rows
}"""  # noqa: E501


def program(text: str = PROGRAM) -> Computation:
    c = parse_computation(text)
    verify(c, "test")
    return c


def test_every_pass_keeps_the_numbers() -> None:
    c = program()
    arrays = random_inputs(c, n=3)
    arrays[2] = np.array([2], np.int32)
    expected = reference_results(c, arrays)

    def check(name: str, after: Computation) -> None:
        for x, y in zip(reference_results(after, arrays), expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5, err_msg=name)
        assert str(parse_computation(str(after), weights_of(after))) == str(after)

    run_passes(c, Options(), check)


@pytest.mark.parametrize("seed", range(3))
def test_every_pass_keeps_the_numbers_of_random_nests(seed: int) -> None:
    c, arrays = random_control_flow(seed), inputs_of(seed, 3)
    expected = reference_results(c, arrays)

    def check(name: str, after: Computation) -> None:
        for x, y in zip(reference_results(after, arrays), expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4, err_msg=name)

    run_passes(c, Options(), check)


def test_what_is_left_of_the_program() -> None:
    """Only what changes is carried; constants are known; the invariant fold stands outside."""
    found: dict[str, Computation] = {}
    run_passes(program(), Options(fuse=False), lambda name, c: found.update({name: c}))
    (loop,) = [n for n in found["prune"].nodes if n.op.name == "while"]
    body = loop.attrs["body"]
    assert [p.attrs["name"] for p in body.parameters[: loop.attrs["carried"]]] == [
        "i",
        "sum",
        "rows",
    ]
    ops = [n.op.name for n in body.nodes]
    assert "exp" not in ops and "sum" not in ops and "logical_and" not in ops
    (branch,) = [n for n in body.nodes if n.op.name == "if"]
    assert {n.op.name for n in branch.attrs["otherwise"].nodes} == {"parameter"}


def test_a_limit_from_a_shape_is_a_scalar_of_the_loop() -> None:
    text = """\
computation(%x: f32[n,4]) {
  %0 = const {value=dense<0>} : i32[]
  %1 = shape(%x) : i32[2]
  %2 = const {value=dense<[0]>} : i32[1]
  %3 = const {value=dense<[1]>} : i32[1]
  %4 = strided_slice(%1, %2, %3, %3) {shrink_axis_mask=1} : i32[]
  %i = while(%0, %4) {carried=1, varying=[]} : i32[]
    condition(%i: i32[], %limit: i32[]) {
      %5 = less(%i, %limit) : bool[]
      return %5
    }
    body(%i: i32[], %limit: i32[]) {
      %6 = const {value=dense<1>} : i32[]
      %i.next = add(%i, %6) : i32[]
      return %i.next
    }
  return %i
}"""
    c = run_passes(program(text), Options())
    assert [n.attrs["kind"] for n in c.nodes if n.op.name == "cluster"] == ["scalar"]


def made(write: object) -> Node:
    b = Builder()
    value: Value = write(b)
    return value.node


def parameter(b: Builder, dtype: str, *dims: object, name: str = "x") -> Value:
    return b.parameter(name, tensor_type(dtype, dims))


@pytest.mark.parametrize(
    ("fails", "write"),
    [
        (False, lambda b: b.exp(parameter(b, "f32", 3))),
        (False, lambda b: b.floor_div(parameter(b, "f32", 3), parameter(b, "f32", 3, name="y"))),
        (True, lambda b: b.floor_div(parameter(b, "i32", 3), parameter(b, "i32", 3, name="y"))),
        (True, lambda b: b.gather(parameter(b, "f32", 3), parameter(b, "i32", name="i"), 0)),
        (False, lambda b: b.transpose(parameter(b, "f32", symbol("n"), 3), np.int32([1, 0]))),
        (False, lambda b: b.sum(parameter(b, "f32", 3), 0)),
        (False, lambda b: b.cast(parameter(b, "f32", 3), DstT=dtypes.i32)),
        (True, lambda b: b.check_numerics(parameter(b, "f32", 3), message="m")),
        (False, lambda b: b.mat_mul(parameter(b, "f32", 3, 3), np.ones((3, 2), np.float32))),
    ],
)
def test_what_may_fail(fails: bool, write: object) -> None:
    assert may_fail(made(write)) is fails


def test_order_after_a_branch_is_order_after_its_effects() -> None:
    """Inlining a branch leaves what stood after it after what it did."""
    text = """\
computation(%p: bool[], %x: f32[2]) {
  %0 = const {value=dense<True>} : bool[]
  @0 = if(%0, %p)
    then(%p: bool[]) {
      check(%p) {message='first'}
      %1 = logical_not(%p) : bool[]
      check(%1) {message='second'}
      %2 = const {value=dense<1>} : i32[]
      return
    }
    otherwise(%p: bool[]) {
      return
    }
  check(%p) {message='third'} after(@0)
  return %x
}"""
    c = run_passes(program(text), Options(skip=("decompose", "lower", "fuse")))
    checks = [n for n in c.nodes if n.op.name == "check"]
    assert [n.attrs["message"] for n in checks] == ["first", "second", "third"]
    assert checks[2].after == (checks[0], checks[1])


def test_a_broken_body_is_found_after_a_pass() -> None:
    def spoil(c: Computation, options: Options) -> Computation:
        loops = [n for n in c.nodes if n.label == "less"]
        return Computation(c.parameters, c.nodes, c.parameters[0].outputs) if loops else c

    c = run_pass(spoil, program(PROGRAM.replace("logical_and(%7, %on)", "identity(%7)")), Options())
    with pytest.raises(InternalError, match=r"its condition gives i32\[\]"):
        verify(c, "spoil")


def test_nothing_changes_where_nothing_is_to_do() -> None:
    c = run_pass(prune, program(), Options())
    assert run_pass(prune, c, Options()) is c
