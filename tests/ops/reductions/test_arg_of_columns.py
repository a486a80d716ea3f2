"""The largest element along an axis that is not the last one, many columns at a time."""

from __future__ import annotations

import numpy as np
import pytest

import flowc as tf


@pytest.mark.parametrize(
    "shape", [(3, 7, 16), (2, 100, 5, 31), (1, 1, 200), (4, 9, 129), (2, 5, 7)]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64, np.float16])
def test_largest_and_smallest_of_columns(shape: tuple[int, ...], dtype: type) -> None:
    """The first of equals; whatever thread has them."""
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(dtype)
    for threads in (1, 2):
        with tf.Graph().as_default():
            given = tf.placeholder(tf.as_dtype(dtype), shape)
            wanted = [tf.argmax(given, 1), tf.argmin(given, 1, output_type=tf.int32)]
            config = tf.ConfigProto(intra_op_parallelism_threads=threads)
            with tf.Session(config=config) as session:
                largest, smallest = session.run(wanted, {given: x})
        np.testing.assert_array_equal(largest, x.argmax(1))
        np.testing.assert_array_equal(smallest, x.argmin(1))


def test_nan_is_never_chosen_over_a_number() -> None:
    x = np.zeros((1, 4, 20), np.float32)
    x[0, :, 0] = np.nan, 1, 2, 2
    x[0, :, 1] = np.nan
    x[0, :, 2] = -np.inf
    x[0, :, 3] = -5, np.nan, -4, -6
    x[0, :, 4] = -np.inf, -np.inf, -3, np.nan
    x[0, :, 5] = -0.0, 0.0, -0.0, 0.0
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(tf.argmax(tf.constant(x), 1))
        fed = tf.placeholder(tf.float32, x.shape)
        computed = session.run(tf.argmax(fed, 1), {fed: x})
    assert found[0, :6].tolist() == computed[0, :6].tolist() == [2, 0, 0, 2, 2, 0]
