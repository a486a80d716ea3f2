"""Calls of `tf.linalg` and of its names at the top: run by TensorFlow to be recorded, and by flowc.

In: a module with TensorFlow 1's API. Out: `CALLS`, name -> a function of it that gives what to
fetch, in an order and with signs that are determined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matrix_programs import matrix

A = matrix(3, 3, "float64")
C = matrix(3, 3, "complex128")
TALL = matrix(4, 2, "float64")
WIDE = matrix(2, 4, "float64")
P = A @ np.swapaxes(A, -1, -2)
BANDS = matrix(3, 4, "float64") + np.array([[0.0], [3.0], [0.0]])
RIGHT = matrix(4, 2, "float64", 5)
Y = matrix(3, 2, "float64", 2)

CALLS: dict[str, Callable[[Any], Any]] = {
    "cholesky_solve": lambda tf: tf.linalg.cholesky_solve(tf.cholesky(P), Y),
    "cross": lambda tf: tf.linalg.cross(A, A[::-1]),
    "det": lambda tf: [tf.linalg.det(A), tf.matrix_determinant(C), tf.linalg.logdet(P)],
    "eigh": lambda tf: [tf.linalg.eigh(P)[0], tf.linalg.eigvalsh(P), tf.self_adjoint_eigvals(C)],
    "expm": lambda tf: [tf.linalg.expm(A), tf.linalg.expm(7 * C), tf.linalg.expm(A[0] * 0.01)],
    "expm_f32": lambda tf: tf.linalg.expm(A.astype("float32")),
    "inv": lambda tf: [tf.linalg.inv(A), tf.matrix_inverse(C, adjoint=True)],
    "logm": lambda tf: tf.linalg.logm(C),
    "lstsq": lambda tf: [
        tf.linalg.lstsq(TALL, RIGHT),
        tf.linalg.lstsq(WIDE, RIGHT[:, :2], l2_regularizer=0.5),
        tf.matrix_solve_ls(TALL, RIGHT, fast=False),
    ],
    "lu": lambda tf: list(tf.linalg.lu(A)),
    "lu_solve": lambda tf: [
        tf.linalg.lu_solve(*tf.linalg.lu(A), Y),
        tf.linalg.lu_matrix_inverse(*tf.linalg.lu(A)),
        tf.linalg.lu_reconstruct(*tf.linalg.lu(A)),
        tf.linalg.lu_reconstruct(*tf.linalg.lu(A[0])),
    ],
    "norm": lambda tf: [tf.norm(TALL, ord=2, axis=(-2, -1)), tf.norm(A, ord=2, axis=[0, 1])],
    "pinv": lambda tf: [tf.linalg.pinv(TALL), tf.linalg.pinv(A * [1, 1, 0])],
    "qr": lambda tf: [*tf.linalg.qr(TALL), *tf.qr(A, full_matrices=True)],
    "rank": lambda tf: [tf.linalg.matrix_rank(TALL), tf.linalg.matrix_rank(A * [1, 1, 0])],
    "slogdet": lambda tf: list(tf.linalg.slogdet(A)),
    "solve": lambda tf: [tf.linalg.solve(A, Y), tf.matrix_solve(A, Y, adjoint=True)],
    "sqrtm": lambda tf: tf.linalg.sqrtm(P),
    "svd": lambda tf: [tf.svd(TALL, compute_uv=False), tf.linalg.svd(C)[0]],
    "triangular_solve": lambda tf: tf.linalg.triangular_solve(A, Y, lower=False),
    "tridiagonal_solve": lambda tf: [
        tf.linalg.tridiagonal_solve(tf.constant(BANDS), tf.constant(RIGHT)),
        tf.linalg.tridiagonal_solve(tf.constant(BANDS), tf.constant(RIGHT[..., 0])),
        tf.linalg.tridiagonal_solve(
            tuple(tf.constant(BANDS[:, i]) for i in range(3)),
            tf.constant(RIGHT),
            diagonals_format="sequence",
        ),
        tf.linalg.tridiagonal_solve(tf.constant(A), tf.constant(Y), diagonals_format="matrix"),
    ],
    "tridiagonal_matmul": lambda tf: [
        tf.linalg.tridiagonal_matmul(tf.constant(BANDS), tf.constant(RIGHT)),
        tf.linalg.tridiagonal_matmul(tf.constant(A), tf.constant(Y), diagonals_format="matrix"),
    ],
}
