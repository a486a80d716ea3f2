"""Makes the package's libraries of kernels: `make library` calls `main`, an installation from
source `make_common`.

In: the recorded clusters and the names of targets. Out: a library for each, beside library.py, and
libraries of what LLVM makes in another way for some processors than for others.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from flowc.cache.library import is_current, path_of, write_library
from flowc.cache.recorded_clusters import (
    COMMON,
    RECORDED,
    epilogues_of,
    kernels_of,
    recorded_clusters,
)
from flowc.cache.store import kernel_cache
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.program import compiling_threads, native_object
from flowc.codegen.target import Target
from flowc.codegen.targets import LIBRARIES, library_targets, target_named
from flowc.ir.computation import Computation

Objects = dict[str, tuple[bytes, ...]]


def main(names: Sequence[str] = LIBRARIES) -> None:
    """Writes the libraries of these targets."""
    for name in names:
        clock = time.perf_counter()
        folder = path_of(name).parent
        folder.mkdir(exist_ok=True)
        for path, count in write(name, recorded_clusters(RECORDED), folder).items():
            print(f"{path}: {count} kernels, {path.stat().st_size:,} bytes")
        print(f"{name}: {time.perf_counter() - clock:.1f} s")


def make_common(folder: Path) -> Path | None:
    """Writes into a folder the library that the processor of this process reads first, of the
    kernels that most models have, and gives its path. None where no library serves this processor,
    and where the package has that library. Raises `OSError`, and as targets compile."""
    *_, name = target_named("native").libraries or ("",)
    present = path_of(name)
    if not name or is_current(present):
        return None
    present.unlink(missing_ok=True)  # of another flowc: nobody reads it
    targets = {tuned: t for level in LIBRARIES for tuned, t in library_targets(level).items()}
    clusters = recorded_clusters([COMMON])
    folder.mkdir(exist_ok=True)
    target = targets.get(name)
    if target is None:  # of a level that is tuned in one way
        write(name, clusters, folder)
    else:
        kernels = _kernels_of_all(clusters, [target])
        write_library(folder / present.name, objects_of(kernels, target))
    return folder / present.name


def fill_cache() -> None:
    """Compiles the same kernels for this processor into the cache in force, as far as they are
    neither there nor in a library. Raises as the target compiles."""
    target, store = target_named("native"), kernel_cache()
    kernels = _kernels_of_all(recorded_clusters(RECORDED), [target])
    with compiling_threads() as threads:
        pending = [threads.submit(store.objects_of, kernel, target) for kernel in kernels]
        native_object(target.processor, store.parts_for(target))
        for made in pending:
            made.result()


def write(name: str, clusters: Iterable[Computation], folder: Path) -> dict[Path, int]:
    """Writes the library of the kernels that some clusters have for a target, as far as they are
    the same however it is tuned, and the libraries of the others; gives how many each has. Raises
    `OSError`, and as targets compile."""
    targets = library_targets(name)
    kernels = _kernels_of_all(clusters, list(targets.values()))
    ways = {tuned: objects_of(kernels, target) for tuned, target in targets.items()}
    first = next(iter(ways.values()))
    same = {key: data for key, data in first.items() if all(w[key] == data for w in ways.values())}
    parts = {name: same} | {
        tuned: {key: data for key, data in found.items() if key not in same}
        for tuned, found in ways.items()
    }
    made = {folder / path_of(library).name: found for library, found in parts.items()}
    for path, objects in made.items():
        write_library(path, objects)
    return {path: len(objects) for path, objects in made.items()}


def _kernels_of_all(clusters: Iterable[Computation], targets: Sequence[Target]) -> list[Kernel]:
    found: dict[str, Kernel] = {}
    for c in clusters:
        for target in targets:
            found |= kernels_of(c, target) | epilogues_of(c, target)
    return list(found.values())


def objects_of(kernels: Iterable[Kernel], target: Target) -> Objects:
    """The objects of kernels, of the routines that they share, and of what every program has."""
    found: Objects = {}
    lock = threading.Lock()

    def kept(name: str, make: Callable[[], tuple[bytes, ...]]) -> tuple[bytes, ...]:
        with lock:
            known = found.get(name)
        if known is None:
            known = make()
            with lock:
                known = found.setdefault(name, known)
        return known

    def compiled(kernel: Kernel) -> tuple[str, tuple[bytes, ...]]:
        return kernel.key, target.objects_of(kernel, kept)

    with compiling_threads() as threads:
        pending = [threads.submit(partial(compiled, kernel)) for kernel in kernels]
        native_object(target.processor, kept)
        own = dict(p.result() for p in pending)
    return found | own
