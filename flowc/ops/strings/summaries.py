"""Summaries that a training script fetches beside its step: tagged numbers, as serialized protos.

In: tags and numbers, or summaries. Out: strings, made by host steps. Invariant: the bytes are those
of TensorFlow's `Summary`, whose values are one after another, each with its tag.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import as_dtype
from flowc.encoding.fields import (
    bytes_field,
    double_field,
    doubles_field,
    float_field,
    given,
    varint_field,
)
from flowc.encoding.tensor_proto import data_type
from flowc.errors import InvalidArgumentError
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference
from flowc.ir.lowering import Extracted
from flowc.ir.op import Attrs, define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.state.variables import value_of as value_of_bound
from flowc.ops.strings.string_values import host_step

Array = np.ndarray[Any, Any]

# Fields of Summary, and of the values in it.
_VALUE, _TAG, _SIMPLE_VALUE, _HISTO, _TENSOR, _METADATA = 1, 1, 2, 5, 8, 9
_NODE_NAME = 7
_BYTES_FIELD_1 = bytes_field(1, b"")[:1]


def value_of(tag: bytes, content: bytes) -> bytes:
    """A Summary of one value: its tag, and what `content` says of it."""
    return bytes_field(_VALUE, given(bytes_field(_TAG, tag), tag) + content)


def _scalar(tags: Array, values: Array) -> Array:
    found = b""
    with np.errstate(over="ignore"):
        numbers = values.astype(np.float32).reshape(-1).tolist()
    for tag, number in zip(tags.reshape(-1).tolist(), numbers):
        found += value_of(tag, float_field(_SIMPLE_VALUE, number))
    return np.array(found, object)


# -- histograms


@cache
def _limits() -> Array:
    """The upper ends of buckets, which grow by a tenth from 1e-12 to 1e20, on both sides of 0."""
    found, limit = list[float](), 1e-12
    while limit < 1e20:
        found.append(limit)
        limit *= 1.1
    found.append(sys.float_info.max)
    return np.array([*(-x for x in reversed(found)), 0.0, *found])


def _histogram(tag: Array, values: Array) -> Array:
    name = bytes(tag.reshape(-1)[0])
    numbers = values.astype(np.float64).reshape(-1)
    shown = name.decode("utf-8", "replace")
    if np.isnan(numbers).any():
        raise InvalidArgumentError(f"Nan in summary histogram for: {shown}")
    if np.isinf(numbers).any():
        raise InvalidArgumentError(f"Infinity in Histogram for: {shown}")
    return np.array(value_of(name, bytes_field(_HISTO, _histogram_fields(numbers))), object)


def _histogram_fields(numbers: Array) -> bytes:
    limits = _limits()
    places = np.searchsorted(limits, numbers, side="right")
    counts = np.bincount(places, minlength=len(limits)).tolist()
    ends: list[float] = []
    kept: list[float] = []
    for limit, count in zip(limits.tolist(), counts):
        if kept and not count and not kept[-1]:
            ends[-1] = limit  # one bucket stands for neighbours without numbers
        else:
            ends.append(limit)
            kept.append(float(count))
    largest = sys.float_info.max
    with np.errstate(over="ignore"):
        sums = float(sum(numbers.tolist())), float(sum((numbers * numbers).tolist()))
    least, most = (numbers.min(), numbers.max()) if numbers.size else (largest, -largest)
    stated = (float(least), float(most), float(numbers.size), *sums)
    found = b"".join(given(double_field(1 + k, x), x) for k, x in enumerate(stated))
    return found + doubles_field(6, ends) + doubles_field(7, kept)


# -- tensors


def _tensor_fields(array: Array) -> bytes:
    """A TensorProto: the content of numbers, and strings one by one."""
    is_text = array.dtype.hasobject
    dtype = dtypes.string if is_text else as_dtype(array.dtype)
    dims = (bytes_field(2, given(varint_field(1, n), n)) for n in array.shape)
    found = varint_field(1, data_type(dtype)) + bytes_field(2, b"".join(dims))
    if is_text:
        texts: list[bytes] = array.reshape(-1).tolist()
        return found + b"".join(bytes_field(8, text) for text in texts)
    return found + given(bytes_field(4, array.tobytes()), array.size)


def _tensor(tag: Array, tensor: Array, metadata: Array) -> Array:
    content = bytes_field(_TENSOR, _tensor_fields(tensor))
    about = bytes_field(_METADATA, bytes(metadata.reshape(-1)[0]))
    return np.array(value_of(bytes(tag.reshape(-1)[0]), content + about), object)


# -- merges


def _read_field(data: bytes) -> tuple[bytes, bytes]:
    """The bytes of field 1, with which the data begins, and what follows it."""
    size, shift, at = 0, 0, 1
    while True:
        size |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            break
    if data[:1] != _BYTES_FIELD_1 or at + size > len(data):
        raise IndexError
    return data[at : at + size], data[at + size :]


def _tags(summary: bytes) -> Iterator[bytes]:
    try:
        while summary:
            value, summary = _read_field(summary)
            yield _read_field(value)[0] if value[:1] == _BYTES_FIELD_1 else b""
    except IndexError:
        raise InvalidArgumentError("Could not parse one of the summary inputs") from None


def _merge(inputs: Sequence[Array]) -> Array:
    found = [bytes(x) for array in inputs for x in array.reshape(-1).tolist()]
    seen: set[bytes] = set()
    for tag in (tag for summary in found for tag in _tags(summary)):
        if tag and tag in seen:
            shown = tag.decode("utf-8", "replace")
            raise InvalidArgumentError(f"Duplicate tag {shown} found in summary inputs")
        seen.add(tag)
    return np.array(b"".join(found), object)


def _infer_scalar(c: Inference) -> Dims:
    tags, values = c.dims(0), c.dims(1)
    known = all(isinstance(d, int) for d in (*tags, *values))
    if len(tags) != len(values) or (known and tags != values):
        raise c.fail(
            f"tags and values are not the same shape: {shown_dims(tags)} != {shown_dims(values)}"
        )
    for x, y in zip(tags, values):
        c.equal(x, y)
    return ()


scalar_summary = define(
    "scalar_summary",
    "ScalarSummary(tags: string, values: T; T: {f32, f64, i32, u8, i16, i8, i64, bf16, u16,"
    " f16, u32, u64}) -> summary: string",
    infer=_infer_scalar,
    reference=_scalar,
    lowering=host_step(_scalar, "ScalarSummary"),
)

merge_summary = define(
    "merge_summary",
    "MergeSummary(inputs: N*string; N: int >= 1) -> summary: string",
    infer=lambda c: (),
    reference=_merge,
    lowering=host_step(lambda *inputs: _merge(inputs), "MergeSummary"),
)


def one_tag(c: Inference) -> None:
    """Checks that the tag is a scalar."""
    if c.rank(0) != 0:
        raise c.fail(f"tag must be scalar, found {shown_dims(c.dims(0))}")


def _infer_histogram(c: Inference) -> Dims:
    one_tag(c)
    return ()


def _infer_tensor(c: Inference) -> Dims:
    one_tag(c)
    if c.rank(2) != 0:
        raise c.fail("serialized_summary_metadata must be scalar")
    return ()


histogram_summary = define(
    "histogram_summary",
    "HistogramSummary(tag: string, values: T; T: {f32, f64, i32, u8, i16, i8, i64, bf16, u16,"
    " f16, u32, u64} = f32) -> summary: string",
    infer=_infer_histogram,
    reference=_histogram,
    lowering=host_step(_histogram, "HistogramSummary"),
)

tensor_summary = define(
    "tensor_summary",
    "TensorSummaryV2(tag: string, tensor: T, serialized_summary_metadata: string; T: type)"
    " -> summary: string",
    infer=_infer_tensor,
    reference=_tensor,
    lowering=host_step(_tensor, "TensorSummaryV2"),
)


def _of_node(tensor: Array, *, name: str) -> Array:
    content = bytes_field(_TENSOR, _tensor_fields(tensor))
    value = bytes_field(_NODE_NAME, name.encode()) + content
    return np.array(bytes_field(_VALUE, value), object)


define(
    "tensor_summary_of_node",
    "_TensorSummaryOfNode(tensor: T; T: type, name: string) -> summary: string",
    infer=lambda c: (),
    reference=_of_node,
    lowering=host_step(_of_node, "TensorSummary", "name"),
)


def _emit_of_node(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    return [x.b.tensor_summary_of_node(value_of_bound(x, inputs[0]), name=x.name)]


define(
    "tensor_summary_v1",
    'TensorSummary(tensor: T; T: type, description: string = "", labels: list(string) = [],'
    ' display_name: string = "") -> summary: string',
    infer=lambda c: (),
    lowering=Extracted(_emit_of_node),
)
