"""LLVM instructions as functions that Numba's nopython code calls.

In: a signature, and what a call emits. Out: an intrinsic of Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.extending import intrinsic


def numba_function(
    name: str, signature: Any, emit: Callable[[ir.IRBuilder, Sequence[Any]], Any]
) -> Any:
    """A function for Numba; `emit(b, values)` returns its result, None where it has none."""

    def lower(context: Any, b: ir.IRBuilder, _: Any, values: Sequence[Any]) -> Any:
        result = emit(b, values)
        return context.get_dummy_value() if result is None else result

    # Numba takes an intrinsic's arity from its Python signature, so one is written for it.
    given = ", ".join(["typing", *(f"x{i}" for i in range(len(signature.args)))])
    scope: dict[str, Any] = {"typed": (signature, lower)}
    exec(f"def {name}({given}): return typed", scope)
    return intrinsic(scope[name])
