"""GraphDefs read as a model's file is: with whatever its nodes are, which nobody checks yet."""

from __future__ import annotations

import flowc
from flowc.encoding.wire import FileBytes
from flowc.importer.graphdef import add_graph_def
from flowc.importer.nodes import mapped_nodes, split_graph_def


def loaded(content: bytes) -> flowc.Graph:
    """The Graph of an encoded GraphDef. Raises as `flowc.load_graph` does."""
    graph = flowc.Graph()
    region = FileBytes(memoryview(content), "graph_def")
    places, rest = split_graph_def(region)
    add_graph_def(graph, mapped_nodes(region, places), rest)
    return graph
