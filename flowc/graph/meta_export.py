"""Graph -> MetaGraphDef, as TensorFlow's `export_meta_graph` makes one.

In: a graph, and what of it is wanted: a name scope, collections, devices. Out: a message that
either program imports. Invariant: names in it are relative to the scope, and what the nodes take
from outside of it is named as unbound.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from flowc.encoding.tensor_proto import data_type
from flowc.encoding.tensorflow_ops import StatedOp, stated_ops
from flowc.graph.control_types import ENTER
from flowc.graph.encode import as_kind, attr_value
from flowc.graph.export import collection_def, graph_to_graph_def
from flowc.graph.graph import Graph
from flowc.graph.op_info import is_stateful, signature_of
from flowc.ir.signature import REQUIRED, Arg, AttrDef
from flowc.proto.graph_pb2 import GraphDef, NodeDef, OpDef
from flowc.proto.meta_graph_pb2 import MetaGraphDef
from flowc.version import GIT_VERSION, VERSION

UNBOUND = "$unbound_inputs_"  # before the names of inputs from outside an exported scope
UNBOUND_COLLECTION = "unbound_inputs"


def meta_graph_def(
    graph: Graph,
    *,
    graph_def: Any = None,
    saver_def: Any = None,
    collections: Iterable[Any] | None = None,
    scope: str | None = None,
    clear_devices: bool = False,
    strip_default_attrs: bool = False,
) -> MetaGraphDef:
    """`graph_def`: in place of the graph's own nodes. `collections`: names, all for None. `scope`:
    only what stands in it."""
    meta = MetaGraphDef()
    if graph_def is None:
        nodes = graph_to_graph_def(graph, add_shapes=True)
    else:
        if not hasattr(graph_def, "SerializeToString"):
            raise TypeError(
                f"graph_def must be of type GraphDef. Received type: {type(graph_def)}."
            )
        nodes = GraphDef.FromString(graph_def.SerializeToString())
    unbound = _strip_scope(nodes, scope) if scope else []
    if clear_devices:
        for node in (*nodes.node, *(n for f in nodes.library.function for n in f.node_def)):
            node.device = ""
    used = sorted(_op_types(nodes))
    meta.meta_info_def.tensorflow_version = VERSION
    meta.meta_info_def.tensorflow_git_version = GIT_VERSION
    meta.meta_info_def.stripped_op_list.op.extend(d for t in used if (d := op_def(t)) is not None)
    if strip_default_attrs:
        meta.meta_info_def.stripped_default_attrs = True
        for node in nodes.node:
            _strip_defaults(node)
    meta.graph_def.CopyFrom(nodes)
    if saver_def is not None:
        meta.saver_def.MergeFromString(saver_def.SerializeToString())
    _add_collections(meta, graph, collections, scope)
    if unbound:
        names = meta.collection_def[UNBOUND_COLLECTION].bytes_list.value
        names.extend(name.encode() for name in unbound)
    return meta


def _op_types(nodes: GraphDef) -> set[str]:
    found = {node.op for node in nodes.node}
    return found | {n.op for function in nodes.library.function for n in function.node_def}


# -- op definitions


def op_def(op_type: str) -> OpDef | None:
    """The OpDef of an op type, without descriptions; None for an op that flowc has no record of."""
    signature = signature_of(op_type)
    if signature is None:
        return None
    found = OpDef(name=op_type)
    for target, args in (
        (found.input_arg, signature.inputs),
        (found.output_arg, signature.outputs),
    ):
        for arg in args:
            _fill_arg(target.add(), arg)
    for attr in signature.attrs.values():
        _fill_attr(found.attr.add(), attr)
    stated = stated_ops().get(op_type)
    if stated is None:  # of others
        found.is_stateful = is_stateful(op_type)
    else:
        _fill_stated(found, stated)
    return found


def _fill_stated(found: OpDef, stated: StatedOp) -> None:
    """What TensorFlow says of the op, whatever the record makes of it."""
    for flag in stated.flags:
        setattr(found, flag, True)
    for attr in found.attr:
        if attr.name in stated.of_any_length:
            attr.has_minimum = True
        allowed = stated.allowed.get(attr.name)
        attr.allowed_values.list.ClearField("type")
        if allowed is not None:
            attr.allowed_values.list.type.extend(data_type(dtype) for dtype in allowed)
        elif not attr.allowed_values.list.s:
            attr.ClearField("allowed_values")
    if stated.deprecated[0]:
        found.deprecation.version, found.deprecation.explanation = stated.deprecated


def _fill_arg(proto: OpDef.ArgDef, arg: Arg) -> None:
    proto.name = arg.name
    proto.is_ref = arg.is_ref
    if arg.dtype is not None:
        proto.type = data_type(arg.dtype)
    if arg.number_attr is not None:
        proto.number_attr = arg.number_attr
    if arg.type_attr is not None:
        setattr(proto, "type_list_attr" if arg.is_list else "type_attr", arg.type_attr)


def _fill_attr(proto: OpDef.AttrDef, attr: AttrDef) -> None:
    proto.name, proto.type = attr.name, attr.kind
    if attr.default is not REQUIRED:
        value = as_kind(attr.default, attr.kind, f"attr {attr.name!r}")
        proto.default_value.CopyFrom(attr_value(value))
    if attr.minimum is not None:
        proto.has_minimum, proto.minimum = True, attr.minimum
    if attr.allowed is not None:
        inner = attr.kind.removeprefix("list(").removesuffix(")")
        values = [as_kind(value, inner, f"attr {attr.name!r}") for value in attr.allowed]
        proto.allowed_values.CopyFrom(attr_value(values))


def _strip_defaults(node: NodeDef) -> None:
    """Removes the attrs that say no more than the op's record."""
    signature = signature_of(node.op)
    for name, attr in () if signature is None else signature.attrs.items():
        if name in node.attr and attr.default is not REQUIRED:
            default = attr_value(as_kind(attr.default, attr.kind, f"attr {name!r}"))
            if node.attr[name] == default:
                del node.attr[name]


