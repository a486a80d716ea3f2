"""Gradients of ops on sparse matrices: those of the same computation with dense ones, at the places
that are kept. TensorFlow 2.21 gives the same numbers for all that it has kernels of on a CPU."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc import raw_ops as r

_RNG = np.random.default_rng(5)
_ALL = list(itertools.product(("", "transpose", "adjoint"), repeat=2))
_PAIRS, _BATCH_PAIRS = [("transpose", "adjoint"), ("adjoint", "")], [("", "transpose")]
if os.environ.get("FLOWC_FUZZ"):
    _PAIRS = _BATCH_PAIRS = _ALL


def _matrix(*sizes: int, dtype: Any = np.float64) -> np.ndarray:
    made = _RNG.integers(1, 5, sizes) * np.where(_RNG.random(sizes) < 0.4, 0, 1)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * np.where(made, _RNG.integers(-3, 4, sizes), 0)
    return made.astype(dtype)


def _held(x: tf.Tensor, places: np.ndarray) -> Any:
    return r.DenseToCSRSparseMatrix(dense_input=x, indices=places)


def _dense(matrix: Any, dtype: Any = tf.float64) -> Any:
    return r.CSRSparseMatrixToDense(sparse_input=matrix, type=dtype)


def _turned(x: tf.Tensor, how: str) -> tf.Tensor:
    return x if not how else tf.linalg.matrix_transpose(x, conjugate=how == "adjoint")


def _attrs(**sides: str) -> dict[str, bool]:
    return {f"{how}_{side}": True for side, how in sides.items() if how}


Outputs = tuple[Any, tf.Tensor, list[tf.Tensor], list[np.ndarray | None]]


def _products(dtype: Any, batch: tuple[int, ...]) -> Iterator[Outputs]:
    """Of a sparse matrix and a dense one, then of two sparse ones."""
    for how_a, how_b in _BATCH_PAIRS if batch else _PAIRS:
        a = _matrix(*batch, *((4, 3) if how_a else (3, 4)), dtype=dtype)
        b = _matrix(*batch, *((2, 4) if how_b else (4, 2)), dtype=dtype)
        x, y = tf.constant(a), tf.constant(b)
        places = np.argwhere(a)
        wanted = tf.matmul(_turned(x, how_a), _turned(y, how_b))
        attrs = _attrs(a=how_a, b=how_b)
        turned = bool(how_a) != bool(how_b)
        found = r.SparseMatrixMatMul(
            a=_held(x, places), b=y, transpose_output=turned, conjugate_output=turned, **attrs
        )
        yield found, _turned(wanted, "adjoint" if turned else ""), [x, y], [a, None]
        both = r.SparseMatrixSparseMatMul(
            a=_held(x, places), b=_held(y, np.argwhere(b)), type=x.dtype, **attrs
        )
        yield _dense(both, x.dtype), wanted, [x, y], [a, b]


def _others() -> Iterator[Outputs]:
    a, b = _matrix(2, 3, 4), _matrix(2, 3, 4)
    x, y = tf.constant(a), tf.constant(b)
    held, other = _held(x, np.argwhere(a)), _held(y, np.argwhere(b))
    added = r.SparseMatrixAdd(a=held, b=other, alpha=np.float64(2), beta=np.float64(-3))
    yield _dense(added), 2 * x - 3 * y, [x, y], [a, b]
    softmax = r.SparseMatrixSoftmax(logits=held, type=tf.float64)
    kept = tf.exp(x) * (a != 0)
    sums = tf.reduce_sum(kept, -1, keepdims=True)
    shares = kept / tf.where(tf.equal(sums, 0), tf.ones_like(sums), sums)
    yield _dense(softmax), shares, [x], [a]
    turned = r.SparseMatrixTranspose(input=held, type=tf.float64)
    twice = _dense(turned) + 2 * tf.transpose(_dense(held), [0, 2, 1])
    yield twice, 3 * tf.linalg.matrix_transpose(x), [x], [a]
    values = tf.constant(a[a != 0])
    made = r.SparseTensorToCSRSparseMatrix(
        indices=np.argwhere(a), values=values, dense_shape=a.shape
    )
    _, back, _ = r.CSRSparseMatrixToSparseTensor(sparse_matrix=made, type=tf.float64)
    yield tf.square(back), tf.square(values), [values], [None]


def _check(programs: Iterator[Outputs]) -> None:
    pairs: list[tuple[Any, Any]] = []
    kept: list[np.ndarray | None] = []
    for found, wanted, xs, places in programs:
        weights = _RNG.integers(-3, 4, wanted.shape.as_list())
        if wanted.dtype.is_complex:
            weights = weights * (1 + 2j)
        dy = tf.constant(weights.astype(wanted.dtype.as_numpy_dtype))
        pairs += zip(tf.gradients(found, xs, dy), tf.gradients(wanted, xs, dy))
        kept += places
    with tf.Session() as session:
        results = session.run(pairs)
    for (found, wanted), places in zip(results, kept, strict=True):
        masked = wanted if places is None else wanted * (places != 0)
        np.testing.assert_allclose(found, masked, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype, batch", [(np.float64, (2,)), (np.complex128, ())])
def test_gradients_of_products_are_those_of_dense_ones(dtype: Any, batch: tuple[int, ...]) -> None:
    with tf.Graph().as_default():
        _check(_products(dtype, batch))


def test_gradients_of_sums_softmaxes_and_conversions_are_those_of_dense_ones() -> None:
    with tf.Graph().as_default():
        _check(_others())


def test_a_product_with_a_matrix_of_unknown_rank_has_no_gradient() -> None:
    with tf.Graph().as_default():
        x = tf.constant(np.eye(2))
        right = tf.placeholder(tf.float64)
        found = r.SparseMatrixMatMul(a=_held(x, np.argwhere(np.eye(2))), b=right)
        with pytest.raises(tf.errors.UnimplementedError, match="needs the rank of"):
            tf.gradients(found, x, right)


def test_conjugates_and_zeros_of_matrices() -> None:
    """TensorFlow's own gradients hold a Conj of every matrix, of real ones too."""
    with tf.Graph().as_default(), tf.Session() as session:
        for dtype in (np.float64, np.complex128):
            a = _matrix(3, 4, dtype=dtype)
            held = _held(tf.constant(a), np.argwhere(a))
            found = [_dense(v, dtype) for v in (r.Conj(input=held), r.ZerosLike(x=held))]
            conjugate, zeros = session.run(found)
            np.testing.assert_array_equal(conjugate, a.conj())
            np.testing.assert_array_equal(zeros, np.zeros_like(a))
        numbers = r.TensorListFromTensor(tensor=[1j], element_shape=np.zeros(0, np.int32))
        with pytest.raises(tf.errors.InvalidArgumentError, match="no sparse matrix"):
            session.run(_dense(r.Conj(input=numbers), tf.complex64))
