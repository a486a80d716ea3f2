"""Malformed control flow ends in errors that name the nodes, and never hangs.

In: a sound loop or conditional, written node by node, with nodes replaced, added or taken away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from raw_nodes import B, F, I, Nodes, constant, enter, graph_of, node

import flowc
from flowc.errors import FlowcError, InvalidArgumentError, InvalidModelError

# y: 0 + 1 + 1 + 1
LOOP: Nodes = {
    "zero": constant(0),
    "three": constant(3),
    "enter": enter("zero"),
    "limit": enter("three"),
    "merge": node("Merge", "enter", "next", T=I, N="i: 2"),
    "less": node("Less", "merge", "limit", T=I),
    "cond": node("LoopCond", "less"),
    "switch": node("Switch", "merge", "cond", T=I),
    "body": node("Identity", "switch:1", T=I),
    "one": constant(1, "body"),
    "add": node("AddV2", "body", "one", T=I),
    "next": node("NextIteration", "add", T=I),
    "exit": node("Exit", "switch", T=I),
    "y": node("Identity", "exit", T=I),
}
# y: p ? x + 1 : x
CONDITIONAL: Nodes = {
    "p": constant(True),
    "x": constant(2),
    "switch": node("Switch", "x", "p", T=I),
    "one": constant(1),
    "add": node("AddV2", "switch:1", "one", T=I),
    "merge": node("Merge", "switch", "add", T=I, N="i: 2"),
    "y": node("Identity", "merge", T=I),
}


def run(nodes: Mapping[str, str | None], library: str = "") -> Any:
    with flowc.Session(graph=graph_of(nodes, library)) as session:
        return session.run("y:0")


def test_sound_ones_run() -> None:
    assert run(LOOP) == 3
    assert run(CONDITIONAL) == 3


# name: what is changed, and what the message must say
LOOPS: dict[str, tuple[dict[str, str | None], tuple[str, ...]]] = {
    "exit without enter": (
        {"exit": node("Exit", "zero", T=I)},
        ("'exit' (Exit)", "leaves a loop that no Enter enters"),
    ),
    "next to no merge": (
        {"y": node("AddV2", "exit", "other", T=I), "other": node("Exit", "wrong", T=I),
         "wrong": node("Identity", "next", T=I)},
        ("'wrong' (Identity)", "'next' (NextIteration)", "only a Merge"),
    ),
    "two enters": (
        {"merge": node("Merge", "enter", "limit", T=I, N="i: 2")},
        ("'merge' (Merge)", "no condition says which one is alive"),
    ),
    "two nexts": (
        {"merge": node("Merge", "next", "next", T=I, N="i: 2")},
        ("'merge' (Merge)", "one Enter and one NextIteration"),
    ),
    "three inputs": (
        {"merge": node("Merge", "enter", "next", "limit", T=I, N="i: 3")},
        ("'merge' (Merge)", "one Enter and one NextIteration"),
    ),
    "no condition": (
        {"switch": node("Switch", "merge", "less", T=I), "cond": None},
        ("'enter' (Enter)", "'f'", "no LoopCond"),
    ),
    "two conditions": (
        {"cond2": node("LoopCond", "less"), "switch": node("Switch", "both", "cond2", T=I),
         "both": node("Switch", "merge", "cond", T=I)},
        ("(LoopCond) is a second condition of its loop", "'cond'"),
    ),
    "condition outside": (
        {"y": node("Switch", "zero", "outer", T=I), "outer": node("LoopCond", "no"),
         "no": constant(False)},
        ("'outer' (LoopCond)", "stands in no loop"),
    ),
    "crossed with outside": (
        {"add": node("AddV2", "body", "three", T=I)},
        ("'add' (AddV2) reads values of two frames", "'f'", "outside"),
    ),
    "crossed frames": (
        {"limit": enter("three", frame="g")},
        ("'less' (Less) reads values of two frames", "'f'", "'g'"),
    ),
    "no frame name": (
        {"enter": node("Enter", "zero", T=I)},
        ("'enter'", "frame_name"),
    ),
    "empty frame name": (
        {"enter": enter("zero", frame="")},
        ("'enter' (Enter)", "has no frame_name"),
    ),
    "cycle": (
        {"merge": node("Merge", "enter", "add", T=I, N="i: 2")},
        ("in a circle", "'add' -> 'merge' -> 'switch' -> 'body' -> 'add'"),
    ),
    "cycle without merge": (
        {"y": node("AddV2", "y2", "exit", T=I), "y2": node("Identity", "y", T=I)},
        ("in a circle", "'y' -> 'y2' -> 'y'"),
    ),
    "next elsewhere": (
        {"next": node("NextIteration", "three", T=I)},
        ("'merge' (Merge) reads values of two frames",),
    ),
    "condition is a number": (
        {"cond": node("LoopCond", "merge")},
        ("cond",),
    ),
    "exit of nothing": ({"exit": node("Exit", T=I)}, ("exit",)),
    "exit of two": ({"exit": node("Exit", "switch", "switch", T=I)}, ("exit",)),
    "switch of one": ({"switch": node("Switch", "merge", T=I)}, ("switch",)),
    "next of nothing": ({"next": node("NextIteration", T=I)}, ("next",)),
    "condition of nothing": ({"cond": node("LoopCond")}, ("cond",)),
    "enter of nothing": (
        {"enter": node("Enter", T=I, frame_name='s: "f"')},
        ("enter",),
    ),
    "merge of nothing": ({"merge": node("Merge", T=I, N="i: 0")}, ("merge",)),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(LOOPS))
def test_loops(name: str) -> None:
    changed, words = LOOPS[name]
    with pytest.raises((InvalidModelError, ValueError)) as caught:
        run({**LOOP, **changed})
    assert_said(caught.value, words)


@pytest.mark.parametrize("name", ["cycle", "cycle without merge", "crossed frames"])
def test_what_no_run_can_follow_is_an_invalid_argument(name: str) -> None:
    text = "inputs from different frames" if "frames" in name else "Graph is invalid, .* a cycle"
    with pytest.raises(InvalidArgumentError, match=text):
        run({**LOOP, **LOOPS[name][0]})


def assert_said(error: BaseException, words: tuple[str, ...]) -> None:
    assert isinstance(error, FlowcError | ValueError)
    for word in words:
        assert word in str(error)


CONDITIONALS: dict[str, tuple[dict[str, str | None], tuple[str, ...]]] = {
    "unrelated values": (
        {"merge": node("Merge", "x", "one", T=I, N="i: 2")},
        ("'merge' (Merge)", "no condition says which one is alive"),
    ),
    "two predicates": (
        {"q": constant(False), "other": node("Switch", "x", "q", T=I),
         "merge": node("Merge", "other", "add", T=I, N="i: 2")},
        ("'merge' (Merge)", "no condition says which one is alive"),
    ),
    "predicate is a number": (
        {"p": constant(1)}, ("'switch' (Switch)", "'p:0' of i32, expected bool")
    ),
    "predicate is a vector": (
        {"p": node("Const", dtype=B, value=f"tensor {{ dtype: {B} tensor_shape {{ dim {{ size: 2 "
         "} } bool_val: true }")},
        ("merge", "must be a scalar, but it has shape [2]", "'p'"),
    ),
    "branches of two dtypes": (
        {"one": constant(1.0), "cast": node("Cast", "switch:1", SrcT=I, DstT=F),
         "add": node("AddV2", "cast", "one", T=F)},
        ("merge", "f32", "i32"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CONDITIONALS))
def test_conditionals(name: str) -> None:
    changed, words = CONDITIONALS[name]
    nodes = {**CONDITIONAL, "p": node("LogicalNot", "no"), "no": constant(False), **changed}
    with pytest.raises((InvalidModelError, InvalidArgumentError, ValueError)) as caught:
        run(nodes)
    assert_said(caught.value, words)


def function(name: str, inputs: str, outputs: Mapping[str, str], nodes: Mapping[str, str]) -> str:
    """A function in a library: `inputs` and `outputs` as `name: type`, where each result is."""
    text = f'signature {{ name: "{name}" '
    for arg in inputs.split():
        text += f'input_arg {{ name: "{arg[:-1]}" type: {TYPES[arg[-1]]} }} '
    for arg in outputs:
        text += f'output_arg {{ name: "{arg[:-1]}" type: {TYPES[arg[-1]]} }} '
    text += "} " + " ".join(f'node_def {{ name: "{n}" {t} }}' for n, t in nodes.items())
    for arg, value in outputs.items():
        text += f' ret {{ key: "{arg[:-1]}" value: "{value}" }}'
    return f"function {{ {text} }} "


TYPES = {"i": I, "f": F, "b": B}
LESS = {
    "three": constant(3),
    "less": node("Less", "i", "three:output:0", T=I),
}
ONE_MORE = {
    "one": constant(1),
    "add": node("AddV2", "i", "one:output:0", T=I),
}
CONDITION = function("condition", "ii", {"ob": "less:z:0"}, LESS)
BODY = function("body", "ii", {"oi": "add:z:0"}, ONE_MORE)


def while_of(condition: str = "condition", body: str = "body", start: str = "zero") -> Nodes:
    return {
        "zero": constant(0),
        "while": node(
            "While", start, T=f"list {{ type: {I} }}", cond=f'func {{ name: "{condition}" }}',
            body=f'func {{ name: "{body}" }}',
        ),
        "y": node("Identity", "while", T=I),
    }  # fmt: skip


def test_a_sound_while_runs() -> None:
    assert run(while_of(), CONDITION + BODY) == 3


NOTHING = function("body", "ii", {}, {})
TWO = function("body", "ii", {"oi": "add:z:0", "pi": "add:z:0"}, ONE_MORE)
MORE_ARGUMENTS = function("body", "ii ji", {"oi": "add:z:0"}, ONE_MORE)
NO_BOOL = function("condition", "ii", {}, {})
FLOATS = function("body", "ii", {"of": "cast:y:0"}, {"cast": node("Cast", "i", SrcT=I, DstT=F)})
LOOSE = function("body", "ii", {"oi": "lost:z:0"}, ONE_MORE)
CIRCLE = function(
    "body", "ii", {"oi": "add:z:0"}, {"add": node("AddV2", "i", "more:z:0", T=I),
                                      "more": node("AddV2", "i", "add:z:0", T=I)},
)  # fmt: skip
ITSELF = function(
    "body", "ii", {"oi": "call:output:0"},
    {"call": node("PartitionedCall", "i", Tin=f"list {{ type: {I} }}",
                  Tout=f"list {{ type: {I} }}", f='func { name: "body" }')},
)  # fmt: skip
EACH_OTHER = "".join(
    function(
        a, "ii", {"oi": "call:output:0"},
        {"call": node("StatefulPartitionedCall", "i", Tin=f"list {{ type: {I} }}",
                      Tout=f"list {{ type: {I} }}", f=f'func {{ name: "{b}" }}')},
    )
    for a, b in (("body", "other"), ("other", "body"))
)  # fmt: skip
# Calls itself in a branch only: TensorFlow ends when the number is large enough.
IN_BRANCH = (
    function("stop", "ii", {"oi": "i"}, {})
    + function(
        "body", "ii", {"oi": "if:output:0"},
        {**LESS, **ONE_MORE,
         "if": node("If", "less:z:0", "add:z:0", Tcond=B, Tin=f"list {{ type: {I} }}",
                    Tout=f"list {{ type: {I} }}", then_branch='func { name: "body" }',
                    else_branch='func { name: "stop" }')},
    )
)  # fmt: skip

FUNCTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "missing body": (CONDITION, ("while", "'body'", "lacks")),
    "missing condition": (BODY, ("while", "'condition'", "lacks")),
    "fewer results": (CONDITION + NOTHING, ("while", "0 values for 1 variable")),
    "more results": (CONDITION + TWO, ("while", "2 values for 1 variable")),
    "more arguments": (CONDITION + MORE_ARGUMENTS, ("while", "'body'", "2", "1")),
    "condition without result": (NO_BOOL + BODY, ("while", "condition")),
    "dtype changes": (CONDITION + FLOATS, ("while", "i32[]", "f32[]")),
    "lost node": (CONDITION + LOOSE, ("lost",)),
    "circle": (CONDITION + CIRCLE, ("in a circle", "'while/add' -> 'while/more' -> 'while/add'")),
    "recursion": (CONDITION + ITSELF, ("body", "calls itself")),
    "mutual recursion": (CONDITION + EACH_OTHER, ("body", "other", "calls itself")),
    "recursion in a branch": (CONDITION + IN_BRANCH, ("body", "calls itself")),
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions(name: str) -> None:
    library, words = FUNCTIONS[name]
    with pytest.raises(FlowcError) as caught:
        run(while_of(), library)
    assert_said(caught.value, words)


def test_errors_of_a_fetch_come_when_it_is_fetched() -> None:
    """What nothing asks for may be malformed."""
    assert np.array_equal(run({**LOOP, "stray": node("Exit", "zero", T=I)}), 3)
