"""`tf.gfile`: files and folders under TensorFlow 1's names, with its errors.

In: paths of this machine (`str`, bytes or `os.PathLike`). Out: what the operating system says, its
faults as `tf.errors`.
"""

from __future__ import annotations

import errno
import glob
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from flowc.dataclass import dataclass
from flowc.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    ResourceExhaustedError,
    UnknownError,
)

PathLike = str | bytes | os.PathLike[Any]
MODES = ("r", "w", "a", "r+", "w+", "a+")
_ERRORS: dict[int, type[OpError]] = {
    errno.ENOENT: NotFoundError,
    errno.EEXIST: AlreadyExistsError,
    errno.EISDIR: FailedPreconditionError,
    errno.ENOTDIR: FailedPreconditionError,
    errno.ENAMETOOLONG: InvalidArgumentError,
    errno.ENOTEMPTY: FailedPreconditionError,
    errno.EINVAL: InvalidArgumentError,
    errno.ENOSPC: ResourceExhaustedError,
    errno.EDQUOT: ResourceExhaustedError,
    errno.EMFILE: ResourceExhaustedError,
}


@contextmanager
def _raising_tf_errors(path: PathLike) -> Iterator[str]:
    """The path as text; what the system says of it in the block is one of `tf.errors`."""
    name = os.fsdecode(path)
    try:
        yield name
    except OSError as error:
        kind = _ERRORS.get(error.errno or 0, UnknownError)
        raise kind(f"{name}; {error.strerror}") from error


def _open(name: str, mode: str) -> IO[Any]:
    form: Any = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    return Path(name).open(mode, **form)


class GFile:
    """A file, opened when it is first used: text, or bytes where `mode` ends with `b`.

    `mode`: `r`, `w` or `a`, with `+` for both ways. Use it as a context or `close` it. Iterating
    gives lines. Raises `NotFoundError`, `InvalidArgumentError` for another mode.
    """

    def __init__(self, name: PathLike, mode: str = "r") -> None:
        self.name = os.fsdecode(name)
        self.mode = mode
        self._file: IO[Any] | None = None

    def _opened(self) -> IO[Any]:
        if self._file is None:
            if self.mode.replace("b", "") not in MODES:
                raise InvalidArgumentError("mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'")
            with _raising_tf_errors(self.name) as name:
                self._file = _open(name, self.mode)
        return self._file

    def read(self, n: int = -1) -> Any:
        """At most `n` characters (bytes), or all that follow."""
        with _raising_tf_errors(self.name):
            return self._opened().read(n)

    def readline(self) -> Any:
        """The next line with its line feed, without carriage returns, as TensorFlow gives it."""
        with _raising_tf_errors(self.name):
            line = self._opened().readline()
        return line.replace("\r", "") if isinstance(line, str) else line.replace(b"\r", b"")

    def readlines(self) -> list[Any]:
        return list(self)

    def write(self, file_content: Any) -> None:
        """Appends text, or bytes to a file of bytes."""
        with _raising_tf_errors(self.name):
            self._opened().write(file_content)

    def seek(self, offset: int, whence: int = 0) -> None:
        with _raising_tf_errors(self.name):
            self._opened().seek(offset, whence)

    def tell(self) -> int:
        with _raising_tf_errors(self.name):
            return self._opened().tell()

    def size(self) -> int:
        """The bytes that the file has on disk."""
        return Stat(self.name).length

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            with _raising_tf_errors(self.name):
                self._file.close()
            self._file = None

    def __enter__(self) -> GFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """Length in bytes, time of the last change in nanoseconds, and whether it is a folder."""

    length: int
    mtime_nsec: int
    is_directory: bool


def Exists(path: PathLike) -> bool:
    """Whether there is a file or folder. A bool. Raises nothing."""
    return os.path.exists(path)


def IsDirectory(dirname: PathLike) -> bool:
    """Whether there is a folder. A bool. Raises nothing."""
    return os.path.isdir(dirname)


def Stat(filename: PathLike) -> FileStatistics:
    """The length in bytes, the time of the last change in nanoseconds, and whether it is a folder.
    Raises `NotFoundError`."""
    with _raising_tf_errors(filename) as name:
        found = os.stat(name)
    return FileStatistics(found.st_size, found.st_mtime_ns, Path(name).is_dir())


def Glob(filename: PathLike | Sequence[PathLike]) -> list[str]:
    """The paths that fit a pattern, or one of several, in order of their names. A list of strings.
    Raises nothing: none for folders that cannot be read."""
    patterns = [filename] if isinstance(filename, str | bytes | os.PathLike) else filename
    return sorted(path for p in patterns for path in glob.glob(os.fsdecode(p)))


def ListDirectory(dirname: PathLike) -> list[str]:
    """The names in a folder, in order. Raises `NotFoundError`."""
    with _raising_tf_errors(dirname) as name:
        if not os.path.isdir(name):
            raise NotFoundError(f"Could not find directory {name}")
        return sorted(os.listdir(name))


def Walk(top: PathLike, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """(folder, the folders in it, the files in it) of a tree: a folder before what it holds, or
    after it without `in_order`. Raises nothing: a folder that cannot be read has nothing in it."""
    for folder, inner, names in os.walk(os.fsdecode(top), topdown=in_order):
        inner.sort()
        yield folder, list(inner), sorted(names)


def join(path: PathLike, *paths: PathLike) -> str:
    """The path of what is named by `paths` inside `path`. Raises nothing."""
    return os.path.join(os.fsdecode(path), *map(os.fsdecode, paths))


def MkDir(dirname: PathLike) -> None:
    """Makes a folder, unless it is there. Raises `NotFoundError` where its parent is not."""
    with _raising_tf_errors(dirname) as name:
        Path(name).mkdir(exist_ok=True)


def MakeDirs(dirname: PathLike) -> None:
    """Makes a folder with those above it, unless they are there. Raises `FailedPreconditionError`
    where a file is in the way, or another `OpError`."""
    with _raising_tf_errors(dirname) as name:
        os.makedirs(name, exist_ok=True)


def Copy(oldpath: PathLike, newpath: PathLike, overwrite: bool = False) -> None:
    """Copies a file. Raises `AlreadyExistsError` for a new path that is taken, unless it is to be
    overwritten."""
    _check_free(newpath, overwrite)
    with _raising_tf_errors(oldpath) as name:
        shutil.copyfile(name, os.fsdecode(newpath))


def Rename(oldname: PathLike, newname: PathLike, overwrite: bool = False) -> None:
    """Moves a file or folder. Raises as `Copy`."""
    _check_free(newname, overwrite)
    with _raising_tf_errors(oldname) as name:
        os.replace(name, os.fsdecode(newname))


def Remove(filename: PathLike) -> None:
    """Deletes a file. Raises `NotFoundError`, `FailedPreconditionError` for a folder."""
    with _raising_tf_errors(filename) as name:
        os.unlink(name)


def DeleteRecursively(dirname: PathLike) -> None:
    """Deletes a folder with all that it holds. Raises `NotFoundError`."""
    with _raising_tf_errors(dirname) as name:
        shutil.rmtree(name)


def _check_free(path: PathLike, overwrite: bool) -> None:
    if not overwrite and Exists(path):
        raise AlreadyExistsError("file already exists")
