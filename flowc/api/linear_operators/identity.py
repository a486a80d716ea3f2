"""`LinearOperatorIdentity`, `LinearOperatorScaledIdentity` and `LinearOperatorZeros`: operators of
sizes, and of one number.

In: sizes, as numbers or tensors. Out: operators that hold no matrix. Invariant: sizes that are
known are checked when the operator is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.blocks import matrix_diag_part
from flowc.api.arrays.filling import ones, zeros
from flowc.api.arrays.selection import where_v2
from flowc.api.arrays.shaping import concat, expand_dims, stack
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.arrays.static_values import broadcast_static_shape
from flowc.api.framework import assertions as check
from flowc.api.framework.basics import cast
from flowc.api.framework.scopes import name_scope, no_op, with_dependencies
from flowc.api.linear_operators.hints import Hints, always, arguments_of
from flowc.api.linear_operators.linear_operator import (
    LinearOperator,
    assert_no_zeros,
    assert_real,
)
from flowc.api.math import elementwise as m
from flowc.api.math.linear_algebra import adjoint as adjoint_of
from flowc.api.math.linear_algebra import set_diag
from flowc.api.math.reductions import reduce_min
from flowc.errors import InvalidArgumentError
from flowc.graph import Operation, Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor
from flowc.graph.shape_inference import constant_elements


class _OfSizes(LinearOperator):
    """An operator of sizes; with `_is_checked`, runs check what is not known when it is made."""

    _is_checked: bool

    def _size_argument(self, value: Any, name: str, rank: int) -> Tensor:
        """A number of rows or columns, or the sizes of a batch. Raises `TypeError` for what is no
        integer, `ValueError` for another rank and negative ones."""
        if hasattr(value, "_as_tensor"):
            raise TypeError(f"Argument {name} cannot be reference type. Found: {type(value)}.")
        empty = isinstance(value, list | tuple) and not value
        found = as_tensor(value, dtypes.i32 if empty else None, name)
        if found.dtype is None or not found.dtype.is_integer:
            raise TypeError(f"Argument {name} must be integer type.  Found: {found}")
        known = constant_elements(found)
        wrong = f"Argument {name} must be a {rank}-D Tensor."
        negative = f"Argument {name} must be non-negative."
        if known is not None:
            if known.ndim != rank:
                raise ValueError(f"{wrong}  Found: {known}")
            if (known < 0).any():
                raise ValueError(f"{negative}  Found: {known}")
        if self._is_checked:
            checks = [
                check.assert_rank(found, rank, message=wrong),
                check.assert_non_negative(found, message=negative),
            ]
            found = with_dependencies(checks, found)
        return cast(found, dtypes.i32)

    def _checked(self, x: Tensor) -> Tensor:
        """`x`, whose rows a run counts where it is asked to."""
        if not self._is_checked:
            return x
        message = (
            "Dimensions are not compatible.  shape[-2] of argument to be the same as this operator"
        )
        return with_dependencies(
            [check.assert_equal(shape_of(x)[-2], self._size(-1), message=message)], x
        )

    def _filled_diag(self, fill: Any) -> Tensor:
        """`ones` or `zeros` of the shape of the diagonals."""
        if self.shape.is_fully_defined():
            sizes = self.shape.as_list()
            least = min(size for size in sizes[-2:] if size is not None)
            return fill([*sizes[:-2], least], self.dtype)
        least = reduce_min(self._sizes()[-2:])
        return fill(concat([self._batch_sizes(), [least]], 0), self.dtype)

    def _of_batch(self, x: Tensor, sizes: Tensor | None) -> Tensor:
        """`x`, repeated for the operator's batch."""
        if sizes is None:
            return x
        matrix = self.batch_shape.concatenate([1, 1])
        if matrix.is_fully_defined():
            if broadcast_static_shape(x.shape, matrix).sizes == x.shape.sizes is not None:
                return x
            return x + zeros(matrix.as_list(), self.dtype)
        return x + zeros(concat([self._batch_sizes(), [1, 1]], 0), self.dtype)


