"""GraphDef -> Graph.

In: nodes and functions, from a file or a message. Out: operations in a Graph, in the file's order.
Invariant: after `add_graph_def` every input exists, no cycle but a loop's, all in linear time.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from flowc.encoding.tensor_proto import MappedTensor
from flowc.errors import (
    InvalidGraphError,
    InvalidModelError,
    ResourceExhaustedError,
    UsageError,
    did_you_mean,
)
from flowc.graph.attrs import Attrs
from flowc.graph.building.attr_values import check_attr, decoder
from flowc.graph.control_types import NEXT
from flowc.graph.graph import Graph, Versions
from flowc.graph.op_info import MAX_NODES, MAX_OUTPUTS, signature_of
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.importer.functions import read_function
from flowc.importer.nodes import Node
from flowc.ir.traversal import inputs_first
from flowc.proto.graph_pb2 import GraphDef
from flowc.proto.tensor_pb2 import DataType

SCALARS_ARE_OPEN = 21  # up to this version, a placeholder's shape of no sizes is an unknown one
# Attributes without which a node means nothing, whatever its record.
REQUIRED_ATTRS = {"Const": ("value", "dtype")}


def add_graph_def(
    graph: Graph,
    nodes: Iterable[Node],
    rest: GraphDef,
    *,
    prefix: str = "",
    input_map: Mapping[str, Tensor | Operation] | None = None,
    where: str = "the graph",
    check: Callable[[Collection[Operation]], None] | None = None,
) -> dict[str, Operation]:
    """Adds nodes and the functions of `rest` to `graph`; returns the operations by their old names.

    `prefix` stands before every name; `input_map` replaces inputs by tensors of the graph. Raises
    `InvalidModelError` for a graph that is malformed, `ResourceExhaustedError` for one of more than
    MAX_NODES nodes, and what `check` raises: no operation is added then.
    """
    with _without_collection():
        return _add(graph, nodes, rest, prefix, input_map or {}, where, check)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Keeps Python from looking for garbage among objects that are all alive: each look takes
    longer than the one before, and import would not be linear."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _add(
    graph: Graph,
    nodes: Iterable[Node],
    rest: GraphDef,
    prefix: str,
    input_map: Mapping[str, Tensor | Operation],
    where: str,
    check: Callable[[Collection[Operation]], None] | None,
) -> dict[str, Operation]:
    _add_functions(graph, rest, where)
    made: dict[str, Operation] = {}
    try:
        room = MAX_NODES - sum(len(f.node_def) for f in rest.library.function)
        _add_operations(made, graph, nodes, prefix, input_map, where, room)
        if rest.versions.producer <= SCALARS_ARE_OPEN:
            _open_placeholders(made.values())
        if check is not None:
            check(made.values())
    except BaseException:
        graph.remove_operations(made.values())
        raise
    return made


def _add_operations(
    made: dict[str, Operation],
    graph: Graph,
    nodes: Iterable[Node],
    prefix: str,
    input_map: Mapping[str, Tensor | Operation],
    where: str,
    room: int,
) -> None:
    texts: list[Sequence[str]] = []
    for node, attrs in nodes:
        if len(made) >= room:
            raise ResourceExhaustedError(f"{where}: a model of more than {MAX_NODES:,} nodes")
        op = _read_operation(graph, node, attrs, prefix, where)
        if node.name in made:
            raise InvalidModelError(f"{where}: two nodes are named {node.name!r}", node=node.name)
        made[node.name] = op
        texts.append(node.input)
    inputs = _InputResolver(made, input_map, where)
    connected: set[Operation] = set()
    in_order = True
    for (name, op), names in zip(made.items(), texts):
        inputs.connect(name, op, names)
        in_order = in_order and connected.issuperset(sources(op))
        connected.add(op)
    inputs.check_all_used()
    if not in_order:  # files that TensorFlow writes mostly are, and have no cycles then
        check_acyclic(made, where)


def _open_placeholders(operations: Iterable[Operation]) -> None:
    """Says in today's words which placeholders are of unknown rank: TensorFlow wrote the shape of a
    scalar for all shapes that were not known in full."""
    for op in operations:
        if op.type == "Placeholder" and op.attrs.get("shape") == ():
            op.attrs["shape"] = None


def set_versions(graph: Graph, rest: GraphDef) -> None:
    """Takes over the versions of an imported graph, and what else its file says."""
    versions = rest.versions
    graph.versions = Versions(
        versions.producer, versions.min_consumer, tuple(versions.bad_consumers)
    )
    graph.encoded = rest


def _read_operation(
    graph: Graph, node: Any, encoded: Mapping[str, Any], prefix: str, where: str
) -> Operation:
    name = node.name
    if not name or not node.op:
        what = f"node {name!r} has no op" if name else f"a {node.op or 'nameless'} node has no name"
        raise InvalidModelError(f"{where}: {what}", node=name or None)
    for key, value in encoded.items():
        check_attr(key, value, name)
    for key in REQUIRED_ATTRS.get(node.op, ()):
        if key not in encoded:
            raise InvalidModelError(
                f"{where}: {node.op} node {name!r} has no attr {key!r}, which it must have",
                node=name,
            )
    if node.op == "Const":
        _check_constant(name, encoded, where)
    attrs = Attrs(None, encoded, decoder(name))
    full_name = prefix + name
    if full_name in graph:
        full_name = graph.names.unique_full(full_name)
    op = Operation(graph, sys.intern(node.op), full_name, attrs)
    op.device = node.device
    op.encoded = node
    if "_class" in encoded and (prefix or not _is_texts(encoded["_class"])):
        _read_groups(attrs, prefix, name, where)
    graph.add_read_operation(op)
    return op


def _is_texts(value: Any) -> bool:
    """Whether an attr is a list of texts, found without decoding it."""
    if isinstance(value, MappedTensor) or value.WhichOneof("value") != "list":
        return False
    return all(field.name == "s" for field, _ in value.list.ListFields())


def _read_groups(attrs: Attrs, prefix: str, name: str, where: str) -> None:
    """The attr that says which operations are placed together."""
    groups = attrs["_class"]
    if not isinstance(groups, list) or not all(isinstance(group, bytes) for group in groups):
        raise InvalidModelError(
            f"{where}: node {name!r} has {groups!r} as its attr '_class', expected a list of texts",
            node=name,
        )
    if prefix and groups:
        attrs["_class"] = [_prefixed(group, prefix) for group in groups]


def _check_constant(name: str, encoded: Mapping[str, Any], where: str) -> None:
    """Raises `InvalidModelError` where the dtypes of a constant's attr and of its value differ."""
    value, wanted = encoded["value"], encoded["dtype"].type
    proto = value.proto if isinstance(value, MappedTensor) else value.tensor
    if proto.dtype != wanted:
        names = [DataType.Name(d) if d in DataType.values() else d for d in (proto.dtype, wanted)]
        raise InvalidModelError(
            f"{where}: Const node {name!r} has a value of {names[0]}, and its dtype is {names[1]}",
            node=name,
        )


