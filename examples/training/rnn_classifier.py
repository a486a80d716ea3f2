"""Digits read row by row by a GRU; sequences have lengths of their own."""

import numpy as np
from data import batches, digits

import flowc as tf


def train(steps: int = 100) -> list[float]:
    images, labels = digits()
    random = np.random.RandomState(10)
    x, y = tf.placeholder(tf.float32, [None, 8, 8]), tf.placeholder(tf.int32, [None])
    length = tf.placeholder(tf.int32, [None])
    start = tf.glorot_uniform_initializer(seed=31)
    with tf.variable_scope("model", initializer=start):
        cell = tf.nn.rnn_cell.GRUCell(20)
        _, state = tf.nn.dynamic_rnn(cell, x, sequence_length=length, dtype=tf.float32)
        kernel = tf.get_variable("kernel", [20, 10])
    logits = tf.matmul(state, kernel)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    loss = tf.reduce_mean(entropy)
    step = tf.train.AdamOptimizer(0.02).minimize(loss)

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for rows in batches(len(images), 32, steps):
            lengths = random.randint(5, 9, len(rows))
            feeds = {x: images[rows], y: labels[rows], length: lengths}
            losses.append(session.run([step, loss], feeds)[1])
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
