"""Files that are whole or absent: written beside their place, synced, renamed.

In: a path and what is written in the block. Out: the file. Invariants: an exception leaves what was
at the path before, and nothing else behind; what the errors name is the path. A process that is
killed leaves the file beside its place behind: whoever writes holds a lock on it, so that what no
process writes any more can be told and removed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from flowc.errors import UsageError

_BESIDE = re.compile(r"\.(?P<name>.+)-[a-z0-9_]{8}")  # what `mkstemp` makes of a prefix


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes its place, whole and on disk, when the block ends without an exception."""
    check_place(path)
    number, name = _locked_file(path)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0o022)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException as error:
        os.unlink(name)
        if isinstance(error, OSError) and error.filename in (None, name):
            raise _unwritable(path, error) from error
        raise


def _locked_file(path: Path) -> tuple[int, str]:
    """A new file beside `path`, open and locked. Whoever removes what was left behind may come
    before the lock: then the file is gone, and another one is made."""
    while True:
        number, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        fcntl.flock(number, fcntl.LOCK_EX)
        if os.fstat(number).st_nlink:
            return number, name
        os.close(number)


def abandoned(folder: Path) -> Iterator[tuple[str, Path]]:
    """Files of `replacing` that no process writes any more, each with the name that it was to get.
    Who asks removes them; they stay locked until it asks for the next."""
    for found in sorted(folder.iterdir()):
        match = _BESIDE.fullmatch(found.name)
        if match is None or found.is_symlink() or not found.is_file():
            continue
        try:
            with found.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield match["name"], found
        except OSError:
            continue  # being written, gone, or none of ours


def sync_folder(folder: Path) -> None:
    """Puts on disk what files a folder has, by which names."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def check_place(path: Path) -> None:
    """Raises `UsageError` or `OSError` when no file can be written there.

    A folder or a device must not be replaced, and only an attempt tells whether the folder takes
    files: a superuser's rights are no answer for a file system that makes none.
    """
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {path.parent}")
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "no plain file"
        raise OSError(errno.EEXIST, f"cannot be written: this is {kind}", str(path))
    try:
        tempfile.TemporaryFile(dir=path.parent).close()  # without a name: nothing can stay behind
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> OSError:
    """The error of a file that nobody asked for, with the name of the one that was."""
    return OSError(error.errno, f"cannot be written: {error.strerror}", str(path))
