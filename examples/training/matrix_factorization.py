"""Ratings as products of rows of two tables: gradients stay sparse, Adagrad updates only rows."""

import numpy as np
from numpy.typing import NDArray

import flowc as tf

USERS, ITEMS, RANK = 50, 40, 6


def ratings(random: np.random.RandomState) -> NDArray[np.float32]:
    users, items = random.randn(USERS, 3), random.randn(ITEMS, 3)
    return users.dot(items.T).astype(np.float32)


def train(steps: int = 200) -> list[float]:
    random = np.random.RandomState(1)
    known = ratings(random)
    user, item = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    rating = tf.placeholder(tf.float32, [None])
    start = tf.glorot_uniform_initializer(seed=1)
    users = tf.get_variable("users", [USERS, RANK], initializer=start)
    items = tf.get_variable("items", [ITEMS, RANK], initializer=start)
    bias = tf.get_variable("bias", [USERS], initializer=tf.zeros_initializer())
    of_user, of_item = tf.nn.embedding_lookup(users, user), tf.nn.embedding_lookup(items, item)
    found = tf.reduce_sum(of_user * of_item, 1) + tf.gather(bias, user)
    loss = tf.reduce_mean(tf.square(found - rating))
    step = tf.train.AdagradOptimizer(0.3).minimize(loss)

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            u, i = random.randint(0, USERS, 64), random.randint(0, ITEMS, 64)
            feeds = {user: u, item: i, rating: known[u, i]}
            losses.append(session.run([step, loss], feeds)[1])
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
