"""Event files and summaries, as TensorFlow's readers find them."""

from __future__ import annotations

import struct
from pathlib import Path

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
