"""Outputs of Python functions whose rank no graph tells: `flowc/run/host_ranks.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc import errors


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


def test_ranks_that_runs_find() -> None:
    x = tf.placeholder(tf.float32, [None])
    calls: list[Any] = []

    def f(a: Any) -> Any:
        calls.append(a.shape)
        return a[:, None] * a

    y = tf.py_func(f, [x], tf.float32)
    with tf.Session() as session:
        for n in (2, 3):
            assert session.run(y, {x: np.ones(n)}).shape == (n, n)
        product = session.run(tf.matmul(y, y), {x: np.ones(2)})
    assert product.tolist() == [[2, 2], [2, 2]]
    assert calls == [(2,), (3,), (2,)]  # each run called the function once


def test_several_unknown_ranks_and_state() -> None:
    """The attempts that end early leave no trace: nothing is called twice, nothing added twice."""
    calls: list[str] = []
    v = tf.get_variable("v", initializer=tf.zeros([3, 2]))
    with tf.control_dependencies([tf.scatter_add(v, [1], [[1.0, 1.0]])]):
        a = tf.py_func(lambda: (calls.append("a"), np.ones((2, 2), np.float32))[1], [], tf.float32)
    b = tf.py_func(lambda a: (calls.append("b"), a.sum())[1], [a], tf.float32)
    c, d = tf.py_func(
        lambda b: (calls.append("c"), [b.reshape(1, 1, 1), b])[1], [b], [tf.float32, tf.float32]
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            found = session.run([c, d + b, a])
        assert [x.shape for x in found] == [(1, 1, 1), (), (2, 2)]
        assert session.run(v).tolist() == [[0, 0], [2, 2], [0, 0]]
    assert calls == ["a", "b", "c"] * 2


def test_unknown_ranks_in_loops_and_branches() -> None:
    p = tf.placeholder(tf.bool, [])
    calls: list[int] = []

    def body(i: Any, s: Any) -> Any:
        grown = tf.py_func(
            lambda i: (calls.append(int(i)), np.full((2, i), 1.0, np.float32))[1], [i], tf.float32
        )
        return i + 1, s + tf.cond(p, lambda: tf.reshape(tf.reduce_sum(grown), []), lambda: 0.0)

    found = tf.while_loop(lambda i, s: i < 3, body, [0, 0.0])[1]
    with tf.Session() as session:
        assert session.run(found, {p: True}) == 6
        assert session.run(found, {p: False}) == 0
    assert calls == [0, 1, 2, 0, 1, 2]


def test_a_rank_that_changes_is_refused() -> None:
    ranks = iter([1, 2])
    y = tf.py_func(lambda: np.ones((1,) * next(ranks), np.float32), [], tf.float32)
    with tf.Session() as session:
        assert session.run(y).shape == (1,)
        with pytest.raises(errors.InvalidArgumentError, match=r"has shape \[1, 1\], where \[\?\]"):
            session.run(y)
