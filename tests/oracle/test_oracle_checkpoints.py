"""Checkpoints and models that one of TensorFlow and flowc writes and the other reads, bit for bit:
`make oracle`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc

pytestmark = pytest.mark.oracle
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"sharded": True},
    {"write_version": 1},
    {"write_version": 1, "sharded": True},
)
KINDS = (
    "float32", "float64", "int32", "int64", "int16", "int8", "uint8", "bool", "float16", "bfloat16",
    "complex64", "string",
)  # fmt: skip


@pytest.fixture(scope="module")
def tensorflow() -> Any:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    found = pytest.importorskip("tensorflow.compat.v1")
    found.disable_eager_execution()
    found.disable_resource_variables()
    return found


def build(tf: Any, settings: dict[str, Any]) -> list[Any]:
    """Variables of every kind, some in parts, some behind handles. TensorFlow saves no bfloat16 in
    V1."""
    found = []
    random = np.random.default_rng(3)
    for number, name in enumerate(KINDS):
        if name == "bfloat16" and "write_version" in settings:
            continue
        dtype = getattr(tf, name)
        shape = [(), (3,), (2, 0), (2, 3)][number % 4]
        if name == "string":
            value: Any = [["a", "bb", ""], ["d", "e" * 300, "f"]]
        else:
            value = np.asarray(random.normal(size=shape) * 50).astype(dtype.as_numpy_dtype)
        first = tf.constant(value, dtype)
        found.append(tf.Variable(first, name=name, use_resource=number % 3 == 1))
    with tf.variable_scope("parts", partitioner=tf.fixed_size_partitioner(3)):
        found += list(tf.get_variable("p", initializer=tf.constant(random.normal(size=(7, 2)))))
    return found


def bits(values: list[Any]) -> list[Any]:
    arrays = [np.asarray(v) for v in values]
    return [a.tolist() if a.dtype.hasobject else (a.shape, a.tobytes()) for a in arrays]


def saved(tf: Any, prefix: str, settings: dict[str, Any]) -> tuple[str, list[Any]]:
    with tf.Graph().as_default():
        variables = build(tf, settings)
        saver = tf.train.Saver(**settings)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return saver.save(session, prefix), bits(session.run(variables))


def restored(tf: Any, path: str, prefix: str) -> list[Any]:
    """From the graph that was saved beside the values."""
    with tf.Graph().as_default():
        saver = tf.train.import_meta_graph(prefix + ".meta")
        with tf.Session() as session:
            saver.restore(session, path)
            return bits(session.run(tf.global_variables()))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("is_ours", [True, False], ids=["flowc-writes", "tensorflow-writes"])
def test_both_ways(
    is_ours: bool, settings: dict[str, Any], tensorflow: Any, tmp_path: Path
) -> None:
    writer, reader = (flowc, tensorflow) if is_ours else (tensorflow, flowc)
    prefix = str(tmp_path / "m")
    for _ in range(2):  # the second time in place of the first
        path, values = saved(writer, prefix, settings)
        assert restored(reader, path, prefix) == values
        assert restored(writer, path, prefix) == values


def test_training_goes_on_from_one_to_the_other(tensorflow: Any, tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    for number, tf in enumerate((flowc, tensorflow, flowc, tensorflow)):
        with tf.Graph().as_default():
            if number == 0:
                v = tf.Variable([1.0, 2.0], name="v")
                tf.assign_add(v, [1.0, 0.5], name="step")
                saver = tf.train.Saver()
            else:
                saver = tf.train.import_meta_graph(prefix + ".meta")
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                if number:
                    saver.restore(session, prefix)
                session.run("step:0")
                assert session.run("v:0").tolist() == [2.0 + number, 2.5 + number / 2]
                saver.save(session, prefix)


@pytest.mark.parametrize("scope", [None, "inner"])
def test_contexts_of_loops_are_kept(scope: str | None, tensorflow: Any, tmp_path: Path) -> None:
    """TensorFlow differentiates its loop after flowc has imported and exported the graph."""
    tf, path = tensorflow, str(tmp_path / "m.meta")
    tf.disable_control_flow_v2()
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [], name="x")
        loop = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x], name="loop")
        tf.cond(loop[1] > 0, lambda: loop[1] * 2, lambda: loop[1], name="chosen")
        tf.train.export_meta_graph(path)
    with flowc.Graph().as_default():
        flowc.train.import_meta_graph(path, import_scope=scope)
        flowc.train.export_meta_graph(path)
        if scope is not None:
            flowc.train.export_meta_graph(str(tmp_path / "back.meta"), export_scope=scope)
            differentiate(tf, str(tmp_path / "back.meta"), "")
    differentiate(tf, path, f"{scope}/" if scope else "")


def differentiate(tf: Any, path: str, at: str) -> None:
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(path)
        x, y = graph.get_tensor_by_name(at + "x:0"), graph.get_tensor_by_name(at + "chosen/Merge:0")
        (dx,) = tf.gradients(y, x)
        with tf.Session() as session:
            assert session.run([y, dx], {x: 2.0}) == [32.0, 64.0]
