"""Tensors as serialized TensorProtos, alone.

In: an array, or bytes. Out: bytes, or an array. Invariant: the bytes are those of TensorFlow, which
writes the elements as memory holds them, and strings one by one or,
for sparse tensors, packed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from flowc import dtypes
from flowc.encoding.tensor_proto import data_type, decode_tensor
from flowc.encoding.wire import varint_bytes
from flowc.errors import FlowcError
from flowc.proto.tensor_pb2 import TensorProto

Array = np.ndarray[Any, Any]


def tensor_bytes(array: Array) -> bytes:
    """The message of an array; objects are byte strings."""
    proto = _form_of(array)
    if array.dtype.hasobject:
        proto.string_val.extend(array.reshape(-1).tolist())
    else:
        proto.tensor_content = array.tobytes()
    return proto.SerializeToString()


def packed_bytes(array: Array) -> bytes:
    """The message of an array with strings in its content, too: their lengths, then their bytes."""
    proto = _form_of(array)
    if array.dtype.hasobject:
        texts: list[bytes] = array.reshape(-1).tolist()
        proto.tensor_content = b"".join([*(varint_bytes(len(t)) for t in texts), *texts])
    else:
        proto.tensor_content = array.tobytes()
    return proto.SerializeToString()


def _form_of(array: Array) -> TensorProto:
    dtype = dtypes.string if array.dtype.hasobject else dtypes.as_dtype(array.dtype)
    proto = TensorProto(dtype=data_type(dtype))
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    return proto


def array_of(serialized: bytes) -> Array:
    """The array of a message. Raises `ValueError` for what is none."""
    try:
        return decode_tensor(TensorProto.FromString(serialized), "a serialized tensor")
    except (DecodeError, FlowcError) as error:
        raise ValueError(str(error)) from None
