"""What a traced run tells: the steps that ran, when, and the tensors that they gave."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.dtypes import f32
from flowc.encoding.step_stats import NodeTimes, run_metadata
from flowc.run.devices import CPU


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


TRACE = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)


def traced(session: Any, fetches: Any, feeds: Any) -> tuple[Any, list[Any]]:
    told = tf.RunMetadata()
    results = session.run(fetches, feeds, options=TRACE, run_metadata=told)
    (device,) = told.step_stats.dev_stats
    assert device.device == CPU
    return results, list(device.node_stats)


def test_steps_of_a_training_run() -> None:
    x = tf.placeholder(tf.float32, [None, 8], name="x")
    w = tf.get_variable("w", [8, 4], initializer=tf.zeros_initializer())
    y = tf.nn.relu(tf.matmul(x, w) + 1.0, name="y")
    double = tf.py_func(lambda a: a * 2, [y], tf.float32, name="double")
    loss = tf.reduce_sum(double, name="loss") + tf.reduce_sum(y)
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        plain = session.run([y, step], {x: np.ones((3, 8))})
        session.run(w.initializer)
        for rows in (3, 5):
            results, stats = traced(session, [y, step], {x: np.ones((rows, 8))})
            session.run(w.initializer)
            assert np.array_equal(results[0], np.ones((rows, 4)))
            forward = stats[0]
            assert forward.timeline_label.startswith(
                f"{forward.node_name} = MatMul+AddV2+Relu+ReluGrad(x, w/read, add/y, "
            )
            shapes = [o.tensor_description.shape.dim for o in forward.output]
            assert [[d.size for d in dims] for dims in shapes] == [[rows, 4]] * len(shapes)
            assert forward.memory[0].total_bytes == len(shapes) * rows * 4 * 4
        assert np.array_equal(plain[0], np.ones((3, 4)))
        fused = {s.node_name: s for s in stats if s.node_name in ("MatMul", "add")}
        assert len(fused) == 2 and not any(s.all_end_rel_nanos for s in fused.values())
        assert fused["MatMul"].timeline_label == "MatMul = MatMul(x, w/read)"
        _, stats = traced(session, double, {x: np.ones((3, 8))})
    assert {"y", "double"} <= {s.node_name for s in stats}
    starts = [s.all_start_nanos for s in stats]
    assert starts == sorted(starts) and starts[0] > 0
    assert all(s.all_end_rel_nanos >= 0 for s in stats)


def test_a_step_of_a_loop_is_told_each_time() -> None:
    x = tf.placeholder(tf.float32, [4], name="x")
    y = tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, tf.tanh(a, name="t")), [0, x])[1]
    with tf.Session() as session:
        _, stats = traced(session, y, {x: np.ones(4)})
        whole = max(stats, key=lambda s: s.all_end_rel_nanos)
    inner = [s for s in stats if s.node_name == "while/t"]
    assert len(inner) == 5
    end = whole.all_start_nanos + whole.all_end_rel_nanos
    assert all(whole.all_start_nanos <= s.all_start_nanos <= end for s in inner)


def test_runs_that_ask_for_nothing_are_not_traced() -> None:
    x = tf.constant(1.0, name="x") * tf.placeholder(tf.float32, name="p")
    told = tf.RunMetadata()
    with tf.Session() as session:
        session.run(x, {"p:0": 1.0}, options=tf.RunOptions(), run_metadata=told)
        assert session._traced is None
        graphs = tf.RunOptions(output_partition_graphs=True)
        session.run(x, {"p:0": 1.0}, options=graphs, run_metadata=told)
    assert not told.step_stats.dev_stats
    assert [node.name for node in told.partition_graphs[0].node] == ["x", "p", "mul"]


def test_a_traced_run_takes_no_memory_for_a_whole_log() -> None:
    x = tf.placeholder(tf.float32, [4])
    y = tf.nn.relu(x) + 1
    session = tf.Session()
    with tf.profile(session) as found:
        session.run(y, {x: np.ones(4, np.float32)})
        tracemalloc.start()
        for _ in range(3):
            session.run(y, {x: np.ones(4, np.float32)})
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 100_000, "a log of 65,536 notes is 1.5 MB"
    times = [(step.start, step.end) for run in found.runs() for step in run]
    assert times == sorted(times) and len(set(times)) == len(times) >= 4


def test_timeline() -> None:
    nodes = [
        NodeTimes("a", "a = MatMul(x, w)", 1_000_000, 1_002_500, [(f32, (2, 3))]),
        NodeTimes("b", "b = Relu+Mul(a)", 1_003_000, 1_004_000, [(f32, None)]),
    ]
    told = tf.RunMetadata.FromString(run_metadata(CPU, nodes, []))
    line = tf.timeline.Timeline(told.step_stats)
    events = json.loads(line.generate_chrome_trace_format(show_memory=True))["traceEvents"]
    regions = [e for e in events if e["ph"] == "X"]
    assert [(e["name"], e["ts"], e["dur"]) for e in regions] == [
        ("MatMul", 1000.0, 2.5),
        ("Relu+Mul", 1003.0, 1.0),
    ]
    assert regions[0]["args"] == {"name": "a", "op": "MatMul", "input0": "x", "input1": "w"}
    arrows = [(e["ph"], e["ts"]) for e in events if e["cat" if "cat" in e else "ph"] == "DataFlow"]
    assert arrows == [("s", 1002.5), ("t", 1003.0)]
    assert [e["args"]["bytes"] for e in events if e["ph"] == "C"] == [24, 24]
    with pytest.raises(ValueError, match="op_time"):
        line.generate_chrome_trace_format(op_time="other")


def test_what_is_known_before_a_run_is_told_of() -> None:
    """A product of constants, a constant and a variable that is read take no step."""
    with tf.Graph().as_default(), tf.Session() as session:
        a = tf.constant([[1.0, 2.0]], name="a")
        product = tf.matmul(a, a, transpose_b=True, name="product")
        fed = tf.placeholder(tf.float32, [2], name="fed")
        variable = tf.Variable(1.0, name="variable")
        session.run(variable.initializer)
        told = tf.RunMetadata()
        session.run([product, a, fed, variable, tf.no_op()], {fed: [1, 2]}, TRACE, told)
    nodes = {n.node_name: n for n in told.step_stats.dev_stats[0].node_stats}
    assert sorted(nodes) == ["NoOp", "a", "product", "variable"]
    assert nodes["product"].timeline_label == "product = MatMul(a)"
    assert [d.size for d in nodes["product"].output[0].tensor_description.shape.dim] == [1, 1]


def test_targets_of_other_types() -> None:
    for target in (None, b"", ""):
        with tf.Session(target, tf.Graph()) as session:  # type: ignore[arg-type]
            assert session.sess_str == b""
    with pytest.raises(tf.errors.NotFoundError, match="No session factory registered"):
        tf.Session(b"grpc://host:1")  # type: ignore[arg-type]
