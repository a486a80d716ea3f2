"""An encoder and a decoder with attention over what was read, which learns to sort numbers."""

import numpy as np

import flowc as tf

LENGTH, TOKENS, WIDTH = 5, 10, 24


def attended(query: tf.Tensor, memory: tf.Tensor, name: str = "attention") -> tf.Tensor:
    with tf.variable_scope(name, reuse=tf.AUTO_REUSE):
        kernel = tf.get_variable("kernel", [WIDTH, WIDTH])
    scores = tf.einsum("bw,blw->bl", tf.matmul(query, kernel), memory)
    return tf.einsum("bl,blw->bw", tf.nn.softmax(scores), memory)


def train(steps: int = 100) -> list[float]:
    random = np.random.RandomState(11)
    read = tf.placeholder(tf.int32, [None, LENGTH])
    wanted = tf.placeholder(tf.int32, [None, LENGTH])
    with tf.variable_scope("model", initializer=tf.glorot_uniform_initializer(seed=37)):
        embeddings = tf.get_variable("embeddings", [TOKENS + 1, WIDTH])
        inputs = tf.unstack(tf.nn.embedding_lookup(embeddings, read), axis=1)
        with tf.variable_scope("encoder"):
            encoder = tf.nn.rnn_cell.GRUCell(WIDTH)
            outputs, state = tf.nn.static_rnn(encoder, inputs, dtype=tf.float32)
        memory = tf.stack(outputs, axis=1)
        decoder = tf.nn.rnn_cell.GRUCell(WIDTH)
        out = tf.get_variable("out", [2 * WIDTH, TOKENS])
        # The decoder is given what it should have said (teacher forcing), after a first sign.
        said = tf.fill([tf.shape(read)[0]], TOKENS)
        logits: list[tf.Tensor] = []
        for place in range(LENGTH):
            with tf.variable_scope("decoder", reuse=place > 0):
                given = tf.nn.embedding_lookup(embeddings, said)
                state, _ = decoder(given, state)
            both = tf.concat([state, attended(state, memory)], 1)
            logits.append(tf.matmul(both, out))
            said = wanted[:, place]
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=wanted, logits=tf.stack(logits, axis=1)
    )
    loss = tf.reduce_mean(entropy)
    step = tf.train.AdamOptimizer(0.01).minimize(loss)

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            numbers = random.randint(0, TOKENS, [32, LENGTH])
            feeds = {read: numbers, wanted: np.sort(numbers, 1)}
            losses.append(session.run([step, loss], feeds)[1])
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
