"""Prices from the features of houses, by the residuals' own gradient and by tf.gradients."""

import numpy as np

import flowc as tf


def train(steps: int = 200) -> list[float]:
    random = np.random.RandomState(13)
    features = random.rand(200, 4)
    prices = features.dot([3.0, -1.0, 2.0, 0.5])[:, None] + 1.0 + 0.1 * random.randn(200, 1)
    x, y = tf.placeholder(tf.float32, [None, 5]), tf.placeholder(tf.float32, [None, 1])
    weights = tf.get_variable("weights", [5, 1], initializer=tf.constant_initializer(0.1))
    difference = tf.matmul(x, weights) - y
    loss = tf.matmul(difference, difference, transpose_a=True) / 200.0
    (gradient,) = tf.gradients(loss, [weights])
    step = tf.assign_sub(weights, 0.1 * gradient)

    losses: list[float] = []
    data = np.hstack([features, np.ones([200, 1])])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(step, feed_dict={x: data, y: prices})
            losses.append(session.run(loss, feed_dict={x: data, y: prices})[0, 0])
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
