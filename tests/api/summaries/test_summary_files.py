"""Event files and summaries, as TensorFlow's readers find them."""

from __future__ import annotations

import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import google_crc32c
import pytest

import flowc as tf


def records(path: Path) -> list[bytes]:
    """The contents of a TFRecord file, whose checksums are right."""
    data, found = path.read_bytes(), []
    while data:
        size, check = struct.unpack("<QI", data[:12])
        content, (content_check,) = data[12 : 12 + size], struct.unpack("<I", data[12 + size :][:4])
        for text, masked in ((data[:8], check), (content, content_check)):
            value = google_crc32c.value(text)
            assert masked == ((value >> 15 | value << 17) + 0xA282EAD8) % 2**32
        found.append(content)
        data = data[16 + size :]
    return found


def test_events_are_records(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        with tf.name_scope("train"):
            loss = tf.summary.scalar("loss", x)
        tf.summary.scalar("rate", 0.5, family="of")
        merged = tf.summary.merge_all()
        assert loss.name == "train/loss:0" and merged.name == "Merge/MergeSummary:0"
        writer = tf.summary.FileWriter(tmp_path / "logs", graph)
        with tf.Session() as session:
            summary = session.run(merged, {x: 2.0})
        # As TensorFlow serializes it: two values, each a tag and a number.
        assert summary == (
            b"\n\x11\n\ntrain/loss\x15\x00\x00\x00@\n\x11\n\nof/of/rate\x15\x00\x00\x00?"
        )
        writer.add_summary(summary, global_step=3)
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 4)
        writer.close()
        writer.add_summary(summary)
        writer.close()
    first, second = sorted((tmp_path / "logs").iterdir(), key=lambda p: p.stat().st_mtime_ns)
    assert first.name.startswith("events.out.tfevents.") and second.name.endswith(".1")
    version, graph_def, meta_graph, scalars, started = records(first)
    assert version.endswith(b"\x1a\rbrain.Event:2")
    definition = graph.as_graph_def(add_shapes=True).SerializeToString()
    assert graph_def.endswith(definition) and graph_def[9] == 0x22
    assert meta_graph[9] == 0x4A
    assert scalars[9:] == b"\x10\x03\x2a" + bytes([len(summary)]) + summary
    assert started[9:11] == b"\x10\x04" and started[11] == 0x3A
    assert len(records(second)) == 2


def test_names_of_2016() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.scalar_summary(["a", "b"], [1.0, 2.0])
        assert session.run(tf.merge_all_summaries()) == (
            b"\n\x08\n\x01a\x15\x00\x00\x80?\n\x08\n\x01b\x15\x00\x00\x00@"
        )
    assert tf.train.SummaryWriter is tf.summary.FileWriter and tf.merge_summary is tf.summary.merge


def test_nothing_to_merge_and_no_graph(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        assert tf.summary.merge_all() is None
        with pytest.raises(TypeError, match="must be an instance of `Graph`"):
            tf.summary.FileWriter(tmp_path, 3)


def test_a_file_that_is_cut_anywhere_has_the_records_before(tmp_path: Path) -> None:
    """As a machine that loses power leaves it: what was whole is read, the rest is an error, or,
    where it is less than the head of a record, nothing, as in TensorFlow. A program that starts
    again writes beside it."""
    with tf.summary.FileWriter(tmp_path / "whole", max_queue=1) as writer:
        for step in range(4):
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="x", simple_value=1)]), step)
    (file,) = (tmp_path / "whole").iterdir()
    data = file.read_bytes()
    ends = [0]
    for content in records(file):
        ends.append(ends[-1] + 16 + len(content))
    assert ends[-1] == len(data) and len(ends) == 6
    cut = tmp_path / "events.out.tfevents.cut"
    for size in range(len(data) + 1):
        cut.write_bytes(data[:size])
        found: list[tf.Event] = []
        fault = None
        try:
            found += tf.train.summary_iterator(cut)
        except tf.errors.DataLossError as error:
            fault = error
        whole = sum(end <= size for end in ends[1:])
        assert [e.step for e in found] == [0, 0, 1, 2, 3][:whole]
        rest = size - ends[whole]
        assert (fault is None) == (rest < 12), size
    for at in range(ends[2], ends[3]):  # a byte of the third record is another one
        cut.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        found = []
        with pytest.raises(tf.errors.DataLossError):
            for event in tf.train.summary_iterator(cut):
                found.append(event)
        assert len(found) == 2
    with tf.summary.FileWriter(tmp_path) as again:
        again.add_summary(tf.Summary(), 9)
    (beside,) = tmp_path.glob("*.tfevents.[0-9]*")
    assert [e.step for e in tf.train.summary_iterator(beside)] == [0, 9]


