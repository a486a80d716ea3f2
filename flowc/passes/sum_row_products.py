"""Products of one row with what the run computes, as sums.

In: a Computation of ops that are not lowered yet. Out: one in which `x[1, k] @ y[k, n]`, or one row
for each entry of a batch, is the sum of x's elements times y's rows. A product packs its right
operand into panels, which takes as long as reading it several times and pays where rows share them;
a sum reads it once, where it is. So attend the tokens that a language model adds one by one. A
known right operand is packed when the program is compiled, and stays one of a product.
"""

from __future__ import annotations

import numpy as np

from flowc import dtypes
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import product
from flowc.ir.lowering import MatMul
from flowc.ir.rewrite import Rewriter, rewrite_nodes
from flowc.options import Options


def sum_row_products(c: Computation, options: Options) -> Computation:
    if options.has_gpu or not any(map(_is_row_product, c.nodes)):
        return c
    return rewrite_nodes(c, _summed)


def _is_row_product(node: Node) -> bool:
    lowering = node.lowering
    if not isinstance(lowering, MatMul) or lowering.pieces > 1 or node.after:
        return False
    x, y = node.inputs
    if y.constant is not None or x.type.dtype not in (dtypes.f32, dtypes.f64):
        return False
    (*batch, rows, inner), right = x.dims, y.dims[-1 if lowering.transpose_b else -2]
    if lowering.transpose_a:
        rows, inner = inner, rows
    elif product(y.dims[:-2]) == 1:
        rows = rows * product(batch)  # entries that share an operand are more rows
    return rows == 1 and inner == right


def _summed(b: Rewriter, node: Node) -> Value | None:
    if not _is_row_product(b.old):
        return None
    assert isinstance(node.lowering, MatMul)
    x, y = node.inputs
    inner = x.dims[-2 if node.lowering.transpose_a else -1]
    across = node.lowering.transpose_b
    row = (*x.dims[:-2], *((1, inner) if across else (inner, 1)))
    terms = b.mul(x if x.dims == row else b.reshape(x, row), y)
    axis = np.array([terms.type.rank - (1 if across else 2)], np.int32)
    total = b.sum(terms, axis, keep_dims=not across)
    return b.reshape(total, node.output.dims) if across else total
