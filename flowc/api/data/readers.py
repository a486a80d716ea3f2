"""Datasets of files: text lines, TFRecords, records of a fixed length, names of files.

In: names of files, as strings, tensors or a dataset. Out: datasets of one string an element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.data.dataset import Dataset
from flowc.api.data.structure import ComponentSpec
from flowc.api.framework.assertions import assert_less
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import control_dependencies
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor

TEXT = ComponentSpec([], dtypes.string)


def _names(filenames: Any) -> Dataset:
    """Names as a dataset. Raises `TypeError` for what is no string."""
    if isinstance(filenames, Dataset):
        if filenames.element_spec.dtype is not dtypes.string:
            raise TypeError("The `filenames` argument must contain `tf.string` elements.")
        return filenames
    names = as_tensor(filenames, name="filenames")
    if names.dtype is not dtypes.string:
        raise TypeError(
            "The `filenames` argument must contain `tf.string` elements. Got "
            f"`{names.dtype!r}` elements."
        )
    flat = call("Reshape", names, np.array([-1], np.int32), name="flat_filenames")
    return Dataset.from_tensor_slices(flat)


def _option(value: Any, default: Any, dtype: Any, name: str) -> Tensor:
    return as_tensor(default if value is None else value, dtype, name)


class _FileDataset(Dataset):
    """Files one after the other, or several side by side."""

    def __init__(self, filenames: Any, num_parallel_reads: Any, read: Any) -> None:
        names = _names(filenames)
        if num_parallel_reads is None:
            found = names.flat_map(read)
        else:
            found = names.interleave(
                read, num_parallel_reads, 1, num_parallel_calls=num_parallel_reads
            )
        super().__init__(found._variant_tensor, TEXT)


class TextLineDataset(_FileDataset):
    """The lines of text files, without their ends. `compression_type`: "", "GZIP" or "ZLIB".
    Raises `TypeError` for names that are no strings."""

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        compression = _option(compression_type, "", dtypes.string, "compression_type")
        size = _option(buffer_size, 256 * 1024, dtypes.i64, "buffer_size")
        super().__init__(
            filenames,
            num_parallel_reads,
            lambda name: Dataset(call("TextLineDataset", name, compression, size), TEXT),
        )


class TFRecordDataset(_FileDataset):
    """The records of TFRecord files. `compression_type`: "", "GZIP" or "ZLIB". Raises `TypeError`
    for names that are no strings; a run raises `DataLossError` for a file that is damaged."""

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        compression = _option(compression_type, "", dtypes.string, "compression_type")
        size = _option(buffer_size, 256 * 1024, dtypes.i64, "buffer_size")
        super().__init__(
            filenames,
            num_parallel_reads,
            lambda name: Dataset(call("TFRecordDataset", name, compression, size), TEXT),
        )


class FixedLengthRecordDataset(_FileDataset):
    """The records of `record_bytes` each of binary files, between a header and a footer. Raises
    `TypeError` for names that are no strings; a run raises `InvalidArgumentError` for a file that
    does not hold whole records."""

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        sizes = [
            _option(header_bytes, 0, dtypes.i64, "header_bytes"),
            as_tensor(record_bytes, dtypes.i64, "record_bytes"),
            _option(footer_bytes, 0, dtypes.i64, "footer_bytes"),
            _option(buffer_size, 256 * 1024, dtypes.i64, "buffer_size"),
            _option(compression_type, "", dtypes.string, "compression_type"),
        ]
        super().__init__(
            filenames,
            num_parallel_reads,
            lambda name: Dataset(call("FixedLengthRecordDatasetV2", name, *sizes), TEXT),
        )


def listed_files(file_pattern: Any, shuffles: bool, seed: Any) -> Dataset:
    """`Dataset.list_files`."""
    patterns = as_tensor(file_pattern, dtypes.string, "pattern")
    names = Dataset(call("MatchingFilesDataset", patterns), TEXT)
    count = names.cardinality()
    flat = call("Reshape", patterns, np.array([-1], np.int32))
    joined = call("ReduceJoin", flat, np.array([0], np.int32), separator=", ")
    message = [call("StringJoin", ["No files matched pattern: ", joined])]
    check = assert_less(np.int64(0), count, data=message, name="match_not_empty")
    with control_dependencies([check]):
        return (
            names.shuffle(call("Maximum", count, np.int64(1)), seed) if shuffles else names.skip(0)
        )
