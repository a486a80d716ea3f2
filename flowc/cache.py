"""Compiled objects kept in memory and on disk.

In: a kernel and a target, or the key of a program. Out: object code.
"""

from __future__ import annotations

from functools import cache

from flowc.codegen.kernel import Kernel
from flowc.codegen.target import Target


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
