"""The nodes of a GraphDef, one by one.

In: the bytes of a GraphDef, or a parsed one. Out: NodeDef messages with their attributes.
Invariant: the content of a big constant is not copied: it stays a view of what was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf.message import DecodeError

from flowc.encoding.tensor_proto import MappedTensor
from flowc.encoding.wire import BYTES, FileBytes, fields
from flowc.proto.graph_pb2 import GraphDef, NodeDef
from flowc.proto.tensor_pb2 import TensorProto

BIG = 4096  # bytes of a node from which on its constants are looked for
NODE_FIELD = 1
ATTR_FIELD = 5
_TENSOR_OF_ATTR = 8
_CONTENT_OF_TENSOR = 4

Node = tuple[NodeDef, Mapping[str, Any]]


def parsed_nodes(graph_def: GraphDef) -> Iterator[Node]:
    """The nodes of a parsed GraphDef."""
    for node in graph_def.node:
        yield node, node.attr


Span = tuple[int, int]  # where a node begins and ends in its GraphDef


def split_graph_def(region: FileBytes) -> tuple[list[Span], GraphDef]:
    """Where the nodes of a GraphDef lie, and the GraphDef without them."""
    nodes: list[Span] = []
    rest: list[memoryview] = []
    for number, kind, start, begin, end in fields(region):
        if number == NODE_FIELD and kind == BYTES:
            nodes.append((begin, end))
        else:
            rest.append(region.view[start:end])
    return nodes, parse(GraphDef, b"".join(rest), region)


def parse(message_type: Any, content: bytes | memoryview, region: FileBytes) -> Any:
    """A message from its bytes. Raises `InvalidModelError` with the place in the file."""
    try:
        return message_type.FromString(content)
    except DecodeError as error:
        name = message_type.DESCRIPTOR.name
        raise region.fail(0, f"no {name}: {error}", hint="the file seems to be damaged") from None


def mapped_nodes(region: FileBytes, nodes: list[Span]) -> Iterator[Node]:
    """The nodes at these places of a GraphDef."""
    view = region.view
    for begin, end in nodes:
        if end - begin >= BIG:
            yield _big_node(region.part(begin, end))
            continue
        try:
            node = NodeDef.FromString(view[begin:end])  # type: ignore[arg-type]
        except DecodeError:
            node = parse(NodeDef, view[begin:end], region.part(begin, end))
        yield node, node.attr


def _big_node(region: FileBytes) -> Node:
    """A node whose tensors stay views where they can; other attributes are parsed as usual."""
    kept: list[memoryview] = []
    mapped: dict[str, MappedTensor] = {}
    for number, kind, start, begin, end in fields(region):
        found = None
        if number == ATTR_FIELD and kind == BYTES and end - begin >= BIG:
            found = _mapped_attr(region.part(begin, end))
        if found is None or found[0] in mapped:
            kept.append(region.view[start:end])
        else:
            mapped[found[0]] = found[1]
    node = parse(NodeDef, b"".join(kept), region)
    return node, ({**node.attr, **mapped} if mapped else node.attr)


def _mapped_attr(entry: FileBytes) -> tuple[str, MappedTensor] | None:
    """(name, tensor) of a map entry that is a tensor of raw content and nothing else."""
    found = list(fields(entry))
    if [f[0] for f in found] != [1, 2]:
        return None
    (_, _, _, begin, end), (_, kind, _, value_begin, value_end) = found
    if kind != BYTES:
        return None
    value = entry.part(value_begin, value_end)
    inside = list(fields(value))
    if [f[:2] for f in inside] != [(_TENSOR_OF_ATTR, BYTES)]:
        return None
    tensor = value.part(inside[0][3], inside[0][4])
    rest: list[memoryview] = []
    content: memoryview | None = None
    for number, field_kind, start, content_begin, content_end in fields(tensor):
        if number == _CONTENT_OF_TENSOR and field_kind == BYTES and content is None:
            content = tensor.view[content_begin:content_end]
        else:
            rest.append(tensor.view[start:content_end])
    if content is None or len(content) < BIG // 2:
        return None
    try:
        name = str(entry.view[begin:end], "utf-8")
    except UnicodeDecodeError:
        return None
    return name, MappedTensor(parse(TensorProto, b"".join(rest), tensor), content)
