"""Rows for keys that nobody knows beforehand: an embedding that grows, saved by a Saver.

    python growing_table.py FOLDER

The table is a resource: a Session has one, and its kernels, which several runs may call at the same
time, take its lock.
"""

import sys
import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import flowc as tf

Keys = NDArray[np.int64]
Rows = NDArray[np.float32]
Op = Callable[..., tf.Tensor]


class GrowingTable:
    def __init__(self, dim: int) -> None:
        self.dim, self.lock = dim, threading.Lock()
        self.rows: dict[int, NDArray[np.float32]] = {}

    def pull(self, keys: Keys) -> Rows:
        """A row for each key; a key that is new gets one of zeros."""
        with self.lock:
            rows = [self.rows.setdefault(k, np.zeros(self.dim, "f")) for k in keys.ravel().tolist()]
            return np.array(rows, np.float32).reshape(*keys.shape, self.dim)

    def push(self, keys: Keys, deltas: Rows) -> None:
        with self.lock:
            for key, delta in zip(keys.ravel().tolist(), deltas.reshape(-1, self.dim)):
                self.rows[key] = self.rows[key] + delta

    def save(self) -> tuple[Keys, Rows]:
        with self.lock:
            rows = np.array(list(self.rows.values()), np.float32).reshape(-1, self.dim)
            return np.array(list(self.rows), np.int64), rows

    def restore(self, keys: Keys, rows: Rows) -> None:
        with self.lock:
            self.rows = dict(zip(keys.tolist(), rows))


def register() -> tuple[Op, Op, Op]:
    table = tf.register_resource(
        "GrowingTable",
        GrowingTable,
        attrs="dim: int",
        saves={"keys": (tf.int64, [None]), "rows": (tf.float32, [None, None])},
        save=GrowingTable.save,
        restore=GrowingTable.restore,
    )
    pull = tf.register_op(
        "PullRows",
        "table: resource, keys: int64",
        "rows: float",
        lambda c: (*c.dims(1), c.attrs["dim"]),
        attrs="dim: int",
        reference=GrowingTable.pull,
    )
    push = tf.register_op(
        "PushRows",
        "table: resource, keys: int64, deltas: float",
        "",
        lambda c: [],
        reference=GrowingTable.push,
    )
    return table, pull, push


def main(folder: str) -> Rows:
    table, pull, push = register()
    tf.reset_default_graph()
    words = table(dim=4, name="words")
    keys = tf.placeholder(tf.int64, [None], name="keys")
    rows = pull(words, keys, dim=4)
    loss = tf.reduce_sum(tf.square(rows - 1.0))
    step = push(words, keys, -0.1 * tf.gradients(loss, rows)[0])
    saver = tf.train.Saver()
    batches = [[7, 10**12], [7, -3]]
    with tf.Session() as session:
        for k in range(40):
            session.run(step, {keys: batches[k % 2]})
        before = session.run(rows, {keys: [7, 10**12, -3]})
        path = saver.save(session, f"{folder}/words")
    with tf.Session() as session:
        saver.restore(session, path)
        after = session.run(rows, {keys: [7, 10**12, -3]})
    assert np.array_equal(before, after)
    return after


if __name__ == "__main__":
    print(main(sys.argv[1]))
