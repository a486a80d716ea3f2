"""Clicks from a wide part (crossed categories, Ftrl) and a deep one (embeddings, Adagrad)."""

import numpy as np

import flowc as tf

AGES, CITIES = 8, 12


def train(steps: int = 200) -> list[float]:
    random = np.random.RandomState(8)
    truth = random.randn(AGES, CITIES)
    age, city = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    clicked = tf.placeholder(tf.float32, [None])
    start = tf.glorot_uniform_initializer(seed=19)
    with tf.variable_scope("wide"):
        crossed = tf.get_variable("crossed", [AGES * CITIES], initializer=tf.zeros_initializer())
        wide = tf.gather(crossed, age * CITIES + city)
    with tf.variable_scope("deep"):
        ages = tf.get_variable("ages", [AGES, 4], initializer=start)
        cities = tf.get_variable("cities", [CITIES, 4], initializer=start)
        features = tf.concat([tf.gather(ages, age), tf.gather(cities, city)], 1)
        hidden = tf.get_variable("hidden", [8, 16], initializer=start)
        out = tf.get_variable("out", [16, 1], initializer=start)
        deep = tf.squeeze(tf.matmul(tf.nn.relu(tf.matmul(features, hidden)), out), 1)
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(labels=clicked, logits=wide + deep)
    loss = tf.reduce_mean(entropy)
    of_wide = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, "wide")
    of_deep = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, "deep")
    step = tf.group(
        tf.train.FtrlOptimizer(0.5, l1_regularization_strength=0.001).minimize(
            loss, var_list=of_wide
        ),
        tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=of_deep),
    )

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            a, c = random.randint(0, AGES, 64), random.randint(0, CITIES, 64)
            feeds = {age: a, city: c, clicked: truth[a, c] > 0}
            losses.append(session.run([step, loss], feeds)[1])
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
