"""Savers, state files, readers and MetaGraphs against what TensorFlow did in the same programs.

Recorded by `tests/oracle/record_savers.py`; no TensorFlow is needed here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from layer_program import lines_of
from saver_programs import GRAPHS, PROGRAMS

import flowc as tf

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "recorded" / "savers.json").read_text()
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, tmp_path: Path) -> None:
    with tf.Graph().as_default():
        found = PROGRAMS[name](tf, f"{tmp_path}/")
    assert json.loads(json.dumps(found)) == RECORDED[name]


@pytest.mark.parametrize("name", GRAPHS)
def test_graph(name: str) -> None:
    with tf.Graph().as_default() as graph:
        GRAPHS[name](tf)
    assert lines_of(graph.as_graph_def()) == RECORDED[name]
