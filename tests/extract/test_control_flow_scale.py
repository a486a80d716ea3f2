"""Control flow in large and in deep graphs: time grows with the number of nodes, not faster."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from call_counts import calls
from raw_nodes import B, I, Nodes, constant, enter, graph_of, node

import flowc
from flowc import dtypes
from flowc.errors import UnsupportedError
from flowc.extract.program import extract_program
from flowc.graph import Graph
from flowc.ir.computation import Computation
from flowc.ir.types import TensorType


def conditionals(nodes: Nodes, last: str, count: int, width: int, side_by_side: bool) -> str:
    """Conditionals one after the other, or all on `last`; `width` nodes in one branch of each."""
    first, joined = last, last
    for i in range(count):
        at = f"cond{i}/"
        start = first if side_by_side else last
        nodes[f"{at}k"] = constant(i)
        nodes[f"{at}p"] = node("Less", start, f"{at}k", T=I)
        nodes[f"{at}switch"] = node("Switch", start, f"{at}p", T=I)
        inner = f"{at}switch:1"
        for j in range(width):
            nodes[f"{at}add{j}"] = node("AddV2", inner, f"{at}k", T=I)
            inner = f"{at}add{j}"
        nodes[f"{at}merge"] = node("Merge", f"{at}switch", inner, T=I, N="i: 2")
        last = f"{at}merge"
        if side_by_side:
            nodes[f"{at}sum"] = node("AddV2", joined, last, T=I)
            joined = f"{at}sum"
    return joined if side_by_side else last


def loops(nodes: Nodes, last: str, count: int, width: int) -> str:
    """Loops one after the other, with `width` nodes in the body of each."""
    for i in range(count):
        at = f"loop{i}/"
        open_loop(nodes, at, last, "ten")
        nodes[f"{at}one"] = constant(1, f"{at}merge")
        inner = f"{at}switch:1"
        for j in range(width):
            nodes[f"{at}add{j}"] = node("AddV2", inner, f"{at}one", T=I)
            inner = f"{at}add{j}"
        last = close_loop(nodes, at, inner)
    return last


def open_loop(nodes: Nodes, at: str, start: str, limit: str) -> None:
    nodes.setdefault("ten", constant(10))
    nodes[f"{at}enter"] = enter(start, frame=at)
    nodes[f"{at}limit"] = enter(limit, frame=at)
    nodes[f"{at}merge"] = node("Merge", f"{at}enter", f"{at}next", T=I, N="i: 2")
    nodes[f"{at}less"] = node("Less", f"{at}merge", f"{at}limit", T=I)
    nodes[f"{at}cond"] = node("LoopCond", f"{at}less")
    nodes[f"{at}switch"] = node("Switch", f"{at}merge", f"{at}cond", T=I)


def close_loop(nodes: Nodes, at: str, value: str, switch: str = "switch") -> str:
    which = switch.removeprefix("switch")
    nodes[f"{at}next{which}"] = node("NextIteration", value, T=I)
    nodes[f"{at}exit{which}"] = node("Exit", f"{at}{switch}", T=I)
    return f"{at}exit{which}"


def nested_loops(depth: int) -> Nodes:
    """Loops in each other, which hand a list through to the innermost one, where it grows."""
    nodes: Nodes = {"x": node("Placeholder", dtype=I), "ten": constant(10)}
    nodes["list"] = node(
        "Const", dtype=I, value=f"tensor {{ dtype: {I} tensor_shape {{ dim {{ size: 2 }} }} }}"
    )
    number, items, limit = "x", "list", "ten"
    for i in range(depth):
        at = f"loop{i}/"
        open_loop(nodes, at, number, limit)
        nodes[f"{at}enter2"] = enter(items, frame=at)
        nodes[f"{at}merge2"] = node("Merge", f"{at}enter2", f"{at}next2", T=I, N="i: 2")
        nodes[f"{at}switch2"] = node("Switch", f"{at}merge2", f"{at}cond", T=I)
        number, items, limit = f"{at}switch:1", f"{at}switch2:1", f"{at}limit"
    inside = f"loop{depth - 1}/merge"
    nodes["one"], nodes["axis"] = constant(1, inside), constant(0, inside)
    nodes["add"] = node("AddV2", number, "one", T=I)
    nodes["more"] = node("ConcatV2", items, items, "axis", T=I, Tidx=I, N="i: 2")
    number, items = "add", "more"
    for i in reversed(range(depth)):
        number = close_loop(nodes, f"loop{i}/", number)
        items = close_loop(nodes, f"loop{i}/", items, "switch2")
    nodes["size"] = node("Size", items, T=I, out_type=I)
    nodes["y"] = node("AddV2", number, "size", T=I)
    return nodes


def nested_conditionals(depth: int) -> Nodes:
    nodes: Nodes = {"x": node("Placeholder", dtype=I), "one": constant(1)}
    last = "x"
    for i in range(depth):
        nodes[f"k{i}"] = constant(i)
        nodes[f"p{i}"] = node("Less", f"k{i}", last, T=I)
        nodes[f"switch{i}"] = node("Switch", last, f"p{i}", T=I)
        last = f"switch{i}:1"
    nodes["add"] = node("AddV2", last, "one", T=I)
    last = "add"
    for i in reversed(range(depth)):
        nodes[f"merge{i}"] = node("Merge", f"switch{i}", last, T=I, N="i: 2")
        last = f"merge{i}"
    nodes["y"] = node("Identity", last, T=I)
    return nodes


def extracted(graph: Graph) -> Computation:
    feeds = {graph.get_tensor_by_name("x:0"): TensorType(dtypes.i32, ())}
    return extract_program(graph, [graph.get_tensor_by_name("y:0")], feeds).computation


def work(make: Callable[[Nodes], str]) -> int:
    nodes: Nodes = {"x": node("Placeholder", dtype=I)}
    nodes["y"] = node("Identity", make(nodes), T=I)
    graph = graph_of(nodes)
    return calls(lambda: extracted(graph))


def test_a_large_graph_is_extracted() -> None:
    """6,000 nodes, 150 conditionals, 30 loops."""
    taken = work(lambda n: loops(n, conditionals(n, "x", 150, 28, False), 30, 40))
    assert taken < 6_000 * 3_000


@pytest.mark.parametrize(
    "make",
    [
        lambda n, k: conditionals(n, "x", 20 * k, 5, False),
        lambda n, k: conditionals(n, "x", 20 * k, 5, True),
        lambda n, k: loops(n, "x", 10 * k, 10),
        lambda n, k: loops(n, "x", 1, 150 * k),
    ],
    ids=["in a row", "side by side", "loops", "long body"],
)
def test_work_is_linear(make: Callable[[Nodes, int], str]) -> None:
    few, many = (work(lambda n, k=k: make(n, k)) for k in (1, 8))
    assert many < 16 * few  # quadratic work would be 64 times as much


def test_deep_loops_are_traced_once_a_level() -> None:
    few, many = (calls(lambda d=d: extracted(graph_of(nested_loops(d)))) for d in (10, 30))
    assert many < 30 * few  # doubled by each level it would never end


@pytest.mark.parametrize(("nodes", "fed", "expected"), [
    (nested_loops(12), 7, 10 + 2 * 2**3),
    (nested_loops(12), 10, 12),
    (nested_conditionals(30), 40, 41),
    (nested_conditionals(30), 7, 7),
], ids=["loops", "no iteration", "conditionals", "half of them"])  # fmt: skip
def test_deep_graphs_run(nodes: Nodes, fed: int, expected: int) -> None:
    with flowc.Session(graph=graph_of(nodes)) as session:
        assert session.run("y:0", {"x:0": fed}) == expected


def test_what_is_too_deep_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="too deeply"):
        extracted(graph_of(nested_conditionals(160)))


def test_conditionals_of_one_predicate_are_one() -> None:
    nodes: Nodes = {"x": node("Placeholder", dtype=I), "p": node("Placeholder", dtype=B)}
    last = "x"
    for i in range(20):
        nodes[f"k{i}"] = constant(i)
        nodes[f"switch{i}"] = node("Switch", "x", "p", T=I)
        nodes[f"add{i}"] = node("AddV2", f"switch{i}:1", f"k{i}", T=I)
        nodes[f"merge{i}"] = node("Merge", f"switch{i}", f"add{i}", T=I, N="i: 2")
        nodes[f"sum{i}"] = node("AddV2", last, f"merge{i}", T=I)
        last = f"sum{i}"
    nodes["y"] = node("Identity", last, T=I)
    graph = graph_of(nodes)
    feeds = {
        graph.get_tensor_by_name("x:0"): TensorType(dtypes.i32, ()),
        graph.get_tensor_by_name("p:0"): TensorType(dtypes.bool_, ()),
    }
    program = extract_program(graph, [graph.get_tensor_by_name("y:0")], feeds)
    assert [n.op.name for n in program.computation.nodes].count("if") == 1
