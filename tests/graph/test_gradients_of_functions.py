"""Gradients through calls and branches that are functions of an imported graph.

Recorded by `tests/oracle/record_function_gradients.py`: TensorFlow made the graphs, and computed
the gradients.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import flowc as tf
from flowc.proto.graph_pb2 import GraphDef

with np.load(Path(__file__).parents[1] / "recorded" / "function_gradients.npz") as file:
    ARRAYS = dict(file)
INDEX: dict[str, int] = json.loads(ARRAYS["index"].tobytes())


def imported(name: str) -> tf.Graph:
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(GraphDef.FromString(ARRAYS[f"{name}/graph"].tobytes()), name="")
    return graph


@pytest.mark.parametrize("name", INDEX)
def test_gradients_are_those_of_tensorflow(name: str) -> None:
    with imported(name).as_default() as graph:
        x, w, k, y = (graph.get_tensor_by_name(f"{n}:0") for n in ("x", "w", "k", "y"))
        found = tf.gradients(y, [x, w], unconnected_gradients="zero")
        with tf.Session() as session:
            for run in range(INDEX[name]):
                fed = {x: ARRAYS["x"], w: ARRAYS["w"], k: run}
                for i, value in enumerate(session.run(found, fed)):
                    np.testing.assert_allclose(value, ARRAYS[f"{name}/{run}/{i}"], 1e-5, 1e-6)
    exported = graph.as_graph_def()
    with tf.Graph().as_default():
        tf.import_graph_def(GraphDef.FromString(exported.SerializeToString()), name="")
