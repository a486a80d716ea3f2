"""Loops and conditionals of TensorFlow 1's nodes, which a MetaGraph carries from one program to
another; and a recurrent network in training, which another program goes on with.

In: the module that takes flowc's place. Out: graphs with a placeholder `x` and a result `y`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

VECTOR = np.linspace(0.5, 1.4, 4, dtype=np.float32)
STEPS = 6  # of training, as many before the graph is saved as behind


def simple(tf: Any, x: Any) -> Any:
    x = x[0]
    return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x])[1]


def limited(tf: Any, x: Any) -> Any:
    def body(i: Any, y: Any) -> Any:
        return i + 1, y * x + tf.sin(y)

    options = {"parallel_iterations": 3, "swap_memory": True, "name": "few"}
    return tf.while_loop(lambda i, y: i < 9, body, (0, x), maximum_iterations=4, **options)[1]


def branches(tf: Any, x: Any) -> Any:
    taken = tf.cond(x[0] > 0, lambda: x * x, lambda: x)
    return taken + tf.cond(x[0] < 0, lambda: x * 2.0, lambda: tf.exp(x), name="other")


def cases(tf: Any, x: Any) -> Any:
    x = x[0]
    return tf.case([(x > 2, lambda: x * 2), (x > 0, lambda: x * x * 3)], default=lambda: x)


def updates(tf: Any, x: Any) -> Any:
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
    done = tf.cond(x[0] > 0, lambda: tf.group(v.assign(x[1])), lambda: tf.no_op())
    with tf.control_dependencies([done]):
        return x * tf.identity(v)


def nested(tf: Any, x: Any) -> Any:
    x = x[0]

    def body(i: Any, y: Any) -> Any:
        z = tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * x), [0, y], name="inner")[1]
        return i + 1, tf.cond(z > 0, lambda: z + 1, lambda: z * x, name="chosen")

    return tf.while_loop(lambda i, y: i < 3, body, [0, x], name="loop")[1]


def in_branches(tf: Any, x: Any) -> Any:
    x = x[0]
    yes = tf.constant(True)

    def counted() -> Any:
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x])[1]

    def other() -> Any:
        return tf.cond(yes, lambda: x * x * 3, lambda: x)

    return tf.cond(x > 0, counted, other) + tf.cond(x > 0, other, counted)


def waiting(tf: Any, x: Any) -> Any:
    nothing, one = tf.no_op(), tf.constant(1.0)

    def body(i: Any, y: Any) -> Any:
        with tf.control_dependencies([one, nothing]):
            return i + 1, tf.cond(y > 2, lambda: tf.constant(2.0) + x[0], lambda: one * y)

    return tf.while_loop(lambda i, y: i < 3, body, [0, x[1]])[1]


def arrays(tf: Any, x: Any) -> Any:
    given = tf.TensorArray(tf.float32, 4, clear_after_read=False).unstack(x)
    made = tf.TensorArray(tf.float32, 4)

    def body(i: Any, made: Any, total: Any) -> Any:
        return i + 1, made.write(i, given.read(i) * total), total + given.read(i)

    return tf.while_loop(lambda i, *_: i < 4, body, [0, made, 1.0])[1].stack() * x


def mapped(tf: Any, x: Any) -> Any:
    return tf.map_fn(lambda t: t * t * x[0], x) + tf.scan(lambda a, b: a * b, x)


def gathered(tf: Any, x: Any) -> Any:
    rows = tf.reshape(x, [2, 2]) * 1.0

    def body(i: Any, y: Any) -> Any:
        return i + 1, y + x[0] * tf.reduce_sum(tf.gather(rows, i % 2))

    return tf.while_loop(lambda i, y: i < 3, body, [0, x[1]])[1]


def of_unknown_size(tf: Any, x: Any) -> Any:
    x = tf.boolean_mask(x, x > 0)

    def body(i: Any, y: Any) -> Any:
        return i + 1, tf.cond(tf.reduce_sum(y) > 1, lambda: y * x, lambda: y + x)

    return tf.while_loop(lambda i, y: i < 3, body, [0, x])[1]


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    f.__name__: f
    for f in (
        simple, limited, branches, cases, updates, nested, in_branches, waiting, arrays, mapped,
        gathered, of_unknown_size,
    )
}  # fmt: skip


def built(tf: Any, name: str) -> Any:
    """Adds a program, with the gradient of its result, to the default graph."""
    x = tf.placeholder(tf.float32, [4], name="x")
    y = tf.identity(PROGRAMS[name](tf, x), name="y")
    return tf.gradients(y, x)[0]


def gradient_in_graph(tf: Any, prefix: str = "") -> list[Any]:
    """The result of a program in the default graph, and a new gradient of it, as they are run."""
    graph = tf.get_default_graph()
    x, y = (graph.get_tensor_by_name(f"{prefix}{name}:0") for name in "xy")
    gradient = tf.gradients(y, x)[0]
    with tf.Session(graph=graph) as session:
        session.run(tf.global_variables_initializer())
        return session.run([y, gradient], {x: VECTOR})


# -- a network in training


def network(tf: Any) -> None:
    """A `dynamic_rnn` that is trained with slots; `loss` and `train` name what is run."""
    x = tf.placeholder(tf.float32, [3, 4, 2], name="x")
    start = tf.constant_initializer(0.1)
    cell = tf.nn.rnn_cell.BasicRNNCell(3)
    with tf.variable_scope("network", initializer=start):
        outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
        weights = tf.get_variable("weights", [3, 1])
    errors = tf.tensordot(outputs, weights, 1) - tf.reduce_sum(x, 2, keepdims=True)
    loss = tf.reduce_mean(tf.square(errors), name="loss")
    tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss, name="train")


def batch(step: int) -> np.ndarray:
    return np.sin(np.arange(24.0) + step).reshape(3, 4, 2).astype(np.float32)


def trained(session: Any, first: int, train: str = "train") -> list[float]:
    """The losses of steps from `first` on."""
    losses = []
    for step in range(first, first + STEPS):
        loss, _ = session.run(["loss:0", train], {"x:0": batch(step)})
        losses.append(float(loss))
    return losses


def begun(tf: Any, prefix: str) -> list[float]:
    """Trains the network, saves it, and trains on: the losses behind the save."""
    with tf.Graph().as_default():
        network(tf)
        saver = tf.train.Saver()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            trained(session, 0)
            saver.save(session, prefix)
            return trained(session, STEPS)


def resumed(tf: Any, prefix: str) -> list[list[float]]:
    """The losses of the network that was saved: of training that goes on, then of training by
    gradients that are made anew."""
    with tf.Graph().as_default() as graph:
        saver = tf.train.import_meta_graph(prefix + ".meta")
        loss = graph.get_tensor_by_name("loss:0")
        tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="plain")
        with tf.Session() as session:
            saver.restore(session, prefix)
            going_on = trained(session, STEPS)
            saver.restore(session, prefix)
            return [going_on, trained(session, STEPS, "plain")]
