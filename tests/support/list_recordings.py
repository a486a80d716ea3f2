"""Graphs with lists and what TensorFlow made of them (tests/oracle/record_list_graphs.py).

In: a file of tests/data/lists. Out: graphs of `x` by name, the values of their fetches `y0`,
`y1`... or the message that a run of them ends in.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

from flowc import dtypes
from flowc.extract.program import extract_program
from flowc.graph import Graph
from flowc.importer import load_graph
from flowc.ir.computation import Computation
from flowc.ir.dims import symbol
from flowc.ir.types import TensorType

FOLDER = Path(__file__).resolve().parents[1] / "data" / "lists"
FEED = TensorType(dtypes.f32, (symbol("batch"), 3))


class ListGraphs:
    """`x`: what every graph is fed. `good`: the names of those that give values; `errors`: the
    messages of the others."""

    def __init__(self, file: str, tolerance: float) -> None:
        with np.load(FOLDER / file) as arrays:
            self._arrays = dict(arrays)
        self.tolerance = tolerance
        self.errors: dict[str, str] = json.loads(self._arrays.pop("errors").tobytes())
        self.x = self._arrays.pop("x")
        names = [n.removesuffix("/graph") for n in self._arrays if n.endswith("/graph")]
        self.good = sorted(n for n in names if n not in self.errors)

    def graph(self, name: str, folder: Path) -> Graph:
        """A graph, read from `graph.pb`, which is left in the folder."""
        path = folder / "graph.pb"
        path.write_bytes(self._arrays[f"{name}/graph"].tobytes())
        return load_graph(path)

    def assert_equal(self, found: list[np.ndarray], name: str) -> None:
        arrays = self._arrays
        expected = [arrays[f"{name}/y{i}"] for i in range(9) if f"{name}/y{i}" in arrays]
        assert len(found) == len(expected) > 0
        for x, y in zip(found, expected):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, self.tolerance, self.tolerance / 10, err_msg=name)


def fetches_of(graph: Graph) -> list[str]:
    names = {op.name for op in graph.get_operations()}
    return [f"y{i}:0" for i in range(9) if f"y{i}" in names]


def extracted(graph: Graph) -> Computation:
    """The program for any number of rows."""
    fetches = [graph.get_tensor_by_name(f) for f in fetches_of(graph)]
    return extract_program(graph, fetches, {graph.get_tensor_by_name("x:0"): FEED}).computation


def alike(message: str) -> str:
    """A message without what is told apart by numbers: TensorFlow counts its resources."""
    message = re.sub(r"\s+", " ", message)
    message = re.sub(r"TensorArray \S+:", "TensorArray NAME:", message)
    return re.sub(r"Stack\[\w+\]", "Stack[NAME]", message)
