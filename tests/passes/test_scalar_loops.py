"""Loops over scalars, which are one kernel: a fault in them ends the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flowc as tf


def run(body: Callable[[Any], Any]) -> Any:
    with tf.Graph().as_default() as graph:
        n = tf.placeholder(tf.int32, [], name="n")
        i = tf.while_loop(lambda i: i < n, body, [tf.constant(3)])
    with tf.Session(graph=graph) as session:
        return session.run(i, {n: 10})


def inner(i: Any) -> Any:
    """Adds 6 // (3 - i) until it passes 7."""
    return tf.while_loop(lambda j: j < 7, lambda j: j + tf.floordiv(6, 3 - j), [i])


@pytest.mark.timeout(60)
@pytest.mark.parametrize("body", [lambda i: i + tf.floordiv(6, 3 - i), inner], ids=["one", "two"])
def test_a_fault_ends_a_loop_that_would_go_on_for_ever(body: Callable[[Any], Any]) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        run(body)


def test_a_loop_that_may_fail_and_does_not() -> None:
    assert run(lambda i: i + tf.floordiv(20, i)) == 11


def test_the_node_that_finds_a_fault_is_named_in_loops_and_in_fused_kernels() -> None:
    """Also where one kernel computes several nodes with the same message."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        d = tf.placeholder(tf.int32, [2], name="d")
        sums = tf.while_loop(
            lambda i, _: i < 5,
            lambda i, s: (i + 1, s + tf.gather(x, i, name="pick")),
            [tf.constant(0), tf.constant(0.0)],
        )
        first = tf.floordiv(7, d[:1], name="first")
        both = 1 + tf.concat([first, tf.floordiv(7, d[1:], name="second")], 0) * 2
    with tf.Session(graph=graph) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"not in \[0, 2\)") as caught:
            session.run(sums, {x: [1.0, 2.0]})
        assert caught.value.node == "while/pick"
        for fed, name in (([0, 1], "first"), ([1, 0], "second")):
            with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero") as caught:
                session.run(both, {d: fed})
            assert caught.value.node == name
