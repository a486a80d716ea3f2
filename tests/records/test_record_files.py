"""TFRecord files: what TensorFlow read of damaged ones, and what flowc writes, read back."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import pytest

import flowc as tf
from flowc.checkpoint.table import masked_crc
from flowc.records.record_reader import RecordReader

RECORDED = Path(__file__).parents[1] / "recorded" / "record_files.json"
CASES: list[dict[str, Any]] = json.loads(RECORDED.read_text())
RECORDS = [b"hello", b"", bytes(range(256)) * 3000, b"x"]


def read(path: Path, compression: Any = None) -> tuple[list[int], list[str] | None]:
    lengths: list[int] = []
    try:
        for record in tf.python_io.tf_record_iterator(path, compression):
            lengths.append(len(record))
    except tf.errors.OpError as error:
        return lengths, [type(error).__name__, error.message]
    return lengths, None


def test_damaged_files_are_read_as_tensorflow_reads_them(tmp_path: Path) -> None:
    for case in CASES:
        path = tmp_path / "file"
        path.write_bytes(base64.b64decode(case["data"]))
        lengths, error = read(path, case["compression"])
        assert (lengths, error) == (case["lengths"], case["error"]), case["name"]


def test_a_file_that_was_written_is_tensorflows(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with tf.io.TFRecordWriter(path) as writer:
        for record in (b"hello", b"", "x" * 100):
            writer.write(record)
    whole = next(case for case in CASES if case["name"] == "plain whole as plain")
    assert path.read_bytes() == base64.b64decode(whole["data"])


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_written_records_are_read(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "file"
    options = tf.python_io.TFRecordOptions(compression, compression_level=3)
    with tf.python_io.TFRecordWriter(path, options) as writer:
        for record in RECORDS:
            writer.write(record)
    assert list(tf.python_io.tf_record_iterator(path, options)) == RECORDS
    with RecordReader(path, compression, piece=100) as reader:
        assert reader.read() == RECORDS[0]
        offset = reader.offset
        assert reader.read_up_to(9) == RECORDS[1:]
        assert reader.read() is None
    with RecordReader(path, compression) as reader:
        reader.seek(offset)
        assert list(reader) == RECORDS[1:]


def test_refused_calls(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError, match="none; No such file or directory"):
        list(tf.python_io.tf_record_iterator(tmp_path / "none"))
    with pytest.raises(tf.errors.FailedPreconditionError, match="Is a directory"):
        list(tf.python_io.tf_record_iterator(tmp_path))
    with pytest.raises(tf.errors.NotFoundError, match="No such file or directory"):
        tf.io.TFRecordWriter(tmp_path / "no" / "file")
    with pytest.raises(ValueError, match='Not a valid compression_type: "BAD"'):
        tf.io.TFRecordOptions("BAD")
    writer = tf.io.TFRecordWriter(tmp_path / "file")
    with pytest.raises(TypeError, match="a record is a byte string"):
        writer.write(3)  # pyright: ignore[reportArgumentType]
    writer.close()
    writer.close()
    for closed in (writer.flush, lambda: writer.write(b"")):
        with pytest.raises(tf.errors.FailedPreconditionError, match="Writer is closed"):
            closed()


def test_a_length_is_not_believed(tmp_path: Path) -> None:
    length = struct.pack("<Q", 1 << 62)
    path = tmp_path / "file"
    path.write_bytes(length + struct.pack("<I", masked_crc(length)) + b"abc")
    said = "truncated record at 0' failed with Read less bytes than requested"
    assert read(path) == ([], ["DataLossError", said])


@pytest.mark.parametrize("change", ["cut", "no gzip"])
@pytest.mark.parametrize("form", ["queue", "dataset"])
def test_the_error_of_a_pipeline_names_the_file(tmp_path: Path, form: str, change: str) -> None:
    path = str(tmp_path / "some.records")
    compression = "GZIP" if change == "no gzip" else ""
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(b"x" * 50)
    if change == "cut":
        Path(path).write_bytes(Path(path).read_bytes()[:40])
    with tf.Graph().as_default(), tf.Session() as session:
        if form == "queue":
            files = tf.FIFOQueue(1, tf.string, [[]])
            session.run([files.enqueue(path)])
            options = tf.python_io.TFRecordOptions(compression)
            fetch = tf.TFRecordReader(options=options).read(files)[1]
        else:
            data = tf.data.TFRecordDataset(path, compression)
            fetch = tf.data.make_one_shot_iterator(data).get_next()
        with pytest.raises(tf.errors.DataLossError) as raised:
            session.run(fetch)
    assert path in str(raised.value)