class LinearOperatorIdentity(_OfSizes):
    """Identity matrices [batch..., num_rows, num_rows] of `dtype` (float32, if None), as many as
    `batch_shape` says. `assert_proper_shapes`: runs check the sizes of what it is applied to.
    Raises `ValueError` for negative sizes and hints that no identity has, `TypeError` for sizes
    that are no integers."""

    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        parameters = arguments_of(locals())
        for holds, what in (
            (is_self_adjoint, "self adjoint"),
            (is_non_singular, "non-singular"),
            (is_positive_definite, "positive-definite"),
            (is_square, "square"),
        ):
            if not holds:
                raise ValueError(f"An identity operator is always {what}.")
        super().__init__(dtype or dtypes.f32, None, True, True, True, True, name, parameters)
        self._is_checked = assert_proper_shapes
        with name_scope(name):
            self._rows = self._size_argument(num_rows, "num_rows", 0)
            self._batch = None
            if batch_shape is not None:
                self._batch = self._size_argument(batch_shape, "batch_shape", 1)

    def _shape(self) -> TensorShape:
        return _batch_of(self._batch).concatenate([_number(self._rows)] * 2)

    def _shape_tensor(self) -> Tensor:
        return _with_batch(self._batch, self._rows, self._rows)

    def _assert_non_singular(self) -> Operation:
        return no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Operation:
        return no_op("assert_positive_definite")

    def _assert_self_adjoint(self) -> Operation:
        return no_op("assert_self_adjoint")

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        return self._of_batch(self._checked(x), self._batch)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Tensor:
        return ones(self._batch_sizes(), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self._batch_sizes(), self.dtype)

    def _trace(self) -> Tensor:
        return cast(self._size(-1), self.dtype) * ones(self._batch_sizes(), self.dtype)

    def _diag_part(self) -> Tensor:
        return self._filled_diag(ones)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return set_diag(x, 1 + matrix_diag_part(x))  # for a batch of `x`, as TensorFlow does

    def _eigvals(self) -> Tensor:
        return self._filled_diag(ones)

    def _cond(self) -> Tensor:
        return ones(self._batch_sizes(), self.dtype)


