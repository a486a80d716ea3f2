"""TensorProto -> NumPy.

In: a TensorProto message, or one whose content lies elsewhere (in a file's bytes). Out: a read-only
array. Invariant: nothing is allocated before dtype, shape and content were found to agree, and a
tensor of equal elements takes the memory of one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.encoding.wire import pieces, varints
from flowc.errors import InvalidModelError, ResourceExhaustedError, UnsupportedError
from flowc.ir.types import MAX_RANK as HELD_RANK
from flowc.proto.tensor_pb2 import DataType, TensorProto

MAX_RANK = 254  # that TensorFlow takes
MAX_ELEMENTS = 1 << 47
MAX_BYTES = 1 << 30  # of one tensor that has to be filled in; mapped and equal ones take no memory

FIELDS: dict[DType, str] = {
    dtypes.f32: "float_val",
    dtypes.f64: "double_val",
    dtypes.i64: "int64_val",
    dtypes.u32: "uint32_val",
    dtypes.u64: "uint64_val",
    dtypes.bool_: "bool_val",
    dtypes.f16: "half_val",
    dtypes.bf16: "half_val",
    dtypes.f8e5m2: "float8_val",
    dtypes.f8e4m3fn: "float8_val",
    dtypes.c64: "scomplex_val",
    dtypes.c128: "dcomplex_val",
    dtypes.string: "string_val",
    dtypes.resource: "resource_handle_val",
    dtypes.variant: "variant_val",
}  # every other number goes into int_val
VALID_ENUMS = frozenset(DataType.values()) - {0}


@dataclass(frozen=True, slots=True)
class MappedTensor:
    """A tensor whose content is a view of what was read. `proto` is the message without it."""

    proto: TensorProto
    content: memoryview


def data_type(dtype: DType) -> DataType:
    """A dtype's number. Protobuf's enums are ints, which its stubs have as a class of their own."""
    return cast(DataType, dtype.enum)


def _halves(values: Sequence[int]) -> np.ndarray:
    found = np.fromiter(values, np.int64, len(values))
    if found.size and (found.min() < 0 or found.max() > 0xFFFF):
        raise ValueError("a half_val is outside 16 bits")
    return found.astype(np.uint16)


def _objects(values: Any) -> np.ndarray:
    found = np.empty(len(values), object)
    found[:] = list(values)
    return found


def _array(values: Any, dtype: DType) -> np.ndarray:
    """The values of a field, before the dtype's own view."""
    if not dtype.size:
        return _objects(values)
    if dtype in (dtypes.f16, dtypes.bf16):
        return _halves(values)
    if isinstance(values, bytes):
        return np.frombuffer(values, np.uint8)
    if dtype not in FIELDS and dtype is not dtypes.i32:  # narrower than the field
        return np.fromiter(values, np.int64, len(values)).astype(dtype.numpy)
    return np.fromiter(values, dtype.real_dtype.numpy, len(values))


def check_enum(enum: int, where: str, node: str | None = None) -> None:
    if enum not in VALID_ENUMS:
        raise InvalidModelError(f"{where}: {enum} is not the number of a dtype", node=node)


def element_type(enum: int, where: str) -> DType:
    """The dtype of a DataType number. Raises `InvalidModelError` for a number of no dtype, and
    `UnsupportedError` for a dtype of TensorFlow's that flowc does not support."""
    check_enum(enum, where)
    try:
        return dtypes.from_enum(enum)
    except TypeError:
        name = DataType.Name(enum)
        raise UnsupportedError(f"{where}: flowc has no dtype {name}") from None


def shape_of(shape: Any, where: str) -> tuple[int, ...]:
    """The sizes of a fully defined TensorShapeProto. Raises `InvalidModelError` where it is
    none."""
    if shape.unknown_rank:
        raise InvalidModelError(f"{where}: the shape of a value cannot have an unknown rank")
    sizes = tuple(d.size for d in shape.dim)
    elements = 1
    for size in sizes:
        if size < 0:
            raise InvalidModelError(f"{where}: the shape {list(sizes)} has a negative size")
        elements *= size
    if len(sizes) > MAX_RANK or elements > MAX_ELEMENTS:
        raise InvalidModelError(
            f"{where}: a tensor of rank {len(sizes)} with {elements} elements is beyond the limits "
            f"(rank {MAX_RANK}, {MAX_ELEMENTS} elements)"
        )
    return sizes


