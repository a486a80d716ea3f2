"""`LinearOperatorFullMatrix` and `LinearOperatorLowerTriangular`: operators that hold a matrix."""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.arrays.blocks import matrix_band_part, matrix_diag_part
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.scopes import name_scope
from flowc.api.linear_operators import batches
from flowc.api.linear_operators.hints import Hints, always, arguments_of
from flowc.api.linear_operators.linear_operator import LinearOperator, assert_no_zeros
from flowc.api.math import elementwise as m
from flowc.api.math.linear_algebra import adjoint as adjoint_of
from flowc.api.math.matrix_equations import matrix_triangular_solve
from flowc.api.math.reductions import matmul, reduce_prod, reduce_sum
from flowc.graph import Operation, Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor

_DTYPES = (dtypes.f16, dtypes.f32, dtypes.f64, dtypes.c64, dtypes.c128)


class LinearOperatorFullMatrix(LinearOperator):
    """The matrices `matrix` [batch..., m, n], floating or complex. The hints are as for
    `LinearOperator`: a self-adjoint and positive definite one is solved by its Cholesky factor.
    Raises `TypeError` for other dtypes, `ValueError` for less than two dimensions."""

    def __init__(
        self,
        matrix: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        parameters = arguments_of(locals())
        with name_scope(name, values=[matrix]):
            self._matrix = as_tensor(matrix, name="matrix")
        if self._matrix.base_dtype not in _DTYPES:
            raise TypeError(
                f"Argument `matrix` must have dtype in {[d.name for d in _DTYPES]}. Received: "
                f"{self._matrix.dtype}."
            )
        _check_rank("matrix", self._matrix)
        hints = Hints(is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(self._matrix.base_dtype, **hints.named(name, parameters))

    @property
    def matrix(self) -> Tensor:
        """The matrices [batch..., m, n]."""
        return self._matrix

    def _shape(self) -> TensorShape:
        return self._matrix.shape

    def _shape_tensor(self) -> Tensor:
        return shape_of(self._matrix)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self) -> Tensor:
        return self._matrix


class LinearOperatorLowerTriangular(LinearOperator):
    """The lower triangles of `tril` [batch..., n, n], floating or complex; what stands above the
    diagonal is not read. The hints are as for `LinearOperator`. Raises `ValueError` for less than
    two dimensions, and for an operator that would not be square."""

    def __init__(
        self,
        tril: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        parameters = arguments_of(locals())
        told = "Only square lower triangular operators supported at this time."
        is_square = always(is_square, told)
        with name_scope(name, values=[tril]):
            self._tril = as_tensor(tril, name="tril")
        _check_rank("tril", self._tril)
        hints = Hints(is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(self._tril.base_dtype, **hints.named(name, parameters))

    @property
    def tril(self) -> Tensor:
        """The matrices [batch..., n, n] that it was made of."""
        return self._tril

    def _triangle(self) -> Tensor:
        return matrix_band_part(self._tril, -1, 0)

    def _shape(self) -> TensorShape:
        return self._tril.shape

    def _shape_tensor(self) -> Tensor:
        return shape_of(self._tril)

    def _assert_non_singular(self) -> Operation:
        message = "Singular operator:  Diagonal contained zero values."
        return assert_no_zeros(self._diag_part(), message)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return matmul(self._triangle(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        triangle, rhs = batches.of_one_batch([self._triangle(), rhs])
        return matrix_triangular_solve(triangle, rhs, lower=True, adjoint=adjoint)

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diag_part(), axis=[-1])

    def _log_abs_determinant(self) -> Tensor:
        return reduce_sum(m.log(m.abs(self._diag_part())), axis=[-1])

    def _to_dense(self) -> Tensor:
        return self._triangle()

    def _diag_part(self) -> Tensor:
        return matrix_diag_part(self._tril)

    def _eigvals(self) -> Tensor:
        return self._diag_part()


def _check_rank(name: str, value: Tensor) -> None:
    if value.shape.ndims is not None and value.shape.ndims < 2:
        raise ValueError(
            f"Argument `{name}` must have at least 2 dimensions. Received: {value}."
        )  # fmt: skip
