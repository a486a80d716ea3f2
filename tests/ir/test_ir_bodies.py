"""Loops and branches: the verifier bites, sizes are scoped, passes work inside bodies."""

from __future__ import annotations

import pytest
from ir_reference import random_inputs, reference_results

from flowc.errors import InternalError
from flowc.ir.bodies import free_sizes, replace_sizes_in, size_definitions, sizes_used
from flowc.ir.computation import Computation
from flowc.ir.dims import Symbol, expression, fresh_symbol, symbol
from flowc.ir.rewrite import Rewriter, rewrite_nodes
from flowc.ir.text.form import parse_computation, print_computation
from flowc.ir.verifier import verify
from flowc.options import Options
from flowc.passes.pipeline import run_pass, run_passes
from flowc.passes.prune import prune

GROWING = """\
computation(%x: f32[n], %limit: i32[]) {
  %0 = const {value=dense<0>} : i32[]
  %i, %v = while(%0, %x, %limit) {carried=2, varying=['m']} sizes(m) : i32[], f32[m]
    condition(%i: i32[], %v: f32[m], %l: i32[]) {
      %1 = less(%i, %l) : bool[]
      return %1
    }
    body(%i: i32[], %v: f32[m], %l: i32[]) {
      %2 = const {value=dense<1>} : i32[]
      %i.next = add(%i, %2) : i32[]
      %3 = const {value=dense<0>} : i32[]
      %v.next = concat(%v, %v, %3) : f32[2*m]
      return %i.next, %v.next
    }
  %4 = neg(%v) : f32[m]
  return %i, %4
}"""

CHOICE = """\
computation(%p: bool[], %x: f32[n], %dims: i32[1]) {
  %0 = if(%p, %x, %dims) sizes(n_1) : f32[n_1]
    then(%x: f32[n], %dims: i32[1]) {
      %1 = relu(%x) : f32[n]
      return %1
    }
    otherwise(%x: f32[n], %dims: i32[1]) {
      read_sizes(%dims) sizes(k)
      %2 = const {value=dense<2.0>} : f32[]
      %3 = fill(%dims, %2) : f32[k]
      return %3
    }
  return %0
}"""


def fault(text: str) -> str:
    with pytest.raises(InternalError) as caught:
        verify(parse_computation(text), "some_pass")
    assert "some_pass: " in str(caught.value)
    return str(caught.value)


def changed(text: str, old: str, new: str, count: int = -1) -> str:
    assert old in text
    return text.replace(old, new, count)


def test_loops_and_branches_are_right() -> None:
    for text in (GROWING, CHOICE):
        c = parse_computation(text)
        verify(c, "test")
        assert print_computation(c, exact=True) == text
        again = run_passes(c, Options())
        arrays = random_inputs(c)
        for x, y in zip(reference_results(c, arrays), reference_results(again, arrays)):
            assert x.tolist() == y.tolist()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("condition(%i: i32[], %v: f32[m]", "condition(%i: i32[], %v: f32[n]", "different"),
        ("f32[m]", "f32[q]", "uses the size q, which nothing defines"),
        ("return %i.next, %v.next", "return %i.next, %2", "Tout is not"),
        ("return %i.next, %v.next", "return %i.next", "its body has 1 results"),
        ("return %1", "return %i", "its condition gives i32[]"),
        ("carried=2", "carried=4", "carries 4 of 3 inputs"),
        ("{carried=2", "{Tout=[i32, i32], carried=2", "Tout is not"),
        ("varying=['m']", "varying=['m', 'k']", "no carried parameter has the varying size k"),
        ("while(%0, %x, %limit)", "while(%0, %x)", "has 2 inputs, its bodies 3 parameters"),
        ("while(%0, %x, %limit)", "while(%x, %x, %limit)", "an initial value does not fit"),
        ("while(%0, %x, %limit)", "while(%0, %x, %x)", "is the parameter i32[] of its bodies"),
        ("add(%i, %2) : i32[]", "add(%i, %2) : i32[1]", "in the body of while: <add"),
        ("less(%i, %l)", "less(%i, %v)", "in the condition of while"),
        ("sizes(m) : i32[], f32[m]", ": i32[], f32[n]", "has types"),
    ],
)
def test_loops_that_do_not_fit(old: str, new: str, message: str) -> None:
    assert message in fault(changed(GROWING, old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("%p: bool[]", "%p: bool[1]", "condition is no bool[]"),
        ("if(%p, %x, %dims)", "if(%p, %dims, %x)", "parameters of then do not match"),
        ("return %1", "return %dims", "Tout is not the dtypes of the results of then"),
        ("%3 = fill(%dims, %2) : f32[k]", "%3 = fill(%dims, %2) : f32[j]", "size j, which nothing"),
        ("sizes(n_1) : f32[n_1]", ": f32[n]", "has types"),
    ],
)
def test_branches_that_do_not_fit(old: str, new: str, message: str) -> None:
    assert message in fault(changed(CHOICE, old, new))


