"""Bytes -> Graph: GraphDef, MetaGraphDef and SavedModel in every form, with their checkpoints."""

from __future__ import annotations

from flowc.importer.checkpoint import CheckpointReader, find_checkpoint, latest_checkpoint
from flowc.importer.formats import Encoding, Kind, detect_format
from flowc.importer.importing import import_graph_def
from flowc.importer.load import Source, load_graph, variables_without_value

__all__ = [
    "CheckpointReader",
    "Encoding",
    "Kind",
    "Source",
    "detect_format",
    "find_checkpoint",
    "import_graph_def",
    "latest_checkpoint",
    "load_graph",
    "variables_without_value",
]
