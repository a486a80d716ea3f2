"""A small residual network on digits: tf.layers, and batch normalisation with its update ops."""

from typing import Any

from data import batches, digits

import flowc as tf


def convolved(x: tf.Tensor, channels: Any, name: str, training: tf.Tensor) -> tf.Tensor:
    start = tf.glorot_uniform_initializer(seed=43)
    with tf.variable_scope(name):
        x = tf.layers.conv2d(
            x, channels, 3, padding="same", use_bias=False, kernel_initializer=start
        )
        return tf.layers.batch_normalization(x, training=training, momentum=0.9)


def block(x: tf.Tensor, name: str, training: tf.Tensor) -> tf.Tensor:
    with tf.variable_scope(name):
        y = tf.nn.relu(convolved(x, x.shape[-1], "first", training))
        return tf.nn.relu(x + convolved(y, x.shape[-1], "second", training))


def train(steps: int = 60) -> list[float]:
    images, labels = digits()
    x, y = tf.placeholder(tf.float32, [None, 8, 8]), tf.placeholder(tf.int32, [None])
    training = tf.placeholder_with_default(False, [])
    features = tf.nn.relu(convolved(tf.expand_dims(x, -1), 12, "start", training))
    features = block(features, "block1", training)
    features = tf.layers.max_pooling2d(features, 2, 2)
    features = block(features, "block2", training)
    start = tf.glorot_uniform_initializer(seed=47)
    pooled = tf.reduce_mean(features, [1, 2])
    logits = tf.layers.dense(pooled, 10, kernel_initializer=start, name="logits")
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        step = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for rows in batches(len(images), 32, steps):
            feeds = {x: images[rows], y: labels[rows], training: True}
            losses.append(session.run([step, loss], feeds)[1])
        print(f"evaluated: {session.run(loss, {x: images, y: labels}):.3f}")
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
