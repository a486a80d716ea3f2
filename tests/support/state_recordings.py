"""What TensorFlow's sessions did with variables (tests/oracle/record_state.py).

Out: cases, each a GraphDef and steps with their feeds and the values or the error that TensorFlow
gave.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import flowc
from flowc.proto.graph_pb2 import GraphDef

FILE = Path(__file__).resolve().parents[1] / "recorded" / "state.npz"


@dataclass(frozen=True, slots=True)
class Step:
    """One run: `outputs` are None where TensorFlow raised `error`."""

    fetches: tuple[str, ...]
    targets: tuple[str, ...]
    feeds: dict[str, np.ndarray]
    outputs: tuple[np.ndarray, ...]
    error: str | None


@cache
def _file() -> dict[str, Any]:
    with np.load(FILE) as arrays:
        return dict(arrays)


@cache
def _index() -> dict[str, Any]:
    return json.loads(_file()["index"].tobytes())


def names() -> list[str]:
    return list(_index())


def graph_of(name: str) -> flowc.Graph:
    graph = flowc.Graph()
    with graph.as_default():
        content = _file()[f"{name}/graph"].tobytes()
        flowc.import_graph_def(GraphDef.FromString(content), name="")
    return graph


def steps_of(name: str) -> list[Step]:
    found = []
    for number, row in enumerate(_index()[name]):
        at = f"{name}/{number}"
        feeds = {n: _file()[f"{at}/feed{k}"] for k, n in enumerate(row["feeds"])}
        count = 0 if "error" in row else len(row["fetches"])
        outputs = tuple(_file()[f"{at}/out{k}"] for k in range(count))
        fetches, targets = tuple(row["fetches"]), tuple(row["targets"])
        found.append(Step(fetches, targets, feeds, outputs, row.get("error")))
    return found
