"""Linear algebra against LAPACK and TensorFlow: sizes that are blocked, bad condition, no solution.

What depends on the signs of vectors is tested by what the vectors must do; gradients by programs
that TensorFlow ran (`support/matrix_programs.py`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matrix_programs import PROGRAMS
from snippets.linalg_snippets import CALLS

import flowc as tf

RECORDED = np.load(Path(__file__).parents[2] / "recorded" / "matrices.npz")
r: Any = tf.raw_ops
# Of the others, tests of every op see small ones.
KINDS = ("f4", "c16") if os.environ.get("FLOWC_ALL_DTYPES") else ("f4",)


def run(*fetches: Any) -> list[Any]:
    with tf.Session() as session:
        return session.run(list(fetches))


def drawn(kind: str, *shape: int, condition: float = 10.0, seed: int = 3) -> np.ndarray[Any, Any]:
    """Matrices with singular values from 1 down to 1 / condition."""
    random = np.random.default_rng(seed)
    both = random.normal(size=shape) + 1j * random.normal(size=shape) * (kind[0] == "c")
    u, s, vh = np.linalg.svd(both, full_matrices=False)
    values = np.geomspace(1, 1 / condition, s.shape[-1])
    found = (u * values) @ vh
    return (found if kind[0] == "c" else found.real).astype(kind)


def eps(kind: str) -> float:
    return float(np.finfo(kind).eps)


def adjoint(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.conj(np.swapaxes(x, -1, -2))


@pytest.mark.parametrize("kind", KINDS)
def test_equations_are_solved_as_exactly_as_by_lapack(kind: str) -> None:
    condition = 1e3 if kind in ("f4", "c8") else 1e8
    a = drawn(kind, 2, 70, 70, condition=condition)
    y = drawn(kind, 2, 70, 131)
    lower = np.tril(a) + 2 * np.eye(70, dtype=kind)
    x, t, i, (own, order) = run(
        r.MatrixSolve(matrix=a, rhs=y),
        r.MatrixTriangularSolve(matrix=lower, rhs=y, lower=True, adjoint=True),
        r.MatrixInverse(input=a),
        r.Lu(input=a),
    )
    # The residual is that of a backward stable solver, whatever the condition.
    for residual, size in (
        (a @ x - y, np.abs(x).max()),
        (adjoint(lower) @ t - y, np.abs(t).max()),
        (a @ i - np.eye(70), np.abs(i).max()),
    ):
        assert np.abs(residual).max() < 200 * eps(kind) * size
    factors = np.tril(own, -1) + np.eye(70, dtype=kind), np.triu(own)
    np.testing.assert_allclose(
        factors[0] @ factors[1], np.take_along_axis(a, order[..., None], 1), 0, 100 * eps(kind)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_factors_are_those_of_the_matrix(kind: str) -> None:
    x = drawn(kind, 2, 40, 40)
    positive = x @ adjoint(x)
    near = 500 * eps(kind)
    factor, (e, v), (q, upper) = run(
        r.Cholesky(input=positive), r.SelfAdjointEigV2(input=positive), r.Qr(input=x)
    )
    np.testing.assert_allclose(factor @ adjoint(factor), positive, 0, near)
    np.testing.assert_allclose(positive @ v, v * e[..., None, :], 0, near)
    np.testing.assert_allclose(adjoint(v) @ v, np.broadcast_to(np.eye(40), v.shape), 0, near)
    np.testing.assert_allclose(e, np.linalg.eigvalsh(positive), 0, near)
    np.testing.assert_allclose(q @ upper, x, 0, near)
    assert np.all(np.triu(factor, 1) == 0) and np.all(np.tril(upper, -1) == 0)


@pytest.mark.parametrize("kind", KINDS)
def test_singular_values(kind: str) -> None:
    xs = [drawn(kind, *s, condition=1e8) for s in ((2, 12, 7), (7, 12), (9, 9), (5, 1))]
    found = run(*(r.Svd(input=x, full_matrices=whole) for x in xs for whole in (True, False)))
    for i, (s, u, v) in enumerate(found):
        x = xs[i // 2]
        k = s.shape[-1]
        near = 100 * eps(kind)
        np.testing.assert_allclose(s, np.linalg.svd(x, compute_uv=False), 1e-4, near)
        inner = u[..., :k] * s[..., None, :]
        np.testing.assert_allclose(inner @ adjoint(v[..., :k]), x, 0, near)
        for w in (u, v):
            own = adjoint(w) @ w
            np.testing.assert_allclose(own, np.broadcast_to(np.eye(own.shape[-1]), own.shape),
                                       0, near)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_eigenvalues_of_any_matrix(kind: str) -> None:
    x = drawn(kind, 2, 20, 20)
    x[0, 3:5, :] = x[0, :1, :]  # some are the same, and 0
    tout = tf.complex64 if kind in ("f4", "c8") else tf.complex128
    e, v = run(r.Eig(input=x, Tout=tout))[0]
    near = 1e3 * eps(kind)
    np.testing.assert_allclose(x @ v, v * e[..., None, :], 0, near)
    np.testing.assert_allclose(np.linalg.norm(v, axis=-2), 1, 0, near)
    np.testing.assert_allclose(e.sum(-1), np.trace(x, axis1=-2, axis2=-1), 0, near * 20)


def test_functions_of_matrices() -> None:
    x = drawn("c16", 3, 9, 9) + 0.2 * np.eye(9)
    nilpotent = np.eye(3, k=1, dtype="c16") + np.eye(3)
    root, log, other = run(
        r.MatrixSquareRoot(input=x),
        r.MatrixExponential(input=r.MatrixLogarithm(input=x)),
        r.MatrixLogarithm(input=nilpotent),
    )
    np.testing.assert_allclose(root @ root, x, 0, 1e-12)
    np.testing.assert_allclose(log, x, 0, 1e-12)
    np.testing.assert_allclose(other, [[0, 1, -0.5], [0, 0, 1], [0, 0, 0]], 0, 1e-14)


def test_what_has_no_solution() -> None:
    zero, nan = np.zeros((2, 2), "f4"), np.full((2, 2), np.nan, "f4")
    singular = np.array([[1, 2], [2, 4]], "f4")
    for fetch, text in (
        (r.MatrixInverse(input=singular), "Input is not invertible."),
        (r.MatrixInverse(input=nan), "Input is not invertible."),
        (r.Lu(input=zero)[0], "Input is not invertible."),
        (r.MatrixSolve(matrix=zero, rhs=zero), "Input matrix is not invertible."),
        (r.BandedTriangularSolve(matrix=zero, rhs=zero), "Input matrix is not invertible."),
        (r.SelfAdjointEigV2(input=nan)[0], "Self-adjoint eigen decomposition was not successful."),
        (r.Eig(input=nan, Tout=tf.complex64)[0], "Eigen decomposition was not successful."),
        (
            r.MatrixSolveLs(matrix=zero, rhs=zero, l2_regularizer=0.0),
            "Input matrix was rank deficient or ill-conditioned.",
        ),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            run(fetch)
    factor, solution, sign, root, halved, chain = run(
        r.Cholesky(input=-np.eye(2, dtype="f4")),
        r.MatrixTriangularSolve(matrix=zero, rhs=zero),
        r.LogMatrixDeterminant(input=zero),
        r.MatrixSquareRoot(input=np.array([[1, 2], [3, 4]], "f4")),
        r.MatrixSquareRoot(input=zero),
        r.TridiagonalSolve(diagonals=np.zeros((3, 2), "f4"), rhs=zero),
    )
    assert np.isnan(factor[np.tril_indices(2)]).all() and factor[0, 1] == 0
    assert np.isnan([solution, root, halved, chain]).all()
    assert tuple(sign) == (0, -np.inf)
    for build in (
        lambda: r.Cholesky(input=np.zeros((2, 3), "f4")),
        lambda: r.MatrixSolve(matrix=zero, rhs=np.zeros((3, 2), "f4")),
        lambda: r.TridiagonalSolve(diagonals=zero, rhs=zero),
    ):
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
            run(build())


def test_a_small_pivot_takes_the_place_of_none() -> None:
    bands = np.array([[1, 1, 0], [0, 0, 0], [0, 1, 1]], "f4")
    (found,) = run(
        r.TridiagonalSolve(diagonals=bands, rhs=np.eye(3, dtype="f4"), perturb_singular=True)
    )
    big = 2.0**23
    np.testing.assert_allclose(found, [[big, 1, -big], [1, 0, 0], [-big, 0, big]])


SELDOM = ("3x3_float64", "4x3_complex128", "4x4_float64")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.oracle if n.endswith(SELDOM) else ()) for n in PROGRAMS],
)
def test_gradients_are_those_of_tensorflow(name: str) -> None:
    found = run(*PROGRAMS[name](tf))
    for i, result in enumerate(found):
        np.testing.assert_allclose(result, RECORDED[f"{name}/{i}"], 1e-8, 1e-9)


def test_calls_give_what_tensorflow_gives() -> None:
    found = run(*(call(tf) for call in CALLS.values()))
    for name, results in zip(CALLS, found):
        near = 1e-5 if name.endswith("f32") else 1e-9
        for i, result in enumerate(results if isinstance(results, list) else [results]):
            np.testing.assert_allclose(result, RECORDED[f"{name}/{i}"], near, near, err_msg=name)


def test_a_fed_regularizer_of_least_squares_is_not_negative() -> None:
    strength = tf.placeholder(tf.float64, [])
    solved = tf.raw_ops.MatrixSolveLs(
        matrix=np.eye(2), rhs=np.ones((2, 1)), l2_regularizer=strength
    )
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(solved, {strength: 0.0}), np.ones((2, 1)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="l2_regularizer must be >= 0"):
            session.run(solved, {strength: -0.5})


def test_what_stands_beside_a_matrix_of_three_bands_is_not_read() -> None:
    none = np.nan
    bands = np.array([[[1.0, 2, none]]]), np.array([[[1.0, 2, 3]]]), np.array([[[none, 5, 6]]])
    wanted = [[[2.0, 4], [12, 21], [24, 33]]]  # what TensorFlow gives
    with tf.Graph().as_default():
        fed = [tf.placeholder_with_default(band, [None] * 3) for band in bands]
        x = np.arange(6.0).reshape(1, 3, 2)
        for given in (fed, bands):
            (found,) = run(
                r.TridiagonalMatMul(superdiag=given[0], maindiag=given[1], subdiag=given[2], rhs=x)
            )
            np.testing.assert_array_equal(found, wanted)
