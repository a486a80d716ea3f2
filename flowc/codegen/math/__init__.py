"""Scalar math functions as LLVM IR that the loop vectoriser can see through.

In: names of `FUNCTIONS`. Out: `math_module_text(names)`, LLVM text to be linked into a kernel
module, and `intrinsic(name)`, with which Numba source calls a function by its table entry.
Invariant: no function calls anything outside the text but LLVM intrinsics that are instructions on
x86-64-v2; functions whose entry does not say `loops` are branch-free.
"""

from __future__ import annotations

from flowc.codegen.math import (
    conversions,
    error_functions,
    exponential,
    gamma,
    integers,
    inverse_trigonometric,
    normal,
    power,
    special,
    trigonometric,
)
from flowc.codegen.math.numba_intrinsics import intrinsic
from flowc.codegen.math.table import FUNCTIONS, MathFunction, lookup, math_module_text

__all__ = [
    "FUNCTIONS",
    "MathFunction",
    "conversions",
    "error_functions",
    "exponential",
    "gamma",
    "integers",
    "intrinsic",
    "inverse_trigonometric",
    "lookup",
    "math_module_text",
    "normal",
    "power",
    "special",
    "trigonometric",
]
