"""Matrix multiplication kernels: C = A x B over a batch.

In: a `GemmSpec` (structure only; sizes are run-time arguments). Out: kernel source.

`gemm_source` takes B packed: by `pack_gemm_b` for weights known when compiling, or by the kernel of
`pack_source` at run time. A row-major A is copied, a transposed A transposed, block by block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flowc.codegen.blocked import (
    Argument,
    ContractionSource,
    Epilogue,
    add_panels_text,
    arguments_of,
    block_bounds,
    block_of_task,
    block_pointer,
    ceil_div,
    contraction_symbols,
    even_step,
    function_text,
    indented,
    no_epilogue,
)
from flowc.codegen.tiles import TileShape


@dataclass(frozen=True, slots=True)
class GemmSpec:
    """The structure of a matrix multiplication.

    `a_offset` and `b_offset` say where batch entry `batch_index` starts in A and in packed B, in
    elements: expressions over `batch_index` and the index arguments. The default strides are the
    arguments `a_batch` and `b_batch` (0 where an operand is shared by all entries).
    """

    shape: TileShape
    transpose_a: bool = False
    a_offset: str = "batch_index * a_batch"
    b_offset: str = "batch_index * b_batch"


def gemm_source(
    spec: GemmSpec,
    epilogue: Epilogue = no_epilogue,
    *,
    name: str = "gemm",
    extra: Sequence[Argument] = (),
) -> ContractionSource:
    """C[batch, m, n] = A x packed B.

    Arguments: `a, b, c, scratch` and the pointers of `extra`; `batch m n k`; `a_stride` (elements
    from one stored row of A to the next: A is [m, k], or [k, m] with `transpose_a`); `c_stride`;
    `a_batch b_batch` (elements from one batch entry to the next); the indices of `extra`;
    `begin, end`. Row r of batch entry i of C starts at (i * m + r) * c_stride.
    """
    shape = spec.shape
    sizes = ["batch", "m", "n", "k", "a_stride", "c_stride", "a_batch", "b_batch"]
    arguments = arguments_of(shape, "a b c scratch", sizes, extra)
    if spec.transpose_a:
        gather = f"""
            transpose(blocks, advance(a_matrix, k_begin * a_stride + row_begin), depth,
                      row_end - row_begin, {shape.row_stride}, a_stride)
            """
    else:
        gather = f"""
            copy_rows(blocks, advance(a_matrix, row_begin * a_stride + k_begin),
                      row_end - row_begin, depth, {shape.row_stride}, a_stride)
            """
    before = f"""
        k_blocks = {ceil_div("k", shape.depth)} if k > 0 else 1
        k_step = {even_step("k", "k_blocks", shape)}
        inner = k
        """
    operands = f"""
        batch_index = task // (row_blocks * column_blocks)
        block_index = task - batch_index * (row_blocks * column_blocks)
        a_matrix = advance(a, {spec.a_offset})
        panels = advance(b, {spec.b_offset})
        c_block = advance(c, batch_index * m * c_stride)
        """
    steps = """
        for k_block in range(k_blocks):
            k_begin = k_block * k_step
            depth = k_step if k_begin + k_step < k else k - k_begin
            accumulate = 1 if k_begin > 0 else 0
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
        indented(block_bounds(shape), 4),
        indented(before, 4),
        "    for task in range(begin, end):",
        indented(operands, 8),
        indented(block_of_task(shape), 8),
        indented(steps, 8),
        indented(gather, 12),
        indented(add_panels_text(shape), 12),
        *finish,
    )
    tasks = f"batch * {ceil_div('m', shape.block_rows)} * {ceil_div('n', shape.block_columns)}"
    return ContractionSource(
        name, text, arguments, tasks, shape.block_bytes, contraction_symbols(shape)
    )


def pack_source(
    shape: TileShape, *, transpose_b: bool = False, name: str = "pack_panels"
) -> ContractionSource:
    """Packs B[batch, k, n] (stored [n, k] with `transpose_b`) into panels at run time.

    Arguments: `b, packed`; `batch k n`; `b_stride` (elements from one stored row to the next);
    `b_batch`; `begin, end`. Entry i of the result starts at i * panels * k * columns.
    """
    arguments = arguments_of(shape, "b packed", ["batch", "k", "n", "b_stride", "b_batch"], ())
    if transpose_b:
        move = f"""
            transpose(panel, advance(matrix, j * b_stride), columns, k, {shape.columns}, b_stride)
            """
    else:
        move = f"""
            copy_rows(panel, advance(matrix, j), k, columns, {shape.columns}, b_stride)
            """
    text = function_text(
        name,
        arguments,
        indented(
            f"""
            panels = {ceil_div("n", shape.columns)}
            for task in range(begin, end):
                batch_index = task // panels
                j = (task - batch_index * panels) * {shape.columns}
                matrix = advance(b, batch_index * b_batch)
                panel = advance(packed, task * k * {shape.columns})
                columns = n - j if n - j < {shape.columns} else {shape.columns}
                if columns < {shape.columns}:
                    zero_run(panel, k * {shape.columns})
            """,
            4,
        ),
        indented(move, 8),
    )
    tasks = f"batch * {ceil_div('n', shape.columns)}"
    return ContractionSource(name, text, arguments, tasks, 0, contraction_symbols(shape))
