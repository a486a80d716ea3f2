"""What programs that others published for TensorFlow 1 met with. The expected values are those that
TensorFlow 2.21 gives the same lines."""

from __future__ import annotations

import numpy as np
import pytest

import flowc as tf


def _types(start: int = 0) -> list[str]:
    return [op.type for op in tf.get_default_graph().get_operations()[start:]]


def test_a_size_that_is_told_is_known_however_long_the_arithmetic_behind_the_others() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, None, 16])
        for _ in range(40):
            x = tf.reshape(tf.transpose(x, [0, 2, 1]), [2, tf.shape(x)[1], 16])
        assert x.shape.as_list() == [2, None, 16]


@pytest.mark.parametrize(("axis", "count"), [(1, 31), (-2, 35), (2, 1)])
def test_softmax_over_an_axis_has_as_many_nodes_as_tensorflows(axis: int, count: int) -> None:
    """The seed of a random node follows from how many nodes are before it."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3, 4])
        y = tf.nn.softmax(x, axis=axis, name="attention")
        assert len(_types()) == 1 + count and y.op.name == "attention"
        assert y.shape.as_list() == [None, 3, 4]
        given = np.arange(24, dtype=np.float32).reshape(2, 3, 4) ** 1.5
        parts = np.exp(given - given.max(axis, keepdims=True))
        expected = parts / parts.sum(axis, keepdims=True)
        np.testing.assert_allclose(session.run(y, {x: given}), expected, rtol=1e-5)


def test_a_dropout_layer_that_drops_nothing_is_one_identity() -> None:
    with tf.Graph().as_default():
        x = tf.ones([2, 3])
        for training in (True, False, tf.placeholder(tf.bool, [])):
            before = len(_types())
            assert tf.layers.dropout(x, 0.0, training=training) is not x
            assert _types(before) == ["Identity"]
