"""Contexts of loops and branches in MetaGraphs: written as TensorFlow writes them, read again, and
good for gradients and training.

In: what TensorFlow wrote and computed (`tests/recorded/contexts.npz`). No TensorFlow here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from context_programs import PROGRAMS, VECTOR, built, gradient_in_graph, resumed

import flowc as tf
from flowc.graph.building.context_defs import CONTEXT_COLLECTIONS
from flowc.graph.building.contexts import CondContext, ControlFlowContext, WhileContext
from flowc.proto.meta_graph_pb2 import MetaGraphDef

RECORDED = np.load(Path(__file__).parents[2] / "recorded" / "contexts.npz")
CLOSE = 1e-5
OTHER_NODES = ("gathered",)  # the gradient of its gather takes other nodes than TensorFlow's


def recorded_meta(name: str) -> MetaGraphDef:
    return MetaGraphDef.FromString(RECORDED[f"{name}/meta"].tobytes())


def contexts_in(meta: MetaGraphDef) -> dict[str, list[Any]]:
    """The messages of contexts, by collection."""
    return {
        key: [kind.FromString(item) for item in meta.collection_def[key].bytes_list.value]
        for key, kind in CONTEXT_COLLECTIONS.items()
        if key in meta.collection_def
    }


def frames_in(meta: MetaGraphDef) -> dict[str, bytes]:
    return {n.name: n.attr["frame_name"].s for n in meta.graph_def.node if n.op == "Enter"}


def check_gradient(name: str, found: list[Any]) -> None:
    for part, value in zip(("result", "gradient"), found, strict=True):
        np.testing.assert_allclose(value, RECORDED[f"{name}/{part}"], rtol=CLOSE, err_msg=part)


@pytest.mark.parametrize("name", PROGRAMS)
def test_contexts_are_tensorflows_and_carry_gradients(name: str) -> None:
    """Built here, they are written as TensorFlow writes them; what TensorFlow wrote is read, is
    written alike, and gives its gradients."""
    meta = recorded_meta(name)
    expected = contexts_in(meta)
    assert expected
    with tf.Graph().as_default():
        built(tf, name)
        written = contexts_in(tf.train.export_meta_graph())
        assert written == expected or name in OTHER_NODES
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta, import_scope="outer")
        inside = tf.train.export_meta_graph(export_scope="outer")
        assert contexts_in(inside) == expected
        assert frames_in(inside) == frames_in(meta)
        check_gradient(name, gradient_in_graph(tf, "outer/"))


def around(context: ControlFlowContext | None) -> Iterator[str]:
    while context is not None:
        yield context.name
        context = context.outer_context


def test_operations_stand_in_the_contexts_that_are_read() -> None:
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(recorded_meta("nested"))
        loop = graph.get_operation_by_name("loop/add").control_flow_context
        inner = graph.get_operation_by_name("loop/inner/mul").control_flow_context
        chosen = graph.get_operation_by_name("loop/chosen/add").control_flow_context
        assert isinstance(inner, WhileContext) and inner.outer_context is loop
        assert isinstance(chosen, CondContext) and chosen.branch == 1
        names = ["loop/chosen/cond_text", "loop/while_context"]
        assert list(around(chosen)) == names
        assert graph.get_operation_by_name("y").control_flow_context is None
        within = graph.get_tensor_by_name("loop/inner/mul:0")
        with pytest.raises(ValueError, match="is in a while loop"):
            tf.identity(within)


def test_gradients_of_a_loaded_graph(tmp_path: Path) -> None:
    """`load_graph` keeps the messages; gradients are what asks for them."""
    path = tmp_path / "model.meta"
    path.write_bytes(recorded_meta("nested").SerializeToString())
    with tf.load_graph(path).as_default() as graph:
        assert isinstance(graph.get_collection("while_context")[0], bytes)
        check_gradient("nested", gradient_in_graph(tf))


@pytest.mark.parametrize("name", ["branches", "cases"])
def test_gradients_of_branches_without_contexts(name: str) -> None:
    """As in TensorFlow, whose gradients then ask which input a Merge took."""
    with tf.Graph().as_default():
        tf.import_graph_def(recorded_meta(name).graph_def, name="")
        check_gradient(name, gradient_in_graph(tf))


def test_no_gradients_of_loops_without_contexts() -> None:
    with tf.Graph().as_default():
        tf.import_graph_def(recorded_meta("simple").graph_def, name="")
        with pytest.raises(ValueError, match="does not say which loop it leaves"):
            gradient_in_graph(tf)


def test_contexts_that_do_not_fit_are_left_out() -> None:
    """The graph was cut, or the message is none: what is there is imported all the same."""
    meta = recorded_meta("nested")
    loops = meta.collection_def["while_context"].bytes_list
    for wrong in (loops.value[0].replace(b"loop/inner/Exit_1", b"loop/inner/Exit_9"), b"\xff"):
        loops.value[:] = [wrong]
        with tf.Graph().as_default() as graph:
            tf.train.import_meta_graph(meta)
            assert graph.get_collection("while_context") == []
            with tf.Session() as session:
                found = session.run("y:0", {"x:0": VECTOR})
    assert found is not None


def test_training_goes_on(tmp_path: Path) -> None:
    """A `dynamic_rnn` with the slots of its optimizer, which TensorFlow built and trained; then
    trained by gradients that are made of what was imported."""
    for key in RECORDED.files:
        if key.startswith("network/model"):
            (tmp_path / Path(key).name).write_bytes(RECORDED[key].tobytes())
    found = resumed(tf, str(tmp_path / "model"))
    np.testing.assert_allclose(found, RECORDED["network/losses"], rtol=1e-4)
