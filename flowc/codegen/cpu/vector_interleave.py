"""Vectorisation hints: how many vectors LLVM interleaves in a loop of a kernel.

In: a kernel whose source calls one of these functions last in the body of an innermost loop. Out:
metadata of the branch back to the head of that loop, and the call is gone.

`interleave()`: COUNT vectors are computed at a time. A polynomial is a chain of multiply-adds that
each wait for the one before: other chains beside it fill the gaps. LLVM does so by itself only for
sums and loops of few instructions. `interleave_two()`: two vectors. Of the loops of few
instructions LLVM interleaves more than a loop over the columns of a product has, whose rest then
goes by small vectors and one by one; `interleave_one()`: one vector, where two would leave one
over. `keep_rolled()`: a short loop of known length is not written out element by element before it
is made of vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llvmlite import ir

from flowc.codegen.llvm.kernel_functions import KernelFunction
from flowc.codegen.llvm.loop_metadata import NO_UNROLLING, ask_of_loop
from flowc_runtime.native.writer import VOID, declare

COUNT = 4  # vectors; 8 gain nothing more, with 16 registers or 32
MARK = "flowc.loop."  # and what is asked for
_METADATA: Mapping[str, tuple[str, int | None]] = {
    "interleave": ("llvm.loop.interleave.count", COUNT),
    "interleave_two": ("llvm.loop.interleave.count", 2),
    "interleave_one": ("llvm.loop.interleave.count", 1),
    "keep_rolled": (NO_UNROLLING, None),
}


def _mark(name: str) -> KernelFunction:
    """A function that kernels call at the end of a loop's body to ask for the metadata `name`."""

    def emit(b: ir.IRBuilder, values: Sequence[Any]) -> None:
        b.call(declare(b.module, MARK + name, ir.FunctionType(VOID, [])), [])

    return KernelFunction(name, lambda types: types.void(), emit)


MARKS: Mapping[str, KernelFunction] = {name: _mark(name) for name in _METADATA}


def mark_loops(module: ir.Module) -> None:
    """Replaces every call of a function in `MARKS` by metadata of the branch that follows it."""
    for name, asked in _METADATA.items():
        mark: Any = module.globals.get(MARK + name)
        if mark is None:
            continue
        for block in (block for function in module.functions for block in function.blocks):
            calls = [i for i in block.instructions if getattr(i, "callee", None) is mark]
            if calls:
                block.instructions = [i for i in block.instructions if i not in calls]
                ask_of_loop(block.terminator, *asked)
        del module.globals[MARK + name]
