"""A line through points, by gradient descent: the smallest training program there is."""

import numpy as np

import flowc as tf


def train(steps: int = 1000) -> list[float]:
    random = np.random.RandomState(0)
    x_data, y_data = random.random_sample(100), random.random_sample(100)

    weight = tf.Variable([0.3], tf.float32)
    bias = tf.Variable([-0.3], tf.float32)
    x = tf.placeholder(tf.float32)
    y = tf.placeholder(tf.float32)
    loss = tf.reduce_sum(tf.square(weight * x + bias - y))
    step = tf.train.GradientDescentOptimizer(0.001).minimize(loss)

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(step, {x: x_data, y: y_data})
            losses.append(session.run(loss, {x: x_data, y: y_data}))
        print("W: {} b: {}".format(*session.run([weight, bias])))
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
