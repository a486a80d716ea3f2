"""Compiled programs and kernels, kept in memory and on disk.

In: a Computation with options, or a kernel. Out: an Executable, or object code. An entry is found
by a hash of all that it depends on: the canonical text, the bytes of constants, options, the
target, and the versions of flowc, Numba and llvmlite. What is on disk (see disk.py) is object
code and plain metadata; an entry that is damaged, foreign or of another version is a miss, is
dropped, and is made again.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from flowc.cache.disk import DiskCache
from flowc.cache.weight_digests import WeightDigests
from flowc.codegen.compiled import CompiledProgram
from flowc.codegen.target import Target, target_named
from flowc.files.cache_folder import cache_folder, digest, toolchain
from flowc.ir.computation import Computation
from flowc.ir.text import print_computation, weights_of
from flowc.options import Options

if TYPE_CHECKING:
    from flowc.codegen.kernels.kernel import Kernel
    from flowc.run.executable import Executable

log = logging.getLogger("flowc.cache.store")

Names = tuple[Sequence[str], Sequence[str]]
State = Sequence[tuple[int, int]]


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


def program_key(c: Computation, options: Options, names: Names, state: State = ()) -> str:
    """A hash of all that the program of a Computation depends on."""
    digests = WeightDigests(cache_folder())
    pending = digests.of(weights_of(c))
    # Hashing releases the interpreter: what the program will need is imported meanwhile.
    import flowc.run.executable  # noqa: F401

    target = target_named(options.target)
    numbers = itertools.count()
    text = print_computation(c, lambda _: f"@{next(numbers)}", exact=True)
    weights = "\n".join(result() for result in pending)
    digests.close()
    asked = repr((names, list(state)))
    parts = ("program", text, weights, options.key, target.key, toolchain(), asked)
    return digest("\n".join(parts).encode())


def load_executable(
    c: Computation,
    options: Options,
    names: Names,
    threads: int | None = None,
    state: State = (),
) -> Executable:
    """The program of a Computation, ready to run: from disk where it is known, else compiled.
    `state`: inputs that it may overwrite, and the outputs that replace them.

    Processes that want the same program at the same time compile it once.
    """
    disk = DiskCache(cache_folder())
    key = program_key(c, options, names, state) if disk.folder is not None else ""
    from flowc.run.executable import open_program

    if disk.folder is None:
        return open_program(_compile(c, options, names, state), threads)
    program = disk.load(key)
    if program is None:
        with _one_process_at_a_time(disk.folder, key):
            program = disk.load(key)
            if program is None:
                program = _compile(c, options, names, state)
                disk.store(key, program)
    return open_program(program, threads, key)


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


def _compile(c: Computation, options: Options, names: Names, state: State) -> CompiledProgram:
    from flowc.compiler import compile_computation

    return compile_computation(c, options, names, state=state)
