"""Makes the package's libraries of kernels: `make library` calls `main`.

In: the recorded clusters and the names of targets. Out: a library for each, beside library.py, and
libraries of what LLVM makes in another way for some processors than for others.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from flowc.cache.library import path_of, write_library
from flowc.cache.recorded_clusters import (
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
        path_of(name).parent.mkdir(exist_ok=True)
        for path, count in write(name, recorded_clusters(RECORDED)).items():
            print(f"{path}: {count} kernels, {path.stat().st_size:,} bytes")
        print(f"{name}: {time.perf_counter() - clock:.1f} s")


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


def write(name: str, clusters: Iterable[Computation]) -> dict[Path, int]:
    """Writes the library of the kernels that some clusters have for a target, as far as they are
    the same however it is tuned, and the libraries of the others; gives how many each has. Raises
    `OSError`, and as targets compile."""
    targets = library_targets(name)
    kernels = _kernels_of_all(clusters, list(targets.values()))
    made = {tuned: objects_of(kernels, target) for tuned, target in targets.items()}
    first = next(iter(made.values()))
    same = {key: data for key, data in first.items() if all(m[key] == data for m in made.values())}
    parts = {name: same} | {
        tuned: {key: data for key, data in found.items() if key not in same}
        for tuned, found in made.items()
    }
    for library, found in parts.items():
        write_library(path_of(library), found)
    return {path_of(library): len(found) for library, found in parts.items()}


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
