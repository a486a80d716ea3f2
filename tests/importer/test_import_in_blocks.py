"""Graphs that are imported where the graph is in a block: control dependencies, devices, control
flow. What is expected was seen in TensorFlow 2.21."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as found:
        yield found


def model() -> Any:
    """loss = sum(tanh(in @ w) ** 2), and its values for one row of inputs and of gradients."""
    with tf.Graph().as_default() as inner:
        a = tf.placeholder(tf.float32, [None, 3], name="in")
        w = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2), name="w")
        o = tf.tanh(tf.matmul(a, w), name="out")
        tf.reduce_sum(o * o, name="loss")
        return inner.as_graph_def()


def test_an_element_that_is_replaced_is_returned_as_what_replaces_it() -> None:
    x, v = tf.placeholder(tf.float32, [None, 3]), tf.Variable(tf.ones([3, 2]), name="mine")
    names = ["in:0", "w:0", "w"]
    found = tf.import_graph_def(model(), {"in": x, "w:0": v}, names, name="m") or []
    assert [e.name for e in found] == [x.name, "mine/read:0", "m/w"]
    (value,) = tf.import_graph_def(model(), {"in": [[1.0, 2, 3]]}, ["in:0"], name="n") or []
    assert value.name == "n/_inputs/Const:0"


def test_an_empty_name_leaves_the_name_scope(graph: tf.Graph) -> None:
    with tf.name_scope("scope"):
        (out,) = tf.import_graph_def(model(), return_elements=["out"], name="") or []
        (inner,) = tf.import_graph_def(model(), return_elements=["out"], name="n") or []
    assert [out.name, inner.name] == ["out", "scope/n/out"]


def test_control_dependencies_and_devices_are_those_of_the_block(graph: tf.Graph) -> None:
    v = tf.Variable(1.0, name="v")
    with tf.control_dependencies([v.initializer]), tf.device("/cpu:0"):
        tf.import_graph_def(model(), name="c")
    for name in ("in", "MatMul", "loss"):
        op = graph.get_operation_by_name(f"c/{name}")
        assert [c.name for c in op.control_inputs] == ["v/Assign"]
        assert op.device == "/device:CPU:0"
    definition = {n.name: n for n in graph.as_graph_def().node}["c/MatMul"]
    assert list(definition.input) == ["c/in", "c/w", "^v/Assign"]


def test_models_in_branches_and_loops() -> None:
    x, p = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.bool, [])

    def loss_of(fed: Any) -> Any:
        (found,) = tf.import_graph_def(model(), {"in": fed}, ["loss:0"]) or []
        return found

    chosen = tf.cond(p, lambda: loss_of(x), lambda: tf.reduce_sum(x))
    _, summed = tf.while_loop(
        lambda i, _: i < 3, lambda i, s: (i + 1, s + loss_of(x * s)), [0, tf.constant(0.5)]
    )
    (gradient,) = tf.gradients([chosen, summed], x)
    with tf.Session() as session:
        fetches = [chosen, summed, gradient]
        for pred, expected in (
            (True, [1.8015, 5.5529, [[0.42061, 2.7874, 5.1543]]]),
            (False, [0.6, 5.5529, [[1.3271, 2.9519, 4.5768]]]),
        ):
            found = session.run(fetches, {p: pred, x: [[0.1, 0.2, 0.3]]})
            for one, wanted in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, wanted, rtol=1e-4)


def test_each_thread_has_a_graph_and_sessions_of_its_own() -> None:
    c = tf.constant(2, name="c")
    session, found = tf.Session(), []

    def work() -> None:
        found.append(len(tf.get_default_graph().get_operations()))
        found.append(tf.constant(1, name="c").name)
        found.append(tf.Session().run("c:0"))
        tf.reset_default_graph()
        with pytest.raises(ValueError, match="No default session"):
            c.eval()
        with session.as_default():
            found.append(c.eval())
            found.append(tf.get_default_graph() is c.graph)
        with session:
            found.append(tf.get_default_graph() is c.graph)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [0, "c:0", 1, 2, False, True]


def test_a_table_whose_default_delimiter_is_left_out_is_cut_at_tabs(
    tmp_path: Path, graph: tf.Graph
) -> None:
    (tmp_path / "words").write_text("a\tx\nb\ty\n")
    lookup = tf.lookup
    source = lookup.TextFileInitializer(str(tmp_path / "words"), tf.string, 0, tf.string, 1)
    table = lookup.StaticHashTable(source, "?")
    tf.identity(table.lookup(tf.constant(["a", "b", "c"])), name="found")
    stripped = tf.train.export_meta_graph(strip_default_attrs=True).graph_def
    (node,) = [n for n in stripped.node if n.op == "InitializeTableFromTextFileV2"]
    assert "delimiter" not in node.attr
    with tf.Graph().as_default() as other, tf.Session() as session:
        tf.import_graph_def(stripped, name="")
        assert other.get_operation_by_name(node.name).get_attr("delimiter") == b"\t"
        other.allow("files")
        session.run(node.name)
        assert session.run("found:0").tolist() == [b"x", b"y", b"?"]
