"""Pipelines of queues from end to end: faults on the way, two processes, what is left of them.

`FLOWC_SOAK=600` runs the soak for as many seconds; else it runs each fault a few times.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from training_child import model, rows

import flowc as tf
from flowc import errors

SUPPORT = Path(__file__).parents[2] / "support"
LONG = 60  # seconds until a thread counts as stuck
FAULTS = ("none", "a file that vanishes", "a consumer that dies", "interrupted", "closed")


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    with tf.Graph().as_default():
        yield
    left = [t for t in threading.enumerate() if t not in before]
    for thread in left:
        thread.join(LONG)
    assert not any(t.is_alive() for t in left)


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


class Pipeline:
    """Lines of files in shuffled batches: `files` of `lines` each, `epochs` times."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.files, self.epochs = self.random.randint(1, 4), self.random.randint(1, 3)
        self.lines = self.random.randint(1, 30)
        self.paths = [folder / f"{seed}_{k}.txt" for k in range(self.files)]
        for k, path in enumerate(self.paths):
            path.write_text("".join(f"{k} {n}\n" for n in range(self.lines)))
        names = tf.train.string_input_producer([str(p) for p in self.paths], self.epochs)
        self.reader = tf.TextLineReader()
        read = [[self.reader.read(names)[1]] for _ in range(self.random.randint(1, 3))]
        self.batch = tf.train.shuffle_batch_join(
            read, 5, 20, self.random.randrange(10), allow_smaller_final_batch=True
        )

    def run(self, fault: str) -> tuple[list[bytes], BaseException | None]:
        """What was read, and what ended it, if not the end of the input."""
        if fault == "a file that vanishes":
            self.random.choice(self.paths).unlink()
        seen: list[bytes] = []
        coordinator = tf.train.Coordinator()
        session = tf.Session()
        session.run(tf.local_variables_initializer())
        threads = tf.train.start_queue_runners(session, coordinator)
        end: BaseException | None = None
        try:
            while not coordinator.should_stop():
                seen += session.run(self.batch).tolist()
                if fault == "a consumer that dies":
                    raise RuntimeError(fault)
                if fault == "interrupted":
                    raise KeyboardInterrupt
                if fault == "closed":
                    session.close()
        except errors.OutOfRangeError:
            pass
        except (Exception, KeyboardInterrupt) as error:
            end = error
        finally:
            coordinator.request_stop()
        try:
            coordinator.join(threads, stop_grace_period_secs=LONG)
        except (errors.OpError, RuntimeError) as error:
            end = end or error
        session.close()
        assert not any(t.is_alive() for t in threads)
        return seen, end


def test_a_soak_of_pipelines_with_faults(tmp_path: Path) -> None:
    seconds = float(os.environ.get("FLOWC_SOAK", "0"))
    end, seed = time.monotonic() + seconds, 0
    files = open_files()
    while seed < 2 * len(FAULTS) or time.monotonic() < end:
        fault = FAULTS[seed % len(FAULTS)]
        with tf.Graph().as_default():
            pipeline = Pipeline(tmp_path, seed)
            seen, error = pipeline.run(fault)
        written = Counter(
            f"{k} {n}".encode() for k in range(pipeline.files) for n in range(pipeline.lines)
        )
        whole = Counter({line: pipeline.epochs for line in written})
        assert not Counter(seen) - whole, f"seed {seed}: doubled"
        if fault == "none":
            assert (Counter(seen), error) == (whole, None), f"seed {seed}"
        elif fault == "a file that vanishes":
            assert isinstance(error, errors.NotFoundError), f"seed {seed}: {error!r}"
        elif fault == "interrupted":
            assert isinstance(error, KeyboardInterrupt), f"seed {seed}: {error!r}"
        elif fault == "closed":
            assert error is None or isinstance(error, (RuntimeError, errors.OpError))
        else:
            assert str(error) == fault, f"seed {seed}: {error!r}"
        seed += 1
    assert open_files() <= files + 2


def test_closing_a_session_frees_who_waits_in_any_way(tmp_path: Path) -> None:
    full = tf.FIFOQueue(1, tf.int32, [[]])
    empty = tf.FIFOQueue(1, tf.string, [[]])
    put = full.enqueue_many([[1, 2, 3]])
    reader = tf.WholeFileReader()
    waits: list[Any] = [put, put, full.close(), empty.dequeue_up_to(3), empty.dequeue_many(2)]
    waits += [reader.read(empty), reader.read_up_to(empty, 2)]
    waits.append(tf.raw_ops.Unstage(dtypes=[tf.int32], shared_name="nothing"))
    waits.append(tf.ConditionalAccumulator(tf.float32, []).take_grad(1))
    session, found = tf.Session(), []
    waits[7][0].set_shape([])

    def run(fetch: Any) -> None:
        try:
            session.run(fetch)
        except (errors.CancelledError, RuntimeError) as error:
            found.append(error)

    threads = [threading.Thread(target=run, args=(fetch,)) for fetch in waits]
    for thread in threads:
        thread.start()
    end = time.monotonic() + LONG
    while session.run(full.size()) == 0 and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.2)
    session.close()
    for thread in threads:
        thread.join(LONG)
    assert not any(t.is_alive() for t in threads)
    assert len(found) == len(waits)


