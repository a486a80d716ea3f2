"""`tf.linalg.LinearOperator*` against TensorFlow's (`tests/oracle/record_linear_operators.py`)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interpreted_sessions import sessions_by_references
from linear_operator_cases import OPERATORS, answers

import flowc as tf

# TensorFlow says that the inverse of a complex multiple of the identity is self-adjoint, and fails
# to compare the condition of a complex matrix.
TOLD_WRONG = {("complex_scaled", "facts", "inverse")}
FAILED = {
    (name, "is_non_singular")
    for name in ("complex_full", "complex_kronecker", "complex_triangle", "adjoint")
}
# Tried where there is time: what is behind them is behind others, too.
LONG = [
    "complex_kronecker",
    "complex_triangle",
    "circulant",
    "real_circulant",
    "circulant_3d",
    "update",
    "adjoint",
    "flat_zeros",
]
TRIED = [name for name in OPERATORS if name not in LONG or "FLOWC_FUZZ" in os.environ]


@pytest.fixture(scope="module")
def recorded() -> dict[str, dict[str, Any]]:
    with np.load(Path(__file__).parents[2] / "recorded" / "linear_operators.npz") as file:
        told, numbers = json.loads(file["told"].tobytes()), file["numbers"]
    at = 0
    for entry in told.values():
        for question, shapes in entry.items():
            if isinstance(shapes, list):
                values = []
                for shape in shapes:
                    count = int(np.prod(shape))
                    values.append(numbers[at : at + count].reshape(shape))
                    at += count
                entry[question] = values
    return told


def _same(name: str, expected: dict[str, Any]) -> Iterator[str]:
    """Each question whose answer differs."""
    found = answers(tf, name, (tf.errors.OpError,))
    for question, wanted in expected.items():
        given = found[question]
        if (name, question) in FAILED:
            continue
        if question == "facts":
            for fact, text in wanted.items():
                same = given[fact] == text or text in given[fact].split()
                if not same and fact != "dtype" and (name, question, fact) not in TOLD_WRONG:
                    yield f"{fact}: {given[fact]}, not {text}"
        elif isinstance(wanted, str) or isinstance(given, str):
            if not isinstance(given, str) or not set(wanted.split()) <= set(given.split()):
                yield f"{question}: {given}, not {wanted}"
        else:
            for one, other in zip(given, wanted, strict=True):
                same = np.shape(one) == other.shape
                if not same or not np.allclose(one, other, 1e-6, 1e-9, equal_nan=True):
                    yield f"{question}: {one}, not {other}"


@pytest.mark.parametrize("name", TRIED)
def test_an_operator_answers_as_tensorflows(name: str, recorded: dict[str, Any]) -> None:
    with sessions_by_references():
        assert list(_same(name, recorded[name])) == []


def test_a_triangle_of_blocks_takes_lists() -> None:
    """One tensor for each row of blocks, in place of one tensor: the same numbers."""
    random = np.random.RandomState(0)
    blocks = [[random.rand(2, 2) + 2], [random.rand(3, 2), random.rand(3, 3) + 3 * np.eye(3)]]
    whole = np.block([[blocks[0][0] + np.eye(2), np.zeros((2, 3))], blocks[1]])
    blocks[0][0] = whole[:2, :2]
    operator = tf.linalg.LinearOperatorBlockLowerTriangular(
        [[tf.linalg.LinearOperatorFullMatrix(b) for b in row] for row in blocks]
    )
    x = random.rand(5, 2)
    rows = [x[:2], x[2:]]
    columns, vectors = [r.T for r in rows], [r[:, 0] for r in rows]
    asked: dict[str, tuple[list[Any], np.ndarray]] = {}
    for adjoint, matrix in ((False, whole), (True, whole.T)):
        solved = np.linalg.solve(matrix, x)
        asked |= {
            f"matmul {adjoint}": (operator.matmul(rows, adjoint), matrix @ x),
            f"solve {adjoint}": (operator.solve(columns, adjoint, adjoint_arg=True), solved),
            f"matvec {adjoint}": (operator.matvec(vectors, adjoint), (matrix @ x)[:, 0]),
            f"solvevec {adjoint}": (operator.solvevec(vectors, adjoint), solved[:, 0]),
        }
    with sessions_by_references(), tf.Session() as session:
        found = session.run({name: given for name, (given, _) in asked.items()})
    for name, (_, wanted) in asked.items():
        np.testing.assert_allclose(np.concatenate(found[name]), wanted, rtol=1e-12)


_DENSE = tf.linalg.LinearOperatorFullMatrix


@pytest.mark.parametrize(
    ("rows", "hints", "says"),
    [
        ([], {}, "must be a list of >=1 operators"),
        ([[(2, 2)], [(2, 2)]], {}, "operators.1.` must contain `2` blocks. Received: 1"),
        ([[(2, 2)], [(3, 3), (3, 3)]], {}, "operators.1..0..domain_dimension` .3. must be"),
        ([[(2, 2)], [(2, 2), (3, 3)]], {}, "operators.1..0..range_dimension` .2. must be"),
        ([[(2, 3)]], {}, "Matrices on the diagonal .* must be square"),
        ([[(2, 2)]], {"is_square": False}, "must be square"),
        ([[(2, 2)]], {"is_non_singular": False}, "is always non-singular"),
    ],
)
def test_blocks_that_make_no_triangle_are_refused(rows: Any, hints: Any, says: str) -> None:
    known = hints.get("is_non_singular") is False or None
    blocks = [[_DENSE(np.ones(s), is_non_singular=known) for s in row] for row in rows]
    with pytest.raises(ValueError, match=says):
        tf.linalg.LinearOperatorBlockLowerTriangular(blocks, **hints)
