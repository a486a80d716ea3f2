"""The one way in which flowc opens a file to read it.

In: a path, and perhaps a folder that it must not lead out of. Out: bytes of a regular file, in
memory of this process. Invariants: opening never waits; what is no regular file is an error that
says what it is; bytes that were read stay as they are, whatever happens to the file.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
from contextlib import suppress
from pathlib import Path, PurePath
from typing import BinaryIO

from flowc.errors import (
    FlowcError,
    InvalidModelError,
    NotFoundError,
    ResourceExhaustedError,
    UsageError,
)

_HINT = "pass --allow-links (allow_links=True) if what it leads to is to be trusted"
SMALL = 1 << 16  # bytes of a piece that need no pages of their own
LARGE = 1 << 22  # bytes of a piece for which large pages pay: filling it takes half the time
MOST_LINKS = 40  # that one path may go through, as in the system

_CLOSED = os.O_CLOEXEC | os.O_NOCTTY
_PLACE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | _CLOSED
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a link",
}
_SCARCE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


class FileMemory(mmap.mmap):
    """Memory that holds bytes of a file, from byte `start` of it on. `status`: of the file."""

    status: os.stat_result
    start: int


class PlainFile:
    """A regular file that is open for reading. `status`: as it was when it was opened.

    `within`: the folder that the path must not lead out of, whose own path may go through links;
    None where the path is the user's own word. Raises `NotFoundError` where there is no file,
    `UsageError` for a path that no file can have, `InvalidModelError` for what is no regular file,
    cannot be read, or lies elsewhere.
    """

    def __init__(self, path: str | os.PathLike[str], within: Path | None = None) -> None:
        self.descriptor = -1
        self.name = os.fsdecode(path)
        try:
            self.descriptor = (
                os.open(self.name, _READ) if within is None else _open_within(self.name, within)
            )
        except OSError as error:
            raise _system_error(self.name, error) from None
        except FlowcError:
            raise
        except ValueError:
            raise UsageError(f"{self.name!r}: no file has such a name") from None
        self.status = os.fstat(self.descriptor)
        if not stat.S_ISREG(self.status.st_mode):
            raise _no_plain_file(self.name, self.status.st_mode)

    def __del__(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)

    def __len__(self) -> int:
        return self.status.st_size

    def stream(self) -> BinaryIO:
        """The file as Python has them, to be closed by the caller."""
        return os.fdopen(os.dup(self.descriptor), "rb")

    def read(self, start: int, end: int) -> memoryview:
        """The bytes from `start` to `end`, which lie in the file. Raises `InvalidModelError` where
        the file is no longer as it was when it was opened."""
        if start == end:
            return memoryview(b"")
        view = memoryview(self._memory(start, end - start))
        try:
            whole = _fill(view, self.descriptor, start)
        except OSError as error:
            raise _system_error(self.name, error) from None
        if not whole or _version(os.fstat(self.descriptor)) != _version(self.status):
            raise InvalidModelError(
                f"{self.name}: the file was changed after it was opened", hint="load it again"
            )
        return view.toreadonly()

    def mapped(self) -> memoryview:
        """All bytes, where the system has them: nothing is copied, and processes share them. For
        files that are only ever replaced whole: what is written into this one is seen, and to read
        what is cut off it ends the process. Raises `InvalidModelError` where it cannot be mapped.
        """
        try:
            return memoryview(mmap.mmap(self.descriptor, 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:
            raise InvalidModelError(f"{self.name}: {error}") from None

    def _memory(self, start: int, size: int) -> FileMemory | bytearray:
        if size < min(SMALL, len(self)):
            return bytearray(size)
        try:
            memory = FileMemory(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except (MemoryError, OSError, ValueError):
            raise ResourceExhaustedError(f"{self.name}: no memory for {size} bytes of it") from None
        if size >= LARGE:
            with suppress(OSError):  # a kernel without large pages
                memory.madvise(mmap.MADV_HUGEPAGE)
        memory.status, memory.start = self.status, start
        return memory


def lies_within(path: str | os.PathLike[str], folder: Path | None) -> bool:
    """Whether a path leads to a place in a folder, or there is none to stay in. Opens nothing."""
    return folder is None or Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _fill(view: memoryview, descriptor: int, start: int) -> bool:
    """Reads until the view is full; gives whether the file had so many bytes."""
    at = 0
    while at < len(view):
        count = os.preadv(descriptor, [view[at:]], start + at)
        if not count:
            return False
        at += count
    return True


def _version(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


def _open_within(name: str, folder: Path) -> int:
    """Opens one part of a path after the other, links by hand, so that none leads out."""
    path, links = PurePath(name), 0
    if not path.is_relative_to(folder):
        raise _leads_out(name, folder)
    left = list(reversed(path.relative_to(folder).parts))
    passed = [os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)]
    try:
        while left:
            part = left.pop()
            if part == "..":
                os.close(passed.pop())
                if not passed:
                    raise _leads_out(name, folder)
                continue
            place = os.open(part, _PLACE, dir_fd=passed[-1])
            passed.append(place)
            if stat.S_ISLNK(os.fstat(place).st_mode):
                links += 1
                if links > MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                target = PurePath(os.readlink("", dir_fd=place))
                if target.is_absolute():
                    raise _leads_out(name, folder)
                left += reversed(target.parts)
                os.close(passed.pop())
            elif not left:
                return os.open(part, _READ | os.O_NOFOLLOW, dir_fd=passed[-2])
        return os.open(".", _READ, dir_fd=passed[-1])
    finally:
        for descriptor in passed:
            os.close(descriptor)


def _leads_out(name: str, folder: Path) -> InvalidModelError:
    return InvalidModelError(f"{name}: this leads out of the model's folder {folder}", hint=_HINT)


def _system_error(name: str, error: OSError) -> FlowcError:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return NotFoundError(f"{name}: no such file")
    if error.errno in _SCARCE:
        return ResourceExhaustedError(f"{name}: {error.strerror}")
    if error.errno == errno.ENXIO:
        return _no_plain_file(name, stat.S_IFSOCK)
    return InvalidModelError(f"{name}: {error.strerror}")


def _no_plain_file(name: str, mode: int) -> InvalidModelError:
    kind = KINDS.get(stat.S_IFMT(mode), "something else")
    return InvalidModelError(f"{name}: this is {kind}, not a plain file")
