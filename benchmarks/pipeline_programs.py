"""Input pipelines as programs of TensorFlow 1: for flowc and TensorFlow alike.

In: the module `tf`, a folder of files that `write_files` made. Out: tensors of one batch, and how
many items it has. Invariant: both run the same calls on the same files.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

BATCH = 64
THREADS = 2
Program = Callable[[Any, str], Any]
Images = tuple[Any, Any]


def write_files(folder: Path) -> None:
    """The files of all programs; written with flowc."""
    from PIL import Image

    import flowc as tf

    rng = np.random.default_rng(0)
    feature, train = tf.train.Feature, tf.train
    with tf.python_io.TFRecordWriter(str(folder / "examples.tfrecord")) as writer:
        for i in range(20_000):
            x = rng.standard_normal(16).astype(np.float32)
            features = {
                "label": feature(int64_list=train.Int64List(value=[i % 10])),
                "x": feature(float_list=train.FloatList(value=x.tolist())),
                "name": feature(bytes_list=train.BytesList(value=[b"item-%d" % i])),
                "tags": feature(int64_list=train.Int64List(value=list(range(i % 5)))),
            }
            example = train.Example(features=train.Features(feature=features))
            writer.write(example.SerializeToString())
    with open(folder / "rows.csv", "w") as file:
        for i in range(40_000):
            numbers = ",".join(f"{v:.4f}" for v in rng.standard_normal(8))
            file.write(f'{i},{numbers},"a, {i % 7}",{i % 3}\n')
    pixels = rng.integers(0, 256, (5_000, 3073), np.uint8)
    pixels[:, 0] %= 10
    (folder / "cifar.bin").write_bytes(pixels.tobytes())
    axis = np.linspace(0, 6, 480)
    for k in range(64):
        waves = np.sin(axis[:360, None] * (1 + k % 7)) * np.cos(axis[None] * (2 + k % 5))
        image = (waves[..., None] * [90, 60, 110] + 128 + rng.normal(0, 6, (360, 480, 3))).clip(0)
        data = io.BytesIO()
        Image.fromarray(image.clip(0, 255).astype(np.uint8)).save(data, "JPEG", quality=88)
        (folder / f"{k:03}.jpg").write_bytes(data.getvalue())


def _next(dataset: Any) -> Any:
    return dataset.make_one_shot_iterator().get_next()


# -- TFRecord, parse_example, batch


def _features(tf: Any) -> dict[str, Any]:
    return {
        "label": tf.FixedLenFeature([], tf.int64),
        "x": tf.FixedLenFeature([16], tf.float32),
        "name": tf.FixedLenFeature([], tf.string),
        "tags": tf.VarLenFeature(tf.int64),
    }


def _dense_features(tf: Any) -> dict[str, Any]:
    return {name: f for name, f in _features(tf).items() if name != "tags"}


def examples(tf: Any, folder: str) -> Any:
    """Records one by one through parse_single_example."""
    found = tf.data.TFRecordDataset(f"{folder}/examples.tfrecord").repeat()
    found = found.map(lambda s: tf.parse_single_example(s, _dense_features(tf)), THREADS)
    return _next(found.batch(BATCH).prefetch(2))


def example_batches(tf: Any, folder: str) -> Any:
    """Batches of records through parse_example."""
    found = tf.data.TFRecordDataset(f"{folder}/examples.tfrecord").repeat().batch(BATCH)
    found = _next(found.map(lambda s: tf.parse_example(s, _features(tf)), THREADS).prefetch(2))
    return [found["label"], found["x"], found["name"], found["tags"]]


def example_queue(tf: Any, folder: str) -> Any:
    names = tf.train.string_input_producer([f"{folder}/examples.tfrecord"])
    _, serialized = tf.TFRecordReader().read(names)
    features = tf.parse_single_example(serialized, _dense_features(tf))
    return tf.train.batch(features, BATCH, capacity=32 * BATCH)


# -- CSV lines, decode, shuffle, batch


def _csv(tf: Any, line: Any) -> Any:
    columns = tf.decode_csv(line, [[0], *([[0.0]] * 8), [""], [0]])
    return tf.stack(columns[1:9]), columns[9], columns[10]


def csv(tf: Any, folder: str) -> Any:
    found = tf.data.TextLineDataset(f"{folder}/rows.csv").repeat()
    found = found.map(lambda line: _csv(tf, line), THREADS)
    return _next(found.shuffle(2_000, seed=1).batch(BATCH).prefetch(2))


def csv_queue(tf: Any, folder: str) -> Any:
    names = tf.train.string_input_producer([f"{folder}/rows.csv"])
    _, line = tf.TextLineReader().read(names)
    return tf.train.shuffle_batch(_csv(tf, line), BATCH, 4_000, 2_000, seed=1)


# -- CIFAR-10 binary, crop, flip, standardise, batch


def _cifar(tf: Any, record: Any) -> Images:
    data = tf.decode_raw(record, tf.uint8)
    label = tf.cast(tf.strided_slice(data, [0], [1]), tf.int32)
    depth_major = tf.reshape(tf.strided_slice(data, [1], [3073]), [3, 32, 32])
    image = tf.cast(tf.transpose(depth_major, [1, 2, 0]), tf.float32)
    image = tf.random_crop(image, [24, 24, 3], seed=3)
    image = tf.image.random_flip_left_right(image, seed=4)
    image = tf.image.per_image_standardization(image)
    label.set_shape([1])
    return image, label


def cifar(tf: Any, folder: str) -> Any:
    found = tf.data.FixedLengthRecordDataset(f"{folder}/cifar.bin", 3073).repeat()
    found = found.map(lambda record: _cifar(tf, record), THREADS)
    return _next(found.batch(BATCH).prefetch(2))


def cifar_queue(tf: Any, folder: str) -> Any:
    names = tf.train.string_input_producer([f"{folder}/cifar.bin"])
    _, record = tf.FixedLengthRecordReader(3073).read(names)
    tensors = _cifar(tf, record)
    return tf.train.batch(tensors, BATCH, num_threads=THREADS, capacity=8 * BATCH)


# -- JPEG, resize, batch


def jpeg(tf: Any, folder: str) -> Any:
    def load(name: Any) -> Any:
        image = tf.image.decode_jpeg(tf.read_file(name), channels=3)
        return tf.image.resize_images(image, [224, 224])

    names = [f"{folder}/{k:03}.jpg" for k in range(64)]
    found = tf.data.Dataset.from_tensor_slices(names).repeat().map(load, THREADS)
    return _next(found.batch(16).prefetch(2))


# -- arrays


def _arrays() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (10_000, 28, 28), np.uint8), rng.integers(0, 10, 10_000)


def arrays(tf: Any, folder: str) -> Any:
    found = tf.data.Dataset.from_tensor_slices(_arrays()).shuffle(10_000, seed=1).repeat()
    return _next(found.batch(BATCH).prefetch(2))


def scaled_arrays(tf: Any, folder: str) -> Any:
    found = tf.data.Dataset.from_tensor_slices(_arrays()).shuffle(10_000, seed=1).repeat()
    found = found.map(lambda x, y: (tf.cast(x, tf.float32) / 255.0, y), THREADS)
    return _next(found.batch(BATCH).prefetch(2))


PROGRAMS: dict[str, Program] = {
    "TFRecord, parse_single_example, batch": examples,
    "TFRecord, batch, parse_example": example_batches,
    "TFRecord, parse_single_example, tf.train.batch": example_queue,
    "CSV, decode, shuffle, batch": csv,
    "CSV, decode, tf.train.shuffle_batch": csv_queue,
    "CIFAR-10, crop, flip, standardise, batch": cifar,
    "CIFAR-10, crop, flip, standardise, tf.train.batch": cifar_queue,
    "JPEG, resize, batch": jpeg,
    "arrays, shuffle, batch": arrays,
    "arrays, shuffle, scale, batch": scaled_arrays,
}


def items_of(batch: Any) -> int:
    """How many items a run gave."""
    first = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    return len(first if isinstance(batch, dict | list | tuple) else batch)
