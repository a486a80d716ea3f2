"""`LinearOperatorDiag`."""

from __future__ import annotations

from typing import Any

from flowc.api.arrays.blocks import matrix_diag, matrix_diag_part
from flowc.api.arrays.shaping import concat, expand_dims
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework import assertions as check
from flowc.api.framework.basics import cast
from flowc.api.framework.scopes import name_scope
from flowc.api.linear_operators.hints import Hints, always, arguments_of
from flowc.api.linear_operators.linear_operator import (
    LinearOperator,
    assert_no_zeros,
    assert_real,
)
from flowc.api.math import elementwise as m
from flowc.api.math.linear_algebra import adjoint as adjoint_of
from flowc.api.math.linear_algebra import set_diag
from flowc.api.math.reductions import reduce_max, reduce_min, reduce_prod, reduce_sum
from flowc.graph import Operation, Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor


class LinearOperatorDiag(LinearOperator):
    """Diagonal matrices [batch..., n, n] of `diag` [batch..., n], floating or complex. The hints
    are as for `LinearOperator`. Raises `ValueError` for a scalar, and for a real operator that
    would not be self-adjoint."""

    def __init__(
        self,
        diag: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        parameters = arguments_of(locals())
        with name_scope(name, values=[diag]):
            self._diag = as_tensor(diag, name="diag")
        if self._diag.shape.ndims == 0:
            raise ValueError(f"Argument diag must have at least 1 dimension.  Found: {self._diag}")
        assert self._diag.dtype is not None
        if not self._diag.dtype.is_complex:
            message = "A real diagonal operator is always self adjoint."
            is_self_adjoint = always(is_self_adjoint, message)
        is_square = always(is_square, "Only square diagonal operators currently supported.")
        hints = Hints(is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(self._diag.base_dtype, **hints.named(name, parameters))

    @property
    def diag(self) -> Tensor:
        """The diagonals [batch..., n]."""
        return self._diag

    def _shape(self) -> TensorShape:
        return self._diag.shape.concatenate(self._diag.shape[-1:])

    def _shape_tensor(self) -> Tensor:
        sizes = shape_of(self._diag)
        return concat([sizes, sizes[-1:]], 0)

    def _assert_non_singular(self) -> Operation:
        return assert_no_zeros(self._diag, "Singular operator:  Diagonal contained zero values.")

    def _assert_positive_definite(self) -> Operation:
        if self.dtype.is_complex:
            told = "Diagonal operator had diagonal entries with non-positive real part"
        else:
            told = "Real diagonal operator had non-positive diagonal entries"
        message = f"{told}, thus was not positive definite."
        return check.assert_positive(m.real(self._diag), message=message)

    def _assert_self_adjoint(self) -> Operation:
        told = "This diagonal operator contained non-zero imaginary values.   Thus it was not"
        return assert_real(self._diag, f"{told} self-adjoint.")

    def _factors(self, adjoint: bool) -> Tensor:
        return m.conj(self._diag) if adjoint else self._diag

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        return expand_dims(self._factors(adjoint), -1) * x

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        return self._factors(adjoint) * x

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return rhs * expand_dims(1.0 / self._factors(adjoint), -1)

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diag, axis=[-1])

    def _log_abs_determinant(self) -> Tensor:
        return cast(reduce_sum(m.log(m.abs(self._diag)), axis=[-1]), self.dtype)

    def _to_dense(self) -> Tensor:
        return matrix_diag(self._diag)

    def _diag_part(self) -> Tensor:
        return self._diag

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return set_diag(x, self._diag + matrix_diag_part(x))

    def _eigvals(self) -> Tensor:
        return self._diag

    def _cond(self) -> Tensor:
        sizes = m.abs(self._diag)
        return reduce_max(sizes, axis=-1) / reduce_min(sizes, axis=-1)
