"""DecodeCSV: lines of comma-separated values as one tensor a column.

In: lines, a default for each column. Out: a host step: columns of the dtypes of the defaults.
Invariant: quotes, blanks and errors are TensorFlow's: RFC 4180, and no line break outside quotes.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.strings.numbers import as_numbers

Array = np.ndarray[Any, Any]

_SHOWN = {dtypes.f32: "float", dtypes.f64: "double"}  # others by their names
_NO_PLAIN = re.compile(rb'["\r\n]')


def _fields(line: bytes, delimiter: bytes, quotes: bool) -> list[bytes]:
    """The fields of a line. Raises `InvalidArgumentError` for quotes that are out of place."""
    if not line:
        return []
    if not quotes:
        return line.split(delimiter)
    if _NO_PLAIN.search(line) is None:
        return line.split(delimiter)
    found: list[bytes] = []
    at, size = 0, len(line)
    while True:
        if at < size and line[at : at + 1] == b'"':
            field, at = _quoted(line, at + 1, delimiter)
        else:
            end = line.find(delimiter, at)
            end = size if end < 0 else end
            field, at = line[at:end], end
            if _NO_PLAIN.search(field):
                raise InvalidArgumentError("Unquoted fields cannot have quotes/CRLFs inside")
        found.append(field)
        if at >= size:
            return found
        at += 1  # the delimiter


def _quoted(line: bytes, at: int, delimiter: bytes) -> tuple[bytes, int]:
    """A field whose quote is behind it, and the position of what ends it."""
    pieces: list[bytes] = []
    while True:
        end = line.find(b'"', at)
        if end < 0:
            raise InvalidArgumentError(
                "Quoted field has to end with quote followed by delim or end"
            )
        pieces.append(line[at:end])
        following = line[end + 1 : end + 2]
        if not following or following == delimiter:
            return b'"'.join(pieces), end + 1
        if following != b'"':
            raise InvalidArgumentError("Quote inside a string has to be escaped by another quote")
        at = end + 2


def _decode(
    inputs: Sequence[Any],
    types: Sequence[DType],
    *,
    field_delim: str,
    use_quote_delim: bool,
    na_value: str,
    select_cols: Sequence[int],
) -> list[Array]:
    delimiter = field_delim.encode("utf-8", "surrogateescape")
    if len(delimiter) != 1:
        raise InvalidArgumentError("field_delim should be only 1 char")
    lines, count = np.asarray(inputs[0], object), len(types)
    rows: list[list[bytes]] = []
    for i, line in enumerate(lines.reshape(-1).tolist()):
        fields = _fields(line, delimiter, use_quote_delim)
        if select_cols:
            fields = [fields[k] for k in select_cols if k < len(fields)]
        if len(fields) != count:
            raise InvalidArgumentError(
                f"Expect {count} fields but have {len(fields)} in record {i}"
            )
        rows.append(fields)
    columns = zip(*rows) if rows else [()] * count
    blank = (b"", na_value.encode("utf-8", "surrogateescape"))
    given = zip(columns, inputs[1:], types)
    return [
        _column(k, column, default, dtype, blank).reshape(lines.shape)
        for k, (column, default, dtype) in enumerate(given)
    ]


def _column(
    k: int, column: Sequence[bytes], default: Any, dtype: DType, blank: tuple[bytes, bytes]
) -> Array:
    blanks = [i for i, field in enumerate(column) if field in blank]
    value = np.asarray(default, dtype.numpy).reshape(-1)
    if blanks and not value.size:
        raise InvalidArgumentError(f"Field {k} is required but missing in record {blanks[0]}!")
    if dtype is dtypes.string:
        found = np.empty(len(column), object)
        found[:] = column
    else:
        texts: Sequence[bytes] = column
        if blanks:
            texts = [b"0" if field in blank else field for field in column]
        found, wrong = as_numbers(texts, dtype)
        if wrong is not None:
            text = column[wrong].decode("utf-8", "surrogateescape")
            kind = _SHOWN.get(dtype, dtype.name)
            raise InvalidArgumentError(f"Field {k} in record {wrong} is not a valid {kind}: {text}")
    if blanks:
        found[blanks] = value[0]
    return found


def _infer(c: Inference) -> list[Dims]:
    chosen = c.attrs["select_cols"]
    count = len(c.inputs) - 1
    if chosen and len(chosen) != count:
        raise c.fail("Length of select_cols and record_defaults do not match.")
    if any(b <= a for a, b in itertools.pairwise(chosen)) or any(k < 0 for k in chosen):
        raise c.fail("select_cols is not strictly increasing.")
    for i in range(1, 1 + count):
        dims = c.dims(i)
        if len(dims) > 1 or (dims and isinstance(dims[0], int) and dims[0] > 1):
            raise c.fail("Shape of a default must be a length-0 or length-1 vector, or a scalar.")
    return [c.dims(0)] * count


host_op(
    "decode_csv",
    "DecodeCSV(records: string, record_defaults: OUT_TYPE; OUT_TYPE: list({f32, f64, i32, i64,"
    ' string}) >= 1, field_delim: string = ",", use_quote_delim: bool = True, na_value: string ='
    ' "", select_cols: list(int) = []) -> output: OUT_TYPE',
    _decode,
    infer=_infer,
    traits=frozenset({"by_element"}),
)
