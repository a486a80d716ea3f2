"""Small programs to measure: a function over a Builder, compiled and bound to its arrays.

In: a function that emits nodes, and input arrays. Out: a call that runs the native code once, with
its buffers in place, so that only the kernels are timed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.cache.store import DiskCache, KernelCache
from flowc.compiler import Report, compile_computation
from flowc.ir.builder import Builder
from flowc.ir.program_spec import spec_of
from flowc.ir.types import TensorType
from flowc.options import Options
from flowc.run.executable import Executable


@dataclass(frozen=True, slots=True)
class Program:
    """`run()` computes once; `report` says what the compilation did."""

    executable: Executable
    arrays: tuple[np.ndarray[Any, Any], ...]
    report: Report

    def run(self) -> list[np.ndarray[Any, Any]]:
        return self.executable.run(self.arrays)


def compiled(
    emit: Callable[..., Any], arrays: Sequence[np.ndarray[Any, Any]], *, threads: int = 1
) -> Program:
    """Compiles `emit(builder, *parameters)` for inputs like the arrays, past every cache."""
    b = Builder()
    parameters = [
        b.parameter(f"x{i}", TensorType(dtypes.as_dtype(a.dtype), a.shape))
        for i, a in enumerate(arrays)
    ]
    made = emit(b, *parameters)
    results = list(made) if isinstance(made, (list, tuple)) else [made]
    names = [f"x{i}" for i in range(len(arrays))], [f"y{i}" for i in range(len(results))]
    report = Report()
    c = b.build(results)
    program = compile_computation(
        c, Options(), spec_of(c, *names), report=report, kernels=KernelCache(DiskCache(None))
    )
    return Program(Executable(program, threads), tuple(arrays), report)
