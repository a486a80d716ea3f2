"""Bytes -> Graph: GraphDef, MetaGraphDef and SavedModel in every form, with their checkpoints.

Names are imported when they are first used: a model that is known need not be read.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from flowc.importer.load import load_graph

if TYPE_CHECKING:
    from flowc.importer.checkpoint.locate import find_checkpoint, latest_checkpoint
    from flowc.importer.checkpoint.reader import CheckpointReader
    from flowc.importer.formats import Encoding, Kind, detect_format
    from flowc.importer.importing import import_graph_def
    from flowc.importer.read_model import Provenance, variables_without_value

__all__ = [
    "CheckpointReader",
    "Encoding",
    "Kind",
    "Provenance",
    "detect_format",
    "find_checkpoint",
    "import_graph_def",
    "latest_checkpoint",
    "load_graph",
    "variables_without_value",
]

_MODULES = {
    "CheckpointReader": "checkpoint.reader",
    "Encoding": "formats",
    "Kind": "formats",
    "Provenance": "read_model",
    "detect_format": "formats",
    "find_checkpoint": "checkpoint.locate",
    "import_graph_def": "importing",
    "latest_checkpoint": "checkpoint.locate",
    "variables_without_value": "read_model",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found
