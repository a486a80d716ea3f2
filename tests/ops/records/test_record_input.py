"""RecordInput: each epoch gives every record of the files once, whatever is kept and in how many
shards they are read; what is wrong with a file is wrong with every run that follows.

What TensorFlow 2.21 gives was looked at for each call: sets of records a turn, and errors.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import flowc as tf
from flowc.errors import (
    CancelledError,
    DataLossError,
    FlowcError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)
from flowc.ir.host_run import HostRun
from flowc.ops.queues.record_input import RecordInput

EVERY = {b"%d-%d" % (file, k) for file in range(3) for k in range(20)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for compression in ("", "GZIP"):
        for file in range(3):
            with tf.io.TFRecordWriter(f"{tmp_path}/{compression}{file}", compression) as writer:
                for k in range(20):
                    writer.write(b"%d-%d" % (file, k))
    (tmp_path / "cut").write_bytes((tmp_path / "0").read_bytes()[:-3])
    (tmp_path / "nothing").touch()
    return tmp_path


def drawn(pattern: str, runs: int = 40, **attrs: Any) -> list[bytes]:
    with tf.Graph().as_default(), tf.Session() as session:
        records = tf.raw_ops.RecordInput(file_pattern=pattern, **{"batch_size": 6, **attrs})
        found = [session.run(records) for _ in range(runs)]
    assert {len(batch) for batch in found} == {attrs.get("batch_size", 6)}
    return [record for batch in found for record in batch]


@pytest.mark.parametrize(
    "files, attrs",
    [
        ("?", {}),
        ("?", {"file_buffer_size": 4, "file_parallelism": 2, "file_shuffle_shift_ratio": 0.5}),
        ("?", {"file_buffer_size": 1, "file_parallelism": 1}),
        ("GZIP*", {"compression_type": "GZIP", "file_parallelism": 5}),
    ],
)
def test_an_epoch_gives_every_record_once(folder: Path, files: str, attrs: Any) -> None:
    found = drawn(f"{folder}/{files}", **attrs)
    epochs = [tuple(found[k : k + 60]) for k in (0, 60, 120, 180)]
    assert [set(epoch) for epoch in epochs] == [EVERY] * 4
    assert len(set(epochs)) > 1  # each has its own order of files
    assert drawn(f"{folder}/{files}", **attrs) == found
    assert drawn(f"{folder}/{files}", file_random_seed=2, **attrs) != found


def test_patterns_are_divided_by_commas(folder: Path) -> None:
    found = drawn(f"{folder}/1,{folder}/none,{folder}/2,{folder}/nothing", 1, batch_size=40)
    assert set(found) == {record for record in EVERY if record[:1] != b"0"}
    assert drawn(f"{folder}/1", batch_size=0) == []


@pytest.mark.parametrize(
    "files, attrs, error, words",
    [
        ("none", {}, NotFoundError, "Found no files at"),
        ("cut", {"file_buffer_size": 4}, DataLossError, "truncated record at 370"),
        ("GZIP0", {}, DataLossError, "corrupted record at 0"),
        ("1", {"batch_size": -1}, InvalidArgumentError, "got -1"),
        ("1", {"file_parallelism": -1}, InvalidArgumentError, "got -1"),
        ("1", {"compression_type": "BZ"}, InvalidArgumentError, "Unsupported compression_type: BZ"),
        ("nothing", {}, InvalidArgumentError, "hold no record"),
    ],
)
def test_faults_stay(
    folder: Path, files: str, attrs: Any, error: type[FlowcError], words: str
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        records = tf.raw_ops.RecordInput(file_pattern=f"{folder}/{files}", **attrs)
        for _ in range(2):
            with pytest.raises(error, match=words):
                while True:
                    session.run(records)


def node(pattern: str, size: int) -> RecordInput:
    settings = {"file_pattern": pattern, "file_random_seed": 1, "file_shuffle_shift_ratio": 0.0}
    more = {"file_buffer_size": size, "file_parallelism": 2, "compression_type": ""}
    return RecordInput(settings | more)


def test_behind_a_run_that_was_cancelled_an_epoch_begins(folder: Path) -> None:
    run = HostRun()
    state = node(f"{folder}/?", 2)
    assert len(state.take(7, run)) == 7
    run.cancel.cancel()
    with pytest.raises(CancelledError):
        state.take(60, run)
    assert set(state.take(60, HostRun())) == EVERY


def test_what_is_kept_is_bounded(folder: Path) -> None:
    with tf.io.TFRecordWriter(f"{folder}/large") as writer:
        for _ in range(30):
            writer.write(b"x" * 20_000)
    run = HostRun(max_memory=350_000)
    with pytest.raises(ResourceExhaustedError, match="take a smaller file_buffer_size"):
        node(f"{folder}/large", 20).take(1, run)
    assert len(node(f"{folder}/large", 5).take(30, run)) == 30
