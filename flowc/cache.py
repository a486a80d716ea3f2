"""Compiled programs and kernels, kept in memory and on disk.

In: a Computation with options, or a kernel. Out: an Executable, or object code. An entry is found
by a hash of all that it depends on: the canonical text, the bytes of constants, options, the
target, and the versions of flowc, Numba and llvmlite. What is on disk is object code and plain
metadata; an entry that is damaged, foreign or of another version is a miss, is dropped, and is made
again.

`FLOWC_CACHE_SIZE` is the most bytes that the folder may hold; cache_folder.py says where it is.
"""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from flowc.cache_entry import read_entry, write_entry
from flowc.cache_folder import cache_folder, digest, toolchain
from flowc.codegen.compiled import CompiledProgram
from flowc.codegen.target import Target, target_named
from flowc.ir.computation import Computation
from flowc.ir.options import Options
from flowc.ir.text import print_computation, weights_of
from flowc.weight_digests import WeightDigests

if TYPE_CHECKING:
    from flowc.codegen.kernel import Kernel
    from flowc.executable import Executable

log = logging.getLogger("flowc.cache")

DEFAULT_SIZE = 8 << 30
Names = tuple[Sequence[str], Sequence[str]]


class DiskCache:
    """Entries of one folder. Every failure to read is a miss; every failure to write is logged."""

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
        path = self.path(key)
        if path is None or self.folder is None:
            return
        try:
            path.parent.mkdir(exist_ok=True, mode=0o700)
            write_entry(path, key, program)
            # Listing a folder of thousands of entries for every kernel would cost more than the
            # kernel: the total is measured once a process and when the limit is near.
            if self.folder not in _held:
                _held[self.folder] = _measured(self.folder)
            else:
                _held[self.folder] += path.stat().st_size
            if _held[self.folder] > size_limit():
                _held[self.folder] = evict(self.folder, size_limit(), keep=path)
        except OSError as error:
            log.warning("cannot write the cache entry %s: %s", path, error)


def _touch(path: Path) -> None:
    try:
        os.utime(path)
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


def _entries(folder: Path) -> list[tuple[float, int, Path]]:
    """(last use, size, path) of every entry."""
    found: list[tuple[float, int, Path]] = []
    for path in folder.glob("*/*.flowc"):
        try:
            info = path.stat()
        except FileNotFoundError:
            continue
        found.append((info.st_mtime, info.st_size, path))
    return found


def _measured(folder: Path) -> int:
    return sum(size for _, size, _ in _entries(folder))


def evict(folder: Path, limit: int, keep: Path) -> int:
    """Drops the entries unused for longest until the folder holds no more than it may; gives the
    bytes that are left."""
    found = _entries(folder)
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= limit:
            break
        if path != keep:
            path.unlink(missing_ok=True)
            total -= size
    return total


class KernelCache:
    """Objects of kernels by content, in memory and on disk."""

    def __init__(self, disk: DiskCache) -> None:
        self.disk = disk
        self.objects: dict[str, bytes] = {}

    def object_of(self, kernel: Kernel, target: Target) -> bytes:
        """The object of a kernel, compiled if it is not known."""
        key = digest(f"kernel {kernel.key}\n{target.key}\n{toolchain()}".encode())
        if key not in self.objects:
            found = self.disk.load(key)
            if found is None:
                from flowc.codegen.program import kernel_object

                made = kernel_object(kernel, target)
                found = CompiledProgram((made,), [], {"weights_bytes": 0})
                self.disk.store(key, found)
            self.objects[key] = found.objects[0]
        return self.objects[key]


def kernel_cache() -> KernelCache:
    """The kernels of this process, over the disk cache in force."""
    return _kernel_cache(cache_folder())


@cache
def _kernel_cache(folder: Path | None) -> KernelCache:
    return KernelCache(DiskCache(folder))


def program_key(c: Computation, options: Options, names: Names) -> str:
    """A hash of all that the program of a Computation depends on."""
    digests = WeightDigests(cache_folder())
    pending = digests.of(weights_of(c))
    # Hashing releases the interpreter: what the program will need is imported meanwhile.
    import flowc.executable  # noqa: F401

    target = target_named(options.target)
    numbers = itertools.count()
    text = print_computation(c, lambda _: f"@{next(numbers)}")
    weights = "\n".join(result() for result in pending)
    digests.close()
    parts = ("program", text, weights, options.key, target.key, toolchain(), repr(names))
    return digest("\n".join(parts).encode())


def load_executable(
    c: Computation, options: Options, names: Names, threads: int | None = None
) -> Executable:
    """The program of a Computation, ready to run: from disk where it is known, else compiled.

    Processes that want the same program at the same time compile it once.
    """
    disk = DiskCache(cache_folder())
    key = program_key(c, options, names) if disk.folder is not None else ""
    from flowc.executable import Executable

    if disk.folder is None:
        return Executable(_compile(c, options, names), threads)
    program = disk.load(key)
    if program is None:
        with _one_process_at_a_time(disk.folder, key):
            program = disk.load(key)
            if program is None:
                program = _compile(c, options, names)
                disk.store(key, program)
    return Executable(program, threads, key)


@contextmanager
def _one_process_at_a_time(folder: Path, key: str) -> Iterator[None]:
    """Held by the process that compiles a program; nobody's where the folder takes no lock.

    There are as many locks as folders of entries: they are never removed.
    """
    from filelock import FileLock

    lock = FileLock(folder / f"{key[:2]}.lock")
    try:
        lock.acquire()
    except (OSError, NotImplementedError) as error:
        log.warning("cannot lock %s: %s", lock.lock_file, error)
    try:
        yield
    finally:
        lock.release()


def _compile(c: Computation, options: Options, names: Names) -> CompiledProgram:
    from flowc.compiler import compile_computation

    return compile_computation(c, options, names)
