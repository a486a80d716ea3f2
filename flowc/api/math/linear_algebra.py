"""Traces, adjoints, lengths and diagonals: what needs no decomposition of a matrix."""

from __future__ import annotations

from typing import Any

from flowc.api.arrays.shaping import matrix_transpose
from flowc.api.framework.scopes import name_scope
from flowc.api.math.norms import norm
from flowc.api.math.reductions import reduce_sum
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


def trace(x: Any, name: str | None = None) -> Tensor:
    """The sums of the diagonals of matrices [..., m, n]. The result: [...], in their dtype. Raises
    `TypeError` for other dtypes, `ValueError` for shapes that do not fit."""
    with name_scope(name, "Trace", [x]) as scope:
        tensor = as_tensor(x, name="x")
        diagonal = output("MatrixDiagPartV3", tensor, 0, as_tensor(0, tensor.dtype))
        return reduce_sum(diagonal, [-1], name=scope)


def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """The conjugate transposes of matrices [..., m, n]. Raises `ValueError` for less than two
    dimensions."""
    with name_scope(name, "adjoint", [matrix]):
        return matrix_transpose(as_tensor(matrix, name="matrix"), conjugate=True)


def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The tensor divided by its norm (`tf.norm`'s, with sizes kept), and that norm. Raises
    `ValueError` for another `ord` than `norm` takes."""
    with name_scope(name, "normalize", [tensor]):
        values = as_tensor(tensor)
        size = norm(values, ord, axis, keepdims=True)
        if size.dtype is not values.dtype:
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
    lowest and the highest), above it for positive numbers. Of any dtype. Raises `TypeError` for
    other dtypes, `ValueError` for shapes that do not fit."""
    return output("MatrixSetDiagV3", input, diagonal, k, align=align, name=name)
