"""Serialized examples: their features by key, and the values of many features at once.

In: bytes of `Example` and `SequenceExample` messages, of any writer. Out: the bytes of the features
that are asked for, and their values as arrays. Invariant: features in the form that protobuf
writes (one packed list) are read without a message for each; all others by protobuf itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from flowc.encoding.wire import varint, varint_bytes
from flowc.proto.example_parts_pb2 import ExampleParts, FeatureListParts, SequenceExampleParts
from flowc.proto.example_pb2 import Feature

Array = np.ndarray[Any, Any]
Parts = Mapping[str, bytes]

# The first byte of a feature: field 1, 2 or 3, which holds bytes.
BYTES_LIST, FLOAT_LIST, INT64_LIST = 0x0A, 0x12, 0x1A
_KINDS = {None: 0, "bytes_list": BYTES_LIST, "float_list": FLOAT_LIST, "int64_list": INT64_LIST}
_VALUES = 0x0A  # field 1 of a list: a string, or packed numbers
_LONGEST_VARINT = 10


def example_parts(serialized: bytes) -> Parts:
    """The features of an `Example`. Raises `ValueError` for what is none."""
    return _message_of(ExampleParts, serialized, (1,)).features.part


def sequence_parts(serialized: bytes) -> tuple[Parts, Parts]:
    """The features of the context of a `SequenceExample`, and its feature lists. Raises
    `ValueError` for what is none."""
    found = _message_of(SequenceExampleParts, serialized, (1, 2))
    return found.context.part, found.feature_lists.part


def _message_of(kind: Any, serialized: bytes, known: Sequence[int]) -> Any:
    """A message whose own fields are `known`. As in TensorFlow, text of another field may end
    before it should."""
    try:
        return kind.FromString(serialized)
    except DecodeError as error:
        cut = _cut_field(serialized, known)
        if cut is None:
            raise ValueError(str(error)) from None
    return _message_of(kind, serialized[:cut], known)


def _cut_field(serialized: bytes, known: Sequence[int]) -> int | None:
    """The offset of the last field, if its number is not `known` and its length exceeds the rest of
    the message; None for any other fault."""
    view, at = memoryview(serialized), 0
    try:
        while at < len(view):
            begin, (tag, at) = at, varint(view, at)
            match tag & 7:
                case 0:
                    _, at = varint(view, at)
                case 1 | 5:
                    at += 8 if tag & 7 == 1 else 4
                case 2:
                    length, at = varint(view, at)
                    at += length
                    if at > len(view):
                        return None if tag >> 3 in known else begin
                case _:
                    return None
    except (IndexError, ValueError):  # of a number
        pass
    return None


def features_of(feature_list: bytes) -> Sequence[bytes]:
    """The features of a feature list. Raises `ValueError`."""
    try:
        return FeatureListParts.FromString(feature_list).feature
    except DecodeError as error:
        raise ValueError(str(error)) from None


def kind_of(feature: bytes) -> int:
    """BYTES_LIST, FLOAT_LIST or INT64_LIST; 0 for a feature without a list."""
    if not feature:
        return 0
    if feature[0] in (BYTES_LIST, FLOAT_LIST, INT64_LIST) and feature.startswith(
        _head(feature[0], len(feature))
    ):
        return feature[0]
    return _KINDS[Feature.FromString(feature).WhichOneof("kind")]


class OtherKindError(Exception):
    """A feature is a list of another kind than was asked for."""


def byte_strings(features: Sequence[bytes]) -> tuple[list[bytes], Array]:
    """The values of features that are lists of bytes, one behind the other, and how many each has.
    Raises `ValueError`, `OtherKindError`."""
    found: list[bytes] = []
    counts = np.ones(len(features), np.int64)
    heads = {length: _head(BYTES_LIST, length) for length in set(map(len, features))}
    for i, feature in enumerate(features):
        head = heads[len(feature)]
        if len(head) > 2 and feature.startswith(head):
            found.append(feature[len(head) :])
            continue
        values = _message(feature, BYTES_LIST).bytes_list.value
        counts[i] = len(values)
        found.extend(values)
    return found, counts


def floats(features: Sequence[bytes]) -> tuple[Array, Array]:
    """The values of features that are lists of floats, and how many each has. Raises as
    `byte_strings`."""
    packed, sizes = _packed(FLOAT_LIST, features)
    return packed.view("<f4"), sizes // 4


def ints(features: Sequence[bytes]) -> tuple[Array, Array]:
    """The values of features that are lists of integers, and how many each has. Raises as
    `byte_strings`."""
    packed, sizes = _packed(INT64_LIST, features)
    last = packed < 0x80  # of a varint
    if last.all():
        return packed.astype(np.int64), sizes
    after = np.concatenate([np.zeros(1, np.int64), np.cumsum(last)])
    ends = np.cumsum(sizes)
    counts = after[ends] - after[ends - sizes]
    places = np.flatnonzero(last)
    starts = np.concatenate([np.zeros(1, np.int64), places[:-1] + 1])
    values = np.zeros(len(places), np.uint64)
    for k in range(int((places - starts).max()) + 1):
        here = np.flatnonzero(starts + k <= places)
        part = (packed[starts[here] + k] & 0x7F).astype(np.uint64)
        values[here] |= part << np.uint64(7 * k)
    return values.view(np.int64), counts


def lone_values(feature: bytes, kind: int, count: int) -> Array | None:
    """The `count` values of one feature; None where there is more to say of it than that."""
    head = _head(kind, len(feature))
    if not feature.startswith(head):
        return None
    body = feature[len(head) :]
    if kind == FLOAT_LIST:
        return np.frombuffer(body, "<f4").copy() if len(body) == 4 * count else None
    if count != 1 or not body:
        return None
    if kind == BYTES_LIST:
        found = np.empty(1, object)
        found[0] = body
        return found
    if len(body) > 8 or body[-1] >= 0x80 or any(b < 0x80 for b in body[:-1]):
        return None
    return np.array([sum((b & 0x7F) << 7 * k for k, b in enumerate(body))], np.int64)


# -- packed lists


@lru_cache(1 << 12)
def _head(kind: int, length: int) -> bytes:
    """What a feature of `length` bytes begins with where it is one packed list, or one string: all
    before the values."""
    if length == 2:
        return bytes([kind, 0])
    for size in range(max(0, length - 22), length - 3):
        inner = bytes([_VALUES]) + varint_bytes(size)
        head = bytes([kind]) + varint_bytes(len(inner) + size) + inner
        if len(head) + size == length:
            return head
    return b"\xff\xff\xff"  # no feature begins so


def _packed(kind: int, features: Sequence[bytes]) -> tuple[Array, Array]:
    """The bytes of packed lists, one behind the other, and how many each has."""
    count = len(features)
    heads = {length: _head(kind, length) for length in set(map(len, features))}
    if len(heads) == 1:
        ((length, head),) = heads.items()
        rows = np.frombuffer(b"".join(features), np.uint8).reshape(count, length)
        if len(head) <= length and (rows[:, : len(head)] == np.frombuffer(head, np.uint8)).all():
            packed = np.ascontiguousarray(rows[:, len(head) :])
            sizes = np.full(count, length - len(head), np.int64)
            if _is_whole(kind, packed.reshape(-1), sizes):
                return packed.reshape(-1), sizes
    pieces: list[bytes] = []
    for feature in features:
        head = heads[len(feature)]
        is_packed = feature.startswith(head)
        pieces.append(feature[len(head) :] if is_packed else _repacked(kind, feature))
    sizes = np.fromiter(map(len, pieces), np.int64, count)
    packed = np.frombuffer(b"".join(pieces), np.uint8)
    if not _is_whole(kind, packed, sizes):
        pieces = [_repacked(kind, feature) for feature in features]
        sizes = np.fromiter(map(len, pieces), np.int64, count)
        packed = np.frombuffer(b"".join(pieces), np.uint8)
    return packed, sizes


def _is_whole(kind: int, packed: Array, sizes: Array) -> bool:
    """Whether each list has whole numbers. Protobuf says what is wrong with others."""
    if kind == FLOAT_LIST:
        return not (sizes % 4).any()
    if packed.max(initial=0) < 0x80:  # each byte is a number
        return True
    ends = np.cumsum(sizes)[sizes > 0] - 1
    if (packed[ends] >= 0x80).any():
        return False
    longest = np.diff(np.flatnonzero(packed < 0x80), prepend=-1)
    return not len(longest) or int(longest.max()) <= _LONGEST_VARINT


def _repacked(kind: int, feature: bytes) -> bytes:
    """The numbers of a feature in any form, packed."""
    message = _message(feature, kind)
    if kind == FLOAT_LIST:
        return np.array(message.float_list.value, "<f4").tobytes()
    return b"".join(varint_bytes(v & 0xFFFFFFFFFFFFFFFF) for v in message.int64_list.value)


def _message(feature: bytes, kind: int) -> Feature:
    try:
        found = Feature.FromString(feature)
    except DecodeError as error:
        raise ValueError(str(error)) from None
    if _KINDS[found.WhichOneof("kind")] not in (0, kind):
        raise OtherKindError
    return found
