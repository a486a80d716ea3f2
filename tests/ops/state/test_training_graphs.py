"""Graphs that TensorFlow built with their gradients and a step of training: the same steps here.

Recorded by `tests/oracle/record_training_graphs.py`: reference variables, resource variables with
frames, and resource variables with functions. The graph's own initialiser gives the first values.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc
from flowc.proto.graph_pb2 import GraphDef

FILE = Path(__file__).parents[2] / "data" / "training" / "graphs.npz"
with np.load(FILE) as file:
    ARRAYS = dict(file)
INDEX: dict[str, Any] = json.loads(ARRAYS.pop("index").tobytes())


def arrays_of(name: str, prefix: str) -> dict[str, np.ndarray]:
    start = f"{name}/{prefix}"
    return {k[len(start) :]: v for k, v in ARRAYS.items() if k.startswith(start)}


def graph_of(name: str) -> flowc.Graph:
    graph = flowc.Graph()
    with graph.as_default():
        flowc.import_graph_def(GraphDef.FromString(ARRAYS[f"{name}/graph"].tobytes()), name="")
    return graph


def feeds_of(name: str, step: int) -> dict[str, np.ndarray]:
    return arrays_of(name, f"feed/{step}/")


def check(name: str, losses: list[Any], ends: dict[str, np.ndarray]) -> None:
    np.testing.assert_allclose(losses, ARRAYS[f"{name}/losses"], 1e-4, 1e-5)
    expected = arrays_of(name, "end/")
    assert set(ends) == set(expected)
    for variable, value in expected.items():
        assert ends[variable].dtype == value.dtype
        np.testing.assert_allclose(ends[variable], value, 1e-3, 1e-4, err_msg=variable)


@pytest.mark.parametrize("name", INDEX)
def test_steps_in_a_session(name: str) -> None:
    entry = INDEX[name]
    count = len(ARRAYS[f"{name}/losses"])
    with flowc.Session(graph=graph_of(name)) as session:
        session.run(entry["initializer"])
        losses = []
        for step in range(count):
            feeds = {f"{k}:0": v for k, v in feeds_of(name, step).items()}
            losses.append(session.run([entry["loss"] + ":0", entry["step"]], feeds)[0])
        ends = dict(zip(entry["variables"], session.run(list(entry["variables"].values()))))
    check(name, losses, ends)


@pytest.mark.parametrize("name", INDEX)
def test_steps_in_an_instance_of_a_library(name: str, tmp_path: Path) -> None:
    entry = INDEX[name]
    graph = graph_of(name)
    with flowc.Session(graph=graph) as session:
        session.run(entry["initializer"])
        graph.variable_values = session.variable_values()
    model = flowc.compile(graph, fetches=[entry["loss"], entry["step"]], out=tmp_path / "step.so")
    with model.new_instance() as instance:
        losses = []
        for step in range(len(ARRAYS[f"{name}/losses"])):
            losses += list(instance.run(feeds_of(name, step)).values())
        ends = {v: instance.read(v) for v in entry["variables"]}
    check(name, losses, ends)
