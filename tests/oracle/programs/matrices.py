"""Linear algebra and signals."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from programs.values import definite, numbers

linalg, signal = tf.linalg, tf.signal


def _orthogonal_parts(a: Any) -> list[Any]:
    """What does not depend on the signs that a decomposition chooses."""
    q, r = linalg.qr(a)
    return [q @ r, linalg.matmul(q, q, transpose_a=True), tf.abs(linalg.diag_part(r))]


def _rebuilt(a: Any, full: bool = False) -> list[Any]:
    s, u, v = linalg.svd(a, full_matrices=full)
    k = tf.shape(s)[-1]
    return [s, (u[..., :k] * s[..., None, :]) @ linalg.adjoint(v[..., :k])]


def _eigen(a: Any) -> list[Any]:
    values, vectors = linalg.eigh(a)
    return [values, (vectors * values[..., None, :]) @ linalg.adjoint(vectors)]


def _sorted_eigenvalues(a: Any) -> Any:
    values = linalg.eigvals(a)
    return tf.sort(tf.math.real(values)), tf.sort(tf.abs(values))


def _lu(a: Any) -> Any:
    lu, p = linalg.lu(a)
    return [p, linalg.lu_reconstruct(lu, p), linalg.lu_solve(lu, p, tf.ones_like(a)[..., :1])]


def _gradient(function: Any, *values: Any) -> Any:
    result = function(*values)
    return tf.compat.v1.gradients(tf.reduce_sum(result * tf.cos(result)), list(values))


m = lambda *shape: tf.constant(numbers(*shape))
spd = lambda *shape: tf.constant(definite(*shape))
lower = lambda n: linalg.band_part(spd(n), -1, 0)
waves = lambda *shape: tf.cast(m(*shape), tf.complex64) * (1 + 0.5j)

EXPRESSIONS = {
    "cholesky": lambda: linalg.cholesky(spd(2, 5)),
    "cholesky f64": lambda: linalg.cholesky(tf.cast(spd(7), tf.float64)),
    "cholesky of what is not square": lambda: linalg.cholesky(
        tf.compat.v1.placeholder_with_default(m(3, 4), None)
    ),
    "cholesky_solve": lambda: linalg.cholesky_solve(linalg.cholesky(spd(4)), m(4, 2)),
    "gradient of cholesky": lambda: _gradient(linalg.cholesky, spd(4)),
    "matrix_solve": lambda: linalg.solve(spd(3, 4), m(3, 4, 2)),
    "matrix_solve adjoint": lambda: linalg.solve(spd(4) + lower(4), m(4, 2), adjoint=True),
    "matrix_solve singular": lambda: linalg.solve(tf.zeros([3, 3]), m(3, 1)),
    "matrix_solve of other rows": lambda: linalg.solve(
        tf.compat.v1.placeholder_with_default(spd(3), None),
        tf.compat.v1.placeholder_with_default(m(4, 1), None),
    ),
    "gradient of matrix_solve": lambda: _gradient(linalg.solve, spd(4), m(4, 2)),
    "triangular_solve": lambda: linalg.triangular_solve(lower(5), m(5, 3)),
    "triangular_solve upper adjoint": lambda: linalg.triangular_solve(
        linalg.adjoint(lower(5)), m(5, 3), lower=False, adjoint=True
    ),
    "triangular_solve of batches": lambda: linalg.triangular_solve(spd(2, 1, 4), m(3, 4, 2)),
    "gradient of triangular_solve": lambda: _gradient(linalg.triangular_solve, lower(4), m(4, 2)),
    "banded_triangular_solve": lambda: linalg.banded_triangular_solve(
        tf.constant([[2.0, 3.0, 4.0], [0.0, 1.0, 2.0]]), m(3, 2)
    ),
    "banded_triangular_solve upper": lambda: linalg.banded_triangular_solve(
        tf.constant([[0.0, 1.0, 2.0], [2.0, 3.0, 4.0]]), m(3, 2), lower=False
    ),
    "tridiagonal_solve": lambda: linalg.tridiagonal_solve(
        tf.constant([[1.0, 2, 1, 0], [5, 6, 7, 8], [0, 1, 2, 1]]), m(4, 2)
    ),
    "tridiagonal_solve pivoting": lambda: linalg.tridiagonal_solve(
        tf.constant([[1.0, 2, 1, 0], [0.5, 6, 0.1, 8], [0, 1, 2, 1]]), m(4), partial_pivoting=True
    ),
    "tridiagonal_solve sequence": lambda: linalg.tridiagonal_solve(
        (m(3), m(4) + 5, m(3)), m(4), diagonals_format="sequence"
    ),
    "tridiagonal_matmul": lambda: linalg.tridiagonal_matmul(m(3, 5), m(5, 2)),
    "gradient of tridiagonal_matmul": lambda: _gradient(
        linalg.tridiagonal_matmul, m(3, 5), m(5, 2)
    ),
    "inverse": lambda: linalg.inv(spd(2, 3)),
    "inverse adjoint": lambda: linalg.inv(spd(3) + lower(3), adjoint=True),
    "inverse singular": lambda: linalg.inv(tf.ones([2, 2])),
    "gradient of inverse": lambda: _gradient(linalg.inv, spd(3)),
    "determinant": lambda: linalg.det(m(2, 4, 4)),
    "determinant of nothing": lambda: linalg.det(tf.zeros([0, 0])),
    "gradient of determinant": lambda: _gradient(linalg.det, spd(3)),
    "slogdet": lambda: linalg.slogdet(m(3, 4, 4)),
    "logdet": lambda: linalg.logdet(spd(4)),
    "gradient of slogdet": lambda: _gradient(lambda a: linalg.slogdet(a)[1], spd(3)),
    "lstsq": lambda: linalg.lstsq(m(6, 3), m(6, 2), l2_regularizer=0.1),
    "lstsq wide": lambda: linalg.lstsq(m(3, 6), m(3, 2)),
    "lstsq slow": lambda: linalg.lstsq(m(6, 3), m(6, 2), fast=False),
    "expm": lambda: linalg.expm(m(2, 3, 3)),
    "expm large": lambda: linalg.expm(3.0 * m(4, 4)),
    "gradient of expm": lambda: _gradient(linalg.expm, m(3, 3)),
    "logm": lambda: linalg.logm(tf.cast(spd(3), tf.complex64)),
    "sqrtm": lambda: linalg.sqrtm(spd(3)),
    "qr": lambda: _orthogonal_parts(m(5, 3)),
    "qr full": lambda: tf.abs(linalg.qr(m(2, 5, 3), full_matrices=True)[1]),
    "gradient of qr": lambda: _gradient(lambda a: tf.abs(linalg.qr(a)[1]), m(4, 3)),
    "svd": lambda: _rebuilt(m(4, 3)),
    "svd full": lambda: _rebuilt(m(2, 3, 5), full=True),
    "svd values": lambda: linalg.svd(m(5, 5), compute_uv=False),
    "gradient of svd values": lambda: _gradient(lambda a: linalg.svd(a, compute_uv=False), m(4, 3)),
    "eigh": lambda: _eigen(spd(2, 4)),
    "eigvalsh": lambda: linalg.eigvalsh(spd(5)),
    "gradient of eigvalsh": lambda: _gradient(linalg.eigvalsh, spd(3)),
    "eigvals": lambda: _sorted_eigenvalues(m(4, 4)),
    "lu": lambda: _lu(m(2, 4, 4)),
    "lu_matrix_inverse": lambda: linalg.lu_matrix_inverse(*linalg.lu(spd(3))),
    "pinv": lambda: linalg.pinv(m(4, 3)),
    "matrix_rank": lambda: linalg.matrix_rank(tf.constant([[1.0, 2], [2, 4], [0, 1]])),
    "norm": lambda: [linalg.norm(m(3, 4), k) for k in (1, 2, 3.5, np.inf, "euclidean")],
    "norm of matrices": lambda: [linalg.norm(m(2, 3, 4), k, [-2, -1]) for k in (1, "fro", np.inf)],
    "cross": lambda: linalg.cross(m(4, 3), m(4, 3) * 2 + 1),
    "trace": lambda: linalg.trace(m(2, 4, 3)),
    "diag": lambda: linalg.diag(m(2, 3), k=1),
    "diag of bands": lambda: linalg.diag(m(2, 3), k=(-1, 0), align="LEFT_RIGHT"),
    "diag padding": lambda: linalg.diag(m(3), k=1, num_rows=3, num_cols=5, padding_value=9.0),
    "diag_part": lambda: linalg.diag_part(m(2, 4, 5), k=(-2, 1), padding_value=-1.0),
    "diag_part align": lambda: linalg.diag_part(m(4, 5), k=(-2, 1), align="RIGHT_RIGHT"),
    "set_diag": lambda: linalg.set_diag(m(2, 3, 4), m(2, 2, 3), k=(0, 1)),
    "gradient of diag_part": lambda: _gradient(lambda a: linalg.diag_part(a, k=(-1, 1)), m(4, 4)),
    "band_part": lambda: [linalg.band_part(m(4, 5), i, j) for i, j in ((1, 0), (-1, 1), (0, -1))],
    "band_part of int64": lambda: linalg.band_part(
        tf.range(12, dtype=tf.int64)[None, :, None] * tf.ones([1, 1, 4], tf.int64), 1, 1
    ),
    "adjoint": lambda: linalg.adjoint(waves(2, 3)),
    "einsum": lambda: tf.einsum("bij,bjk->bik", m(2, 3, 4), m(2, 4, 5)),
    "einsum ellipsis": lambda: tf.einsum("...ij,jk->...ki", m(2, 3, 4), m(4, 5)),
    "einsum trace": lambda: tf.einsum("bii->b", m(2, 3, 3)),
    "einsum of three": lambda: tf.einsum("ij,jk,kl->il", m(2, 3), m(3, 4), m(4, 2)),
    "gradient of einsum": lambda: _gradient(
        lambda a, b: tf.einsum("abc,cd->bd", a, b), m(2, 3, 4), m(4, 2)
    ),
    "tensordot": lambda: tf.tensordot(m(2, 3, 4), m(4, 3, 5), [[1, 2], [1, 0]]),
    "tensordot of unknown shapes": lambda: tf.tensordot(
        tf.compat.v1.placeholder_with_default(m(2, 3, 4), None),
        tf.compat.v1.placeholder_with_default(m(4, 3, 5), None),
        [[1, 2], [1, 0]],
    ),
    "matvec": lambda: linalg.matvec(m(2, 3, 4), m(2, 4)),
    "matmul types": lambda: [
        linalg.matmul(tf.cast(m(3, 4) * 5, d), tf.cast(m(4, 2) * 5, d))
        for d in (tf.int32, tf.int64, tf.float64, tf.bfloat16, tf.float16, tf.complex64)
    ],
    "matmul int8 to int32": lambda: linalg.matmul(
        tf.cast(m(3, 4) * 20, tf.int8), tf.cast(m(4, 2) * 20, tf.int8), output_type=tf.int32
    ),
    "matmul sparse": lambda: linalg.matmul(m(3, 4), m(4, 2), a_is_sparse=True),
    "matmul of nothing": lambda: linalg.matmul(tf.zeros([3, 0]), tf.zeros([0, 2])),
    "operator block": lambda: linalg.LinearOperatorBlockDiag(
        [linalg.LinearOperatorFullMatrix(spd(2)), linalg.LinearOperatorDiag(m(3))]
    ).matmul(m(5, 2)),
    "operator kronecker": lambda: linalg.LinearOperatorKronecker(
        [linalg.LinearOperatorFullMatrix(spd(2)), linalg.LinearOperatorFullMatrix(spd(3))]
    ).solve(m(6, 1)),
    "operator toeplitz": lambda: linalg.LinearOperatorToeplitz(m(4), m(4)).matmul(m(4, 2)),
    "operator low rank": lambda: linalg.LinearOperatorLowRankUpdate(
        linalg.LinearOperatorDiag(tf.abs(m(4)) + 1), m(4, 2)
    ).log_abs_determinant(),
    "global_norm": lambda: tf.linalg.global_norm([m(3), m(2, 2)]),
    "fft": lambda: signal.fft(waves(3, 8)),
    "fft of 7": lambda: signal.ifft(waves(2, 7)),
    "fft2d": lambda: signal.fft2d(waves(2, 4, 6)),
    "ifft3d": lambda: signal.ifft3d(waves(2, 3, 4)),
    "rfft": lambda: signal.rfft(m(2, 10), [8]),
    "rfft padded": lambda: signal.rfft(m(2, 5), [8]),
    "irfft": lambda: signal.irfft(waves(2, 5), [7]),
    "rfft2d": lambda: signal.irfft2d(signal.rfft2d(m(4, 6))),
    "rfft3d": lambda: signal.rfft3d(m(2, 4, 6)),
    "gradient of rfft": lambda: _gradient(lambda a: tf.abs(signal.rfft(a)), m(2, 8)),
    "fftshift": lambda: [signal.fftshift(m(4, 5)), signal.ifftshift(m(4, 5), axes=[1])],
    "stft": lambda: signal.stft(m(2, 100), 16, 8),
    "inverse_stft": lambda: signal.inverse_stft(signal.stft(m(100), 16, 8), 16, 8),
    "dct": lambda: [signal.dct(m(2, 8), k) for k in (1, 2, 3)],
    "idct ortho": lambda: signal.idct(m(2, 8), 2, norm="ortho"),
    "mdct": lambda: signal.mdct(m(64), 16),
    "frame": lambda: signal.frame(m(2, 23), 5, 3, pad_end=True, pad_value=7.0),
    "overlap_and_add": lambda: signal.overlap_and_add(m(2, 4, 6), 3),
    "windows": lambda: [
        f(12) for f in (signal.hann_window, signal.hamming_window, signal.kaiser_window)
    ],
    "mel": lambda: signal.linear_to_mel_weight_matrix(8, 33, 8000.0, 80.0, 3800.0),
    "mfccs": lambda: signal.mfccs_from_log_mel_spectrograms(m(2, 8)),
}
