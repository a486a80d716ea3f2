"""Word vectors by skip-grams and noise-contrastive estimation. The program draws the noise itself,
so that it is the same everywhere (`tf.nn.log_uniform_candidate_sampler` draws it in the graph)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import flowc as tf

WORDS, WIDTH, NOISE = 60, 12, 8


def text(random: np.random.RandomState) -> NDArray[Any]:
    """A text in which a word is mostly followed by one near to it."""
    steps = random.choice([-1, 1, 2, 7], 3000, p=[0.3, 0.4, 0.2, 0.1])
    return np.cumsum(steps) % WORDS


def chances(words: NDArray[Any]) -> NDArray[Any]:
    """How probable words are as noise, in a language whose rare words have high numbers."""
    return np.log((words + 2.0) / (words + 1.0)) / np.log(WORDS + 1.0)


def train(steps: int = 200) -> list[float]:
    random = np.random.RandomState(9)
    words = text(random)
    centre, context = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int64, [None, 1])
    start = tf.glorot_uniform_initializer(seed=23)
    vectors = tf.get_variable("vectors", [WORDS, WIDTH], initializer=start)
    weights = tf.get_variable("nce_weights", [WORDS, WIDTH], initializer=start)
    biases = tf.get_variable("nce_biases", [WORDS], initializer=tf.zeros_initializer())
    found = tf.nn.embedding_lookup(vectors, centre)
    noise = tf.placeholder(tf.int64, [NOISE])
    of_context, of_noise = (
        tf.placeholder(tf.float32, [None, 1]),
        tf.placeholder(tf.float32, [NOISE]),
    )
    costs = tf.nn.nce_loss(
        weights,
        biases,
        context,
        found,
        NOISE,
        WORDS,
        sampled_values=(noise, of_context, of_noise),
    )
    loss = tf.reduce_mean(costs)
    step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            places = random.randint(1, len(words) - 1, 64)
            near = words[places + random.choice([-1, 1], 64)]
            drawn = random.choice(WORDS, NOISE, p=chances(np.arange(WORDS)))
            feeds = {centre: words[places], context: near[:, None], noise: drawn}
            feeds[of_context] = NOISE * chances(near)[:, None]
            feeds[of_noise] = NOISE * chances(drawn)
            losses.append(session.run([step, loss], feeds)[1])
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
