"""`Graph.create_op` as programs of TensorFlow 1 call it; TensorFlow 2.21 gave what is expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flowc as tf

FLOAT, INT = tf.AttrValue(type="DT_FLOAT"), tf.AttrValue(type="DT_INT32")


def _create(op_type: str, *args: Any, **named: Any) -> Any:
    graph = tf.get_default_graph()
    a = graph.get_tensor_by_name("a:0")
    tensors = [graph.get_tensor_by_name(t) if ":" in t else a for t in args[0]]
    return graph.create_op(op_type, tensors, *args[1:], **named)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.constant([1.0, 2.0], name="a")
        tf.constant(0, name="axis")
        yield graph


CALLS: dict[str, tuple[Callable[[], Any], dict[str, Any], Any]] = {
    "third argument": (lambda: _create("Add", "aa", [tf.float32], name="s", attrs={"T": FLOAT}),
                       {"T": tf.float32}, [2, 4]),
    "in order": (lambda: _create("Add", "aa", [tf.float32], [tf.float32] * 2, "s", {"T": FLOAT}),
                 {"T": tf.float32}, [2, 4]),
    "attrs that inputs tell": (lambda: _create("Add", "aa"), {"T": tf.float32}, [2, 4]),
    "dtypes change nothing": (lambda: _create("Neg", "a", [tf.int32]), {"T": tf.float32},
                              [-1, -2]),
    "a constant": (lambda: _create("Const", "", attrs={
        "dtype": FLOAT, "value": tf.AttrValue(tensor=tf.make_tensor_proto(3.0))}),
        {"dtype": tf.float32}, 3),
    "a list and what stands behind it": (lambda: _create(
        "ConcatV2", ["a", "a", "axis:0"], attrs={"N": tf.AttrValue(i=2), "T": FLOAT}),
        {"N": 2, "T": tf.float32, "Tidx": tf.int32}, [1, 2, 1, 2]),
    "defaults": (lambda: _create("Cast", "a", attrs={"DstT": INT}),
                 {"SrcT": tf.float32, "DstT": tf.int32, "Truncate": False}, [1, 2]),
    "attrs of the program's own": (lambda: _create("Neg", "a", attrs={"_q": tf.AttrValue(s=b"x")}),
                                   {"T": tf.float32, "_q": b"x"}, [-1, -2]),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_operations_are_created_as_a_node_def_states_them(name: str) -> None:
    call, attrs, value = CALLS[name]
    op = call()
    assert {n: op.attrs[n] for n in attrs} == attrs
    with tf.Session() as session:
        assert session.run(op.outputs[0]).tolist() == value


def test_they_stand_in_the_scopes_of_the_graph(graph: Any) -> None:
    a = graph.get_tensor_by_name("a:0")
    with tf.name_scope("sc"), tf.device("/cpu:0"), tf.control_dependencies([a]):
        op = graph.create_op("Neg", [a], [tf.float32], name="n")
    assert (op.name, op.device) == ("sc/n", "/device:CPU:0")
    assert graph.create_op("Neg", [a], name="n/").name == "n"


def test_ops_that_only_flowc_makes_are_neither_made_nor_suggested(graph: Any) -> None:
    with pytest.raises(tf.errors.NotFoundError, match="Op type not registered '_Sizes'") as caught:
        graph.create_op("_Sizes", [graph.get_tensor_by_name("a:0")])
    assert "'Size'" in str(caught.value) and "'_Sizes' or" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda g, a: g.create_op("Addd", [a, a]), RuntimeError, "Op type not registered 'Addd'"),
        (lambda g, a: g.create_op("Add", [a, 1.0]), TypeError, "Input #1 is not a tensor: 1.0"),
        (lambda g, a: g.create_op("Add", [a]), TypeError, "takes 2 inputs .x, y., found 1"),
        (lambda g, a: g.create_op("Add", [a, a], attrs={"T": INT}), ValueError,
         "Inconsistent values for attr 'T' DT_FLOAT vs. DT_INT32"),
        (lambda g, a: g.create_op("Const", [], attrs={"dtype": FLOAT}), ValueError,
         "NodeDef missing attr 'value'"),
        (lambda g, a: g.create_op("Cast", [a], attrs={"DstT": tf.int32}), TypeError,
         "must be a tf.AttrValue"),
        (lambda g, a: g.create_op("MatMul", [a, a]), ValueError, "Shape must be rank 2 but is "),
        (lambda g, a: g.create_op("Neg", [a], input_types=[tf.int32]), TypeError,
         "In op 'Neg', input types .* are not compatible with expected types"),
        (lambda g, a: g.create_op("Neg", [a], name=""), ValueError, "not a valid node name"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(call: Any, error: type[Exception], says: str) -> None:
    graph = tf.get_default_graph()
    before = graph.get_operations()
    with pytest.raises(error, match=says):
        call(graph, graph.get_tensor_by_name("a:0"))
    assert graph.get_operations() == before
