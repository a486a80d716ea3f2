"""Two networks against each other on points of a ring: variables by scope, two optimizers."""

from collections.abc import Callable

import numpy as np

import flowc as tf


def dense(
    x: tf.Tensor, size: int, name: str, activation: Callable[..., tf.Tensor] | None = None
) -> tf.Tensor:
    with tf.variable_scope(name):
        start = tf.glorot_uniform_initializer(seed=2)
        kernel = tf.get_variable("kernel", [x.shape[1], size], initializer=start)
        bias = tf.get_variable("bias", [size], initializer=tf.zeros_initializer())
        y = tf.matmul(x, kernel) + bias
        return y if activation is None else activation(y)


def generator(noise: tf.Tensor) -> tf.Tensor:
    with tf.variable_scope("generator"):
        return dense(dense(noise, 16, "hidden", tf.nn.relu), 2, "point")


def discriminator(point: tf.Tensor, reuse: bool | None = None) -> tf.Tensor:
    with tf.variable_scope("discriminator", reuse=reuse):
        return dense(dense(point, 16, "hidden", tf.nn.leaky_relu), 1, "logit")


def cross_entropy(logits: tf.Tensor, is_real: bool) -> tf.Tensor:
    labels = tf.ones_like(logits) if is_real else tf.zeros_like(logits)
    found = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf.reduce_mean(found)


def train(steps: int = 200) -> list[float]:
    random = np.random.RandomState(3)
    real = tf.placeholder(tf.float32, [None, 2])
    noise = tf.placeholder(tf.float32, [None, 3])
    made = generator(noise)
    of_real, of_made = discriminator(real), discriminator(made, reuse=True)
    d_loss = cross_entropy(of_real, True) + cross_entropy(of_made, False)
    g_loss = cross_entropy(of_made, True)
    d_variables = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, "discriminator")
    g_variables = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, "generator")
    d_step = tf.train.AdamOptimizer(0.01, beta1=0.5).minimize(d_loss, var_list=d_variables)
    g_step = tf.train.AdamOptimizer(0.01, beta1=0.5).minimize(g_loss, var_list=g_variables)

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            angle = random.rand(64, 1) * 2 * np.pi
            points = np.hstack([np.cos(angle), np.sin(angle)])
            feeds = {real: points, noise: random.randn(64, 3)}
            _, d_value = session.run([d_step, d_loss], feeds)
            _, g_value = session.run([g_step, g_loss], {noise: feeds[noise]})
            losses.append(d_value + g_value)
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