def check_tensor(tensor: TensorProto | MappedTensor, where: str) -> None:
    """Raises `InvalidModelError` where dtype, shape and content do not fit, without decoding."""
    proto, content = _parts(tensor)
    check_enum(proto.dtype, where)
    elements = math.prod(shape_of(proto.tensor_shape, where))
    try:
        dtype = dtypes.from_enum(proto.dtype)
    except TypeError:
        return  # a dtype that flowc cannot compute with: an error when the value is asked for
    if len(content):
        if dtype.size and elements and len(content) != elements * dtype.size:
            raise InvalidModelError(
                f"{where}: {elements} elements of {dtype} take {elements * dtype.size} bytes, "
                f"found {len(content)}"
            )
        return
    given = len(getattr(proto, FIELDS.get(dtype, "int_val"))) // (2 if dtype.is_complex else 1)
    if given > max(elements, 1):  # TensorFlow writes what would fill an empty tensor, too
        raise InvalidModelError(
            f"{where}: the shape {[d.size for d in proto.tensor_shape.dim]} has {elements} "
            f"elements, found {given} values"
        )


def _parts(tensor: TensorProto | MappedTensor) -> tuple[TensorProto, bytes | memoryview]:
    if isinstance(tensor, MappedTensor):
        return tensor.proto, tensor.content
    return tensor, tensor.tensor_content


def decode_tensor(tensor: TensorProto | MappedTensor, where: str) -> np.ndarray:
    """The value of a TensorProto, read-only; `where` names it in errors (`node 'x', attr 'value'`).

    Fewer values than elements mean that the last one is repeated, none at all means zeros, as in
    TensorFlow. Strings come as an object array of bytes; handles as their messages.
    """
    proto, content = _parts(tensor)
    dtype = element_type(proto.dtype, where)
    sizes = shape_of(proto.tensor_shape, where)
    elements = math.prod(sizes)
    check_tensor(tensor, where)
    if len(sizes) > HELD_RANK:
        raise UnsupportedError(
            f"{where}: a tensor of {len(sizes)} dimensions, expected at most {HELD_RANK}"
        )
    if elements == 0:
        found = np.empty(sizes, dtype.numpy)
    elif dtype is dtypes.resource and len(proto.resource_handle_val) != elements:
        raise InvalidModelError(f"{where}: {elements} handles of resources are not there")
    elif len(content):
        found = _from_content(content, dtype, elements, where).reshape(sizes)
    else:
        found = _from_fields(proto, dtype, elements, sizes, where)
    found.flags.writeable = False
    return found


def _from_content(content: bytes | memoryview, dtype: DType, n: int, where: str) -> np.ndarray:
    if dtype is dtypes.string:
        return _objects(split_strings(memoryview(content), n, where))
    if not dtype.size:
        raise InvalidModelError(f"{where}: a {dtype} cannot stand as raw bytes")
    if dtype is dtypes.bool_:
        return np.frombuffer(content, np.uint8).astype(np.bool_)
    return np.frombuffer(content, dtype.numpy)


def split_strings(content: memoryview, n: int, where: str) -> list[bytes]:
    """n strings: their lengths as varints, then their bytes."""
    try:
        lengths, at = varints(content, n)
    except (IndexError, ValueError):
        raise InvalidModelError(f"{where}: the lengths of {n} strings are cut off") from None
    if at + sum(lengths) != len(content):
        raise InvalidModelError(
            f"{where}: {n} strings take {at + sum(lengths)} bytes, found {len(content)}"
        )
    return list(pieces(content, at, lengths))


def _from_fields(
    proto: TensorProto, dtype: DType, n: int, sizes: tuple[int, ...], where: str
) -> np.ndarray:
    values = getattr(proto, FIELDS.get(dtype, "int_val"))
    if not len(values):
        empty: Any = b"" if dtype is dtypes.string else None if not dtype.size else 0
        return np.broadcast_to(np.array(empty, dtype.numpy), sizes)
    try:
        found = _array(values, dtype)
    except (ValueError, OverflowError) as error:
        raise InvalidModelError(f"{where}: {error}") from None
    if dtype.is_complex and len(found) % 2:
        raise InvalidModelError(f"{where}: {len(found)} parts do not make complex numbers")
    if found.dtype != dtype.numpy:
        found = found.view(dtype.numpy)
    if len(found) == 1:
        return np.broadcast_to(found.reshape(()), sizes)
    if len(found) < n:
        if n * max(dtype.size, 8) > MAX_BYTES:
            raise ResourceExhaustedError(f"{where}: {n} elements of {dtype} to be filled in")
        found = np.concatenate([found, np.broadcast_to(found[-1:], (n - len(found),))])
    return found.reshape(sizes)
