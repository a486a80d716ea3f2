"""Three layers, a loss of tf.losses, Adam: the shape of many a program."""

import numpy as np

import flowc as tf


def train(steps: int = 200) -> list[float]:
    random = np.random.RandomState(14)
    x_data = random.uniform(-1, 1, [256, 3])
    y_data = np.sin(3 * x_data[:, :1]) + x_data[:, 1:2] * x_data[:, 2:]
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 1])
    start = tf.glorot_uniform_initializer(seed=53)
    hidden = tf.layers.dense(x, 32, tf.nn.relu, kernel_initializer=start)
    hidden = tf.layers.dense(hidden, 16, tf.nn.relu, kernel_initializer=start)
    found = tf.layers.dense(hidden, 1, kernel_initializer=start)
    tf.losses.mean_squared_error(y, found)
    loss = tf.losses.get_total_loss()
    step = tf.train.AdamOptimizer(0.01).minimize(loss)

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            rows = random.randint(0, 256, 32)
            feeds = {x: x_data[rows], y: y_data[rows]}
            losses.append(session.run([step, loss], feeds)[1])
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
