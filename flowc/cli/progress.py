"""What a long command tells while it works: a line on a terminal, only notes elsewhere.

In: stages as they begin. Out: stderr. Invariant: where stderr is no terminal nothing but what `say`
is given is written, and rich is not imported.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from flowc.cache.store import KernelCache, kernel_cache

if TYPE_CHECKING:
    from flowc.codegen.kernels.kernel import Kernel
    from flowc.codegen.program import Stages
    from flowc.codegen.target import Target


class Progress:
    """Says what goes on; quiet by itself."""

    def stage(self, name: str | None) -> None:
        """What begins now; None when all is done."""

    def say(self, text: str) -> None:
        """A note that stays."""
        print(text, file=sys.stderr)

    def counting_kernels(self, made: Stages) -> KernelCache:
        """The cache of kernels, which tells of each one that is asked for, and how many of `made`
        there are."""
        return _CountingKernels(kernel_cache(), self, made)


class _CountingKernels(KernelCache):
    def __init__(self, cache: KernelCache, shown: Progress, made: Stages) -> None:
        super().__init__(cache.disk)
        self.objects = cache.objects
        self.shown, self.made = shown, made
        self.numbers = itertools.count(1)

    def objects_of(self, kernel: Kernel, target: Target) -> tuple[bytes, ...]:
        # Several threads compile: the next number is each time another one.
        self.shown.stage(f"kernel {next(self.numbers)} of {len(self.made.kernels)}")
        return super().objects_of(kernel, target)


class _Terminal(Progress):
    """A spinner with the stage beside it."""

    def __init__(self, status: Any) -> None:
        self.status = status

    def stage(self, name: str | None) -> None:
        if name is None:
            self.status.stop()
        else:
            self.status.update(name)

    def say(self, text: str) -> None:
        self.status.console.print(text, markup=False, highlight=False)


class _StageLines(Progress):
    """A line for each stage, with the seconds since the first."""

    def __init__(self) -> None:
        self.began = time.perf_counter()

    def stage(self, name: str | None) -> None:
        self.say(f"{time.perf_counter() - self.began:8.3f} s  {name or 'done'}")


@contextmanager
def progress(verbose: bool = False) -> Iterator[Progress]:
    """The progress of one command; `verbose`: every stage stays."""
    if verbose:
        yield _StageLines()
        return
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield Progress()
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield _Terminal(status)
