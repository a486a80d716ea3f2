"""The functions that nodes call.

In: a Graph and nodes of it or of its functions. Out: names of functions, and what these hold.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowc.graph.attrs import FunctionRef
from flowc.graph.function import BodyNode
from flowc.graph.graph import Graph
from flowc.graph.op_info import record_of
from flowc.graph.operation import Operation


def body_of(graph: Graph, function: str) -> Sequence[BodyNode]:
    """The nodes of a function; none where the graph lacks it."""
    found = graph.functions.get(function)
    return () if found is None else found.body.nodes


def called_functions(graph: Graph, node: Operation | BodyNode) -> list[str]:
    """The names of the functions that a node calls, by its type or by attrs."""
    record = record_of(node.type)
    if record is None:
        return [node.type] if node.type in graph.functions else []
    found: list[str] = []
    for attr, definition in record.signature.attrs.items():
        if definition.kind not in ("func", "list(func)") or attr not in node.attrs:
            continue
        value = node.attrs[attr]
        references = value if isinstance(value, (list, tuple)) else (value,)
        found += [r.name for r in references if isinstance(r, FunctionRef)]
    return found
