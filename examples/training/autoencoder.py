"""An autoencoder of digits with tied weights, trained by RMSProp."""

from data import batches, digits

import flowc as tf


def train(steps: int = 200) -> list[float]:
    images, _ = digits()
    x = tf.placeholder(tf.float32, [None, 8, 8])
    flat = tf.reshape(x, [-1, 64])
    start = tf.glorot_uniform_initializer(seed=5)
    weights = tf.get_variable("weights", [64, 12], initializer=start)
    down = tf.get_variable("down", [12], initializer=tf.zeros_initializer())
    up = tf.get_variable("up", [64], initializer=tf.zeros_initializer())
    code = tf.sigmoid(tf.matmul(flat, weights) + down)
    decoded = tf.sigmoid(tf.matmul(code, weights, transpose_b=True) + up)
    loss = tf.reduce_mean(tf.squared_difference(decoded, flat))
    step = tf.train.RMSPropOptimizer(0.01, momentum=0.5, centered=True).minimize(loss)

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for rows in batches(len(images), 32, steps):
            losses.append(session.run([step, loss], {x: images[rows]})[1])
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
