"""Equations with matrices solved, and what follows from factors and singular values of them.

In: tensors whose last two dims are matrices [..., m, n]. Out: solutions, ranks, inverses. Errors of
a matrix that has no solution are those of its op, when it is run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import eye
from flowc.api.arrays.selection import gather
from flowc.api.arrays.shaping import expand_dims, matrix_transpose, pad, squeeze, stack, unstack
from flowc.api.framework.basics import cast
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise
from flowc.api.math.reductions import matmul, reduce_max, reduce_sum
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import create, output


def svd(
    tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Any:
    """Singular values [..., min(m, n)] by falling size, and the left and right vectors as columns:
    (s, u, v); only s without `compute_uv`. `full_matrices`: u and v are square. `tensor`: [..., m,
    n], floating or complex. Raises `TypeError` for other dtypes, `ValueError` for shapes that do
    not fit."""
    operation = create(
        "Svd", [as_tensor(tensor)], {"compute_uv": compute_uv, "full_matrices": full_matrices},
        name=name,
    )  # fmt: skip
    s, u, v = operation.outputs
    s = elementwise.real(s)
    return (s, u, v) if compute_uv else s


def self_adjoint_eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues [..., n], ascending, and eigenvectors as columns of self-adjoint matrices, of
    which the lower triangle is read. `tensor`: [..., n, n], floating or complex. Raises `TypeError`
    for other dtypes, `ValueError` for shapes that do not fit."""
    operation = create("SelfAdjointEigV2", [as_tensor(tensor)], {"compute_v": True}, name=name)
    e, v = operation.outputs
    return e, v


def self_adjoint_eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """Eigenvalues [..., n], ascending, of self-adjoint matrices. `tensor`: [..., n, n], floating or
    complex. Raises `TypeError` for other dtypes, `ValueError` for shapes that do not fit."""
    operation = create("SelfAdjointEigV2", [as_tensor(tensor)], {"compute_v": False}, name=name)
    return operation.outputs[0]


def matrix_triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """x of `matrix` x = `rhs` for triangular matrices, whose other triangle is not read. `matrix`:
    [..., n, n], `rhs` and the result: [..., n, k], floating or complex. Raises `TypeError` for
    other dtypes, `ValueError` for shapes that do not fit. A matrix without an inverse
    gives infinities and NaN."""
    with name_scope(name, "triangular_solve", [matrix, rhs]):
        return output("MatrixTriangularSolve", matrix, rhs, lower=lower, adjoint=adjoint)


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """x of A x = `rhs`, where `chol` is the lower Cholesky factor of A. `chol`: [..., n, n], `rhs`
    and the result [..., n, k], floating or complex. Raises `ValueError` for shapes that do not fit.
    """
    with name_scope(name, "cholesky_solve", [chol, rhs]):
        half = output("MatrixTriangularSolve", chol, rhs, adjoint=False, lower=True)
        return output("MatrixTriangularSolve", chol, half, adjoint=True, lower=True)


def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """The logarithms of the determinants of positive definite matrices. `matrix`: [..., n, n], the
    result [...], floating or complex. Raises `TypeError` for other dtypes, `ValueError` for shapes
    that do not fit. Other matrices give NaN."""
    with name_scope(name, "logdet", [matrix]):
        factor = output("Cholesky", matrix)
        zero = as_tensor(0, factor.dtype)
        diagonal = output("MatrixDiagPartV3", factor, 0, zero, name="diag_part")
        return 2.0 * reduce_sum(elementwise.log(elementwise.real(diagonal)), [-1])


