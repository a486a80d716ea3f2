"""`LinearOperatorBlockDiag`: operators along a diagonal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from flowc.api.arrays.filling import zeros
from flowc.api.arrays.shaping import concat, expand_dims, split, squeeze, stack
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.scopes import group
from flowc.api.linear_operators import batches
from flowc.api.linear_operators.combined import CombinedOperator
from flowc.api.linear_operators.hints import Hints
from flowc.api.linear_operators.linear_operator import LinearOperator
from flowc.graph import Dimension, Operation, Tensor, TensorShape


class LinearOperatorBlockDiag(CombinedOperator):
    """`operators`, of one dtype, along the diagonal of a matrix of zeros; their batches broadcast.

    Its methods take a tensor, or a list of one tensor for each block, and give the same. The hints
    are as for `LinearOperator`. Raises `ValueError` for no operators and hints that they
    contradict, `TypeError` for several dtypes."""

    _between = "_ds_"

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(operators, *hints, name)

    def _hints(self, given: Hints) -> Hints:
        return self._as_all(given, "direct sum", "positive definite")

    def _shape(self) -> TensorShape:
        batch = batches.common_shape([operator.batch_shape for operator in self.operators])
        rows = reduce(Dimension.__add__, [each.range_dimension for each in self.operators])
        columns = reduce(Dimension.__add__, [each.domain_dimension for each in self.operators])
        return batch.concatenate([rows, columns])

    def _shape_tensor(self) -> Tensor:
        batch = batches.common_sizes([each.batch_shape_tensor() for each in self.operators])
        sizes = [sum(each._size(axis) for each in self.operators) for axis in (-2, -1)]
        return concat([batch, stack(sizes)], 0)

    # -- what takes lists, too

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """A `x`, as `LinearOperator.matmul`; of a list, one product for each block."""
        if not self._is_of_blocks(x):
            return super().matmul(x, adjoint, adjoint_arg, name)
        with self._name_scope(name):
            return [
                each.matmul(part, adjoint=adjoint, adjoint_arg=adjoint_arg)
                for each, part in zip(self.operators, x)
            ]

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """A `x`, as `LinearOperator.matvec`; of a list, one product for each block."""
        if not self._is_of_blocks(x):
            return super().matvec(x, adjoint, name)
        with self._name_scope(name):
            return [each.matvec(part, adjoint=adjoint) for each, part in zip(self.operators, x)]

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """x of A x = `rhs`, as `LinearOperator.solve`; of a list, one solution for each block."""
        if not self._is_of_blocks(rhs):
            return super().solve(rhs, adjoint, adjoint_arg, name)
        self._need_inverse()
        with self._name_scope(name):
            return [
                each.solve(part, adjoint=adjoint, adjoint_arg=adjoint_arg)
                for each, part in zip(self.operators, rhs)
            ]

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """x of A x = `rhs`, as `LinearOperator.solvevec`; of a list, one for each block."""
        if not self._is_of_blocks(rhs):
            return super().solvevec(rhs, adjoint, name)
        self._need_inverse()
        with self._name_scope(name):
            return [each.solvevec(part, adjoint=adjoint) for each, part in zip(self.operators, rhs)]

    def _is_of_blocks(self, value: Any) -> bool:
        return (
            isinstance(value, list | tuple)
            and len(value) == len(self.operators)
            and all(hasattr(part, "shape") or isinstance(part, LinearOperator) for part in value)
        )

    # -- what one tensor is split for

    def _parts(self, x: Tensor, own_axis: int, axis: int) -> list[Tensor]:
        sizes: list[Any] = [operator.shape[own_axis].value for operator in self.operators]
        if None in sizes:
            sizes = [operator._size(own_axis) for operator in self.operators]
            return split(x, stack(sizes), axis=axis, num=len(sizes))
        return split(x, sizes, axis=axis)

    def _joined(self, parts: Sequence[Tensor]) -> Tensor:
        return concat(batches.of_one_batch(parts), axis=-2)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        parts = self._parts(x, -2 if adjoint else -1, -1 if adjoint_arg else -2)
        return self._joined(
            [
                each.matmul(part, adjoint=adjoint, adjoint_arg=adjoint_arg)
                for each, part in zip(self.operators, parts)
            ]
        )

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        parts = self._parts(rhs, -1 if adjoint else -2, -1 if adjoint_arg else -2)
        return self._joined(
            [
                each.solve(part, adjoint=adjoint, adjoint_arg=adjoint_arg)
                for each, part in zip(self.operators, parts)
            ]
        )

    # -- numbers of the blocks

    def _of_each(self, method: Callable[[LinearOperator], Any]) -> list[Any]:
        return [method(operator) for operator in self.operators]

    def _need_squares(self, what: str) -> None:
        if not all(operator.is_square for operator in self.operators):
            raise NotImplementedError(
                f"`{what}` not implemented for an operator whose blocks are not square."
            )

    def _determinant(self) -> Tensor:
        return reduce(lambda a, b: a * b, self._of_each(lambda each: each.determinant()))

    def _log_abs_determinant(self) -> Tensor:
        return reduce(lambda a, b: a + b, self._of_each(lambda each: each.log_abs_determinant()))

    def _trace(self) -> Tensor:
        self._need_squares("trace")
        return reduce(lambda a, b: a + b, self._of_each(lambda each: each.trace()))

    def _diag_part(self) -> Tensor:
        self._need_squares("diag_part")
        columns = self._of_each(lambda each: expand_dims(each.diag_part(), -1))
        return squeeze(self._joined(columns), [-1])

    def _eigvals(self) -> Tensor:
        self._need_squares("eigvals")
        columns = self._of_each(lambda each: expand_dims(each.eigvals(), -1))
        return squeeze(self._joined(columns), [-1])

    def _to_dense(self) -> Tensor:
        blocks = batches.of_one_batch(self._of_each(lambda each: each.to_dense()))
        columns = [operator._size(-1) for operator in self.operators]
        total = self._size(-1)
        before: Any = 0
        rows = []
        for block, count in zip(blocks, columns):
            sizes = shape_of(block)[:-1]
            after = total - before - count
            left, right = (zeros(concat([sizes, [n]], 0), self.dtype) for n in (before, after))
            rows.append(concat([left, block, right], -1))
            before = before + count
        found = concat(rows, -2)
        found.set_shape(self.shape)
        return found

    def _assert_non_singular(self) -> Operation:
        return group(*self._of_each(lambda each: each.assert_non_singular()))

    def _assert_self_adjoint(self) -> Operation:
        return group(*self._of_each(lambda each: each.assert_self_adjoint()))

    def _assert_positive_definite(self) -> Operation:
        return group(*self._of_each(lambda each: each.assert_positive_definite()))
