"""Products of a matrix and a vector, as sums.

In: a Computation of ops that are not lowered yet. Out: one in which `x[1, k] @ y[k, n]`, or one row
for each entry of a batch, is the sum of x's elements times y's rows, and `x[m, k] @ y[k, 1]` that
of y's elements times x's columns. A product packs its right operand into panels, which takes as
long as reading it several times and pays where rows share them, and its tiles have several columns;
a sum reads a matrix once, where it is, by whole vectors. So attend the tokens that a language model
adds one by one. A known matrix that one row is multiplied with is packed when the program is
compiled, and that stays a product. `x[m, 1] @ y[1, n]` has nothing to add up: its elements are
products, to which 0 is added, as a sum of -0.0 alone is 0.
"""

from __future__ import annotations

import numpy as np

from flowc import dtypes
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, product
from flowc.ir.lowering import MatMul
from flowc.ir.rewrite import Rewriter, rewrite_nodes
from flowc.options import Options

SHORT = 32  # rows of fewer elements take longer to begin and to end than to add up


def sum_vector_products(c: Computation, options: Options) -> Computation:
    products = [n for n in c.nodes if isinstance(n.lowering, MatMul)]
    has_sums = any(_has_row(n) or _has_column(n) or _is_outer(n) for n in products)
    if options.has_gpu or not has_sums:
        return c
    return rewrite_nodes(c, _summed)


def _sizes(node: Node) -> tuple[Dim, Dim, Dim] | None:
    """Rows, inner size and columns of a product that may be a sum."""
    lowering = node.lowering
    if not isinstance(lowering, MatMul) or lowering.pieces > 1 or node.after:
        return None
    x, y = node.inputs
    rows, inner = x.dims[:-3:-1] if lowering.transpose_a else x.dims[-2:]
    columns, right = y.dims[-2:] if lowering.transpose_b else y.dims[:-3:-1]
    is_float = x.type.dtype in (dtypes.f32, dtypes.f64)
    return (rows, inner, columns) if is_float and inner == right else None


def _is_outer(node: Node) -> bool:
    """Whether each element of the result is one product."""
    sizes = _sizes(node)
    return sizes is not None and sizes[1] == 1


def _has_row(node: Node) -> bool:
    """Whether each matrix that the run computes is multiplied with one row."""
    sizes = _sizes(node)
    if sizes is None or sizes[0] != 1 or node.inputs[1].constant is not None:
        return False
    x, y = node.inputs
    # Entries that share a matrix are more rows.
    return product(y.dims[:-2]) != 1 or product(x.dims[:-2]) == 1


def _has_column(node: Node) -> bool:
    """Whether matrices are multiplied with one column, which is not short."""
    sizes = _sizes(node)
    if sizes is None or sizes[2] != 1:
        return False
    return not (isinstance(sizes[1], int) and sizes[1] < SHORT)


def _summed(b: Rewriter, node: Node) -> Value | None:
    lowering = node.lowering
    if not isinstance(lowering, MatMul):
        return None
    if _is_outer(b.old):
        return _outer(b, node, *node.inputs)
    if _has_row(b.old):
        vector, matrix = node.inputs
        return _sum(b, node, vector, matrix, lowering.transpose_b)
    if _has_column(b.old):
        matrix, vector = node.inputs
        return _sum(b, node, vector, matrix, not lowering.transpose_a)
    return None


def _outer(b: Rewriter, node: Node, x: Value, y: Value) -> Value:
    *_, rows, columns = node.output.dims
    terms = b.mul(
        b.reshape(x, (*x.dims[:-2], rows, 1)),
        b.reshape(y, (*y.dims[:-2], 1, columns)),
    )
    return b.add(terms, np.zeros((), x.type.dtype.numpy))


def _sum(b: Rewriter, node: Node, vector: Value, matrix: Value, of_rows: bool) -> Value:
    """The vector's elements times what they meet, added up: `of_rows` of the matrix each by itself.
    What becomes of such a sum is computed for many at once, behind a reshape."""
    inner = matrix.dims[-1 if of_rows else -2]
    dims = (*vector.dims[:-2], *((1, inner) if of_rows else (inner, 1)))
    terms = b.mul(vector if vector.dims == dims else b.reshape(vector, dims), matrix)
    axis = np.array([terms.type.rank - (1 if of_rows else 2)], np.int32)
    total = b.sum(terms, axis, keep_dims=not of_rows)
    return total if total.dims == node.output.dims else b.reshape(total, node.output.dims)
