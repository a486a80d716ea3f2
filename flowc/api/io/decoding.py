"""`tf.io`: strings as columns, raw numbers, tensors, other strings; files as strings."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.api.framework.raw_ops import call
from flowc.api.math.reductions import one_of
from flowc.graph import Operation, Tensor
from flowc.graph.building.creation import create, output


def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Tensor]:
    """The columns of lines of comma-separated values, each in the shape of `records`.
    `record_defaults`: for each column a tensor of one element, for fields that are blank or
    `na_value`, or of none, where every line must have the field; its dtype (float32, float64,
    int32, int64, string) is the column's. `select_cols`: the columns to take, in order.

    Raises `TypeError` for defaults that are no list, and `ValueError` where there are none, or
    other columns than defaults; a run raises
    `InvalidArgumentError` for another number of fields, quotes out of place, and fields that are no
    number."""
    if not isinstance(record_defaults, list | tuple):
        raise TypeError(
            "Expected list for 'record_defaults' argument to 'DecodeCSV' Op, not "
            f"{record_defaults!r}."
        )
    if not record_defaults:
        raise ValueError(
            "Attr 'OUT_TYPE' of 'DecodeCSV' Op passed list of length 0 less than minimum 1."
        )
    if select_cols is not None:
        if any(b <= a for a, b in itertools.pairwise(select_cols)):
            raise ValueError("select_cols is not strictly increasing.")
        if select_cols and select_cols[0] < 0:
            raise ValueError("select_cols contains negative values.")
        if len(select_cols) != len(record_defaults):
            raise ValueError("Length of select_cols and record_defaults do not match.")
    return call(
        "DecodeCSV",
        records,
        [_default(value) for value in record_defaults],
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=list(select_cols or ()),
        name=name,
    )


def _default(value: Any) -> Any:
    """Numbers of Python as float32 and int32."""
    if isinstance(value, Tensor | np.ndarray):
        return value
    array = np.asarray(value)
    narrow = {"f": np.float32, "i": np.int32}.get(array.dtype.kind)
    return array.astype(narrow) if narrow else value


def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Tensor:
    """The bytes of strings of one length as numbers of a dtype: with an axis more. A run raises
    `InvalidArgumentError` for lengths that differ, and for one that is no multiple of the dtype's
    size."""
    strings = one_of(input_bytes, "input_bytes", bytes, "bytes")
    if out_type is None:
        raise ValueError("decode_raw() missing 1 positional argument: 'out_type'")
    return output("DecodeRaw", strings, out_type=out_type, little_endian=little_endian, name=name)


def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Tensor:
    """Strings that were compressed ("ZLIB", "GZIP", "" for not) as they were. A run raises
    `DataLossError` for what is damaged, `InvalidArgumentError` for another compression. Strings of
    any shape."""
    return output("DecodeCompressed", **locals())


def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """A tensor as a string, a scalar, that `parse_tensor` reads. Of any dtype and shape;
    of a variant, only the form is kept. Raises `ValueError` for what is no tensor."""
    return output("SerializeTensor", **locals())


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """The tensor that a string, a scalar, holds. A run raises `InvalidArgumentError` for what is
    none, or of another dtype."""
    return output("ParseTensor", **locals())


def decode_json_example(json_examples: Any, name: str | None = None) -> Tensor:
    """Serialized `Example`s from such in JSON. A run raises `InvalidArgumentError` for what is
    none. Strings of any shape."""
    return output("DecodeJSONExample", **locals())


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """What a file holds: a scalar string. A run raises `NotFoundError`, `FailedPreconditionError`
    for a folder."""
    return output("ReadFile", **locals())


def write_file(filename: Any, contents: Any, name: str | None = None) -> Operation:
    """Writes a string, a scalar, to a file, whose folder is made. A run raises
    `FailedPreconditionError` for a folder."""
    return create("WriteFile", [filename, contents], None, name)


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """The paths of files that fit a pattern, or one of several (a vector), in order. A vector of
    strings. Raises `TypeError` for what is no string."""
    return output("MatchingFiles", **locals())
