"""Softmax regression on digits, with a regularised loss."""

from data import batches, digits

import flowc as tf


def train(steps: int = 200) -> list[float]:
    images, labels = digits()
    x = tf.placeholder(tf.float32, [None, 8, 8])
    y = tf.placeholder(tf.int32, [None])
    flat = tf.reshape(x, [-1, 64])
    weights = tf.get_variable("weights", [64, 10], initializer=tf.zeros_initializer())
    bias = tf.get_variable("bias", [10], initializer=tf.zeros_initializer())
    logits = tf.matmul(flat, weights) + bias
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    loss = tf.reduce_mean(entropy) + 1e-3 * tf.nn.l2_loss(weights)
    step = tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True).minimize(loss)
    right = tf.equal(tf.cast(tf.argmax(logits, 1), tf.int32), y)
    accuracy = tf.reduce_mean(tf.cast(right, tf.float32))

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for rows in batches(len(images), 32, steps):
            _, value = session.run([step, loss], {x: images[rows], y: labels[rows]})
            losses.append(value)
        print(f"accuracy: {session.run(accuracy, {x: images, y: labels}):.3f}")
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
