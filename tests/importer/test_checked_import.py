"""`import_graph_def` takes what TensorFlow's takes, and a refused graph leaves nothing behind."""

from __future__ import annotations

from typing import Any, cast

import pytest

import flowc as tf
from flowc.errors import InvalidModelError, NotFoundError
from flowc.graph.graph import PRODUCER
from flowc.proto.graph_pb2 import GraphDef

FLOAT: Any = 1
INT32: Any = 3


def graph_of(op: str, inputs: list[str], attrs: dict[str, Any]) -> GraphDef:
    """A placeholder c, and the node a."""
    graph_def = GraphDef()
    graph_def.node.add(name="c", op="Placeholder").attr["dtype"].type = FLOAT
    node = graph_def.node.add(name="a", op=op, input=inputs)
    for key, value in attrs.items():
        if key in ("T", "dtype") and isinstance(value, int):
            node.attr[key].type = cast(Any, value)
        elif isinstance(value, str):
            node.attr[key].s = value.encode()
        else:
            node.attr[key].i = value
    return graph_def


REFUSED: dict[str, tuple[str, list[str], dict[str, Any], str]] = {
    "too few inputs": ("Neg", [], {"T": FLOAT}, "takes 1 inputs?, found 0"),
    "too many inputs": ("Neg", ["c", "c"], {"T": FLOAT}, "takes 1 inputs?, found 2"),
    "no T": ("Neg", ["c"], {}, "attr 'T' is missing"),
    "T that Neg does not take": ("Neg", ["c"], {"T": 7}, "a' .Neg.: attr 'T' is"),
    "T of no number": ("Neg", ["c"], {"T": "x"}, "a' .Neg.: attr 'T' is"),
    "T of another input": ("Neg", ["c"], {"T": INT32}, "is 'import/c:0' of f32, expected i32"),
    "count of inputs": ("AddN", ["c", "c"], {"T": FLOAT, "N": 3}, "takes 3 inputs"),
    "padding": ("Softsign", ["c"], {"T": INT32}, "attr 'T'"),
    "no input of that name": ("Neg", ["d"], {"T": FLOAT}, "takes 'd'"),
    "no such output": ("Neg", ["c:1"], {"T": FLOAT}, "has 1 output"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_malformed_nodes_are_refused_at_import(name: str) -> None:
    op, inputs, attrs, text = REFUSED[name]
    with tf.Graph().as_default() as graph:
        kept = tf.constant(1.0, name="kept")
        with pytest.raises(InvalidModelError, match=text):
            tf.import_graph_def(graph_of(op, inputs, attrs))
        assert graph.get_operations() == [kept.op]
        tf.import_graph_def(graph_of("Neg", ["c"], {"T": FLOAT}))


def test_ops_that_nobody_knows_are_refused() -> None:
    graph_def = graph_of("NoSuchOp", ["c"], {})
    with tf.Graph().as_default() as graph:
        with pytest.raises(NotFoundError, match="Op type not registered 'NoSuchOp'") as caught:
            tf.import_graph_def(graph_def)
        assert caught.value.node == "import/a" and not graph.get_operations()
        # What TensorFlow has is kept, whether or not flowc compiles it.
        tf.import_graph_def(graph_of("CollectiveAllToAllV2", ["c"], {}))


@pytest.mark.parametrize(("oldest", "bad"), [(PRODUCER + 1, ()), (0, (PRODUCER,))])
def test_versions_that_need_another_reader(oldest: int, bad: tuple[int, ...]) -> None:
    graph_def = graph_of("Neg", ["c"], {"T": FLOAT})
    graph_def.versions.producer = PRODUCER + 2
    graph_def.versions.min_consumer = oldest
    graph_def.versions.bad_consumers.extend(bad)
    with tf.Graph().as_default(), pytest.raises(InvalidModelError, match="consumer version"):
        tf.import_graph_def(graph_def)


def test_defaults_that_a_file_leaves_out_are_filled_in() -> None:
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_of("Neg", ["c"], {"T": FLOAT}), name="")
        assert graph.get_operation_by_name("c").node_def.attr["shape"].shape.unknown_rank
        assert not graph.get_operation_by_name("a").attrs.keys() - {"T"}
