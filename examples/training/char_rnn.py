"""A language model of characters: an LSTM whose state goes from one piece of text to the next
(truncated backpropagation), with clipped gradients."""

import numpy as np

import flowc as tf

TEXT = "the quick brown fox jumps over the lazy dog and runs back to the quiet old barn. "
PIECE, BATCH, WIDTH = 10, 8, 24


def train(steps: int = 100) -> list[float]:
    characters = sorted(set(TEXT))
    codes = np.array([characters.index(c) for c in TEXT * 40], np.int32)
    rows = codes[: len(codes) // BATCH * BATCH].reshape(BATCH, -1)
    x, y = tf.placeholder(tf.int32, [BATCH, PIECE]), tf.placeholder(tf.int32, [BATCH, PIECE])
    cell = tf.nn.rnn_cell.BasicLSTMCell(WIDTH)
    state = cell.zero_state(BATCH, tf.float32)
    start = tf.glorot_uniform_initializer(seed=29)
    with tf.variable_scope("model", initializer=start):
        one_hot = tf.one_hot(x, len(characters))
        outputs, last = tf.nn.dynamic_rnn(cell, one_hot, initial_state=state)
        kernel = tf.get_variable("kernel", [WIDTH, len(characters)])
    logits = tf.matmul(tf.reshape(outputs, [-1, WIDTH]), kernel)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.reshape(y, [-1]), logits=logits
    )
    loss = tf.reduce_mean(entropy)
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 1.0)
    step = tf.train.AdamOptimizer(0.02).apply_gradients(zip(gradients, variables))

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        held = session.run(state)
        for number in range(steps):
            at = number * PIECE % (rows.shape[1] - PIECE - 1)
            feeds = {x: rows[:, at : at + PIECE], y: rows[:, at + 1 : at + PIECE + 1]}
            feeds.update(zip(state, held))
            _, value, held = session.run([step, loss, last], feeds)
            losses.append(value)
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
