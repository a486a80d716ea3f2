"""A variational autoencoder of digits: the noise is drawn in the graph, from a seed."""

from data import batches, digits

import flowc as tf

SIZE, CODE = 64, 4


def dense(x: tf.Tensor, size: int, name: str) -> tf.Tensor:
    with tf.variable_scope(name):
        start = tf.glorot_uniform_initializer(seed=11)
        kernel = tf.get_variable("kernel", [x.shape[1], size], initializer=start)
        bias = tf.get_variable("bias", [size], initializer=tf.zeros_initializer())
        return tf.matmul(x, kernel) + bias


def train(steps: int = 200) -> list[float]:
    images, _ = digits()
    x = tf.placeholder(tf.float32, [32, 8, 8])
    flat = tf.reshape(x, [-1, SIZE])
    hidden = tf.nn.elu(dense(flat, 32, "encoder"))
    mean, log_variance = dense(hidden, CODE, "mean"), dense(hidden, CODE, "log_variance")
    noise = tf.random_normal([32, CODE], seed=7)
    code = mean + tf.exp(0.5 * log_variance) * noise
    logits = dense(tf.nn.elu(dense(code, 32, "decoder")), SIZE, "pixels")
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(labels=flat, logits=logits)
    divergence = -0.5 * tf.reduce_sum(
        1.0 + log_variance - tf.square(mean) - tf.exp(log_variance), axis=1
    )
    loss = tf.reduce_mean(tf.reduce_sum(entropy, axis=1) + divergence)
    step = tf.train.AdamOptimizer(0.005).minimize(loss)

    losses: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for rows in batches(len(images), 32, steps):
            losses.append(session.run([step, loss], {x: images[rows]})[1])
    return losses


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
