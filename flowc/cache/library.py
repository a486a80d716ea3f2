"""Libraries of kernels: machine code that comes with the package, so that nobody compiles it again.

In: what kernels and shared routines are called, and the processor that they are for. Out: their
objects, where a library has them. Invariant: an object stands for the kernel that its name is a
hash of, made by the very code, Numba and LLVM that would make it now: a library that anything else
made is as good as none. So is one that is damaged.

    magic (8 bytes), header length (u64), SHA-256 of the header (32 bytes), header (JSON)
    objects, each compressed, one after another

The header holds what made the library, the processor, the place, size and SHA-256 of each object,
and the numbers of the objects of each name. A library is beside this module, and as much to be
trusted; nothing writes to it but `write_library`, which replaces it whole.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from flowc.errors import FlowcError, NotFoundError
from flowc.files.cache_folder import (
    cache_folder,
    is_off,
    package_folders,
    toolchain,
    versions,
)
from flowc.files.json_store import Notes
from flowc.files.plain_file import PlainFile

log = logging.getLogger("flowc.cache.library")

FOLDER = Path(__file__).with_name("libraries")
MAGIC = b"FLOWCK\x00\x01"
PREFIX = struct.Struct("<8sQ32s")
HEADER_LIMIT = 1 << 26
LARGEST = 1 << 26  # bytes of an object
NOTES = "contents"  # the folder of notes of what the package's files hold


class KernelLibrary:
    """A library that is open. Every failure to read is told once, and leaves it empty."""

    def __init__(self, file: PlainFile, start: int, header: Mapping[str, Any]) -> None:
        self._file = file
        self._start = start
        self._objects: list[tuple[int, int, int, str]] = header["objects"]
        self.names: dict[str, list[int]] = header["names"]

    def objects_of(self, name: str) -> tuple[bytes, ...] | None:
        """The objects of a kernel or a routine, and of what it calls."""
        numbers = self.names.get(name)
        if numbers is None:
            return None
        try:
            return tuple(map(self._object, numbers))
        except (FlowcError, OSError, ValueError, LookupError, zlib.error) as error:
            _tell_damaged(self._file.name, error)
            self.names = {}
            return None

    def _object(self, number: int) -> bytes:
        at, packed, size, checksum = self._objects[number]
        begin = self._start + at
        if begin + packed > len(self._file):
            raise ValueError("it ends too soon")
        reader = zlib.decompressobj()
        data = reader.decompress(self._file.read(begin, begin + packed), min(size, LARGEST))
        if hashlib.sha256(data).hexdigest() != checksum:
            raise ValueError("an object is not what was written")
        return data


def ready_made(name: str, libraries: Iterable[str]) -> tuple[bytes, ...] | None:
    """The objects of a kernel or a routine in the first of these libraries that has it. With
    `FLOWC_LIBRARY=0` none has any."""
    if is_off("FLOWC_LIBRARY"):
        return None
    for library in libraries:
        found = _opened(path_of(library))
        objects = None if found is None else found.objects_of(name)
        if objects is not None:
            return objects
    return None


def path_of(library: str) -> Path:
    """Where the package has the library of a target."""
    return FOLDER / f"{library}.kernels"


def is_current(path: Path) -> bool:
    """Whether a file is a library that this flowc made and can use."""
    return _opened(path) is not None


@cache
def _opened(path: Path) -> KernelLibrary | None:
    """The library of a file, where it is there and made by what is there now. It stays open."""
    try:
        file = PlainFile(path)
        start, header = _header(file)
        if header["target"] != path.stem or header["made_by"] != maker():
            log.debug("%s was made by another flowc, Numba or LLVM: not used", path)
            return None
        return KernelLibrary(file, start, header)
    except NotFoundError:
        return None
    except (FlowcError, OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        _tell_damaged(str(path), error)
        return None


def _header(file: PlainFile) -> tuple[int, dict[str, Any]]:
    """Where the objects begin, and the header. Raises `ValueError` for what is no library."""
    if len(file) < PREFIX.size:
        raise ValueError("it ends too soon")
    magic, length, checksum = PREFIX.unpack(file.read(0, PREFIX.size))
    start = PREFIX.size + length
    if magic != MAGIC or length > HEADER_LIMIT or start > len(file):
        raise ValueError("it is no library of kernels")
    text = bytes(file.read(PREFIX.size, start))
    if hashlib.sha256(text).digest() != checksum:
        raise ValueError("its header is not what was written")
    return start, json.loads(text)


def _tell_damaged(name: str, error: BaseException) -> None:
    log.warning("the library of kernels %s is damaged and not used: %s", name, error)


def write_library(path: Path, kernels: Mapping[str, tuple[bytes, ...]]) -> None:
    """Writes a library of what this flowc made for the target that the file is called after.
    `kernels`: the objects of each name; what several share is there once. Raises `OSError`, and
    `UsageError` where there is no folder."""
    from flowc.files.safe_write import replacing  # late: most processes only read

    numbers: dict[bytes, int] = {}
    names = {
        name: [numbers.setdefault(data, len(numbers)) for data in objects]
        for name, objects in sorted(kernels.items())
    }
    packed = [zlib.compress(data, 9) for data in numbers]
    rows: list[tuple[int, int, int, str]] = []
    at = 0
    for data, piece in zip(numbers, packed):
        rows.append((at, len(piece), len(data), hashlib.sha256(data).hexdigest()))
        at += len(piece)
    found = {"made_by": maker(), "target": path.stem, "objects": rows, "names": names}
    header = json.dumps(found, sort_keys=True).encode()
    with replacing(path) as file:
        file.write(PREFIX.pack(MAGIC, len(header), hashlib.sha256(header).digest()))
        for piece in (header, *packed):
            file.write(piece)


def maker() -> str:
    """What decides which code is made: the contents of all files of flowc and of the runtime, and
    the versions of Numba and LLVM. It is the same wherever and whenever these were installed."""
    return f"{_contents()} {versions()}"


@cache
def _contents() -> str:
    """A hash of every Python file of the packages. The user's cache remembers it until one of them
    is changed: reading them all takes 20 ms."""
    folder = cache_folder()
    if folder is None:
        return contents_of(package_folders())
    notes, subject = Notes(folder / NOTES), toolchain()
    known = notes.read(subject).get("contents")
    if known is None:
        known = contents_of(package_folders())
        notes.add(subject, {"contents": known})
    return known


def contents_of(folders: Mapping[str, str]) -> str:
    """A hash of the names and contents of all Python files in some folders and below them."""
    found = hashlib.sha256()
    for package, folder in sorted(folders.items()):
        paths = [
            os.path.join(parent, name)
            for parent, _, names in os.walk(folder)
            for name in names
            if name.endswith(".py")
        ]
        for path in sorted(paths):
            with open(path, "rb") as file:
                data = file.read()
            name = f"{package}/{os.path.relpath(path, folder)}"
            found.update(f"{name} {len(data)}\n".encode())
            found.update(data)
    return found.hexdigest()
