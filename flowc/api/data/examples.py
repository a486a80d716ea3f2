"""Datasets of the features of `tf.train.Example` messages.

In: datasets of batches of serialized examples, or names of files of them. Out: datasets of dicts of
tensors by the names of features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flowc.api.data.dataset import Dataset
from flowc.api.data.dataset_node import AUTOTUNE
from flowc.api.data.readers import TFRecordDataset
from flowc.api.inputs.readers import ReaderBase
from flowc.api.io.examples import parse_example


def parse_example_dataset(
    features: Mapping[str, Any], num_parallel_calls: int = 1, deterministic: bool | None = None
) -> Callable[[Dataset], Dataset]:
    """What `Dataset.apply` makes dicts of features with: of batches of serialized examples, as
    `tf.parse_example` does. Raises `ValueError` where `features` is None."""
    if features is None:
        raise ValueError("Argument `features` is required, but not specified.")
    return lambda dataset: dataset.map(
        lambda serialized: parse_example(serialized, features), num_parallel_calls
    )


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int,
    features: Mapping[str, Any],
    reader: Callable[..., Dataset] | None = None,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Batches of the examples of files: a dict of tensors by the names of `features`, or a pair of
    that and the label's tensor.

    `reader` makes a dataset of one file (default: `tf.data.TFRecordDataset`), of serialized
    examples or of pairs of keys and these. Raises `TypeError` for a reader of queues and
    `ValueError` for a label that is no feature.
    """
    if isinstance(reader, type) and issubclass(reader, ReaderBase):
        raise TypeError(
            "The `reader` argument must return a `Dataset` object. `tf.ReaderBase` subclasses are "
            "not supported. For example, pass `tf.data.TFRecordDataset` instead of "
            "`tf.TFRecordReader`."
        )
    if label_key and label_key not in features:
        raise ValueError(
            f"The `label_key` provided ({label_key}) must be one of the `features` keys: "
            f"{features.keys()}."
        )
    opened, arguments = reader or TFRecordDataset, reader_args or ()
    found = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    found = found.interleave(lambda name: opened(name, *arguments), reader_num_threads or 1, 1)
    if isinstance(found.output_types, tuple):
        found = found.map(lambda _, value: value)
    if shuffle:
        found = found.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        found = found.repeat(num_epochs)
    found = found.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    found = found.apply(parse_example_dataset(features, parser_num_threads or 2))
    if label_key:
        found = found.map(lambda named: (named, named.pop(label_key)))
    return found.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)
