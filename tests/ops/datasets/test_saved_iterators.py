"""Iterators go on from checkpoints where TensorFlow's do, and are refused where these are."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from iterator_states import rest, resumed, states

import flowc as tf
from flowc.errors import InvalidArgumentError
from flowc.ir.host_run import HostRun
from flowc.ops.datasets.dataset import ElementList, Inner, IterationContext
from flowc.ops.datasets.files import FileItems
from flowc.ops.datasets.positions import position_bytes, position_of
from flowc.ops.datasets.threads import pace
from flowc.records.byte_stream import PIECE, ByteStream

RECORDED = json.loads((Path(__file__).parents[2] / "recorded" / "iterator_states.json").read_text())
Dataset = tf.data.Dataset
make_saveable = tf.data.experimental.make_saveable_from_iterator


@pytest.mark.parametrize("name", sorted(states()))
def test_an_iterator_goes_on_where_it_was_saved(name: str, tmp_path: Path) -> None:
    found = json.loads(json.dumps(resumed(tf, name, f"{tmp_path}/")))
    assert found == RECORDED[name]


@pytest.mark.parametrize("count", [1, 9])
def test_what_threads_have_ready_is_saved(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "LONG", -1.0)  # threads from the first elements on
    monkeypatch.setattr(pace, "SAMPLE", 0)
    left, again = resumed(tf, "parallel_chain", f"{tmp_path}/", count)
    elements = [[2 * k + 1, 2 * k + 3] for k in range(0, 30, 2)]
    assert [values for _, values, _ in left] == elements[count:]
    assert again == "the same"


def test_shuffles_within_functions_and_files_of_caches_go_on(tmp_path: Path) -> None:
    def again(make: Any) -> tuple[list[Any], list[Any]]:
        with tf.Graph().as_default():
            iterator = tf.data.make_initializable_iterator(make())
            following = iterator.get_next()
            saver = tf.train.Saver([make_saveable(iterator)])
            found: list[Any] = []
            for is_first in (True, False):
                with tf.Session() as session:
                    session.run(iterator.initializer)
                    if is_first:
                        session.run(following)
                        session.run(following)
                        saver.save(session, f"{tmp_path}/s", write_meta_graph=False)
                    else:
                        saver.restore(session, f"{tmp_path}/s")
                    found.append(rest(tf, session, following))
            return found[0], found[1]

    shuffled, same = again(
        lambda: Dataset.range(3).flat_map(lambda x: Dataset.range(x, x + 4).shuffle(4, seed=5))
    )
    assert len(shuffled) == 10 and shuffled == same
    unseeded, same = again(lambda: Dataset.range(12).shuffle(12).repeat(2))
    assert len(unseeded) == 22 and unseeded == same
    # TensorFlow's does not find its own file again.
    kept, same = again(lambda: Dataset.range(4).cache(f"{tmp_path}/c").repeat(2))
    assert [values for _, values, _ in kept] == [[2], [3], [0], [1], [2], [3]]
    assert kept == same


def saved(make: Any, **settings: Any) -> tuple[Any, Any, Any]:
    iterator = tf.data.make_initializable_iterator(make)
    return iterator, iterator.get_next(), tf.train.Saver([make_saveable(iterator, **settings)])


def test_what_is_refused(tmp_path: Path) -> None:
    path = f"{tmp_path}/s"
    with tf.Graph().as_default():
        iterator, following, saver = saved(Dataset.range(5).batch(2))
        with tf.Session() as session:
            with pytest.raises(tf.errors.FailedPreconditionError, match=r"Save\(\) failed because"):
                saver.save(session, path)
            session.run(iterator.initializer)
            session.run(following)
            saver.save(session, path)
        not_begun = pytest.raises(tf.errors.FailedPreconditionError, match=r"Restore\(\) failed")
        with tf.Session() as session, not_begun:
            saver.restore(session, path)
    with tf.Graph().as_default():
        iterator, following, saver = saved(Dataset.range(5).take(3))
        with tf.Session() as session:
            session.run(iterator.initializer)
            with pytest.raises(tf.errors.InvalidArgumentError, match="another dataset"):
                saver.restore(session, path)
            assert session.run(following) == 0  # it is where it was
    with pytest.raises(ValueError, match="Supported values include 'warn', 'ignore'"):
        make_saveable(iterator, external_state_policy="no")


def test_a_function_with_a_state_of_its_own_is_saved_without_it(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        dataset = Dataset.range(9).map(lambda x: (x, tf.random_uniform([], seed=1)))
        iterator, following, saver = saved(dataset, external_state_policy="warn")
        with tf.Session() as session:
            session.run(iterator.initializer)
            first = session.run(following)[1]
            saver.save(session, f"{tmp_path}/s")
            saver.restore(session, f"{tmp_path}/s")
            assert session.run(following) == (1, first)  # as in TensorFlow: it begins anew


@pytest.mark.parametrize("kind", ["text", "records", "fixed", "packed"])
def test_a_file_is_read_from_a_mark_on(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 20_000  # of a record, each of which says its number
    path = str(tmp_path / "file")
    records = [b"%03d" % k + bytes([97 + k % 26]) * (size - 3) for k in range(100)]
    if kind == "records":
        with tf.io.TFRecordWriter(path) as writer:
            for record in records:
                writer.write(record)
    elif kind == "fixed":
        Path(path).write_bytes(b"hh" + b"".join(records) + b"f")
    else:
        text = b"\n".join(records)
        Path(path).write_bytes(gzip.compress(text, 1) if kind == "packed" else text)
    datasets = {
        "records": lambda: tf.data.TFRecordDataset(path),
        "fixed": lambda: tf.data.FixedLengthRecordDataset(path, size, 2, 1),
        "text": lambda: tf.data.TextLineDataset(path),
        "packed": lambda: tf.data.TextLineDataset(path, "GZIP"),
    }
    read: list[int] = []
    more = ByteStream.more

    def counted(stream: ByteStream) -> bytes:
        found = more(stream)
        read.append(len(found))
        return found

    monkeypatch.setattr(ByteStream, "more", counted)
    with tf.Graph().as_default():
        iterator, following, saver = saved(datasets[kind]().repeat(2))
        with tf.Session() as session:
            session.run(iterator.initializer)
            for _ in range(170):
                last = session.run(following)
            assert last == records[69]
            saver.save(session, f"{tmp_path}/s", write_meta_graph=False)
        for _ in range(2):  # what is restored is saved again
            read.clear()
            with tf.Session() as session:
                session.run(iterator.initializer)
                saver.restore(session, f"{tmp_path}/s")
                saver.save(session, f"{tmp_path}/s", write_meta_graph=False)
                assert session.run(following) == records[70]
                left = sum(read)
                assert left >= 70 * size if kind == "packed" else left <= 2 * PIECE
                found = [session.run(following) for _ in range(29)]
                assert found == records[71:]
                with pytest.raises(tf.errors.OutOfRangeError):
                    session.run(following)


@pytest.mark.parametrize("mark", [[2, 1], [-1, 1], [0, -1], [0, 1 << 63], [0, 0.5], [1], None])
def test_marks_of_strangers_are_refused(mark: Any, tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"a\nb\nc\n")
    run = HostRun()
    items = FileItems([], lambda *_: iter((b"a", b"b")), IterationContext(run))
    position = {"names": [], "name": str(path), "passed": 1, "mark": mark, "ahead": None}
    with pytest.raises(InvalidArgumentError, match="no place in a file at or before record 1"):
        items.move(position, run)


def test_positions_as_bytes() -> None:
    text = np.array(["b", "ü".encode()], object)
    text[0] = b"b"
    position = {
        "numbers": [1, -(1 << 70), 2.5, float("inf"), None, True, 3 + 4j],
        "element": (np.arange(6, dtype=np.int16).reshape(2, 3), text, np.float32(2)),
        "inner": Inner("Listed", {"_at": 3}),
        "fault": tf.errors.DataLossError(None, None, "lost"),
        (1, b"\xff"): [b"bytes", "text"],
    }
    message = position_bytes(position)
    found = position_of(message)
    assert position_bytes(found) == message
    assert found["numbers"] == position["numbers"] and found[1, b"\xff"] == [b"bytes", "text"]
    assert isinstance(found["fault"], tf.errors.DataLossError) and found["fault"].message == "lost"
    window = position_of(position_bytes(ElementList([(np.array(1),), (np.array(2),)])))
    assert [int(e[0]) for e in window.held] == [1, 2]
    draw = random.Random(4)
    for _ in range(300):
        damaged = bytearray(message)
        for _ in range(draw.randint(1, 3)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        try:
            position_of(bytes(damaged[: draw.randint(1, 2 * len(damaged))]))
        except tf.errors.InvalidArgumentError:
            continue


def test_the_hook_restores_what_training_has_seen(tmp_path: Path) -> None:
    """Three runs of training, each of which goes on in the elements and in the shuffled order."""
    config = SimpleNamespace(save_checkpoints_secs=None, save_checkpoints_steps=2)
    estimator = SimpleNamespace(model_dir=str(tmp_path), config=config)
    found: list[int] = []
    for _ in range(3):
        with tf.Graph().as_default():
            dataset = Dataset.range(6).shuffle(6, seed=3)
            following = tf.data.make_one_shot_iterator(dataset).get_next()
            step = tf.train.get_or_create_global_step()
            train = tf.assign_add(step, 1)
            hook = tf.data.experimental.CheckpointInputPipelineHook(estimator)
            with tf.train.MonitoredTrainingSession(hooks=[hook]) as session:
                found += [int(session.run([following, train])[0]) for _ in range(2)]
    assert sorted(found) == list(range(6))
    names = {path.name for path in tmp_path.iterdir()}
    assert "checkpoint_input" in names and "checkpoint" not in names
    assert {"input.ckpt-0.index", "input.ckpt-2.index"} <= names