def _prefixed(group: bytes, prefix: str) -> bytes:
    head = b"loc:@"
    return head + prefix.encode() + group[len(head) :] if group.startswith(head) else group


class _InputResolver:
    """Turns input names into tensors."""

    def __init__(
        self,
        made: Mapping[str, Operation],
        input_map: Mapping[str, Tensor | Operation],
        where: str,
    ) -> None:
        self.made = made
        self.where = where
        self.replaced = {k.removesuffix(":0"): v for k, v in input_map.items()}
        self.used: set[str] = set()
        self.counts: dict[str, int | None] = {}
        self.declared: dict[Operation, int] = {}

    def connect(self, name: str, op: Operation, texts: Sequence[str]) -> None:
        inputs: list[Tensor] = []
        controls: list[Operation] = []
        for text in texts:
            if text[:1] == "^":
                controls.append(self.control(text, name, op))
            elif controls:
                raise InvalidModelError(
                    f"{self.where}: input {text!r} of node {name!r} comes after control inputs",
                    node=name,
                )
            else:
                inputs.append(self.tensor(text, name, op))
        op.set_inputs(inputs)
        if controls:
            op.set_control_inputs(controls)

    def control(self, text: str, name: str, op: Operation) -> Operation:
        if text in self.replaced:
            self.used.add(text)
            found = self.replaced[text]
            return found.op if isinstance(found, Tensor) else found
        source = self.made.get(text[1:])
        if source is None:
            raise self.unknown(text, text[1:], name, op)
        return source

    def tensor(self, text: str, name: str, op: Operation) -> Tensor:
        if self.replaced and (key := text.removesuffix(":0")) in self.replaced:
            self.used.add(key)
            found = self.replaced[key]
            return found if isinstance(found, Tensor) else found.output(0)
        source = self.made.get(text)
        slot = 0
        if source is None:
            source_name, _, index = text.rpartition(":")
            source = self.made.get(source_name)
            if source is None:
                raise self.unknown(text, source_name or text, name, op)
            if not index.isdigit() or int(index) >= MAX_OUTPUTS:
                raise InvalidModelError(
                    f"{self.where}: input {text!r} of {op.type} node {name!r} asks for output "
                    f"{index!r}, which is no number of an output",
                    node=name,
                )
            slot = int(index)
        self.check_slot(source, slot, text, name, op)
        return source.output(slot)

    def check_slot(self, source: Operation, slot: int, text: str, name: str, op: Operation) -> None:
        count = self.fixed_count(source.type)
        if count is None:
            return
        if count < 0:
            if slot == 0:
                return
            count = self.declared_count(source)
        if slot >= count:
            raise InvalidModelError(
                f"{self.where}: {op.type} node {name!r} takes {text!r}, and {source.type} node "
                f"{source.name!r} has {count} output{'s' * (count != 1)}",
                node=name,
            )

    def fixed_count(self, op_type: str) -> int | None:
        """How many outputs every node of this type has; -1 where attrs decide; None if unknown."""
        if op_type not in self.counts:
            signature = signature_of(op_type)
            if signature is None:
                self.counts[op_type] = None
            elif any(a.number_attr or a.is_list for a in signature.outputs):
                self.counts[op_type] = -1
            else:
                self.counts[op_type] = len(signature.outputs)
        return self.counts[op_type]

    def declared_count(self, source: Operation) -> int:
        """How many outputs the attrs of a node declare, which may be as many as read it."""
        if source not in self.declared:
            self.declared[source] = len(source.declared_outputs() or ())
        return self.declared[source]

    def unknown(self, text: str, wanted: str, name: str, op: Operation) -> InvalidModelError:
        known = self.made if len(self.made) <= 5000 else ()
        return InvalidModelError(
            f"{self.where}: {op.type} node {name!r} takes {text!r}, and the graph has no node of "
            "that name",
            node=name,
            hint=did_you_mean(wanted, known),
        )

    def check_all_used(self) -> None:
        unused = sorted(set(self.replaced) - self.used)
        if unused:
            raise UsageError(
                "Attempted to map inputs that were not found in graph_def: "
                f"[{', '.join(_output_name(name) for name in unused)}]"
            )


