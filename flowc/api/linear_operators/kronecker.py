"""`LinearOperatorKronecker`: a Kronecker product of operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from flowc.api.arrays.shaping import concat, matrix_transpose, reshape, stack
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.basics import cast
from flowc.api.framework.scopes import group
from flowc.api.linear_operators import batches
from flowc.api.linear_operators.combined import CombinedOperator
from flowc.api.linear_operators.hints import Hints
from flowc.api.linear_operators.linear_operator import LinearOperator
from flowc.api.math import elementwise as m
from flowc.errors import InvalidArgumentError
from flowc.graph import Dimension, Operation, Tensor, TensorShape


class LinearOperatorKronecker(CombinedOperator):
    """The Kronecker product of `operators`, of one dtype, whose batches broadcast. The hints are as
    for `LinearOperator`. Raises `ValueError` for no operators and hints that they contradict,
    `TypeError` for several dtypes."""

    _between = "_x_"

    def _hints(self, given: Hints) -> Hints:
        return self._as_all(given, "Kronecker product", "positive-definite")

    def _shape(self) -> TensorShape:
        batch = batches.common_shape([operator.batch_shape for operator in self.operators])
        rows = reduce(Dimension.__mul__, [each.range_dimension for each in self.operators])
        columns = reduce(Dimension.__mul__, [each.domain_dimension for each in self.operators])
        return batch.concatenate([rows, columns])

    def _shape_tensor(self) -> Tensor:
        rows = _product([each.range_dimension_tensor() for each in self.operators])
        columns = _product([each.domain_dimension_tensor() for each in self.operators])
        batch = batches.common_sizes([each.batch_shape_tensor() for each in self.operators])
        return concat([batch, stack([rows, columns])], 0)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._each(lambda each: each.matmul, x, adjoint, adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._each(lambda each: each.solve, rhs, not adjoint, adjoint_arg, adjoint)

    def _each(
        self,
        method: Callable[[LinearOperator], Callable[..., Tensor]],
        x: Tensor,
        to_rows_of_domain: bool,
        adjoint_arg: bool,
        adjoint: bool | None = None,
    ) -> Tensor:
        """Applies each factor along its own axis of the rows of `x`, from the last factor on: the
        rows are kept in one axis, whose last factor's part is turned to the front each time."""
        adjoint = to_rows_of_domain if adjoint is None else adjoint
        rows = m.conj(x) if adjoint_arg else matrix_transpose(x)  # [..., columns, rows]
        columns = shape_of(rows)[-2]
        for operator in reversed(self.operators):
            taken = operator._size(-2 if to_rows_of_domain else -1)
            sizes = shape_of(rows)
            rows = reshape(rows, concat([sizes[:-2], [-1, taken]], 0))
            # [..., part, own] times the factor's transpose: [own of the result, part]
            rows = method(operator)(m.conj(rows), adjoint=adjoint, adjoint_arg=True)
        total = self._size(-1 if to_rows_of_domain else -2)
        sizes = shape_of(rows)
        found = reshape(rows, concat([sizes[:-2], stack([total, columns])], 0))
        if x.shape.ndims is not None:
            count = x.shape[-2 if adjoint_arg else -1]
            own = self.domain_dimension if to_rows_of_domain else self.range_dimension
            batch = batches.common_shape([x.shape[:-2], self.batch_shape])
            found.set_shape(batch.concatenate([own, count]))
        return found

    def _powers(self, parts: Sequence[Tensor]) -> list[tuple[Tensor, Tensor]]:
        """(a number of a factor, how often it counts)"""
        total = self._size(-1)
        return [
            (part, cast(total // operator._size(-1), part.dtype))
            for operator, part in zip(self.operators, parts)
        ]

    def _determinant(self) -> Tensor:
        parts = self._powers([operator.determinant() for operator in self.operators])
        return _product([m.pow(part, count) for part, count in parts])

    def _log_abs_determinant(self) -> Tensor:
        parts = self._powers([operator.log_abs_determinant() for operator in self.operators])
        return reduce(lambda a, b: a + b, [part * count for part, count in parts])

    def _trace(self) -> Tensor:
        return _product([operator.trace() for operator in self.operators])

    def _diag_part(self) -> Tensor:
        found = self.operators[0].diag_part()
        for operator in self.operators[1:]:
            found = _outer(found[..., None], operator.diag_part()[..., None, :], 1)
        known = self.shape
        if known.ndims is not None:
            sizes = known.sizes or ()
            least = None if None in sizes[-2:] else min(size for size in sizes[-2:] if size)
            found.set_shape(known[:-2].concatenate([least]))
        return found

    def _to_dense(self) -> Tensor:
        found = self.operators[0].to_dense()
        for operator in self.operators[1:]:
            dense = operator.to_dense()
            found = _outer(found[..., :, None, :, None], dense[..., None, :, None, :], 2)
        found.set_shape(self.shape)
        return found

    def _eigvals(self) -> Tensor:
        found = self.operators[0].eigvals()
        for operator in self.operators[1:]:
            found = _outer(found[..., None], operator.eigvals()[..., None, :], 1)
        return found

    def _assert_non_singular(self) -> Operation:
        self._need_squares()
        return group(*(operator.assert_non_singular() for operator in self.operators))

    def _assert_self_adjoint(self) -> Operation:
        self._need_squares()
        return group(*(operator.assert_self_adjoint() for operator in self.operators))

    def _need_squares(self) -> None:
        if not all(operator.is_square for operator in self.operators):
            raise InvalidArgumentError(
                "All Kronecker factors must be square for the product to be invertible. Expected "
                "hint `is_square` to be True for every operator in argument `operators`."
            )


def _product(parts: Sequence[Any]) -> Any:
    return reduce(lambda a, b: a * b, parts)


def _outer(one: Tensor, other: Tensor, axes: int) -> Tensor:
    """The product of two tensors whose last `2 * axes` axes are pairs; each pair becomes one."""
    whole = one * other
    sizes = shape_of(whole)
    if axes == 1:
        pairs = [sizes[-2] * sizes[-1]]
    else:
        pairs = [sizes[-4] * sizes[-3], sizes[-2] * sizes[-1]]
    return reshape(whole, concat([sizes[: -2 * axes], stack(pairs)], 0))
