"""What only a run can find at fault is found, and what TensorFlow takes is taken.

The values and the words are what TensorFlow 2.21 gives for the same programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.errors import InvalidArgumentError

Program = Callable[..., Any]


def _fed(program: Program, fed: list[Any]) -> Any:
    """What a program of float32 tensors of open sizes gives: its integers are computed, so that no
    Session compiles for their values."""
    arrays = [np.asarray(a, np.float32) for a in fed]
    with tf.Graph().as_default(), tf.Session() as session:
        feeds = [tf.placeholder(tf.float32, [None] * a.ndim) for a in arrays]
        return session.run(program(*feeds), dict(zip(feeds, arrays)))


def _int(x: Any) -> Any:
    return tf.cast(x, tf.int32)


RANGE = lambda a, b, d=1: tf.range(_int(a), _int(b), d)


@pytest.mark.parametrize(
    ("program", "fed", "wanted"),
    [
        (RANGE, [-3, 2], [-3, -2, -1, 0, 1]),
        (lambda a, b: RANGE(a, b, -2), [2, -3], [2, 0, -2]),
        (lambda b: tf.range(3, _int(b), 2), [8], [3, 5, 7]),
        (lambda a: tf.range(_int(a), -2, -1), [1], [1, 0, -1]),
        (lambda x: tf.range(2, tf.shape(x)[0]), [[0, 0, 0, 0]], [2, 3]),
    ],
)
def test_ends_of_ranges_may_be_negative(program: Program, fed: list[Any], wanted: Any) -> None:
    np.testing.assert_array_equal(_fed(program, fed), wanted)


@pytest.mark.parametrize(
    ("program", "fed", "message"),
    [
        (RANGE, [7, 4], "Requires start <= limit"),
        (lambda a, b: RANGE(a, b, -1), [3, 4], "start >= limit when delta < 0"),
        (lambda b: tf.range(3, _int(b), 2), [2], "n - 3 must be at least 0, found -1"),
        (lambda b: tf.range(3, _int(b)), [-2], "must not be negative, found -2"),
        (lambda x: tf.range(3, tf.shape(x)[0]), [[0, 0]], "Requires start <= limit when delta > 0"),
        (
            lambda n: tf.image.resize_bilinear(np.ones((1, 4, 4, 1)), tf.stack([_int(n), 2])),
            [0],
            "n must be at least 1, found 0",
        ),
    ],
)
def test_faults_of_a_run(program: Program, fed: list[Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        _fed(program, fed)


def test_a_range_of_a_branch_not_taken_is_not_at_fault() -> None:
    def program(x: Any) -> Any:
        n = tf.shape(x)[0]
        return tf.cond(n >= 3, lambda: tf.range(3, n), lambda: tf.range(n))

    for size, wanted in ((5, [3, 4]), (2, [0, 1]), (7, [3, 4, 5, 6]), (1, [0])):
        np.testing.assert_array_equal(_fed(program, [np.zeros(size)]), wanted)
