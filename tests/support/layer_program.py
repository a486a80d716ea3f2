"""The nodes of a graph as lines of text, to compare flowc's graph with TensorFlow's."""

from __future__ import annotations

from typing import Any

from api_program import nodes_of


def lines_of(graph_def: Any) -> list[str]:
    """`name = Op(inputs) attrs` for each node."""
    found = []
    for name, op, inputs, device, attrs in nodes_of(graph_def):
        kept = " ".join(f"{k}={v}" for k, v in attrs.items())
        found.append(f"{name} = {op}({', '.join(inputs)}) {device} {kept}".rstrip())
    return found
