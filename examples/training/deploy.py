"""From training to a library: a SavedModel that is written, loaded again, and compiled."""

import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
from data import batches, digits
from numpy.typing import NDArray

import flowc as tf

Deploy = Callable[[str, NDArray[Any], NDArray[Any]], None]


def train(steps: int = 100, deploy: Deploy | None = None) -> list[float]:
    """`deploy`: what is called with the folder of the SavedModel and images, before it goes."""
    images, labels = digits()
    x = tf.placeholder(tf.float32, [None, 8, 8], name="images")
    y = tf.placeholder(tf.int32, [None])
    start = tf.glorot_uniform_initializer(seed=71)
    weights = tf.get_variable("weights", [64, 10], initializer=start)
    logits = tf.matmul(tf.reshape(x, [-1, 64]), weights)
    probabilities = tf.nn.softmax(logits, name="probabilities")
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    loss = tf.reduce_mean(entropy)
    step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)

    losses: list[float] = []
    with tempfile.TemporaryDirectory() as parent:
        folder = os.path.join(parent, "model")
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for rows in batches(len(images), 32, steps):
                losses.append(session.run([step, loss], {x: images[rows], y: labels[rows]})[1])
            wanted = session.run(probabilities, {x: images[:5]})
            tf.saved_model.simple_save(
                session, folder, {"images": x}, {"probabilities": probabilities}
            )
        with tf.Session(graph=tf.Graph()) as session:
            tags = [tf.saved_model.tag_constants.SERVING]
            tf.saved_model.loader.load(session, tags, folder)
            found = session.run("probabilities:0", {"images:0": images[:5]})
        print(f"the same: {np.array_equal(found, wanted)}")
        if deploy is not None:
            deploy(folder, images[:5], wanted)
    return losses


def compiled(folder: str, images: NDArray[Any], wanted: NDArray[Any]) -> None:
    """The SavedModel as a library that needs no Python."""
    program = tf.compile(folder, out=os.path.join(folder, "model.so"))
    np.testing.assert_allclose(program(images), wanted, rtol=1e-5, atol=1e-7)
    print(f"compiled: {program}")


if __name__ == "__main__":
    print(f"loss: {train(deploy=compiled)[-1]}")
