"""Gradients that TensorFlow made of loops and conditionals which keep values of several types.

Recorded by `tests/oracle/record_control_flow_gradients.py`: the runs of each graph one after
another, for both branches and several sizes, by one program of flowc's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc
from flowc.compiler import load_executable
from flowc.dtypes import as_dtype
from flowc.extract.program import extract_program
from flowc.ir.dims import symbol
from flowc.ir.inference import NeedsContent
from flowc.ir.program_spec import spec_of
from flowc.ir.types import TensorType
from flowc.options import Options
from flowc.run.executable import Executable

Feeds = dict[str, np.ndarray]

with np.load(Path(__file__).parents[1] / "data" / "control_flow_gradients" / "graphs.npz") as file:
    ARRAYS = dict(file)
INDEX: dict[str, list[dict[str, Any]]] = json.loads(ARRAYS.pop("index").tobytes())


def graph_of(name: str, folder: Path) -> flowc.Graph:
    path = folder / "graph.pb"
    path.write_bytes(ARRAYS[f"{name}/graph"].tobytes())
    return flowc.load_graph(path)


def feeds_of(where: str, entry: dict[str, Any]) -> Feeds:
    return {name: ARRAYS[f"{where}/x{i}"] for i, name in enumerate(entry["feeds"])}


def program_for_all_sizes(graph: flowc.Graph, entry: dict[str, Any], feeds: Feeds) -> Executable:
    """One program for all runs of a graph: tensors of numbers have sizes of the run."""
    types = {}
    for name, array in feeds.items():
        sized = array.dtype == np.float32
        dims = tuple(symbol(f"n{i}") if sized else d for i, d in enumerate(array.shape))
        types[graph.get_tensor_by_name(name)] = TensorType(as_dtype(array.dtype), dims)
    fetches = [graph.get_tensor_by_name(name) for name in entry["fetches"]]
    c = extract_program(graph, fetches, types).computation
    return load_executable(c, Options(), spec_of(c, list(feeds), entry["fetches"]), threads=1)


@pytest.mark.parametrize("name", sorted(INDEX))
def test_gradients_are_those_of_tensorflow(name: str, tmp_path: Path) -> None:
    first = INDEX[name][0]
    feeds = feeds_of(f"{name}/0", first)
    program = program_for_all_sizes(graph_of(name, tmp_path), first, feeds)
    for number in range(len(INDEX[name])):
        where = f"{name}/{number}"
        found = program.run(list(feeds_of(where, INDEX[name][number]).values()))
        for i, value in enumerate(found):
            expected = ARRAYS[f"{where}/y{i}"]
            assert value.shape == expected.shape, where
            np.testing.assert_allclose(value, expected, 1e-5, 1e-6, err_msg=where)


def test_axes_of_data_are_for_sums(tmp_path: Path) -> None:
    """What only the run knows the rank of is reshaped next; where it is fetched, a Session compiles
    for the shapes that are fed, and a library refuses."""
    name = "sums_that_drop_axes_of_data"
    graph, feeds = graph_of(name, tmp_path), feeds_of(f"{name}/0", INDEX[name][0])
    (reshaped,) = (op for op in graph.get_operations() if op.name == "Reshape")
    total = reshaped.inputs[0]
    with flowc.Session(graph=graph) as session:
        found, shaped = session.run([total, reshaped.outputs[0]], feeds)
        np.testing.assert_array_equal(found.reshape(-1), shaped.reshape(-1))
    types = {
        graph.get_tensor_by_name(n): TensorType(as_dtype(a.dtype), a.shape)
        for n, a in feeds.items()
    }
    with pytest.raises(NeedsContent, match="which is fetched, has a shape that values of the run"):
        extract_program(graph, [total], types)
