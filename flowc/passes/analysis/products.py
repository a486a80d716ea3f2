"""Products of matrices as batches of rows.

In: a product. Out: how many batch entries it has, each with a right operand of its own, and the
rows of each: what its tasks are made of.
"""

from __future__ import annotations

from flowc.ir.computation import Value
from flowc.ir.dims import Dim, product
from flowc.ir.lowering import MatMul


def entries_and_rows(lowering: MatMul, left: Value, right: Value, result: Value) -> tuple[Dim, Dim]:
    """One right operand for the whole batch makes the rows of its entries those of one."""
    rows = left.dims[-1 if lowering.transpose_a else -2]
    if product(right.dims[:-2]) == 1 and not lowering.transpose_a:
        return 1, rows * product(left.dims[:-2])
    return product(result.dims[:-2]), rows
