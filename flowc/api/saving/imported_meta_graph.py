"""MetaGraphs read: operations, variables and a Saver for the default graph.

In: a MetaGraphDef that flowc or TensorFlow wrote, in binary, text or JSON form. Out: what it says,
in the graph. Invariant: a variable that stands in several collections is one object.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from flowc.api.inputs.queue_runner import runner_of
from flowc.api.saving.saver import Saver
from flowc.api.variables.graph_keys import GraphKeys
from flowc.api.variables.saved_collections import VARIABLE_COLLECTIONS, SavedCollections
from flowc.errors import DataLossError, InvalidModelError
from flowc.graph import Graph, get_default_graph

log = logging.getLogger("flowc.api.saving")

_OTHER_ARGUMENTS = {"graph", "unbound_inputs_col_name"}


def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    *,
    input_map: Mapping[str, Any] | None = None,
    restore_collections_predicate: Callable[[str], bool] | None = None,
    **kwargs: Any,
) -> Saver | None:
    """Adds the nodes of a MetaGraphDef (a message, or a file in any form) to the default graph, and
    what its collections hold: variables, nodes, numbers, messages.

    `import_scope`: a prefix for all names. `input_map`: inputs by name -> tensors in their place.
    `restore_collections_predicate`: says of a collection's key whether it is wanted.
    Returns the Saver that the message speaks of, else one of all variables; None where the graph
    has none. Raises `OSError` where there is no file or one that is no MetaGraph, `DataLossError`
    for damage, and `ValueError` for inputs from outside of an exported scope that `input_map`
    leaves out, and `TypeError` for other arguments.
    """
    for name in kwargs.keys() - _OTHER_ARGUMENTS:
        raise TypeError(f"import_meta_graph() got an unexpected keyword argument {name!r}")
    from flowc.importer.import_meta_graph import import_meta_graph_def, read_meta_graph_def

    if isinstance(meta_graph_or_file, str | os.PathLike):
        path = Path(meta_graph_or_file)
        if not os.path.isfile(path):
            raise OSError(f"File does not exist. Received: {path}.")
    graph = get_default_graph()
    try:
        given = read_meta_graph_def(meta_graph_or_file)
    except InvalidModelError as error:
        if isinstance(error, DataLossError) or not isinstance(
            meta_graph_or_file, str | os.PathLike
        ):
            raise
        raise OSError(f"Cannot parse file {meta_graph_or_file}: {error}") from error
    meta, prefix = import_meta_graph_def(given, graph, import_scope, clear_devices, input_map)
    add_collections(meta, graph, prefix, restore_collections_predicate)
    if meta.HasField("saver_def"):
        return Saver(saver_def=meta.saver_def, name=prefix.removesuffix("/") or None)
    if graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
        return Saver()
    log.info("Saver not created because there are no variables in the graph to restore")
    return None


def add_collections(
    meta: Any, graph: Graph, prefix: str, is_wanted: Callable[[str], bool] | None = None
) -> None:
    """Adds what the collections of an imported message hold to those of the graph (default: what
    all of them hold)."""
    from flowc.importer.import_meta_graph import collection_items

    saved = SavedCollections(graph, prefix)
    for key, item in collection_items(meta, graph, prefix):
        if is_wanted is not None and not is_wanted(key):
            continue
        if key in FROM_MESSAGE and isinstance(item, bytes):
            item = FROM_MESSAGE[key](saved, item)
        if item is not None:
            graph.add_to_collection(key, item)


def _saver(saved: SavedCollections, message: bytes) -> Saver:
    from flowc.graph.encode import saver_def

    return Saver.from_proto(saver_def().FromString(message), saved.scope)


def _context(key: str) -> Callable[[SavedCollections, bytes], Any]:
    def read(saved: SavedCollections, message: bytes) -> Any:
        from flowc.graph.building.context_defs import read_context

        return read_context(saved.graph, key, message, saved.scope)

    return read


# Collection -> what its items are made of again, from their messages; None for one that means
# nothing in the graph. Items are written by their `to_proto(export_scope)`.
FROM_MESSAGE: Mapping[str, Callable[[SavedCollections, bytes], Any]] = {
    **dict.fromkeys(VARIABLE_COLLECTIONS, SavedCollections.variable),
    GraphKeys.COND_CONTEXT: _context(GraphKeys.COND_CONTEXT),
    GraphKeys.QUEUE_RUNNERS: lambda saved, message: runner_of(message, saved.graph, saved.scope),
    GraphKeys.SAVERS: _saver,
    GraphKeys.WHILE_CONTEXT: _context(GraphKeys.WHILE_CONTEXT),
}
