"""Inputs that are set: constants of a program, in memory, in a library and by the command."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf
import flowc_runtime
from flowc.cli.entry import run_command_line
from flowc.compiler import compile_library
from flowc.errors import UsageError
from flowc.extract.set_inputs import choose_interface_with
from flowc.options import Options


@pytest.fixture
def graph() -> tf.Graph:
    """A branch with dropout whose rate has a default, a factor of unknown rank, a fed shape."""
    with tf.Graph().as_default() as made:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        keep = tf.placeholder(tf.float32, name="keep")
        rate = tf.placeholder_with_default(0.5, [], name="rate")
        times = tf.placeholder(tf.int32, [2], name="times")
        dropped = x * keep
        chosen = tf.cond(rate > 0.0, lambda: tf.nn.dropout(x, rate=rate), lambda: x)
        tf.tile(dropped + chosen, times, name="y")
    return made


VALUES: dict[str, Any] = {"keep": 1.0, "rate": 0, "times": [1, 2]}


def test_set_inputs_fold_away(graph: tf.Graph) -> None:
    x = np.ones((3, 4), np.float32)
    program = tf.compile(graph, None, "y", constants=VALUES)
    assert program.inputs == ("x",)
    np.testing.assert_array_equal(program(x), np.tile(2 * x, [1, 2]))


def test_a_default_that_nobody_feeds_is_a_constant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        training = tf.placeholder_with_default(False, [], name="training")
        scale = tf.placeholder_with_default(tf.constant([2.0]), [None], name="scale")
        seen = tf.get_variable("seen", initializer=0.5)
        moved = tf.cond(training, lambda: tf.assign(seen, 0.0), lambda: tf.identity(seen))
        tf.multiply(x + moved, scale, name="y")
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            tf.saved_model.simple_save(
                session, str(tmp_path / "m"), {"x": x}, {"y": graph.get_tensor_by_name("y:0")}
            )
    model = str(tmp_path / "m")
    program = tf.compile(model, ["x"], "y")
    asked = tf.compile(model, ["x", "scale"], "y")
    trains = tf.compile(model, ["x"], "y", constants={"training": True})
    assert program.inputs == ("x",) and asked.inputs == ("x", "scale")
    np.testing.assert_array_equal(program([1.0]), [3.0])
    np.testing.assert_array_equal(asked([1.0], [3.0]), [4.5])
    np.testing.assert_array_equal(trains([1.0]), [2.0])
    assert run_command_line(["compile", model, "--emit", "ir", "-o", "-"]) == 0
    text, words = capsys.readouterr()
    assert "constants, by their defaults: scale=[2.0], training=false\n" in words
    assert "while" not in text and "if(" not in text and "cluster(" in text


def test_complex_numbers_are_no_real_input(graph: tf.Graph) -> None:
    program = tf.compile(graph, None, "y", constants=VALUES)
    with pytest.raises(TypeError, match="input 'x': elements of type complex128 cannot become f"):
        program(np.ones((3, 4), np.complex128))


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_command_sets_inputs(
    graph: tf.Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    texts = [t for name, value in VALUES.items() for t in ("--set", f"{name}={json.dumps(value)}")]
    compiling = ["compile", str(path), "--fetch", "y", "-o", str(tmp_path / "m.so"), *texts]
    assert run_command_line([*compiling, "--emit", "so,ir"]) == 0
    words = capsys.readouterr().err
    assert "feeds, from the placeholders: x=f32[batch,4]\nconstants: keep, rate, times\n" in words
    nodes = [n for n in (tmp_path / "m.ir").read_text().splitlines() if "cluster(" in n]
    assert nodes and not any("dropout" in n for n in nodes)  # the branch that draws is gone
    loaded = flowc_runtime.load(str(tmp_path / "m.so"))
    model = loaded.new_instance() if loaded.variables else loaded
    x = np.full((2, 4), 3, np.float32)
    np.testing.assert_array_equal(model(x), np.tile(2 * x, [1, 2]))
    assert run_command_line([*compiling, "--set", "keep=0.5"]) == 2
    assert "--set 'keep' is given twice" in capsys.readouterr().err


@pytest.mark.parametrize(
    "feeds, values, words",
    [
        (None, {"keeps": 1.0}, "did you mean 'keep'"),
        (None, {"times": [1, 2, 3]}, r"shape \[3\], and the graph has"),
        (None, {"times": [1, 2.5]}, "and is int32"),
        (None, {"times": [1, 2**40]}, "and is int32"),
        (None, {"keep": "much"}, "and is float32"),
        (["x", "keep=f32[]"], {"keep": 1.0}, "is fed and set"),
    ],
)
def test_values_that_do_not_fit(
    graph: tf.Graph, feeds: Any, values: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        tf.compile(graph, feeds, "y", constants=values)


def test_inputs_with_a_default_are_constants_unless_they_are_fed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A branch that only training takes leaves nothing behind, not even its variable."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        training = tf.placeholder_with_default(False, [], name="training")
        mean = tf.get_variable("mean", [4], initializer=tf.zeros_initializer())
        found = tf.cond(training, lambda: tf.assign(mean, tf.reduce_mean(x, 0)), lambda: x[0])
        tf.identity(x - found, name="y")
        model = tmp_path / "model.pb"
        model.write_bytes(graph.as_graph_def().SerializeToString())
    program = tf.compile(graph, None, "y")
    x_data = np.ones((2, 4), np.float32)
    np.testing.assert_array_equal(program(x_data), np.zeros((2, 4)))
    assert program.inputs == ("x",)
    fed = ["x", "training"]
    assert tf.compile(graph, fed, "y", init="mean/Assign").inputs == ("x", "training")
    args = ["compile", str(model), "--fetch", "y", "-o", "-", "--emit", "ir"]
    assert run_command_line(args) == 0
    said = capsys.readouterr()
    assert "constants, by their defaults: training=false\n" in said.err
    assert "variable_mean" not in said.out
    assert run_command_line(["inspect", str(model)]) == 0
    assert "  training: bool[] = false\n" in capsys.readouterr().out


def test_dropout_that_keeps_everything_folds_away() -> None:
    """In the form of TensorFlow 2.21, and in that of 2016."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        keep = tf.placeholder_with_default(1.0, [], name="keep")
        now = tf.nn.dropout(x, keep_prob=keep)
        drawn = tf.random_uniform(tf.shape(x), seed=3)
        tf.add(now, x / keep * tf.floor(keep + drawn), name="y")
    drew: list[bool] = []
    compile_library(
        graph,
        choose_interface_with(graph, None, "y", None, {}),
        Options(),
        watch=lambda _, c: drew.append("philox" in str(c)),
    )
    assert any(drew) and not drew[-1]


def test_a_library_keeps_no_random_state_that_nothing_draws_from() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [4], name="x")
        keep = tf.placeholder_with_default(np.float32(1.0), [], name="keep")
        step = lambda i, a: (i + 1, tf.nn.dropout(a, keep_prob=keep) * 2.0)
        _, looped = tf.while_loop(lambda i, a: i < 3, step, [tf.constant(0), x])
        noise = tf.random_uniform([4])
        tf.identity(tf.nn.dropout(looped, keep_prob=keep), name="plain")
        tf.add(tf.nn.dropout(looped, keep_prob=keep), noise, name="noisy")

    def variables(fetch: str, **constants: Any) -> tuple[int, int]:
        wanted = choose_interface_with(graph, None, fetch, None, constants)
        spec = compile_library(graph, wanted, Options()).metadata.spec
        return len(spec.variables), len(spec.outputs)

    assert variables("plain") == (0, 1)
    assert variables("noisy") == (1, 2)
    assert variables("plain", keep=0.5) == (2, 3)
