"""Files that are whole or absent: written beside their place, synced, renamed.

In: a path and what is written in the block. Out: the file. Invariant: an exception leaves what was
at the path before, and nothing else behind.
"""

from __future__ import annotations

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
    check_folder(path)
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
    except BaseException:
        os.unlink(name)
        raise


def check_folder(path: Path) -> None:
    """Raises `UsageError` when there is no folder to write the file into."""
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {path.parent}")
