"""Locks that runs share: who holds one, who waits, and what ends a hold."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import flowc as tf

r: Any = tf.raw_ops


def _section(mutex: Any, body: Any) -> Any:
    """What a body computes while it has a lock."""
    lock = r.MutexLock(mutex=mutex)
    with tf.control_dependencies([lock.op]):
        found = body()
    with tf.control_dependencies([found.op]):
        freed = r.ConsumeMutexLock(mutex_lock=lock)
    with tf.control_dependencies([freed]):
        return tf.identity(found)


def _short() -> Any:
    return tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=200))


def test_one_run_is_in_a_section_at_a_time() -> None:
    inside, most = [0], [0]

    def enter(x: Any) -> Any:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        inside[0] -= 1
        return x

    mutex = r.MutexV2(shared_name="m")
    found = _section(mutex, lambda: tf.py_func(enter, [tf.constant(1.0)], tf.float32))
    count = tf.get_variable("count", [], initializer=tf.zeros_initializer(), use_resource=True)
    with tf.control_dependencies([found]):
        more = tf.identity(count.assign_add(1.0))
    with tf.Session() as session, ThreadPoolExecutor(4) as threads:
        session.run(count.initializer)
        for future in [threads.submit(session.run, more) for _ in range(12)]:
            future.result()
        assert session.run(count) == 12 and most == [1]


def test_a_run_waits_for_a_lock_until_its_time_is_over() -> None:
    mutex = r.MutexV2(shared_name="m")
    first = r.MutexLock(mutex=mutex)
    with tf.control_dependencies([first.op]):
        second = r.MutexLock(mutex=mutex)
    both = [r.ConsumeMutexLock(mutex_lock=lock) for lock in (second, first)]
    alone = _section(mutex, lambda: tf.constant(5) + 1)
    with _short() as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(both)
        assert session.run(alone) == 6  # the end of a run lets go of its locks


def test_a_run_that_fails_lets_go_of_its_lock() -> None:
    mutex = r.MutexV2(shared_name="m")
    given = tf.placeholder_with_default(np.float32("nan"), [])
    section = _section(mutex, lambda: r.CheckNumerics(tensor=given, message="bad"))
    with _short() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
            session.run(section)
        assert session.run(section, {given: 2.0}) == 2.0


def test_what_is_no_lock() -> None:
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="mutex lock"),
    ):
        session.run(r.ConsumeMutexLock(mutex_lock=r.EmptyTensorMap()))
