"""What a loop asks of LLVM.

In: the branch back to the head of a loop. Out: its metadata. Invariant: metadata change how fast a
loop is, never what it computes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

I32 = ir.IntType(32)
UNROLLING = "llvm.loop.unroll.count"
NO_UNROLLING = "llvm.loop.unroll.disable"


def unroll(branch: Any, count: int) -> None:
    """Asks for an iteration that does what `count` of them do; of 1, for a loop that stays one."""
    if count > 1:
        ask_of_loop(branch, UNROLLING, count)
    else:
        ask_of_loop(branch, NO_UNROLLING)


def ask_of_loop(branch: Any, key: str, number: int | None = None) -> None:
    """Asks for `key`, of the loop that the branch closes."""
    module: Any = branch.module
    value = [] if number is None else [I32(number)]
    asked = module.add_metadata([key, *value])
    # A node that is its own first operand: LLVM tells loops apart by it.
    node: Any = module.add_metadata([asked, I32(len(module.metadata))])
    node.operands = [node, asked]
    branch.set_metadata("llvm.loop", node)
