"""MetaGraphs read: operations, variables and a Saver for the default graph.

In: a MetaGraphDef that flowc or TensorFlow wrote, in binary, text or JSON form. Out: what it says,
in the graph. Invariant: a variable that stands in several collections is one object.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flowc.api.inputs.queue_runner import runner_of
from flowc.api.saving.saver import Saver
from flowc.api.variables.graph_keys import GraphKeys
from flowc.api.variables.saved_collections import VARIABLE_COLLECTIONS, SavedCollections
from flowc.graph import Graph, get_default_graph

log = logging.getLogger("flowc.api.saving")


def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    *,
    input_map: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> Saver | None:
    """Adds the nodes of a MetaGraphDef (a message, or a file in any form) to the default graph, and
    what its collections hold: variables, nodes, numbers, messages.

    `import_scope`: a prefix for all names. `input_map`: inputs by name -> tensors in their place.
    Returns the Saver that the message speaks of, else one of all variables; None where the graph
    has none. Raises `OSError` where there is no file, `InvalidModelError` for what is no MetaGraph,
    and `ValueError` for inputs from outside of an exported scope that `input_map` leaves out.
    """
    from flowc.importer.import_meta_graph import import_meta_graph_def

    if isinstance(meta_graph_or_file, str | os.PathLike):
        path = Path(meta_graph_or_file)
        if not path.is_file():
            raise OSError(f"File does not exist. Received: {path}.")
    graph = get_default_graph()
    meta, prefix = import_meta_graph_def(
        meta_graph_or_file, graph, import_scope, clear_devices, input_map
    )
    add_collections(meta, graph, prefix)
    if meta.HasField("saver_def"):
        return Saver(saver_def=meta.saver_def, name=prefix.removesuffix("/") or None)
    if graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
        return Saver()
    log.info("Saver not created because there are no variables in the graph to restore")
    return None


def add_collections(meta: Any, graph: Graph, prefix: str) -> None:
    """Adds what the collections of an imported message hold to those of the graph."""
    from flowc.importer.import_meta_graph import collection_items

    saved = SavedCollections(graph, prefix)
    for key, item in collection_items(meta, graph, prefix):
        if key in VARIABLE_COLLECTIONS and isinstance(item, bytes):
            item = saved.variable(item)
        elif key == GraphKeys.SAVERS and isinstance(item, bytes):
            item = Saver.from_proto(_saver_def(item), prefix.removesuffix("/") or None)
        elif key == GraphKeys.QUEUE_RUNNERS and isinstance(item, bytes):
            item = runner_of(item, graph, prefix.removesuffix("/") or None)
        graph.add_to_collection(key, item)


def _saver_def(data: bytes) -> Any:
    from flowc.graph.encode import saver_def

    return saver_def().FromString(data)
