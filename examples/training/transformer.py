"""One block of a transformer that learns to reverse sequences."""

import numpy as np

import flowc as tf

LENGTH, TOKENS, WIDTH, HEADS = 6, 8, 16, 2


def projected(x: tf.Tensor, size: int, name: str) -> tf.Tensor:
    start = tf.glorot_uniform_initializer(seed=13)
    kernel = tf.get_variable(name, [x.shape[-1], size], initializer=start)
    return tf.tensordot(x, kernel, [[2], [0]])


def normalized(x: tf.Tensor, name: str) -> tf.Tensor:
    mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
    scale = tf.get_variable(name, [WIDTH], initializer=tf.ones_initializer())
    return (x - mean) * tf.rsqrt(variance + 1e-5) * scale


def heads(x: tf.Tensor) -> tf.Tensor:
    return tf.transpose(tf.reshape(x, [-1, LENGTH, HEADS, WIDTH // HEADS]), [0, 2, 1, 3])


def attention(x: tf.Tensor) -> tf.Tensor:
    query, key, value = (heads(projected(x, WIDTH, n)) for n in ("query", "key", "value"))
    weights = tf.matmul(query, key, transpose_b=True) / np.sqrt(WIDTH // HEADS)
    found = tf.matmul(tf.nn.softmax(weights), value)
    merged = tf.reshape(tf.transpose(found, [0, 2, 1, 3]), [-1, LENGTH, WIDTH])
    return projected(merged, WIDTH, "merged")


def train(steps: int = 200) -> list[float]:
    random = np.random.RandomState(6)
    tokens = tf.placeholder(tf.int32, [None, LENGTH])
    start = tf.glorot_uniform_initializer(seed=12)
    embeddings = tf.get_variable("embeddings", [TOKENS, WIDTH], initializer=start)
    places = tf.get_variable("places", [LENGTH, WIDTH], initializer=start)
    x = tf.nn.embedding_lookup(embeddings, tokens) + places
    x = x + attention(normalized(x, "before_attention"))
    hidden = tf.nn.relu(projected(normalized(x, "before_dense"), 32, "hidden"))
    x = x + projected(hidden, WIDTH, "out")
    logits = projected(x, TOKENS, "logits")
    labels = tf.reverse(tokens, [1])
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(entropy)
    step = tf.train.AdamOptimizer(0.01).minimize(loss)

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            feeds = {tokens: random.randint(0, TOKENS, [16, LENGTH])}
            losses.append(session.run([step, loss], feeds)[1])
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
