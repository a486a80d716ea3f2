"""A contraction source compiled for this machine and called with NumPy arrays.

In: a `ContractionSource`. Out: a callable. Used by tests and benchmarks, which want one kernel
without a graph around it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from flowc.codegen.cpu.blocked import ContractionSource
from flowc.codegen.cpu.kernel_text import module_texts
from flowc.codegen.link.jit import engine_of
from flowc.codegen.llvm.compile import optimized_module
from flowc.codegen.targets import target_named

NAN = 0x7FC00000  # the bits of a float
GUARD = 1 << 16  # floats before the scratch, which nothing may touch


class Compiled:
    """A compiled source: called with NumPy arrays for pointers and ints for sizes."""

    def __init__(self, source: ContractionSource) -> None:
        self.source = source
        machine = target_named("native").processor.target_machine()
        kernel = source.kernel
        module = optimized_module(
            module_texts(kernel), machine, speed=2, loops=not kernel.as_written
        )
        self.engine = engine_of([machine.emit_object(module)])
        address = self.engine.get_function_address(kernel.key)
        word = ctypes.c_int64
        self.function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, word, word, word)(
            address
        )
        memory = np.full(GUARD + source.scratch_bytes // 4 + 64, NAN, np.uint32)
        self.guard, self.scratch = memory[:GUARD], memory[GUARD:]

    def bind(self, *operands: np.ndarray, **sizes: int) -> Callable[..., None]:
        """A call with these operands; `scratch` is filled in, and sizes go by name: `parts` is 1

        unless it is given. The argument of the call says in how many pieces all tasks are run.
        """
        sizes = {"parts": 1, **sizes}
        arrays = iter(operands)
        pointers, numbers = [], []
        for argument in self.source.arguments[:-2]:
            if argument.name == "scratch":
                pointers.append(-(-self.scratch.ctypes.data // 64) * 64)
            elif argument.is_pointer:
                pointers.append(next(arrays).ctypes.data)
            else:
                numbers.append(sizes[argument.name])
        buffers = (ctypes.c_void_p * len(pointers))(*pointers)
        dims = (ctypes.c_int64 * (len(numbers) + 1))(*numbers)
        tasks = eval(self.source.tasks, {}, dict(sizes))

        def call(splits: int = 1) -> None:
            for part in range(splits):
                begin, end = tasks * part // splits, tasks * (part + 1) // splits
                self.function(buffers, dims, begin, end, 0)
            assert (self.guard == NAN).all(), "written before the scratch"

        return call

    def __call__(self, *operands: np.ndarray, splits: int = 1, **sizes: int) -> None:
        self.bind(*operands, **sizes)(splits)
