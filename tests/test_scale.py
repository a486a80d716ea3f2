"""Size: no recursion over depth, no step whose time grows with the square of the graph.

A step is taken at one size and at four times that size; time that is linear grows fourfold, time
that is quadratic sixteenfold. The line is drawn at tenfold.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from call_counts import calls
from program_keys import program_key
from tensor_types import tensor_type

import flowc as tf
from flowc.codegen import program
from flowc.codegen.cpu.target import CpuTarget
from flowc.codegen.kernels.kernel import Launch
from flowc.codegen.program import launches_of
from flowc.codegen.targets import target_named
from flowc.compiler import load_executable
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.program_spec import spec_of
from flowc.ir.text.form import parse_computation, weights_of
from flowc.options import Options
from flowc.passes.pipeline import run_passes
from flowc.plan.plan import Needs
from flowc.plan.planner import make_plan

NAMES = (["x"], ["y"])
Fetches = tuple[Any, dict[Any, Any]]  # what a Session is asked, and its feeds


@pytest.fixture
def shallow() -> Iterator[None]:
    """Far less depth than the graphs have; what a body of 64 nodes takes stands in it."""
    frame, used = sys._getframe(), 0
    while frame is not None:
        frame, used = frame.f_back, used + 1
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(used + 700)
    yield
    sys.setrecursionlimit(before)


def started() -> tuple[Builder, Value]:
    b = Builder()
    return b, b.parameter("x", tensor_type("f32", (8, 8)))


def elementwise_chain(count: int) -> Computation:
    b, x = started()
    y = x
    for i in range(count):
        y = b.add(b.neg(y), x) if i % 2 else b.tanh(y)
    return b.build([y])


def residual_blocks(count: int) -> Computation:
    """Products with what follows, the sum of which is read again later."""
    b, x = started()
    w = b.const(np.eye(8, dtype=np.float32))
    y, kept = x, x
    for i in range(count // 4):
        y = b.tanh(b.add(b.mat_mul(b.softmax(y), w), y))
        if i % 16 == 0:
            y, kept = b.add(y, kept), y
    return b.build([y])


def views_everywhere(count: int) -> Computation:
    b, x = started()
    turn = b.const(np.array([1, 0], np.int32))
    back = b.const(np.array([0], np.int32))
    y = x
    for _ in range(count // 4):
        y = b.add(b.reverse(b.transpose(b.tanh(y), turn), back), y)
    return b.build([y])


def wide(count: int) -> Computation:
    """One value with many readers, and many values with one reader."""
    b, x = started()
    terms = [b.mul(b.tanh(x), np.float32(i)) for i in range(count // 4)]
    while len(terms) > 1:
        terms = [b.add_n(*terms[i : i + 8]) for i in range(0, len(terms), 8)]
    return b.build(terms)


def sums_of_pairs(count: int) -> Computation:
    """A tree, level by level: many clusters at a time that nobody reads as yet."""
    b, x = started()
    terms = [b.mul(x, np.float32(i)) for i in range(count // 4)]
    while len(terms) > 1:
        pairs = zip(terms[::2], terms[1::2])
        terms = [b.tanh(b.add(p, q)) for p, q in pairs] + terms[len(terms) // 2 * 2 :]
    return b.build(terms)


GRAPHS = {
    f.__name__: f
    for f in (elementwise_chain, residual_blocks, views_everywhere, wide, sums_of_pairs)
}


def plan(c: Computation) -> None:
    make_plan(c, {n: Needs() for n in c.nodes if n.op.name == "cluster"})


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.usefixtures("shallow")
def test_work_is_linear(name: str) -> None:
    steps: dict[str, list[int]] = {"passes": [], "plan": [], "print": [], "parse": [], "key": []}
    for count in (150, 600):
        c = GRAPHS[name](count)
        text, arrays = str(c), weights_of(c)
        fused = run_passes(c, Options())
        steps["passes"].append(calls(lambda c=c: run_passes(c, Options())))
        steps["plan"].append(calls(lambda f=fused: plan(f)))
        steps["print"].append(calls(lambda f=fused: str(f)))
        steps["parse"].append(calls(lambda t=text, a=arrays: parse_computation(t, a)))
        steps["key"].append(calls(lambda c=c: program_key(c, Options(), spec_of(c, *NAMES))))
    for step, (small, large) in steps.items():
        assert large < 6 * small, f"{step}: {small} calls, then {large}"


@pytest.mark.usefixtures("shallow")
def test_a_chain_of_50000_goes_through_the_passes() -> None:
    c = run_passes(elementwise_chain(33_334), Options())
    plan(c)
    assert 700 < sum(n.op.name == "cluster" for n in c.nodes) < 900


@pytest.mark.usefixtures("shallow")
def test_a_chain_of_1500_runs() -> None:
    x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)
    c = elementwise_chain(1000)
    (found,) = load_executable(c, Options(), spec_of(c, *NAMES)).run([x])
    y = x
    for i in range(1000):
        y = -y + x if i % 2 else np.tanh(y)
    np.testing.assert_allclose(found, y, rtol=1e-4, atol=1e-4)


def kernels_of(c: Computation) -> tuple[int, int]:
    """How many kernels a graph has, and how many launches."""
    found = launches_of(run_passes(c, Options()), target_named("x86-64-v3"))
    every = [x for launches in found.values() for x in launches]
    return len({kernel.key for x in every for kernel in x.kernels}), len(every)


@pytest.mark.usefixtures("shallow")
def test_trees_of_different_literals_have_a_few_kernels() -> None:
    """Two for each level of the clusters, of which there are as many as a logarithm: one, and one
    that all others share."""
    small, large = kernels_of(sums_of_pairs(1000)), kernels_of(sums_of_pairs(4000))
    assert large[1] > 3 * small[1] > 24
    assert large[0] <= small[0] + 6 <= 16, (small, large)


def first_values(count: int) -> Fetches:
    for i in range(count):
        tf.Variable(np.full([i % 5], i, np.float32))
    return tf.global_variables_initializer(), {}


def products(count: int) -> Fetches:
    x = y = tf.placeholder(tf.float32, [4, 4])
    w = tf.constant(np.eye(4, dtype=np.float32))
    for _ in range(count):
        y = tf.matmul(y, w)
    return y, {x: np.ones((4, 4))}


def convolutions(count: int) -> Fetches:
    """Each with weights of its own, and what follows it."""
    x = y = tf.placeholder(tf.float32, [1, 4, 4, 8])
    rng = np.random.default_rng(0)
    for _ in range(count):
        weights = rng.normal(size=(3, 3, 8, 8)).astype(np.float32) / 9
        bias = rng.normal(size=8).astype(np.float32)
        y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(y, weights, [1, 1, 1, 1], "SAME"), bias))
    return y, {x: np.ones((1, 4, 4, 8))}


def side_by_side(count: int) -> Fetches:
    x = tf.placeholder(tf.float32, [16])
    return [tf.identity(x) if i % 2 else -x for i in range(count)], {x: np.ones(16)}


@pytest.mark.parametrize(
    "build", [first_values, products, convolutions, side_by_side], ids=lambda f: f.__name__
)
def test_a_first_run_is_linear(
    build: Callable[[int], Fetches], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOWC_CACHE", "0")
    found: list[int] = []
    for count in (10, 100, 400):
        with tf.Graph().as_default(), tf.Session(threads=1) as session:
            fetches, feeds = build(count)
            found.append(calls(lambda f=fetches, given=feeds, s=session: s.run(f, given)))
    _, small, large = found  # the first one imports what compiles
    assert large < 4.4 * small, found


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The LLVM IR of the drivers of programs that are compiled."""
    monkeypatch.setenv("FLOWC_CACHE", "0")
    found: list[str] = []
    compiled = program.driver_object

    def kept(text: str, *args: Any, **settings: Any) -> bytes:
        found.append(text)
        return compiled(text, *args, **settings)

    monkeypatch.setattr(program, "driver_object", kept)
    return found


