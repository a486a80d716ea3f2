"""AttrValue -> plain Python value (see graph/attrs.py for the table), and the checks of attributes.

In: an AttrValue message and the name of its node. Out: a value; `InvalidModelError` where it has
none.
"""

from __future__ import annotations

from typing import Any

from flowc.encoding.tensor_proto import (
    MAX_RANK,
    MappedTensor,
    check_enum,
    check_tensor,
    decode_tensor,
    element_type,
)
from flowc.errors import InvalidModelError
from flowc.graph.attrs import AttrPlaceholder, Attrs, Decode, FunctionRef
from flowc.proto.graph_pb2 import AttrValue
from flowc.proto.tensor_pb2 import DataType

REFERENCE = 100  # a dtype's number and this is that of references to it


def decoder(node: str) -> Decode:
    """Decodes the attributes of the node that is so named."""

    def decode(name: str, value: Any) -> Any:
        return decode_attr(value, f"node {node!r}, attr {name!r}", node)

    return decode


def decode_attr(value: AttrValue | MappedTensor, where: str, node: str | None = None) -> Any:
    """The plain value of an attribute. Raises `InvalidModelError` where it holds none."""
    if isinstance(value, MappedTensor):
        return decode_tensor(value, where)
    kind = value.WhichOneof("value")
    if kind is None:
        raise InvalidModelError(f"{where}: the attribute has no value", node=node)
    if kind == "list":
        return _decode_list(value.list, where, node)
    return _decode_one(kind, getattr(value, kind), where, node)


def _decode_one(kind: str, value: Any, where: str, node: str | None) -> Any:
    match kind:
        case "s" | "i" | "f" | "b":
            return value
        case "type":
            return element_type(value, where)
        case "shape":
            return decode_shape(value, where)
        case "tensor":
            return decode_tensor(value, where)
        case "func":
            if not value.name:
                raise InvalidModelError(f"{where}: a function without a name", node=node)
            encoded = value.attr
            return FunctionRef(value.name, Attrs(None, encoded, decoder(node or value.name)))
        case "placeholder":
            return AttrPlaceholder(value)
        case _:
            raise InvalidModelError(f"{where}: an attribute of unknown kind {kind!r}", node=node)


def _decode_list(values: Any, where: str, node: str | None) -> list[Any]:
    filled = [(field.name, found) for field, found in values.ListFields()]
    if len(filled) > 1:
        names = " and ".join(name for name, _ in filled)
        raise InvalidModelError(f"{where}: a list of {names} at once", node=node)
    return [_decode_one(name, v, where, node) for name, found in filled for v in found]


def decode_shape(shape: Any, where: str) -> tuple[int | None, ...] | None:
    """Sizes with None for -1; None for an unknown rank."""
    if shape.unknown_rank:
        return None
    sizes = tuple(None if d.size == -1 else d.size for d in shape.dim)
    if len(sizes) > MAX_RANK or any(s is not None and s < 0 for s in sizes):
        raise InvalidModelError(f"{where}: {list(sizes)} is no shape")
    return sizes


def check_attr(name: str, value: AttrValue | MappedTensor, node: str) -> None:
    """Raises `InvalidModelError` for an attribute without a value, a number that is no dtype, or a
    tensor whose parts do not fit; decodes nothing."""
    if isinstance(value, MappedTensor):
        check_tensor(value, f"node {node!r}, attr {name!r}")
        return
    kind = value.WhichOneof("value")
    if kind in ("i", "b", "s", "f", "func"):
        return
    where = f"node {node!r}, attr {name!r}"
    if kind is None:
        raise InvalidModelError(f"{where}: the attribute has no value", node=node)
    if not name:
        raise InvalidModelError(f"node {node!r}: an attribute has no name", node=node)
    if kind == "type":
        _check_type(name, value.type, where, node)
    elif kind == "tensor":
        check_tensor(value.tensor, where)
    elif kind == "list":
        for enum in value.list.type:
            _check_type(name, enum, where, node)
        for tensor in value.list.tensor:
            check_tensor(tensor, where)


def _check_type(name: str, enum: int, where: str, node: str) -> None:
    """A dtype that an op's signature asks for is one of values; the signature says what is a
    reference."""
    check_enum(enum, where, node)
    if enum > REFERENCE and not name.startswith("_"):
        raise InvalidModelError(
            f"{where}: {DataType.Name(enum)} is the dtype of a reference, expected one of values",
            node=node,
        )
