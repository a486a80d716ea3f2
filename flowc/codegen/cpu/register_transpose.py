"""Square tiles transposed in registers, with which a kernel reads its input along columns.

In: a pointer to the first element of a tile and the distance of its rows. Out: the tile's columns,
one after another, in a small buffer. A tile is TILE_SIDE rows of as many elements; each row is one
load.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import types

from flowc.codegen.cpu.loop_choices import TILE_SIDE
from flowc.codegen.cpu.numba_stages import contexts
from flowc.codegen.llvm.numba_functions import numba_function
from flowc.codegen.llvm.vector_ir import load_vector, store_vector
from flowc_runtime.native.writer import I32


def _emit_turn(b: ir.IRBuilder, values: Sequence[Any]) -> None:
    pointer, step, buffer = values
    align = contexts()[1].get_abi_sizeof(pointer.type.pointee)
    rows = []
    for r in range(TILE_SIDE):
        start = b.gep(pointer, [b.mul(step, ir.Constant(step.type, r))])
        rows.append(load_vector(b, start, TILE_SIDE, align))
    for c, column in enumerate(_turned(b, rows)):
        place = b.gep(buffer, [ir.Constant(step.type, c * TILE_SIDE)])
        store_vector(b, column, place, align)


# `target[c*TILE_SIDE + r] = source[r*distance + c]` for all of a tile.
turn_tile = numba_function(
    "turn_tile",
    lambda source, distance, target: types.void(source, types.int64, target),
    _emit_turn,
)


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
