"""`load_graph`: a model as it lies on disk -> Graph with its weights.

In: where the model is. Out: a Graph. A model that a Session has run before, from files that have
not changed since, is read only when someone looks at the graph (see graph/lazy_graph.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from flowc.errors import InvalidModelError
from flowc.files.cache_folder import cache_folder
from flowc.files.json_store import Notes
from flowc.graph.graph import Graph
from flowc.graph.lazy_graph import UntouchedGraph
from flowc.importer.model import ModelRequest
from flowc.ir.capability import known_names

NOTES = "models"  # the folder of notes on models that were run


def load_graph(
    path: str | os.PathLike[str],
    checkpoint: str | os.PathLike[str] | None = None,
    tags: str | Iterable[str] | None = None,
    signature: str | None = None,
    *,
    allow: str | Iterable[str] = (),
    allow_links: bool = False,
) -> Graph:
    """Reads a model. Its kind is told by content, not by the name of the file.

    `checkpoint`: prefix, file or folder of the checkpoint that holds the variables; without it, the
    one beside the model. `tags`: those of the SavedModel's graph to take (a comma-separated text or
    several), needed only where it has several. `allow`: the capabilities that the graph's nodes may
    use (`Graph.allow`). `allow_links`: follow links that lead out of the model's folder. Raises
    `NotFoundError` for a missing file, `InvalidModelError` (`DataLossError`) for a damaged one,
    `UnknownNameError` for tags or a signature that the model does not have.
    """
    model = ModelRequest(
        os.fspath(path),
        None if checkpoint is None else os.fspath(checkpoint),
        None if tags is None else _names(tags),
        signature,
        allow_links,
    )
    allowed = known_names(_names(allow))
    folder = cache_folder()
    state = model.state() if folder is not None else None
    if folder is None or state is None:
        return _read(model, allowed)
    lasting = model.in_full()
    if Notes(folder / NOTES).read(state):
        read = lambda: _read_unchanged(lasting, state, allowed)
        return UntouchedGraph(state, lasting.state, read, allowed)
    graph = _read(model, allowed)
    return UntouchedGraph(state, lasting.state, lambda: graph, allowed)


def _names(given: str | Iterable[str]) -> frozenset[str]:
    return frozenset(filter(None, given.split(",")) if isinstance(given, str) else given)


def _read(model: ModelRequest, allowed: frozenset[str]) -> Graph:
    from flowc.importer.read_model import read_model

    graph = read_model(model)
    graph.allow(*allowed)
    return graph


def _read_unchanged(model: ModelRequest, state: str, allowed: frozenset[str]) -> Graph:
    """The graph of a model that is to be as it was when it was loaded."""
    graph = _read(model, allowed)
    if model.state() != state:
        raise InvalidModelError(
            f"{model.path}: the model was changed after it was loaded", hint="load it again"
        )
    return graph
