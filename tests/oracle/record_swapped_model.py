"""Trains the model of `examples/custom_op/swap.py` in TensorFlow, with its own look-up throughout.

    V/bin/python tests/oracle/record_swapped_model.py    # V has tensorflow-cpu 2.21.0

Out: `tests/recorded/swapped_model.json`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf

TESTS = Path(__file__).parents[1]
IDS = np.array([[1, 4], [3, 1], [0, 2]], np.int64)
TARGETS = np.array([[1.0], [0.0], [2.0]], np.float32)


def main() -> None:
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    ids = tf.placeholder(tf.int64, [None, 2], name="ids")
    table = tf.get_variable("embedding", [5, 3], initializer=tf.random_normal_initializer(seed=3))
    rows = tf.reshape(tf.gather(table, ids, axis=0), [-1, 6])
    kernel = tf.get_variable("kernel", [6, 1], initializer=tf.glorot_uniform_initializer(seed=4))
    bias = tf.get_variable("bias", [1], initializer=tf.zeros_initializer())
    y = tf.matmul(rows, kernel) + bias
    loss = tf.losses.mean_squared_error(TARGETS, y)
    step = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
    feeds = {ids: IDS}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run(step, feeds)
        first, before = session.run([loss, y], feeds)
        for _ in range(20):
            session.run(step, feeds)
        last, after = session.run([loss, y], feeds)
    found = {"before": before.tolist(), "after": after.tolist()}
    found["losses"] = [float(first), float(last)]
    text = json.dumps(found, indent=0)
    (TESTS / "recorded" / "swapped_model.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