def test_a_step_runs_while_a_queue_is_filled() -> None:
    """A thread that waits for room, and the count of its epochs, keep nobody waiting."""
    total = tf.get_variable("total", initializer=tf.constant(0))
    q = tf.train.range_input_producer(4, num_epochs=50, shuffle=False, capacity=2)
    add = tf.assign_add(total, q.dequeue())
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        with pytest.raises(errors.OutOfRangeError):
            while True:
                session.run(add)
        coordinator.request_stop()
        coordinator.join(threads)
        assert session.run(total) == 50 * (0 + 1 + 2 + 3)


def test_one_process_trains_and_another_evaluates(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, str(SUPPORT / "training_child.py"), str(tmp_path), "30"]
    )
    x, y = rows(8)
    score = tf.reduce_mean(tf.square(model(x) - y))
    saver = tf.train.Saver()
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        session.run(tf.global_variables_initializer())
        before = session.run(score)
        assert child.wait(LONG * 3) == 0
        path = tf.train.latest_checkpoint(str(tmp_path))
        assert path is not None and path.endswith("model-30")
        saver.restore(session, path)
        after = [session.run(score) for _ in range(4)]
        coordinator.request_stop()
        coordinator.join(threads)
    assert before > 0.4 and max(after) < 0.05


@pytest.mark.parametrize("shapes", [[[]], None])
def test_a_queue_of_a_list(shapes: list[list[int]] | None) -> None:
    queues = [tf.FIFOQueue(3, tf.int32, shapes) for _ in range(2)]
    index = tf.placeholder(tf.int32, [])
    chosen = tf.QueueBase.from_list(index, queues)
    put, sizes = chosen.enqueue(7), [q.size() for q in queues]
    with tf.Session() as session:
        session.run(put, {index: 1})
        assert session.run(sizes) == [0, 1]
        assert session.run(chosen.dequeue(), {index: 1}) == 7


def test_an_imported_pipeline_reads_files_where_it_may(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("one\n")
    names = tf.train.string_input_producer([str(tmp_path / "lines")])
    tf.identity(tf.TextLineReader().read(names)[1], name="line")
    tf.train.export_meta_graph(str(tmp_path / "m.meta"))
    refused = tf.load_graph(tmp_path / "m.meta")
    with tf.Session(graph=refused) as session, pytest.raises(errors.PermissionDeniedError):
        session.run("line:0")
    with tf.Session(graph=tf.load_graph(tmp_path / "m.meta", allow=["files"])) as session:
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        assert session.run("line:0") == b"one"
        coordinator.request_stop()
        coordinator.join(threads)


@pytest.mark.parametrize(
    "attrs, text",
    [
        ({"component_types": [tf.int32, tf.int32], "shapes": [[]]}, "2 component types and 1"),
        ({"component_types": [tf.int32], "shapes": [[None]]}, "not fully defined"),
    ],
)
def test_a_queue_that_contradicts_itself(attrs: Any, text: str) -> None:
    handle = tf.raw_ops.FIFOQueueV2(**attrs)
    with tf.Session() as session, pytest.raises(errors.InvalidArgumentError, match=text):
        session.run(tf.raw_ops.QueueSizeV2(handle=handle))


def test_a_fixed_length_reader_reads_no_endless_nothing() -> None:
    reader = tf.FixedLengthRecordReader(0)
    with tf.Session() as session, pytest.raises(errors.InvalidArgumentError, match="record_bytes"):
        session.run(reader.num_records_produced())


def test_steps_of_one_run_wait_for_each_other() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(1, [tf.int32], [[]])
        x = tf.placeholder(tf.int32, [])
        put, taken = queue.enqueue(x), queue.dequeue()
        assert session.run([taken, put], {x: 5}) == [5, None]  # nothing is there at first
        session.run(put, {x: 6})
        assert session.run([put, taken], {x: 7}) == [None, 6]  # no room is there at first
        assert session.run([queue.size(), taken]) == [1, 7]
        wide = tf.FIFOQueue(9, [tf.int32], [[]])
        several, many = wide.dequeue_many(3), wide.enqueue_many([[1, 2, 3]])
        assert session.run([several, many])[0].tolist() == [1, 2, 3]
        with tf.control_dependencies([taken]):
            after = queue.enqueue(3)
        later = threading.Timer(0.2, session.run, [put, {x: 9}])
        later.start()
        assert session.run([after, taken]) == [None, 9]  # another run puts it in
        later.join()
        assert session.run(taken) == 3
