"""Numba's view of the math functions.

In: a name of the table. Out: a Numba intrinsic of the same name, which emits a call of the LLVM
function; `math_module_text` of the name has to be linked into the compiled module.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from flowc.codegen.math.expression import ir_type
from flowc.codegen.math.table import lookup
from flowc.dtypes import DType, bf16, bool_, f16


@functools.cache
def intrinsic(name: str) -> Callable[..., Any]:
    """The Numba intrinsic `name`. f16 and bf16 are uint16 bits to Numba, bool is uint8.

    Raises `UnknownNameError` for a name that is not in `FUNCTIONS`.
    """
    from numba.core import cgutils, types
    from numba.extending import intrinsic as numba_intrinsic

    entry = lookup(name)

    def numba_type(dtype: DType) -> types.Type:
        if dtype in (f16, bf16):
            return types.uint16
        return types.uint8 if dtype is bool_ else getattr(types, dtype.name)

    signature = numba_type(entry.result)(*(numba_type(a) for a in entry.args))
    kind = ir.FunctionType(ir_type(entry.result), [ir_type(a) for a in entry.args])

    def generate(context: Any, builder: ir.IRBuilder, _signature: Any, args: Any) -> ir.Value:
        callee = cgutils.get_or_insert_function(builder.module, kind, entry.symbol)
        return builder.call(callee, args)

    if len(entry.args) == 1:

        def typing1(typing_context: Any, x: Any) -> Any:
            return signature, generate

        typing: Callable[..., Any] = typing1
    elif len(entry.args) == 2:

        def typing2(typing_context: Any, x: Any, y: Any) -> Any:
            return signature, generate

        typing = typing2
    else:

        def typing3(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
            return signature, generate

        typing = typing3
    typing.__name__ = name
    return numba_intrinsic(typing)
