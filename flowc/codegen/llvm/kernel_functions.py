"""LLVM instructions as functions that the source of kernels calls by name.

In: a signature, and what a call emits. Out: what stands in a kernel for the function until Numba
reads the source: who makes a kernel whose code is in a library or a cache needs no Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from flowc.dataclass import dataclass
from flowc.ir.cached_property import cached_property


@dataclass(frozen=True, eq=False)
class KernelFunction:
    """`signature`: of Numba's module of types, what `numba_function` takes as one; `emit`: what a
    call emits, which gives its result, if any; `routine`: tells it from others of its name."""

    name: str
    signature: Callable[[Any], Any]
    emit: Callable[[ir.IRBuilder, Sequence[Any]], Any]
    routine: str = ""

    @cached_property
    def for_numba(self) -> Any:
        """What Numba takes as the function."""
        from numba.core import types

        from flowc.codegen.llvm.numba_functions import numba_function

        return numba_function(self.name, self.signature(types), self.emit)
