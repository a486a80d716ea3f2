"""One serialized example at a time, as functions of datasets parse them."""

from __future__ import annotations

from pathlib import Path

import flowc as tf


def test_a_scalar_text_of_one_example(tmp_path: Path) -> None:
    path = str(tmp_path / "one.tfrecord")
    with tf.python_io.TFRecordWriter(path) as writer:
        for text in (b"a", b"b\0"):
            feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[text]))
            example = tf.train.Example(features=tf.train.Features(feature={"n": feature}))
            writer.write(example.SerializeToString())
    with tf.Graph().as_default():
        wanted = {"n": tf.FixedLenFeature([], tf.string)}
        dataset = tf.data.TFRecordDataset(path)
        dataset = dataset.map(lambda record: tf.parse_single_example(record, wanted)["n"]).batch(2)
        texts = tf.data.make_one_shot_iterator(dataset).get_next()
        with tf.Session() as session:
            assert session.run(texts).tolist() == [b"a", b"b\0"]
