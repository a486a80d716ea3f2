"""Compiled objects kept in memory and on disk.

In: a kernel and a target, or a Computation. Out: object code, or an Executable.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from flowc.codegen.target import Target
from flowc.ir.computation import Computation
from flowc.ir.options import Options

if TYPE_CHECKING:
    from flowc.codegen.kernel import Kernel
    from flowc.executable import Executable


class KernelCache:
    """Objects of kernels by content, for the life of the process."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], bytes] = {}

    def object_of(self, kernel: Kernel, target: Target) -> bytes:
        key = (kernel.key, target.key)
        if key not in self.objects:
            from flowc.codegen.program import kernel_object

            self.objects[key] = kernel_object(kernel, target)
        return self.objects[key]


@cache
def kernel_cache() -> KernelCache:
    return KernelCache()


def load_executable(
    c: Computation,
    options: Options,
    names: tuple[Sequence[str], Sequence[str]],
    threads: int | None = None,
) -> Executable:
    """The program of a Computation, ready to run."""
    from flowc.compiler import compile_computation
    from flowc.executable import Executable

    return Executable(compile_computation(c, options, names), threads)