def matrix_solve_ls(
    matrix: Any, rhs: Any, l2_regularizer: float = 0.0, fast: bool = True, name: str | None = None
) -> Tensor:
    """The least-squares solutions of `matrix` x = `rhs`, of the least norm where there are many:
    `fast` by Cholesky factors, which a matrix of full rank has; else by singular values, without
    `l2_regularizer`. `matrix`: [..., m, n], `rhs`: [..., m, k]; the result: [..., n, k]. Raises
    `TypeError` for other dtypes, `ValueError` for shapes that do not fit."""
    if not fast:
        strength = as_tensor(l2_regularizer, dtypes.f64)
        return output("MatrixSolveLs", matrix, rhs, strength, fast=False, name=name)
    with name_scope(name, "matrix_solve_ls", [matrix, rhs, l2_regularizer]):
        own = as_tensor(matrix, name="matrix")
        rows, columns = own.shape.with_rank_at_least(2).as_list()[-2:]
        if rows is None or columns is None:
            strength = as_tensor(l2_regularizer, dtypes.f64)
            return output("MatrixSolveLs", own, rhs, strength, fast=True)
        over = rows >= columns
        gram = matmul(own, own, adjoint_a=over, adjoint_b=not over)
        if l2_regularizer != 0:
            ridge = eye(min(rows, columns), batch_shape=own.shape.as_list()[:-2], dtype=own.dtype)
            gram = gram + as_tensor(l2_regularizer, own.dtype) * ridge
        factor = output("Cholesky", gram)
        if over:
            return cholesky_solve(factor, matmul(own, rhs, adjoint_a=True))
        return matmul(own, cholesky_solve(factor, rhs), adjoint_a=True)