class LinearOperatorScaledIdentity(_OfSizes):
    """`multiplier` [batch...], floating or complex, times the identity matrix of `num_rows`. The
    hints are as for `LinearOperator`. `assert_proper_shapes`: runs check the sizes of what it is
    applied to. Raises `ValueError` for negative sizes and hints that it cannot have, `TypeError`
    for sizes that are no integers."""

    def __init__(
        self,
        num_rows: Any,
        multiplier: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        parameters = arguments_of(locals())
        self._is_checked = assert_proper_shapes
        with name_scope(name, values=[multiplier, num_rows]):
            self._multiplier = as_tensor(multiplier, name="multiplier")
            self._rows = self._size_argument(num_rows, "num_rows", 0)
        assert self._multiplier.dtype is not None
        if not self._multiplier.dtype.is_complex:
            message = "A real diagonal operator is always self adjoint."
            is_self_adjoint = always(is_self_adjoint, message)
        if not is_square:
            raise ValueError("A ScaledIdentity operator is always square.")
        hints = Hints(is_non_singular, is_self_adjoint, is_positive_definite, True)
        super().__init__(self._multiplier.base_dtype, **hints.named(name, parameters))

    @property
    def multiplier(self) -> Tensor:
        """The numbers [batch...]."""
        return self._multiplier

    def _shape(self) -> TensorShape:
        return self._multiplier.shape.concatenate([_number(self._rows)] * 2)

    def _shape_tensor(self) -> Tensor:
        return _with_batch(shape_of(self._multiplier), self._rows, self._rows)

    def _assert_non_singular(self) -> Operation:
        return assert_no_zeros(self._multiplier, "LinearOperator was singular")

    def _assert_positive_definite(self) -> Operation:
        message = "LinearOperator was not positive definite."
        return check.assert_positive(m.real(self._multiplier), message=message)

    def _assert_self_adjoint(self) -> Operation:
        return assert_real(self._multiplier, "LinearOperator was not self-adjoint")

    def _matrix(self, adjoint: bool) -> Tensor:
        matrix = expand_dims(expand_dims(self._multiplier, -1), -1)
        return m.conj(matrix) if adjoint else matrix

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        return self._checked(x) * self._matrix(adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return self._checked(rhs) / self._matrix(adjoint)

    def _determinant(self) -> Tensor:
        return m.pow(self._multiplier, cast(self._rows, self.dtype))

    def _log_abs_determinant(self) -> Tensor:
        return cast(self._rows, self.dtype.real_dtype) * m.log(m.abs(self._multiplier))

    def _trace(self) -> Tensor:
        return self._multiplier * cast(self._size(-1), self.dtype)

    def _diag_part(self) -> Tensor:
        return self._filled_diag(ones) * expand_dims(self._multiplier, -1)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return set_diag(x, expand_dims(self._multiplier, -1) + matrix_diag_part(x))

    def _eigvals(self) -> Tensor:
        return self._diag_part()

    def _cond(self) -> Tensor:
        is_zero = m.equal(self._multiplier, as_tensor(0, self.dtype))
        return where_v2(is_zero, as_tensor(np.nan, self.dtype), as_tensor(1.0, self.dtype))


class LinearOperatorZeros(_OfSizes):
    """Matrices of zeros [batch..., num_rows, num_columns] of `dtype` (float32, if None); square, if
    `num_columns` is None. `assert_proper_shapes`: runs check the sizes of what it is applied to.
    Raises `ValueError` for negative sizes and hints that it cannot have, `TypeError` for sizes that
    are no integers."""

    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        parameters = arguments_of(locals())
        if not is_self_adjoint and is_square:
            raise ValueError("A zero operator is always self adjoint.")
        if is_non_singular:
            raise ValueError("A zero operator is always singular.")
        if is_positive_definite:
            raise ValueError("A zero operator is always not positive-definite.")
        super().__init__(
            dtype or dtypes.f32,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
            parameters,
        )
        self._is_checked = assert_proper_shapes
        columns = num_rows if num_columns is None else num_columns
        with name_scope(name):
            self._rows = self._size_argument(num_rows, "num_rows", 0)
            self._columns = self._size_argument(columns, "num_columns", 0)
            self._batch = None
            if batch_shape is not None:
                self._batch = self._size_argument(batch_shape, "batch_shape", 1)
        known = _number(self._rows), _number(self._columns)
        if is_square and None not in known and known[0] != known[1]:
            raise ValueError(
                f"LinearOperatorZeros initialized as is_square=True, but got num_rows({known[0]}) "
                f"!= num_columns({known[1]})"
            )

    def _shape(self) -> TensorShape:
        sizes = [_number(self._rows), _number(self._columns)]
        return _batch_of(self._batch).concatenate(sizes)

    def _shape_tensor(self) -> Tensor:
        return _with_batch(self._batch, self._rows, self._columns)

    def _assert_non_singular(self) -> Operation:
        raise InvalidArgumentError("Zero operators are always non-invertible.")

    def _assert_positive_definite(self) -> Operation:
        raise InvalidArgumentError("Zero operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> Operation:
        return no_op("assert_self_adjoint")

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = self._checked(adjoint_of(x) if adjoint_arg else x)
        sizes = shape_of(x)
        rows = self._columns if adjoint else self._rows
        whole = concat([sizes[:-2], [rows, sizes[-1]]], 0)
        found = zeros(whole, self.dtype)
        if x.shape.ndims is not None:
            known = [_number(rows), x.shape[-1].value]
            found.set_shape(x.shape[:-2].concatenate(known))
        return self._of_batch(found, self._batch)

    def _determinant(self) -> Tensor:
        return zeros(self._batch_sizes(), self.dtype)

    def _trace(self) -> Tensor:
        return zeros(self._batch_sizes(), self.dtype)

    def _diag_part(self) -> Tensor:
        return self._filled_diag(zeros)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return self._of_batch(x, self._batch)

    def _eigvals(self) -> Tensor:
        return self._filled_diag(zeros)


def _number(size: Tensor) -> int | None:
    known = constant_elements(size)
    return None if known is None else int(known)


def _batch_of(sizes: Tensor | None) -> TensorShape:
    if sizes is None:
        return TensorShape([])
    known = constant_elements(sizes)
    if known is None:
        count = sizes.shape.num_elements()
        return TensorShape(None if count is None else [None] * count)
    return TensorShape([int(size) for size in known])


def _with_batch(batch: Tensor | None, rows: Tensor, columns: Tensor) -> Tensor:
    matrix = stack([rows, columns])
    return matrix if batch is None else concat([batch, matrix], 0)
