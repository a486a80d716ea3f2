"""Programs that train behind updates which are made of what leaves a loop.

`trained(tf, loop, step)` builds one with TensorFlow's API and trains it for three steps: the losses
and what the updates kept. Without `waits` the updates run beside the step, which changes neither.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

X = np.linspace(-1, 1, 24).reshape(2, 4, 3).astype(np.float32)


def _weights(tf: Any, name: str = "w", size: int = 3) -> Any:
    start = np.linspace(-0.4, 0.5, size * size, dtype=np.float32).reshape(size, size)
    return tf.get_variable(name, initializer=start)


def _loop(tf: Any, x: Any) -> Any:
    w = _weights(tf)

    def body(i: Any, h: Any) -> Any:
        return i + 1, tf.tanh(tf.matmul(h, w))

    return tf.while_loop(lambda i, h: i < 4, body, [0, x[:, 0]])[1]


def _cond_in_loop(tf: Any, x: Any) -> Any:
    w = _weights(tf)

    def body(i: Any, h: Any) -> Any:
        taken = tf.cond(i < 2, lambda: tf.tanh(tf.matmul(h, w)), lambda: h * h + w[0])
        return i + 1, taken

    return tf.while_loop(lambda i, h: i < 4, body, [0, x[:, 0]])[1]


def _loop_in_cond(tf: Any, x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > -9.0, lambda: _loop(tf, x), lambda: x[:, 1])


def _recurrent(tf: Any, x: Any) -> Any:
    from_gates = [_weights(tf, "gates", 6), tf.get_variable("bias", initializer=np.ones(6, "f"))]
    lengths = tf.constant([4, 2])
    steps = tf.TensorArray(tf.float32, 4, clear_after_read=False).unstack(
        tf.transpose(x, [1, 0, 2])
    )

    def body(t: Any, h: Any, out: Any) -> Any:
        gates = tf.sigmoid(tf.matmul(tf.concat([steps.read(t), h], 1), from_gates[0]) + 0.1)
        r, z = tf.split(gates + from_gates[1] * 0.1, 2, axis=1)
        new = tf.where(t < lengths, z * h + (1 - z) * tf.tanh(r), h)
        return t + 1, new, out.write(t, new)

    start = [0, tf.zeros([2, 3]), tf.TensorArray(tf.float32, 4)]
    return tf.reduce_mean(tf.while_loop(lambda t, *_: t < 4, body, start)[2].stack(), 0)


def _two_loops(tf: Any, x: Any) -> Any:
    first = _loop(tf, x)

    def body(i: Any, h: Any) -> Any:
        return i + 1, tf.sin(h * 1.1 + first)

    return tf.while_loop(lambda i, h: i < 2, body, [0, first])[1]


LOOPS: dict[str, Callable[[Any, Any], Any]] = {
    "loop": _loop,
    "cond_in_loop": _cond_in_loop,
    "loop_in_cond": _loop_in_cond,
    "recurrent": _recurrent,
    "two_loops": _two_loops,
}


def _descend(tf: Any, loss: Any, update: Any) -> Any:
    with tf.control_dependencies([update]) if update is not None else nullcontext():
        return tf.train.GradientDescentOptimizer(0.1).minimize(loss)


def _adam_clipped(tf: Any, loss: Any, update: Any) -> Any:
    with tf.control_dependencies([update]) if update is not None else nullcontext():
        optimizer = tf.train.AdamOptimizer(0.05)
        gradients, variables = zip(*optimizer.compute_gradients(loss))
        clipped, _ = tf.clip_by_global_norm(list(gradients), 0.5)
        return optimizer.apply_gradients(list(zip(clipped, variables)))


def _two_optimizers(tf: Any, loss: Any, update: Any) -> Any:
    first = _descend(tf, loss, update)
    with tf.control_dependencies([first]):
        return tf.train.MomentumOptimizer(0.02, 0.5).minimize(loss * 2.0)


STEPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "descend": _descend,
    "adam_clipped": _adam_clipped,
    "two_optimizers": _two_optimizers,
}
CASES = [(loop, "descend") for loop in LOOPS] + [
    ("recurrent", "adam_clipped"),
    ("loop", "two_optimizers"),
]


def build(tf: Any, loop: str, step: str, waits: bool) -> tuple[Any, list[Any]]:
    """In the default graph: the placeholder, and what each run fetches."""
    x = tf.placeholder(tf.float32, [2, 4, 3], name="x")
    h = LOOPS[loop](tf, x)
    mean = tf.get_variable("kept", [3], initializer=tf.zeros_initializer(), trainable=False)
    update = tf.assign(mean, mean * 0.5 + tf.reduce_mean(h, 0))
    loss = tf.reduce_mean(tf.square(h - 0.3), name="loss")
    train = STEPS[step](tf, loss, update if waits else None)
    beside = [] if waits else [update]
    return x, [loss, train, *beside]


def trained(tf: Any, loop: str, step: str, waits: bool = True) -> list[Any]:
    """The losses of three steps, and what the updates kept."""
    with tf.Graph().as_default():
        x, fetches = build(tf, loop, step, waits)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found = [float(session.run(fetches, {x: X})[0]) for _ in range(3)]
            mean = next(v for v in tf.global_variables() if v.op.name == "kept")
            return [*found, *session.run(mean).tolist()]
