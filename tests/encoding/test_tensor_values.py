"""TensorProto messages: what cannot be the value of a tensor is an error that says why."""

from __future__ import annotations

import re

import numpy as np
import pytest

from flowc.encoding.tensor_message import packed_bytes
from flowc.encoding.tensor_proto import check_tensor, decode_tensor, split_strings
from flowc.encoding.text_messages import message_of_text
from flowc.errors import FlowcError, InvalidModelError, ResourceExhaustedError, UnsupportedError
from flowc.proto.tensor_pb2 import DataType, TensorProto


def tensor(text: str) -> TensorProto:
    return message_of_text(text, TensorProto)


def sizes(*dims: int) -> str:
    return f"tensor_shape {{ {' '.join(f'dim {{ size: {d} }}' for d in dims)} }}"


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("dtype: DT_HALF half_val: 70000", InvalidModelError, "a half_val is outside 16 bits"),
        ("dtype: DT_HALF half_val: -1", InvalidModelError, "a half_val is outside 16 bits"),
        ("dtype: DT_FLOAT tensor_shape { unknown_rank: true }", InvalidModelError, "unknown rank"),
        (f"dtype: DT_FLOAT {sizes(2, -3)}", InvalidModelError, "[2, -3] has a negative size"),
        (f"dtype: DT_FLOAT {sizes(1 << 40, 1 << 40)}", InvalidModelError, "beyond the limits"),
        (f"dtype: DT_FLOAT {sizes(*[1] * 255)}", InvalidModelError, "a tensor of rank 255"),
        (f"dtype: DT_FLOAT {sizes(*[1] * 254)}", UnsupportedError, "a tensor of 254 dimensions"),
        (f"dtype: DT_FLOAT {sizes(2)} tensor_content: 'abc'", InvalidModelError, "found 3"),
        (f"dtype: DT_FLOAT {sizes(1)} float_val: [1, 2]", InvalidModelError, "found 2 values"),
        (f"dtype: DT_RESOURCE {sizes(1)}", InvalidModelError, "1 handles of resources are not"),
        (f"dtype: DT_VARIANT {sizes(1)} tensor_content: 'a'", InvalidModelError, "as raw bytes"),
        (f"dtype: DT_COMPLEX64 {sizes(2)} scomplex_val: [1, 2, 3]", InvalidModelError, "3 parts"),
        (f"dtype: DT_STRING {sizes(2)} tensor_content: '\\001'", InvalidModelError, "are cut off"),
        (
            f"dtype: DT_STRING {sizes(2)} tensor_content: '\\001\\002ab'",
            InvalidModelError,
            "2 strings take 5 bytes, found 4",
        ),
        (
            f"dtype: DT_DOUBLE {sizes(1 << 28)} double_val: [1, 2]",
            ResourceExhaustedError,
            f"{1 << 28} elements of f64 to be filled in",
        ),
    ],
)
def test_no_value(text: str, kind: type[FlowcError], said: str) -> None:
    with pytest.raises(kind, match=f"^node 'c'.*{re.escape(said)}"):
        decode_tensor(tensor(text), "node 'c'")


def test_numbers_of_dtypes() -> None:
    with pytest.raises(InvalidModelError, match="999 is not the number of a dtype"):
        check_tensor(TensorProto(dtype=999), "t")  # type: ignore[arg-type]
    # Whoever does not ask for the value need not know the dtype.
    unknown = TensorProto(dtype=DataType.DT_UINT2)
    check_tensor(unknown, "t")
    with pytest.raises(UnsupportedError, match="t: flowc has no dtype DT_UINT2"):
        decode_tensor(unknown, "t")


def test_fewer_values_than_elements() -> None:
    filled = decode_tensor(tensor(f"dtype: DT_INT32 {sizes(2, 2)} int_val: [1, 2]"), "t")
    assert filled.tolist() == [[1, 2], [2, 2]]
    none = decode_tensor(tensor(f"dtype: DT_STRING {sizes(3)}"), "t")
    assert none.tolist() == [b""] * 3 and not none.flags.writeable
    complex_number = decode_tensor(tensor("dtype: DT_COMPLEX64 scomplex_val: [1, 2]"), "t")
    assert complex_number == 1 + 2j
    flags = decode_tensor(
        tensor(f"dtype: DT_BOOL {sizes(3)} tensor_content: '\\000\\001\\007'"), "t"
    )
    assert flags.tolist() == [False, True, True]


@pytest.mark.parametrize("array", [np.array([b"a", b"", b"bcd"], object), np.float32([[1], [2]])])
def test_packed_contents(array: np.ndarray) -> None:
    """Strings, too, stand in the content."""
    proto = TensorProto.FromString(packed_bytes(array))
    assert proto.tensor_content and not proto.string_val
    assert decode_tensor(proto, "t").tolist() == array.tolist()
    if array.dtype == object:
        assert split_strings(memoryview(proto.tensor_content), 3, "t") == array.tolist()
