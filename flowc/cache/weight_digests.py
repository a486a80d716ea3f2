"""Digests of constants, and a memory of those whose bytes come from files.

In: arrays. Out: a text for each, equal only for equal dtype, shape and bytes. Hashing a model's
weights is most of what starting a cached program costs; where an array is a piece of a file, its
digest is noted with the file's identity, and a file that has not changed since is not hashed again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.files.identity import identity
from flowc.files.json_store import Notes
from flowc.files.plain_file import FileMemory
from flowc.files.process import usable_cores
from flowc.ir.types import is_repeated

if TYPE_CHECKING:
    from concurrent.futures import Future

    from flowc.codegen.worker_threads import WorkerThreads

Array = np.ndarray[Any, Any]


def array_digest(array: Array) -> str:
    """The digest of an array's dtype, shape and bytes."""
    if array.dtype.hasobject:
        content = hashlib.blake2b(repr(array.tolist()).encode(), digest_size=32).hexdigest()
    elif is_repeated(array):
        # Of what is repeated the elements that there are tell all: it need not be held in full.
        once = array[tuple([slice(None if step else 1) for step in array.strides])]
        content = f"{array.strides} of {array_digest(np.ascontiguousarray(once))}"
    else:
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        content = hashlib.blake2b(flat.data, digest_size=32).hexdigest()
    return f"{array.dtype}{array.shape}{content}"


class WeightDigests:
    """Digests of many arrays, the new ones computed by several threads; `folder` remembers those of
    files."""

    def __init__(self, folder: Path | None) -> None:
        self.notes = Notes(folder / "digests") if folder is not None else None
        self.known: dict[str, dict[str, str]] = {}
        self.fresh: dict[str, dict[str, Future[str]]] = {}
        self._threads: WorkerThreads | None = None

    def of(self, arrays: Sequence[Array]) -> list[Callable[[], str]]:
        """A call for each array that waits for its digest."""
        return [self._digest(array) for array in arrays]

    @property
    def finds_new(self) -> bool:
        """Whether bytes of files are hashed that were not known before."""
        return bool(self.fresh)

    def close(self) -> None:
        """Writes what is new."""
        for file, found in self.fresh.items():
            assert self.notes is not None
            self.notes.add(file, {piece: future.result() for piece, future in found.items()})

    def _digest(self, array: Array) -> Callable[[], str]:
        place = _place(array) if self.notes is not None else None
        if place is None or self.notes is None:
            return self._compute(array).result
        file, piece = place
        if file not in self.known:
            self.known[file] = self.notes.read(file)
        found = self.known[file].get(piece)
        if found is not None:
            return lambda: found
        future = self.fresh.setdefault(file, {})[piece] = self._compute(array)
        return future.result

    def _compute(self, array: Array) -> Future[str]:
        if self._threads is None:
            from flowc.codegen.worker_threads import WorkerThreads

            self._threads = WorkerThreads(usable_cores(), "flowc-digest")
        return self._threads.submit(array_digest, array)


def _place(array: Array) -> tuple[str, str] | None:
    """(the identity of the file, the piece of it) that an array's bytes were read from, if they
    were, and the file had settled when it was opened."""
    if not array.flags.c_contiguous:
        return None
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    if not isinstance(base, FileMemory):
        return None
    file = identity(base.status)
    if file is None:
        return None
    offset = base.start + array.ctypes.data - np.frombuffer(base, np.uint8).ctypes.data
    return file, f"{offset} {array.nbytes} {array.dtype}{array.shape}"
