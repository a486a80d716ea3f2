"""Matrix multiplication of complex numbers, which have no register tiles: plain loops.

In: a complex dtype and which operands are transposed. Out: kernel source. Invariant: each element
of C is summed in the order of the inner dimension, by one task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.extending import intrinsic

from flowc.codegen.cpu.blocked import (
    Argument,
    ContractionSource,
    Epilogue,
    function_text,
    indented,
    no_epilogue,
)
from flowc.codegen.llvm.vector_ir import Values, advance
from flowc.dtypes import DType


@intrinsic
def add_product(typing: Any, total: Any, x: Any, y: Any) -> Any:
    """total + x * y of complex numbers, part by part."""

    def lower(context: Any, b: ir.IRBuilder, signature: Any, values: Values) -> Any:
        (tr, ti), (xr, xi), (yr, yi) = (
            [b.extract_value(value, part) for part in (0, 1)] for value in values
        )
        real = b.fsub(b.fadd(tr, b.fmul(xr, yr)), b.fmul(xi, yi))
        imaginary = b.fadd(b.fadd(ti, b.fmul(xr, yi)), b.fmul(xi, yr))
        result = b.insert_value(values[0], real, 0)
        return b.insert_value(result, imaginary, 1)

    return total(total, x, y), lower


def plain_gemm_source(
    dtype: DType,
    epilogue: Epilogue = no_epilogue,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    name: str = "plain_gemm",
    extra: Sequence[Argument] = (),
) -> ContractionSource:
    """C[batch, m, n] = A x B, B as it is stored. A task is one row of C.

    Arguments: `a, b, c` and the pointers of `extra`; `batch m n k`; `a_stride b_stride c_stride`
    (elements from one stored row to the next); `a_batch b_batch` (from one batch entry to the next,
    0 where all share one); the indices of `extra`; `begin, end`.
    """
    sizes = "batch m n k a_stride b_stride c_stride a_batch b_batch"
    arguments = (
        *(Argument(p, dtype) for p in ("a", "b", "c")),
        *(a for a in extra if a.is_pointer),
        *(Argument(size) for size in sizes.split()),
        *(a for a in extra if not a.is_pointer),
        Argument("begin"),
        Argument("end"),
    )
    first, step = ("i", "a_stride") if transpose_a else ("i * a_stride", "1")
    start = f"""
        for task in range(begin, end):
            batch_index = idiv(task, m)
            i = task - batch_index * m
            x = advance(a, batch_index * a_batch + {first})
            y = advance(b, batch_index * b_batch)
            row = advance(c, task * c_stride)
        """
    dots = f"""
        for j in range(n):
            line = advance(y, j * b_stride)
            total = {dtype}(0)
            for p in range(k):
                total = add_product(total, x[p * {step}], line[p])
            row[j] = total
        """
    rows = f"""
        for j in range(n):
            row[j] = {dtype}(0)
        for p in range(k):
            factor = x[p * {step}]
            line = advance(y, p * b_stride)
            for j in range(n):
                row[j] = add_product(row[j], factor, line[j])
        """
    text = function_text(
        name,
        arguments,
        indented(start, 4),
        indented(dots if transpose_b else rows, 8),
        *epilogue(8, ("task", "(task + 1)"), ("0", "n")),
    )
    symbols = {"advance": advance, "add_product": add_product}
    return ContractionSource(name, text, arguments, "batch * m", 0, symbols)
