"""A process that trains from a pipeline and saves, while another evaluates.

python tests/support/training_child.py FOLDER STEPS
"""

from __future__ import annotations

import sys

import numpy as np

import flowc as tf


def model(x: tf.Tensor) -> tf.Tensor:
    return x * tf.get_variable("w", [], initializer=tf.zeros_initializer())


def rows(count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Batches of x and 3 x, each x once an epoch."""
    x = np.arange(count, dtype=np.float32) / count
    pair = tf.train.slice_input_producer([x, 3 * x], shuffle=False)
    one, three = tf.train.batch(pair, 4)
    return one, three


def main(folder: str, steps: int) -> None:
    x, y = rows(16)
    loss = tf.reduce_mean(tf.square(model(x) - y))
    step = tf.train.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss, global_step=step)
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        for _ in range(steps):
            session.run(train)
        saver.save(session, f"{folder}/model", global_step=step)
        coordinator.request_stop()
        coordinator.join(threads)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
