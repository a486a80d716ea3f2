"""The files of the cache: one an entry, the oldest dropped where they take too much room.

In: keys and compiled programs. Out: the same programs for the same keys. `FLOWC_CACHE_SIZE` is the
most bytes that the entries may take; cache_folder.py says where they are.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from flowc.cache.entry import fill_entry, open_entry, read_entry
from flowc.codegen.compiled import CompiledProgram
from flowc.errors import UsageError
from flowc.files.cache_folder import tell_not_written

log = logging.getLogger("flowc.cache.store")

DEFAULT_SIZE = 8 << 30


class DiskCache:
    """Entries of one folder. Every failure to read is a miss; every failure to write is
    logged."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def path(self, key: str) -> Path | None:
        return None if self.folder is None else self.folder / key[:2] / f"{key[2:]}.flowc"

    def load(self, key: str) -> CompiledProgram | None:
        path = self.path(key)
        if path is None:
            return None
        program = read_entry(path, key)
        if program is not None:
            _touch(path)
        return program

    def store(self, key: str, program: CompiledProgram) -> None:
        self.opened(key)(program)

    def opened(self, key: str) -> Callable[[CompiledProgram], None]:
        """Makes the file of an entry at once; what is returned fills it, in any thread, and puts it
        into its place. Who removes the folder in between meets no file that comes later."""
        path, entry = self.path(key), ExitStack()
        if path is None or self.folder is None:
            return lambda _: None
        try:
            path.parent.mkdir(exist_ok=True, mode=0o700)
            file = entry.enter_context(open_entry(path))
        except (OSError, UsageError) as error:
            tell_not_written("the cache entry", error)
            return lambda _: None
        return lambda program: self._fill(path, entry, lambda: fill_entry(file, key, program))

    def _fill(self, path: Path, entry: ExitStack, fill: Callable[[], None]) -> None:
        assert self.folder is not None
        try:
            with entry:
                fill()
            # Listing a folder of thousands of entries for every kernel would cost more than the
            # kernel: the total is measured once a process and when the limit is near.
            if self.folder not in _held:
                _held[self.folder] = _measured(self.folder)
            else:
                _held[self.folder] += path.stat().st_size
            if _held[self.folder] > size_limit():
                _held[self.folder] = evict(self.folder, size_limit(), keep=path)
        except OSError as error:
            tell_not_written("the cache entry", error)


def _touch(path: Path) -> None:
    """Marks an entry as used. The time of its last change stays: another thread or process may be
    reading it, and takes a file whose time changes meanwhile for another one."""
    try:
        os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))
    except OSError as error:
        log.debug("cannot mark %s as used: %s", path, error)


def size_limit() -> int:
    """The most bytes that the folder may hold."""
    text = os.environ.get("FLOWC_CACHE_SIZE", "")
    if text and not text.isdecimal():
        log.warning(
            "FLOWC_CACHE_SIZE is a number of bytes, found %r: %d is used", text, DEFAULT_SIZE
        )
        text = ""
    return int(text) if text else DEFAULT_SIZE


_held: dict[Path, int] = {}  # bytes in each folder, as far as this process knows


def entries_of(folder: Path) -> list[tuple[float, int, Path]]:
    """(last use, size, path) of every entry."""
    found: list[tuple[float, int, Path]] = []
    for path in folder.glob("*/*.flowc"):
        try:
            info = path.stat()
        except FileNotFoundError:
            continue
        found.append((info.st_atime, info.st_size, path))
    return found


def _measured(folder: Path) -> int:
    """The bytes of a folder's entries; what killed processes left of theirs is removed."""
    from flowc.files.safe_write import abandoned  # late: most processes only read

    for parent in {path.parent for path in folder.glob("*/.*.flowc-*")}:
        for _, path in abandoned(parent):
            path.unlink(missing_ok=True)
    return sum(size for _, size, _ in entries_of(folder))


def evict(folder: Path, limit: int, keep: Path) -> int:
    """Drops the entries unused for longest until the folder holds no more than it may; gives the
    bytes that are left."""
    found = entries_of(folder)
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= limit:
            break
        if path != keep:
            path.unlink(missing_ok=True)
            total -= size
    return total
