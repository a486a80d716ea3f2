"""`LinearOperatorHouseholder` and `LinearOperatorPermutation`: reflections and permutations."""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.blocks import matrix_diag_part
from flowc.api.arrays.filling import ones, zeros
from flowc.api.arrays.filling import range as range_of
from flowc.api.arrays.ordering import argsort
from flowc.api.arrays.selection import gather
from flowc.api.arrays.shaping import broadcast_to, concat, expand_dims, reshape
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.basics import cast
from flowc.api.framework.scopes import name_scope, no_op
from flowc.api.linear_operators import batches
from flowc.api.linear_operators.hints import Hints, always, arguments_of
from flowc.api.linear_operators.linear_operator import LinearOperator
from flowc.api.math import elementwise as m
from flowc.api.math.linear_algebra import adjoint as adjoint_of
from flowc.api.math.linear_algebra import set_diag
from flowc.api.math.reductions import matmul
from flowc.api.nn.normalization import l2_normalize
from flowc.errors import InvalidArgumentError
from flowc.graph import Operation, Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor
from flowc.graph.shape_inference import constant_elements


class LinearOperatorHouseholder(LinearOperator):
    """Reflections 1 - 2 v v^H of the unit vectors v along `reflection_axis` [batch..., n], floating
    or complex. The hints are as for `LinearOperator`. Raises `ValueError` for a scalar and hints
    that no reflection has."""

    def __init__(
        self,
        reflection_axis: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        parameters = arguments_of(locals())
        with name_scope(name, values=[reflection_axis]):
            self._axis = as_tensor(reflection_axis, name="reflection_axis")
        if self._axis.shape.ndims == 0:
            raise ValueError(
                f"Argument reflection_axis must have at least 1 dimension.  Found: {self._axis}"
            )
        if is_positive_definite:
            raise ValueError("A Householder operator is always non-positive definite.")
        is_self_adjoint = always(is_self_adjoint, "A Householder operator is always self adjoint.")
        is_square = always(is_square, "A Householder operator is always square.")
        hints = Hints(is_non_singular, is_self_adjoint, False, is_square)
        super().__init__(self._axis.base_dtype, **hints.named(name, parameters))

    @property
    def reflection_axis(self) -> Tensor:
        """The vectors [batch..., n]."""
        return self._axis

    def _shape(self) -> TensorShape:
        return self._axis.shape.concatenate(self._axis.shape[-1:])

    def _shape_tensor(self) -> Tensor:
        sizes = shape_of(self._axis)
        return concat([sizes, sizes[-1:]], 0)

    def _assert_non_singular(self) -> Operation:
        return no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Operation:
        raise InvalidArgumentError("Householder operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> Operation:
        return no_op("assert_self_adjoint")

    def _unit(self) -> Tensor:
        return l2_normalize(self._axis, axis=-1)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        column = expand_dims(self._unit(), -1)
        return x - 2 * column * matmul(column, x, adjoint_a=True)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _trace(self) -> Tensor:
        return cast(self._size(-1) - 2, self.dtype) * ones(self._batch_sizes(), self.dtype)

    def _determinant(self) -> Tensor:
        return -ones(self._batch_sizes(), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self._batch_sizes(), self.dtype)

    def _to_dense(self) -> Tensor:
        column = expand_dims(self._unit(), -1)
        outer = -2 * matmul(column, column, adjoint_b=True)
        return set_diag(outer, 1.0 + matrix_diag_part(outer))

    def _diag_part(self) -> Tensor:
        unit = self._unit()
        return 1.0 - 2 * unit * m.conj(unit)

    def _eigvals(self) -> Tensor:
        sizes = shape_of(self._axis)
        first = -ones(concat([sizes[:-1], [1]], 0), self.dtype)
        return concat([first, ones(concat([sizes[:-1], sizes[-1:] - 1], 0), self.dtype)], -1)

    def _cond(self) -> Tensor:
        return ones(self._batch_sizes(), self.dtype)


class LinearOperatorPermutation(LinearOperator):
    """Matrices of `dtype` whose row i is the unit vector `perm[..., i]`, an integer tensor
    [batch..., n]. The hints are as for `LinearOperator`. Raises `TypeError` for other dtypes,
    `ValueError` for a scalar, for constants that are no permutation and for hints that no
    permutation has."""

    def __init__(
        self,
        perm: Any,
        dtype: Any = dtypes.f32,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorPermutation",
    ) -> None:
        parameters = arguments_of(locals())
        with name_scope(name, values=[perm]):
            self._perm = as_tensor(perm, name="perm")
        _check_permutation(self._perm)
        told = "A Permutation operator is always {0}. Expected argument `{1}` to be True."
        always(is_non_singular, told.format("non-singular", "is_non_singular"))
        is_square = always(is_square, told.format("square", "is_square"))
        hints = Hints(is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(dtype, **hints.named(name, parameters))

    @property
    def perm(self) -> Tensor:
        """The permutations [batch..., n]."""
        return self._perm

    def _shape(self) -> TensorShape:
        return self._perm.shape.concatenate(self._perm.shape[-1:])

    def _shape_tensor(self) -> Tensor:
        sizes = shape_of(self._perm)
        return concat([sizes, sizes[-1:]], 0)

    def _assert_non_singular(self) -> Operation:
        return no_op("assert_non_singular")

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        perm = self._perm
        if adjoint and not self.is_self_adjoint:
            perm = argsort(perm, axis=-1)
        x = adjoint_of(x) if adjoint_arg else x
        rows = batches.common_sizes([shape_of(x)[:-1], shape_of(perm)])
        whole = concat([rows, shape_of(x)[-1:]], 0)
        flat = reshape(broadcast_to(x, whole), concat([[-1], whole[-2:]], 0))
        order = reshape(broadcast_to(perm, rows), concat([[-1], rows[-1:]], 0))
        found = reshape(gather(flat, order, axis=1, batch_dims=1), whole)
        if x.shape.ndims is not None and perm.shape.ndims is not None:
            known = batches.common_shape([x.shape[:-1], perm.shape])
            found.set_shape(known.concatenate(x.shape[-1:]))
        return found

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self._batch_sizes(), self.dtype)

    def _numbers(self) -> Tensor:
        return cast(range_of(self._size(-1)), self._perm.dtype)

    def _to_dense(self) -> Tensor:
        return cast(m.equal(self._numbers(), self._perm[..., None]), self.dtype)

    def _diag_part(self) -> Tensor:
        return cast(m.equal(self._numbers(), self._perm), self.dtype)

    def _cond(self) -> Tensor:
        return ones(self._batch_sizes(), self.dtype)


def _check_permutation(perm: Tensor) -> None:
    if perm.shape.ndims == 0:
        raise ValueError(f"Argument `perm` must have at least 1 dimension. Received: {perm}.")
    if perm.dtype is None or not perm.dtype.is_integer:
        raise TypeError(f"Argument `perm` must be integer dtype. Received: {perm}.")
    known = constant_elements(perm)
    if known is not None and (np.sort(known, axis=-1) != np.arange(known.shape[-1])).any():
        raise ValueError(
            f"Argument `perm` must be a vector of unique integers from 0 to {known.shape[-1] - 1}."
        )