def test_a_result_keeps_the_dims_that_do_not_vary() -> None:
    text = changed(GROWING, "f32[m]", "f32[m,4]")
    text = changed(text, "f32[2*m]", "f32[2*m,4]").replace("%x: f32[n]", "%x: f32[n,4]")
    verify(parse_computation(text), "test")
    reduced = "%9 = const {value=dense<1>} : i32[]\n"
    reduced += "      %v.next = sum(%v, %9) {keep_dims=True} : f32[m,1]"
    text = changed(text, "%v.next = concat(%v, %v, %3) : f32[2*m,4]", reduced)
    assert "a result does not fit: f32[m,1] does not fit the carried f32[m,4]" in fault(text)


def test_a_size_of_a_body_is_local() -> None:
    outside = "  %9 = sizes {dims=[size<k>]} : i32[1]\n  return %0, %9\n"
    text = changed(CHOICE, "  return %0\n", outside)
    assert "uses the size k, which nothing defines" in fault(text)


def test_a_size_is_defined_once() -> None:
    """A body defines no size that is defined around it, used or not."""
    shadowed = changed(changed(CHOICE, "sizes(k)", "sizes(n)"), "f32[k]", "f32[n]")
    assert "defines the size n again" in fault(shadowed)  # it takes x: f32[n] from outside
    alone = changed(changed(shadowed, ", %x, %dims)", ", %dims)"), "(%x: f32[n], %dims: i32[1]) {",
                    "(%dims: i32[1]) {")  # fmt: skip
    alone = changed(alone, "relu(%x) : f32[n]", "cast(%dims) {Truncate=False} : f32[1]")
    assert "defines the size n again" in fault(alone)
    verify(parse_computation(changed(alone, "%x: f32[n]", "%x: f32[k]")), "test")


def test_sizes_that_bodies_use() -> None:
    loop = parse_computation(GROWING).nodes[3]
    assert sizes_used(loop) == set()
    assert free_sizes(loop.attrs["body"]) == {Symbol("m")}
    choice = parse_computation(CHOICE).nodes[3]
    assert sizes_used(choice) == {Symbol("n")}
    assert size_definitions(parse_computation(CHOICE)).keys() == {Symbol("n_1")}
    assert size_definitions(choice.attrs["otherwise"]).keys() == {Symbol("k")}


def test_replaced_sizes_are_not_captured() -> None:
    """What a body defines is no size of outside, whatever both are called."""
    otherwise = parse_computation(CHOICE).nodes[3].attrs["otherwise"]
    outer = fresh_symbol("k")
    found = replace_sizes_in(otherwise, {Symbol("n"): expression(outer) * 2})
    assert found.parameters[0].output.dims == (expression(outer) * 2,)
    assert found.results[0].dims == (symbol("k"),) != (expression(outer),)
    assert size_definitions(found).keys() == {Symbol("k")}
    assert replace_sizes_in(otherwise, {Symbol("q"): 3}) is otherwise


def test_sizes_are_replaced_wherever_they_stand() -> None:
    """Also where they are defined, and in bodies."""
    for text, names in ((GROWING, "nm"), (CHOICE, ("n", "k", "n_1"))):
        c = parse_computation(text)
        other = {Symbol(name): symbol(f"other_{name}") for name in names}
        found = replace_sizes_in(c, other)
        verify(found, "test")
        assert print_computation(found, exact=True).replace("other_", "") == text
        assert replace_sizes_in(found, other) is found


def test_an_effect_in_a_body_is_an_effect() -> None:
    unused = changed(CHOICE, "return %0", "return %x")
    kept = changed(unused, "%x, %dims)", "%x, %dims, %p)")
    kept = changed(kept, "%dims: i32[1]) {\n      ", "%dims: i32[1], %p: bool[]) {\n      ")
    kept = changed(kept, "%1 = relu", "check(%p) {message='no'}\n      %1 = relu")
    verify(parse_computation(kept), "test")
    found = run_pass(prune, parse_computation(kept), Options())
    assert str(found).split("\n")[1:-1] == [
        "  if(%p, %p)",
        "    then {",
        "      check(%p) {message='no'}",
        "      return",
        "    }",
        "    otherwise: return",
        "  return %x",
    ]
    assert found.nodes[-1].has_effects
    dropped = run_pass(prune, parse_computation(unused), Options())
    assert [n.op.name for n in dropped.nodes] == ["parameter"] * 3


def test_sizes_that_only_bodies_use_stay_defined() -> None:
    text = """\
computation(%p: bool[], %dims: i32[1]) {
  read_sizes(%dims) sizes(k)
  %0 = if(%p) : i32[1]
    then() {
      %1 = sizes {dims=[size<k>]} : i32[1]
      return %1
    }
    otherwise() {
      %2 = const {value=dense<[3]>} : i32[1]
      return %2
    }
  return %0
}"""
    c = parse_computation(text)
    verify(c, "test")
    assert prune(c, Options()) is c


def test_bodies_that_change_types_change_their_node() -> None:
    """What a pass finds out about a size in a body is known outside, too."""

    def rewrite(b: Rewriter, node: object) -> object:
        if node.op.name == "read_sizes":
            b.known_sizes[Symbol("k")] = symbol("n")
            return []
        if node.op.name == "fill":
            return b.relu(b.nodes[0].output)
        return None

    def change(c: Computation, options: Options) -> Computation:
        return rewrite_nodes(c, rewrite)

    c = run_pass(change, parse_computation(CHOICE), Options())
    verify(c, "test")
    assert str(c.results[0].type) == "f32[n]" and c.results[0].node.sizes == ()
