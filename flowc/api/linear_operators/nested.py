"""`LinearOperatorAdjoint` and `LinearOperatorInversion`: operators of one other operator."""

from __future__ import annotations

from typing import ClassVar

from flowc.api.arrays.shaping import concat
from flowc.api.framework.scopes import name_scope
from flowc.api.linear_operators.hints import Hints, arguments_of, as_of
from flowc.api.linear_operators.linear_operator import LinearOperator
from flowc.api.math import elementwise as m
from flowc.api.math.linear_algebra import adjoint as adjoint_of
from flowc.graph import Operation, Tensor, TensorShape


class _OfOperator(LinearOperator):
    """An operator that is singular, self-adjoint and so on as another one is. Raises `ValueError`
    for hints that it contradicts."""

    _what: ClassVar[str]  # of the other operator
    _suffix: ClassVar[str]  # of the name

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        parameters = arguments_of(locals())
        given = Hints(is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        self._check(operator, given)
        hints = as_of(operator, given, self._what).arguments()
        self._operator = operator
        name = f"{operator.name}_{self._suffix}" if name is None else name
        with name_scope(name):
            super().__init__(operator.dtype, None, name=name, parameters=parameters, **hints)

    def _check(self, operator: LinearOperator, given: Hints) -> None:
        """Raises `ValueError` for an operator of which there is no such one."""

    @property
    def operator(self) -> LinearOperator:
        """The operator that it was made of."""
        return self._operator

    def _assert_non_singular(self) -> Operation:
        return self.operator.assert_non_singular()

    def _assert_positive_definite(self) -> Operation:
        return self.operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> Operation:
        return self.operator.assert_self_adjoint()

    def _cond(self) -> Tensor:
        return self.operator.cond()


class LinearOperatorAdjoint(_OfOperator):
    """A^H of the operator A. Raises `ValueError` for hints that A contradicts."""

    _what, _suffix = "adjoint", "adjoint"

    def _shape(self) -> TensorShape:
        shape = self.operator.shape
        return shape[:-2].concatenate([shape[-1], shape[-2]]) if shape.ndims else shape

    def _shape_tensor(self) -> Tensor:
        sizes = self.operator.shape_tensor()
        return concat([sizes[:-2], [sizes[-1], sizes[-2]]], 0)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self.operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        return self.operator.matvec(x, adjoint=not adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self.operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs: Tensor, adjoint: bool = False) -> Tensor:
        return self.operator.solvevec(rhs, adjoint=not adjoint)

    def _conjugate(self, x: Tensor) -> Tensor:
        return x if self.is_self_adjoint else m.conj(x)

    def _determinant(self) -> Tensor:
        return self._conjugate(self.operator.determinant())

    def _log_abs_determinant(self) -> Tensor:
        return self.operator.log_abs_determinant()

    def _trace(self) -> Tensor:
        return self._conjugate(self.operator.trace())

    def _to_dense(self) -> Tensor:
        dense = self.operator.to_dense()
        return dense if self.is_self_adjoint else adjoint_of(dense)

    def _eigvals(self) -> Tensor:
        return self.operator.eigvals()


class LinearOperatorInversion(_OfOperator):
    """A^-1 of the operator A: what it is applied to is solved. Raises `ValueError` for hints that A
    contradicts, and for an A that is singular or not square."""

    _what, _suffix = "inverse", "inv"

    def _check(self, operator: LinearOperator, given: Hints) -> None:
        for hint in ("is_non_singular", "is_square"):
            own, said = getattr(operator, hint), getattr(given, hint)
            if own is False or said is False:
                raise ValueError(
                    f"Argument `{hint}` or argument `operator` must have supplied hint `{hint}` "
                    f"equal to `True` or `None`. Found `operator.{hint}`: {own}, `{hint}`: {said}."
                )

    def _shape(self) -> TensorShape:
        return self.operator.shape

    def _shape_tensor(self) -> Tensor:
        return self.operator.shape_tensor()

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self.operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self.operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Tensor:
        return 1.0 / self.operator.determinant()

    def _log_abs_determinant(self) -> Tensor:
        return -1.0 * self.operator.log_abs_determinant()

    def _eigvals(self) -> Tensor:
        return 1.0 / self.operator.eigvals()
