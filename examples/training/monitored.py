"""A MonitoredTrainingSession that stops by a hook, and logs and saves by others."""

import tempfile

from data import batches, digits

import flowc as tf


class Losses(tf.train.SessionRunHook):
    """Keeps the loss of every step."""

    def __init__(self, loss: tf.Tensor) -> None:
        self.loss = loss
        self.found: list[float] = []

    def before_run(self, run_context: tf.train.SessionRunContext) -> tf.train.SessionRunArgs:
        return tf.train.SessionRunArgs(self.loss)

    def after_run(
        self, run_context: tf.train.SessionRunContext, run_values: tf.train.SessionRunValues
    ) -> None:
        self.found.append(run_values.results)


def train(steps: int = 100) -> list[float]:
    images, labels = digits()
    x, y = tf.placeholder(tf.float32, [None, 8, 8]), tf.placeholder(tf.int32, [None])
    start = tf.glorot_uniform_initializer(seed=67)
    weights = tf.get_variable("weights", [64, 10], initializer=start)
    logits = tf.matmul(tf.reshape(x, [-1, 64]), weights)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    loss = tf.reduce_mean(entropy)
    count = tf.train.get_or_create_global_step()
    step = tf.train.AdagradOptimizer(0.2).minimize(loss, global_step=count)

    losses = Losses(loss)
    hooks = [losses, tf.train.StopAtStepHook(last_step=steps), tf.train.NanTensorHook(loss)]
    rows_of_steps = batches(len(images), 32, steps)
    with tempfile.TemporaryDirectory() as folder:
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, hooks=hooks, save_summaries_steps=None, save_summaries_secs=None
        ) as session:
            while not session.should_stop():
                rows = next(rows_of_steps)
                session.run(step, {x: images[rows], y: labels[rows]})
        print("kept: %s" % (tf.train.latest_checkpoint(folder) is not None))
    return losses.found


if __name__ == "__main__":
    print(f"loss: {train()[-1]}")
