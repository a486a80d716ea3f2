"""`LinearOperatorBlockLowerTriangular`: operators on and below a diagonal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from flowc.api.arrays.filling import zeros
from flowc.api.arrays.shaping import concat, expand_dims, squeeze
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.assertions import assert_proper_iterable
from flowc.api.framework.scopes import name_scope
from flowc.api.linear_operators import batches
from flowc.api.linear_operators.blocks import LinearOperatorBlockDiag
from flowc.api.linear_operators.dense import LinearOperatorFullMatrix
from flowc.api.linear_operators.hints import Hints, arguments_of
from flowc.api.linear_operators.linear_operator import LinearOperator
from flowc.api.math.linear_algebra import adjoint as adjoint_of
from flowc.graph import Operation, Tensor, TensorShape

Rows = list[list[LinearOperator]]


class LinearOperatorBlockLowerTriangular(LinearOperator):
    """Rows of `operators`, of one dtype: one in the first row, each row one more than the row
    above, zeros behind them. Those at the ends of rows are square; batches broadcast.

    Its methods take a tensor, or a list of one tensor for each row of blocks, and give the same.
    The hints are as for `LinearOperator`; whether it has an inverse follows from the operators on
    the diagonal alone. Raises `ValueError` for no operators, rows of other lengths, sizes that do
    not fit and hints that the operators contradict, `TypeError` for several dtypes."""

    def __init__(
        self,
        operators: Sequence[Sequence[LinearOperator]],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorBlockLowerTriangular",
    ) -> None:
        parameters = arguments_of(locals())
        self._operators = _checked_rows(operators)
        on_diagonal = [row[-1] for row in self._operators]
        is_non_singular = _has_inverse(on_diagonal, is_non_singular)
        _check_squares(on_diagonal, is_square)
        # What asks for the diagonal alone.
        self._diagonal = LinearOperatorBlockDiag(on_diagonal, name=f"{name}/diagonal")
        with name_scope(name):
            hints = Hints(is_non_singular, is_self_adjoint, is_positive_definite, True)
            super().__init__(on_diagonal[0].dtype, **hints.named(name, parameters))

    @property
    def operators(self) -> Rows:
        """The blocks, by rows."""
        return self._operators

    def _shape(self) -> TensorShape:
        batch = batches.common_shape([each.batch_shape for each in self._every()])
        return batch.concatenate(self._diagonal.shape[-2:])

    def _shape_tensor(self) -> Tensor:
        batch = batches.common_sizes([each.batch_shape_tensor() for each in self._every()])
        return concat([batch, self._diagonal.shape_tensor()[-2:]], 0)

    def _every(self) -> Iterator[LinearOperator]:
        for row in self._operators:
            yield from row

    # -- what takes lists, too

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """A `x`, as `LinearOperator.matmul`; of a list, a list of one tensor for each row."""
        if not self._diagonal._is_of_blocks(x):
            return super().matmul(x, adjoint, adjoint_arg, name)
        with self._name_scope(name):
            return self._products(x, adjoint, adjoint_arg)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """A `x`, as `LinearOperator.matvec`; of a list, a list of one tensor for each row."""
        if not self._diagonal._is_of_blocks(x):
            return super().matvec(x, adjoint, name)
        with self._name_scope(name):
            columns = [expand_dims(part, -1) for part in x]
            return [squeeze(part, [-1]) for part in self._products(columns, adjoint, False)]

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """x of A x = `rhs`, as `LinearOperator.solve`; of a list, a list of one tensor for each
        row."""
        if not self._diagonal._is_of_blocks(rhs):
            return super().solve(rhs, adjoint, adjoint_arg, name)
        self._need_inverse()
        with self._name_scope(name):
            return self._solutions(rhs, adjoint, adjoint_arg)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """x of A x = `rhs`, as `LinearOperator.solvevec`; of a list, a list of one tensor for each
        row."""
        if not self._diagonal._is_of_blocks(rhs):
            return super().solvevec(rhs, adjoint, name)
        self._need_inverse()
        with self._name_scope(name):
            columns = [expand_dims(part, -1) for part in rhs]
            return [squeeze(part, [-1]) for part in self._solutions(columns, adjoint, False)]

    def _products(self, parts: Sequence[Any], adjoint: bool, adjoint_arg: bool) -> list[Tensor]:
        found: list[Tensor] = []
        for i in range(len(self._operators)):
            total: Any = None
            for block, part in zip(self._blocks_of(i, adjoint), self._of_row(parts, i, adjoint)):
                term = block.matmul(part, adjoint=adjoint, adjoint_arg=adjoint_arg)
                total = term if total is None else total + term
            found.append(total)
        return found

    def _blocks_of(self, i: int, adjoint: bool) -> list[LinearOperator]:
        """The blocks of row `i`; for the adjoint, whose row they are, those of column `i`."""
        return [row[i] for row in self._operators[i:]] if adjoint else self._operators[i]

    def _of_row(self, parts: Sequence[Any], i: int, adjoint: bool) -> Sequence[Any]:
        return parts[i:] if adjoint else parts[: i + 1]

    def _solutions(self, parts: Sequence[Any], adjoint: bool, adjoint_arg: bool) -> list[Tensor]:
        """From the first row on; of the adjoint, from the last."""
        count = len(self._operators)
        found: list[Any] = [None] * count
        for i in reversed(range(count)) if adjoint else range(count):
            right = adjoint_of(parts[i]) if adjoint_arg else parts[i]
            known = self._of_row(found, i, adjoint)
            for block, part in zip(self._blocks_of(i, adjoint), known):
                if part is not None:
                    right = right - block.matmul(part, adjoint=adjoint)
            found[i] = self._operators[i][i].solve(right, adjoint=adjoint)
        return found

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        parts = self._diagonal._parts(x, -1, -1 if adjoint_arg else -2)
        return self._diagonal._joined(self._products(parts, adjoint, adjoint_arg))

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        parts = self._diagonal._parts(rhs, -1, -1 if adjoint_arg else -2)
        return self._diagonal._joined(self._solutions(parts, adjoint, adjoint_arg))

    # -- what the blocks give

    def inverse_of_blocks(self) -> LinearOperatorBlockLowerTriangular:
        """The inverse, of the blocks' inverses: below the diagonal -C^-1 (B A^-1), of the last
        operator C of a row, those before it B, and the rows above it A."""
        rows: Rows = []
        for row in self._operators:
            last = row[-1].inverse()
            made: list[LinearOperator] = []
            for column in range(len(row) - 1):
                total: Any = None
                for block, above in zip(row[column:-1], rows[column:]):
                    term = block.matmul(above[column].to_dense())
                    total = term if total is None else total + term
                made.append(LinearOperatorFullMatrix(-last.matmul(total)))
            rows.append([*made, last])
        hints = {**self.hints.arguments(), "is_square": True}
        return LinearOperatorBlockLowerTriangular(rows, **hints)

    def _to_dense(self) -> Tensor:
        dense = iter(batches.of_one_batch([each.to_dense() for each in self._every()]))
        left: Any = self._size(-1)
        rows: list[Tensor] = []
        for row in self._operators:
            blocks = [next(dense) for _ in row]
            left = left - row[-1]._size(-1)
            behind = zeros(concat([shape_of(blocks[0])[:-1], [left]], 0), self.dtype)
            rows.append(concat([*blocks, behind], -1))
        found = concat(rows, -2)
        found.set_shape(self.shape)
        return found

    def _determinant(self) -> Tensor:
        return self._diagonal.determinant()

    def _log_abs_determinant(self) -> Tensor:
        return self._diagonal.log_abs_determinant()

    def _trace(self) -> Tensor:
        return self._diagonal.trace()

    def _diag_part(self) -> Tensor:
        return self._diagonal.diag_part()

    def _eigvals(self) -> Tensor:
        return self._diagonal._eigvals()

    def _assert_non_singular(self) -> Operation:
        return self._diagonal.assert_non_singular()


def _checked_rows(operators: Sequence[Sequence[LinearOperator]]) -> Rows:
    assert_proper_iterable(operators)
    for row in operators:
        assert_proper_iterable(row)
    rows = [list(row) for row in operators]
    if not rows:
        raise ValueError(f"Argument `operators` must be a list of >=1 operators. Received: {rows}.")
    for i, row in enumerate(rows):
        if len(row) != i + 1:
            raise ValueError(
                f"Argument `operators[{i}]` must contain `{i + 1}` blocks. Received: {len(row)} "
                "blocks."
            )
    dtype = rows[0][0].dtype
    for i, row in enumerate(rows):
        if any(each.dtype != dtype for each in row):
            found = [(each.name, each.dtype) for each in row]
            raise TypeError(
                f"Expected all operators to have the same dtype.  Found {found} in row {i} and "
                f"{dtype!r} in row 0."
            )
    for i, row in enumerate(rows):
        for j, block in enumerate(row[:-1]):
            for side, beside, at in (
                ("domain_dimension", rows[i - 1][j], f"{i - 1}][{j}"),
                ("range_dimension", row[j + 1], f"{i}][{j + 1}"),
            ):
                own, other = getattr(block, side), getattr(beside, side)
                if not own.is_compatible_with(other):
                    raise ValueError(
                        f"Argument `operators[{i}][{j}].{side}` ({own}) must be the same as "
                        f"`operators[{at}].{side}` ({other})."
                    )
    return rows


def _has_inverse(on_diagonal: Sequence[LinearOperator], given: bool | None) -> bool | None:
    """Whether all on the diagonal have one; None where that is not known, whatever was promised."""
    known = [each.is_non_singular for each in on_diagonal]
    found = True if all(known) else False if False in known else None
    if found is not None and given is (not found):
        what = "non-singular" if found else "singular"
        raise ValueError(
            f"A blockwise lower-triangular operator with {what} operators on the main diagonal is "
            f"always {what}. Received `is_non_singular`: {given}."
        )
    return found


def _check_squares(on_diagonal: Sequence[LinearOperator], given: bool | None) -> None:
    if given is False:
        raise ValueError(
            "`LinearOperatorBlockLowerTriangular` must be square. Expected argument `is_square` to "
            f"be True. Received: {given}."
        )
    for i, each in enumerate(on_diagonal):
        if each.is_square is False:
            raise ValueError(
                "Matrices on the diagonal (the final elements of each row-partition in the "
                "`operators` list) must be square. Expected argument "
                f"`operators[{i}][-1].is_square` to be True. Received: {each.is_square}."
            )
