"""Gradients of the ops on sparse matrices.

In: an op of `matrices.py`, and the gradients of its outputs. Out: those of its inputs. Invariant:
the gradient of a sparse matrix has the matrix's own places, zeros among them, so that it goes back
to as many values as the matrix was made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.ops.gradients import Forward, Gradient, GradientBuilder


def _dense_to_csr(b: GradientBuilder, node: Forward, dy: Any) -> Sequence[Any]:
    return b.csr_to_dense(dy, type=node.inputs[0].dtype), None


def _csr_to_dense(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    return _at_places_of(b, node.inputs[0], dy, node.attrs["type"])


def _sparse_to_csr(b: GradientBuilder, node: Forward, dy: Any) -> Sequence[Any]:
    _, values, _ = b.csr_to_sparse(dy, type=node.inputs[1].dtype)
    return None, values, None


def _csr_to_sparse(b: GradientBuilder, node: Forward, *dys: Any) -> Any:
    places, _, shape = node.outputs
    return b.csr_of_sparse(places, dys[1], shape)


def _transpose(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    return b.with_attrs_of(node, "csr_transpose", dy)


def _softmax(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    return b.csr_softmax_grad(node.output, dy, type=node.attrs["type"])


def _add(b: GradientBuilder, node: Forward, dy: Any) -> Sequence[Any]:
    """TensorFlow has none with respect to the factors, and takes them to be real."""
    first, second, alpha, beta = node.inputs
    dtype = alpha.dtype
    dense = b.csr_to_dense(dy, type=dtype)
    return (
        _at_places_of(b, first, b.mul(dense, alpha), dtype),
        _at_places_of(b, second, b.mul(dense, beta), dtype),
        None,
        None,
    )


def _at_places_of(b: GradientBuilder, matrix: Any, dense: Any, dtype: DType) -> Any:
    """The elements of a dense tensor at the places of a sparse matrix."""
    places, _, shape = b.csr_to_sparse(matrix, type=dtype)
    return b.csr_of_sparse(places, b.gather_nd(dense, places), shape)


def _mat_mul(b: GradientBuilder, node: Forward, dy: Any) -> Sequence[Any]:
    """The gradients of C = A B: dy B* and A* dy, where * is the conjugate transpose, transposed
    back where an operand was transposed. Of the first only the elements at the places of A are
    computed."""
    matrix, right = node.inputs
    rank = b.rank_of(right)
    swap = np.array([*range(rank - 2), rank - 1, rank - 2], np.int32)
    dy = _conjugated(b, dy, node.attrs["conjugate_output"])
    if node.attrs["transpose_output"]:
        dy = b.transpose(dy, swap)
    transposed = {side: _is_transposed(node, side) for side in "ab"}
    to_right = _transposed_product(b, node, matrix, dy)
    if transposed["b"]:
        right = _conjugated(b, b.transpose(right, swap), node.attrs["adjoint_b"])
    places, _, shape = b.csr_to_sparse(matrix, type=right.dtype)
    batch = tuple(range(rank - 2))
    row, column = (rank - 1, rank - 2) if transposed["a"] else (rank - 2, rank - 1)
    rows, columns = (
        b.gather_nd(value, b.gather(places, np.array([*batch, axis], np.int32), np.int32(1)))
        for value, axis in ((dy, row), (right, column))
    )
    parts = b.mul(rows, _conjugated(b, columns, True))
    values = _conjugated(b, b.sum(parts, np.array([1], np.int32)), node.attrs["adjoint_a"])
    return b.csr_of_sparse(places, values, shape), to_right


def _transposed_product(b: GradientBuilder, node: Forward, matrix: Any, dy: Any) -> Any:
    """A* dy, as the gradient of what is on the right."""
    transposed, adjoint = node.attrs["transpose_a"], node.attrs["adjoint_a"]
    is_complex = dy.dtype.is_complex
    conjugated = transposed and is_complex  # the conjugate of A itself: that of A times that of dy
    found = b.csr_mat_mul(
        matrix,
        _conjugated(b, dy, conjugated),
        adjoint_a=not transposed and not adjoint,
        transpose_output=_is_transposed(node, "b"),
        conjugate_output=is_complex and conjugated != node.attrs["adjoint_b"],
    )
    return found


def _sparse_mat_mul(b: GradientBuilder, node: Forward, dy: Any) -> Sequence[Any]:
    """As of a product with a dense matrix."""
    dtype = node.attrs["type"]
    left, right = node.inputs
    (left_star, a), (right_star, c) = (
        _conjugate_transpose(b, node, matrix, side) for matrix, side in ((left, "a"), (right, "b"))
    )
    products = (
        b.csr_sparse_mat_mul(dy, right_star, type=dtype, **{f"{c}_b": True} if c else {}),
        b.csr_sparse_mat_mul(left_star, dy, type=dtype, **{f"{a}_a": True} if a else {}),
    )
    found: list[Any] = []
    for product, side, matrix in zip(products, "ab", (left, right)):
        if _is_transposed(node, side):
            product = b.csr_transpose(product, type=dtype, conjugate=node.attrs[f"adjoint_{side}"])
        dense = b.csr_to_dense(product, type=dtype)
        found.append(_at_places_of(b, matrix, dense, dtype))
    return found


def _conjugate_transpose(
    b: GradientBuilder, node: Forward, matrix: Any, side: str
) -> tuple[Any, str]:
    """That of an operand as its attrs turn it: a matrix, and how a product takes it."""
    if node.attrs[f"adjoint_{side}"]:
        return matrix, ""
    if not node.attrs[f"transpose_{side}"]:
        return matrix, "adjoint"
    if not node.attrs["type"].is_complex:
        return matrix, ""
    return b.csr_transpose(matrix, type=node.attrs["type"], conjugate=True), "transpose"


def _is_transposed(node: Forward, side: str) -> bool:
    return node.attrs[f"transpose_{side}"] or node.attrs[f"adjoint_{side}"]


def _conjugated(b: GradientBuilder, value: Any, conjugate: bool) -> Any:
    return b.conj(value) if conjugate and value.dtype.is_complex else value


MATRIX_GRADIENTS: dict[str, Gradient] = {
    "csr_of_dense": _dense_to_csr,
    "csr_of_sparse": _sparse_to_csr,
    "csr_to_dense": _csr_to_dense,
    "csr_to_sparse": _csr_to_sparse,
    "csr_transpose": _transpose,
    "csr_add": _add,
    "csr_mat_mul": _mat_mul,
    "csr_sparse_mat_mul": _sparse_mat_mul,
    "csr_softmax": _softmax,
}
