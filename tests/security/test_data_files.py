"""Files of data and endless datasets take no more memory than a run may; functions of datasets have
no permission that their graph lacks."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from calls.dataset_examples import N, function, numbers
from google_crc32c import value as crc

import flowc as tf
from flowc.checkpoint.table import mask
from flowc.errors import DataLossError, PermissionDeniedError, ResourceExhaustedError
from flowc.proto.graph_pb2 import GraphDef
from flowc.records.byte_stream import ByteStream
from flowc.records.lines import lines_of
from flowc.records.record_reader import RecordReader

MOST = 1 << 20
r: Any = tf.raw_ops


def _record_of(length: int, content: bytes) -> bytes:
    head = struct.pack("<Q", length)
    return head + struct.pack("<I", mask(crc(head))) + content


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_length_is_believed_no_further_than_the_file_reaches(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path, kind = tmp_path / "a.tfr", "GZIP" if pack is gzip.compress else ""
    path.write_bytes(pack(_record_of(1 << 62, bytes(9))))
    with RecordReader(path, kind) as reader, pytest.raises(DataLossError, match="truncated"):
        reader.read()
    path.write_bytes(pack(_record_of(1 << 62, bytes(4 * MOST))))
    with (
        RecordReader(path, kind, most=MOST) as reader,
        pytest.raises(ResourceExhaustedError, match="max_memory"),
    ):
        reader.read()


def test_lines_over_several_pieces(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    content = b"a\n\nbcdefgh\r\n\ni"
    path.write_bytes(content)
    for piece in range(1, len(content) + 1):
        with ByteStream(path, piece=piece) as stream:
            assert list(lines_of(stream)) == [b"a", b"", b"bcdefgh\r", b"", b"i"]
    with ByteStream(path, piece=2, most=3) as stream, pytest.raises(ResourceExhaustedError):
        list(lines_of(stream))


def _long(path: str) -> Any:
    Path(path).write_bytes(gzip.compress(bytes(4 * MOST)))
    return tf.data.TextLineDataset(path, "GZIP")


def _quoted(path: str) -> Any:
    Path(path).write_bytes(gzip.compress(b'"' + b"\n" * (2 * MOST)))
    return tf.data.experimental.CsvDataset(path, [tf.string], compression_type="GZIP")


def _fixed(path: str) -> Any:
    Path(path).write_bytes(gzip.compress(bytes(4 * MOST)))
    return tf.data.FixedLengthRecordDataset(path, 1 << 62, compression_type="GZIP")


D = tf.data.Dataset
endless = lambda: D.range(1 << 60).map(lambda x: tf.fill([1000], x))
DATASETS: dict[str, Callable[[str], Any]] = {
    "a line": _long,
    "a field": _quoted,
    "a record": _fixed,
    "a batch": lambda path: endless().batch(1 << 40),
    "a batch of what is repeated": lambda path: (
        D.from_tensors(tf.zeros([1000])).repeat().batch(MOST)
    ),
    "a batch of random numbers": lambda path: tf.data.experimental.RandomDataset(1).batch(1 << 40),
    "a buffer": lambda path: endless().shuffle(1 << 40),
    "a window": lambda path: endless().window(1 << 40).flat_map(lambda w: w),
    "a group": lambda path: endless().apply(
        tf.data.experimental.group_by_window(
            lambda x: tf.constant(0, tf.int64), lambda k, w: w, window_size=1 << 40
        )
    ),
    "a cache": lambda path: endless().cache().skip(1 << 40),
}


@pytest.mark.parametrize("name", DATASETS)
def test_what_datasets_keep_has_a_bound(name: str, tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session(threads=1, max_memory=MOST) as session:
        dataset = DATASETS[name](str(tmp_path / "file"))
        following = tf.data.make_one_shot_iterator(dataset).get_next()
        with pytest.raises(ResourceExhaustedError, match="max_memory"):
            session.run(following, options=tf.RunOptions(timeout_in_ms=60_000))


def test_functions_of_datasets_have_the_permissions_of_their_graph(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    says = {"output_types": [tf.string], "output_shapes": [[]]}
    with tf.Graph().as_default() as graph:
        made = r.MapDataset(
            input_dataset=numbers(1),
            f=function(lambda x: tf.read_file(str(secret))),
            other_arguments=[],
            Targuments=[],
            **says,
        )
        r.DatasetToSingleElement(dataset=made, name="it", **says)
        r.DatasetToSingleElement(
            dataset=r.TextLineDataset(filenames=str(secret), compression_type="", buffer_size=0),
            name="lines",
            **says,
        )
        r.DatasetToSingleElement(dataset=numbers(1), name="numbers", **N)
    content = graph.as_graph_def().SerializeToString()
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(GraphDef.FromString(content), name="")
        assert session.run("numbers:0") == 0
        for name in ("it:0", "lines:0"):
            with pytest.raises(PermissionDeniedError):
                session.run(name)
        graph.allow("files")
        assert [session.run(name) for name in ("it:0", "lines:0")] == [b"secret"] * 2
