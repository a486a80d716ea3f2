"""Matrix multiplication kernels: C = A x B over a batch.

In: a `GemmSpec` (structure only; sizes are run-time arguments). Out: kernel source.

`gemm_source` takes B packed: by `pack_gemm_b` for weights known when compiling, or by the kernel of
`pack_source` at run time. A row-major A is copied, a transposed A transposed, block by block.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from flowc.codegen.cpu.block_copy import copy_rows_routine, transpose_routine, zero_run_routine
from flowc.codegen.cpu.blocked import (
    Argument,
    ContractionSource,
    EpilogueLines,
    LeftOperand,
    arguments_of,
    block_bounds,
    block_count,
    block_pointer,
    block_symbols,
    each_block,
    function_text,
    gemm_block_name,
    indented,
    no_epilogue,
    parts,
    row_cut,
)
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.llvm.vector_ir import advance, ceil_div, least
from flowc.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class GemmSpec:
    """The structure of a matrix multiplication.

    `a_offset` and `b_offset` say where batch entry `batch_index` starts in A and in packed B, in
    elements: expressions over `batch_index` and the index arguments. The default strides are the
    arguments `a_batch` and `b_batch` (0 where an operand is shared by all entries). A of several
    `pieces` is neither transposed nor a batch. `block_rows`: the most
    rows that a block gathers, 0 for as many as have room.
    """

    shape: TileShape
    transpose_a: bool = False
    pieces: int = 1
    a_offset: str = "batch_index * a_batch"
    b_offset: str = "batch_index * b_batch"
    block_rows: int = 0


def gemm_source(
    spec: GemmSpec,
    epilogue: EpilogueLines = no_epilogue,
    *,
    name: str = "gemm",
    extra: Sequence[Argument] = (),
) -> ContractionSource:
    """C[batch, m, n] = A x packed B.

    Arguments: the `LeftOperand`, `b, c, scratch` and the pointers of `extra`; `batch m n k`; the
    sizes of the `LeftOperand` (A is [m, k], or [k, m] with `transpose_a`); `parts`; `c_stride`;
    `a_batch b_batch` (elements from one batch entry to the next); the indices of `extra`;
    `begin, end`. Row r of batch entry i of C starts at (i * m + r) * c_stride.
    """
    shape, left = spec.shape, LeftOperand(spec.pieces)
    sizes = ["batch", "m", "n", "k", *left.sizes, "parts", "c_stride", "a_batch", "b_batch"]
    arguments = arguments_of(shape, f"{left.pointers} b c scratch", sizes, extra)
    matrices = ", ".join(f"advance({part.pointer}, {spec.a_offset})" for part in left.parts)
    operands = f"""
        panels = advance(b, {spec.b_offset})
        c_matrix = advance(c, batch_index * m * c_stride)
        {gemm_block_name(shape, spec.pieces)}(
            blocks, {matrices}, panels, c_matrix, k, {", ".join(left.sizes)}, c_stride,
            row_begin, row_end, column_begin, column_end)
        """
    finish = epilogue(
        8,
        ("(batch_index * m + row_begin)", "(batch_index * m + row_end)"),
        ("column_begin", "column_end"),
    )
    text = function_text(
        name,
        arguments,
        indented(block_pointer(shape), 4),
        indented(block_bounds(shape, spec.block_rows), 4),
        each_block(shape, "batch_index", operands),
        *finish,
    )
    tasks = f"batch * {block_count(shape, 'm', spec.block_rows)}"
    symbols = block_symbols(shape, 2, spec.transpose_a, spec.pieces)
    cut = row_cut(shape, "m")
    return ContractionSource(name, text, arguments, tasks, shape.block_bytes, symbols, cut)


def pack_source(
    shape: TileShape, *, transpose_b: bool = False, name: str = "pack_panels"
) -> ContractionSource:
    """Packs B[batch, k, n] (stored [n, k] with `transpose_b`) into panels at run time.

    Arguments: `b, packed`; `batch k n rest`; `b_stride` (elements from one stored row to the next);
    `b_batch`; `begin, end`. Panels are of `shape.columns`, the last of each entry of `rest`, in
    which columns behind those of B are zeros.
    """
    names = ["batch", "k", "n", "rest", "b_stride", "b_batch"]
    arguments = arguments_of(shape, "b packed", names, ())
    if transpose_b:
        move = "transpose(panel, advance(matrix, j * b_stride), columns, k, width, b_stride)"
    else:
        move = "copy_rows(panel, advance(matrix, j), k, columns, width, b_stride)"
    text = function_text(
        name,
        arguments,
        indented(
            f"""
            panels = ceil_div(n, {shape.columns})
            entry_columns = (panels - 1) * {shape.columns} + rest
            for task in range(begin, end):
                batch_index = idiv(task, panels)
                j = (task - batch_index * panels) * {shape.columns}
                matrix = advance(b, batch_index * b_batch)
                panel = advance(packed, (batch_index * entry_columns + j) * k)
                columns = least(n - j, {shape.columns})
                width = rest if columns == n - j else {shape.columns}
                if columns < width:
                    zero_run(panel, k * width)
                {move}
            """,
            4,
        ),
    )
    tasks = f"batch * {parts('n', shape.columns)}"
    return ContractionSource(name, text, arguments, tasks, 0, _pack_symbols(shape))


@lru_cache(maxsize=64)
def _pack_symbols(shape: TileShape) -> dict[str, Any]:
    return {
        "advance": advance,
        "least": least,
        "ceil_div": ceil_div,
        "zero_run": zero_run_routine(shape).function,
        "copy_rows": copy_rows_routine(shape).function,
        "transpose": transpose_routine(shape).function,
    }
