"""Digests of constants, and a memory of those whose bytes are mapped from files.

In: arrays. Out: a text for each, equal only for equal dtype, shape and bytes. Hashing a model's
weights is most of what starting a cached program costs; where an array is a piece of a mapped file,
its digest is kept with the file's identity (device, inode, size, times of change), and a file that
has not changed since is not hashed again. A file changed within the last seconds is not trusted:
its time of change could hide a second change.
"""

from __future__ import annotations

import hashlib
import json
import logging
import mmap
import os
import time
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from flowc.importer.wire import MAPPED_FILES
from flowc.safe_write import replacing

log = logging.getLogger("flowc.cache")

SETTLED_SECONDS = 5
FILE_LIMIT = 64  # files whose digests are remembered in a cache folder
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
    """Digests of many arrays, computed by several threads; `folder` remembers those of files."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder / "digests" if folder is not None else None
        self.known: dict[str, dict[str, str]] = {}
        self.changed: set[str] = set()
        self.pool = ThreadPoolExecutor(os.cpu_count() or 1)

    def of(self, arrays: Sequence[Array]) -> list[Any]:
        """A handle for each array; `result()` of it is the digest."""
        return [self.pool.submit(self._digest, array) for array in arrays]

    def close(self) -> None:
        """Ends the threads and writes what is new."""
        self.pool.shutdown()
        for identity in self.changed:
            self._write(identity)

    def _digest(self, array: Array) -> str:
        place = _place(array)
        if place is None or self.folder is None:
            return array_digest(array)
        identity, piece = place
        memory = self.known.get(identity)
        if memory is None:
            memory = self.known.setdefault(identity, self._read(identity))
        if piece not in memory:
            memory[piece] = array_digest(array)
            self.changed.add(identity)
        return memory[piece]

    def _path(self, identity: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{hashlib.sha256(identity.encode()).hexdigest()[:32]}.json"

    def _read(self, identity: str) -> dict[str, str]:
        try:
            found = json.loads(self._path(identity).read_text())
        except (OSError, ValueError):
            return {}
        good = isinstance(found, dict) and found.get("file") == identity
        return dict(found["digests"]) if good else {}

    def _write(self, identity: str) -> None:
        path = self._path(identity)
        try:
            path.parent.mkdir(exist_ok=True, mode=0o700)
            with replacing(path) as file:
                text = json.dumps({"file": identity, "digests": self.known[identity]})
                file.write(text.encode())
            others = sorted(path.parent.glob("*.json"), key=lambda p: p.stat().st_mtime)
            for old in others[:-FILE_LIMIT]:
                old.unlink(missing_ok=True)
        except OSError as error:
            log.warning("cannot remember digests in %s: %s", path, error)


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
    status = MAPPED_FILES[base]
    changed = max(status.st_mtime, status.st_ctime)
    if time.time() - changed < SETTLED_SECONDS:
        return None
    identity = " ".join(
        str(part)
        for part in (
            status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        )
    )  # fmt: skip
    offset = array.ctypes.data - _start_of(base)
    return identity, f"{offset} {array.nbytes} {array.dtype}{array.shape}"


_starts: weakref.WeakKeyDictionary[mmap.mmap, int] = weakref.WeakKeyDictionary()


def _start_of(mapped: mmap.mmap) -> int:
    """The address of a mapped file's first byte."""
    if mapped not in _starts:
        _starts[mapped] = np.frombuffer(mapped, np.uint8).ctypes.data
    return _starts[mapped]
