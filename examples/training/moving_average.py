"""Evaluation with moving averages of the variables, and gradients clipped by their global norm."""

import numpy as np

import flowc as tf


def train(steps: int = 200) -> list[float]:
    random = np.random.RandomState(4)
    x_data = random.randn(256, 5).astype(np.float32)
    y_data = (x_data.dot(random.randn(5)) > 0).astype(np.float32)
    x, y = tf.placeholder(tf.float32, [None, 5]), tf.placeholder(tf.float32, [None])
    weights = tf.Variable(tf.zeros([5]), name="weights")
    bias = tf.Variable(0.0, name="bias")

    def loss_of(weights: tf.Variable | None, bias: tf.Variable | None) -> tf.Tensor:
        logits = tf.reduce_sum(x * weights, 1) + bias
        found = tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits)
        return tf.reduce_mean(found)

    loss = loss_of(weights, bias)
    count = tf.train.get_or_create_global_step()
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    clipped, norm = tf.clip_by_global_norm(gradients, 0.2)
    update = optimizer.apply_gradients(zip(clipped, variables), global_step=count)
    averages = tf.train.ExponentialMovingAverage(0.9, count)
    with tf.control_dependencies([update]):
        step = averages.apply([weights, bias])
    averaged = loss_of(averages.average(weights), averages.average(bias))

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            rows = random.randint(0, 256, 32)
            session.run([step, norm], {x: x_data[rows], y: y_data[rows]})
            losses.append(session.run(averaged, {x: x_data, y: y_data}))
        print(f"variables: {sorted(averages.variables_to_restore())}")
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
