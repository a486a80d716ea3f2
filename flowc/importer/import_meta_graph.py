"""A MetaGraphDef into a Graph that may hold operations already.

In: a file of any form, or a message. Out: the operations in the graph; the message without them.
Invariant: names of the message mean the nodes under the prefix that it was imported with.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flowc.encoding.wire import FileBytes, open_region
from flowc.errors import UsageError
from flowc.graph.export import node_named
from flowc.graph.graph import Graph
from flowc.graph.meta_export import UNBOUND_COLLECTION
from flowc.importer.formats import Encoding, Kind, detect, parse_text
from flowc.importer.importing import import_graph_def
from flowc.importer.model import saved_model_file
from flowc.importer.nodes import parse
from flowc.proto.meta_graph_pb2 import CollectionDef, MetaGraphDef, SavedModel


def import_meta_graph_def(
    source: Any,
    graph: Graph,
    scope: str | None = None,
    clear_devices: bool = False,
    input_map: Mapping[str, Any] | None = None,
) -> tuple[MetaGraphDef, str]:
    """Adds the nodes to `graph`; returns the message without them, and the prefix that they got.
    Raises `NotFoundError`, `InvalidModelError` (`DataLossError` for damage)."""
    meta = read_meta_graph_def(source)
    open_inputs = _texts(meta.collection_def.pop(UNBOUND_COLLECTION, CollectionDef()))
    if not set(open_inputs) <= set(input_map or ()):
        raise ValueError(
            f"Graph contains unbound inputs: {', '.join(open_inputs)}. Must provide these inputs "
            "through input_map."
        )
    if clear_devices:
        functions = meta.graph_def.library.function
        for node in (*meta.graph_def.node, *(n for f in functions for n in f.node_def)):
            node.device = ""
    prefix = ""
    if scope:
        with graph.name_scope(scope) as prefix:
            pass
    elif graph.get_name_scope():
        prefix = graph.get_name_scope() + "/"
    import_graph_def(meta.graph_def, input_map, name=prefix, graph=graph)
    meta.ClearField("graph_def")
    return meta, prefix


def _texts(collection: CollectionDef) -> list[str]:
    return [value.decode() for value in collection.bytes_list.value]


def read_meta_graph_def(source: Any) -> MetaGraphDef:
    """The message of a file, of bytes, or of another message."""
    if hasattr(source, "SerializeToString"):
        return MetaGraphDef.FromString(source.SerializeToString())
    if isinstance(source, str | os.PathLike):
        region = open_region(source)
    else:
        region = FileBytes(memoryview(source), "meta_graph")
    kind, encoding = detect(region)
    if kind is not Kind.META_GRAPH:
        raise UsageError(
            f"{region.name}: a {kind}, and import_meta_graph takes a MetaGraphDef",
            hint="flowc.load_graph reads every kind of model",
        )
    if encoding is Encoding.BINARY:
        return parse(MetaGraphDef, bytes(region.view), region)
    return parse_text(region, kind, encoding)


def saved_meta_graphs(folder: Path) -> list[MetaGraphDef]:
    """The graphs of a SavedModel's folder. Raises `InvalidModelError`."""
    region = open_region(saved_model_file(folder))
    kind, encoding = detect(region)
    if kind is not Kind.SAVED_MODEL:
        raise UsageError(f"{region.name}: a {kind}, and no SavedModel")
    if encoding is Encoding.BINARY:
        return list(parse(SavedModel, bytes(region.view), region).meta_graphs)
    return list(parse_text(region, kind, encoding).meta_graphs)


def collection_items(meta: MetaGraphDef, graph: Graph, prefix: str) -> Iterator[tuple[str, Any]]:
    """(collection, item) of each item: operations and tensors as such where the graph has them,
    numbers, and messages as their bytes."""
    for name, collection in sorted(meta.collection_def.items()):
        kind = collection.WhichOneof("kind")
        for value in () if kind is None else getattr(collection, kind).value:
            if kind == "node_list":
                value = node_named(graph, prefix + value)
            yield name, value
