"""`LinearOperatorTridiag`."""

from __future__ import annotations

from typing import Any

from flowc.api.arrays.blocks import matrix_diag, matrix_diag_part
from flowc.api.arrays.shaping import broadcast_to, concat, roll, stack, unstack
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework import assertions as check
from flowc.api.framework.scopes import group, name_scope
from flowc.api.linear_operators import batches
from flowc.api.linear_operators.hints import Hints, arguments_of
from flowc.api.linear_operators.linear_operator import LinearOperator, assert_real
from flowc.api.math import elementwise as m
from flowc.api.math.linear_algebra import adjoint as adjoint_of
from flowc.api.math.matrix_equations import tridiagonal_matmul, tridiagonal_solve
from flowc.graph import Operation, Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor

_FORMATS = ("compact", "matrix", "sequence")


class LinearOperatorTridiag(LinearOperator):
    """Matrices [batch..., n, n] of three diagonals, floating or complex.

    `diagonals`, by `diagonals_format`: `compact` [batch..., 3, n], the upper, the main and the
    lower diagonal (the last element of the upper one and the first of the lower one are not read);
    `sequence`, the same as a list; `matrix` [batch..., n, n]. The hints are as for
    `LinearOperator`. Raises `ValueError` for another format."""

    def __init__(
        self,
        diagonals: Any,
        diagonals_format: str = "compact",
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorTridiag",
    ) -> None:
        parameters = arguments_of(locals())
        if diagonals_format not in _FORMATS:
            raise ValueError(
                "Argument `diagonals_format` must be one of compact, matrix, or sequence. Received "
                f": {diagonals_format}."
            )
        self._format = diagonals_format
        with name_scope(name, values=[diagonals]):
            self._diagonals: Any
            if diagonals_format == "sequence":
                self._diagonals = [as_tensor(d, name=f"diag_{i}") for i, d in enumerate(diagonals)]
                dtype = self._diagonals[0].base_dtype
            else:
                self._diagonals = as_tensor(diagonals, name="diagonals")
                dtype = self._diagonals.base_dtype
        hints = Hints(is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(dtype, **hints.named(name, parameters))

    @property
    def diagonals(self) -> Any:
        """What it was made of, as tensors."""
        return self._diagonals

    @property
    def diagonals_format(self) -> str:
        """How they are given."""
        return self._format

    def _shape(self) -> TensorShape:
        if self._format == "matrix":
            return self._diagonals.shape
        if self._format == "compact":
            shape = self._diagonals.shape
            rows = shape[:-2].concatenate(shape[-1:])
        else:
            batch = batches.common_shape([each.shape[:-1] for each in self._diagonals])
            rows = batch.concatenate(self._diagonals[1].shape[-1:])
        return rows.concatenate(rows[-1:])

    def _shape_tensor(self) -> Tensor:
        if self._format == "matrix":
            return shape_of(self._diagonals)
        if self._format == "compact":
            sizes = shape_of(self._diagonals)
            return concat([sizes[:-2], sizes[-1:], sizes[-1:]], 0)
        batch = batches.common_sizes([shape_of(each)[:-1] for each in self._diagonals])
        size = shape_of(self._diagonals[1])[-1:]
        return concat([batch, size, size], 0)

    def _three(self) -> list[Tensor]:
        """The diagonals of a compact or sequence form."""
        if self._format == "sequence":
            return self._diagonals
        return unstack(self._diagonals, 3, axis=-2)

    def _assert_self_adjoint(self) -> Operation:
        if self._format == "matrix":
            given = self._diagonals
            return check.assert_equal(
                given, adjoint_of(given), message="Matrix was not equal to its adjoint."
            )
        upper, main, lower = self._three()
        told = "This tridiagonal operator"
        lower = roll(lower, shift=-1, axis=-1)
        return group(
            assert_real(main, f"{told} contained non-zero imaginary values on the diagonal."),
            check.assert_equal(
                m.conj(lower[..., :-1]),
                upper[..., :-1],
                message=f"{told} has non-conjugate subdiagonal and superdiagonal.",
            ),
        )

    def _of(self, adjoint: bool) -> Any:
        """The diagonals of the operator, or of its adjoint."""
        if not adjoint:
            return self._diagonals
        if self._format == "matrix":
            return adjoint_of(self._diagonals)
        upper, main, lower = (m.conj(each) for each in self._three())
        found = [roll(lower, shift=-1, axis=-1), main, roll(upper, shift=1, axis=-1)]
        return found if self._format == "sequence" else stack(found, axis=-2)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        return tridiagonal_matmul(self._of(adjoint), x, diagonals_format=self._format)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        diagonals = self._of(adjoint)
        if self._format == "sequence":
            sizes = self._sizes()[:-1]
            diagonals = stack([broadcast_to(each, sizes) for each in diagonals], axis=-2)
        diagonals, rhs = batches.of_one_batch([diagonals, rhs])
        layout = "matrix" if self._format == "matrix" else "compact"
        return tridiagonal_solve(diagonals, rhs, diagonals_format=layout)

    def _diag_part(self) -> Tensor:
        if self._format == "matrix":
            return matrix_diag_part(self._diagonals)
        if self._format == "sequence":
            return broadcast_to(self._diagonals[1], self._sizes()[:-1])
        return self._diagonals[..., 1, :]

    def _to_dense(self) -> Tensor:
        if self._format == "matrix":
            return self._diagonals
        given = self._diagonals
        if self._format == "sequence":
            sizes = self._sizes()[:-1]
            given = stack([broadcast_to(each, sizes) for each in given], axis=-2)
        return matrix_diag(given, k=(-1, 1), align="LEFT_RIGHT")
