"""Losses and metrics of tensors whose ranks only the run knows: what TensorFlow gives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import flowc as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as made:
        yield made


def test_a_last_size_of_one_is_no_axis() -> None:
    labels, predictions = tf.placeholder(tf.int64), tf.placeholder(tf.int64)
    update = tf.metrics.accuracy(labels, predictions)[1]
    with tf.Session() as session:
        for given in ([1, 2, 3], [[1], [2], [3]]):
            session.run(tf.local_variables_initializer())
            found = session.run(update, {labels: given, predictions: [1, 0, 3]})
            assert found == pytest.approx(2 / 3)


def test_weights_of_rows_weigh_rows_and_nothing_else() -> None:
    values, weights = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    mean = tf.metrics.mean(values, weights)[1]
    loss = tf.losses.compute_weighted_loss(values, weights)
    fed = {values: [[1.0, 2.0], [3.0, 5.0]], weights: [1.0, 2.0]}
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(mean, fed) == pytest.approx(19 / 6)
        with pytest.raises(tf.errors.InvalidArgumentError, match="weights can not be broadcast"):
            session.run(loss, fed)  # not by columns: weights have the rank of the losses
        assert session.run(loss, fed | {weights: [[1.0], [2.0]]}) == 19 / 4


def test_means_of_elements_need_a_known_shape() -> None:
    with pytest.raises(ValueError, match="partially known TensorShape"):
        tf.metrics.mean_tensor(tf.placeholder(tf.float32, [None, 4]))


def test_how_many_classes_are_given_is_optional() -> None:
    labels, best = tf.placeholder(tf.int64, [None, 1]), tf.placeholder(tf.int64, [None, 2])
    value, update = tf.metrics.precision_at_top_k(labels, best, class_id=3)
    assert value.op.name == "precision_at_k_class3"
    assert update.op.name == "precision_at_k_class3/update"
    assert tf.metrics.recall_at_top_k(labels, best)[0].op.name == "recall_at_k"
