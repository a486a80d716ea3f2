"""Which program answered a request to a model, so that the next process need not read the model.

In: a Request, which holds all that a program depends on: the state of the model's files, feeds,
fetches, options, what is allowed. Out: the key of the program in the cache. Invariant: only what
was asked of a graph that is what its files say is remembered, and only from files that have not
changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from flowc.cache.disk import DiskCache
from flowc.codegen.targets import target_here
from flowc.files.cache_folder import cache_folder, digest
from flowc.files.json_store import Notes
from flowc.graph.graph import Graph
from flowc.graph.lazy_graph import files_of
from flowc.graph.tensor import Tensor
from flowc.importer.load import NOTES
from flowc.ir.op import stamp_of_others
from flowc.options import Options
from flowc.run.executable import Executable, open_program

MOST = 256  # requests to one model that are remembered


class Request:
    """Tensors to compute, by name, from arrays by name, for a loaded model as it is. `files`: as
    `files_of` gives them."""

    def __init__(
        self,
        files: tuple[str, Callable[[], str | None]],
        allowed: Iterable[str],
        fetches: Sequence[str],
        feeds: Mapping[str, np.ndarray],
        options: Options,
    ) -> None:
        self._state, self._state_now = files
        self._names = [*fetches, *feeds]
        given = [(name, a.dtype.name, a.dtype.str, a.shape) for name, a in feeds.items()]
        asked = tuple(fetches), given, options.key, target_here(options.target).key
        self._others = stamp_of_others()
        # A program that needed a permission answers only who gives it again.
        self._key = digest(repr((asked, sorted(allowed), self._others)).encode())

    def executable(self, threads: int | None, opened: dict[str, Executable]) -> Executable | None:
        """The program that answered the same request before, if the cache still has it. `opened`:
        those that are open by their keys, for one program may answer many requests."""
        folder = cache_folder()
        if folder is None:
            return None
        key = Notes(folder / NOTES).read(self._state).get(self._key, "")
        if key and key not in opened:
            program = DiskCache(folder).load(key)
            if program is not None:
                opened[key] = open_program(program, threads, key)
        return opened.get(key)

    def remember(self, tensors: Iterable[Tensor], executable: Executable) -> None:
        """Notes which program answered. It does not if the model has changed meanwhile, if the
        names that were given are not those of the tensors, or if ops became known meanwhile that
        are not flowc's own: the next process could not tell that their code has changed."""
        folder = cache_folder()
        exact = [t.name for t in tensors] == self._names
        same = self._others == stamp_of_others() and self._state_now() == self._state
        if folder is not None and executable.key and exact and same:
            notes = Notes(folder / NOTES)
            if len(notes.read(self._state)) < MOST:
                notes.add(self._state, {self._key: executable.key})


def request_of(graph: Graph, fetches: Any, feeds: Any, options: Options) -> Request | None:
    """The request, if it can be remembered: all by name, arrays fed, each fetch once."""
    names = (fetches,) if isinstance(fetches, str) else fetches
    if type(names) not in (list, tuple) or not isinstance(feeds, Mapping):
        return None
    if not all(isinstance(n, str) and ":" in n for n in (*names, *feeds)):
        return None
    if len(set(names)) < len(names) or not all(type(a) is np.ndarray for a in feeds.values()):
        return None
    files = files_of(graph)
    return None if files is None else Request(files, graph.allowed, names, feeds, options)