def matrix_rank(
    a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """How many singular values of each matrix are larger than `tol`, by default the largest one
    times the larger size and the precision of the dtype. `a`: floats [..., m, n]; the result:
    int32[...]. Raises `TypeError` for other dtypes, `ValueError` for shapes that do not fit."""
    with name_scope(name, "matrix_rank", [a, tol]):
        own = as_tensor(a, name="a")
        s = svd(own, compute_uv=False)
        if tol is None:
            sizes = [d for d in own.shape.as_list()[-2:] if d is not None]
            eps = np.finfo(s.dtype.as_numpy_dtype).eps
            tol = as_tensor(eps * max(sizes), s.dtype) * reduce_max(s, -1, keepdims=True)
        return reduce_sum(cast(s > tol, dtypes.i32), -1)


def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """Moore-Penrose inverses [..., n, m]. Singular values up to `rcond` times the largest one, by
    default 10 times the larger size times the precision of the dtype, are taken for 0. `a`: floats
    [..., m, n]. Raises `TypeError` for other dtypes, `ValueError` for less than two dimensions."""
    with name_scope(name or "pinv"):
        own = as_tensor(a, name="a")
        s, u, v = svd(own)
        if rcond is None:
            sizes = [d for d in own.shape.as_list()[-2:] if d is not None]
            rcond = 10.0 * max(sizes) * np.finfo(s.dtype.as_numpy_dtype).eps
        least = as_tensor(rcond, s.dtype, "rcond") * reduce_max(s, -1)
        kept = output("SelectV2", s > expand_dims(least, -1), s, as_tensor(np.inf, s.dtype))
        scaled = v / cast(expand_dims(kept, -2), v.dtype)
        return matmul(scaled, u, adjoint_b=True)


# -- factors LU, and the order of rows


def _lower_unit(lower_upper: Tensor) -> Tensor:
    part = output("MatrixBandPart", lower_upper, np.int64(-1), np.int64(0))
    ones = output("OnesLike", output("MatrixDiagPart", part))
    return output("MatrixSetDiagV3", part, ones, 0, name="set_diag")


def _rows(x: Tensor, order: Tensor, rank: int) -> Tensor:
    return gather(x, order, axis=rank - 2, batch_dims=rank - 2)


def lu_solve(
    lower_upper: Any, perm: Any, rhs: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """x of A x = `rhs` [..., n, k], where `lower_upper` and `perm` are the `lu` of A. Raises
    `ValueError` for shapes that do not fit."""
    with name_scope(name or "lu_solve"):
        own = as_tensor(lower_upper, name="lower_upper")
        right = as_tensor(rhs, own.dtype, "rhs")
        for given in (own, right):
            given.shape.with_rank_at_least(2)
        own.shape[-1:].assert_is_compatible_with(right.shape[-2:-1])
        order = as_tensor(perm, dtypes.i32, "perm")
        rows = _rows(right, order, len(right.shape))
        half = matrix_triangular_solve(_lower_unit(own), rows)
        return matrix_triangular_solve(own, half, lower=False)


def lu_matrix_inverse(
    lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The inverses of matrices given by their `lu`. `lower_upper`: [..., n, n], `perm`: int32 or
    int64 [..., n]. Raises `ValueError` for shapes that do not fit, where they are checked."""
    with name_scope(name or "lu_matrix_inverse"):
        own = as_tensor(lower_upper, name="lower_upper")
        sizes = own.shape.as_list()
        ones = eye(sizes[-1], batch_shape=sizes[:-2], dtype=own.dtype)
        return lu_solve(own, perm, ones)


def lu_reconstruct(
    lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The matrices whose `lu` this is. `lower_upper`: [..., n, n], `perm`: int32 or int64 [..., n].
    Raises `ValueError` for shapes that do not fit, where they are checked."""
    with name_scope(name or "lu_reconstruct"):
        own = as_tensor(lower_upper, name="lower_upper")
        order = as_tensor(perm, dtypes.i32, "perm")
        upper = output("MatrixBandPart", own, np.int64(0), np.int64(-1))
        found = matmul(_lower_unit(own), upper)
        if len(own.shape) == 2:
            return gather(found, output("InvertPermutation", order))
        back = create("TopKV2", [-order, int(order.shape[-1])], {"sorted": True}).outputs[1]
        return _rows(found, back, len(own.shape))


# -- bands


def tridiagonal_bands(diagonals: Any, rhs: Tensor, diagonals_format: str) -> list[Tensor]:
    """The upper, main and lower diagonals [..., m], as `tridiagonal_solve` is told them."""
    if diagonals_format == "compact":
        return unstack(as_tensor(diagonals, rhs.dtype), 3, -2)
    if diagonals_format == "sequence":
        bands = [as_tensor(d, rhs.dtype) for d in diagonals]
        size = rhs.shape[-2]
        ends = [[0, 0]] * (len(bands[1].shape) - 1)
        if bands[0].shape[-1] != size:  # one less than the main one has
            bands[0] = pad(bands[0], [*ends, [0, 1]])
        if bands[2].shape[-1] != size:
            bands[2] = pad(bands[2], [*ends, [1, 0]])
        return bands
    if diagonals_format == "matrix":
        whole = as_tensor(diagonals, rhs.dtype)
        zero = as_tensor(0, rhs.dtype)
        rows = [output("MatrixDiagPartV3", whole, at, zero) for at in (1, 0, -1)]
        ends = [[0, 0]] * (len(whole.shape.with_rank_at_least(2)) - 2)
        return [pad(rows[0], [*ends, [0, 1]]), rows[1], pad(rows[2], [*ends, [1, 0]])]
    raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")


def tridiagonal_solve(
    diagonals: Any,
    rhs: Any,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Tensor:
    """x of a tridiagonal matrix times x = `rhs` [..., m] or [..., m, k]. `diagonals`: the upper,
    main and lower ones: [..., 3, m] for `"compact"`, a tuple of three for `"sequence"`, matrices
    [..., m, m] for `"matrix"`. Raises `ValueError` for another format."""
    with name_scope(name or "tridiagonal_solve"):
        right = as_tensor(rhs, name="rhs")
        if diagonals_format == "compact":
            bands = as_tensor(diagonals, right.dtype, "diagonals")
        else:
            column = right if len(right.shape) > 1 else expand_dims(right, -1)
            bands = stack(tridiagonal_bands(diagonals, column, diagonals_format), axis=-2)
        is_vector = len(right.shape) == len(bands.shape) - 1
        if is_vector:
            right = expand_dims(right, -1)
        elif transpose_rhs:
            right = matrix_transpose(right)
        right = elementwise.conj(right) if conjugate_rhs else right
        found = output(
            "TridiagonalSolve", bands, right,
            partial_pivoting=partial_pivoting, perturb_singular=perturb_singular,
        )  # fmt: skip
        return squeeze(found, [-1]) if is_vector else found


def tridiagonal_matmul(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """Products of tridiagonal matrices, given as for `tridiagonal_solve`, and matrices [..., m, n].
    Raises `ValueError` for shapes that do not fit and for another form of diagonals."""
    right = as_tensor(rhs, name="rhs")
    bands = tridiagonal_bands(diagonals, right, diagonals_format)
    rows = [expand_dims(band, -2) for band in bands]
    return output("TridiagonalMatMul", *rows, right, name=name)
