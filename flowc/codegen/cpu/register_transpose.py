"""Square tiles turned in registers: what lets a kernel read down the columns of its input.

In: a pointer to the first element of a tile and the distance of its rows. Out: the tile's columns,
one after another, in a small buffer. A tile is TILE_SIDE rows of as many elements; each row is one
load.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from flowc.codegen.cpu.loop_choices import TILE_SIDE
from flowc.codegen.llvm.vector_ir import load_vector, store_vector
from flowc_runtime.native.writer import I32


@intrinsic
def turn_tile(typing_context: Any, source: Any, distance: Any, target: Any) -> Any:
    """`target[c*TILE_SIDE + r] = source[r*distance + c]` for all of a tile."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        pointer, step, buffer = args
        align = context.get_abi_sizeof(pointer.type.pointee)
        rows = []
        for r in range(TILE_SIDE):
            start = builder.gep(pointer, [builder.mul(step, ir.Constant(step.type, r))])
            rows.append(load_vector(builder, start, TILE_SIDE, align))
        for c, column in enumerate(_turned(builder, rows)):
            place = builder.gep(buffer, [ir.Constant(step.type, c * TILE_SIDE)])
            store_vector(builder, column, place, align)
        return context.get_dummy_value()

    return types.void(source, types.int64, target), emit


def _turned(builder: ir.IRBuilder, rows: list[Any]) -> list[Any]:
    """The transposed square: for each power of two, rows that far apart swap blocks that wide."""
    step = TILE_SIDE // 2
    while step:
        turned = list(rows)
        upper, lower = _swap_masks(step)
        for r in range(TILE_SIDE):
            if not r & step:
                pair = rows[r], rows[r + step]
                turned[r] = builder.shuffle_vector(*pair, upper)
                turned[r + step] = builder.shuffle_vector(*pair, lower)
        rows = turned
        step //= 2
    return rows


def _swap_masks(step: int) -> tuple[Any, Any]:
    """Lanes of a pair of rows (the second's follow the first's) after its blocks are swapped."""
    upper = [lane if not lane & step else TILE_SIDE + lane - step for lane in range(TILE_SIDE)]
    lower = [lane + step if not lane & step else TILE_SIDE + lane for lane in range(TILE_SIDE)]
    kind = ir.VectorType(I32, TILE_SIDE)
    return ir.Constant(kind, upper), ir.Constant(kind, lower)
