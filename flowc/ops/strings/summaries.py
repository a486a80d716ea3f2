"""Summaries that a training script fetches beside its step: tagged numbers, as serialized protos.

In: tags and numbers, or summaries. Out: strings, made by host steps. Invariant: the bytes are those
of TensorFlow's `Summary`, whose values are one after another, each with its tag.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.op import Inference, define
from flowc.ir.types import Dims, shown_dims
from flowc.ops.strings.string_values import host_step

Array = np.ndarray[Any, Any]

# Field 1 of both messages holds bytes: a value of a summary, and the tag of a value.
_BYTES_FIELD_1 = 0x0A
# Field 2 of a value: its number, four bytes.
_SIMPLE_VALUE = 0x15


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _field(content: bytes) -> bytes:
    return bytes([_BYTES_FIELD_1]) + _varint(len(content)) + content


def _scalar(tags: Array, values: Array) -> Array:
    found = b""
    with np.errstate(over="ignore"):
        numbers = values.astype(np.float32).reshape(-1).tolist()
    for tag, number in zip(tags.reshape(-1).tolist(), numbers):
        name = _field(tag) if tag else b""
        found += _field(name + bytes([_SIMPLE_VALUE]) + struct.pack("<f", number))
    return np.array(found, object)


def _read_field(data: bytes) -> tuple[bytes, bytes]:
    """The bytes of field 1, with which the data begins, and what follows it."""
    size, shift, at = 0, 0, 1
    while True:
        size |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            break
    if data[0] != _BYTES_FIELD_1 or at + size > len(data):
        raise IndexError
    return data[at : at + size], data[at + size :]


def _tags(summary: bytes) -> Iterator[bytes]:
    try:
        while summary:
            value, summary = _read_field(summary)
            yield _read_field(value)[0] if value[:1] == bytes([_BYTES_FIELD_1]) else b""
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
