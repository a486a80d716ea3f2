"""What runs and nobody reads fails as in TensorFlow: outside of branches not taken, TensorArrays of
which only the flow is fetched, targets. TensorFlow 2.21 gave what is expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flowc as tf


def _written_twice(i: Any) -> Any:
    array = tf.TensorArray(tf.float32, 2).write(0, [1.0, 2.0])
    return array.write(i, [3.0, 4.0]).flow


def _written_in_a_loop(i: Any) -> Any:
    array = tf.TensorArray(tf.float32, 2)
    loop = tf.while_loop(
        lambda k, _: k <= i, lambda k, a: (k + 1, a.write(k, [1.0, 2.0])), (0, array)
    )
    return loop[1].flow


def _known_branch(i: Any) -> Any:
    outside = tf.gather([1.0, 2.0], i)
    return tf.cond(tf.constant(False), lambda: outside + 1, lambda: tf.constant(0.0))


def _strings(i: Any) -> Any:
    outside = tf.strings.substr(["ab"], i, 1)
    return tf.cond(
        tf.constant(False), lambda: tf.strings.length(outside)[0], lambda: tf.constant(3)
    )


def _branch_known_in_a_branch(i: Any) -> Any:
    quotient, asked = 4 // (i - 2), i > 5
    inner = lambda: tf.cond(asked, lambda: quotient, lambda: tf.constant(3))
    return tf.cond(tf.logical_not(asked), inner, lambda: tf.constant(1))


CASES: dict[str, tuple[Callable[[Any], Any], int, int, str]] = {
    "an array written twice": (_written_twice, 1, 0, "has already been written to"),
    "an array written behind its end": (_written_in_a_loop, 1, 2, "Tried to write to index 2 but"),
    "a target": (lambda i: tf.gather([1.0, 2.0], i).op, 1, 7, "indices = 7 is not in .0, 2."),
    "outside of a known branch": (_known_branch, 1, 7, "indices = 7 is not in .0, 2."),
    "strings outside": (_strings, 1, 7, "pos 7 out of range"),
    "a branch known in another": (_branch_known_in_a_branch, 3, 2, "Integer division by zero"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_nobody_reads_fails(name: str) -> None:
    build, right, wrong, says = CASES[name]
    with tf.Graph().as_default(), tf.Session() as session:
        i = tf.placeholder(tf.int32, [])
        fetched = build(i)
        session.run(fetched, {i: right})
        with pytest.raises(tf.errors.InvalidArgumentError, match=says):
            session.run(fetched, {i: wrong})


def test_what_nothing_but_an_order_asks_for_is_not_computed() -> None:
    """TensorFlow drops it, too."""
    with tf.Graph().as_default(), tf.Session() as session:
        i = tf.placeholder(tf.int32, [])
        bad = tf.gather([1.0, 2.0], i)
        assert session.run([tf.group(bad), tf.zeros_like(bad)], {i: 7}) == [None, 0.0]
