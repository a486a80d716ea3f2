"""Plain values -> AttrValue and TensorProto, as TensorFlow's own Python encodes them.

In: values of graph/attrs.py. Out: messages. Part of graph/export.py: protobuf stays inside the two.
Invariant: the same value always gives the same bytes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.encoding.tensor_proto import FIELDS, data_type
from flowc.errors import UsageError
from flowc.graph.attrs import AttrPlaceholder, Attrs, FunctionRef
from flowc.graph.shape import TensorShape
from flowc.ir.signature import OpSignature
from flowc.proto.graph_pb2 import AttrValue
from flowc.proto.meta_graph_pb2 import SaverDef
from flowc.proto.queue_runner_pb2 import QueueRunnerDef
from flowc.proto.tensor_pb2 import TensorProto, TensorShapeProto
from flowc.proto.variable_pb2 import SaveSliceInfoDef, VariableDef

# The dtypes of which TensorFlow writes several elements as raw content.
_RAW = frozenset({
    dtypes.f16, dtypes.bf16, dtypes.f32, dtypes.f64, dtypes.i8, dtypes.i16, dtypes.i32, dtypes.i64,
    dtypes.u8, dtypes.u32, dtypes.u64, dtypes.qi8, dtypes.qu8, dtypes.qi16, dtypes.qu16,
    dtypes.qi32, dtypes.f8e5m2, dtypes.f8e4m3fn,
})  # fmt: skip
_LIST_FIELDS = {bool: "b", int: "i", float: "f", bytes: "s"}


def fill_shape(proto: TensorShapeProto, sizes: Sequence[int | None] | None) -> None:
    """Writes a shape: -1 for an unknown size, `unknown_rank` for None."""
    if sizes is None:
        proto.unknown_rank = True
        return
    for size in sizes:
        proto.dim.add(size=-1 if size is None else int(size))


def tensor_proto(value: np.ndarray, dtype: DType | None = None) -> TensorProto:
    """An array as TensorFlow's `make_tensor_proto` writes it: one element in its typed field,
    several of most dtypes as raw little-endian content. One that was broadcast from an element is
    written as that."""
    array = np.asarray(value)
    dtype = dtype or dtypes.as_dtype(array.dtype)
    proto = TensorProto(dtype=data_type(dtype))
    proto.tensor_shape.SetInParent()
    fill_shape(proto.tensor_shape, array.shape)
    if array.size and not any(array.strides):
        array = array.reshape(-1)[:1]
    if dtype is dtypes.string:
        proto.string_val.extend(_as_bytes(v) for v in array.reshape(-1))
    elif not dtype.size:
        _fill_handles(proto, array, dtype)
    elif array.size > 1 and dtype in _RAW:
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        proto.tensor_content = np.ascontiguousarray(little).tobytes()
    else:
        flat = np.ascontiguousarray(array).reshape(-1)
        if FIELDS.get(dtype) == "float8_val":
            proto.float8_val = flat.tobytes()
            return proto
        if dtype in (dtypes.f16, dtypes.bf16):
            flat = flat.view(np.uint16)
        elif dtype.is_complex:
            flat = flat.view(np.float32 if dtype is dtypes.c64 else np.float64)
        getattr(proto, FIELDS.get(dtype, "int_val")).extend(flat.tolist())
    return proto


def _fill_handles(proto: TensorProto, array: np.ndarray, dtype: DType) -> None:
    field = getattr(proto, FIELDS[dtype])
    for handle in array.reshape(-1):
        if handle is None:
            raise UsageError(f"a {dtype} without a handle cannot be written")
        field.add().MergeFromString(handle.SerializeToString())


def _as_bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def attr_value(value: Any, where: str = "") -> AttrValue:
    """The AttrValue of a plain value. Raises `UsageError` for what no attribute can hold."""
    proto = AttrValue()
    if isinstance(value, list):
        proto.list.SetInParent()
        for item in value:
            _append(proto.list, item, where)
        return proto
    field, plain = _classified(value, where)
    if field in ("shape", "tensor", "func"):
        _fill_message(getattr(proto, field), field, plain, where)
        getattr(proto, field).SetInParent()
    else:
        setattr(proto, field, plain)
    return proto


def _append(values: Any, item: Any, where: str) -> None:
    field, plain = _classified(item, where)
    if field == "placeholder":
        raise UsageError(f"{where}: a list cannot hold {item!r}")
    if field in ("shape", "tensor", "func"):
        _fill_message(getattr(values, field).add(), field, plain, where)
    else:
        getattr(values, field).append(plain)


def _classified(value: Any, where: str) -> tuple[str, Any]:
    """(field of AttrValue, what goes there)."""
    match value:
        case None | tuple() | TensorShape():
            return "shape", value.sizes if isinstance(value, TensorShape) else value
        case DType():
            return "type", value.enum
        case np.ndarray():
            return "tensor", value
        case FunctionRef():
            return "func", value
        case AttrPlaceholder(name):
            return "placeholder", name
        case str():
            return "s", value.encode()
        case np.generic():
            return _classified(value.item(), where)
        case _ if type(value) in _LIST_FIELDS:
            return _LIST_FIELDS[type(value)], value
        case _:
            raise UsageError(f"{where}: no attribute can hold {value!r} ({type(value).__name__})")


def _fill_message(proto: Any, field: str, value: Any, where: str) -> None:
    match field:
        case "shape":
            fill_shape(proto, value)
        case "tensor":
            proto.CopyFrom(tensor_proto(value))
        case "func":
            proto.name = value.name
            fill_attrs(proto.attr, value.attrs, where)
        case _:
            raise AssertionError(field)


def as_kind(value: Any, kind: str, where: str) -> Any:
    """A value in the form of an attribute whose kind the op's record declares: a list of ints is a
    shape where a shape is meant, an int a float. Raises `UsageError` where it cannot be one."""
    if kind.startswith("list("):
        inner = kind[5:-1]
        if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
            raise UsageError(f"{where}: expected a {kind}, found {value!r}")
        return [as_kind(v, inner, where) for v in value]
    if isinstance(value, AttrPlaceholder):
        return value
    convert = _KINDS.get(kind)
    try:
        return value if convert is None else convert(value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{where}: expected a {kind}, found {value!r} ({error})") from None


def _function(value: Any) -> FunctionRef:
    return value if isinstance(value, FunctionRef) else FunctionRef(value.name)


_KINDS: dict[str, Callable[[Any], Any]] = {
    "int": operator.index,
    "float": float,
    "bool": bool,
    "string": _as_bytes,
    "type": dtypes.as_dtype,
    "shape": lambda value: TensorShape(value).sizes,
    "tensor": np.asarray,
    "func": _function,
}


def variable_def(**fields: Any) -> VariableDef:
    """A VariableDef with the given fields: what a collection says of a variable."""
    return VariableDef(**fields)


def save_slice_info_def(**fields: Any) -> SaveSliceInfoDef:
    """A SaveSliceInfoDef with the given fields: which part of a whole a variable holds."""
    return SaveSliceInfoDef(**fields)


def queue_runner_def(**fields: Any) -> QueueRunnerDef:
    """A QueueRunnerDef with the given fields: what a collection says of a queue's threads."""
    return QueueRunnerDef(**fields)


