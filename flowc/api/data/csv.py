"""Datasets of CSV files.

In: names of files, dtypes or defaults of their columns. Out: datasets of one scalar for each
column, or of batches by the columns' names.
"""

from __future__ import annotations

import collections
import csv
import gzip
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.data.dataset import Dataset
from flowc.api.data.dataset_node import AUTOTUNE, made
from flowc.api.data.structure import ComponentSpec
from flowc.api.framework.gfile import Glob
from flowc.dtypes import DType
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor

GUESSED = (dtypes.i32, dtypes.i64, dtypes.f32, dtypes.f64, dtypes.string)


class CsvDataset(Dataset):
    """The records of CSV files, a scalar for each column.

    `record_defaults`: for each column a default (a tensor or value), or a dtype where a value is
    required. A run raises `InvalidArgumentError` for a record that does not fit.
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: Any = None,
        buffer_size: Any = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Any = None,
        exclude_cols: Any = None,
    ) -> None:
        defaults = [_default(value) for value in record_defaults]
        specs = tuple(ComponentSpec([], t.dtype) for t in defaults)
        compression = "" if compression_type is None else compression_type
        size = 4 * 1024 * 1024 if buffer_size is None else buffer_size
        inputs = [
            as_tensor(filenames, dtypes.string, "filenames"),
            as_tensor(compression, dtypes.string, "compression_type"),
            as_tensor(size, dtypes.i64, "buffer_size"),
            as_tensor(header, dtypes.bool_, "header"),
            as_tensor(field_delim, dtypes.string, "field_delim"),
            as_tensor(use_quote_delim, dtypes.bool_, "use_quote_delim"),
            as_tensor(na_value, dtypes.string, "na_value"),
            as_tensor(_columns(select_cols), dtypes.i64, "select_cols"),
        ]
        if exclude_cols is None:
            found = made("CSVDataset", specs, *inputs, defaults)
        else:
            left_out = as_tensor(exclude_cols, dtypes.i64, "exclude_cols")
            found = made("CSVDatasetV2", specs, *inputs, defaults, left_out)
        super().__init__(found._variant_tensor, specs)


def _columns(select_cols: Any) -> Any:
    return np.zeros(0, np.int64) if select_cols is None else select_cols


def _default(value: Any) -> Tensor:
    if isinstance(value, DType) or (isinstance(value, type) and value is not bool):
        dtype = dtypes.as_dtype(value)
        return as_tensor(np.zeros(0, dtype.numpy), dtype)
    found = value if isinstance(value, Tensor) else as_tensor(value)
    return found


def make_csv_dataset(
    file_pattern: Any,
    batch_size: int,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
) -> Dataset:
    """Batches of the records of CSV files: a dict of vectors by the names of columns, or a pair of
    that and the label's vector.

    Names are those of the first line, dtypes what the first records allow, where they are not
    given. Raises `ValueError` for files of different columns and for unknown names.
    """
    files = _matching(file_pattern)
    opened = _opener(compression_type)
    if column_names is None:
        if not header:
            raise ValueError("Expected `column_names` or `header` arguments. Neither is provided.")
        column_names = _first_line(files, opened, field_delim, use_quote_delim)
    if len(column_names) != len(set(column_names)):
        raise ValueError("Cannot have duplicate column names.")
    chosen = None
    if select_columns is not None:
        chosen = sorted(_index(c, column_names) for c in select_columns)
    if column_defaults is not None:
        defaults = list(column_defaults)
    else:
        reader = _Guess(opened, field_delim, use_quote_delim, na_value, header)
        defaults = reader.defaults(files, len(column_names), chosen, num_rows_for_inference)
    if chosen is not None and len(chosen) != len(defaults):
        raise ValueError("Length of `column_defaults` and `select_columns` must match.")
    names = list(column_names) if chosen is None else [column_names[c] for c in chosen]
    if label_name is not None and label_name not in names:
        raise ValueError("`label_name` provided must be one of the columns.")

    def read(name: Any) -> Dataset:
        found: Dataset = CsvDataset(
            name,
            defaults,
            compression_type,
            None,
            header,
            field_delim,
            use_quote_delim,
            na_value,
            chosen,
        )
        return found.ignore_errors() if ignore_errors else found

    def named(*columns: Tensor) -> Any:
        features = collections.OrderedDict(zip(names, columns))
        if label_name is None:
            return features
        label = features.pop(label_name)
        return features, label

    dataset = Dataset.from_tensor_slices(as_tensor(files, dtypes.string, "filenames"))
    if shuffle:
        dataset = dataset.shuffle(len(files), shuffle_seed)
    side_by_side = num_parallel_reads or 1
    dataset = dataset.interleave(read, side_by_side, 1)
    if num_epochs != 1 and shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed).repeat(num_epochs)
    elif shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    elif num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(named)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _matching(file_pattern: Any) -> list[str]:
    """Raises `ValueError` where nothing matches."""
    patterns = file_pattern if isinstance(file_pattern, list | tuple) else [file_pattern]
    found = Glob(patterns)
    if not found:
        raise ValueError(f"No files match `file_pattern` {file_pattern}.")
    return found


def _index(column: Any, names: Sequence[str]) -> int:
    if isinstance(column, str):
        return list(names).index(column)
    if not 0 <= column < len(names):
        raise ValueError(f"Column index {column} is out of range")
    return column


def _opener(compression_type: str | None) -> Callable[[str], list[str]]:
    def lines(name: str) -> list[str]:
        if compression_type == "GZIP":
            with gzip.open(name, "rt", newline="") as file:
                return file.read().splitlines(keepends=True)
        with open(name, "rb") as file:
            data = file.read()
        if compression_type == "ZLIB":
            data = zlib.decompress(data)
        return data.decode().splitlines(keepends=True)

    return lines


def _records(lines: list[str], delimiter: str, quotes: bool) -> Any:
    return csv.reader(
        lines, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    )


def _first_line(
    files: Sequence[str], opened: Callable[[str], list[str]], delimiter: str, quotes: bool
) -> list[str]:
    found = [next(_records(opened(name)[:1], delimiter, quotes), None) for name in files]
    if found[0] is None:
        raise ValueError(f"Received empty header line in file {files[0]}.")
    if any(one != found[0] for one in found):
        raise ValueError("All input CSV files must have the same column names in the header row.")
    return found[0]


class _Guess:
    """What dtypes columns have, from the first records of files."""

    def __init__(
        self,
        opened: Callable[[str], list[str]],
        delimiter: str,
        quotes: bool,
        missing: str,
        header: bool,
    ) -> None:
        self._opened, self._delimiter, self._quotes = opened, delimiter, quotes
        self._missing, self._header = missing, header

    def defaults(
        self, files: Sequence[str], count: int, chosen: Sequence[int] | None, most: int | None
    ) -> list[Any]:
        columns = list(range(count)) if chosen is None else list(chosen)
        kinds = [0] * len(columns)
        seen = 0
        for name in files:
            records = _records(self._opened(name), self._delimiter, self._quotes)
            for number, record in enumerate(records):
                if self._header and not number:
                    continue
                if most is not None and seen >= most:
                    break
                if len(record) != count:
                    raise ValueError(
                        f"Problem inferring types: CSV row {number} has {len(record)} number of "
                        f"fields. Expected: {count}."
                    )
                seen += 1
                for k, column in enumerate(columns):
                    kinds[k] = self._kind(record[column], kinds[k])
        found = [GUESSED[kind] for kind in kinds]
        empty: list[Any] = [b"" if t is dtypes.string else 0 for t in found]
        return [as_tensor([e], t) for e, t in zip(empty, found)]

    def _kind(self, field: str, least: int) -> int:
        """The first dtype from `least` on that holds the field."""
        if field in ("", self._missing):
            return least
        for kind in range(least, len(GUESSED)):
            if _holds(GUESSED[kind], field):
                return kind
        return len(GUESSED) - 1


def _holds(dtype: DType, field: str) -> bool:
    if dtype is dtypes.string:
        return True
    try:
        if dtype in (dtypes.i32, dtypes.i64):
            limits = np.iinfo(dtype.numpy)
            return limits.min <= int(field) <= limits.max
        value = float(field)
    except ValueError:
        return False
    return dtype is dtypes.f64 or not np.isinf(np.float32(value)) or np.isinf(value)
