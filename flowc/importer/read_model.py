"""A model as it lies on disk -> Graph with its weights.

In: a GraphDef or MetaGraphDef file, or a SavedModel folder, in every form; perhaps a checkpoint.
Out: a Graph; `graph.source` says what was read. Nothing but the model and its checkpoint is opened,
and unless links are allowed no link is followed out of the folder that holds them.
"""

from __future__ import annotations

import os
from pathlib import Path

from flowc.checkpoint.locate import (
    checkpoint_beside,
    find_checkpoint,
    folder_of,
    variables_index,
    variables_of,
)
from flowc.checkpoint.reader import CheckpointReader
from flowc.dataclass import dataclass
from flowc.encoding.wire import FileBytes, open_region, parts
from flowc.errors import NotFoundError, UnknownNameError, UsageError, did_you_mean
from flowc.graph.graph import Graph
from flowc.importer.formats import Encoding, Kind, detect, parse_text
from flowc.importer.main_operation import does_nothing, main_operation_of
from flowc.importer.metagraph import (
    INTERNAL_SIGNATURES,
    graph_of_message,
    meta_graph_of_message,
    read_graph_def,
    read_meta_graph,
)
from flowc.importer.model import ModelRequest, saved_model_file
from flowc.importer.nodes import parse
from flowc.importer.variables import object_operations, read_variables, variable_operations
from flowc.proto.meta_graph_pb2 import MetaGraphDef

META_GRAPHS_FIELD = 2
META_INFO_FIELD = 1
DEFAULT_TAG = "serve"
DEFAULT_SIGNATURE = "serving_default"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a Graph came from. `meta_graph`: its MetaGraphDef without the graph, or None.
    `signature`: the one that was asked for, or the model's only or default one, or None.
    `missing_index`: the file where its checkpoint would be, if the graph has variables and no
    checkpoint was found."""

    path: str
    kind: Kind
    encoding: Encoding
    checkpoint: str | None
    tags: tuple[str, ...]
    signature: str | None
    meta_graph: MetaGraphDef | None
    missing_index: str | None = None


def read_model(model: ModelRequest) -> Graph:
    """Reads a model. Its kind is told by content, not by the name of the file.

    Raises `NotFoundError` for a missing file, `InvalidModelError` (`DataLossError`) for a damaged
    one, `UnknownNameError` for tags or a signature that the model does not have.
    """
    path, checkpoint, tags = Path(model.path), model.checkpoint, model.tags
    within = path if os.path.isdir(path) and not model.allow_links else None
    file = saved_model_file(path) if os.path.isdir(path) else path
    meta_file = Path(f"{path}.meta")
    if not os.path.exists(file) and os.path.isfile(meta_file):
        raise NotFoundError(f"{path}: no such file", hint=f"name the file: {meta_file}")
    region = open_region(file, within)
    kind, encoding = detect(region)
    if tags is not None and kind is not Kind.SAVED_MODEL:
        raise UsageError(f"{path}: tags select a graph of a SavedModel, and this is a {kind}")
    graph, meta = _read(region, kind, encoding, tags)
    links = model.allow_links
    prefix, folder, missing = None, file.parent, None
    if checkpoint is not None:
        prefix = find_checkpoint(checkpoint, allow_links=links)
        folder = folder_of(checkpoint)
    elif variable_operations(graph) or object_operations(graph):
        if kind is Kind.SAVED_MODEL:
            prefix, expected = variables_of(file), variables_index(file)
        else:
            prefix = checkpoint_beside(file, allow_links=links)
            expected = file.with_suffix(".index")
        missing = str(expected) if prefix is None else None
    if meta is not None and kind is Kind.SAVED_MODEL:
        main = main_operation_of(meta, file.parent, allow_links=links)
        graph.main_operation = None if main is None or does_nothing(main, graph) else main
    if prefix is not None:
        restore_op = meta.saver_def.restore_op_name if meta is not None else ""
        reader = CheckpointReader(prefix, folder=folder, allow_links=links)
        graph.variable_values = read_variables(graph, reader, restore_op)
    graph.source = Provenance(
        str(path),
        kind,
        encoding,
        prefix,
        () if meta is None else tuple(meta.meta_info_def.tags),
        _choose_signature(graph, model.signature, str(path)),
        meta,
        missing,
    )
    return graph


def variables_without_value(graph: Graph) -> list[str]:
    """The names of the variables that the graph's checkpoint has no value for."""
    return [op.name for op in variable_operations(graph) if op.name not in graph.variable_values]


def _read(
    region: FileBytes, kind: Kind, encoding: Encoding, tags: frozenset[str] | None
) -> tuple[Graph, MetaGraphDef | None]:
    if encoding is Encoding.BINARY:
        if kind is Kind.GRAPH:
            return read_graph_def(region), None
        if kind is Kind.META_GRAPH:
            return read_meta_graph(region)
        graphs = parts(region, META_GRAPHS_FIELD)
        found = [_tags_of(part) for part in graphs]
        return read_meta_graph(graphs[choose_meta_graph(found, tags, region.name)])
    message = parse_text(region, kind, encoding)
    if kind is Kind.GRAPH:
        return graph_of_message(message, region.name), None
    if kind is Kind.SAVED_MODEL:
        found = [frozenset(m.meta_info_def.tags) for m in message.meta_graphs]
        message = message.meta_graphs[choose_meta_graph(found, tags, region.name)]
    return meta_graph_of_message(message, region.name)


def _tags_of(region: FileBytes) -> frozenset[str]:
    infos = parts(region, META_INFO_FIELD)
    info_type = MetaGraphDef.MetaInfoDef
    return frozenset(tag for info in infos for tag in parse(info_type, info.view, info).tags)


def choose_meta_graph(found: list[frozenset[str]], tags: frozenset[str] | None, name: str) -> int:
    """The index of the graph with these tags; without tags, the only one or the one to serve."""
    texts = [",".join(sorted(t)) or "(none)" for t in found]
    if tags is not None:
        if tags in found:
            return found.index(tags)
        raise UnknownNameError(
            f"{name}: no graph has the tags {','.join(sorted(tags))!r}; it has: {'; '.join(texts)}"
        )
    if len(found) == 1:
        return 0
    if frozenset({DEFAULT_TAG}) in found:
        return found.index(frozenset({DEFAULT_TAG}))
    what = "several graphs" if found else "no graph"
    raise UnknownNameError(
        f"{name}: the SavedModel has {what}: {'; '.join(texts)}", hint="choose one by its tags"
    )


def _choose_signature(graph: Graph, wanted: str | None, name: str) -> str | None:
    usable = [s for s in graph.signatures if s not in INTERNAL_SIGNATURES]
    if wanted is not None:
        if wanted not in graph.signatures:
            listed = ", ".join(sorted(usable)) or "none"
            raise UnknownNameError(
                f"{name}: no signature {wanted!r}; the model has: {listed}",
                hint=did_you_mean(wanted, usable),
            )
        return wanted
    if DEFAULT_SIGNATURE in usable:
        return DEFAULT_SIGNATURE
    return usable[0] if len(usable) == 1 else None
