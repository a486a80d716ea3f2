"""Calls of ops on sparse matrices: run by TensorFlow to be recorded, and by flowc.

In: a module with TensorFlow's `raw_ops`. Out: `MATRIX_CALLS`, op -> functions that give results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Call = Callable[[Any], Any]
ONE = np.array([[0, 2, 0, -1], [0, 0, 0, 0], [3, 0.5, 0, 1]], np.float32)
BATCH = np.stack([ONE, -2 * ONE[::-1]])
COMPLEX = (ONE + 1j * ONE[::-1]).astype(np.complex64)
RIGHT = np.arange(24, dtype=np.float32).reshape(2, 4, 3) - 11


def _held(r: Any, dense: np.ndarray) -> Any:
    return r.DenseToCSRSparseMatrix(dense_input=dense, indices=np.argwhere(dense != 0))


def _dense(r: Any, matrix: Any, dtype: type = np.float32) -> Any:
    return r.CSRSparseMatrixToDense(sparse_input=matrix, type=dtype)


def _sparse(r: Any, matrix: Any) -> Any:
    return r.CSRSparseMatrixToSparseTensor(sparse_matrix=matrix, type=np.float32)


def _product(r: Any, dense: np.ndarray, right: Any, **attrs: Any) -> Any:
    return r.SparseMatrixMatMul(a=_held(r, dense), b=right, **attrs)


def _both(r: Any, left: np.ndarray, right: np.ndarray, **attrs: Any) -> Any:
    kind = left.dtype.type
    found = r.SparseMatrixSparseMatMul(a=_held(r, left), b=_held(r, right), type=kind, **attrs)
    return _dense(r, found, kind)


def _parts(r: Any, dense: np.ndarray, index: int) -> Any:
    return r.CSRSparseMatrixComponents(
        csr_sparse_matrix=_held(r, dense), index=index, type=np.float32
    )


MATRIX_CALLS: dict[str, list[Call]] = {
    "DenseToCSRSparseMatrix": [
        lambda r: _sparse(r, _held(r, ONE)),
        lambda r: _sparse(r, _held(r, BATCH)),
    ],
    "SparseTensorToCSRSparseMatrix": [
        lambda r: _dense(
            r,
            r.SparseTensorToCSRSparseMatrix(
                indices=np.argwhere(BATCH != 0), values=BATCH[BATCH != 0], dense_shape=[2, 3, 4]
            ),
        ),
    ],
    "CSRSparseMatrixToDense": [lambda r: _dense(r, _held(r, COMPLEX), np.complex64)],
    "CSRSparseMatrixToSparseTensor": [lambda r: _sparse(r, _held(r, ONE * 0))],
    "CSRSparseMatrixComponents": [
        lambda r: _parts(r, ONE, 0),
        lambda r: _parts(r, BATCH, 1),
    ],
    "SparseMatrixNNZ": [
        lambda r: r.SparseMatrixNNZ(sparse_matrix=_held(r, ONE)),
        lambda r: r.SparseMatrixNNZ(sparse_matrix=_held(r, BATCH)),
    ],
    "SparseMatrixTranspose": [
        lambda r: _sparse(r, r.SparseMatrixTranspose(input=_held(r, BATCH), type=np.float32)),
        lambda r: _dense(
            r,
            r.SparseMatrixTranspose(input=_held(r, COMPLEX), conjugate=True, type=np.complex64),
            np.complex64,
        ),
    ],
    "SparseMatrixMatMul": [
        lambda r: _product(r, ONE, RIGHT[0]),
        lambda r: _product(r, BATCH, RIGHT, transpose_output=True),
        lambda r: _product(r, BATCH, RIGHT[:, :3, :2], transpose_a=True),
        lambda r: _product(r, ONE, RIGHT[1].T, transpose_b=True),
        lambda r: _product(r, COMPLEX, 1j * COMPLEX, adjoint_a=True, conjugate_output=True),
        lambda r: _product(r, COMPLEX, 1j * COMPLEX, adjoint_b=True),
    ],
    "SparseMatrixSparseMatMul": [
        lambda r: _both(r, BATCH, BATCH, transpose_b=True),
        lambda r: _both(r, COMPLEX, COMPLEX, adjoint_a=True),
    ],
}
