"""Gradients of one's own: binary activations that let gradients straight through, by a registered
gradient and by a custom one."""

from collections.abc import Callable

from data import batches, digits

import flowc as tf


@tf.RegisterGradient("StraightThrough")
def straight_through(op: tf.Operation, gradient: tf.Tensor) -> tf.Tensor:
    return gradient * tf.cast(tf.abs(op.inputs[0]) <= 1.0, tf.float32)


@tf.custom_gradient
def scaled(x: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    """x, whose gradient is halved."""
    return tf.identity(x), lambda gradient: 0.5 * gradient


def train(steps: int = 200) -> list[float]:
    images, labels = digits()
    x, y = tf.placeholder(tf.float32, [None, 8, 8]), tf.placeholder(tf.int32, [None])
    start = tf.glorot_uniform_initializer(seed=59)
    first = tf.get_variable("first", [64, 48], initializer=start)
    second = tf.get_variable("second", [48, 10], initializer=start)
    before = tf.matmul(tf.reshape(x, [-1, 64]), first)
    with tf.get_default_graph().gradient_override_map({"Sign": "StraightThrough"}):
        hidden = tf.sign(before)
    logits = tf.matmul(scaled(hidden), second)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    loss = tf.reduce_mean(entropy)
    step = tf.train.AdadeltaOptimizer(1.0).minimize(loss)

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for rows in batches(len(images), 32, steps):
            losses.append(session.run([step, loss], {x: images[rows], y: labels[rows]})[1])
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
