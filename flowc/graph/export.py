"""Graph -> GraphDef, and the CollectionDefs of a MetaGraphDef (`meta_export.py`).

In: a Graph, built here or imported. Out: messages that TensorFlow loads.
Invariant: deterministic; what came from a file and was not changed goes back byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf.any_pb2 import Any as AnyMessage

from flowc.encoding.context_names import QUEUE_RUNNERS, first_name, renamed
from flowc.encoding.tensor_proto import data_type
from flowc.graph.encode import attr_value, fill_attrs
from flowc.graph.function import BodyNode, Function, FunctionArg, InputRef
from flowc.graph.graph import Graph
from flowc.graph.op_info import signature_of
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.proto.graph_pb2 import FunctionDef, GraphDef, NodeDef, OpDef
from flowc.proto.meta_graph_pb2 import CollectionDef
from flowc.proto.tensor_pb2 import VersionDef

# The collections whose items are written as messages. Others name nodes, or hold plain values.
MESSAGE_COLLECTIONS = frozenset(
    {
        "cond_context",
        "global_step",
        "local_variables",
        "metric_variables",
        "model_variables",
        "moving_average_variables",
        QUEUE_RUNNERS,
        "savers",
        "trainable_variables",
        "variables",
        "while_context",
    }
)
_NO_FORM = object()  # an item that no collection of a file can hold


class NodeName(str):
    """The name of an operation or tensor that the graph need not have, as a collection holds it."""

    __slots__ = ()


def node_named(graph: Graph, name: str) -> Tensor | Operation | NodeName:
    """The operation or tensor that a collection names, where the graph has it."""
    op_name, _, index = name.partition(":")
    if op_name not in graph:
        return NodeName(name)
    op = graph.get_operation_by_name(op_name)
    return op.output(int(index)) if index.isdigit() and len(index) < 6 else op


def tensor_name(tensor: Tensor) -> str:
    """A tensor as node inputs name it: output 0 by the operation's name alone."""
    name = tensor.op.name
    return f"{name}:{tensor.value_index}" if tensor.value_index else name


def operation_to_node_def(op: Operation, add_shapes: bool = False) -> NodeDef:
    """The NodeDef of an operation."""
    node = NodeDef()
    _fill_node(node, op, add_shapes)
    return node


def _fill_node(node: NodeDef, op: Operation, add_shapes: bool) -> None:
    if op.encoded is not None:
        node.CopyFrom(op.encoded)
        del node.input[:]
    node.name = op.name
    node.op = op.type
    node.device = op.device
    node.input.extend(tensor_name(t) for t in op.inputs)
    controls = [c.name for c in op.control_inputs]
    if op.encoded is None:  # TensorFlow writes them in this order; a file's own order is kept
        controls.sort()
    node.input.extend(f"^{name}" for name in controls)
    fill_attrs(node.attr, op.attrs, f"node {op.name!r}", signature_of(op.type))
    if add_shapes and op.outputs:
        shapes: list[Any] = [t.shape for t in op.outputs]
        node.attr["_output_shapes"].CopyFrom(attr_value(shapes))


def graph_to_graph_def(
    graph: Graph, from_version: int | None = None, add_shapes: bool = False
) -> GraphDef:
    """The GraphDef of a graph: of all of it, or of the operations added after `from_version`."""
    graph_def = GraphDef()
    if graph.encoded is not None:
        graph_def.CopyFrom(graph.encoded)
    del graph_def.library.function[:]
    versions = VersionDef(
        producer=graph.versions.producer,
        min_consumer=graph.versions.min_consumer,
        bad_consumers=graph.versions.bad_consumers,
    )
    if graph_def.versions != versions:  # an old file may say nothing of versions
        graph_def.versions.CopyFrom(versions)
    for op in graph.get_operations()[from_version or 0 :]:
        _fill_node(graph_def.node.add(), op, add_shapes)
    for function in graph.functions.values():
        graph_def.library.function.add().CopyFrom(function_to_def(function))
    if graph.encoded is None:
        for function in graph.functions.values():
            if function.gradient is not None:
                graph_def.library.gradient.add(
                    function_name=function.name, gradient_func=function.gradient
                )
    in_file = graph.encoded is not None and graph.encoded.HasField("library")
    if not in_file and not graph_def.library.ByteSize():
        graph_def.ClearField("library")
    return graph_def


