"""Model-agnostic meta-learning of sines: the gradient of a loss after a step of gradient descent,
so gradients of gradients."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import flowc as tf

POINTS, TASKS = 10, 4
Weights = Sequence[tf.Variable | tf.Tensor]


def predicted(x: tf.Tensor, weights: Weights) -> tf.Tensor:
    hidden = tf.nn.tanh(tf.matmul(x, weights[0]) + weights[1])
    return tf.matmul(hidden, weights[2]) + weights[3]


def loss_of(x: tf.Tensor, y: tf.Tensor, weights: Weights) -> tf.Tensor:
    return tf.reduce_mean(tf.square(predicted(x, weights) - y))


def tasks(random: np.random.RandomState) -> tuple[NDArray[Any], NDArray[Any]]:
    amplitude, phase = random.uniform(0.5, 2, TASKS), random.uniform(0, np.pi, TASKS)
    x = random.uniform(-3, 3, [TASKS, 2 * POINTS, 1])
    y = amplitude[:, None, None] * np.sin(x + phase[:, None, None])
    return x, y


def train(steps: int = 100) -> list[float]:
    random = np.random.RandomState(7)
    x = tf.placeholder(tf.float32, [TASKS, 2 * POINTS, 1])
    y = tf.placeholder(tf.float32, [TASKS, 2 * POINTS, 1])
    start = tf.glorot_uniform_initializer(seed=17)
    weights = [
        tf.get_variable("w1", [1, 20], initializer=start),
        tf.get_variable("b1", [20], initializer=tf.zeros_initializer()),
        tf.get_variable("w2", [20, 1], initializer=start),
        tf.get_variable("b2", [1], initializer=tf.zeros_initializer()),
    ]
    later: list[tf.Tensor] = []
    for task in range(TASKS):
        first = loss_of(x[task, :POINTS], y[task, :POINTS], weights)
        gradients = tf.gradients(first, weights)
        adapted = [w - 0.05 * g for w, g in zip(weights, gradients)]
        later.append(loss_of(x[task, POINTS:], y[task, POINTS:], adapted))
    loss = tf.add_n(later) / TASKS
    step = tf.train.AdamOptimizer(0.01).minimize(loss)

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            x_data, y_data = tasks(random)
            losses.append(session.run([step, loss], {x: x_data, y: y_data})[1])
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
