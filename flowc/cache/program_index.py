"""Which program answered a request to a model, so that the next process need not read the model.

In: a Request, which holds all that a program depends on: the state of the model's files, feeds,
fetches, options, what is allowed. Out: the key of the program in the cache. Invariant: only what
was asked of a graph that nobody had looked at is remembered, and only from files that have not
changed since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from flowc.cache.disk import DiskCache
from flowc.codegen.targets import target_named
from flowc.files.cache_folder import cache_folder, digest
from flowc.files.json_store import Notes
from flowc.graph.lazy_graph import UntouchedGraph
from flowc.graph.tensor import Tensor
from flowc.importer.load import NOTES
from flowc.ir.op import stamp_of_others
from flowc.options import Options
from flowc.run.executable import Executable, open_program


class Request:
    """Tensors to compute, by name, from arrays by name, for a loaded model as it is."""

    def __init__(
        self,
        graph: UntouchedGraph,
        fetches: Sequence[str],
        feeds: Mapping[str, np.ndarray],
        options: Options,
    ) -> None:
        self._state, self._state_now = graph.state, graph.state_now
        self._names = [*fetches, *feeds]
        given = [(name, a.dtype.name, a.dtype.str, a.shape) for name, a in feeds.items()]
        asked = tuple(fetches), given, options.key, target_named(options.target).key
        self._others = stamp_of_others()
        # A program that needed a permission answers only who gives it again.
        self._key = digest(repr((asked, sorted(graph.allowed), self._others)).encode())

    def executable(self, threads: int | None) -> Executable | None:
        """The program that answered the same request before, if the cache still has it."""
        folder = cache_folder()
        if folder is None:
            return None
        key = Notes(folder / NOTES).read(self._state).get(self._key, "")
        program = DiskCache(folder).load(key) if key else None
        return None if program is None else open_program(program, threads, key)

    def remember(self, tensors: Iterable[Tensor], executable: Executable) -> None:
        """Notes which program answered. It does not if the model has changed meanwhile, if the
        names that were given are not those of the tensors, or if ops became known meanwhile that
        are not flowc's own: the next process could not tell that their code has changed."""
        folder = cache_folder()
        exact = [t.name for t in tensors] == self._names
        same = self._others == stamp_of_others() and self._state_now() == self._state
        if folder is not None and executable.key and exact and same:
            Notes(folder / NOTES).add(self._state, {self._key: executable.key})


def request_of(graph: UntouchedGraph, fetches: Any, feeds: Any, options: Options) -> Request | None:
    """The request, if it can be remembered: all by name, arrays fed, each fetch once."""
    names = (fetches,) if isinstance(fetches, str) else fetches
    if type(names) not in (list, tuple) or not isinstance(feeds, Mapping):
        return None
    if not all(isinstance(n, str) and ":" in n for n in (*names, *feeds)):
        return None
    if len(set(names)) < len(names) or not all(type(a) is np.ndarray for a in feeds.values()):
        return None
    return Request(graph, names, feeds, options)
