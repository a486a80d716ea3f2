"""Products of a column and a row are elementwise, with the bits of products."""

from __future__ import annotations

import numpy as np

import flowc as tf


def test_products_of_a_column_and_a_row_have_no_negative_zeros() -> None:
    """A sum of -0.0 alone is 0, as in TensorFlow's products."""
    x = np.array([[-1.0], [2.0], [np.inf]], np.float32)
    y = np.array([[0.0, -0.0, 3.0, np.nan]], np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        column, row = tf.placeholder(tf.float32, x.shape), tf.placeholder(tf.float32, y.shape)
        found = session.run(tf.matmul(column, row), {column: x, row: y})
    np.testing.assert_array_equal(found[:2, :3], x[:2] * y[:, :3])
    assert np.isnan(found[:, 3]).all() and np.isnan(found[2, :2]).all() and found[2, 2] == np.inf
    assert np.signbit(found[:2, :3]).tolist() == [[False, False, True], [False, False, False]]
