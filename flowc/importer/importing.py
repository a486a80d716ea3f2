"""`import_graph_def`: a GraphDef into a Graph that may hold operations already.

In: a GraphDef message (flowc's, TensorFlow's), its bytes, or a path. Out: operations in the graph,
and the elements that were asked for. Invariant: an import that fails adds no operation.

Unlike `load_graph`, which accepts unknown ops until a fetch needs them, it accepts what
TensorFlow's own does: ops that TensorFlow or flowc knows, or that are functions, with the inputs
and attrs that their signatures say. Defaults of attrs that are left out are filled in.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from flowc.encoding.tensorflow_ops import tensorflow_ops
from flowc.encoding.wire import FileBytes, open_region, parts
from flowc.errors import (
    InvalidArgumentError,
    InvalidModelError,
    NotFoundError,
    UsageError,
    did_you_mean,
)
from flowc.graph.building.conversion import as_tensor
from flowc.graph.default import get_default_graph
from flowc.graph.device import parse_device
from flowc.graph.encode import as_kind
from flowc.graph.graph import PRODUCER, Graph
from flowc.graph.naming import OPERATION_NAME
from flowc.graph.op_info import signature_of
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.graph.verify import malformed, operation_faults
from flowc.importer.formats import Encoding, Kind, detect, parse_text
from flowc.importer.graphdef import add_graph_def, set_versions, sources
from flowc.importer.metagraph import GRAPH_FIELD
from flowc.importer.nodes import mapped_nodes, parsed_nodes, split_graph_def
from flowc.ir.op import tf_names
from flowc.ir.signature import REQUIRED
from flowc.ir.traversal import inputs_first
from flowc.proto.graph_pb2 import GraphDef


def import_graph_def(
    graph_def: Any,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    graph: Graph | None = None,
) -> list[Any] | None:
    """Adds the nodes of `graph_def` to `graph` (the default graph), under the prefix `name`
    (TensorFlow's own default, `import`, for None; none at all for an empty name).

    `input_map`: names of inputs in `graph_def` -> tensors of the graph, or values, that take their
    place. Returns what `return_elements` names: operations (`a`) and tensors (`a:0`; what takes
    its place where `input_map` has it). The control dependencies, devices and control flow that the
    graph is in are those of the new operations, as of all others. Raises
    `InvalidModelError` for a malformed graph, `NotFoundError` for an op that nobody knows,
    `UsageError` for names that are not there.
    """
    graph = graph if graph is not None else get_default_graph()
    if input_map is not None and not isinstance(input_map, Mapping):
        raise TypeError(
            f"Argument `input_map` must be a dictionary. Obtained {type(input_map).__name__}"
        )
    if not all(isinstance(element, str) for element in return_elements or ()):
        raise TypeError(
            f"Argument `return_elements` must be a list of strings. Obtained {return_elements!r}."
        )
    nodes, rest, where = _read(graph_def)
    _check_versions(rest, where)
    with graph.name_scope(name if name is not None else "import") as prefix:
        replaced = {_key(k): _replacing(graph, v) for k, v in (input_map or {}).items()}
    if not len(graph.get_operations()) and graph.encoded is None:
        set_versions(graph, rest)
    made = add_graph_def(
        graph, nodes, rest, prefix=prefix, input_map=replaced, where=where, check=_complete
    )
    if graph.is_in_blocks:
        new = set(made.values())
        graph.take_into_blocks(
            inputs_first(made.values(), lambda op: (s for s in sources(op) if s in new))
        )
    if return_elements is None:
        return None
    tensors = {k if ":" in k else f"{k}:0": v for k, v in replaced.items()}
    return [_returned(made, tensors, element) for element in return_elements]


def extend_graph(graph: Graph, graph_def: bytes) -> None:
    """Adds the nodes of a GraphDef, or of a MetaGraphDef's graph, to `graph` under their own names;
    they may take what the graph has. Raises `InvalidArgumentError` for a name that it has, else as
    `import_graph_def`; a graph that fails is not changed."""
    part = graph_part(FileBytes(memoryview(graph_def), "graph_def"))
    nodes, rest, where = _read(part)
    _check_versions(rest, where)
    added = list(nodes)
    names = dict.fromkeys(node.name for node, _ in added)
    for name in names:
        if name in graph:
            raise InvalidArgumentError(
                f"GraphDef argument to Extend includes node '{name}', which was created by a "
                "previous call to Create or Extend in this session.",
                node=name,
            )
    there = {i: _there(graph, i) for node, _ in added for i in node.input if _node(i) not in names}
    if not len(graph.get_operations()):
        set_versions(graph, rest)
    known = {name: element for name, element in there.items() if element is not None}
    add_graph_def(graph, added, rest, input_map=known, where=where, check=_complete)


def graph_part(region: FileBytes) -> FileBytes:
    """The GraphDef of a MetaGraphDef; what is none is given back."""
    if not len(region):
        return region
    kind, encoding = detect(region)
    if kind is not Kind.META_GRAPH:
        return region
    if encoding is not Encoding.BINARY:
        content = parse_text(region, kind, encoding).graph_def.SerializeToString()
        return FileBytes(memoryview(content), region.name)
    found = parts(region, GRAPH_FIELD)
    return found[0] if len(found) == 1 else region


def _node(name: str) -> str:
    return name.removeprefix("^").partition(":")[0]


def _there(graph: Graph, name: str) -> Tensor | Operation | None:
    """What an input's name means in a graph, if anything."""
    if _node(name) not in graph:
        return None
    op = graph.get_operation_by_name(_node(name))
    if name.startswith("^"):
        return op
    index = name.partition(":")[2] or "0"
    return op.output(int(index)) if index.isdigit() and int(index) < len(op.outputs) else None


def _read(source: Any) -> tuple[Any, GraphDef, str]:
    """The nodes, what else the GraphDef holds, and how to call it in messages."""
    if isinstance(source, str | os.PathLike):
        region = open_region(source)
    elif isinstance(source, bytes | bytearray | memoryview):
        region = FileBytes(memoryview(source), "graph_def")
    elif isinstance(source, FileBytes):
        region = source
    elif hasattr(source, "SerializeToString"):
        return *_split(FileBytes(memoryview(source.SerializeToString()), "graph_def")), "graph_def"
    else:
        raise TypeError(f"graph_def must be a GraphDef, bytes or a path, not {type(source)}")
    if len(region) == 0:
        return iter(()), GraphDef(), region.name
    kind, encoding = detect(region)
    if kind is not Kind.GRAPH:
        raise UsageError(
            f"{region.name}: a {kind}, and import_graph_def takes a GraphDef",
            hint="flowc.load_graph reads every kind of model",
        )
    if encoding is Encoding.BINARY:
        return *_split(region), region.name
    message = parse_text(region, kind, encoding)
    return parsed_nodes(message), message, region.name


def _check_versions(rest: GraphDef, where: str) -> None:
    versions = rest.versions
    if versions.min_consumer > PRODUCER:
        raise InvalidModelError(
            f"{where}: GraphDef min consumer version {versions.min_consumer} above current version "
            f"{PRODUCER}: it needs a newer reader"
        )
    if PRODUCER in versions.bad_consumers:
        raise InvalidModelError(f"{where}: GraphDef disallows consumer version {PRODUCER}")


def _complete(operations: Collection[Operation]) -> None:
    """Checks operations against the signatures of their ops, fills in defaults of attrs and writes
    devices in full. Those that only runtimes make are left for whoever needs them."""
    operations = [op for op in operations if not op.type.startswith("_")]
    for op in operations:
        if not OPERATION_NAME.fullmatch(op.name):
            raise InvalidModelError(
                f"Node '{op.name}': Node name contains invalid characters", node=op.name
            )
        if op.device:
            op.device = _device(op)
        _check_known(op)
        signature = signature_of(op.type)
        for key, attr in {} if signature is None else signature.attrs.items():
            if key not in op.attrs:
                default = attr.default  # where there is none, the fault is found below
                if default is not REQUIRED:
                    default = as_kind(default, attr.kind, f"attr {key!r}")
                op.attrs[key] = default
    faults = [fault for op in operations for fault in operation_faults(op)]
    if faults:
        raise malformed(faults)


def _device(op: Operation) -> str:
    """The device that a node names, in full."""
    try:
        return parse_device(op.device).to_string()
    except ValueError as error:
        raise InvalidModelError(f"Node '{op.name}': {error}", node=op.name) from None


def _check_known(op: Operation) -> None:
    kind = op.type
    known = signature_of(kind) is not None or kind in op.graph.functions
    if not known and kind not in tensorflow_ops():
        near = did_you_mean(kind, tf_names())
        raise NotFoundError(
            f"Op type not registered '{kind}' in binary running on this machine. Make sure the Op "
            "and Kernel are registered in the binary running in this process.",
            node=op.name,
            hint=near,
        )


def _split(region: FileBytes) -> tuple[Any, GraphDef]:
    places, rest = split_graph_def(region)
    nodes: Any = mapped_nodes(region, places)
    return nodes, rest


def _key(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError("input_map must be a dictionary of names")
    return name


def _replacing(graph: Graph, value: Any) -> Tensor | Operation:
    """What takes the place of an input: an element of the graph, or a constant of a value."""
    if isinstance(value, Tensor | Operation):
        return graph.as_graph_element(value)
    with graph.as_default(), graph.name_scope("_inputs"):
        return as_tensor(value)


def _returned(
    made: Mapping[str, Operation], replaced: Mapping[str, Tensor | Operation], name: str
) -> Any:
    if name in replaced:
        return replaced[name]
    op_name, colon, index = name.partition(":")
    op = made.get(op_name)
    if op is None or (colon and not index.isdigit()):
        what = "tensor" if colon else "node"
        raise UsageError(f"Requested return {what} {name!r} not found in graph def")
    if not colon:
        return op
    count = len(op.outputs)
    if int(index) >= max(count, 1):
        raise UsageError(
            f"Invalid return output {index} of node {op_name!r}, which has {count} output(s)"
        )
    return op.output(int(index))