# -- scopes and collections


def _strip_scope(nodes: GraphDef, scope: str) -> list[str]:
    """Keeps the nodes of a scope, by their names in it; returns the inputs from outside."""
    prefix = scope.rstrip("/") + "/"
    kept = [node for node in nodes.node if node.name.startswith(prefix)]
    unbound: dict[str, None] = {}

    def inside(name: str) -> str:
        mark = "^" if name.startswith("^") else ""
        bare = name.removeprefix("^")
        if bare.startswith(prefix):
            return mark + bare.removeprefix(prefix)
        unbound[f"{mark}{UNBOUND}{bare}"] = None
        return f"{mark}{UNBOUND}{bare}"

    for node in kept:
        node.name = node.name.removeprefix(prefix)
        node.input[:] = [inside(name) for name in node.input]
        if "_class" in node.attr:
            groups = [_in_group(s, prefix.encode()) for s in node.attr["_class"].list.s]
            node.attr["_class"].list.s[:] = groups
        if node.op in ENTER:
            frame = node.attr["frame_name"]
            frame.s = frame.s.removeprefix(prefix.encode())
    copies = GraphDef()
    copies.node.extend(kept)
    del nodes.node[:]
    nodes.node.extend(copies.node)
    return sorted(unbound)


def _in_group(group: bytes, prefix: bytes) -> bytes:
    """`loc:@prefix/name`, which names the node that another is colocated with, as `loc:@name`."""
    head, at, name = group.partition(b"@")
    return head + at + name.removeprefix(prefix)


def _add_collections(
    meta: MetaGraphDef, graph: Graph, wanted: Iterable[Any] | None, scope: str | None
) -> None:
    keys: Collection[Any] = graph.get_all_collection_keys() if wanted is None else list(wanted)
    for key in keys:
        found = collection_def(key, graph.get_collection(key), scope)
        if found is not None:
            meta.collection_def[key].CopyFrom(found)


def as_json_text(message: MetaGraphDef) -> str:
    """The message as JSON, by the names of its fields."""
    from google.protobuf import json_format  # late: few files are JSON

    return json_format.MessageToJson(message, preserving_proto_field_name=True)
