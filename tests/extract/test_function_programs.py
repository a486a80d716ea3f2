"""Functions as users write them, frozen by TensorFlow with and without lowered control flow.

Recorded by `tests/oracle/record_function_programs.py`. Every call has other sizes than the last.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import flowc
from flowc.dtypes import as_dtype
from flowc.graph import Graph
from flowc.importer import load_graph

with np.load(Path(__file__).parents[1] / "data" / "programs" / "functions.npz") as file:
    ARRAYS = dict(file)
NAMES = sorted({key.partition("/")[0] for key in ARRAYS})
FORMS = ("functions", "lowered")


def graph_of(name: str, form: str, folder: Path) -> tuple[Graph, list[str]]:
    path = folder / "graph.pb"
    path.write_bytes(ARRAYS[f"{name}/{form}"].tobytes())
    return load_graph(path), ARRAYS[f"{name}/{form}/fetches"].tobytes().decode().split("\n")


def call_of(name: str, number: int) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """The feeds by name, and the results; no feeds where there is no such call."""
    start = f"{name}/{number}/"
    found = {k.removeprefix(start): v for k, v in ARRAYS.items() if k.startswith(start)}
    results = [found[f"y{i}"] for i in range(len(found)) if f"y{i}" in found]
    return {k: v for k, v in found.items() if k.startswith("x")}, results


def check(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for x, y in zip(found, expected, strict=True):
        assert np.asarray(x).dtype == y.dtype
        np.testing.assert_allclose(x, y, 1e-5, 1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_calls_in_a_session(name: str, form: str, tmp_path: Path) -> None:
    graph, fetches = graph_of(name, form, tmp_path)
    assert call_of(name, 0)[1]
    with flowc.Session(graph=graph) as session:
        for number in range(9):
            feeds, expected = call_of(name, number)
            if expected:
                check(session.run(fetches, {f"{k}:0": v for k, v in feeds.items()}), expected)


@pytest.mark.parametrize("name", NAMES)
def test_calls_of_one_library_for_every_size(name: str, tmp_path: Path) -> None:
    graph, fetches = graph_of(name, "lowered", tmp_path)
    feeds = []
    for key, value in call_of(name, 0)[0].items():
        sizes = ",".join(f"{key}_{i}" if i == 0 else str(d) for i, d in enumerate(value.shape))
        feeds.append(f"{key}={as_dtype(value.dtype)}[{sizes}]")
    model = flowc.compile(graph, feeds=feeds, fetches=fetches, out=tmp_path / "program.so")
    for number in range(9):
        given, expected = call_of(name, number)
        if expected:
            check(list(model.run(given).values()), expected)
