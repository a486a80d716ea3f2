"""Loops of which several vectors are computed at a time: how a kernel's source asks LLVM for it.

In: a kernel whose source calls `interleave()` last in the body of an innermost loop. Out: the
branch back to the head of that loop tells LLVM's vectoriser to interleave COUNT iterations, and the
call is gone. A polynomial is a chain of multiply-adds that each wait for the one before: other
chains beside it fill the gaps. LLVM does so by itself only for sums and loops of few instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import types

from flowc.codegen.llvm.numba_functions import numba_function
from flowc_runtime.native.writer import VOID, declare

COUNT = 4  # vectors; 8 gain nothing more, with 16 registers or 32
MARK = "flowc.interleave"


def _emit_mark(b: ir.IRBuilder, values: Sequence[Any]) -> None:
    b.call(declare(b.module, MARK, ir.FunctionType(VOID, [])), [])


# Asks for the loop at whose end it is called.
interleave = numba_function("interleave", types.void(), _emit_mark)


def mark_loops(module: ir.Module) -> None:
    """Turns every call of `interleave()` into metadata of the branch behind it."""
    mark: Any = module.globals.get(MARK)
    if mark is None:
        return
    for function in module.functions:
        for block in function.blocks:
            calls = [i for i in block.instructions if getattr(i, "callee", None) is mark]
            if calls:
                block.instructions = [i for i in block.instructions if i not in calls]
                block.terminator.set_metadata("llvm.loop", _loop_identity(module))
    del module.globals[MARK]


def _loop_identity(module: ir.Module) -> Any:
    """A node that is its own first operand: LLVM tells loops apart by it."""
    count = module.add_metadata(["llvm.loop.interleave.count", ir.Constant(ir.IntType(32), COUNT)])
    node: Any = module.add_metadata([count, ir.Constant(ir.IntType(32), len(module.metadata))])
    node.operands = [node, count]
    return node
