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
from google.protobuf import text_format

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


_NAMED = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { } } } }
node { name: "call" op: "square" input: "x" }
node { name: "by_node" op: "SymbolicGradient" input: "x" input: "x"
       attr { key: "Tin" value { list { type: DT_FLOAT type: DT_FLOAT } } }
       attr { key: "Tout" value { list { type: DT_FLOAT } } }
       attr { key: "f" value { func { name: "square" } } } }
library {
  function {
    signature { name: "square" input_arg { name: "x" type: DT_FLOAT }
                output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "y" op: "Square" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "y" value: "y:y:0" }
  }
  function {
    signature { name: "own" input_arg { name: "x" type: DT_FLOAT }
                input_arg { name: "dy" type: DT_FLOAT } RESULTS }
    node_def { name: "d" op: "Sub" input: "x" input: "dy"
               attr { key: "T" value { type: DT_FLOAT } } }
    RETURNS
  }
  gradient { function_name: "square" gradient_func: "own" }
}
"""


def _named(results: int) -> tf.Graph:
    """A graph whose library names a gradient of `square`, which has so many results."""
    names = [f"d{i}" for i in range(results)]
    told = " ".join(f'output_arg {{ name: "{n}" type: DT_FLOAT }}' for n in names)
    returned = " ".join(f'ret {{ key: "{n}" value: "d:z:0" }}' for n in names)
    text = _NAMED.replace("RESULTS", told).replace("RETURNS", returned)
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(text_format.Parse(text, GraphDef()), name="")
    return graph


def test_the_gradient_that_a_library_names_is_taken() -> None:
    graph = _named(1)
    x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("call:0")
    with graph.as_default():
        (by_walk,) = tf.gradients(y, x)
    with tf.Session(graph=graph) as session:
        assert session.run([by_walk, "by_node:0"], {x: 5.0}) == [4.0, 0.0]
    with tf.Session(graph=_named(2)) as session:
        expected = "SymGrad expects to return 1.*but get 2.*instead"
        with pytest.raises(tf.errors.InvalidArgumentError, match=expected):
            session.run("by_node:0", {"x:0": 5.0})
