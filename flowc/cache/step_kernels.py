"""Native kernels that steps of Python call, without the interpreter's lock.

In: a kernel in Python source. Out: a function of arrays and integers. Invariant: a kernel is
compiled once, and comes from the cache on disk from then on.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from flowc.cache.store import kernel_cache
from flowc.codegen.link.jit import open_functions
from flowc.codegen.targets import step_kernel, target_named
from flowc.ir.host_run import NativeCall, StepKernel
from flowc_runtime.addresses import data_address

_FUNCTION = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64
)


def open_kernel(wanted: StepKernel) -> NativeCall:
    """The kernel as a function; its range is one step."""
    kernel = step_kernel(wanted)
    objects = kernel_cache().objects_of(kernel, target_named("native"))
    engine, (address,) = open_functions(objects, [kernel.key])
    native = _FUNCTION(address)
    table = ctypes.c_void_p * len(wanted.buffers)
    words = ctypes.c_int64 * wanted.ints

    def call(arrays: Sequence[Any], ints: Sequence[int], _owner: object = engine) -> None:
        native(table(*map(data_address, arrays)), words(*ints), 0, 1, 0)

    return call
