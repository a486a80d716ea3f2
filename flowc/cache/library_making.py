"""Makes the package's libraries of kernels: `make library` calls `main`.

In: the recorded clusters and the names of targets. Out: a library for each, beside library.py. What
LLVM makes in another way for some processor than for others is left to be compiled there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from flowc.cache.library import path_of, write_library
from flowc.cache.recorded_clusters import RECORDED, kernels_of, recorded_clusters
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
        clock, path = time.perf_counter(), path_of(name)
        path.parent.mkdir(exist_ok=True)
        kernels, left_out = write(path, library_targets(name), recorded_clusters(RECORDED))
        seconds, size = time.perf_counter() - clock, path.stat().st_size
        print(f"{path}: {kernels} kernels, {size:,} bytes, {left_out} left out, {seconds:.1f} s")


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


def write(
    path: Path, targets: Sequence[Target], clusters: Iterable[Computation]
) -> tuple[int, int]:
    """Writes the library of the kernels that some clusters have for any of the targets, as far as
    they are the same for all; gives how many these are, and how many are not. Raises `OSError`, and
    as targets compile."""
    kernels = _kernels_of_all(clusters, targets)
    made = [objects_of(kernels, target) for target in targets]
    same = {name: data for name, data in made[0].items() if all(m[name] == data for m in made)}
    write_library(path, same)
    return len(same), len(made[0]) - len(same)


def _kernels_of_all(clusters: Iterable[Computation], targets: Sequence[Target]) -> list[Kernel]:
    found: dict[str, Kernel] = {}
    for c in clusters:
        for target in targets:
            found |= kernels_of(c, target)
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
