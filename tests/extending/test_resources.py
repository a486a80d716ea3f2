"""Resources of registered ops: one object a Session, threads, and what a Saver does with it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf

THREADS, RUNS = 16, 10


class Rows:
    """A table of rows that grows as it is asked."""

    made = 0

    def __init__(self, dim: int) -> None:
        self.dim, self.closed = dim, False
        self.rows: dict[int, np.ndarray] = {}
        self.lock = threading.Lock()
        Rows.made += 1

    def close(self) -> None:
        self.closed = True

    def pull(self, ids: np.ndarray) -> np.ndarray:
        with self.lock:
            zeros = np.zeros(self.dim, np.float32)
            found = [self.rows.setdefault(i, zeros) for i in ids.reshape(-1).tolist()]
            return np.array(found, np.float32).reshape(*ids.shape, self.dim)

    def push(self, ids: np.ndarray, deltas: np.ndarray) -> None:
        with self.lock:
            for i, delta in zip(ids.tolist(), deltas):
                self.rows[i] = self.rows.get(i, 0) + delta

    def saved(self) -> tuple[np.ndarray, np.ndarray]:
        with self.lock:
            rows = np.array([*self.rows.values()], np.float32).reshape(-1, self.dim)
            return np.array([*self.rows], np.int64), rows

    def restored(self, ids: np.ndarray, rows: np.ndarray) -> None:
        with self.lock:
            self.rows = dict(zip(ids.tolist(), rows))


@pytest.fixture
def ops() -> Any:
    """The functions of the resource, of the op that pulls and of the one that pushes."""
    tf.reset_default_graph()
    Rows.made = 0
    return (
        tf.register_resource(
            "GrowingRows",
            Rows,
            attrs="dim: int",
            saves={"ids": (tf.int64, [None]), "rows": (tf.float32, [None, None])},
            save=Rows.saved,
            restore=Rows.restored,
        ),
        tf.register_op(
            "PullRows",
            "table: resource, ids: int64",
            "rows: float",
            lambda c: (*c.dims(1), c.attrs["dim"]),
            attrs="dim: int",
            reference=Rows.pull,
        ),
        tf.register_op(
            "PushRows",
            "table: resource, ids: int64, deltas: float",
            "",
            lambda c: [],
            reference=Rows.push,
        ),
    )


def test_a_session_has_one_object_which_sixteen_threads_change_and_a_saver_keeps(
    ops: Any, tmp_path: Path
) -> None:
    handle, pull, push = ops
    table = handle(dim=2, name="words")
    ids = tf.placeholder(tf.int64, [None])
    rows = pull(table, ids, dim=2)
    step = push(table, ids, tf.ones_like(rows))
    saver = tf.train.Saver()
    faults: list[BaseException] = []

    def work(session: tf.Session, number: int) -> None:
        try:
            for _ in range(RUNS):
                session.run(step, {ids: [7, 100 + number]})
        except BaseException as error:
            faults.append(error)

    with tf.Session() as session:
        threads = [threading.Thread(target=work, args=(session, k)) for k in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not faults and Rows.made == 1
        found = session.run(rows, {ids: [7, 100, 115, 5]})
        assert found[:, 0].tolist() == [THREADS * RUNS, RUNS, RUNS, 0]
        path = saver.save(session, str(tmp_path / "model"))
    assert dict(tf.train.list_variables(path)) == {"words-ids": [18], "words-rows": [18, 2]}
    with tf.Session() as session:
        assert session.run(rows, {ids: [7]}).tolist() == [[0.0, 0.0]]
        saver.restore(session, path)
        assert session.run(rows, {ids: [7, 115]})[:, 1].tolist() == [THREADS * RUNS, RUNS]
    assert Rows.made == 2


def test_handles_of_one_shared_name_mean_one_object(ops: Any) -> None:
    handle, pull, push = ops
    one, two = (handle(dim=1, shared_name="both", name=n) for n in ("one", "two"))
    other = handle(dim=1, name="other")
    with tf.Session() as session:
        session.run(push(one, [3], [[4.0]]))
        assert session.run(pull(two, [3], dim=1)).tolist() == [[4.0]]
        assert session.run(pull(other, [3], dim=1)).tolist() == [[0.0]]


def test_an_op_trains_rows_through_its_gradient(ops: Any) -> None:
    handle, pull, push = ops
    table = handle(dim=2)
    rows = pull(table, tf.constant([1, 2, 1], tf.int64), dim=2)
    loss = tf.reduce_sum(tf.square(rows - 1.0))
    step = push(table, tf.constant([1, 2, 1], tf.int64), -0.1 * tf.gradients(loss, rows)[0])
    with tf.Session() as session:
        before = session.run(loss)
        for _ in range(10):
            session.run(step)
        assert session.run(loss) < before / 10


def test_what_is_no_handle_is_refused(ops: Any) -> None:
    _, pull, _ = ops
    table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, 0.0)
    words = "no handle of a registered resource"
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=words):
        session.run(pull(table.resource_handle, [1], dim=1))
    with pytest.raises(ValueError, match="its kernels are functions of Python"):
        tf.register_op(
            "Bad", "table: resource", "y: float", lambda c: (), lowering=tf.extending.View
        )
    with pytest.raises(TypeError, match="belong together"):
        tf.register_resource("Half", Rows, save=Rows.saved)
