"""Traces, cross products, adjoints and diagonals: what needs no decomposition of a matrix."""

from __future__ import annotations

from typing import Any

from flowc.api.arrays.shaping import concat, expand_dims, matrix_transpose, stack, unstack
from flowc.api.arrays.shaping import pad as padded
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise
from flowc.api.math.norms import norm
from flowc.api.math.reductions import reduce_sum
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


def trace(x: Any, name: str | None = None) -> Tensor:
    """The sums of the diagonals of matrices [..., m, n]."""
    with name_scope(name, "Trace", [x]) as scope:
        tensor = as_tensor(x, name="x")
        diagonal = output("MatrixDiagPartV3", tensor, 0, as_tensor(0, tensor.dtype))
        return reduce_sum(diagonal, [-1], name=scope)


def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """The cross products of vectors [..., 3]. Raises `ValueError` for vectors of another size."""
    with name_scope(name, "Cross", [a, b]) as scope:
        left = as_tensor(a, name="a")
        right = as_tensor(b, left.dtype, "b")
        for tensor in (left, right):
            tensor.shape.with_rank_at_least(1)[-1].assert_is_compatible_with(3)
        left.shape.assert_is_compatible_with(right.shape)
        x, y, z = unstack(left, 3, -1)
        u, v, w = unstack(right, 3, -1)
        return stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-1, name=scope)


def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """The conjugate transposes of matrices [..., m, n]."""
    with name_scope(name, "adjoint", [matrix]):
        return matrix_transpose(as_tensor(matrix, name="matrix"), conjugate=True)


def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The tensor divided by its norm (`tf.norm`'s, with sizes kept), and that norm."""
    with name_scope(name, "normalize", [tensor]):
        values = as_tensor(tensor)
        size = norm(values, ord, axis, keepdims=True)
        size = output("Cast", size, DstT=values.dtype)
        return values / size, size


def set_diag(
    input: Any,
    diagonal: Any,
    name: str = "set_diag",
    k: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices [..., m, n] with other diagonals: the main one, or those of `k` (a number, or the
    lowest and the highest), above it for positive numbers."""
    return output("MatrixSetDiagV3", input, diagonal, k, align=align, name=name)


def tridiagonal_matmul(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """Products of tridiagonal matrices and matrices [..., m, n]. `diagonals`: the upper, main and
    lower ones: [..., 3, m] for `"compact"`, a tuple of three [..., m] for `"sequence"`, or matrices
    [..., m, m] for `"matrix"`. Raises `ValueError` for another format."""
    with name_scope(name, "tridiagonal_matmul"):
        right = as_tensor(rhs, name="rhs")
        if diagonals_format == "compact":
            upper, main, lower = unstack(as_tensor(diagonals, right.dtype), 3, -2)
        elif diagonals_format == "sequence":
            upper, main, lower = (as_tensor(d, right.dtype) for d in diagonals)
        elif diagonals_format == "matrix":
            whole = as_tensor(diagonals, right.dtype)
            zero = as_tensor(0, right.dtype)
            rows = [output("MatrixDiagPartV3", whole, at, zero) for at in (1, 0, -1)]
            ends = [[[0, 0]] * (len(whole.shape.with_rank_at_least(2)) - 2)] * 2
            upper = padded(rows[0], [*ends[0], [0, 1]])
            main, lower = rows[1], padded(rows[2], [*ends[1], [1, 0]])
        else:
            raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")
        zeros = right[..., :1, :] * 0
        below = concat([right[..., 1:, :], zeros], -2)
        above = concat([zeros, right[..., :-1, :]], -2)
        terms = ((upper, below), (main, right), (lower, above))
        products = [expand_dims(diagonal, -1) * rows for diagonal, rows in terms]
        return elementwise.add(products[0] + products[1], products[2])
