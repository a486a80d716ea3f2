"""What a program takes and gives: specs, defaults, names of sizes, and `flowc.compile`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from calls.xla_examples import function

import flowc as tf
from flowc.errors import UnknownNameError, UsageError
from flowc.extract.feed_specs import FeedSpec, parse_feed
from flowc.extract.interface import (
    choose_feeds,
    choose_fetches,
    choose_interface,
    default_fetches,
)
from flowc.graph import Graph, Signature, TensorInfo, TensorShape
from flowc.importer.formats import Encoding, Kind
from flowc.importer.read_model import Provenance
from flowc.ir.dims import symbol


@pytest.fixture
def graph() -> Iterator[Graph]:
    with tf.Graph().as_default() as found:
        x = tf.placeholder(tf.float32, [None, 4], name="in/x")
        tf.placeholder(tf.float32, [3], name="spare")
        y = tf.nn.relu(x, name="hidden")
        tf.multiply(y, 2.0, name="out")
        tf.constant(1.0, name="alone")
        yield found


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("x", FeedSpec("x")),
        ("a/b:0", FeedSpec("a/b:0")),
        ("x=f32", FeedSpec("x", tf.float32)),
        ("x=int64[]", FeedSpec("x", tf.int64, ())),
        ("x=f32[batch,784]", FeedSpec("x", tf.float32, (symbol("batch"), 784))),
        ("x=[2, n]", FeedSpec("x", None, (2, symbol("n")))),
        ("a/x=f32[?,?]", FeedSpec("a/x", tf.float32, (None, None))),
    ],
)
def test_feeds_are_read(text: str, spec: FeedSpec) -> None:
    assert parse_feed(text) == spec


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "cannot read the feed"),
        ("=f32", "cannot read the feed"),
        ("x=f32[2", "cannot read the feed"),
        ("x=g32[2]", "unknown dtype 'g32'"),
        ("x=f32[a b]", "unreadable size"),
        ("x=f32[-1]", "negative size"),
    ],
)
def test_unreadable_feeds(text: str, fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        parse_feed(text)


def test_a_dtype_that_does_not_exist_is_one_that_values_have() -> None:
    with pytest.raises(UsageError, match="did you mean 'int32' or"):
        parse_feed("x=int33[2]")


def test_default_feeds_are_placeholders_with_named_sizes(graph: Graph) -> None:
    feeds = choose_feeds(graph)
    assert [(f.name, str(f.type)) for f in feeds] == [
        ("in/x", "f32[batch,4]"),
        ("spare", "f32[3]"),
    ]
    wide = tf.placeholder(tf.int32, [5, None, None], name="deep/wide")
    assert [str(f.type) for f in choose_feeds(graph, [wide])] == ["i32[5,wide_1,wide_2]"]


def test_default_fetches_are_sinks_behind_placeholders(graph: Graph) -> None:
    assert [f.name for f in default_fetches(graph)[0]] == ["out"]
    chosen = choose_interface(graph)
    assert [f.name for f in chosen.feeds] == ["in/x"]  # no sink needs the other
    assert (chosen.feeds_from, chosen.fetches_from) == ("placeholders", "sinks")
    with tf.Graph().as_default() as bare, pytest.raises(UsageError, match="no sink"):
        choose_interface(bare)


def test_what_nobody_reads_of_a_loop_is_no_default_fetch() -> None:
    def doubled(x: tf.Tensor, name: str) -> list[tf.Tensor]:
        step = lambda i, value: (i + 1, value * 2)
        first = tf.cast(x[0], tf.int32)
        return tf.while_loop(lambda i, _: i < 3, step, [first, x], name=name)

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        doubled(x, "alone")
        assert [f.name for f in default_fetches(graph)[0]] == ["alone/Exit", "alone/Exit_1"]
        tf.identity(doubled(x, "read")[1], name="out")
        found = [f.name for f in default_fetches(graph)[0]]
        assert found == ["alone/Exit", "alone/Exit_1", "out"]


def test_what_has_the_sizes_of_an_input_and_none_of_its_elements_is_no_default_fetch() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.zeros(tf.shape(x), name="start")
        assert [f.name for f in default_fetches(graph)[0]] == ["start"]  # there is nothing better
        tf.negative(x, name="out")
        assert [f.name for f in default_fetches(graph)[0]] == ["out"]


def test_feeds_complete_and_contradict_the_graph(graph: Graph) -> None:
    (feed,) = choose_feeds(graph, "in/x=[n,4]")
    assert str(feed.type) == "f32[n,4]"
    (feed,) = choose_feeds(graph, {"in/x": (8, None)})
    assert str(feed.type) == "f32[8,4]"
    (feed,) = choose_feeds(graph, ["hidden=f32[rows,4]"])
    assert feed.tensor.name == "hidden:0"
    with pytest.raises(UsageError, match=r"given as \[n,5\], and the graph has"):
        choose_feeds(graph, "in/x=[n,5]")
    with pytest.raises(UsageError, match="given as i32, and the graph has f32"):
        choose_feeds(graph, "in/x=i32")
    with pytest.raises(UsageError, match="given twice"):
        choose_feeds(graph, ["in/x", "in/x:0"])
    with pytest.raises(UsageError, match="unknown rank") as caught:
        choose_feeds(graph, [tf.placeholder(tf.float32, name="free")])
    assert "--feed free=f32[] for a scalar" in str(caught.value)


def test_unknown_names_say_the_nearest(graph: Graph) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'in/x'"):
        choose_feeds(graph, "in/y")
    with pytest.raises(UnknownNameError, match="did you mean 'hidden'"):
        choose_fetches(graph, ["hiden"])
    for slip, names in {
        "HIDDEN": "'hidden'",
        "hid": "'hidden'",
        "other/scope/hiden": "'hidden'",
        "some/long/scope/x": "'in/x'",
    }.items():
        with pytest.raises(UnknownNameError, match=rf"did you mean {names}\?"):
            choose_fetches(graph, [slip])
    with pytest.raises(UnknownNameError) as caught:
        choose_fetches(graph, ["some/long/scope/nothing"])
    assert caught.value.hint == "the graph's outputs are out"
    with pytest.raises(UnknownNameError, match="has no output 3"):
        choose_fetches(graph, ["hidden:3"])


def test_signatures_name_inputs_and_outputs(graph: Graph) -> None:
    graph.signatures["serve"] = Signature(
        {"images": TensorInfo("in/x:0", tf.float32, TensorShape([None, 4]))},
        {"scores": TensorInfo("hidden:0", tf.float32, TensorShape([None, 4]))},
    )
    graph.source = Provenance("m", Kind.SAVED_MODEL, Encoding.BINARY, None, (), "serve", None)
    chosen = choose_interface(graph)
    assert [f.name for f in chosen.feeds] == ["images"]
    assert [(f.name, f.tensor.name) for f in chosen.fetches] == [("scores", "hidden:0")]
    assert chosen.fetches_from == "signature serve"
    assert choose_feeds(graph, "images=[2,4]")[0].tensor.name == "in/x:0"
    assert choose_fetches(graph, ["scores", "out"])[1].tensor.name == "out:0"
    with pytest.raises(UnknownNameError, match="did you mean 'serve'"):
        choose_interface(graph, signature="server")


def test_compile_in_memory(graph: Graph) -> None:
    program = tf.compile(graph)
    assert (program.inputs, program.outputs) == (("in/x",), ("out",))
    for rows in (1, 5):
        x = np.linspace(-1, 1, rows * 4, dtype=np.float32).reshape(rows, 4)
        assert np.array_equal(program(x), np.maximum(x, 0) * 2)
    assert program.run({"in/x:0": x})[0].shape == (5, 4)
    with pytest.raises(TypeError, match="missing: in/x"):
        program()
    with pytest.raises(TypeError, match="takes 1 inputs, found 2"):
        program(x, x)
    with pytest.raises(ValueError, match="in/x"):
        program(np.zeros((2, 3)))
    both = tf.compile(graph, feeds="hidden=[n,4]", fetches=["out", "hidden"])
    assert [a.tolist() for a in both(np.ones((1, 4)))] == [[[2.0] * 4], [[1.0] * 4]]


def test_compile_to_a_library(graph: Graph, tmp_path: Path) -> None:
    model = tf.compile(graph, out=tmp_path / "model.so", target="x86-64-v2")
    x = np.float32([[1, -2, 3, -4]])
    assert model(x).tolist() == [[2.0, 0.0, 6.0, 0.0]]
    assert (tmp_path / "model.h").exists()
    again = tf.load(tmp_path / "model.so")
    assert [str(p) for p in again.inputs] == ["in/x: float32[batch, 4]"]
    assert again.run({"in/x": np.zeros((3, 4), np.float32)})["out"].shape == (3, 4)


def test_compile_a_file(graph: Graph, tmp_path: Path) -> None:
    path = tf.train.write_graph(graph, tmp_path, "graph.pbtxt")
    x = np.float32([[1, -2, 3, -4]])
    assert tf.compile(path)(x).tolist() == [[2.0, 0.0, 6.0, 0.0]]


def test_sinks_leave_out_marks_of_branches_and_what_is_waited_for() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        branch = graph.add_operation(
            "Switch",
            [x, tf.constant(True)],
            name="switch",
            output_types=[(tf.float32, [2]), (tf.float32, [2])],
        )
        tf.identity(branch.outputs[1], name="switch_t")
        first = tf.negative(x, name="first")
        with tf.control_dependencies([first]):
            tf.exp(x, name="result")
        assert [f.name for f in default_fetches(graph)[0]] == ["result"]


def test_sinks_leave_out_what_loops_inside_of_loops_give() -> None:
    with tf.Graph().as_default() as graph:
        n = tf.placeholder(tf.int32, [], name="n")

        def body(i: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            _, row = tf.while_loop(lambda j, s: j < i, lambda j, s: (j + 1, s + j), (0, 0))
            return i + 1, total + row

        found = tf.while_loop(lambda i, _: i < n, body, (0, 0))
        tf.identity(found[1], name="total")
        assert [f.name for f in default_fetches(graph)[0]] == ["total"]


def test_what_a_loop_hands_on_and_nobody_reads_is_no_result() -> None:
    """A loop that is a call of functions: its results stand in its scope."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        kinds = tf.int32, tf.float32
        loop = tf.raw_ops.While(
            input=[tf.constant(0), x],
            cond=function(lambda i, a: i < 3, *kinds),
            body=function(lambda i, a: [i + 1, a * 2.0], *kinds),
            name="w",
        )
        with tf.name_scope("w/"):
            tf.identity(loop[0], name="counter")
            doubled = tf.identity(loop[1], name="doubled")
        tf.negative(doubled, name="out")
    assert [f.name for f in default_fetches(graph)[0]] == ["out"]
