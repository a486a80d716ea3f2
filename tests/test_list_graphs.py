"""Graphs with TensorArrays, TensorLists and stacks against what TensorFlow made of them.

Recorded by `tests/oracle/record_list_graphs.py`: results, or the message that a run ends in.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from ir_reference import reference_results

import flowc
from flowc import dtypes
from flowc.errors import FlowcError, InvalidArgumentError, OpError
from flowc.graph import Graph
from flowc.graph.extract import extract_program
from flowc.importer import load_graph
from flowc.ir.dims import symbol
from flowc.ir.types import TensorType

with np.load(Path(__file__).parent / "data" / "lists" / "graphs.npz") as file:
    ARRAYS = dict(file)
ERRORS: dict[str, str] = json.loads(ARRAYS.pop("errors").tobytes())
X = ARRAYS.pop("x")
CASES = sorted(name.removesuffix("/graph") for name in ARRAYS if name.endswith("/graph"))
GOOD = [name for name in CASES if name not in ERRORS]


def graph_of(name: str, folder: Path) -> Graph:
    path = folder / "graph.pb"
    path.write_bytes(ARRAYS[f"{name}/graph"].tobytes())
    return load_graph(path)


def expected_of(name: str) -> list[np.ndarray]:
    found = [ARRAYS[f"{name}/y{i}"] for i in range(9) if f"{name}/y{i}" in ARRAYS]
    assert found
    return found


def fetches_of(graph: Graph) -> list[str]:
    names = {op.name for op in graph.get_operations()}
    return [f"y{i}:0" for i in range(9) if f"y{i}" in names]


def referenced(name: str, folder: Path) -> list[np.ndarray]:
    """What the extracted graph computes, by the references of its ops."""
    graph = graph_of(name, folder)
    feed = TensorType(dtypes.f32, (symbol("batch"), 3))
    fetches = [graph.get_tensor_by_name(f) for f in fetches_of(graph)]
    program = extract_program(graph, fetches, {graph.get_tensor_by_name("x:0"): feed})
    return reference_results(program.computation, [X])


def ran(name: str, folder: Path) -> list[np.ndarray]:
    graph = graph_of(name, folder)
    with flowc.Session(graph=graph) as session:
        return session.run(fetches_of(graph), {"x:0": X})


def assert_equal(found: list[np.ndarray], name: str) -> None:
    expected = expected_of(name)
    assert len(found) == len(expected)
    for x, y in zip(found, expected):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, 1e-5, 1e-6, err_msg=name)


@pytest.mark.parametrize("name", GOOD)
def test_extracted_graphs_mean_what_tensorflow_computes(name: str, tmp_path: Path) -> None:
    assert_equal(referenced(name, tmp_path), name)


@pytest.mark.parametrize(
    "name",
    ["recurrent_v1", "growing_v2", "concatenated_v2", "gathered_v1", "array_of_arrays_v2",
     "nested_gradient_v1", "conditional_writes_v1", "mapped_v2"],
)  # fmt: skip
def test_programs_run(name: str, tmp_path: Path) -> None:
    assert_equal(ran(f"program/{name}", tmp_path), f"program/{name}")


def alike(message: str) -> str:
    """A message without what is told apart by numbers: TensorFlow counts its resources."""
    message = re.sub(r"\s+", " ", message)
    message = re.sub(r"TensorArray \S+:", "TensorArray NAME:", message)
    return re.sub(r"Stack\[\w+\]", "Stack[NAME]", message)


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_what_fails_says_why_as_tensorflow_does(name: str, tmp_path: Path) -> None:
    with pytest.raises(FlowcError) as caught:
        referenced(name, tmp_path)
    assert isinstance(caught.value, OpError)
    assert alike(ERRORS[name]) in alike(str(caught.value))


@pytest.mark.parametrize(
    "name",
    ["array/write_twice", "array/read_past", "array/read_twice", "list/get_past",
     "array/unwritten_kept", "program/written_twice_v1"],
)  # fmt: skip
def test_runs_fail_with_the_message(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        ran(name, tmp_path)
    assert alike(ERRORS[name]) in alike(str(caught.value))
