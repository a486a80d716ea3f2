"""Two hidden layers on digits, Adam, and a rate that decays."""

from collections.abc import Callable

from data import batches, digits

import flowc as tf


def dense(
    x: tf.Tensor, size: int, name: str, activation: Callable[..., tf.Tensor] | None = None
) -> tf.Tensor:
    with tf.variable_scope(name):
        start = tf.glorot_uniform_initializer(seed=len(name))
        kernel = tf.get_variable("kernel", [x.shape[1], size], initializer=start)
        bias = tf.get_variable("bias", [size], initializer=tf.zeros_initializer())
        y = tf.nn.bias_add(tf.matmul(x, kernel), bias)
        return y if activation is None else activation(y)


def train(steps: int = 200) -> list[float]:
    images, labels = digits()
    x = tf.placeholder(tf.float32, [None, 8, 8])
    y = tf.placeholder(tf.int32, [None])
    hidden = dense(tf.reshape(x, [-1, 64]), 64, "first", tf.nn.relu)
    hidden = dense(hidden, 32, "second", tf.nn.tanh)
    logits = dense(hidden, 10, "logits")
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    loss = tf.reduce_mean(entropy)
    count = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.01, count, 50, 0.7, staircase=True)
    step = tf.train.AdamOptimizer(rate).minimize(loss, global_step=count)

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for rows in batches(len(images), 32, steps):
            _, value = session.run([step, loss], {x: images[rows], y: labels[rows]})
            losses.append(value)
        print("steps: {} rate: {:.5f}".format(*session.run([count, rate])))
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