def function_to_def(function: Function) -> FunctionDef:
    """The FunctionDef of a function."""
    if function.encoded is not None:
        return function.encoded
    definition = FunctionDef()
    signature = definition.signature
    signature.name = function.name
    signature.is_stateful = function.is_stateful
    where = f"function {function.name!r}"
    for index, arg in enumerate(function.args):
        _fill_arg(signature.input_arg.add(), arg)
        if arg.attrs:
            fill_attrs(definition.arg_attr[index].attr, arg.attrs, where)
    fill_attrs(definition.attr, function.attrs, where)
    for node in function.body.nodes:
        _fill_body_node(definition.node_def.add(), node, function)
    for result, reference in zip(function.results, function.body.results, strict=True):
        _fill_arg(signature.output_arg.add(), result)
        definition.ret[result.name] = _reference(reference, function)
    for name in function.body.control_results:
        signature.control_output.append(name)
        definition.control_ret[name] = name
    return definition


def _fill_arg(proto: OpDef.ArgDef, arg: FunctionArg) -> None:
    proto.name = arg.name
    if arg.dtype is not None:
        proto.type = data_type(arg.dtype)
    proto.type_attr = arg.type_attr
    proto.number_attr = arg.number_attr
    proto.type_list_attr = arg.type_list_attr
    proto.is_ref = arg.is_ref


def _reference(reference: InputRef, function: Function) -> str:
    if reference[0] == "arg":
        return function.args[reference[1]].name
    return ":".join(str(part) for part in reference[1:])


def _fill_body_node(proto: NodeDef, node: BodyNode, function: Function) -> None:
    proto.name = node.name
    proto.op = node.type
    proto.device = node.device
    proto.input.extend(_reference(r, function) for r in node.inputs)
    proto.input.extend(f"^{name}" for name in node.control_inputs)
    where = f"node {node.name!r} of function {function.name!r}"
    fill_attrs(proto.attr, node.attrs, where, signature_of(node.type))


def collection_def(
    key: Any, values: Sequence[Any], scope: str | None = None
) -> CollectionDef | None:
    """The CollectionDef of what a collection holds, by the names in `scope`; None where nothing is
    left of it there, or where no form holds all items."""
    prefix = f"{scope.rstrip('/')}/" if scope else ""
    if key in MESSAGE_COLLECTIONS:
        items = [_item_message(key, value, prefix) for value in values]
    else:
        items = [_plain_item(value, prefix) for value in values]
    items = [item for item in items if item is not None]
    return _collection_of(items) if items else None


def _item_message(key: str, value: Any, prefix: str) -> Any:
    """The message of an item; None for one that is outside of a scope."""
    if hasattr(value, "to_proto"):
        return value.to_proto(prefix.removesuffix("/") or None)
    if isinstance(value, bytes) and prefix and key == QUEUE_RUNNERS:
        if not first_name(value).startswith(prefix):
            return None
        return renamed(key, value, lambda name: name.removeprefix(prefix))
    return value if isinstance(value, bytes) else _NO_FORM


def _plain_item(value: Any, prefix: str) -> Any:
    """An element of the graph, a variable too, is its name; None for one outside of a scope."""
    element = value._as_graph_element() if hasattr(value, "_as_graph_element") else value
    if not isinstance(element, Tensor | Operation | NodeName):
        return _NO_FORM if value is None else value
    name = element if isinstance(element, NodeName) else element.name
    return NodeName(name.removeprefix(prefix)) if name.startswith(prefix) else None


def _collection_of(items: Sequence[Any]) -> CollectionDef | None:
    collection = CollectionDef()
    if any(isinstance(v, NodeName) for v in items):
        if not all(isinstance(v, NodeName) for v in items):
            return None
        collection.node_list.value.extend(items)
    elif all(isinstance(v, AnyMessage) for v in items):
        collection.any_list.value.extend(items)
    elif all(hasattr(v, "SerializeToString") or isinstance(v, bytes | str) for v in items):
        collection.bytes_list.value.extend(_as_bytes(v) for v in items)
    elif all(type(v) is int and -(2**63) <= v < 2**63 for v in items):
        collection.int64_list.value.extend(items)
    elif all(type(v) in (int, float) for v in items) and any(type(v) is float for v in items):
        collection.float_list.value.extend(items)
    else:
        return None
    return collection


def _as_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    return value if isinstance(value, bytes) else value.SerializeToString()
