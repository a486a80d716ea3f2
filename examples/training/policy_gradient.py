"""A policy for a corridor, improved by the gradient of the log-probability of what it did."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import flowc as tf

PLACES, LENGTH = 6, 12


def walk(
    random: np.random.RandomState, probabilities: NDArray[Any]
) -> tuple[list[int], list[int], NDArray[Any]]:
    """One walk by the policy: places, actions (0: left, 1: right), and what each step earned."""
    place = 2
    places: list[int] = []
    actions: list[int] = []
    rewards: list[float] = []
    for _ in range(LENGTH):
        action = int(random.rand() < probabilities[place, 1])
        places.append(place)
        actions.append(action)
        place = min(max(place + 2 * action - 1, 0), PLACES - 1)
        rewards.append(1.0 if place == PLACES - 1 else -0.1)
    return places, actions, np.cumsum(rewards[::-1])[::-1]


def train(steps: int = 100) -> list[float]:
    random = np.random.RandomState(5)
    place, action = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    gain = tf.placeholder(tf.float32, [None])
    table = tf.get_variable("table", [PLACES, 2], initializer=tf.zeros_initializer())
    policy = tf.nn.softmax(table)
    logits = tf.gather(table, place)
    cost = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=action, logits=logits)
    loss = tf.reduce_mean(cost * gain)
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            # Rounded, so that the last bit of a probability decides no action.
            chances: NDArray[np.float32] = session.run(policy)
            places, actions, gains = walk(random, np.round(chances, 4))
            feeds = {place: places, action: actions, gain: gains}
            losses.append(session.run([step, loss], feeds)[1])
        print(f"goes right with {np.round(session.run(policy)[:, 1], 2)}")
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
