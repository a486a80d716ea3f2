"""What one run of a Session may take: results, the memory of the run, what grows in loops."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from raw_nodes import constant, graph_of

import flowc as tf
from flowc import compile as flowc_compile
from flowc.cli.entry import run_command_line
from flowc.cli.parameters import Bytes
from flowc.errors import ResourceExhaustedError
from flowc_runtime import InvalidArgumentError as ModelArgumentError
from flowc_runtime import ResourceExhaustedError as RunOutOfMemory
from flowc_runtime.machine import memory_of_machine

COUNT = 1 << 16
X = np.ones(COUNT, np.float32)


def grown(x: Any) -> Any:
    """Eight times x, through results of two to seven times x that are freed."""
    return tf.while_loop(
        lambda i, a: i < 7,
        lambda i, a: (i + 1, tf.concat([a, x], 0)),
        [tf.constant(0), x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )[1]


GRAPHS: dict[str, tuple[Callable[[Any], Any], int, int]] = {
    # what is computed, what is too little for it, what is enough
    "result": (lambda x: x * 2, X.nbytes - 1, X.nbytes),
    "arena": (lambda x: tf.reduce_sum(tf.cumsum(tf.cumsum(x))), X.nbytes, 3 * X.nbytes),
    "size of the run": (
        lambda x: tf.fill(tf.cast(x[:1], tf.int32) * COUNT, 1.0),
        X.nbytes,
        X.nbytes + 4096,
    ),
    "loop": (grown, 12 * X.nbytes, 40 * X.nbytes),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_run_takes_no_more_than_it_may(name: str) -> None:
    build, little, enough = GRAPHS[name]
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        y = build(x)
        with tf.Session(threads=1) as session:
            wanted = session.run(y, {x: X})
        with tf.Session(threads=1, max_memory=enough) as session:
            for _ in range(3):
                np.testing.assert_array_equal(session.run(y, {x: X}), wanted)
        with tf.Session(threads=1, max_memory=little) as session:
            for _ in range(2):
                with pytest.raises(ResourceExhaustedError, match=r"no memory for.*max_memory"):
                    session.run(y, {x: X})
            small = X[:16] if name != "size of the run" else X[:1] * 0
            session.run(y, {x: small})


@pytest.mark.parametrize("name", [name for name in GRAPHS if name != "size of the run"])
def test_a_run_of_a_library_takes_no_more_than_it_may(name: str, tmp_path: Path) -> None:
    """Outputs with a bound are the caller's, and count for nothing."""
    build, little, enough = GRAPHS[name]
    with tf.Graph().as_default() as graph:
        y = build(tf.placeholder(tf.float32, [None], name="x"))
    model = flowc_compile(graph, ["x=f32[n]"], [y], out=tmp_path / "m.so")
    assert model.max_memory == 0
    wanted = model(X)
    model.max_memory = enough
    np.testing.assert_array_equal(model(X), wanted)
    model.max_memory = little
    if name == "result":
        np.testing.assert_array_equal(model(X), wanted)
        return
    for _ in range(2):
        with pytest.raises(RunOutOfMemory, match=r"no memory for.*max_memory"):
            model(X)
    model(X[:16])
    with pytest.raises(ModelArgumentError, match="-1 bytes"):
        model.max_memory = -1
    assert model.max_memory == little


def repeated(count: int) -> tf.Graph:
    """One number, of which a model says that it is there `count` times."""
    model = graph_of({"c": constant(1.5)}).as_graph_def()
    model.node[0].attr["value"].tensor.tensor_shape.dim.add(size=count)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(model, name="")
    return graph


CONSTANTS: dict[str, Callable[[Any], Any]] = {
    "held": lambda c: c * tf.placeholder_with_default(tf.constant(2.0), []),
    "negated": lambda c: -c,
    "reduced": tf.reduce_sum,
}


@pytest.mark.parametrize("name", CONSTANTS)
@pytest.mark.parametrize("count", [1 << 24, 1 << 40])
def test_a_compilation_makes_no_more_than_it_may(name: str, count: int, tmp_path: Path) -> None:
    with repeated(count).as_default() as graph:
        c = graph.get_tensor_by_name("c:0")
        y = CONSTANTS[name](c)
        with (
            tf.Session(max_memory=4 << 20) as session,
            pytest.raises(ResourceExhaustedError, match="max_memory") as raised,
        ):
            session.run(y)
        assert raised.value.node == "c"
        with pytest.raises(ResourceExhaustedError, match="max_memory"):
            flowc_compile(graph, [], [y], out=tmp_path / "m.so", max_memory=4 << 20)
        with tf.Session(max_memory=4 << 20) as session:  # nobody needs the elements for this
            assert session.run(tf.shape(c, out_type=tf.int64)) == count


