"""Which program answered a request to a model, so that the next process need not read the model.

In: a Request, which holds all that a program depends on: the state of the model's files, feeds,
fetches, options. Out: the key of the program in the cache. Invariant: only what was asked of a
graph that nobody had looked at is remembered, and only from files that have not changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flowc.cache.disk import DiskCache
from flowc.codegen.targets import target_named
from flowc.files.cache_folder import cache_folder, digest
from flowc.files.json_store import Notes
from flowc.graph.lazy_graph import UntouchedGraph
from flowc.graph.tensor import Tensor
from flowc.importer.load import NOTES
from flowc.options import Options
from flowc.run.executable import Executable, open_program


@dataclass(frozen=True, slots=True)
class Request:
    """Names of tensors to compute, from arrays by name, for a loaded model in this state."""

    state: str
    state_now: Callable[[], str | None]
    fetches: tuple[str, ...]
    feeds: tuple[tuple[str, np.dtype[Any], tuple[int, ...]], ...]
    options: Options

    @property
    def _key(self) -> str:
        feeds = [(name, dtype.name, dtype.str, shape) for name, dtype, shape in self.feeds]
        target = target_named(self.options.target).key
        return digest(repr((self.fetches, feeds, self.options.key, target)).encode())

    def executable(self, threads: int | None) -> Executable | None:
        """The program that answered the same request before, if the cache still has it."""
        folder = cache_folder()
        if folder is None:
            return None
        key = Notes(folder / NOTES).read(self.state).get(self._key)
        program = DiskCache(folder).load(key) if key is not None else None
        return None if key is None or program is None else open_program(program, threads, key)

    def remember(
        self, fetches: Sequence[Tensor], feeds: Sequence[Tensor], executable: Executable
    ) -> None:
        """Notes which program answered. It does not if the model has changed meanwhile, or if the
        names that were given are not those of the tensors."""
        folder = cache_folder()
        exact = [t.name for t in fetches] == list(self.fetches)
        exact = exact and [t.name for t in feeds] == [name for name, _, _ in self.feeds]
        if folder is None or not executable.key or not exact or self.state_now() != self.state:
            return
        notes = Notes(folder / NOTES)
        notes.write(self.state, {**notes.read(self.state), self._key: executable.key})


def request_of(graph: UntouchedGraph, fetches: Any, feeds: Any, options: Options) -> Request | None:
    """The request, if it can be remembered: all by name, arrays fed, each fetch once."""
    names = (fetches,) if isinstance(fetches, str) else fetches
    if type(names) not in (list, tuple) or not isinstance(feeds, Mapping):
        return None
    if not all(isinstance(n, str) and ":" in n for n in (*names, *feeds)):
        return None
    if len(set(names)) < len(names) or not all(type(a) is np.ndarray for a in feeds.values()):
        return None
    given = tuple((name, a.dtype, a.shape) for name, a in feeds.items())
    return Request(graph.state, graph.state_now, tuple(names), given, options)
