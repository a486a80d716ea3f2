"""The recorded models with control flow (tests/oracle/record_control_flow_models.py).

In: the name of a model. Out: its graph and the fetches that were recorded.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import flowc
from flowc.graph import Graph

FOLDER = Path(__file__).parents[1] / "data" / "control_flow"

with np.load(FOLDER / "models.npz") as file:
    ARRAYS = dict(file)
INDEX: dict[str, Any] = json.loads(ARRAYS.pop("index").tobytes())


def open_model(name: str) -> tuple[Graph, dict[str, str] | None]:
    entry = INDEX[name]
    return flowc.load_graph(FOLDER / "models" / entry["file"]), entry.get("fetches")
