"""Iterators beside training, other threads, and the end of a Session."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.ops.datasets.threads import pace

Dataset = tf.data.Dataset
LIMIT = 60  # seconds that a test waits for what should come at once


def wait_for(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.01)


def workers() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("flowc-")]


@pytest.fixture(autouse=True)
def always_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads for whatever may have some."""
    monkeypatch.setattr(pace, "LONG", -1.0)


def pipeline(slow: Callable[[Any], Any]) -> Any:
    def body(x: Any) -> Any:
        return tf.py_func(slow, [x], tf.int64)

    return Dataset.range(1000).map(body, num_parallel_calls=3).prefetch(2)


def test_threads_keep_the_order_and_end_with_the_session() -> None:
    with tf.Graph().as_default():
        iterator = tf.data.make_initializable_iterator(pipeline(lambda x: x * 2))
        following = iterator.get_next()
        with tf.Session() as session:
            session.run(iterator.initializer)
            assert [session.run(following) for _ in range(50)] == list(range(0, 100, 2))
            assert workers()
            session.run(iterator.initializer)  # which ends the threads of the first time
            assert [session.run(following) for _ in range(5)] == list(range(0, 10, 2))
        assert not workers()


def test_threads_end_with_the_elements() -> None:
    with tf.Graph().as_default():
        following = pipeline(lambda x: x).take(7).make_one_shot_iterator().get_next()
        with tf.Session() as session:
            assert [session.run(following) for _ in range(7)] == list(range(7))
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(following)


def test_a_fault_stands_where_its_element_would() -> None:
    with tf.Graph().as_default():
        dataset = Dataset.range(6).map(lambda x: 6 // (x - 2), num_parallel_calls=2).prefetch(2)
        following = dataset.make_one_shot_iterator().get_next()
        found: list[Any] = []
        with tf.Session() as session:
            for _ in range(6):
                try:
                    found.append(int(session.run(following)))
                except tf.errors.InvalidArgumentError:
                    found.append("fault")
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(following)
        assert found == [-3, -6, "fault", 6, 3, 2]


def test_closing_a_session_ends_a_run_that_waits() -> None:
    release = threading.Event()

    def slow(x: Any) -> Any:
        if x > 2:
            release.wait(LIMIT)
        return x

    with tf.Graph().as_default():
        following = pipeline(slow).make_one_shot_iterator().get_next()
        session = tf.Session()
        assert [session.run(following) for _ in range(3)] == [0, 1, 2]
        faults: list[Exception] = []

        def ask() -> None:
            try:
                session.run(following)
            except Exception as error:
                faults.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        time.sleep(0.05)
        closing = threading.Thread(target=session.close)
        closing.start()
        asking.join(LIMIT)
        release.set()
        closing.join(LIMIT)
        assert not asking.is_alive() and not closing.is_alive()
        assert [type(e) for e in faults] in ([tf.errors.CancelledError], [RuntimeError], [])
        wait_for(lambda: not workers())


def test_a_run_that_takes_too_long_ends() -> None:
    release = threading.Event()

    def slow(x: Any) -> Any:
        if x > 2:
            release.wait(LIMIT)
        return x

    with tf.Graph().as_default():
        following = pipeline(slow).make_one_shot_iterator().get_next()
        with tf.Session() as session:
            assert [session.run(following) for _ in range(3)] == [0, 1, 2]
            options = tf.RunOptions(timeout_in_ms=50)
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(following, options=options)
            release.set()
            assert session.run(following) == 3


def test_others_assign_variables_while_a_step_waits_for_an_element() -> None:
    begun, release = threading.Event(), threading.Event()

    def slow(x: Any) -> Any:
        begun.set()
        release.wait(LIMIT)
        return x

    with tf.Graph().as_default():
        total = tf.Variable(tf.constant(0, tf.int64))
        element = Dataset.range(3).map(lambda x: tf.py_func(slow, [x], tf.int64))
        value = element.make_one_shot_iterator().get_next()
        value.set_shape([])
        step, other = total.assign_add(value + 1), total.assign_add(100)
        with tf.Session() as session:
            session.run(total.initializer)
            training = threading.Thread(target=session.run, args=(step,))
            training.start()
            assert begun.wait(LIMIT)
            assert session.run(other) == 100
            release.set()
            training.join(LIMIT)
            assert session.run(total) == 101


def test_what_is_given_may_be_changed() -> None:
    rows = np.arange(6.0).reshape(3, 2)
    for dataset in (
        lambda: Dataset.from_tensor_slices(rows).repeat(),
        lambda: Dataset.from_tensors(rows).repeat(),
        lambda: Dataset.from_tensor_slices(rows).map(lambda x: x).cache().repeat(),
    ):
        with tf.Graph().as_default(), tf.Session() as session:
            following = dataset().make_one_shot_iterator().get_next()
            first = session.run(following)
            expected = first.copy()
            first[...] = -1
            for _ in range(2):
                session.run(following)
            again = session.run(following)
            np.testing.assert_array_equal(again, expected)


def test_a_generator_is_closed_when_it_is_given_up() -> None:
    closed: list[bool] = []

    def numbers() -> Any:
        try:
            yield from range(10)
        finally:
            closed.append(True)

    with tf.Graph().as_default():
        dataset = Dataset.from_generator(numbers, tf.int64, [])
        iterator = tf.data.make_initializable_iterator(dataset)
        following = iterator.get_next()
        with tf.Session() as session:
            session.run(iterator.initializer)
            assert session.run(following) == 0
            session.run(iterator.initializer)
            assert closed == [True]
            assert session.run(following) == 0


def test_a_text_that_is_no_handle_is_told() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        handle = tf.placeholder(tf.string, [])
        following = tf.data.Iterator.from_string_handle(handle, tf.int64).get_next()
        with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse string_handle"):
            session.run(following, {handle: "none"})


def test_functions_compile_once(tmp_path: Path) -> None:
    """A call of a function that was called before with such arrays compiles nothing."""
    from flowc.run.programs import ProgramCache

    made: list[int] = []
    whole = ProgramCache._compile

    def counted(self: Any, *args: Any) -> Any:
        made.append(1)
        return whole(self, *args)

    with tf.Graph().as_default(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProgramCache, "_compile", counted)
        dataset = Dataset.range(100).map(lambda x: x * 3 + 1).batch(5)
        iterator = tf.data.make_initializable_iterator(dataset)
        following = iterator.get_next()
        with tf.Session() as session:
            for _ in range(2):
                session.run(iterator.initializer)
                found = [session.run(following) for _ in range(20)]
                assert found[-1].tolist() == [286, 289, 292, 295, 298]
        assert len(made) == 1


def test_a_run_ends_in_time_in_the_loop_of_a_function() -> None:
    with tf.Graph().as_default(), tf.Session() as session:

        def count(step: tf.Tensor) -> tf.Tensor:
            zero = tf.constant(0, tf.int64)
            return tf.while_loop(lambda i: i < 1000, lambda i: (i + step,), [zero])

        steps = tf.constant([1, 0, 0], tf.int64)
        data = tf.data.Dataset.from_tensor_slices(steps).map(count)
        taken = tf.data.make_one_shot_iterator(data).get_next()
        assert session.run(taken) == 1000
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(taken, options=tf.RunOptions(timeout_in_ms=50))
