"""Files that are whole or absent: written beside their place, synced, renamed.

In: a path and what is written in the block. Out: the file. Invariants: an exception leaves what was
at the path before, and nothing else behind; what the errors name is the path.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from flowc.errors import UsageError


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes its place, whole and on disk, when the block ends without an exception."""
    check_place(path)
    number, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
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
