"""Loops of which several vectors are computed at a time: how a kernel's source asks LLVM for it.

In: a kernel whose source calls `interleave()` last in the body of an innermost loop. Out: the
branch back to the head of that loop tells LLVM's vectoriser to interleave COUNT iterations, and the
call is gone. A polynomial is a chain of multiply-adds that each wait for the one before: other
chains beside it fill the gaps. LLVM does so by itself only for sums and loops of few instructions.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from flowc.codegen.kernels.cluster import ClusterLowering
from flowc.ir.dims import Dim

COUNT = 4  # vectors; 8 gain nothing more, with 16 registers or 32
SHORT = 512  # elements of a loop whose rest matters, unless they are a multiple of WHOLE
WHOLE = 64
MARK = "flowc.interleave"


def end_dear_loop(c: ClusterLowering, count: Dim) -> None:
    """Asks, at the end of a dear innermost loop over `count` elements, for several vectors at a
    time, unless it is so short that its rest, which goes by smaller vectors, matters."""
    if not isinstance(count, int) or count >= SHORT or count % WHOLE == 0:
        c.nest.invoke("interleave")


@intrinsic
def interleave(typing: Any) -> Any:
    """Asks for the loop at whose end this stands."""

    def lower(context: Any, b: ir.IRBuilder, signature: Any, values: Any) -> Any:
        mark = b.module.globals.get(MARK)
        if mark is None:
            mark = ir.Function(b.module, ir.FunctionType(ir.VoidType(), []), MARK)
        b.call(mark, [])
        return context.get_dummy_value()

    return types.void(), lower


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
