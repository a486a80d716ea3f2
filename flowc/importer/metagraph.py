"""MetaGraphDef -> Graph: the graph with its collections, signatures and saver.

In: a MetaGraphDef as a file has it. Out: a Graph, and the rest of the message for writing back.
Invariant: what flowc does not use is kept byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flowc.encoding.tensor_proto import decode_tensor, element_type
from flowc.encoding.wire import FileBytes, parts, without_field
from flowc.errors import InvalidModelError
from flowc.graph.building.attr_values import decode_shape
from flowc.graph.export import node_named
from flowc.graph.graph import Graph
from flowc.graph.shape import TensorShape
from flowc.graph.signature import SPARSE_ROLES, Signature, TensorInfo
from flowc.importer.graphdef import add_graph_def, set_versions
from flowc.importer.nodes import Node, mapped_nodes, parse, parsed_nodes, split_graph_def
from flowc.proto.graph_pb2 import GraphDef
from flowc.proto.meta_graph_pb2 import CollectionDef, MetaGraphDef, SignatureDef
from flowc.proto.meta_graph_pb2 import TensorInfo as TensorInfoDef

GRAPH_FIELD = 2
# Signatures that SavedModels keep for themselves: each has one output, of its own name.
INTERNAL_SIGNATURES = frozenset({"__saved_model_init_op", "__saved_model_train_op"})


def read_graph_def(region: FileBytes) -> Graph:
    """A Graph from the bytes of a GraphDef."""
    nodes, rest = split_graph_def(region)
    return _graph_of(mapped_nodes(region, nodes), rest, region.name)


def graph_of_message(message: GraphDef, where: str) -> Graph:
    """A Graph from a parsed GraphDef."""
    rest = GraphDef()
    rest.CopyFrom(message)
    del rest.node[:]
    return _graph_of(parsed_nodes(message), rest, where)


def _graph_of(nodes: Iterable[Node], rest: GraphDef, where: str) -> Graph:
    graph = Graph()
    set_versions(graph, rest)
    add_graph_def(graph, nodes, rest, where=where)
    return graph


def read_meta_graph(region: FileBytes) -> tuple[Graph, MetaGraphDef]:
    """A Graph and the MetaGraphDef without its graph, from the bytes of a MetaGraphDef."""
    graphs = parts(region, GRAPH_FIELD)
    if len(graphs) != 1:
        found = "no graph" if not graphs else f"{len(graphs)} graphs"
        raise InvalidModelError(f"{region.name}: a MetaGraphDef with {found}; expected one")
    rest = parse(MetaGraphDef, without_field(region, GRAPH_FIELD), region)
    graph = read_graph_def(graphs[0])
    add_meta(graph, rest, region.name)
    return graph, rest


def meta_graph_of_message(message: MetaGraphDef, where: str) -> tuple[Graph, MetaGraphDef]:
    """The graph of a parsed MetaGraphDef, and the rest of the message."""
    graph = graph_of_message(message.graph_def, where)
    rest = MetaGraphDef()
    rest.CopyFrom(message)
    rest.ClearField("graph_def")
    add_meta(graph, rest, where)
    return graph, rest


def add_meta(graph: Graph, meta: MetaGraphDef, where: str) -> None:
    """Collections and signatures of `meta`, into `graph`."""
    _check_definitions(meta, where)
    for name, collection in sorted(meta.collection_def.items()):
        graph.collections[name] = _collection(graph, collection)
    for name, signature in sorted(meta.signature_def.items()):
        graph.signatures[name] = _signature(signature, f"{where}, signature {name!r}")


def _check_definitions(meta: MetaGraphDef, where: str) -> None:
    """What a model says of its ops is not used, and what it says of its first steps is their name
    alone; but one that contradicts itself was not written by TensorFlow."""
    for op in meta.meta_info_def.stripped_op_list.op:
        names = [attr.name for attr in op.attr]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidModelError(f"{where}: op {op.name!r} has two attrs named {twice!r}")
    for name in INTERNAL_SIGNATURES & meta.signature_def.keys():
        if name not in meta.signature_def[name].outputs:
            raise InvalidModelError(f"{where}: signature {name!r} has no output of that name")


def _signature(signature: SignatureDef, at: str) -> Signature:
    inputs, outputs = sorted(signature.inputs.items()), sorted(signature.outputs.items())
    defaults = sorted(signature.defaults.items())
    return Signature(
        {k: _tensor_info(v, f"{at}, input {k!r}") for k, v in inputs},
        {k: _tensor_info(v, f"{at}, output {k!r}") for k, v in outputs},
        signature.method_name,
        {k: decode_tensor(v, f"{at}, default of {k!r}") for k, v in defaults},
    )


def _collection(graph: Graph, collection: CollectionDef) -> list[Any]:
    """Nodes and tensors as such where the graph has them; messages stay as their bytes."""
    kind = collection.WhichOneof("kind")
    if kind is None:
        return []
    values = list(getattr(collection, kind).value)
    if kind != "node_list":
        return values
    return [node_named(graph, name) for name in values]


def _tensor_info(info: TensorInfoDef, where: str) -> TensorInfo:
    dtype = element_type(info.dtype, where) if info.dtype else None
    shape = TensorShape(decode_shape(info.tensor_shape, where))
    kind = info.WhichOneof("encoding")
    if kind == "coo_sparse":
        roles = {role: getattr(info.coo_sparse, f"{role}_tensor_name") for role in SPARSE_ROLES}
        return TensorInfo("", dtype, shape, roles)
    if kind == "composite_tensor":
        components = info.composite_tensor.components
        return TensorInfo("", dtype, shape, {str(i): c.name for i, c in enumerate(components)})
    if not info.name:
        raise InvalidModelError(f"{where}: the tensor has no name")
    return TensorInfo(info.name, dtype, shape)
