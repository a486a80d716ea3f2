"""Numba's view of the math functions.

In: a name of the table. Out: a Numba intrinsic of the same name, which emits a call of the LLVM
function; `math_module_text` of the name has to be linked into the compiled module.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from flowc.codegen.llvm.quantity import ir_type
from flowc.codegen.math.table import lookup
from flowc.dtypes import DType, bf16, bool_, f16
from flowc_runtime.native.writer import declare


@functools.cache
def intrinsic(name: str) -> Callable[..., Any]:
    """The Numba intrinsic `name`. f16 and bf16 are uint16 bits to Numba, bool is uint8.

    Raises `UnknownNameError` for a name that is not in `FUNCTIONS`.
    """
    from numba.core import types

    from flowc.codegen.llvm.numba_functions import numba_function

    entry = lookup(name)

    def numba_type(dtype: DType) -> types.Type:
        if dtype in (f16, bf16):
            return types.uint16
        return types.uint8 if dtype is bool_ else getattr(types, dtype.name)

    signature = numba_type(entry.result)(*(numba_type(a) for a in entry.args))
    kind = ir.FunctionType(ir_type(entry.result), [ir_type(a) for a in entry.args])
    return numba_function(
        name, signature, lambda b, values: b.call(declare(b.module, entry.symbol, kind), values)
    )
