"""Solutions of linear equations: with any square matrix, a triangular one, by least squares.

In: stacks of matrices and of right sides. Out: records; what is solved by factors is native.
Invariant: no inverse is made to solve with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.kernels.linalg import factorizations as kernels
from flowc.ops.linalg import matrices
from flowc.ops.linalg.factorizations import solved
from flowc.ops.linalg.matrices import Array, adjoint_of, stack_of, times, wide

# -- any square matrix


def _infer_solve(c: Inference) -> Dims:
    matrices.need_matrix(c, 1)
    matrices.need_square(c, 0, "First input (lhs) must be a square matrix.")
    return matrices.solution_dims(c)


def _solve_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    matrix, adjoint = node.inputs[0], node.attrs["adjoint"]
    back = b.matrix_solve(matrix, dy, adjoint=not adjoint)
    if adjoint:
        return b.neg(times(b, node.output, back, adj_y=True)), back
    return b.neg(times(b, back, node.output, adj_y=True)), back


def _build_solve(b: Builder, node: Node) -> Value:
    matrix, right = node.inputs
    return solved(b, matrix, right, node.attrs["adjoint"], "Input matrix is not invertible.")


define(
    "matrix_solve",
    f"MatrixSolve(matrix: T, rhs: T; adjoint: bool = False, T: {matrices.FLOATS}) -> output: T",
    traits=matrices.RUN,
    infer=_infer_solve,
    lowering=Decompose(_build_solve),
    reference=lambda matrix, rhs, *, adjoint: np.linalg.solve(
        wide(matrices.adjoint_array(matrix) if adjoint else matrix), wide(rhs)
    ).astype(rhs.dtype),
    gradient=_solve_gradient,
    examples=(
        "T[2,3,3]~regular T[2,3,2]",
        "T[4,4]~regular T[4,1]; adjoint=True",
        "f32[2,2,2]~regular f32[2,2,0]",
        "f32[2,0,0] f32[2,0,3]",
    ),
    aliases=("BatchMatrixSolve",),
)


# -- a triangular matrix


def _infer_triangular(c: Inference) -> Dims:
    for i in (0, 1):
        if c.rank(i) < 2:
            raise c.fail(f"In[{i}] ndims must be >= 2: {c.rank(i)}")
    matrix, right = c.dims(0), c.dims(1)
    c.equal(
        matrix[-2],
        matrix[-1],
        f"In[0] matrices in the last dimensions must be square ({matrix[-1]} =/= {matrix[-2]})",
    )
    c.equal(matrix[-2], right[-2], f"In[0] mismatch In[1] shape: {matrix[-1]} vs. {right[-2]}")
    return (*c.broadcast_dims(matrix[:-2], right[:-2]), *right[-2:])


def _build_triangular(b: Builder, node: Node) -> Value:
    batch, dtype = node.output.dims[:-2], node.output.type.dtype
    wanted = [
        v if v.dims[:-2] == batch else b.broadcast_to(v, (*batch, *v.dims[-2:]))
        for v in node.inputs
    ]
    narrow = dtype in HALVES
    if narrow:
        wanted = [b.cast(v, DstT=dtypes.f32) for v in wanted]
    lower, adjoint = node.attrs["lower"], node.attrs["adjoint"]
    found = b.triangular_solve(*wanted, lower=lower, adjoint=adjoint, unit=False)
    return b.cast(found, DstT=dtype) if narrow else found


HALVES = (dtypes.f16, dtypes.bf16)


def _triangular_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    matrix, right = node.inputs
    lower, adjoint = node.attrs["lower"], node.attrs["adjoint"]
    back = b.matrix_triangular_solve(matrix, dy, lower=lower, adjoint=not adjoint)
    if adjoint:
        found = times(b, node.output, back, adj_y=True)
    else:
        found = times(b, back, node.output, adj_y=True)
    low, high = (-1, 0) if lower else (0, -1)
    found = b.neg(b.matrix_band_part(found, np.int64(low), np.int64(high)))
    return b.sum_to_shape_of(found, matrix), b.sum_to_shape_of(back, right)


def _triangular(matrix: Array, rhs: Array, *, lower: bool, adjoint: bool) -> Array:
    part = wide(np.tril(matrix) if lower else np.triu(matrix))
    own = matrices.adjoint_array(part) if adjoint else part
    batch = np.broadcast_shapes(own.shape[:-2], rhs.shape[:-2])
    own = np.broadcast_to(own, (*batch, *own.shape[-2:]))
    right = np.broadcast_to(wide(rhs), (*batch, *rhs.shape[-2:]))
    return np.linalg.solve(own, right).astype(rhs.dtype)


def _of_unit(matrix: Array, rhs: Array, *, lower: bool, adjoint: bool, unit: bool) -> Array:
    own = matrix.copy()
    if unit:
        own[..., np.arange(own.shape[-1]), np.arange(own.shape[-1])] = 1
    return _triangular(own, rhs, lower=lower, adjoint=adjoint)


# `unit`: the diagonal is all ones, whatever stands there.
define(
    "triangular_solve",
    "_TriangularSolve(matrix: T, rhs: T; lower: bool, adjoint: bool, unit: bool,"
    " T: {f32, f64, c64, c128}) -> output: T",
    traits=matrices.RUN,
    infer=_infer_triangular,
    lowering=lambda node: Native(
        kernels.triangular_solve,
        arguments=(
            *node.inputs[1].dims[-2:],
            *(int(node.attrs[a]) for a in ("lower", "adjoint", "unit")),
        ),
        parallel=stack_of(node.inputs[1]),
        scratch=(node.inputs[0].dims[-1] * node.inputs[0].dims[-1] + 1)
        * node.inputs[0].type.dtype.size,
        constants=kernels.CONSTANTS,
    ),
    reference=_of_unit,
    examples=("f32[3,3]~regular f32[3,2]; lower=True, adjoint=False, unit=True",),
)
define(
    "matrix_triangular_solve",
    "MatrixTriangularSolve(matrix: T, rhs: T; lower: bool = True, adjoint: bool = False,"
    " T: {bf16, f64, f32, f16, c64, c128}) -> output: T",
    traits=matrices.RUN,
    infer=_infer_triangular,
    lowering=Decompose(_build_triangular),
    reference=_triangular,
    gradient=_triangular_gradient,
    examples=(
        "T[2,3,3]~regular T[2,3,2]",
        "T[3,3]~regular T[3,2]; lower=False",
        "T[3,3]~regular T[3,2]; adjoint=True",
        "T[3,3]~regular T[3,2]; lower=False, adjoint=True",
        "f32[2,1,3,3]~regular f32[4,3,2]",
        "f32[2,0,0] f32[2,0,3]",
    ),
    aliases=("BatchMatrixTriangularSolve",),
)


# -- least squares


_NEGATIVE = "l2_regularizer must be >= 0."


def _infer_least_squares(c: Inference) -> Dims:
    if c.rank(2) != 0:
        raise c.fail("l2_regularizer must be a scalar")
    known = c.content(2)
    if known is not None and float(known[()]) < 0:
        raise c.fail(_NEGATIVE)
    return matrices.solution_dims(c)


def _build_least_squares(b: Builder, node: Node) -> Value:
    """By normal equations of the smaller size, or by singular values."""
    matrix, right, strength = node.inputs
    rank, dtype = matrix.type.rank, matrix.type.dtype
    rows, columns = matrix.dims[-2:]
    if strength.constant is None:
        b.check(b.greater_equal(strength, np.float64(0)), message=_NEGATIVE)
    if not node.attrs["fast"]:
        return _by_singular_values(b, matrix, right)
    over = rows == columns or (
        isinstance(rows, int) and isinstance(columns, int) and rows >= columns
    )
    flat = matrices.adjoint(b, matrix, rank)
    gram = b.batch_mat_mul(flat, matrix) if over else b.batch_mat_mul(matrix, flat)
    ridge = b.add(b.matrix_diag_part_v1(gram), b.cast(strength, DstT=dtype))
    factor = b.checked_cholesky(b.matrix_set_diag_v1(gram, ridge))

    def by_factor(x: Value) -> Value:
        half = b.matrix_triangular_solve(factor, x)
        return b.matrix_triangular_solve(factor, half, adjoint=True)

    if over:
        return by_factor(b.batch_mat_mul(flat, right))
    return b.batch_mat_mul(flat, by_factor(right))


def _by_singular_values(b: Builder, matrix: Value, right: Value) -> Value:
    dtype, rank = matrix.type.dtype, matrix.type.rank
    s, u, v = b.svd(matrix)
    sizes = b.real(s, Tout=dtype.real_dtype) if dtype.is_complex else s
    real = sizes.type.dtype
    most = b.max(sizes, np.array([-1], np.int32), keep_dims=True)
    eps = float(np.finfo(real.numpy).eps) * 10
    kept = b.greater(sizes, b.mul(most, b.const(eps, real)))
    one = b.const(1, real)
    back = b.select_v2(kept, b.real_div(one, b.select_v2(kept, sizes, one)), b.const(0, real))
    back = b.cast(back, DstT=dtype) if dtype.is_complex else back
    inner = b.batch_mat_mul(matrices.adjoint(b, u, rank), right)
    return b.batch_mat_mul(v, b.mul(b.expand_dims(back, np.int32(-1)), inner))


def _least_squares(matrix: Array, rhs: Array, strength: Array, *, fast: bool) -> Array:
    a, y = wide(matrix), wide(rhs)
    if not fast:
        return (np.linalg.pinv(a) @ y).astype(rhs.dtype)
    flat = matrices.adjoint_array(a)
    over = a.shape[-2] >= a.shape[-1]
    gram = flat @ a if over else a @ flat
    gram = gram + strength * np.eye(gram.shape[-1])
    if over:
        return np.linalg.solve(gram, flat @ y).astype(rhs.dtype)
    return (flat @ np.linalg.solve(gram, y)).astype(rhs.dtype)


def _least_squares_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Sequence[Any]:
    """The gradient of the fast path of MatrixSolveLs, through the Cholesky factor of the normal
    equations."""
    a, y, strength = node.inputs
    dims = b.dims_of(a)
    shape = None if dims is None else dims[-2:]
    over = shape is None or None in shape or _at_least(shape)
    ridge = b.cast(strength, DstT=a.dtype)
    gram = times(b, a, a, adj_x=over, adj_y=not over)
    gram = matrices.with_diagonal(b, gram, b.add(matrices.diagonal(b, gram), ridge))
    factor = b.cholesky(gram)

    def by_factor(x: Any) -> Any:
        half = b.matrix_triangular_solve(factor, x)
        return b.matrix_triangular_solve(factor, half, adjoint=True)

    if over:
        z = by_factor(dy)
        both = times(b, node.output, z, adj_y=True)
        to_y = times(b, a, z)
        both = b.add(both, adjoint_of(b, both))
        return b.sub(times(b, y, z, adj_y=True), times(b, a, both)), to_y, None
    to_y = by_factor(times(b, a, dy))
    inner = by_factor(y)
    first = b.neg(times(b, to_y, node.output, adj_y=True))
    rest = b.sub(dy, times(b, a, to_y, adj_x=True))
    return b.add(first, times(b, inner, rest, adj_y=True)), to_y, None


def _at_least(shape: Sequence[Any]) -> bool:
    rows, columns = shape
    return rows == columns or not (
        isinstance(rows, int) and isinstance(columns, int) and rows < columns
    )


define(
    "matrix_solve_ls",
    f"MatrixSolveLs(matrix: T, rhs: T, l2_regularizer: f64; T: {matrices.FLOATS},"
    " fast: bool = True) -> output: T",
    traits=matrices.RUN,
    infer=_infer_least_squares,
    lowering=Decompose(_build_least_squares),
    reference=_least_squares,
    gradient=_least_squares_gradient,
    examples=(
        "T[2,3,3]~regular T[2,3,2] f64[]=0.5",
        "f64[5,3] f64[5,2] f64[]=0.0",
        "f64[2,3,5] f64[2,3,2] f64[]=0.25",
        "f64[5,3] f64[5,2] f64[]=0.0; fast=False",
    ),
    aliases=("BatchMatrixSolveLs",),
)
