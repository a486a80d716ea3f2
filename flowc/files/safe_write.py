"""Files that are whole or absent: written beside their place, synced, renamed.

In: a path and what is written in the block. Out: the file. Invariants: an exception leaves what was
at the path before, and nothing else behind; links, folders and devices are never replaced; what the
errors name is the path. A process that is killed leaves the file beside its place behind: whoever
writes holds a lock on it, so that what no process writes any more can be told and removed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from flowc.errors import UsageError

_BESIDE = re.compile(r"\.(?P<name>.+)-[a-z0-9_]{8}")  # what `mkstemp` makes of a prefix
_SCRATCH = ".flowc-"  # before the names of scratch folders
_DEVICES = Path("/dev")


@contextmanager
def replacing(path: Path, size: int | None = None, *, private: bool = False) -> Iterator[BinaryIO]:
    """A file that takes its place, whole and on disk, when the block ends without an exception.

    `size`: the bytes that it will have, for errors. `private`: for the user alone, and nothing
    waits for the disk, where its reader can tell whether it is whole.
    """
    _check_kind(path)
    with _naming(path, size, str(path.parent)):
        number, name = _locked_file(path)
    try:
        with _naming(path, size, name), os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            if not private:
                os.fsync(number)
                os.fchmod(number, 0o666 & ~current_umask())
        with _naming(path, size, name):
            os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    if not private:
        with suppress(OSError):  # the file is in its place: nothing can be taken back
            sync_folder(path.parent)


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
    The caller removes each; it stays locked until the next one is asked for."""
    for found in sorted(folder.iterdir()):
        match = _BESIDE.fullmatch(found.name)
        if match is None or found.is_symlink() or not os.path.isfile(found):
            continue
        try:
            with found.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield match["name"], found
        except OSError:
            continue  # being written, gone, or none of ours


def sync_folder(folder: Path) -> None:
    """Puts on disk what files a folder has, by which names, where the file system can."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(number)


def check_place(path: Path) -> None:
    """Raises `UsageError` or `OSError` when no file can be written there.

    Only an attempt tells whether the folder takes files: a superuser's rights are no answer for a
    file system that makes none.
    """
    _check_kind(path)
    with _naming(path, None, str(path.parent)):
        tempfile.TemporaryFile(dir=path.parent).close()  # without a name: nothing can stay behind


def make_folder(path: Path) -> None:
    """Makes a folder for files, if it is not there. Raises `UsageError` or `OSError`."""
    if path.is_symlink() or not os.path.isdir(path):
        _check_kind(path)
        with _naming(path, None, str(path.parent)):
            path.mkdir(exist_ok=True)


@contextmanager
def scratch_folder(path: Path, size: int) -> Iterator[Path]:
    """A folder beside a file that is about to be written, for what it is made of, and gone after
    the block; errors of files in it name the path and the bytes of the file. Those that killed
    processes left there go too."""
    _check_kind(path)
    with _naming(path, size, str(path.parent)):
        _remove_abandoned_folders(path.parent)
        folder, number = _locked_folder(path.parent)
    try:
        with folder as name, _naming(path, size, name):
            yield Path(name)
    finally:
        os.close(number)


def _locked_folder(parent: Path) -> tuple[tempfile.TemporaryDirectory[str], int]:
    """A new folder, locked for as long as the descriptor is open. Whoever removes what was left
    behind may come before the lock: then another one is made."""
    while True:
        folder = tempfile.TemporaryDirectory(
            prefix=_SCRATCH, dir=parent, ignore_cleanup_errors=True
        )
        number = os.open(folder.name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with suppress(OSError):  # where folders cannot be locked, they are not removed either
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.isdir(folder.name):
            return folder, number
        os.close(number)


def _remove_abandoned_folders(parent: Path) -> None:
    for found in parent.glob(f"{_SCRATCH}????????"):
        with suppress(OSError):
            number = os.open(found, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(found, ignore_errors=True)
            finally:
                os.close(number)


@contextmanager
def signals_waiting() -> Iterator[None]:
    """Within it, signals that would end the process wait. It is their handlers that wait: any
    thread may be given a signal of the process, and Python handles it in the main one."""
    came: list[int] = []
    handlers: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            handler = signal.getsignal(number)
            if handler is not None and handler is not signal.SIG_IGN:
                handlers[number] = signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


def current_umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _check_kind(path: Path) -> None:
    """A link, folder or device is not replaced."""
    if "\0" in str(path):
        raise UsageError(f"{str(path)!r}: no file has such a name")
    if not os.path.isdir(path.parent):
        raise UsageError(f"cannot write {path}: there is no folder {path.parent}")
    if path.parent.resolve() == _DEVICES:
        raise _refusal(path, f"{_DEVICES} is for devices")
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFDIR: "a folder", stat.S_IFLNK: "a link"}
        raise _refusal(path, f"this is {kinds.get(stat.S_IFMT(mode), 'no plain file')}")


def _refusal(path: Path, why: str) -> OSError:
    return OSError(errno.EEXIST, f"cannot be written: {why}", str(path))


def _starts_with(name: str, beside: str) -> bool:
    """Whether a file is one of those beside a path: `tempfile` gives absolute names."""
    return os.path.abspath(name).startswith(os.path.abspath(beside))


@contextmanager
def _naming(path: Path, size: int | None = None, beside: str | None = None) -> Iterator[None]:
    """Errors without a name, and those of what is written `beside`, name the path."""
    try:
        yield
    except OSError as error:
        name = error.filename
        if isinstance(name, str) and not (beside and _starts_with(name, beside)):
            raise
        needed = "" if size is None else f" ({size} bytes are needed)"
        text = f"cannot be written: {error.strerror}{needed}"
        raise OSError(error.errno, text, str(path)) from error
