"""Sizes of inputs that nobody named: which are one, what a program does with those that are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.errors import InvalidArgumentError
from flowc.extract.interface import choose_interface
from flowc.extract.size_unification import extract_fetches
from flowc.graph import Graph
from flowc.ir.bodies import bodies_of
from flowc.ir.computation import Computation
from flowc.options import Options
from flowc.passes.pipeline import run_passes

f32, i32 = tf.float32, tf.int32


def kernels(c: Computation) -> tuple[int, int]:
    """Clusters, and sizes that are compared, in a Computation and its bodies."""
    inside = [
        kernels(body) for n in c.nodes if n.op.name != "cluster" for body in bodies_of(n).values()
    ]
    clusters = sum(n.op.name == "cluster" for n in c.nodes)
    return clusters + sum(i[0] for i in inside), len(c.constraints) + sum(i[1] for i in inside)


def graph_of(build: Callable[[], object]) -> Graph:
    with tf.Graph().as_default() as graph:
        build()
    return graph


def types(graph: Graph, feeds: list[str] | None = None) -> list[str]:
    chosen, program = extract_fetches(graph, choose_interface(graph, feeds))
    found = [str(f.type) for f in chosen.feeds]
    assert found == [str(p.output.type) for p in program.computation.parameters]
    return found


def added() -> None:
    x, y = tf.placeholder(f32, [None, 4], "x"), tf.placeholder(f32, [None, 4], "y")
    tf.tanh(tf.exp(x) + y, name="out")


def apart() -> None:
    x, y = tf.placeholder(f32, [None, 4], "in/x"), tf.placeholder(f32, [None, 4], "y")
    tf.tanh(x, name="one")
    tf.tanh(y, name="two")


def product() -> None:
    x, y = tf.placeholder(f32, [None, None], "x"), tf.placeholder(f32, [None, None], "y")
    tf.matmul(x, y)


def masked_loop() -> None:
    """A state of its own rows, each of which goes on while its length is not reached."""
    x, lengths = tf.placeholder(f32, [None, None, 3], "x"), tf.placeholder(i32, [None], "lengths")
    start = tf.placeholder(f32, [None, 8], "start")
    weights = tf.constant(np.full((11, 8), 0.1, np.float32))

    def step(i: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        new = tf.tanh(tf.matmul(tf.concat([x[:, i], state], 1), weights))
        return i + 1, tf.where(i < lengths, new, state)

    tf.while_loop(lambda i, _: i < tf.shape(x)[1], step, [tf.constant(0), start])


def reshaped() -> None:
    x, y = tf.placeholder(f32, [None, None], "x"), tf.placeholder(f32, [None, None], "y")
    tf.add(tf.tanh(tf.reshape(tf.exp(y), tf.shape(x))), x)


def in_a_branch() -> None:
    x, y = tf.placeholder(f32, [None, 4], "x"), tf.placeholder(f32, [None, 4], "y")
    tf.cond(tf.placeholder(tf.bool, [], "joins"), lambda: tf.exp(x) + y, lambda: x * 2.0)


def stacked() -> None:
    x, y = tf.placeholder(f32, [None, 4], "x"), tf.placeholder(f32, [None, 4], "y")
    tf.concat([x, y], 0)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (added, ["f32[batch,4]", "f32[batch,4]"]),
        (apart, ["f32[batch,4]", "f32[y_0,4]"]),
        (product, ["f32[batch,x_1]", "f32[x_1,y_1]"]),
        (masked_loop, ["f32[batch,x_1,3]", "i32[batch]", "f32[batch,8]"]),
        (reshaped, ["f32[batch,x_1]", "f32[batch,x_1]"]),
        (in_a_branch, ["f32[batch,4]", "f32[y_0,4]", "bool[]"]),
        (stacked, ["f32[batch,4]", "f32[y_0,4]"]),
    ],
)
def test_sizes_that_must_be_equal_have_one_name(
    build: Callable[[], object], expected: list[str]
) -> None:
    assert types(graph_of(build)) == expected


@pytest.mark.parametrize(
    ("build", "one_name"),
    [
        (added, ["x=[b,4]", "y=[b,4]"]),
        (product, ["x=[b,c]", "y=[c,d]"]),
        (masked_loop, ["x=[b,t,3]", "lengths=[b]", "start=[b,8]"]),
        (reshaped, ["x=[b,c]", "y=[b,c]"]),
    ],
)
def test_joined_sizes_cost_no_kernels(build: Callable[[], object], one_name: list[str]) -> None:
    counts = []
    for feeds in (None, one_name):
        graph = graph_of(build)
        _, program = extract_fetches(graph, choose_interface(graph, feeds))
        fused = run_passes(program.computation, Options(target="x86-64-v3"))
        counts.append(kernels(fused))
    assert counts[0] == counts[1]


def test_names_that_callers_gave_stay() -> None:
    graph = graph_of(added)
    assert types(graph, ["x=[n,4]", "y=[m,4]"]) == ["f32[n,4]", "f32[m,4]"]
    assert types(graph, ["x", "y=[m,4]"]) == ["f32[m,4]", "f32[m,4]"]
    assert types(graph, ["x=[?,4]", "y=[batch,4]"]) == ["f32[batch,4]", "f32[batch,4]"]
    assert types(graph_of(apart), ["in/x", "y=[batch,4]"]) == ["f32[x_0,4]", "f32[batch,4]"]


def test_inputs_of_one_name_in_several_scopes_have_sizes_apart() -> None:
    def build() -> None:
        for scope in ("a", "b", "c"):
            tf.exp(tf.placeholder(f32, [None, 4], f"{scope}/x"))

    assert types(graph_of(build)) == ["f32[batch,4]", "f32[x_0,4]", "f32[c_x_0,4]"]


def test_a_library_takes_independent_lengths(tmp_path: Path) -> None:
    x, y = np.zeros((3, 4), np.float32), np.ones((5, 4), np.float32)
    model = tf.compile(graph_of(apart), out=tmp_path / "apart.so")
    found = model.run({"in/x": x, "y": y})
    assert (found["one"].shape, found["two"].shape) == ((3, 4), (5, 4))
    np.testing.assert_allclose(found["two"], np.tanh(y), 1e-6)
    assert "f32[y_0, 4]" in (tmp_path / "apart.h").read_text()
    model = tf.compile(graph_of(added), out=tmp_path / "added.so")
    with pytest.raises(ValueError, match=r"'y' has dims \[5, 4\], expected \[batch, 4\]"):
        model.run({"x": x, "y": y})
    with pytest.raises(ValueError, match=r"dimension 0 is 1, expected 3; where a size of 1 is mea"):
        model.run({"x": x, "y": y[:1]})
    model = tf.compile(graph_of(added), ["x", "y=[1,4]"], out=tmp_path / "row.so")
    np.testing.assert_allclose(model.run({"x": x, "y": y[:1]})["out"], np.tanh(x * 0 + 2), 1e-6)


@pytest.mark.parametrize("wide", [0, 1, 3])
def test_a_broadcast_looks_for_sizes_of_1_at_run_time(wide: int) -> None:
    def build() -> None:
        x, y = tf.placeholder(f32, [None, 4], "x"), tf.placeholder(f32, [None, 4], "y")
        tf.add(tf.broadcast_to(tf.exp(x), tf.shape(y)), y, name="out")

    assert types(graph_of(build)) == ["f32[batch,4]", "f32[y_0,4]"]
    program = tf.compile(graph_of(build))
    y = np.full((wide, 4), 2, np.float32)
    for rows in {1, wide}:
        x = np.arange(4 * rows, dtype=np.float32).reshape(rows, 4)
        np.testing.assert_allclose(program.run({"x": x, "y": y})[0], np.exp(x) + y, 1e-6)
    if wide:
        for rows in (0, 2):  # as in TensorFlow
            with pytest.raises(InvalidArgumentError, match=r"Incompatible shapes: \[batch,4\] vs"):
                program.run({"x": np.zeros((rows, 4), np.float32), "y": y})


def test_a_branch_that_is_not_taken_asks_nothing_of_sizes() -> None:
    program = tf.compile(graph_of(in_a_branch))
    x, y = np.ones((1, 4), np.float32), np.zeros((3, 4), np.float32)
    np.testing.assert_array_equal(program.run({"x": x, "y": y, "joins": False})[0], x * 2)
    with pytest.raises(
        InvalidArgumentError, match=r"batch and y_0 must be equal, found 1 and 3 .*; where"
    ):
        program.run({"x": x, "y": y, "joins": True})


def test_a_size_given_as_1_meets_an_open_one_in_a_loop() -> None:
    """What is carried keeps its sizes, whichever of two equal ones an expansion chooses."""

    def sums() -> None:
        x = tf.placeholder(f32, [None, None, 4], "x")
        lengths = tf.placeholder(i32, [None], "lengths")
        steps = tf.shape(x)[1]
        rows = tf.TensorArray(f32, steps).unstack(tf.transpose(x, [1, 0, 2]))
        _, found = tf.while_loop(
            lambda i, total: i < steps,
            lambda i, total: (i + 1, tf.where(i < lengths, rows.read(i) + total, total)),
            [0, tf.zeros([tf.shape(x)[0], 4])],
        )
        tf.identity(found, "out")

    program = tf.compile(graph_of(sums), feeds=["x=f32[1,t,4]", "lengths=i32[b]"], fetches=["out"])
    x = np.arange(20, dtype=np.float32).reshape(1, 5, 4)
    found = program(x, np.array([3], np.int32))
    assert found.shape == (1, 4) and np.array_equal(found, x[:, :3].sum(1))
    with pytest.raises(InvalidArgumentError, match="found 2 and 1"):
        program(x, np.array([3, 2], np.int32))


def in_a_loop(joined: Callable[[Any, Any], Any]) -> None:
    """What a loop carries has one row, and is joined with what has a row for each size."""
    x, y = tf.placeholder(f32, [1, 4], "x"), tf.placeholder(f32, [None, 4], "y")
    final = tf.while_loop(lambda i, _: i < 3, lambda i, h: (i + 1, joined(h, y)), [0, x])[1]
    tf.identity(final, name="out")


@pytest.mark.parametrize(
    "joined",
    [
        lambda h, y: tf.where(y[:, 0] > 0, h + 1, h),
        lambda h, y: tf.stack([y, h])[1] + 1,
    ],
    ids=["where", "stack"],
)
def test_a_size_that_must_be_1_is_1_in_what_is_carried(joined: Callable[[Any, Any], Any]) -> None:
    program = tf.compile(graph_of(lambda: in_a_loop(joined)))
    x, y = np.zeros((1, 4), np.float32), np.ones((1, 4), np.float32)
    np.testing.assert_array_equal(program.run({"x": x, "y": y})[0], x + 3)
    with pytest.raises(InvalidArgumentError, match="1"):
        program.run({"x": x, "y": np.ones((2, 4), np.float32)})