def saver_def(**fields: Any) -> SaverDef:
    """A SaverDef with the given fields: what a graph says of a Saver."""
    return SaverDef(**fields)


def _is_tensor_attr(signature: OpSignature | None, name: str) -> bool:
    declared = None if signature is None else signature.attrs.get(name)
    return declared is not None and declared.kind == "tensor"


def fill_attrs(
    target: Any, attrs: Mapping[str, Any], where: str, signature: OpSignature | None = None
) -> None:
    """Writes attributes into a map of AttrValues that may hold some of them already: those that a
    file gave go back as they came."""
    for name in [n for n in target if n not in attrs]:
        del target[name]
    for name in attrs:
        if attrs[name] is None and _is_tensor_attr(signature, name):
            continue  # without a default that flowc writes
        encoded = attrs.encoded(name) if isinstance(attrs, Attrs) else None
        if encoded is None:
            at = f"{where}, attr {name!r}"
            declared = None if signature is None else signature.attrs.get(name)
            value = attrs[name] if declared is None else as_kind(attrs[name], declared.kind, at)
            target[name].CopyFrom(attr_value(value, at))
        elif isinstance(encoded, AttrValue):
            target[name].CopyFrom(encoded)
        else:  # a tensor whose content is still in its file
            tensor = target[name].tensor
            tensor.CopyFrom(encoded.proto)
            tensor.tensor_content = bytes(encoded.content)
