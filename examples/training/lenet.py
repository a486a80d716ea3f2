"""LeNet on digits: convolutions, pooling, momentum, and summaries of weights and losses."""

import tempfile
from typing import Any

from data import batches, digits

import flowc as tf


def weights(name: str, shape: list[Any]) -> tf.Variable:
    return tf.get_variable(name, shape, initializer=tf.glorot_uniform_initializer(seed=3))


def convolved(x: tf.Tensor, name: str, size: int, channels: int) -> tf.Tensor:
    with tf.variable_scope(name):
        kernel = weights("kernel", [size, size, x.shape[-1], channels])
        bias = tf.get_variable("bias", [channels], initializer=tf.zeros_initializer())
        y = tf.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="SAME")
        y = tf.nn.relu(tf.nn.bias_add(y, bias))
        return tf.nn.max_pool(y, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")


def train(steps: int = 100) -> list[float]:
    images, labels = digits()
    x = tf.placeholder(tf.float32, [None, 8, 8])
    y = tf.placeholder(tf.int32, [None])
    features = convolved(tf.expand_dims(x, -1), "conv1", 5, 6)
    features = convolved(features, "conv2", 3, 16)
    flat = tf.reshape(features, [-1, 2 * 2 * 16])
    hidden = tf.nn.relu(tf.matmul(flat, weights("dense1", [64, 84])))
    logits = tf.matmul(hidden, weights("dense2", [84, 10]))
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    loss = tf.reduce_mean(entropy)
    step = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
    right = tf.nn.in_top_k(logits, y, 1)
    accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
    tf.summary.scalar("loss", loss)
    for variable in tf.trainable_variables():
        tf.summary.histogram(variable.op.name, variable)
    summaries = tf.summary.merge_all()

    losses: list[float] = []
    with tempfile.TemporaryDirectory() as logs, tf.Session() as session:
        writer = tf.summary.FileWriter(logs, session.graph)
        session.run(tf.global_variables_initializer())
        for number, rows in enumerate(batches(len(images), 32, steps)):
            feed = {x: images[rows], y: labels[rows]}
            _, value = session.run([step, loss], feed)
            losses.append(value)
            if number % 20 == 0:
                writer.add_summary(session.run(summaries, feed), number)
        writer.close()
        print(f"accuracy: {session.run(accuracy, {x: images, y: labels}):.3f}")
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
