"""`LinearOperatorLowRankUpdate`: an operator and a matrix of low rank."""

from __future__ import annotations

from typing import Any

from flowc.api.arrays.blocks import matrix_diag_part
from flowc.api.arrays.shaping import concat, expand_dims
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.basics import cast
from flowc.api.framework.plain_ops import cholesky, matrix_determinant
from flowc.api.framework.scopes import name_scope
from flowc.api.linear_operators import batches
from flowc.api.linear_operators.diagonal import LinearOperatorDiag
from flowc.api.linear_operators.hints import Hints, always, arguments_of
from flowc.api.linear_operators.identity import LinearOperatorIdentity
from flowc.api.linear_operators.linear_operator import LinearOperator
from flowc.api.math import elementwise as m
from flowc.api.math.matrix_equations import cholesky_solve
from flowc.api.math.reductions import matmul, reduce_sum
from flowc.graph import Operation, Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor


class LinearOperatorLowRankUpdate(LinearOperator):
    """L + U D V^H of the operator L (`base_operator`, [batch..., m, n]), `u` [batch..., m, k], the
    diagonal `diag_update` [batch..., k] (ones, if None) and `v` [batch..., n, k] (`u`, if None).

    Solutions and determinants are those of L and of matrices [k, k]. `is_diag_update_positive`:
    whether D is promised to be positive. Raises `ValueError` for sizes that do not fit and hints
    that cannot be."""

    def __init__(
        self,
        base_operator: LinearOperator,
        u: Any,
        diag_update: Any = None,
        v: Any = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        parameters = arguments_of(locals())
        if diag_update is None:
            is_diag_update_positive = always(
                is_diag_update_positive,
                "Default diagonal is the identity, which is positive.  However, user set "
                "'is_diag_update_positive' to False.",
            )
        definite = base_operator._has_cholesky() and is_diag_update_positive and v is None
        if base_operator.is_self_adjoint and v is None and not base_operator.dtype.is_complex:
            is_self_adjoint = always(
                is_self_adjoint,
                "A = L + UDU^H, with L self-adjoint and D real diagonal.  Since UDU^H is "
                "self-adjoint, this must be a self-adjoint operator.",
            )
        if definite:
            message = "Arguments imply this is self-adjoint positive-definite operator."
            always(is_non_singular, message)
            is_self_adjoint = always(is_self_adjoint, message)
            is_positive_definite = always(is_positive_definite, message)
        self._is_definite = bool(definite)
        self._base, self._is_diag_positive = base_operator, is_diag_update_positive
        with name_scope(name):
            self._u = as_tensor(u, base_operator.dtype, "u")
            self._v = self._u if v is None else as_tensor(v, base_operator.dtype, "v")
            self._diag = None
            if diag_update is not None:
                self._diag = as_tensor(diag_update, base_operator.dtype, "diag_update")
            self._middle = self._middle_operator()
        hints = Hints(is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(base_operator.dtype, **hints.named(name, parameters))
        self._check_shapes()

    def _middle_operator(self) -> LinearOperator:
        if self._diag is not None:
            return LinearOperatorDiag(self._diag, is_positive_definite=self._is_diag_positive)
        shape = self._u.shape
        known = None if shape.ndims is None else shape[-1].value
        rank: Any = shape_of(self._u)[-1] if known is None else known
        return LinearOperatorIdentity(rank, dtype=self._base.dtype)

    def _check_shapes(self) -> None:
        both = batches.common_shape([self._u.shape[:-2], self._v.shape[:-2]])
        batches.common_shape([both, self._base.batch_shape, self._middle.batch_shape])
        for side, own in ((self._u, -2), (self._v, -1)):
            if side.shape.ndims is None:
                continue
            if self._base.shape.ndims is not None:
                self._base.shape[own].assert_is_compatible_with(side.shape[-2])
            self._middle.domain_dimension.assert_is_compatible_with(side.shape[-1])

    @property
    def u(self) -> Tensor:
        """U: [batch..., m, k]."""
        return self._u

    @property
    def v(self) -> Tensor:
        """V: [batch..., n, k]."""
        return self._v

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether D is promised to be positive."""
        return self._is_diag_positive

    @property
    def diag_update(self) -> Tensor | None:
        """The diagonal of D: [batch..., k]."""
        return self._diag

    @property
    def diag_operator(self) -> LinearOperator:
        """D as an operator."""
        return self._middle

    @property
    def base_operator(self) -> LinearOperator:
        """L."""
        return self._base

    def _shape(self) -> TensorShape:
        batch = batches.common_shape(
            [
                self._base.batch_shape,
                self._middle.batch_shape,
                self._u.shape[:-2],
                self._v.shape[:-2],
            ]
        )
        return batch.concatenate(self._base.shape[-2:])

    def _shape_tensor(self) -> Tensor:
        own = [self._base.batch_shape_tensor(), self._middle.batch_shape_tensor()]
        sides = [shape_of(side)[:-2] for side in (self._u, self._v)]
        return concat([batches.common_sizes([*own, *sides]), self._base._sizes()[-2:]], 0)

    def _assert_self_adjoint(self) -> Operation:
        if self._u is self._v and self._diag is None:
            return self._base.assert_self_adjoint()
        return super()._assert_self_adjoint()

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        inner = matmul(right, x, adjoint_a=True, adjoint_b=adjoint_arg)
        update = matmul(left, self._middle.matmul(inner, adjoint=adjoint))
        return self._base.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg) + update

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if self._base.is_non_singular is False:
            raise ValueError(
                "Solve not implemented unless this is a perturbation of a non-singular "
                "LinearOperator."
            )
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        first = self._base.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = matmul(right, first, adjoint_a=True)
        capacitance = self._capacitance()
        if self._is_definite:
            factor, inner = batches.of_one_batch([cholesky(capacitance), inner])
            inner = cholesky_solve(factor, inner)
        else:
            inner = batches.solved(capacitance, inner, adjoint)
        return first - self._base.solve(matmul(left, inner), adjoint=adjoint)

    def _capacitance(self) -> Tensor:
        """D^-1 + V^H L^-1 U: its inverse makes that of the operator (Woodbury's identity)."""
        inner = matmul(self._v, self._base.solve(self._u), adjoint_a=True)
        return self._middle.inverse().add_to_tensor(inner)

    def _determinant(self) -> Tensor:
        if self.is_positive_definite:
            return m.exp(self.log_abs_determinant())
        inner = matrix_determinant(self._capacitance())
        return inner * self._middle.determinant() * self._base.determinant()

    def _log_abs_determinant(self) -> Tensor:
        if self._is_definite:
            diagonal = matrix_diag_part(cholesky(self._capacitance()))
            inner = 2 * reduce_sum(m.log(diagonal), axis=[-1])
        else:
            inner = cast(m.log(m.abs(matrix_determinant(self._capacitance()))), self.dtype)
        return inner + self._middle.log_abs_determinant() + self._base.log_abs_determinant()

    def _diag_part(self) -> Tensor:
        product = self._u * m.conj(self._v)
        if self._diag is not None:
            product = product * expand_dims(self._diag, -2)
        return reduce_sum(product, axis=-1) + self._base.diag_part()