def _output_name(name: str) -> str:
    """The name of what an input reads: of the first output where it says no more."""
    return name if name.startswith("^") or ":" in name else f"{name}:0"


def _add_functions(graph: Graph, rest: GraphDef, where: str) -> None:
    for definition in rest.library.function:
        function = read_function(definition)
        old = graph.functions.get(function.name)
        if old is not None and old.encoded != definition:
            raise InvalidModelError(f"{where}: two functions are named {function.name!r}")
        graph.functions[function.name] = function
    for gradient in rest.library.gradient:
        if gradient.function_name not in graph.functions:
            raise InvalidModelError(
                f"{where}: a gradient for function {gradient.function_name!r}, which is not there"
            )
        graph.functions[gradient.function_name].gradient = gradient.gradient_func


def check_acyclic(made: Mapping[str, Operation], where: str) -> None:
    """Raises `InvalidModelError` where nodes wait for each other other than through a loop's
    NextIteration."""
    new = set(made.values())

    def refuse(circle: list[Operation]) -> None:
        circle = circle[::-1]  # in the order of its edges
        first = min(range(len(circle)), key=lambda i: circle[i].name)
        cycle = circle[first:] + circle[:first]
        names = " -> ".join(repr(op.name) for op in (*cycle[:12], cycle[0]))
        more = f" (shortened: {len(cycle)} nodes)" if len(cycle) > 12 else ""
        raise InvalidGraphError(
            f"{where}: Graph is invalid, contains a cycle with {len(cycle)} nodes, which wait for "
            f"each other in a circle: {names}{more}",
            node=cycle[0].name,
        )

    inputs_first(made.values(), lambda op: (s for s in sources(op) if s in new), refuse)


def sources(op: Operation) -> list[Operation]:
    """What `op` waits for within one turn of a loop."""
    found = [tensor.op for tensor in op.inputs]
    found.extend(op.control_inputs)
    return [source for source in found if source.type not in NEXT]
