"""Nodes that calls make, against TensorFlow's (`tests/oracle/record_node_programs.py`)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from node_programs import NODE_PROGRAMS, nodes_of

import flowc

RECORDED: dict[str, list[str]] = json.loads(
    (Path(__file__).parents[1] / "recorded" / "node_programs.json").read_text()
)


@pytest.mark.parametrize("name", NODE_PROGRAMS)
def test_the_nodes_of_a_call_are_those_of_tensorflow(name: str) -> None:
    assert nodes_of(flowc, name) == RECORDED[name]
