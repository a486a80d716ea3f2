"""Runs that a signal or the time ends: what a handler raises comes out, and the Session goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import interrupt_child
import numpy as np
import pytest

import flowc as tf
from flowc import errors

LIMIT = 120  # seconds; only for a run that nothing ends


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def test_interrupted() -> None:
    command = [sys.executable, interrupt_child.__file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        stop = threading.Timer(LIMIT, child.kill)
        stop.start()
        assert child.stdout is not None
        found = []
        for line in child.stdout:
            if line == "ready\n":
                child.send_signal(signal.SIGINT)
            else:
                found.append(json.loads(line))
        stop.cancel()
    # Two runs that ended well assigned the variable; the one between them left no trace.
    after = [0, [3.0, 4.0], 1]
    expected = [[kind, "KeyboardInterrupt", *after] for kind in interrupt_child.LOOPS]
    assert found == [*expected, ["vector_loop", "Alarm", *after]]


def test_long_runs_in_other_threads() -> None:
    """They ask too, and have no signals to handle."""
    limit = tf.placeholder(tf.int32, [])
    found = tf.while_loop(lambda i: i < limit, lambda i: i + 1, [tf.constant(0)])
    session, results = tf.Session(), []
    work = threading.Thread(target=lambda: results.append(session.run(found, {limit: 40_000_000})))
    work.start()
    work.join()
    assert results == [40_000_000]


@pytest.mark.parametrize("kind", ["endless_inner_loop", "vector_loop", "python_loop"])
def test_a_run_may_not_take_longer_than_its_options_say(kind: str) -> None:
    def python_loop(limit: Any) -> Any:
        def body(i: Any) -> Any:
            found = tf.py_func(lambda i: np.int32(0), [i], tf.int32)
            found.set_shape([])
            return found

        return tf.while_loop(lambda i: i < limit, body, [tf.constant(0)])

    limit = tf.placeholder(tf.int32, [])
    v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]))
    with tf.control_dependencies([tf.assign_add(v, [1.0, 1.0])]):
        build = interrupt_child.LOOPS.get(kind, python_loop)
        found = build(tf.identity(limit))
    soon, late = (tf.RunOptions(timeout_in_ms=ms) for ms in (30, 1_000_000))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer(), options=late)
        assert session.run(found, {limit: 0}, late) == 0
        for _ in range(2):
            with pytest.raises(
                errors.DeadlineExceededError, match=r"Timed out .* of more than 30 ms"
            ):
                session.run(found, {limit: 1}, soon)
            assert session.run(found, {limit: 0}) == 0
        assert session.run(v).tolist() == [4, 5]
