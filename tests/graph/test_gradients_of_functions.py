"""Gradients through calls, branches and loops that are functions of an imported graph.

Recorded by `tests/oracle/record_function_gradients.py`: TensorFlow made the graphs, and computed
the gradients. `make oracle` also has it run the graphs of gradients that flowc makes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.errors import UnimplementedError
from flowc.proto.graph_pb2 import GraphDef

with np.load(Path(__file__).parents[1] / "recorded" / "function_gradients.npz") as file:
    ARRAYS = dict(file)
INDEX: dict[str, int] = json.loads(ARRAYS["index"].tobytes())
# The graphs that every test run compiles and runs; `make oracle` does so with all of them.
RUN_ALWAYS = ("both_results", "case", "loop_of_pairs", "variable_in_a_loop")
RUN = [
    pytest.param(name, marks=() if name in RUN_ALWAYS else pytest.mark.oracle)
    for name, runs in INDEX.items()
    if runs
]


def with_gradients(name: str) -> tuple[tf.Graph, list[str], list[str]]:
    """(a graph with gradients, the names of what is fed, those of the gradients)"""
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(GraphDef.FromString(ARRAYS[f"{name}/graph"].tobytes()), name="")
        fed = ["x:0", "k:0"] if name.startswith("variable") else ["x:0", "k:0", "w:0"]
        by = ["x:0", "variable:0" if name.startswith("variable") else "w:0"]
        xs = [graph.get_tensor_by_name(x) for x in by]
        y = graph.get_tensor_by_name("y:0")
        found = tf.gradients(y, xs, unconnected_gradients="zero")
    return graph, fed, [t.name for t in found]


def check(name: str, session: Any, fed: list[str], gradients: list[str]) -> None:
    if name.startswith("variable"):
        session.run("variable/Assign")
    for run in range(INDEX[name]):
        values = {"x:0": ARRAYS["x"], "k:0": run, "w:0": ARRAYS["w"]}
        for i, value in enumerate(session.run(gradients, {n: values[n] for n in fed})):
            np.testing.assert_allclose(value, ARRAYS[f"{name}/{run}/{i}"], 1e-5, 1e-6)


@pytest.mark.parametrize("name", RUN)
def test_gradients_are_those_of_tensorflow(name: str) -> None:
    graph, fed, gradients = with_gradients(name)
    with tf.Session(graph=graph) as session:
        check(name, session, fed, gradients)


@pytest.mark.oracle
@pytest.mark.parametrize("name", [n for n, runs in INDEX.items() if runs])
def test_tensorflow_runs_what_flowc_exports(name: str) -> None:
    theirs = pytest.importorskip("tensorflow.compat.v1")
    graph, fed, gradients = with_gradients(name)
    message = theirs.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    with theirs.Graph().as_default(), theirs.Session() as session:
        theirs.import_graph_def(message, name="")
        check(name, session, fed, gradients)


def test_what_may_differ_is_not_computed_again() -> None:
    with pytest.raises(UnimplementedError, match="RandomUniform of the function again"):
        with_gradients("noisy")
