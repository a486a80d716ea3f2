"""Linear operators, and what programs ask of them, in TensorFlow and in flowc alike.

In: TensorFlow's module, or flowc. Out: `answers`, the values (or the error's class) of every
question about one operator of `OPERATORS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Case = Callable[[Any], Any]


def _numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed).uniform(0.5, 2.0, shape)


def _complex(*shape: int, seed: int = 0) -> np.ndarray:
    return _numbers(*shape, seed=seed) + 1j * _numbers(*shape, seed=seed + 1)


def _definite(*shape: int) -> np.ndarray:
    half = _numbers(*shape)
    return half @ np.swapaxes(half, -1, -2) + 3 * np.eye(shape[-1])


def _full(tf: Any, *shape: int, **kwargs: Any) -> Any:
    given = _numbers(*shape) + (2 * np.eye(shape[-1]) if shape[-1] == shape[-2] else 0)
    return tf.linalg.LinearOperatorFullMatrix(given, **kwargs)


def _fed(tf: Any, value: np.ndarray) -> Any:
    """A tensor of a shape that only a run knows."""
    return tf.placeholder_with_default(value, [None] * value.ndim)


def _low_rank(tf: Any, **kwargs: Any) -> Any:
    base = tf.linalg.LinearOperatorDiag(_numbers(4), is_positive_definite=True)
    return tf.linalg.LinearOperatorLowRankUpdate(base, _numbers(4, 2, seed=3), **kwargs)


OPERATORS: Mapping[str, Case] = {
    "diag": lambda tf: tf.linalg.LinearOperatorDiag(_numbers(2, 3), is_non_singular=True),
    "complex_diag": lambda tf: tf.linalg.LinearOperatorDiag(_complex(3)),
    "definite_diag": lambda tf: tf.linalg.LinearOperatorDiag(
        _numbers(3), is_positive_definite=True
    ),
    "open_diag": lambda tf: tf.linalg.LinearOperatorDiag(_fed(tf, _numbers(2, 3))),
    "identity": lambda tf: tf.linalg.LinearOperatorIdentity(3, [2], dtype=tf.float64),
    "checked_identity": lambda tf: tf.linalg.LinearOperatorIdentity(
        3, dtype=tf.float64, assert_proper_shapes=True
    ),
    "scaled": lambda tf: tf.linalg.LinearOperatorScaledIdentity(3, _numbers(2)),
    "complex_scaled": lambda tf: tf.linalg.LinearOperatorScaledIdentity(3, 1.0 + 2.0j),
    "zeros": lambda tf: tf.linalg.LinearOperatorZeros(3, batch_shape=[2], dtype=tf.float64),
    "flat_zeros": lambda tf: tf.linalg.LinearOperatorZeros(
        2, 3, dtype=tf.float64, is_square=False, is_self_adjoint=False
    ),
    "full": lambda tf: _full(tf, 2, 3, 3),
    "complex_full": lambda tf: tf.linalg.LinearOperatorFullMatrix(
        _complex(3, 3) + 3 * np.eye(3), is_non_singular=True
    ),
    "flat": lambda tf: _full(tf, 2, 3),
    "definite": lambda tf: tf.linalg.LinearOperatorFullMatrix(
        _definite(2, 3, 3), is_self_adjoint=True, is_positive_definite=True
    ),
    "open_full": lambda tf: tf.linalg.LinearOperatorFullMatrix(_fed(tf, _definite(2, 3, 3))),
    "lower": lambda tf: tf.linalg.LinearOperatorLowerTriangular(_numbers(2, 3, 3)),
    "complex_lower": lambda tf: tf.linalg.LinearOperatorLowerTriangular(
        _complex(3, 3), is_non_singular=True
    ),
    "product": lambda tf: tf.linalg.LinearOperatorComposition(
        [_full(tf, 2, 3, 3), tf.linalg.LinearOperatorDiag(_numbers(3))]
    ),
    "kronecker": lambda tf: tf.linalg.LinearOperatorKronecker(
        [_full(tf, 2, 2), tf.linalg.LinearOperatorDiag(_numbers(3))]
    ),
    "complex_kronecker": lambda tf: tf.linalg.LinearOperatorKronecker(
        [
            tf.linalg.LinearOperatorFullMatrix(_complex(2, 2) + 2 * np.eye(2)),
            tf.linalg.LinearOperatorFullMatrix(_complex(2, 2, seed=5) + 2 * np.eye(2)),
        ],
        is_non_singular=True,
    ),
    "blocks": lambda tf: tf.linalg.LinearOperatorBlockDiag(
        [_full(tf, 2, 2, 2), tf.linalg.LinearOperatorDiag(_numbers(3))]
    ),
    "triangle": lambda tf: tf.linalg.LinearOperatorBlockLowerTriangular(
        [
            [_full(tf, 2, 2, 2, is_non_singular=True)],
            [_full(tf, 3, 2), tf.linalg.LinearOperatorDiag(_numbers(3), is_non_singular=True)],
            [
                _full(tf, 1, 2),
                _full(tf, 1, 3),
                tf.linalg.LinearOperatorIdentity(1, dtype=tf.float64),
            ],
        ]
    ),
    "complex_triangle": lambda tf: tf.linalg.LinearOperatorBlockLowerTriangular(
        [
            [tf.linalg.LinearOperatorFullMatrix(_complex(2, 2) + 2 * np.eye(2))],
            [
                tf.linalg.LinearOperatorFullMatrix(_complex(1, 2, seed=3)),
                tf.linalg.LinearOperatorFullMatrix(_complex(1, 1, seed=5)),
            ],
        ]
    ),
    "update": lambda tf: _low_rank(tf),
    "unlike_update": lambda tf: _low_rank(
        tf, v=_numbers(4, 2, seed=4), diag_update=_numbers(2, seed=5), is_non_singular=True
    ),
    "adjoint": lambda tf: tf.linalg.LinearOperatorAdjoint(
        tf.linalg.LinearOperatorFullMatrix(_complex(3, 3) + 3 * np.eye(3))
    ),
    "inverse": lambda tf: tf.linalg.LinearOperatorInversion(_full(tf, 3, 3, is_non_singular=True)),
    "circulant": lambda tf: tf.linalg.LinearOperatorCirculant(
        _complex(2, 4), input_output_dtype=tf.complex128, is_non_singular=True
    ),
    "real_circulant": lambda tf: tf.linalg.LinearOperatorCirculant(
        np.array([6.0, 2.0, 1.0, 2.0]), input_output_dtype=tf.float64
    ),
    "circulant_2d": lambda tf: tf.linalg.LinearOperatorCirculant2D(
        _complex(2, 3), input_output_dtype=tf.complex128
    ),
    "circulant_3d": lambda tf: tf.linalg.LinearOperatorCirculant3D(
        _complex(2, 2, 2), input_output_dtype=tf.complex128
    ),
    "toeplitz": lambda tf: tf.linalg.LinearOperatorToeplitz(
        [5.0, 2.0, 3.0], np.array([5.0, -1.0, 0.5])
    ),
    "reflection": lambda tf: tf.linalg.LinearOperatorHouseholder(_numbers(2, 3)),
    "permutation": lambda tf: tf.linalg.LinearOperatorPermutation(
        [[1, 2, 0], [0, 2, 1]], dtype=tf.float64
    ),
    "tridiagonal": lambda tf: tf.linalg.LinearOperatorTridiag(
        _numbers(2, 3, 4) + np.array([0, 4, 0])[:, None]
    ),
    "three_diagonals": lambda tf: tf.linalg.LinearOperatorTridiag(
        [_numbers(4), _numbers(4, seed=1) + 4, _numbers(4, seed=2)],
        diagonals_format="sequence",
        is_non_singular=True,
    ),
}

QUESTIONS: Mapping[str, Callable[[Any, Any, np.ndarray], Any]] = {
    "dense": lambda tf, a, x: a.to_dense(),
    "product": lambda tf, a, x: a.matmul(x),
    "adjoint_product": lambda tf, a, x: a.matmul(np.conj(x.T), adjoint_arg=True),
    "product_of_adjoint": lambda tf, a, x: a.matmul(
        x if a.is_square is not False else x[:2], adjoint=True
    ),
    "product_of_batch": lambda tf, a, x: a.matmul(np.stack([x, 2 * x])),
    "vector": lambda tf, a, x: a.matvec(x[:, 0]),
    "solution": lambda tf, a, x: a.solve(x),
    "solution_of_adjoint": lambda tf, a, x: a.solve(np.conj(x.T), adjoint=True, adjoint_arg=True),
    "solved_vector": lambda tf, a, x: a.solvevec(x[:, 1]),
    "determinant": lambda tf, a, x: a.determinant(),
    "log_determinant": lambda tf, a, x: a.log_abs_determinant(),
    "trace": lambda tf, a, x: a.trace(),
    "diagonal": lambda tf, a, x: a.diag_part(),
    "sum": lambda tf, a, x: a.add_to_tensor(
        tf.ones([size or 3 for size in a.shape.as_list()[-2:]], a.dtype)
    ),
    "cond": lambda tf, a, x: a.cond(),
    "eigenvalues": lambda tf, a, x: a.eigvals(),
    "cholesky": lambda tf, a, x: a.cholesky().to_dense(),
    "inverse": lambda tf, a, x: a.inverse().to_dense(),
    "adjoint": lambda tf, a, x: a.H.to_dense(),
    "square": lambda tf, a, x: a.matmul(a).to_dense(),
    "solved_itself": lambda tf, a, x: a.solve(a).to_dense(),
    "sizes": lambda tf, a, x: [
        a.shape_tensor(),
        a.batch_shape_tensor(),
        a.domain_dimension_tensor(),
        a.range_dimension_tensor(),
        a.tensor_rank_tensor(),
    ],
    "is_non_singular": lambda tf, a, x: _checked(tf, a.assert_non_singular()),
    "is_self_adjoint": lambda tf, a, x: _checked(tf, a.assert_self_adjoint()),
    "is_positive_definite": lambda tf, a, x: _checked(tf, a.assert_positive_definite()),
    "functions": lambda tf, a, x: [
        tf.matmul(a, x), tf.linalg.adjoint(a).to_dense(), tf.linalg.diag_part(a), tf.trace(a)
    ],
}  # fmt: skip
CHECKS = ("is_non_singular", "is_self_adjoint", "is_positive_definite")
# What is told without a run.
FACTS: tuple[str, ...] = (
    "shape",
    "batch_shape",
    "tensor_rank",
    "dtype",
    "name",
    "is_square",
    "is_non_singular",
    "is_self_adjoint",
    "is_positive_definite",
)


_KINDS = ("InvalidArgumentError", "NotImplementedError", "TypeError", "ValueError")


def _kind(error: Exception) -> str:
    """The classes of the error that both name alike."""
    names = [kind.__name__ for kind in type(error).__mro__]
    return " ".join(kind for kind in _KINDS if kind in names) or names[0]


def _checked(tf: Any, operation: Any) -> Any:
    with tf.control_dependencies([operation]):
        return tf.constant(True)


def facts(tf: Any, operator: Any) -> dict[str, str]:
    """What an operator tells of itself, and of what kinds those are that it makes."""
    found = {name: str(getattr(operator, name)) for name in FACTS}
    for name, made in (
        ("adjoint", lambda: operator.adjoint()),
        ("inverse", lambda: operator.inverse()),
        ("cholesky", lambda: operator.cholesky()),
        ("square", lambda: operator.matmul(operator)),
        ("solution", lambda: operator.solve(operator)),
    ):
        try:
            result = made()
        except Exception as error:
            found[name] = _kind(error)
        else:
            hints = [str(getattr(result, hint)) for hint in FACTS[-4:]]
            found[name] = f"{type(result).__name__} {' '.join(hints)}"
    return found


def answers(tf: Any, name: str, run_errors: tuple[type[Exception], ...]) -> dict[str, Any]:
    """For each question a list of arrays, or the name of the error that it ends in."""
    found: dict[str, Any] = {}
    with tf.Graph().as_default(), tf.Session() as session:
        operator = OPERATORS[name](tf)
        columns = operator.shape[-1]
        count = int(getattr(columns, "value", columns) or 3)
        dtype = operator.dtype.as_numpy_dtype
        x = (_complex if operator.dtype.is_complex else _numbers)(count, 2, seed=7).astype(dtype)
        found["facts"] = facts(tf, operator)
        asked: dict[str, Any] = {}
        for question, ask in QUESTIONS.items():
            try:
                made = ask(tf, operator, x)
                asked[question] = list(made) if isinstance(made, list | tuple) else [made]
            except Exception as error:
                found[question] = _kind(error)
        checks = {question: asked.pop(question) for question in CHECKS if question in asked}
        found |= session.run(asked)
        for question, tensors in checks.items():
            try:
                found[question] = session.run(tensors)
            except run_errors as error:
                found[question] = _kind(error)
    return found
