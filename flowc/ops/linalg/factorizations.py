"""Factors of square matrices, and what follows from them: Cholesky, LU, inverses, determinants.

In: stacks of square matrices. Out: records with native kernels. Invariant: a matrix that is not
positive definite has a factor of NaN, one that is singular is an error, as in TensorFlow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Lowering, Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.kernels.linalg import factorizations as kernels
from flowc.ops.linalg import matrices
from flowc.ops.linalg.matrices import Array, adjoint_of, by_matrix, stack_of, times, wide

SINGULAR = "Input is not invertible."


# -- Cholesky


def _cholesky_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """L^-H (the lower part of L^H dy, its diagonal halved) L^-1, made symmetric."""
    factor = node.output
    middle = times(b, factor, dy, adj_x=True)
    half = b.const(0.5, dy.dtype)
    middle = matrices.with_diagonal(b, middle, b.mul(half, matrices.diagonal(b, middle)))
    left = b.matrix_triangular_solve(factor, matrices.lower_part(b, middle), adjoint=True)
    found = adjoint_of(b, b.matrix_triangular_solve(factor, adjoint_of(b, left), adjoint=True))
    return b.mul(half, b.add(found, adjoint_of(b, found)))


def _lower_cholesky(node: Node, checked: bool = False) -> Lowering:
    x = node.inputs[0]
    return Native(
        kernels.cholesky,
        arguments=(x.dims[-1], int(checked)),
        parallel=stack_of(x),
        errors=(
            "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide"
            " a larger l2_regularizer > 0.",
        ),
        constants=kernels.CONSTANTS,
    )


def _cholesky(x: Array) -> Array:
    lower = np.tril(x)
    own = by_matrix(np.linalg.cholesky, lower + matrices.adjoint_array(np.tril(x, -1)))
    return np.tril(own).astype(x.dtype)


define(
    "cholesky",
    f"Cholesky(input: T; T: {matrices.FLOATS}) -> output: T",
    traits=matrices.RUN,
    infer=matrices.square_dims,
    lowering=_lower_cholesky,
    reference=_cholesky,
    gradient=_cholesky_gradient,
    examples=("T[2,3,3]~definite", "f32[0,2,2]", "f64[2,0,0]"),
    aliases=("BatchCholesky",),
)
define(
    "checked_cholesky",
    "_CheckedCholesky(input: T; T: {f32, f64, c64, c128}) -> output: T",
    traits=matrices.RUN,
    infer=matrices.square_dims,
    lowering=lambda node: _lower_cholesky(node, True),
    reference=_cholesky,
    examples=("T[2,3,3]~definite",),
)


def _build_cholesky_grad(b: Builder, node: Node) -> Value:
    factor, dy = node.inputs
    rank, dtype = factor.type.rank, factor.type.dtype
    lower = b.matrix_band_part(factor, np.int64(-1), np.int64(0))
    dy = b.matrix_band_part(dy, np.int64(-1), np.int64(0))
    middle = b.batch_mat_mul(lower, dy, adj_x=True)
    half = b.const(0.5, dtype)
    middle = b.matrix_set_diag_v1(middle, b.mul(half, b.matrix_diag_part_v1(middle)))
    middle = b.matrix_band_part(middle, np.int64(-1), np.int64(0))
    left = b.matrix_triangular_solve(lower, middle, adjoint=True)
    left = matrices.adjoint(b, left, rank)
    found = b.matrix_triangular_solve(lower, left, adjoint=True)
    return b.mul(half, b.add(found, matrices.adjoint(b, found, rank)))


def _cholesky_grad(factor: Array, dy: Array) -> Array:
    lower, flow = np.tril(wide(factor)), np.tril(wide(dy))
    middle = np.tril(np.swapaxes(lower, -1, -2) @ flow)
    middle = middle - 0.5 * np.triu(middle)  # only its diagonal is left above
    back = np.linalg.inv(lower)
    found = np.swapaxes(back, -1, -2) @ middle @ back
    return (0.5 * (found + np.swapaxes(found, -1, -2))).astype(factor.dtype)


def _infer_cholesky_grad(c: Inference) -> Dims:
    n = matrices.need_square(c, 0)
    c.match_dims(c.dims(0), c.dims(1), "the factor and its gradient must have the same shape")
    return (*c.dims(0)[:-2], n, n)


define(
    "cholesky_grad",
    "CholeskyGrad(l: T, grad: T; T: {f16, f32, f64}) -> output: T",
    traits=matrices.RUN,
    infer=_infer_cholesky_grad,
    lowering=Decompose(_build_cholesky_grad),
    reference=_cholesky_grad,
    examples=("T[2,3,3]~regular T[2,3,3]", "f64[9,9]~regular f64[9,9]"),
    aliases=("BatchCholeskyGrad",),
)


# -- LU


def factored(x: Array) -> tuple[Array, Array, float]:
    """LU factorization with partial pivoting: one array that holds L below its diagonal and U from
    there on, the permutation of the rows, and its sign."""
    a, order, sign = x.copy(), np.arange(len(x)), 1.0
    for k in range(len(a)):
        size = np.abs(a[k:, k].real) + np.abs(a[k:, k].imag)
        best = k + int(np.argmax(size))
        if best != k:
            a[[k, best]], order[[k, best]], sign = a[[best, k]], order[[best, k]], -sign
        if size.max() > 0:
            a[k + 1 :, k] /= a[k, k]
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, order, sign


def _lu(x: Array, *, output_idx_type: DType) -> tuple[Array, Array]:
    own = by_matrix(lambda a: factored(a)[0], x)
    order = by_matrix(lambda a: factored(a)[1], x) if x.size else np.zeros(x.shape[:-1])
    return own.astype(x.dtype).reshape(x.shape), order.astype(output_idx_type.numpy)


def _infer_lu(c: Inference) -> list[Dims]:
    dims = matrices.square_dims(c)
    return [dims, dims[:-1]]


def _pivoted(x: Array, *, fault: str) -> tuple[Array, Array, Array]:
    own, order = _lu(x, output_idx_type=dtypes.i32)
    signs = by_matrix(lambda a: np.array(factored(a)[2]), x) if x.size else np.ones(x.shape[:-2])
    return own, order, signs.astype(x.dtype)


# Rows of a matrix in an order in which they are L U; the sign of that order. What is said of a
# singular matrix, if anything.
define(
    "pivoted_lu",
    "_PivotedLu(input: T; fault: string, T: {f32, f64, c64, c128}) -> (lu: T, p: i32, sign: T)",
    traits=matrices.RUN,
    infer=lambda c: [*_infer_lu(c), c.dims(0)[:-2]],
    lowering=lambda node: Native(
        kernels.lu,
        arguments=(node.inputs[0].dims[-1], int(bool(node.attrs["fault"]))),
        parallel=stack_of(node.inputs[0]),
        errors=(node.attrs["fault"],),
        constants=kernels.CONSTANTS,
    ),
    reference=_pivoted,
    examples=('f32[2,4,4]~regular; fault=""',),
)


def pivoted(b: Builder, x: Value, fault: str) -> tuple[Value, Value, Value]:
    """`pivoted_lu` of any dtype: halves are computed in f32."""
    narrow = x.type.dtype is dtypes.f16
    own, order, sign = b.pivoted_lu(b.cast(x, DstT=dtypes.f32) if narrow else x, fault=fault)
    return own, order, sign


def _build_lu(b: Builder, node: Node) -> list[Value]:
    own, order, _ = pivoted(b, node.inputs[0], SINGULAR)
    wanted = [v.type.dtype for v in node.outputs]
    return [v if v.type.dtype is t else b.cast(v, DstT=t) for v, t in zip((own, order), wanted)]


define(
    "lu",
    f"Lu(input: T; T: {matrices.FLOATS}, output_idx_type: INDEX = i32) -> (lu: T, p:"
    " output_idx_type)",
    traits=matrices.RUN,
    infer=_infer_lu,
    lowering=Decompose(_build_lu),
    reference=_lu,
    examples=(
        "T[2,4,4]~regular",
        "f32[3,3]; output_idx_type=i64",
        "f32[0,2,2]",
    ),
)


# -- inverses


def solved(b: Builder, matrix: Value, right: Value, adjoint: bool, fault: str) -> Value:
    """The solution of equations with any square matrices: by their factors."""
    rank, dtype = matrix.type.rank, matrix.type.dtype
    if adjoint:
        matrix = matrices.adjoint(b, matrix, rank)
    own, order, _ = pivoted(b, matrix, fault)
    right = right if right.type.dtype is own.type.dtype else b.cast(right, DstT=own.type.dtype)
    rows = b.gather(right, order, np.int32(rank - 2), batch_dims=rank - 2)
    half = b.triangular_solve(own, rows, lower=True, adjoint=False, unit=True)
    found = b.triangular_solve(own, half, lower=False, adjoint=False, unit=False)
    return found if found.type.dtype is dtype else b.cast(found, DstT=dtype)


def _build_inverse(b: Builder, node: Node) -> Value:
    (x,) = node.inputs
    ones = b.broadcast_to(b.const(1, x.type.dtype), x.dims[:-1])
    return solved(b, x, b.matrix_diag_v1(ones), node.attrs["adjoint"], SINGULAR)


def _inverse_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    back, adjoint = node.output, not node.attrs["adjoint"]
    inner = times(b, dy, back, adj_x=not adjoint, adj_y=adjoint)
    return b.neg(times(b, back, inner, adj_x=adjoint))


define(
    "matrix_inverse",
    f"MatrixInverse(input: T; adjoint: bool = False, T: {matrices.FLOATS}) -> output: T",
    traits=matrices.RUN,
    infer=matrices.square_dims,
    lowering=Decompose(_build_inverse),
    reference=lambda x, *, adjoint: np.linalg.inv(
        wide(matrices.adjoint_array(x) if adjoint else x)
    ).astype(x.dtype),
    gradient=_inverse_gradient,
    examples=(
        "T[2,3,3]~regular",
        "T[4,4]~regular; adjoint=True",
        "f32[0,2,2]",
    ),
    aliases=("BatchMatrixInverse",),
)


# -- determinants


def _infer_log(c: Inference) -> list[Dims]:
    dims = matrices.square_dims(c)[:-2]
    return [dims, dims]


def _log_gradient(b: GradientBuilder, node: Forward, _: Any, dy: Any) -> Any:
    back = b.matrix_inverse(node.inputs[0], adjoint=True)
    return b.mul(matrices.as_columns(b, matrices.as_columns(b, dy)), back)


def _log_reference(x: Array) -> tuple[Array, Array]:
    sign, log = np.linalg.slogdet(wide(x))
    return np.asarray(sign).astype(x.dtype), np.asarray(log).astype(x.dtype)


def _build_log(b: Builder, node: Node) -> list[Value]:
    """Sums of logarithms of the pivots' magnitudes, and the product of what is left of them."""
    own, _, sign = pivoted(b, node.inputs[0], "")
    pivots = b.matrix_diag_part_v1(own)
    dtype = own.type.dtype
    last = np.array([-1], np.int32)
    if dtype.is_complex:
        size = b.complex_abs(pivots, Tout=dtype.real_dtype)
        log = b.cast(b.sum(b.log(size), last), DstT=dtype)
        unit = b.div_no_nan(pivots, b.cast(size, DstT=dtype))
    else:
        log = b.sum(b.log(b.abs(pivots)), last)
        unit = b.sign(pivots)
    found = (b.mul(sign, b.prod(unit, last)), log)
    kinds = [v.type.dtype for v in node.outputs]
    return [v if v.type.dtype is t else b.cast(v, DstT=t) for v, t in zip(found, kinds)]


