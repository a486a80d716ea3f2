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

NOTES = "models"  # the folder of notes on models that were run


def load_graph(
    path: str | os.PathLike[str],
    checkpoint: str | os.PathLike[str] | None = None,
    tags: str | Iterable[str] | None = None,
    signature: str | None = None,
    *,
    allow_links: bool = False,
) -> Graph:
    """Reads a model. Its kind is told by content, not by the name of the file.

    `checkpoint`: prefix, file or folder of the checkpoint that holds the variables; without it, the
    one beside the model. `tags`: those of the SavedModel's graph to take (a comma-separated text or
    several), needed only where it has several. `allow_links`: follow links that lead out of the
    model's folder. Raises `NotFoundError` for a missing file, `InvalidModelError` (`DataLossError`)
    for a damaged one, `UnknownNameError` for tags or a signature that the model does not have.
    """
    model = ModelRequest(
        os.fspath(path),
        None if checkpoint is None else os.fspath(checkpoint),
        _tags(tags),
        signature,
        allow_links,
    )
    folder = cache_folder()
    state = model.state() if folder is not None else None
    if folder is None or state is None:
        return _read(model)
    lasting = model.in_full()
    if Notes(folder / NOTES).read(state):
        return UntouchedGraph(state, lasting.state, lambda: _read_unchanged(lasting, state))
    graph = _read(model)
    return UntouchedGraph(state, lasting.state, lambda: graph)


def _tags(tags: str | Iterable[str] | None) -> frozenset[str] | None:
    if tags is None:
        return None
    return frozenset(filter(None, tags.split(",")) if isinstance(tags, str) else tags)


def _read(model: ModelRequest) -> Graph:
    from flowc.importer.read_model import read_model

    return read_model(model)


def _read_unchanged(model: ModelRequest, state: str) -> Graph:
    """The graph of a model that is to be as it was when it was loaded."""
    graph = _read(model)
    if model.state() != state:
        raise InvalidModelError(
            f"{model.path}: the model was changed after it was loaded", hint="load it again"
        )
    return graph
