"""LLVM instructions as functions that Numba's nopython code calls.

In: a signature, and what a call emits. Out: an intrinsic of Numba.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.extending import intrinsic


def numba_function(
    name: str, signature: Any, emit: Callable[[ir.IRBuilder, Sequence[Any]], Any]
) -> Any:
    """A function for Numba; `emit(b, values)` returns its result, None where it has none.
    `signature` is one of Numba, or a function that makes it from the types of the operands, None
    for those that it does not take."""

    def lower(context: Any, b: ir.IRBuilder, _: Any, values: Sequence[Any]) -> Any:
        result = emit(b, values)
        return context.get_dummy_value() if result is None else result

    def typed(*operands: Any) -> Any:
        found = signature(*operands) if callable(signature) else signature
        return None if found is None else (found, lower)

    # Numba takes an intrinsic's arity from its Python signature, so one is written for it.
    arity = len(inspect.signature(signature).parameters if callable(signature) else signature.args)
    given = ", ".join(f"x{i}" for i in range(arity))
    scope: dict[str, Any] = {"typed": typed}
    exec(f"def {name}(typing, {given}): return typed({given})", scope)
    return intrinsic(scope[name])
