"""Tensors inside of TensorFlow 1 loops that callers ask for by name, or feed.

TensorFlow 2.21 gives back what enters a loop, ends a fetch from inside of an imported one with
"Retval[0] has already been set", and a feed there with "has inputs from different frames".
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.cli.entry import run_command_line
from flowc.errors import InvalidArgumentError

X = np.array([1, 2], np.float32)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A loop, a loop in a loop, and a conditional, read from a file."""

    def outer(i: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        body = lambda j, s: (j + 1, tf.tanh(s, name="u") + x)
        _, state = tf.while_loop(lambda j, s: j < 2, body, [tf.constant(0), state], name="inner")
        return i + 1, state

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], "x")
        body = lambda i, s: (i + 1, tf.tanh(s, name="t") + x)
        _, s = tf.while_loop(lambda i, s: i < 3, body, [tf.constant(0), x], name="loop")
        tf.identity(s, "out")
        _, s = tf.while_loop(lambda i, s: i < 3, outer, [tf.constant(0), x], name="outer")
        tf.identity(s, "nested")
        p = tf.placeholder(tf.bool, [], "p")
        tf.identity(tf.cond(p, lambda: tf.exp(x, "e"), lambda: tf.sin(x, "s"), name="c"), "chosen")
    path = tmp_path_factory.mktemp("loops") / "loops.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return path


def run(model: Path, fetches: Any, feeds: Mapping[str, Any] | None = None) -> Any:
    with tf.Session(graph=tf.load_graph(model)) as session:
        return session.run(fetches, {"x:0": X, "p:0": True, **(feeds or {})})


INSIDE = [
    ("loop/t:0", "'loop/t' (Tanh)", "'loop/while_context'", "'loop/Exit_1:0'"),
    ("loop/Merge:0", "'loop/Merge' (Merge)", "'loop/while_context'", "'loop/Exit:0' or 'loop/Exit"),
    ("loop/LoopCond:0", "(LoopCond)", "'loop/while_context'", "'loop/Exit:0' or 'loop/Exit_1:0'"),
    ("outer/inner/u:0", "'outer/inner/u'", "'outer/inner/while_context'", "'outer/Exit_1:0'"),
    ("outer/inner/Exit_1:0", "(Exit)", "'outer/while_context'", "'outer/Exit_1:0'"),
]


@pytest.mark.parametrize(("fetch", "node", "frame", "instead"), INSIDE)
def test_what_is_inside_a_loop_cannot_be_fetched(
    model: Path, fetch: str, node: str, frame: str, instead: str
) -> None:
    for fetches in (fetch, ["out:0", fetch]):
        with pytest.raises(InvalidArgumentError, match="there is no one value to fetch") as caught:
            run(model, fetches)
        said = str(caught.value)
        assert (
            node in said
            and frame in said
            and f"fetch what leaves the loop, such as {instead}" in said
        )


@pytest.mark.parametrize("fed", ["loop/t:0", "loop/Enter_1:0", "loop/Merge_1:0"])
def test_what_is_inside_a_loop_cannot_be_fed(model: Path, fed: str) -> None:
    with pytest.raises(InvalidArgumentError, match="one value cannot stand for all") as caught:
        run(model, "out:0", {fed: X})
    said = str(caught.value)
    assert f"'{fed[:-2]}'" in said and "'loop/while_context'" in said
    assert "such as 'x:0', or what leaves it, such as 'loop/Exit_1:0'" in said
    np.testing.assert_array_equal(run(model, fed, {fed: X}), X)  # nothing of the loop is needed


def test_feeds_inside_of_inner_loops_and_of_conditions(model: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"(?s)'outer/inner/u' .* such as 'x:0'"):
        run(model, "nested:0", {"outer/inner/u:0": X})
    with pytest.raises(InvalidArgumentError, match=r"(?s)'loop/LoopCond' .* such as 'loop/Exit:0'"):
        run(model, "out:0", {"loop/LoopCond:0": False})


def test_what_enters_and_leaves_loops_is_there(model: Path) -> None:
    np.testing.assert_array_equal(run(model, "loop/Enter_1:0"), X)
    np.testing.assert_array_equal(run(model, "loop/Exit:0"), 3)
    np.testing.assert_array_equal(run(model, "chosen:0", {"c/e:0": X}), X)
    np.testing.assert_array_equal(run(model, "out:0", {"loop/Exit_1:0": X}), X)


def test_the_command_says_it_too(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "m.so")
    assert run_command_line(["compile", str(model), "-o", out, "--fetch", "loop/t"]) == 4
    assert "'loop/t' (Tanh) is inside the loop of frame" in capsys.readouterr().err
    feeds = ["--feed", "loop/t=f32[2]", "--feed", "x"]
    assert run_command_line(["compile", str(model), "-o", out, "--fetch", "out", *feeds]) == 4
    assert "'loop/t' (Tanh) is fed and inside the loop of frame" in capsys.readouterr().err
