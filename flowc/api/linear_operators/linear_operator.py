"""`tf.linalg.LinearOperator`: what every linear operator answers.

In: a subclass's methods of a leading underscore, those that are cheaper than the dense matrix. Out:
products, solutions, determinants and properties as tensors, or operators. Invariant: what a
subclass does not say follows from its `_matmul`, through the dense matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc.api.arrays.blocks import matrix_diag_part
from flowc.api.arrays.filling import eye
from flowc.api.arrays.shaping import expand_dims, squeeze
from flowc.api.framework import assertions as check
from flowc.api.framework.basics import cast
from flowc.api.framework.plain_ops import cholesky, matrix_determinant, slogdet
from flowc.api.framework.scopes import no_op
from flowc.api.linear_operators import batches
from flowc.api.linear_operators.description import MatrixDescription
from flowc.api.math import elementwise as m
from flowc.api.math.linear_algebra import adjoint as adjoint_of
from flowc.api.math.matrix_equations import cholesky_solve, self_adjoint_eigvals, svd
from flowc.api.math.reductions import reduce_max, reduce_min, reduce_sum
from flowc.graph import Operation, Tensor
from flowc.graph.building.conversion import as_tensor


class LinearOperator(MatrixDescription):
    """Matrices [batch..., m, n] by what they do, of `dtype`.

    A subclass gives `_shape()` and `_matmul(x, adjoint, adjoint_arg)`, `_shape_tensor()` where a
    shape may be open, and what it can do better than with the dense matrix (`_solve`,
    `_determinant`, `_to_dense`, `_diag_part`, ...). `is_non_singular`, `is_self_adjoint`,
    `is_positive_definite` (of a positive real part of x^H A x), `is_square`: what the program
    promises, None for nothing; no run checks it, but what `assert_...` make does. `parameters`: the
    arguments of the subclass.

    Raises `ValueError` for promises that contradict each other. Methods raise `TypeError` for
    tensors of another dtype, `ValueError` for sizes that do not fit, and `NotImplementedError` for
    what the operator is promised not to have (the inverse of a singular one)."""

    # -- promises checked by a run

    def assert_non_singular(self, name: str = "assert_non_singular") -> Operation:
        """An operation that fails where the operator is singular, up to the dtype's precision."""
        with self._name_scope(name):
            return self._assert_non_singular()

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Operation:
        """An operation that fails where the operator is not positive definite. Raises
        `NotImplementedError` for a dense one that is not known to be self-adjoint."""
        with self._name_scope(name):
            return self._assert_positive_definite()

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Operation:
        """An operation that fails where the operator is not its adjoint."""
        with self._name_scope(name):
            return self._assert_self_adjoint()

    # -- products and solutions

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """A `x`: [..., m, k] of matrices [..., n, k], or an operator of an operator. `adjoint`: A^H
        in place of A; `adjoint_arg`: `x`^H in place of `x`."""
        if isinstance(x, LinearOperator):
            left, right = self._pair(x, adjoint, adjoint_arg, "x")
            with self._name_scope(name):
                from flowc.api.linear_operators import algebra

                return algebra.product(left, right)
        with self._name_scope(name):
            given = self._argument(x, "x", -2 if adjoint else -1, -1 if adjoint_arg else -2)
            return self._matmul(given, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """A `x`: [..., m] of vectors [..., n]; with `adjoint` A^H `x`."""
        with self._name_scope(name):
            given = self._argument(x, "x", -2 if adjoint else -1, -1)
            return self._matvec(given, adjoint=adjoint)

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """x of A x = `rhs`: [..., n, k] of matrices [..., m, k], or an operator of an operator.
        `adjoint`: A^H in place of A; `adjoint_arg`: `rhs`^H in place of `rhs`. Raises
        `NotImplementedError` for an operator that is known to be singular or not square."""
        self._need_inverse()
        if isinstance(rhs, LinearOperator):
            left, right = self._pair(rhs, adjoint, adjoint_arg, "rhs")
            with self._name_scope(name):
                from flowc.api.linear_operators import algebra

                return algebra.solution(left, right)
        with self._name_scope(name):
            given = self._argument(rhs, "rhs", -1 if adjoint else -2, -1 if adjoint_arg else -2)
            return self._solve(given, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """x of A x = `rhs`: [..., n] of vectors [..., m]; with `adjoint`, of A^H. Raises as
        `solve`."""
        with self._name_scope(name):
            given = self._argument(rhs, "rhs", -1 if adjoint else -2, -1)
            return self._solvevec(given, adjoint=adjoint)

    def _need_inverse(self) -> None:
        for holds, what in (
            (self.is_non_singular, "be singular"),
            (self.is_square, "not be square"),
        ):
            if holds is False:
                raise NotImplementedError(
                    f"Exact solve not implemented for an operator that is expected to {what}."
                )

    def _argument(self, value: Any, name: str, own_axis: int, axis: int) -> Tensor:
        """A tensor whose size along `axis` is the operator's along `own_axis`."""
        given = as_tensor(value, name=name, preferred=self.dtype)
        if given.base_dtype != self.dtype:
            raise TypeError(
                f"Expected argument to have dtype {self.dtype}.  Found: {given.dtype} in tensor "
                f"{given}"
            )
        if self.shape.ndims is not None and given.shape.ndims is not None:
            self.shape[own_axis].assert_is_compatible_with(given.shape[axis])
        return given

    def _pair(
        self, other: LinearOperator, adjoint: bool, adjoint_arg: bool, name: str
    ) -> tuple[LinearOperator, LinearOperator]:
        left = self.adjoint() if adjoint else self
        right = other.adjoint() if adjoint_arg else other
        if not left.domain_dimension.is_compatible_with(right.range_dimension):
            raise ValueError(
                f"Operators are incompatible. Expected `{name}` to have dimension "
                f"{left.domain_dimension} but got {right.range_dimension}."
            )
        return left, right

    # -- operators of it

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The operator A^H."""
        if self.is_self_adjoint is True:
            return self
        with self._name_scope(name):
            from flowc.api.linear_operators import algebra

            return algebra.adjoint(self)

    H = property(adjoint, None, doc="The operator A^H.")

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The operator of A^-1. Raises `ValueError` for one that is known to be singular or not
        square."""
        told = "Cannot take the Inverse: This operator represents a {} matrix."
        if self.is_square is False:
            raise ValueError(told.format("non square"))
        if self.is_non_singular is False:
            raise ValueError(told.format("singular"))
        with self._name_scope(name):
            from flowc.api.linear_operators import algebra

            return algebra.inverse(self)

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The operator of the lower triangular L, L L^H = A. Raises `ValueError` for one that is
        not known to be self-adjoint and positive definite."""
        if not self._has_cholesky():
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint "
                "matrix."
            )
        with self._name_scope(name):
            from flowc.api.linear_operators import algebra

            return algebra.cholesky(self)

    # -- tensors of it

    def determinant(self, name: str = "det") -> Tensor:
        """The determinants [batch...]. Raises `NotImplementedError` where it is not square."""
        self._need_square()
        with self._name_scope(name):
            return self._determinant()

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """The logarithms of the determinants' absolute values [batch...]. Raises as
        `determinant`."""
        self._need_square()
        with self._name_scope(name):
            return self._log_abs_determinant()

    def _need_square(self) -> None:
        if self.is_square is False:
            raise NotImplementedError(
                "Determinant not implemented for an operator that is expected to not be square."
            )

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """The matrices [batch..., m, n]."""
        with self._name_scope(name):
            return self._to_dense()

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The diagonals [batch..., min(m, n)]."""
        with self._name_scope(name):
            return self._diag_part()

    def trace(self, name: str = "trace") -> Tensor:
        """The sums of the diagonals [batch...]."""
        with self._name_scope(name):
            return self._trace()

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Tensor:
        """A + `x`, a tensor of the operator's dtype that broadcasts with it."""
        with self._name_scope(name):
            given = as_tensor(x, name="x", preferred=self.dtype)
            if given.base_dtype != self.dtype:
                raise TypeError(
                    f"Expected argument to have dtype {self.dtype}.  Found: {given.dtype} in "
                    f"tensor {given}"
                )
            return self._add_to_tensor(given)

    def eigvals(self, name: str = "eigvals") -> Tensor:
        """The eigenvalues [batch..., n], from the smallest on where they are computed. Raises
        `NotImplementedError` for an operator that is not known to be self-adjoint."""
        if not self.is_self_adjoint:
            raise NotImplementedError("Only self-adjoint matrices are supported.")
        with self._name_scope(name):
            return self._eigvals()

    def cond(self, name: str = "cond") -> Tensor:
        """The condition numbers [batch...]: the largest singular value by the smallest."""
        with self._name_scope(name):
            return self._cond()

    # -- what a subclass gives, or may

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        raise NotImplementedError("_matmul is not implemented.")

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        return squeeze(self.matmul(expand_dims(x, -1), adjoint=adjoint), [-1])

    def _has_cholesky(self) -> bool:
        return bool(self.is_self_adjoint and self.is_positive_definite)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        if self._has_cholesky():
            factor, rhs = batches.of_one_batch([cholesky(self.to_dense()), rhs])
            return cholesky_solve(factor, rhs)
        return batches.solved(self.to_dense(), rhs, adjoint)

    def _solvevec(self, rhs: Tensor, adjoint: bool = False) -> Tensor:
        return squeeze(self.solve(expand_dims(rhs, -1), adjoint=adjoint), [-1])

    def _determinant(self) -> Tensor:
        if self._has_cholesky():
            return m.exp(self.log_abs_determinant())
        return matrix_determinant(self.to_dense())

    def _log_abs_determinant(self) -> Tensor:
        if self._has_cholesky():
            diagonal = matrix_diag_part(cholesky(self.to_dense()))
            return 2 * reduce_sum(m.log(diagonal), axis=[-1])
        return slogdet(self.to_dense())[1]

    def _to_dense(self) -> Tensor:
        batch = self.batch_shape
        sizes: Any = batch.as_list() if batch.is_fully_defined() else self._batch_sizes()
        columns = self.domain_dimension.value
        count: Any = self._size(-1) if columns is None else columns
        return self.matmul(eye(count, batch_shape=sizes, dtype=self.dtype))

    def _diag_part(self) -> Tensor:
        return matrix_diag_part(self.to_dense())

    def _trace(self) -> Tensor:
        return reduce_sum(self.diag_part(), axis=-1)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return self.to_dense() + x

    def _eigvals(self) -> Tensor:
        return self_adjoint_eigvals(self.to_dense())

    def _cond(self) -> Tensor:
        if self.is_self_adjoint:
            values = m.abs(self._eigvals())
        else:
            values = svd(self.to_dense(), compute_uv=False)
        return reduce_max(values, axis=-1) / reduce_min(values, axis=-1)

    def _assert_non_singular(self) -> Operation:
        if self._has_cholesky():
            return self.assert_positive_definite()
        values = svd(self.to_dense(), compute_uv=False)
        number = reduce_max(values, axis=-1) / reduce_min(values, axis=-1)
        sizes = [cast(self._size(axis), number.dtype) for axis in (-1, -2)]
        largest = reduce_max([as_tensor(100.0, number.dtype), *sizes])
        assert number.dtype is not None
        bound = 1.0 / (largest * np.finfo(number.dtype.as_numpy_dtype).eps)
        return check.assert_less(
            number, bound, message="Singular matrix up to precision epsilon."
        )  # fmt: skip

    def _assert_positive_definite(self) -> Operation:
        if not self.is_self_adjoint:
            raise NotImplementedError("assert_positive_definite is not implemented.")
        diagonal = m.real(matrix_diag_part(cholesky(self.to_dense())))
        return check.assert_positive(diagonal, message="Matrix was not positive definite.")

    def _assert_self_adjoint(self) -> Operation:
        dense = self.to_dense()
        return check.assert_equal(
            dense, adjoint_of(dense), message="Matrix was not equal to its adjoint."
        )


def assert_no_zeros(x: Tensor, message: str) -> Operation:
    """Fails where an element is 0."""
    return check.assert_positive(m.abs(x), message=message)


def assert_real(x: Tensor, message: str) -> Operation:
    """Fails where an element has an imaginary part."""
    if x.dtype is not None and not x.dtype.is_complex:
        return no_op()
    part = m.imag(x)
    return check.assert_equal(part, as_tensor(0, part.dtype), message=message)