def test_commands_take_a_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, library = tmp_path / "m.pb", tmp_path / "m.so"
    with repeated(1 << 16).as_default() as graph:
        c = graph.get_tensor_by_name("c:0")
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.reduce_sum(tf.cumsum(x) + tf.cumsum(c), name="y")
        model.write_bytes(graph.as_graph_def().SerializeToString())
    compiled = ["compile", str(model), "-o", str(library), "--feed", "x=f32[65536]", "--fetch", "y"]
    assert run_command_line([*compiled, "--max-memory", "128K"]) == 5
    assert "FL0508" in capsys.readouterr().err
    assert run_command_line([*compiled, "--max-memory", "8M"]) == 0
    np.save(tmp_path / "x.npy", X)
    run = ["run", str(library), "--input", f"x={tmp_path / 'x.npy'}"]
    assert run_command_line(run) == run_command_line([*run, "--max-memory", "8M"]) == 0
    assert run_command_line([*run, "--max-memory", "64K"]) == 5


def test_what_folding_has_no_room_for_is_left_to_the_run() -> None:
    """Each result is as large as the constant, which is repeated and takes nothing itself."""
    with repeated(1 << 16).as_default() as graph:
        y = c = graph.get_tensor_by_name("c:0")
        for _ in range(3):
            y = tf.reverse(tf.tanh(y) + c, [0])
        found = []
        for most in (None, 1 << 20):
            with tf.Session(max_memory=most, threads=1) as session:
                found.append(session.run(y))
        np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_weights_are_folded_in_a_session_of_little_memory() -> None:
    """What a model holds itself is beside the budget, and so is what is made of it."""
    w = np.arange(1 << 16, dtype=np.float32)
    with tf.Graph().as_default():
        y = tf.reverse(tf.constant(w) * 2, [0])[:4]
        with tf.Session(max_memory=4096) as session:
            assert session.run(y).tolist() == (2 * w[::-1][:4]).tolist()


def test_texts_take_part_in_what_a_compilation_makes() -> None:
    with tf.Graph().as_default():
        texts = tf.raw_ops.AsString(input=tf.constant([1.5, 2.0]), width=10**6)
        with tf.Session(max_memory=1 << 20) as session:
            assert list(map(len, session.run(texts))) == [10**6] * 2


def test_state_is_kept_where_a_run_takes_too_much() -> None:
    with tf.Graph().as_default():
        v = tf.Variable(np.zeros(4, np.float32), validate_shape=False)
        x = tf.placeholder(tf.float32, [None])
        set_, read = tf.assign(v, tf.cumsum(x), validate_shape=False), v.value()
        with tf.Session(threads=1, max_memory=4096) as session:
            session.run(tf.global_variables_initializer())
            with pytest.raises(ResourceExhaustedError):
                session.run(set_, {x: X})
            np.testing.assert_array_equal(session.run(read), np.zeros(4))


def test_what_the_machine_has_is_the_limit_without_one() -> None:
    have = memory_of_machine()
    assert have > 64 << 20
    with tf.Graph().as_default():
        n = tf.placeholder(tf.int64, [1])
        y = tf.reduce_sum(tf.cumsum(tf.fill(n, 1.0)))
        with (
            tf.Session(threads=1) as session,
            pytest.raises(ResourceExhaustedError, match="max_memory"),
        ):
            session.run(y, {n: np.array([have // 4 + 1])})


@pytest.mark.parametrize(
    ("text", "count"), [("4096", 4096), ("2k", 2048), ("512M", 512 << 20), ("3T", 3 << 40)]
)
def test_numbers_of_bytes(text: str, count: int) -> None:
    assert Bytes().convert(text, None, None) == count


@pytest.mark.parametrize("text", ["", "M", "-1", "1.5G", "0", "2X"])
def test_what_is_no_number_of_bytes(text: str) -> None:
    with pytest.raises(click.BadParameter, match="no number of bytes"):
        Bytes().convert(text, None, None)


@pytest.mark.parametrize("setting", ["width", "precision"])
@pytest.mark.parametrize("is_fed", [False, True])
def test_texts_that_an_attr_makes_long(setting: str, is_fed: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder_with_default(tf.constant([1.5, 2.0]), [2])
        given = x if is_fed else tf.constant([1.5, 2.0])
        y = tf.raw_ops.AsString(input=given, name="padded", **{setting: 10**9})
        with pytest.raises(ResourceExhaustedError, match="2 texts of 1000000000") as raised:
            session.run(y)
        assert raised.value.node == "padded"
        assert "padded" in str(raised.value)
        fine = tf.raw_ops.AsString(input=given, **{setting: 10**4})
        assert len(session.run(fine)[0]) >= 10**4