def test_what_convolutions_take_each(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The launches of one are those of all. A launch writes its pointers, its ints are a constant;
    few branches of the driver ask for signals, as LLVM takes time quadratic in their number."""
    made: list[Node] = []
    launches = CpuTarget.launches

    def noted(self: CpuTarget, node: Node) -> tuple[Launch, ...]:
        made.append(node)
        return launches(self, node)

    monkeypatch.setattr(CpuTarget, "launches", noted)
    for count in (100, 400):
        with tf.Graph().as_default(), tf.Session(threads=1) as session:
            session.run(*convolutions(count))
    small, large = texts
    assert len(made) <= 4
    assert large.count("constant [") == small.count("constant [") < 8
    assert large.count('call i32 @"flowc_interpreter_poll"') < 10
    assert len(large.splitlines()) - len(small.splitlines()) < 300 * 30


def test_first_values_are_copied_by_one_loop(texts: list[str]) -> None:
    """What a variable's first value takes: three nodes of TensorFlow go through the compiler, and
    no code is emitted for it."""
    found: list[int] = []
    for count in (10, 100, 400):
        with tf.Graph().as_default() as graph, tf.Session(threads=1) as session:
            init, _ = first_values(count)
            found.append(calls(lambda f=init, s=session: s.run(f)))
            for i, v in enumerate(graph.get_collection("variables")):
                np.testing.assert_array_equal(session.run(v.name), np.full([i % 5], i))
                if i == 20:
                    break
    drivers = [text for text in texts if "copies" in text]
    assert len({len(text.splitlines()) for text in drivers}) == 1
    assert found[2] - found[1] < 300 * 1640, found


def test_an_import_of_a_node_with_many_outputs_is_linear() -> None:
    """As files have them that restore all variables by one node."""
    found: list[int] = []
    for count in (10, 100, 400):
        with tf.Graph().as_default() as graph:
            parts = tf.unstack(tf.placeholder(tf.float32, [count]))
            tf.add_n([tf.identity(part) for part in parts])
        encoded = graph.as_graph_def()
        with tf.Graph().as_default():
            found.append(calls(lambda g=encoded: tf.import_graph_def(g, name="")))
    _, small, large = found
    assert large < 4.4 * small, found
