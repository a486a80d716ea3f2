"""`LinearOperatorCirculant`, 2D and 3D, and `LinearOperatorToeplitz`: products by Fourier
transforms.

In: spectra, or a first column and row. Out: operators. Invariant: a vector is a grid of as many
axes as the operator's blocks are nested, row by row; the spectrum is the transform of its kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import ones, zeros_like
from flowc.api.arrays.filling import range as range_of
from flowc.api.arrays.selection import gather
from flowc.api.arrays.shaping import broadcast_to, concat, matrix_transpose, reshape, reverse
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework import assertions as check
from flowc.api.framework.basics import cast
from flowc.api.framework.plain_ops import fft, fft2d, fft3d, ifft, ifft2d, ifft3d
from flowc.api.framework.scopes import name_scope
from flowc.api.linear_operators import batches
from flowc.api.linear_operators.hints import Hints, always, arguments_of
from flowc.api.linear_operators.linear_operator import (
    LinearOperator,
    assert_no_zeros,
    assert_real,
)
from flowc.api.math import elementwise as m
from flowc.api.math.linear_algebra import adjoint as adjoint_of
from flowc.api.math.reductions import reduce_max, reduce_min, reduce_prod, reduce_sum
from flowc.graph import Operation, Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor

_FORWARD = {1: fft, 2: fft2d, 3: fft3d}
_BACKWARD = {1: ifft, 2: ifft2d, 3: ifft3d}


class _Circulant(LinearOperator):
    """A circulant operator whose blocks are nested `_depth` deep."""

    _depth: int

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.c64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        name = type(self).__name__ if name is None else name
        parameters = arguments_of(locals())
        with name_scope(name, values=[spectrum]):
            self._spectrum = as_tensor(spectrum, name="spectrum")
        if self._spectrum.shape.ndims is not None and self._spectrum.shape.ndims < self._depth:
            raise ValueError(
                f"Argument `spectrum` must have at least {self._depth} dimensions. Received: "
                f"{self._spectrum}."
            )
        assert self._spectrum.dtype is not None
        if not self._spectrum.dtype.is_complex:
            message = "A real spectrum always corresponds to a self-adjoint operator."
            is_self_adjoint = always(is_self_adjoint, message)
        is_square = always(is_square, "A [[nested] block] circulant operator is always square.")
        hints = Hints(is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(input_output_dtype, **hints.named(name, parameters))

    @property
    def block_depth(self) -> int:
        """How deep the blocks are nested: 1 for a circulant matrix."""
        return self._depth

    @property
    def block_shape(self) -> TensorShape:
        """The grid of a vector, as far as it is known."""
        return self._spectrum.shape[-self._depth :]

    def block_shape_tensor(self) -> Tensor:
        """The grid of a vector, an int32 vector."""
        known = self.block_shape
        if known.is_fully_defined():
            return batches.sizes_of(known, "block_shape")
        return shape_of(self._spectrum)[-self._depth :]

    @property
    def spectrum(self) -> Tensor:
        """The eigenvalues [batch..., grid...]."""
        return self._spectrum

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """The first column as a grid [batch..., grid...]: the inverse transform of the spectrum."""
        with self._name_scope(name):
            return cast(_BACKWARD[self._depth](_complex(self._spectrum)), self.dtype)

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Operation:
        """An operation that fails where the convolution kernel is not real."""
        with self._name_scope(name):
            real = self.dtype.real_dtype
            bound = np.finfo(real.as_numpy_dtype).eps * cast(self._size(-1), real)
            size = m.abs(m.imag(self.convolution_kernel()))
            return check.assert_less(size, bound, message="Spectrum was not Hermitian")

    def _shape(self) -> TensorShape:
        count = self.block_shape.num_elements()
        return self._spectrum.shape[: -self._depth].concatenate([count, count])

    def _shape_tensor(self) -> Tensor:
        sizes = shape_of(self._spectrum)
        count = reduce_prod(sizes[-self._depth :])
        return concat([sizes[: -self._depth], [count, count]], 0)

    def _assert_non_singular(self) -> Operation:
        message = "Singular operator:  Spectrum contained zero values."
        return assert_no_zeros(self._spectrum, message)

    def _assert_positive_definite(self) -> Operation:
        message = "Not positive definite:  Real part of spectrum was not all positive."
        return check.assert_positive(m.real(self._spectrum), message=message)

    def _assert_self_adjoint(self) -> Operation:
        message = "Not self-adjoint:  The spectrum contained non-zero imaginary part."
        return assert_real(self._spectrum, message)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._filtered(x, adjoint, adjoint_arg, m.multiply)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._filtered(rhs, adjoint, adjoint_arg, m.divide)

    def _filtered(self, x: Tensor, adjoint: bool, adjoint_arg: bool, apply: Any) -> Tensor:
        """Each column's transform, multiplied with the spectrum or divided by it."""
        x = adjoint_of(x) if adjoint_arg else x
        spectrum = _complex(self._spectrum)
        spectrum = m.conj(spectrum) if adjoint else spectrum
        vectors = matrix_transpose(cast(x, spectrum.dtype))  # [..., columns, n]
        grid = self.block_shape_tensor()
        grids = reshape(vectors, concat([shape_of(vectors)[:-1], grid], 0))
        sizes = shape_of(spectrum)
        one = as_tensor([1], dtypes.i32)
        spectrum = reshape(spectrum, concat([sizes[: -self._depth], one, grid], 0))
        found = _BACKWARD[self._depth](apply(_FORWARD[self._depth](grids), spectrum))
        flat = concat([shape_of(found)[: -self._depth], [self._size(-1)]], 0)
        result = cast(matrix_transpose(self._flat(found, flat)), self.dtype)
        if x.shape.ndims is not None and self.shape.ndims is not None:
            batch = batches.common_shape([x.shape[:-2], self.batch_shape])
            result.set_shape(batch.concatenate([self.domain_dimension, x.shape[-1]]))
        return result

    def _flat(self, grids: Tensor, sizes: Tensor) -> Tensor:
        found = reshape(grids, sizes)
        if grids.shape.ndims is not None:
            found.set_shape(TensorShape([None] * (grids.shape.ndims - self._depth + 1)))
        return found

    def _axes(self) -> list[int]:
        return list(range(-self._depth, 0))

    def _determinant(self) -> Tensor:
        return cast(reduce_prod(self._spectrum, axis=self._axes()), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return cast(reduce_sum(m.log(m.abs(self._spectrum)), axis=self._axes()), self.dtype)

    def _trace(self) -> Tensor:
        total = reduce_sum(self._spectrum, axis=self._axes())
        if not self.dtype.is_complex:
            total = m.real(total)
        elif self.is_self_adjoint:
            total = _complex(m.real(total))
        return cast(total, self.dtype)

    def _diag_part(self) -> Tensor:
        mean = self.trace() / cast(self._size(-1), self.dtype)
        return mean[..., None] * ones(self._sizes()[:-1], self.dtype)

    def _flat_spectrum(self) -> Tensor:
        sizes = shape_of(self._spectrum)
        return self._flat(self._spectrum, concat([sizes[: -self._depth], [-1]], 0))

    def _eigvals(self) -> Tensor:
        return self._flat_spectrum()

    def _cond(self) -> Tensor:
        sizes = m.abs(self._flat_spectrum())
        return reduce_max(sizes, axis=-1) / reduce_min(sizes, axis=-1)


class LinearOperatorCirculant(_Circulant):
    """Circulant matrices [batch..., n, n], each column the one before moved down by one, of the
    Fourier transform `spectrum` [batch..., n] of the first column, floating or complex.
    `input_output_dtype`: of the tensors that the operator takes and gives; imaginary parts are
    dropped for a real one. The hints are as for `LinearOperator`. Raises `ValueError` for a
    spectrum of too few dimensions and hints that it contradicts."""

    _depth = 1


class LinearOperatorCirculant2D(_Circulant):
    """Block circulant matrices of circulant blocks: the convolutions of grids [n0, n1] with a
    kernel of the transform `spectrum` [batch..., n0, n1]. Arguments and errors as
    `LinearOperatorCirculant`."""

    _depth = 2


class LinearOperatorCirculant3D(_Circulant):
    """Nested block circulant matrices: the convolutions of grids [n0, n1, n2] with a kernel of the
    transform `spectrum` [batch..., n0, n1, n2]. Arguments and errors as
    `LinearOperatorCirculant`."""

    _depth = 3


class LinearOperatorToeplitz(LinearOperator):
    """Matrices [batch..., n, n] whose diagonals are constant, of the first column `col` and the
    first row `row` [batch..., n], floating or complex (the first element of `row` is not read).
    The hints are as for `LinearOperator`. Raises `ValueError` for scalars, sizes that differ and
    hints that cannot be."""

    def __init__(
        self,
        col: Any,
        row: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        parameters = arguments_of(locals())
        with name_scope(name, values=[row, col]):
            self._row, self._col = as_tensor(row, name="row"), as_tensor(col, name="col")
        for label, given in (("row", self._row), ("col", self._col)):
            if given.shape.ndims == 0:
                raise ValueError(
                    f"Argument {label} must have at least 1 dimension.  Found: {given}"
                )  # fmt: skip
        if None not in (self._row.shape.ndims, self._col.shape.ndims) and not self._row.shape[
            -1
        ].is_compatible_with(self._col.shape[-1]):
            raise ValueError(
                "Expected square matrix, got row and col with mismatched dimensions."
            )  # fmt: skip
        is_square = always(is_square, "Only square Toeplitz operators currently supported.")
        hints = Hints(is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(self._row.base_dtype, **hints.named(name, parameters))

    @property
    def col(self) -> Tensor:
        """The first columns [batch..., n]."""
        return self._col

    @property
    def row(self) -> Tensor:
        """The first rows [batch..., n]."""
        return self._row

    def _shape(self) -> TensorShape:
        rows = batches.common_shape([self._row.shape, self._col.shape])
        return rows.concatenate(rows[-1:])

    def _shape_tensor(self) -> Tensor:
        sizes = batches.common_sizes([shape_of(self._row), shape_of(self._col)])
        return concat([sizes, sizes[-1:]], 0)

    def _assert_self_adjoint(self) -> Operation:
        message = "row and col are not the same, and so this operator is not self-adjoint."
        return check.assert_equal(self._row, self._col, message=message)

    def _sides(self) -> tuple[Tensor, Tensor]:
        """The column and the row, in one batch."""
        sizes = self._sizes()[:-1]
        return broadcast_to(self._col, sizes), broadcast_to(self._row, sizes)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        column, row = self._sides()
        back = reverse(row[..., 1:], axis=[-1])
        whole = concat([column, zeros_like(column[..., :1]), back], -1)
        circulant = LinearOperatorCirculant(fft(_complex(whole)), input_output_dtype=self.dtype)
        found = circulant.matmul(concat([x, zeros_like(x)], -2), adjoint=adjoint)
        return found[..., : self._size(-1), :]

    def _trace(self) -> Tensor:
        return cast(self._size(-1), self.dtype) * self._col[..., 0]

    def _diag_part(self) -> Tensor:
        return self._col[..., :1] * ones([self._size(-1)], self.dtype)

    def _to_dense(self) -> Tensor:
        column, row = self._sides()
        count = self._size(-1)
        elements = concat([reverse(column, axis=[-1]), row[..., 1:]], -1)
        numbers = range_of(count)
        places = numbers + (count - 1) - numbers[:, None]
        found = gather(elements, places, axis=-1)
        found.set_shape(self.shape)
        return found


def _complex(x: Tensor) -> Tensor:
    assert x.dtype is not None
    if x.dtype.is_complex:
        return x
    return cast(x, dtypes.c128 if x.dtype == dtypes.f64 else dtypes.c64)
