"""Tags of a sequence by a chain of conditional random fields: the sum over all paths is computed
by a while loop, through which gradients flow."""

import numpy as np

import flowc as tf

LENGTH, TAGS, WORDS = 8, 4, 15


def log_partition(scores: tf.Tensor, transitions: tf.Variable) -> tf.Tensor:
    """The logarithm of the sum over all paths of scores f32[batch, LENGTH, TAGS]."""

    def step(place: tf.Tensor, forward: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        paths = forward[:, :, None] + transitions
        return place + 1, tf.reduce_logsumexp(paths, axis=1) + scores[:, place]

    def has_more(place: tf.Tensor, forward: tf.Tensor) -> tf.Tensor:
        return place < LENGTH

    first = tf.constant(1), scores[:, 0]
    _, last = tf.while_loop(has_more, step, first)
    return tf.reduce_logsumexp(last, axis=1)


def path_score(scores: tf.Tensor, transitions: tf.Variable, tags: tf.Tensor) -> tf.Tensor:
    of_tags = tf.reduce_sum(scores * tf.one_hot(tags, TAGS), [1, 2])
    pairs = tf.stack([tags[:, :-1], tags[:, 1:]], axis=-1)
    return of_tags + tf.reduce_sum(tf.gather_nd(transitions, pairs), 1)


def train(steps: int = 100) -> list[float]:
    random = np.random.RandomState(12)
    of_word = random.randint(0, TAGS, WORDS)
    words, tags = (tf.placeholder(tf.int32, [None, LENGTH]) for _ in range(2))
    start = tf.glorot_uniform_initializer(seed=41)
    table = tf.get_variable("table", [WORDS, TAGS], initializer=start)
    transitions = tf.get_variable("transitions", [TAGS, TAGS], initializer=start)
    scores = tf.gather(table, words)
    likelihood = path_score(scores, transitions, tags) - log_partition(scores, transitions)
    loss = -tf.reduce_mean(likelihood)
    step = tf.train.GradientDescentOptimizer(0.3).minimize(loss)

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            seen = random.randint(0, WORDS, [16, LENGTH])
            true = (of_word[seen] + np.arange(LENGTH) // 4) % TAGS
            losses.append(session.run([step, loss], {words: seen, tags: true})[1])
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
