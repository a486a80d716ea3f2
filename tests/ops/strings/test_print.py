"""Print, PrintV2 and Assert: what native code writes and says, against TensorFlow's words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from print_programs import PROGRAMS, outcomes, written

import flowc as tf
from flowc.errors import UnsupportedError

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "recorded" / "printed.json").read_text()
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_words_of_tensorflow(name: str) -> None:
    assert outcomes(tf, np, name) == RECORDED[name]


def test_the_standard_output() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        line = tf.raw_ops.PrintV2(input="a line", output_stream="stdout")
        assert written(1, lambda: session.run(line)) == "a line\n"
        for level in ("info", "warning", "error"):
            line = tf.raw_ops.PrintV2(input=level, output_stream=f"log({level})")
            assert written(2, lambda: session.run(line)) == f"{level}\n"  # noqa: B023
        file = tf.raw_ops.PrintV2(input="a line", output_stream="file:///nowhere")
        with pytest.raises(UnsupportedError, match="writes to 'file:///nowhere'"):
            session.run(file)


def test_more_dimensions_than_can_be_shown() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [1] * 9)
        with pytest.raises(ValueError, match="up to 8 dimensions can be printed, found 9"):
            session.run(tf.Print(x, [x]), {x: np.zeros([1] * 9)})


def test_a_library(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        small = tf.raw_ops.Assert(condition=tf.reduce_all(x < 9), data=["x:", x, 1], name="small")
        with tf.control_dependencies([small]):
            tf.Print(x, [x, tf.shape(x)], "x ", first_n=2, name="y")
        model = tf.compile(graph, {"x": [None]}, ["y"], out=tmp_path / "m.so")
    given = np.array([1, 2.5, 3, 4], np.float32)
    for _ in range(3):  # each of them the first
        assert written(2, lambda: model(given)) == "x [1 2.5 3...][4]\n"
    with model.new_instance() as instance:
        lines = [written(2, lambda: instance(given)) for _ in range(3)]
        assert lines == ["x [1 2.5 3...][4]\n"] * 2 + [""]
        with pytest.raises(ValueError, match=r"assertion failed: \[x:\] \[9.5\] \[1\] \(node 'sm"):
            instance(np.array([9.5], np.float32))
    with pytest.raises(ValueError, match=r"assertion failed: \[x:\] \[1 50 3...\] \[1\]"):
        model(np.array([1, 50, 3, 1], np.float32))


def test_strings_in_a_library_are_refused(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        s = tf.placeholder(tf.string, [None], name="s")
        moved, size = tf.concat([s, ["k"]], 0, name="moved"), tf.size(s, name="size")
        shown = tf.print(size, name="shown")
        with pytest.raises(UnsupportedError, match=r"that are strings \(3\): s, moved/values_1, m"):
            tf.compile(graph, {"s": [None]}, [moved], out=tmp_path / "m.so")
        with tf.control_dependencies([shown]):
            again = tf.identity(tf.constant(1.0), name="again")
        with pytest.raises(UnsupportedError, match=r"StringFormat \(1\): shown_format"):
            tf.compile(graph, {size: []}, [again], out=tmp_path / "m.so")
