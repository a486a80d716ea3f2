"""Digests of constants, and a memory of those whose bytes are mapped from files.

In: arrays. Out: a text for each, equal only for equal dtype, shape and bytes. Hashing a model's
weights is most of what starting a cached program costs; where an array is a piece of a mapped file,
its digest is noted with the file's identity, and a file that has not changed since is not hashed
again.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.encoding.wire import MAPPED_FILES
from flowc.files.identity import identity
from flowc.files.json_store import Notes

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Array = np.ndarray[Any, Any]


def array_digest(array: Array) -> str:
    """The digest of an array's dtype, shape and bytes."""
    if array.dtype.hasobject:
        content = hashlib.blake2b(repr(array.tolist()).encode(), digest_size=32).hexdigest()
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
        self._pool: ThreadPoolExecutor | None = None

    def of(self, arrays: Sequence[Array]) -> list[Callable[[], str]]:
        """A call for each array that waits for its digest."""
        return [self._digest(array) for array in arrays]

    def close(self) -> None:
        """Ends the threads and writes what is new."""
        if self._pool is not None:
            self._pool.shutdown()
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
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(os.cpu_count() or 1)
        return self._pool.submit(array_digest, array)


def _place(array: Array) -> tuple[str, str] | None:
    """(the identity of the file, the piece of it) that an array's bytes are mapped from, if they
    are, and the file had settled when it was mapped."""
    if not array.flags.c_contiguous:
        return None
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    if not isinstance(base, mmap.mmap) or base not in MAPPED_FILES:
        return None
    file = identity(MAPPED_FILES[base])
    if file is None:
        return None
    offset = array.ctypes.data - np.frombuffer(base, np.uint8).ctypes.data
    return file, f"{offset} {array.nbytes} {array.dtype}{array.shape}"
