"""`LinearOperatorComposition`: a product of operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from flowc.api.arrays.shaping import concat, stack
from flowc.api.framework.scopes import group
from flowc.api.linear_operators import batches
from flowc.api.linear_operators.combined import CombinedOperator
from flowc.api.linear_operators.hints import Hints, always, of_all
from flowc.api.linear_operators.linear_operator import LinearOperator
from flowc.api.linear_operators.nested import LinearOperatorAdjoint
from flowc.graph import Operation, Tensor, TensorShape


def is_symmetric(operators: Sequence[LinearOperator]) -> bool:
    """Whether the operators are A, B, ..., B^H, A^H."""
    if len(operators) % 2:
        return False
    half = len(operators) // 2
    return all(
        _are_adjoint(one, other) for one, other in zip(operators[:half], reversed(operators))
    )  # fmt: skip


def _are_adjoint(one: LinearOperator, other: LinearOperator) -> bool:
    if one is other:
        return bool(one.is_self_adjoint)
    return any(
        isinstance(outer, LinearOperatorAdjoint) and outer.operator is inner
        for outer, inner in ((one, other), (other, one))
    )


class LinearOperatorComposition(CombinedOperator):
    """The product of `operators`, of one dtype, whose batches broadcast. The hints are as for
    `LinearOperator`. Raises `ValueError` for no operators, sizes that do not fit and hints that the
    operators contradict, `TypeError` for several dtypes."""

    _between = "_o_"

    def _hints(self, given: Hints) -> Hints:
        message = "The composition of non-singular operators is always non-singular."
        is_non_singular = of_all("is_non_singular", self._operators, given.is_non_singular, message)
        found = replace(given, is_non_singular=is_non_singular)
        symmetric = is_symmetric(self._operators)
        if symmetric or (len(self._operators) == 1 and self._operators[0].is_self_adjoint):
            told = "The composition was determined to be self-adjoint but user provided incorrect"
            found = replace(
                found, is_self_adjoint=always(given.is_self_adjoint, f"{told} `False` hint.")
            )
        if symmetric:
            told = "The composition was determined have the form A @ A.H, hence it must be"
            message = f"{told} square. The user provided an incorrect `False` hint."
            found = replace(found, is_square=always(given.is_square, message))
        if symmetric and is_non_singular:
            told = "The composition was determined to be non-singular and have the form"
            message = (
                f"{told} A @ A.H, hence it must be positive-definite. The user provided an "
                "incorrect `False` hint."
            )
            definite = always(given.is_positive_definite, message)
            found = replace(found, is_positive_definite=definite)
        return found

    def _shape(self) -> TensorShape:
        for left, right in zip(self.operators, self.operators[1:]):
            left.domain_dimension.assert_is_compatible_with(right.range_dimension)
        batch = batches.common_shape([operator.batch_shape for operator in self.operators])
        sizes = [self.operators[0].range_dimension, self.operators[-1].domain_dimension]
        return batch.concatenate(sizes)

    def _shape_tensor(self) -> Tensor:
        rows = self.operators[0].range_dimension_tensor()
        columns = self.operators[-1].domain_dimension_tensor()
        batch = batches.common_sizes([each.batch_shape_tensor() for each in self.operators])
        return concat([batch, stack([rows, columns])], 0)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        first, *others = self.operators if adjoint else reversed(self.operators)
        found = first.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        return reduce(lambda y, operator: operator.matmul(y, adjoint=adjoint), others, found)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        first, *others = reversed(self.operators) if adjoint else self.operators
        found = first.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        return reduce(lambda y, operator: operator.solve(y, adjoint=adjoint), others, found)

    def _determinant(self) -> Tensor:
        return reduce(lambda a, b: a * b, [each.determinant() for each in self.operators])

    def _log_abs_determinant(self) -> Tensor:
        return reduce(lambda a, b: a + b, [each.log_abs_determinant() for each in self.operators])

    def _assert_non_singular(self) -> Operation:
        if all(operator.is_square for operator in self.operators):
            return group(*(operator.assert_non_singular() for operator in self.operators))
        return super()._assert_non_singular()
