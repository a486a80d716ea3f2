"""Features of examples, read as bytes, against protobuf's own reading of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from flowc.encoding import example_parts as parts
from flowc.encoding.fields import bytes_field, float_field, varint_field
from flowc.encoding.wire import varint_bytes
from flowc.proto.example_pb2 import Example, Feature, SequenceExample

EXTREMES = (0, 1, 127, 128, 300, 2**31, 2**63 - 1, -1, -(2**63))
KINDS = {parts.BYTES_LIST: 1, parts.FLOAT_LIST: 2, parts.INT64_LIST: 3}


def int_feature(*values: int) -> bytes:
    return Feature(int64_list={"value": values}).SerializeToString()


def float_feature(*values: float) -> bytes:
    return Feature(float_list={"value": values}).SerializeToString()


def byte_feature(*values: bytes) -> bytes:
    return Feature(bytes_list={"value": values}).SerializeToString()


def unpacked(kind: int, values: Sequence[float]) -> bytes:
    """A list with a field for each of its numbers, as older writers have it."""
    write = float_field if kind == parts.FLOAT_LIST else varint_field
    return bytes_field(KINDS[kind], b"".join(write(1, v) for v in values))  # type: ignore[operator]


def in_pieces(feature: bytes, kind: int, unknown: bool) -> bytes:
    """The feature's list in two fields, which protobuf merges; perhaps with an unknown field."""
    other = Feature.FromString(feature)
    tail = bytes_field(9, b"future") if unknown else b""
    return bytes_field(KINDS[kind], b"") + other.SerializeToString() + tail


def random_feature(rng: random.Random, kind: int) -> bytes:
    count = rng.choice((0, 1, 1, 2, 5))
    if kind == parts.BYTES_LIST:
        sizes = (0, 1, 2, 126, 127, 128, 300, 20000)
        made = byte_feature(*(rng.randbytes(rng.choice(sizes)) for _ in range(count)))
    elif kind == parts.FLOAT_LIST:
        made = float_feature(*(rng.uniform(-9, 9) for _ in range(count)))
    else:
        made = int_feature(*(rng.choice(EXTREMES) for _ in range(count)))
    form = rng.randrange(6)
    if form == 0 and kind != parts.BYTES_LIST:
        return unpacked(kind, values_of(made))  # type: ignore[arg-type]
    if form == 1:
        return in_pieces(made, kind, rng.random() < 0.5)
    return b"" if form == 2 else made


def values_of(feature: bytes) -> list[bytes] | list[float] | list[int]:
    found = Feature.FromString(feature)
    kind = found.WhichOneof("kind")
    return [] if kind is None else list(getattr(found, kind).value)


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        (parts.BYTES_LIST, parts.byte_strings),
        (parts.FLOAT_LIST, parts.floats),
        (parts.INT64_LIST, parts.ints),
    ],
)
def test_features_of_all_forms_are_read_as_protobuf_reads_them(
    kind: int, read: Callable[[Sequence[bytes]], tuple[object, np.ndarray]]
) -> None:
    rng = random.Random(kind)
    for _ in range(200):
        features = [random_feature(rng, kind) for _ in range(rng.choice((1, 2, 7)))]
        if rng.random() < 0.3:
            features = features[:1] * 4  # all of one length
        wanted = [values_of(feature) for feature in features]
        found, counts = read(features)
        assert list(found) == [v for values in wanted for v in values]  # type: ignore[call-overload]
        assert counts.tolist() == [len(values) for values in wanted]


def test_a_feature_of_another_kind_is_told_from_one_that_is_damaged() -> None:
    numbers, texts = int_feature(1), byte_feature(b"a")
    for read, other in (
        (parts.ints, texts),
        (parts.floats, numbers),
        (parts.byte_strings, numbers),
    ):
        with pytest.raises(parts.OtherKindError):
            read([other])
        with pytest.raises(ValueError, match=r"\S"):
            read([b"\x0a\x05\x0a"])
    cut_float = bytes_field(2, bytes_field(1, b"\0\0\0"))
    cut_int = bytes_field(3, bytes_field(1, b"\x80"))
    endless = bytes_field(3, bytes_field(1, b"\x80" * 10 + b"\x01"))
    with pytest.raises(ValueError, match=r"\S"):
        parts.floats([float_feature(1.0), cut_float])
    for damaged in (cut_int, endless):
        with pytest.raises(ValueError, match=r"\S"):
            parts.ints([int_feature(1), damaged])
        with pytest.raises(ValueError, match=r"\S"):
            parts.ints([damaged])


def test_the_kind_of_a_feature() -> None:
    for feature, kind in (
        (b"", 0),
        (byte_feature(), parts.BYTES_LIST),
        (byte_feature(b"x" * 200), parts.BYTES_LIST),
        (float_feature(1.5, 2.5), parts.FLOAT_LIST),
        (int_feature(7), parts.INT64_LIST),
        (unpacked(parts.INT64_LIST, [1, 2]), parts.INT64_LIST),
        (in_pieces(float_feature(1.5), parts.FLOAT_LIST, True), parts.FLOAT_LIST),
        (bytes_field(9, b"future"), 0),
    ):
        assert parts.kind_of(feature) == kind, feature


def test_the_values_of_one_feature_alone() -> None:
    def alone(feature: bytes, kind: int, count: int) -> list[object] | None:
        found = parts.lone_values(feature, kind, count)
        return None if found is None else found.tolist()

    assert alone(float_feature(1.5, 2.5), parts.FLOAT_LIST, 2) == [1.5, 2.5]
    assert alone(float_feature(1.5, 2.5), parts.FLOAT_LIST, 1) is None
    assert alone(int_feature((1.5).__trunc__()), parts.FLOAT_LIST, 1) is None
    assert alone(byte_feature(b"abc"), parts.BYTES_LIST, 1) == [b"abc"]
    assert alone(byte_feature(b"abc", b"d"), parts.BYTES_LIST, 2) is None
    assert alone(byte_feature(b""), parts.BYTES_LIST, 1) is None
    for value in (0, 1, 127, 128, 2**14, 2**55 - 1, 2**56 - 1):
        assert alone(int_feature(value), parts.INT64_LIST, 1) == [value]
    for feature in (int_feature(2**56), int_feature(-1), int_feature(1, 2), int_feature()):
        assert alone(feature, parts.INT64_LIST, 1) is None
    assert alone(bytes_field(3, bytes_field(1, b"\x80")), parts.INT64_LIST, 1) is None


def test_examples_give_their_features_by_key_and_others_are_errors() -> None:
    example = Example()
    example.features.feature["a"].int64_list.value.append(3)
    found = parts.example_parts(example.SerializeToString())
    assert dict(found) == {"a": int_feature(3)}
    sequence = SequenceExample()
    sequence.context.feature["c"].float_list.value.append(0.5)
    sequence.feature_lists.feature_list["l"].feature.add().bytes_list.value.append(b"x")
    sequence.feature_lists.feature_list["l"].feature.add()
    context, lists = parts.sequence_parts(sequence.SerializeToString())
    assert dict(context) == {"c": float_feature(0.5)}
    assert list(parts.features_of(lists["l"])) == [byte_feature(b"x"), b""]
    for read in (parts.example_parts, parts.sequence_parts, parts.features_of):
        with pytest.raises(ValueError, match=r"\S"):
            read(b"\x0a\xff" + varint_bytes(3))
