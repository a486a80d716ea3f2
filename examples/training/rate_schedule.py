"""A rate by steps that are counted: warm-up by a conditional, then constants piece by piece."""

import numpy as np

import flowc as tf


def train(steps: int = 200) -> list[float]:
    random = np.random.RandomState(15)
    matrix = random.randn(20, 6)
    vector = matrix.dot(random.randn(6)) + 0.1 * random.randn(20)
    a = tf.constant(matrix, tf.float32)
    b = tf.constant(vector, tf.float32)
    x = tf.get_variable("x", [6], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.linalg.matvec(a, x) - b)) + 0.01 * tf.norm(x, 1)
    count = tf.train.create_global_step()
    pieces = tf.train.piecewise_constant(count, [60, 120], [0.1, 0.03, 0.01])
    warm = 0.01 * tf.cast(count + 1, tf.float32)
    rate = tf.cond(count < 10, lambda: warm, lambda: pieces)
    step = tf.train.ProximalGradientDescentOptimizer(rate).minimize(loss, count)

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            losses.append(session.run([step, loss])[1])
        print(f"rate: {session.run(rate):.3f}")
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
