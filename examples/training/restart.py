"""Training that goes on from a checkpoint, as another process would: half of the steps, a saved
checkpoint, a new graph and session, and the rest."""

import os
import tempfile
from typing import Any

from data import batches, digits
from numpy.typing import NDArray

import flowc as tf


def model() -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Operation, tf.Variable]:
    x, y = tf.placeholder(tf.float32, [None, 8, 8]), tf.placeholder(tf.int32, [None])
    start = tf.glorot_uniform_initializer(seed=61)
    weights = tf.get_variable("weights", [64, 10], initializer=start)
    logits = tf.matmul(tf.reshape(x, [-1, 64]), weights)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    loss = tf.reduce_mean(entropy)
    count = tf.train.get_or_create_global_step()
    step = tf.train.AdamOptimizer(0.05).minimize(loss, global_step=count)
    return x, y, loss, step, count


def part(
    folder: str, rows_of_steps: list[NDArray[Any]], images: NDArray[Any], labels: NDArray[Any]
) -> list[float]:
    """Some steps from the last checkpoint in the folder, if there is one."""
    losses: list[float] = []
    with tf.Graph().as_default(), tf.Session() as session:
        x, y, loss, step, count = model()
        saver = tf.train.Saver()
        last = tf.train.latest_checkpoint(folder)
        if last is None:
            session.run(tf.global_variables_initializer())
        else:
            saver.restore(session, last)
        for rows in rows_of_steps:
            losses.append(session.run([step, loss], {x: images[rows], y: labels[rows]})[1])
        saver.save(session, os.path.join(folder, "model"), global_step=count)
    return losses


def train(steps: int = 100) -> list[float]:
    images, labels = digits()
    rows = list(batches(len(images), 32, steps))
    with tempfile.TemporaryDirectory() as folder:
        first = part(folder, rows[: steps // 2], images, labels)
        rest = part(folder, rows[steps // 2 :], images, labels)
        last = tf.train.latest_checkpoint(folder)
        print(f"checkpoint: {last and os.path.basename(last)}")
    return first + rest


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