define(
    "log_matrix_determinant",
    "LogMatrixDeterminant(input: T; T: {f16, f32, f64, c64, c128}) -> (sign: T,"
    " log_abs_determinant: T)",
    traits=matrices.RUN,
    infer=_infer_log,
    lowering=Decompose(_build_log),
    reference=_log_reference,
    gradient=_log_gradient,
    examples=("T[2,3,3]~regular", "f32[5,5]", "f32[2,0,0]"),
)


def _build_determinant(b: Builder, node: Node) -> Value:
    sign, log = b.log_matrix_determinant(node.inputs[0])
    return b.mul(sign, b.exp(log))


def _determinant_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    back = b.matrix_inverse(node.inputs[0], adjoint=True)
    factor = b.mul(dy, node.output)  # not conjugated, as in TensorFlow
    return b.mul(matrices.as_columns(b, matrices.as_columns(b, factor)), back)


define(
    "matrix_determinant",
    "MatrixDeterminant(input: T; T: {f16, f32, f64, c64, c128}) -> output: T",
    traits=matrices.RUN,
    infer=lambda c: matrices.square_dims(c)[:-2],
    lowering=Decompose(_build_determinant),
    reference=lambda x: np.asarray(np.linalg.det(wide(x))).astype(x.dtype),
    gradient=_determinant_gradient,
    examples=("T[2,3,3]~regular", "f64[5,5]", "f32[2,0,0]"),
    aliases=("BatchMatrixDeterminant",),
)
