"""How many vectors of a loop are computed at a time: how a kernel's source tells LLVM.

In: a kernel whose source calls `interleave()` or `interleave_two()` last in the body of an
innermost loop. Out: the branch back to the head of that loop tells LLVM's vectoriser how many
iterations to interleave, and the call is gone.

A polynomial is a chain of multiply-adds that each wait for the one before: other chains beside it
fill the gaps. LLVM does so by itself only for sums and loops of few instructions: of these, often
more than a loop over the columns of a product has, whose rest then goes by small vectors and one by
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import types

from flowc.codegen.llvm.numba_functions import numba_function
from flowc_runtime.native.writer import VOID, declare

COUNT = 4  # vectors; 8 gain nothing more, with 16 registers or 32
MARK = "flowc.vectors."  # and their number


def _mark(name: str, count: int) -> Any:
    """The function that asks for so many, for the loop at whose end it is called."""

    def emit(b: ir.IRBuilder, values: Sequence[Any]) -> None:
        b.call(declare(b.module, f"{MARK}{count}", ir.FunctionType(VOID, [])), [])

    return numba_function(name, types.void(), emit)


interleave = _mark("interleave", COUNT)
interleave_two = _mark("interleave_two", 2)


def mark_loops(module: ir.Module) -> None:
    """Turns every call of such a function into metadata of the branch behind it."""
    for count in (COUNT, 2):
        mark: Any = module.globals.get(f"{MARK}{count}")
        if mark is None:
            continue
        for block in (block for function in module.functions for block in function.blocks):
            calls = [i for i in block.instructions if getattr(i, "callee", None) is mark]
            if calls:
                block.instructions = [i for i in block.instructions if i not in calls]
                block.terminator.set_metadata("llvm.loop", _loop_identity(module, count))
        del module.globals[f"{MARK}{count}"]


def _loop_identity(module: ir.Module, count: int) -> Any:
    """A node that is its own first operand: LLVM tells loops apart by it."""
    asked = module.add_metadata(["llvm.loop.interleave.count", ir.Constant(ir.IntType(32), count)])
    node: Any = module.add_metadata([asked, ir.Constant(ir.IntType(32), len(module.metadata))])
    node.operands = [node, asked]
    return node
