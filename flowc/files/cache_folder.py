"""Where compiled programs are kept, and what they all depend on.

In: the environment and the installed packages. Out: the folder of the disk cache, or None, and a
text that names the versions. Invariant: nobody but the user can write to the folder.

`FLOWC_CACHE_DIR` names the folder; `FLOWC_CACHE=0` keeps everything in memory.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from flowc.errors import UsageError
from flowc.version import FLOWC_VERSION

log = logging.getLogger("flowc.cache.store")

_DECIDING = ("flowc", "flowc_runtime")


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@cache
def toolchain() -> str:
    """The versions that object code depends on; flowc's own files count too, so that an edit
    without a new version number never meets code from before it."""
    return f"flowc {FLOWC_VERSION} {code_stamp(package_folders())}, {versions()}"


@cache
def versions() -> str:
    """Those of the packages that make code, beside flowc's own."""
    return ", ".join(f"{name} {_installed_version(name)}" for name in ("numba", "llvmlite"))


def _installed_version(package: str) -> str:
    """The version of an installed package, without importing it: from the name of the folder
    beside it that describes it, as asking `importlib.metadata` takes longer than all the rest."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return "none"
    beside = Path(spec.origin).parent.parent
    names = [n for n in os.listdir(beside) if n.startswith(f"{package}-") and n.endswith("-info")]
    if len(names) == 1:
        return names[0].removeprefix(f"{package}-").rpartition(".")[0]
    from importlib.metadata import version

    return version(package)


def package_folders() -> dict[str, str]:
    """Where the packages are whose every module may decide what code comes of a model."""
    found: dict[str, str] = {}
    for package in _DECIDING:
        spec = find_spec(package)
        assert spec is not None and spec.origin is not None, f"{package} is not installed"
        found[package] = os.path.dirname(spec.origin)
    return found


def code_stamp(folders: Mapping[str, str]) -> str:
    """A stamp of all Python files in some folders and below them: their sizes and times of change.
    `folders`: by the names of the packages that they hold."""
    stamps = [s for name, folder in folders.items() for s in _stamps(name, folder)]
    return digest("\n".join(sorted(stamps)).encode())[:16]


def _stamps(name: str, folder: str) -> Iterator[str]:
    """`name/file size time` of every Python file in a folder and the folders below it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                info = entry.stat()
                yield f"{name}/{entry.name} {info.st_size} {info.st_mtime_ns}"
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _stamps(f"{name}/{entry.name}", entry.path)


def is_off(variable: str) -> bool:
    """Whether the environment switches something off."""
    return os.environ.get(variable, "1").lower() in ("0", "off", "no", "false")


def cache_folder() -> Path | None:
    """The folder of the disk cache, or None where there is to be none."""
    if is_off("FLOWC_CACHE"):
        return None
    chosen = os.environ.get("FLOWC_CACHE_DIR")
    if chosen:
        return _trusted(Path(chosen))
    from platformdirs import user_cache_path

    return _trusted(user_cache_path("flowc"))


_refused: set[Path] = set()


def _trusted(folder: Path) -> Path | None:
    """The folder, made if need be, when only its owner, the user, can write to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.stat()
    except OSError as error:
        return _refuse(folder, str(error))
    if found.st_uid != os.getuid():
        return _refuse(folder, "it belongs to another user")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return _refuse(folder, "others can write to it")
    return folder


def _refuse(folder: Path, why: str) -> None:
    if folder not in _refused:
        _refused.add(folder)
        log.warning("the cache folder %s is not used: %s", folder, why)


def tell_not_written(what: str, error: OSError | UsageError) -> None:
    """Says that something was not written to the cache; in a whisper where somebody removed the
    folder meanwhile, who does not miss it."""
    gone = isinstance(error, FileNotFoundError | UsageError)
    log.log(logging.DEBUG if gone else logging.WARNING, "cannot write %s: %s", what, error)
