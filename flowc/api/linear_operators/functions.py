"""Functions of matrices that take linear operators, too: `tf.matmul`, `tf.linalg.solve` and such.

In: tensors, or operators. Out: tensors, or operators where the operators' methods give them.
"""

from __future__ import annotations

from typing import Any

from flowc.api.arrays.blocks import matrix_diag_part
from flowc.api.framework import plain_ops
from flowc.api.math import linear_algebra, matrix_equations, reductions


def _is_operator(value: Any) -> bool:
    """Without the module of operators, which most programs do not load."""
    return hasattr(value, "add_to_tensor")


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The product [..., m, n] of matrices [..., m, k] and [..., k, n] of one dtype: numbers; where
    a rank is above 2, the dimensions in front broadcast. Each side may be transposed or adjoint
    first. One side or both may be linear operators; that of both is one.

    Raises `TypeError` where the dtypes differ, `ValueError` for a rank below 2, where the sizes do
    not fit, and where a matrix is to be transposed and adjoint, or an operator transposed."""
    if not _is_operator(a) and not _is_operator(b):
        return reductions.matmul(
            a, b, transpose_a, transpose_b, adjoint_a, adjoint_b, a_is_sparse, b_is_sparse, name
        )
    if transpose_a or transpose_b:
        raise ValueError("Transposing not supported at this time.")
    if a_is_sparse or b_is_sparse:
        raise ValueError("Sparse methods not supported at this time.")
    named = {} if name is None else {"name": name}
    if _is_operator(a):
        return a.matmul(b, adjoint=adjoint_a, adjoint_arg=adjoint_b, **named)
    product = b.matmul(a, adjoint=not adjoint_b, adjoint_arg=not adjoint_a, **named)
    return linear_algebra.adjoint(product)


def adjoint(matrix: Any, name: str | None = None) -> Any:
    """The conjugate transposes of matrices [..., m, n], or the adjoint of a linear operator. Raises
    `ValueError` for less than two dimensions."""
    if _is_operator(matrix):
        return matrix.adjoint(name or "adjoint")
    return linear_algebra.adjoint(matrix, name)


def cholesky(input: Any, name: str | None = None) -> Any:
    """TensorFlow's `Cholesky`: the lower triangular L of matrices [..., n, n], L L^H = A, floating
    or complex; of a linear operator, an operator. Raises `TypeError` for other dtypes, `ValueError`
    for shapes that do not fit and for an operator that is not known to be self-adjoint and positive
    definite."""
    if _is_operator(input):
        return input.cholesky(name or "cholesky")
    return plain_ops.cholesky(input, name=name)


def matrix_determinant(input: Any, name: str | None = None) -> Any:
    """TensorFlow's `MatrixDeterminant`: of matrices [..., n, n], floating or complex, or of a
    linear operator. Raises `TypeError` for other dtypes, `ValueError` for shapes that do not fit,
    `NotImplementedError` for an operator that is not square."""
    if _is_operator(input):
        return input.determinant(name or "det")
    return plain_ops.matrix_determinant(input, name=name)


def matrix_inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Any:
    """TensorFlow's `MatrixInverse`: of matrices [..., n, n], floating or complex, or of their
    conjugate transposes; of a linear operator, an operator. Raises `TypeError` for other dtypes,
    `ValueError` for shapes that do not fit and for an operator that is known to have no inverse; a
    run raises `InvalidArgumentError` for a singular matrix."""
    if not _is_operator(input):
        return plain_ops.matrix_inverse(input, adjoint=adjoint, name=name)
    found = input.inverse(name or "inverse")
    return found.adjoint() if adjoint else found


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
    """TensorFlow's `MatrixSolve`: x [..., n, k] of `matrix` x = `rhs`, or of its conjugate
    transpose, floating or complex; `matrix` may be a linear operator, and then `rhs`, too. Raises
    `TypeError` for other dtypes, `ValueError` for shapes that do not fit and for a tensor beside an
    operator as `rhs`, `NotImplementedError` for an operator that is known to have no inverse."""
    if _is_operator(matrix):
        return matrix.solve(rhs, adjoint=adjoint, name=name or "solve")
    if _is_operator(rhs):
        raise ValueError(
            "Passing in `matrix` as a Tensor and `rhs` as a LinearOperator is not supported."
        )
    return plain_ops.matrix_solve(matrix, rhs, adjoint=adjoint, name=name)


def logdet(matrix: Any, name: str | None = None) -> Any:
    """The logarithms of the determinants of positive definite matrices [..., n, n], floating or
    complex, or of a linear operator: [...]. Raises `TypeError` for other dtypes, `ValueError` for
    shapes that do not fit and for an operator that is not known to be self-adjoint and positive
    definite. Other matrices give NaN."""
    if not _is_operator(matrix):
        return matrix_equations.logdet(matrix, name)
    if not (matrix.is_positive_definite and matrix.is_self_adjoint):
        raise ValueError("Expected matrix to be self-adjoint positive definite.")
    return matrix.log_abs_determinant(name or "log_abs_det")


def diag_part(
    input: Any,
    name: str = "diag_part",
    k: Any = 0,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    """The diagonal `k` of matrices, above the main one for positive numbers, or those from the
    first to the second of a pair, with `padding_value` where they are shorter than the longest; the
    main one of a linear operator. Of any dtype. Raises `ValueError` for shapes that do not fit."""
    if _is_operator(input):
        return input.diag_part(name)
    return matrix_diag_part(input, name, k, padding_value, align)


def trace(x: Any, name: str | None = None) -> Any:
    """The sums of the diagonals of matrices [..., m, n], or of a linear operator. The result:
    [...], in their dtype. Raises `TypeError` for other dtypes, `ValueError` for shapes that do not
    fit."""
    if _is_operator(x):
        return x.trace(name or "trace")
    return linear_algebra.trace(x, name)
