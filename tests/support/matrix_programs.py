"""Programs of linear algebra whose results do not depend on the signs of vectors: run by
TensorFlow to be recorded, and by flowc.

In: a module with TensorFlow 1's API. Out: `PROGRAMS`, name -> a function of it that gives what to
fetch: losses and their gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Program = Callable[[Any], list[Any]]
PROGRAMS: dict[str, Program] = {}


def matrix(rows: int, columns: int, kind: str, seed: int = 0) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(seed + 7 * rows + columns)
    real = random.uniform(-1, 1, (2, rows, columns))
    imag = random.uniform(-1, 1, (2, rows, columns)) if kind.startswith("c") else 0
    found = real + 1j * imag if kind.startswith("c") else real
    if rows == columns:
        found = found + 0.3 * rows * np.eye(rows)
    return found.astype(kind)


def _size(tf: Any, x: Any) -> Any:
    return tf.reduce_sum(tf.square(tf.abs(x)) * np.arange(1.0, 1.0 + int(x.shape[-1])))


def _add(name: str, rows: int, columns: int, kind: str, loss: Callable[[Any, Any], Any]) -> None:
    def program(tf: Any) -> list[Any]:
        x = tf.constant(matrix(rows, columns, kind))
        found = loss(tf, x)
        return [found, *tf.gradients(found, [x])]

    PROGRAMS[f"{name}_{rows}x{columns}_{kind}"] = program


def _svd(tf: Any, x: Any) -> Any:
    s, u, v = tf.raw_ops.Svd(input=x)
    return _size(tf, u) + _size(tf, v) + tf.reduce_sum(tf.abs(s))


def _qr(tf: Any, x: Any) -> Any:
    q, r = tf.raw_ops.Qr(input=x)
    return _size(tf, q) + _size(tf, r)


def _self_adjoint(tf: Any, x: Any) -> Any:
    e, v = tf.raw_ops.SelfAdjointEigV2(input=x)
    return tf.reduce_sum(tf.square(tf.abs(e))) + _size(tf, v)


def _eig(tf: Any, x: Any) -> Any:
    kind = tf.complex128
    e, v = tf.raw_ops.Eig(input=x, Tout=kind)
    weights = tf.cast(tf.abs(e), tf.float64)
    return tf.reduce_sum(weights) + tf.reduce_sum(tf.square(tf.abs(v[:, 0])) * weights)


def _cholesky(tf: Any, x: Any) -> Any:
    own = tf.matmul(x, x, adjoint_b=True)
    return _size(tf, tf.raw_ops.Cholesky(input=own))


for _kind in ("float64", "complex128"):
    for _rows, _columns in ((4, 3), (3, 4), (3, 3)):
        _add("svd", _rows, _columns, _kind, _svd)
        _add("qr", _rows, _columns, _kind, _qr)
    _add("self_adjoint", 4, 4, _kind, _self_adjoint)
    _add("eig", 3, 3, _kind, _eig)
    _add("cholesky", 3, 3, _kind, _cholesky)
    for _name, _op in (
        ("determinant", "MatrixDeterminant"),
        ("inverse", "MatrixInverse"),
        ("square_root", "MatrixSquareRoot"),
    ):
        _add(
            _name, 3, 3, _kind,
            lambda tf, x, op=_op: tf.reduce_sum(tf.abs(getattr(tf.raw_ops, op)(input=x))),
        )  # fmt: skip
