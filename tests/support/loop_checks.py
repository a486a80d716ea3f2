"""Loop kernels compiled by themselves, and checked against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from tensor_types import tensor_type

from flowc import dtypes
from flowc.cache.store import DiskCache, KernelCache
from flowc.compiler import Report, compile_computation
from flowc.ir.builder import Builder
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.run.executable import Executable

Array = np.ndarray[Any, Any]
Emit = Callable[..., Any]


@cache
def kernels_in_memory() -> KernelCache:
    return KernelCache(DiskCache(None))


def compiled(
    emit: Emit, types: Sequence[tuple[dtypes.DType, Sequence[Any]]], threads: int = 1
) -> tuple[Executable, str]:
    """The program of `emit(builder, *parameters)` and the source of its kernels."""
    b = Builder()
    parameters = [b.parameter(f"x{i}", tensor_type(*t)) for i, t in enumerate(types)]
    names = [f"x{i}" for i in range(len(types))], ["y"]
    report = Report()
    c = b.build([emit(b, *parameters)])
    spec = spec_of(c, *names)
    program = compile_computation(c, Options(), spec, report=report, kernels=kernels_in_memory())
    source = "\n".join(k.source for k in report.stages.kernels.values())
    return Executable(program, threads), source


def arrays(dtype: dtypes.DType, *shapes: tuple[int, ...]) -> list[Array]:
    rng = np.random.default_rng(len(shapes))
    return [(rng.standard_normal(s) * 50).astype(dtype.numpy) for s in shapes]


def check(
    emit: Emit, expected: Callable[..., Any], given: Sequence[Array], threads: int = 1
) -> str:
    types = [(dtypes.as_dtype(a.dtype), a.shape) for a in given]
    program, source = compiled(emit, types, threads)
    np.testing.assert_array_equal(program.run(given)[0], expected(*given))
    return source
