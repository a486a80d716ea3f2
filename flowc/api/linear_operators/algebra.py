"""Adjoints, inverses, Cholesky factors, products and solutions of operators, as operators.

In: operators. Out: an operator of a kind that keeps their structure. Invariant: of the functions
for two kinds, the one for the nearest ancestors is taken; for any two there is one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from itertools import product as pairs_of
from typing import Any

from flowc.api.arrays.shaping import expand_dims
from flowc.api.framework.plain_ops import cholesky as cholesky_of
from flowc.api.linear_operators.block_triangle import LinearOperatorBlockLowerTriangular
from flowc.api.linear_operators.blocks import LinearOperatorBlockDiag
from flowc.api.linear_operators.circulant import _Circulant
from flowc.api.linear_operators.composition import LinearOperatorComposition, is_symmetric
from flowc.api.linear_operators.dense import LinearOperatorLowerTriangular
from flowc.api.linear_operators.diagonal import LinearOperatorDiag
from flowc.api.linear_operators.hints import both_non_singular, of_commuting, of_product
from flowc.api.linear_operators.householder import LinearOperatorHouseholder
from flowc.api.linear_operators.identity import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
    LinearOperatorZeros,
)
from flowc.api.linear_operators.kronecker import LinearOperatorKronecker
from flowc.api.linear_operators.linear_operator import LinearOperator
from flowc.api.linear_operators.nested import LinearOperatorAdjoint, LinearOperatorInversion
from flowc.api.math import elementwise as m

One = Callable[[Any], LinearOperator]
Two = Callable[[Any, Any], LinearOperator]


def adjoint(operator: LinearOperator) -> LinearOperator:
    return _nearest(_ADJOINTS, operator)(operator)


def inverse(operator: LinearOperator) -> LinearOperator:
    return _nearest(_INVERSES, operator)(operator)


def cholesky(operator: LinearOperator) -> LinearOperator:
    return _nearest(_CHOLESKY, operator)(operator)


def product(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    return _nearest(_PRODUCTS, left, right)(left, right)


def solution(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    return _nearest(_SOLUTIONS, left, right)(left, right)


def _nearest(table: Mapping[tuple[type, ...], Any], *operators: LinearOperator) -> Any:
    """The function for the ancestors that are fewest steps away, those of the left one first."""
    lines = [enumerate(inspect.getmro(type(operator))) for operator in operators]
    steps = [
        (sum(step for step, _ in found), tuple(kind for _, kind in found))
        for found in pairs_of(*lines)
    ]
    return table[min((s for s in steps if s[1] in table), key=lambda s: s[0])[1]]


def _square(operator: LinearOperator) -> dict[str, Any]:
    """The hints of an operator that is square, and otherwise like this one."""
    return {**operator.hints.arguments(), "is_square": True}


# -- of one operator


def _adjoint_of_scaled(operator: LinearOperatorScaledIdentity) -> LinearOperator:
    multiplier = m.conj(operator.multiplier)
    return LinearOperatorScaledIdentity(operator._rows, multiplier, **_square(operator))


def _inverse_of_scaled(operator: LinearOperatorScaledIdentity) -> LinearOperator:
    return LinearOperatorScaledIdentity(
        operator._rows, 1.0 / operator.multiplier, **_square(operator)
    )


def _cholesky_of_scaled(operator: LinearOperatorScaledIdentity) -> LinearOperator:
    root = m.sqrt(operator.multiplier)
    return LinearOperatorScaledIdentity(operator._rows, root, True, True, True)


def _cholesky_of_dense(operator: LinearOperator) -> LinearOperator:
    factor = cholesky_of(operator.to_dense())
    return LinearOperatorLowerTriangular(factor, is_non_singular=True, is_self_adjoint=False)


def _cholesky_of_product(operator: LinearOperatorComposition) -> LinearOperator:
    """Of L L^H: L itself, with a positive diagonal."""
    left = operator.operators[0]
    if (
        len(operator.operators) != 2
        or not is_symmetric(operator.operators)
        or not isinstance(left, LinearOperatorLowerTriangular)
    ):
        return _cholesky_of_dense(operator)
    if left.is_positive_definite:
        return left
    sign = expand_dims(m.sign(left.diag_part()), -2)
    return LinearOperatorLowerTriangular(
        left.tril / sign, left.is_non_singular, left.is_self_adjoint
    )


_ADJOINTS: Mapping[tuple[type, ...], One] = {
    (LinearOperator,): lambda a: LinearOperatorAdjoint(a, **a.hints.arguments()),
    (LinearOperatorAdjoint,): lambda a: a.operator,
    (LinearOperatorIdentity,): lambda a: a,
    (LinearOperatorHouseholder,): lambda a: a,
    (LinearOperatorScaledIdentity,): _adjoint_of_scaled,
    (LinearOperatorDiag,): lambda a: LinearOperatorDiag(m.conj(a.diag), **_square(a)),
    (LinearOperatorBlockDiag,): lambda a: LinearOperatorBlockDiag(
        [each.adjoint() for each in a.operators], **_square(a)
    ),
    (LinearOperatorKronecker,): lambda a: LinearOperatorKronecker(
        [each.adjoint() for each in a.operators], **a.hints.arguments()
    ),
    (_Circulant,): lambda a: type(a)(m.conj(a.spectrum), a.dtype, **_square(a)),
}
_INVERSES: Mapping[tuple[type, ...], One] = {
    (LinearOperator,): lambda a: LinearOperatorInversion(a, **a.hints.arguments()),
    (LinearOperatorInversion,): lambda a: a.operator,
    (LinearOperatorIdentity,): lambda a: a,
    (LinearOperatorHouseholder,): lambda a: a,
    (LinearOperatorScaledIdentity,): _inverse_of_scaled,
    (LinearOperatorDiag,): lambda a: LinearOperatorDiag(1.0 / a.diag, **_square(a)),
    (LinearOperatorBlockDiag,): lambda a: LinearOperatorBlockDiag(
        [each.inverse() for each in a.operators], **_square(a)
    ),
    (LinearOperatorBlockLowerTriangular,): lambda a: a.inverse_of_blocks(),
    (LinearOperatorKronecker,): lambda a: LinearOperatorKronecker(
        [each.inverse() for each in a.operators], **_square(a)
    ),
    (_Circulant,): lambda a: type(a)(1.0 / a.spectrum, a.dtype, **_square(a)),
}
_CHOLESKY: Mapping[tuple[type, ...], One] = {
    (LinearOperator,): _cholesky_of_dense,
    (LinearOperatorComposition,): _cholesky_of_product,
    (LinearOperatorIdentity,): lambda a: a,
    (LinearOperatorScaledIdentity,): _cholesky_of_scaled,
    (LinearOperatorDiag,): lambda a: LinearOperatorDiag(m.sqrt(a.diag), True, True, True),
    (LinearOperatorBlockDiag,): lambda a: LinearOperatorBlockDiag(
        [each.cholesky() for each in a.operators], is_non_singular=True
    ),
    (LinearOperatorKronecker,): lambda a: LinearOperatorKronecker(
        [each.cholesky() for each in a.operators], is_non_singular=True, is_square=True
    ),
}


# -- of two operators


def _composed(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    return LinearOperatorComposition([left, right], **of_product(left, right).arguments())


def _solved(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    hints = of_product(left, right).arguments()
    return LinearOperatorComposition([LinearOperatorInversion(left), right], **hints)


def _zeros(zeros: LinearOperator, other: LinearOperator) -> LinearOperator:
    if not zeros.is_square or not other.is_square:
        raise ValueError(
            "Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` not "
            "supported at this time."
        )
    return zeros


def _scaled(multiplier: Any, one: Any, other: Any) -> LinearOperator:
    return LinearOperatorScaledIdentity(
        one._rows, multiplier, **of_commuting(one, other).arguments()
    )


def _diagonal(diag: Any, one: Any, other: Any) -> LinearOperator:
    return LinearOperatorDiag(diag, **of_commuting(one, other).arguments())


def _multiplier(operator: LinearOperatorScaledIdentity) -> Any:
    return expand_dims(operator.multiplier, -1)


def _triangle(tril: Any, one: Any, other: Any) -> LinearOperator:
    hints = of_commuting(one, other)
    return LinearOperatorLowerTriangular(tril, hints.is_non_singular, hints.is_self_adjoint)


def _column(operator: LinearOperatorDiag) -> Any:
    return expand_dims(operator.diag, -1)


def _circulants(combine: Callable[[Any, Any], Any], otherwise: Two) -> Two:
    def combined(left: _Circulant, right: _Circulant) -> LinearOperator:
        if not isinstance(left, type(right)):
            return otherwise(left, right)
        spectrum = combine(left.spectrum, right.spectrum)
        return type(left)(spectrum, left.dtype, **of_commuting(left, right).arguments())

    return combined


def _blocks(method: str) -> Two:
    def combined(left: LinearOperatorBlockDiag, right: LinearOperatorBlockDiag) -> LinearOperator:
        if len(left.operators) != len(right.operators):
            raise ValueError(
                f"Can not efficiently {method} two `LinearOperatorBlockDiag`s together when number "
                f"of blocks differ: {len(left.operators)} and {len(right.operators)}."
            )
        parts = [getattr(a, method)(b) for a, b in zip(left.operators, right.operators)]
        return LinearOperatorBlockDiag(parts, is_non_singular=both_non_singular(left, right))

    return combined


_PRODUCTS: Mapping[tuple[type, ...], Two] = {
    (LinearOperator, LinearOperator): _composed,
    (LinearOperatorIdentity, LinearOperator): lambda a, b: b,
    (LinearOperator, LinearOperatorIdentity): lambda a, b: a,
    (LinearOperator, LinearOperatorZeros): lambda a, b: _zeros(b, a),
    (LinearOperatorZeros, LinearOperator): _zeros,
    (LinearOperatorScaledIdentity, LinearOperatorScaledIdentity): lambda a, b: _scaled(
        a.multiplier * b.multiplier, a, b
    ),
    (LinearOperatorDiag, LinearOperatorDiag): lambda a, b: _diagonal(a.diag * b.diag, a, b),
    (LinearOperatorDiag, LinearOperatorScaledIdentity): lambda a, b: _diagonal(
        a.diag * _multiplier(b), a, b
    ),
    (LinearOperatorScaledIdentity, LinearOperatorDiag): lambda a, b: _diagonal(
        _multiplier(a) * b.diag, a, b
    ),
    (LinearOperatorDiag, LinearOperatorLowerTriangular): lambda a, b: _triangle(
        _column(a) * b.to_dense(), a, b
    ),
    (LinearOperatorLowerTriangular, LinearOperatorDiag): lambda a, b: _triangle(
        a.to_dense() * expand_dims(b.diag, -2), a, b
    ),
    (_Circulant, _Circulant): _circulants(m.multiply, _composed),
    (LinearOperatorBlockDiag, LinearOperatorBlockDiag): _blocks("matmul"),
}
_SOLUTIONS: Mapping[tuple[type, ...], Two] = {
    (LinearOperator, LinearOperator): _solved,
    (LinearOperatorInversion, LinearOperator): lambda a, b: a.operator.matmul(b),
    (LinearOperatorIdentity, LinearOperator): lambda a, b: b,
    (LinearOperator, LinearOperatorIdentity): lambda a, b: a.inverse(),
    (LinearOperatorScaledIdentity, LinearOperatorScaledIdentity): lambda a, b: _scaled(
        b.multiplier / a.multiplier, a, b
    ),
    (LinearOperatorDiag, LinearOperatorDiag): lambda a, b: _diagonal(b.diag / a.diag, a, b),
    (LinearOperatorDiag, LinearOperatorScaledIdentity): lambda a, b: _diagonal(
        _multiplier(b) / a.diag, a, b
    ),
    (LinearOperatorScaledIdentity, LinearOperatorDiag): lambda a, b: _diagonal(
        b.diag / _multiplier(a), a, b
    ),
    (LinearOperatorDiag, LinearOperatorLowerTriangular): lambda a, b: _triangle(
        b.to_dense() / _column(a), a, b
    ),
    (_Circulant, _Circulant): _circulants(lambda a, b: m.divide(b, a), _solved),
    (LinearOperatorBlockDiag, LinearOperatorBlockDiag): _blocks("solve"),
}