def test_written_records_stay_when_the_process_is_killed(tmp_path: Path) -> None:
    """Without a close, all that was flushed is there."""
    program = f"""
import os, signal, flowc as tf
writer = tf.summary.FileWriter({str(tmp_path)!r}, max_queue=100)
for step in range(30):
    writer.add_summary(tf.Summary(), step)
writer.flush()
writer.add_summary(tf.Summary(), 30)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == -signal.SIGKILL
    (file,) = tmp_path.iterdir()
    assert [e.step for e in tf.train.summary_iterator(file)][1:] == list(range(30))


def steps_in(folder: Path) -> list[list[int]]:
    """The steps of the events in each file, in the order of their names."""
    files = sorted(folder.glob("events*"))
    return [[e.step for e in tf.train.summary_iterator(file)][1:] for file in files]


def test_a_slow_disk_stops_no_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread stands in a write, and as many events as the queue has room for are added."""
    is_free, is_writing, opened = threading.Event(), threading.Event(), Path.open

    class SlowFile:
        def __init__(self, file: Any) -> None:
            self.file, self.close = file, file.close

        def write(self, data: bytes) -> int:
            if threading.current_thread() is not threading.main_thread():
                is_writing.set()
                assert is_free.wait(60)
                data = data[:7]  # a disk may take a part
            return self.file.write(data)

    monkeypatch.setattr(Path, "open", lambda *args, **more: SlowFile(opened(*args, **more)))
    before = set(threading.enumerate())  # of others, whose writers are open
    writer = tf.summary.FileWriter(tmp_path, max_queue=4)
    for step in range(4):
        writer.add_summary(tf.Summary(), step)
    assert is_writing.wait(60)
    for step in range(4, 8):
        writer.add_summary(tf.Summary(), step)
    late = threading.Thread(target=writer.add_summary, args=(tf.Summary(), 8))
    late.start()
    late.join(0.05)
    assert late.is_alive()  # the queue is full
    is_free.set()
    late.join()
    writer.flush()
    monkeypatch.undo()
    assert steps_in(tmp_path) == [list(range(9))]
    own = [t for t in threading.enumerate() if t.name == "flowc events" and t not in before]
    assert len(own) == 1
    writer.close()
    assert not own[0].is_alive()


def test_what_the_thread_fails_with_is_raised_by_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Path.open

    class FullDisk:
        def __init__(self, file: Any) -> None:
            self.file, self.close = file, file.close

        def write(self, data: bytes) -> int:
            if threading.current_thread() is not threading.main_thread():
                raise OSError(28, "No space left on device")
            return self.file.write(data)

    for call in ("flush", "close"):
        writer = tf.summary.FileWriter(tmp_path / call)
        with monkeypatch.context() as patch:
            patch.setattr(Path, "open", lambda *args, **more: FullDisk(opened(*args, **more)))
            writer.add_summary(tf.Summary(), 1)
        with pytest.raises(OSError, match="No space left"):
            getattr(writer, call)()
        writer.add_summary(tf.Summary(), 2)
        writer.close()
        assert steps_in(tmp_path / call) == [[], [2]]


def test_a_forked_process_and_an_end_without_a_close(tmp_path: Path) -> None:
    program = f"""
import os, flowc as tf
writer = tf.summary.FileWriter({str(tmp_path)!r}, max_queue=100)
writer.add_summary(tf.Summary(), 1)
child = os.fork()
writer.add_summary(tf.Summary(), 2 if child else 3)
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
    assert sorted(steps_in(tmp_path)) == [[1, 2], [3]]


def test_events_are_written_after_a_time(tmp_path: Path) -> None:
    with tf.summary.FileWriter(tmp_path, max_queue=100, flush_secs=0.01) as writer:
        writer.add_summary(tf.Summary(), 5)
        end = time.monotonic() + 60
        while steps_in(tmp_path) != [[5]] and time.monotonic() < end:
            time.sleep(0.01)
        assert steps_in(tmp_path) == [[5]]


def test_the_projector_is_told_of_embeddings(tmp_path: Path) -> None:
    projector = tf.contrib.tensorboard.plugins.projector

    config = projector.ProjectorConfig(model_checkpoint_path="words-10")
    words = config.embeddings.add()
    words.tensor_name = "embedding:0"
    words.metadata_path = "labels.tsv"
    words.sprite.image_path = "sprites.png"
    words.sprite.single_image_dim.extend([28, 28])
    with tf.summary.FileWriter(tmp_path / "logs") as writer:
        projector.visualize_embeddings(writer, config)
    expected = """\
model_checkpoint_path: "words-10"
embeddings {
  tensor_name: "embedding:0"
  metadata_path: "labels.tsv"
  sprite {
    image_path: "sprites.png"
    single_image_dim: 28
    single_image_dim: 28
  }
}
"""
    assert (tmp_path / "logs" / "projector_config.pbtxt").read_text() == expected
    projector.visualize_embeddings(tmp_path / "other", projector.ProjectorConfig())
    assert (tmp_path / "other" / "projector_config.pbtxt").read_text() == ""
    with pytest.raises(ValueError, match="must have a logdir"):
        projector.visualize_embeddings("", config)
