"""Queue runners put in several elements at once: what is in the queue, and what is raised, is as
where the operation is run again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import flowc as tf
from flowc import errors

Made = Callable[[Any], list[Any]]
LINES = 150
CAPACITY = 500


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def csv(value: Any) -> list[Any]:
    return tf.decode_csv(value, [[0], [0.0], [""]])


def the_record(value: Any) -> list[Any]:
    return [value]


def a_constant_beside(value: Any) -> list[Any]:
    return [tf.decode_csv(value, [[0], [0.0], [""]])[0], tf.constant([7, 8])]


def random_numbers(value: Any) -> list[Any]:
    number = tf.decode_csv(value, [[0], [0.0], [""]])[1]
    return [number + tf.random_uniform([3], seed=5), tf.random_uniform([], seed=6)]


def after_an_assertion(value: Any) -> list[Any]:
    number = tf.decode_csv(value, [[0], [0.0], [""]])[0]
    with tf.control_dependencies([tf.Assert(number < 100, ["large:", number])]):
        return [tf.identity(number)]


def pipeline(path: Path, made: Made, epochs: int = 1) -> tuple[Any, Any, Any]:
    """The runner that fills a queue, an element of it, and how many are read."""
    tf.set_random_seed(3)
    names = tf.train.string_input_producer([str(path)], epochs, shuffle=False)
    reader = tf.TextLineReader()
    components = made(reader.read(names)[1])
    queue = tf.FIFOQueue(CAPACITY, [c.dtype for c in components], [c.shape for c in components])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(components)])
    return runner, queue.dequeue(), reader.num_records_produced()


def contents(path: Path, made: Made, in_blocks: bool, epochs: int = 1) -> tuple[list[Any], str]:
    """All elements, and the error behind them."""
    with tf.Graph().as_default():
        runner, element, _ = pipeline(path, made, epochs)
        (names,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            put = runner.enqueue_ops[0]
            step = session.repeating(put) if in_blocks else lambda: session.run(put)
            fault = ""
            coordinator = tf.train.Coordinator()
            threads = names.create_threads(session, coordinator, start=True)
            try:
                while True:
                    step()
            except errors.OpError as error:
                fault = f"{type(error).__name__} {error.op and error.op.name} {error.message}"
            session.run(runner.close_op)
            found: list[Any] = []
            with pytest.raises(errors.OutOfRangeError):
                while True:
                    found.append(session.run(element))
            coordinator.request_stop()
            coordinator.join(threads)
        return found, fault


def lines(path: Path, wrong: int = -1, wrong_text: str = "") -> Path:
    rows = [f'{k},{k / 7},"x, {k}"' for k in range(LINES)]
    if wrong >= 0:
        rows[wrong] = wrong_text
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize(
    "made", [csv, the_record, a_constant_beside, random_numbers, after_an_assertion]
)
def test_elements_and_the_end_are_the_same(tmp_path: Path, made: Made) -> None:
    path = lines(tmp_path / "rows.csv")
    found, fault = contents(path, made, in_blocks=True, epochs=2)
    wanted, wanted_fault = contents(path, made, in_blocks=False, epochs=2)
    assert fault == wanted_fault
    assert len(found) == (100 if made is after_an_assertion else 2 * LINES)
    assert list(map(str, found)) == list(map(str, wanted))


@pytest.mark.parametrize("wrong", [0, 70])
@pytest.mark.parametrize("text", ["no number,0.5,x", "1,2", '1,2,"x'])
def test_what_is_wrong_with_an_element_comes_after_those_before_it(
    tmp_path: Path, wrong: int, text: str
) -> None:
    path = lines(tmp_path / "rows.csv", wrong, text)
    found, fault = contents(path, csv, in_blocks=True)
    assert (len(found), fault) == (wrong, contents(path, csv, in_blocks=False)[1])
    assert fault.startswith("InvalidArgumentError DecodeCSV")


def test_a_damaged_record_comes_after_those_before_it(tmp_path: Path) -> None:
    path = str(tmp_path / "records")
    with tf.python_io.TFRecordWriter(path) as writer:
        for k in range(40):
            writer.write(b"%03d" % k)
    data = bytearray(Path(path).read_bytes())
    data[19 * 30 + 12] ^= 1
    Path(path).write_bytes(data)
    names = tf.train.string_input_producer([path], shuffle=False)
    record = tf.TFRecordReader().read(names)[1]
    batch = tf.train.batch([record], 30, capacity=100, allow_smaller_final_batch=True)
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        assert session.run(batch).tolist() == [b"%03d" % k for k in range(30)]
        with pytest.raises(errors.OutOfRangeError):
            session.run(batch)
        with pytest.raises(errors.DataLossError, match="corrupted record at 582"):
            coordinator.join(threads)


def test_records_that_were_not_put_in_are_read_again(tmp_path: Path) -> None:
    path = lines(tmp_path / "rows.csv", 70, "no number,0,x")
    runner, element, _ = pipeline(path, csv)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        step = session.repeating(runner.enqueue_ops[0])
        with pytest.raises(errors.InvalidArgumentError):
            while True:
                step()
        with pytest.raises(errors.OutOfRangeError):
            while True:
                step()
        session.run(runner.close_op)
        found = [int(session.run(element)[0]) for _ in range(LINES - 1)]
        assert found == [k for k in range(LINES) if k != 70]
        coordinator.request_stop()
        coordinator.join(threads)


def test_no_more_is_read_than_there_is_room_for(tmp_path: Path) -> None:
    path = lines(tmp_path / "rows.csv")
    names = tf.train.string_input_producer([str(path)], shuffle=False)
    reader = tf.TextLineReader()
    batch = tf.train.batch(csv(reader.read(names)[1]), 4, capacity=10)
    produced = reader.num_records_produced()
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        for taken in range(4, 401, 4):
            session.run(batch)
            assert session.run(produced) <= taken + 2 * 10 + 1
        coordinator.request_stop()
        coordinator.join(threads)
