"""Datasets of files: text lines, TFRecords, records of a fixed length, rows of databases, names of
files. Datasets written to files.

In: names of files, as strings, tensors or a dataset. Out: datasets of one string an element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.data.dataset import Dataset
from flowc.api.data.structure import ComponentSpec, held_types
from flowc.api.framework import nest
from flowc.api.framework.assertions import assert_less
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import control_dependencies
from flowc.graph import Operation, Tensor
from flowc.graph.building.conversion import as_tensor

TEXT = ComponentSpec([], dtypes.string)


def _names(filenames: Any) -> Dataset:
    """Names as a dataset. Raises `TypeError` for what is no string."""
    if isinstance(filenames, Dataset):
        if filenames.element_spec.dtype is not dtypes.string:
            raise TypeError("The `filenames` argument must contain `tf.string` elements.")
        return filenames
    names = as_tensor(filenames, name="filenames", preferred=dtypes.string)
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


class _OfRecords(_FileDataset):
    """Files whose records tell where they end."""

    _op_type = ""

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
            lambda name: Dataset(call(self._op_type, name, compression, size), TEXT),
        )


class TextLineDataset(_OfRecords):
    """The lines of text files, without their ends. `compression_type`: "", "GZIP" or "ZLIB".
    Raises `TypeError` for names that are no strings."""

    _op_type = "TextLineDataset"


class TFRecordDataset(_OfRecords):
    """The records of TFRecord files. `compression_type`: "", "GZIP" or "ZLIB". Raises `TypeError`
    for names that are no strings; a run raises `DataLossError` for a file that is damaged."""

    _op_type = "TFRecordDataset"


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


class SqlDataset(Dataset):
    """The rows that a query finds in a database, each a scalar a column. Raises `TypeError` for
    what is no dtype.

    `driver_name`: "sqlite"; `data_source_name`: its file, which is only read. A run raises
    `InvalidArgumentError` for another driver or number of columns, `UnknownError` for what SQLite
    does not understand.
    """

    def __init__(
        self, driver_name: Any, data_source_name: Any, query: Any, output_types: Any
    ) -> None:
        texts = [
            as_tensor(value, dtypes.string, name)
            for value, name in (
                (driver_name, "driver_name"),
                (data_source_name, "data_source_name"),
                (query, "query"),
            )
        ]
        structure = nest.map_structure(lambda t: ComponentSpec([], t), output_types)
        super().__init__(call("SqlDataset", *texts, **held_types(structure)), structure)


class DatasetWriter:
    """Writes a dataset of strings to a TFRecord file. `compression_type`: "", "GZIP" or "ZLIB".
    Raises `TypeError` for other datasets."""

    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._filename = as_tensor(filename, dtypes.string, "filename")
        self._compression = _option(compression_type, "", dtypes.string, "compression_type")

    def write(self, dataset: Dataset) -> Operation:
        """The operation that writes it. Raises `TypeError` for what is no dataset of scalar
        strings; a run raises `InvalidArgumentError` for another compression."""
        if not isinstance(dataset, Dataset):
            raise TypeError(
                f"Invalid `dataset.` Expected a `tf.data.Dataset` object but got {type(dataset)}."
            )
        spec = dataset.element_spec
        is_text = type(spec) is ComponentSpec and spec.dtype is dtypes.string
        if not is_text or spec.shape.ndims not in (None, 0):
            raise TypeError(
                "Invalid `dataset`. Expected a`dataset` that produces scalar `tf.string` elements, "
                f"but got a dataset which produces {spec}."
            )
        variant = dataset._variant_tensor
        return call("DatasetToTFRecord", variant, self._filename, self._compression)


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
