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
