"""Compiled programs and kernels, kept in memory and on disk.

In: keys, and how to make what is not there. Out: programs and objects. A key is a hash of all that
an entry depends on: the canonical text, the bytes of constants, options, the target, and the
versions of flowc, Numba and llvmlite. What is on disk (see disk.py) is object code and plain
metadata; an entry that is damaged, foreign or of another version is a miss, is dropped, and is made
again.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from flowc.cache.disk import DiskCache
from flowc.cache.library import ready_made
from flowc.cache.weight_digests import WeightDigests
from flowc.codegen.compiled import CompiledProgram, ProgramMetadata
from flowc.codegen.forks import keepers
from flowc.codegen.link.loaded import as_images
from flowc.codegen.target import Kept, Target
from flowc.codegen.targets import target_here
from flowc.files.cache_folder import cache_folder, digest, toolchain
from flowc.ir.computation import Computation
from flowc.ir.op import stamp_of_others
from flowc.ir.program_spec import ProgramSpec
from flowc.ir.text.form import print_computation, weights_of
from flowc.options import Options

if TYPE_CHECKING:
    from flowc.codegen.kernels.kernel import Kernel

KEPT_BYTES = 4 << 20  # some thousand kernels
STORED_AT_ONCE = 4 << 20  # bytes of weights, which take a few milliseconds
log = logging.getLogger("flowc.cache.store")


class KernelCache:
    """Objects of kernels and of what they share, by content, on disk, and the last `KEPT_BYTES` of
    them in memory."""

    def __init__(self, disk: DiskCache) -> None:
        self.disk = disk
        self.objects: dict[str, tuple[bytes, ...]] = {}  # in the order in which they came
        self.making: dict[str, Future[tuple[bytes, ...]]] = {}  # parts that kernels share
        self.kept = 0  # bytes
        self._lock = threading.Lock()
        keepers().add(self)

    def forked(self) -> None:
        self._lock, self.making = threading.Lock(), {}

    def objects_of(self, kernel: Kernel, target: Target) -> tuple[bytes, ...]:
        """The objects of a kernel, compiled if they are not known."""
        kept = self.parts_for(target)
        return self._found(kernel.key, target, lambda: target.objects_of(kernel, kept))

    def choice(self, name: str, make: Callable[[], str]) -> str:
        """What was chosen under a name, or is chosen now."""
        (data,) = self._found(f"choice {name}", None, lambda: (make().encode(),))
        return data.decode()

    def parts_for(self, target: Target) -> Kept:
        """What kernels and programs for a target share."""
        return lambda name, make: self._part(name, target, make)

    def _part(
        self, name: str, target: Target, make: Callable[[], tuple[bytes, ...]]
    ) -> tuple[bytes, ...]:
        """The objects of a part that kernels share. Threads that want the same one make it once:
        parts do not call each other in turn, so that none waits for itself."""
        mine: Future[tuple[bytes, ...]] = Future()
        making = f"{name}\n{target.key}"
        with self._lock:
            made = self.making.setdefault(making, mine)
        if made is not mine:
            return made.result()
        try:
            found = self._found(name, target, make)
            mine.set_result(found)
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            self.making.pop(making, None)
        return found

    def _found(
        self, name: str, target: Target | None, make: Callable[[], tuple[bytes, ...]]
    ) -> tuple[bytes, ...]:
        """From memory, from the package's libraries, from disk, or made and stored. Libraries come
        before the disk, so that a program does not depend on what was compiled before."""
        of_target = "" if target is None else target.key
        key = digest(f"kernel {name}\n{of_target}\n{toolchain()}".encode())
        known = self.objects.get(key)
        if known is not None:
            return known
        ready = None if target is None else ready_made(name, target.libraries)
        if ready is not None:
            return self._keep(key, ready)
        found = self.disk.load(key)
        if found is None:
            found = CompiledProgram(make(), [], ProgramMetadata())
            self.disk.store(key, found)
        return self._keep(key, found.objects)

    def _keep(self, key: str, data: tuple[bytes, ...]) -> tuple[bytes, ...]:
        with self._lock:
            if key not in self.objects:
                self.objects[key] = data
                self.kept += sum(map(len, data))
            while self.kept > KEPT_BYTES:
                self.kept -= sum(map(len, self.objects.pop(next(iter(self.objects)))))
        return data


def kernel_cache() -> KernelCache:
    """The kernels of this process, over the disk cache in force."""
    return _kernel_cache(cache_folder())


@cache
def _kernel_cache(folder: Path | None) -> KernelCache:
    return KernelCache(DiskCache(folder))


def pending_program_key(
    c: Computation, options: Options, spec: ProgramSpec
) -> tuple[Callable[[], str], bool]:
    """A call that waits for the key, to be made once, while threads hash the weights; and whether
    some of these come from files that the cache knows nothing of, so that it hardly has the
    program."""
    digests = WeightDigests(cache_folder())
    pending = digests.of(weights_of(c))
    # Hashing releases the interpreter: what the program will need is imported meanwhile.
    import flowc.run.executable  # noqa: F401

    target = target_here(options.target)
    numbers = itertools.count()
    text = print_computation(c, lambda _: f"@{next(numbers)}", exact=True)

    def key() -> str:
        weights = "\n".join(result() for result in pending)
        digests.close()
        asked = json.dumps(spec.to_json())
        versions = f"{toolchain()}\n{stamp_of_others()}"
        parts = ("program", text, weights, options.key, target.key, versions, asked)
        return digest("\n".join(parts).encode())

    return key, digests.finds_new


def find_program(
    folder: Path, key: str, compile_it: Callable[[], CompiledProgram]
) -> CompiledProgram:
    """The program of a key: from disk where it is known, else made and stored. Processes that want
    the same program at the same time compile it once."""
    disk = DiskCache(folder)
    program = disk.load(key)
    if program is not None:
        return program
    with ExitStack() as held:
        held.enter_context(_one_process_at_a_time(folder, key))
        program = disk.load(key)
        if program is None:
            program = as_images(compile_it())
            _store_soon(disk, key, program, held)
    return program


def _store_soon(disk: DiskCache, key: str, program: CompiledProgram, held: ExitStack) -> None:
    """Stores a program, and lets go of what is `held` meanwhile. The first run does not wait for
    much to be written; the process ends only when it is."""
    if program.metadata.weights_bytes < STORED_AT_ONCE:
        disk.store(key, program)
        return
    fill = disk.opened(key)

    def store(until_stored: ExitStack) -> None:
        with until_stored:
            fill(program)

    later = held.pop_all()
    try:
        threading.Thread(target=store, args=(later,), name="flowc-store", daemon=False).start()
    except RuntimeError:  # the process is ending, or may have no more threads
        store(later)


@contextmanager
def _one_process_at_a_time(folder: Path, key: str) -> Iterator[None]:
    """Held by the process that compiles a program, until it is stored; nobody's where the folder
    takes no lock.

    There are as many locks as folders of entries: they are never removed. The lock is the open
    file's, no thread's: another one may let it go, and a second program of this process waits.
    """
    path = folder / f"{key[:2]}.lock"
    with ExitStack() as opened:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = opened.enter_context(path.open("ab"))
            fcntl.flock(file, fcntl.LOCK_EX)
            # Also where a child of a fork has the file open still.
            opened.callback(fcntl.flock, file, fcntl.LOCK_UN)
        except OSError as error:
            log.warning("cannot lock %s: %s", path, error)
        yield
