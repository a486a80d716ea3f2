"""Where extraction finds nodes: a graph, or one call of a function, alike.

In: a Graph or a Function. Out: nodes by key, the node behind each input, the order of creation.
Invariant: keys and refs of one source are never looked up in another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from flowc.errors import InvalidModelError
from flowc.extract.source_node import ARGUMENT, Ref, SourceNode
from flowc.extract.switch_n import CasePart, output_of, read_part
from flowc.graph.control_types import SWITCH_N
from flowc.graph.function import BodyNode, Function
from flowc.graph.graph import Graph
from flowc.graph.op_info import resolve_attr, signature_of
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.ir.cached_property import cached_property
from flowc.ir.signature import OpSignature

PARTS = 1 << 20  # places in the order of nodes for the parts of one


class NodeSource(ABC):
    """`prefix` stands before the names of its nodes; `attrs` replace attr placeholders."""

    def __init__(self, prefix: str, attrs: Mapping[str, Any]) -> None:
        self.prefix = prefix
        self.attrs = attrs
        self._nodes: dict[Any, SourceNode] = {}

    def node(self, key: Any) -> SourceNode:
        found = self._nodes.get(key)
        if found is None:
            if isinstance(key, CasePart):
                found = read_part(self, key)
            else:
                found = self._without_cases(self._read(key))
            self._nodes[key] = found
        return found

    def move_controls(self, controls: Mapping[Any, tuple[Any, ...]]) -> None:
        """Gives nodes other control inputs."""
        for key, waits in controls.items():
            self._nodes[key] = replace(self.node(key), controls=waits)

    def _without_cases(self, node: SourceNode) -> SourceNode:
        """A node that reads switches with two outputs in place of those with many."""
        inputs = tuple([self._behind_case(ref) for ref in node.inputs])
        controls = tuple(
            [CasePart("switch", k, 0, 0) if self._type(k) == SWITCH_N else k for k in node.controls]
        )
        if (inputs, controls) == (node.inputs, node.controls):
            return node
        return replace(node, inputs=inputs, controls=controls)

    def _behind_case(self, ref: Ref) -> Ref:
        if ref[0] == ARGUMENT or self._type(ref[0]) != SWITCH_N:
            return ref
        return output_of(self, ref[0], self.node(ref[0]), ref[1])

    def name(self, key: Any) -> str:
        return self.prefix + self.node(key).name

    def order(self, key: Any) -> int:
        """Where a node stands among those of its graph or body."""
        if isinstance(key, CasePart):
            behind = min((key.output << 10) + key.number + 1, PARTS - 1)
            return (-PARTS if key.key == ARGUMENT else self.order(key.key)) + behind
        return self._position_of(key) * PARTS

    @abstractmethod
    def _position_of(self, key: Any) -> int: ...

    @abstractmethod
    def _type(self, key: Any) -> str: ...

    @abstractmethod
    def _read(self, key: Any) -> SourceNode: ...

    def output_shapes(self, key: Any) -> Sequence[tuple[int | None, ...] | None]:
        """What is said of the shapes of a node's outputs; None for one of unknown rank."""
        return self.attr(key, "_output_shapes") or ()

    def attr(self, key: Any, name: str, default: Any = None) -> Any:
        return resolve_attr(self.node(key).attrs.get(name, default), self.attrs)


class GraphSource(NodeSource):
    """Keys are Operations. `done`: those that ran before, for which nothing waits."""

    def __init__(self, graph: Graph, done: Collection[Operation] = ()) -> None:
        super().__init__("", {})
        self.graph = graph
        self.done = done

    def ref(self, tensor: Tensor) -> Ref:
        return (tensor.op, tensor.value_index)

    def _position_of(self, key: Operation) -> int:
        return self._positions[key]

    def _type(self, key: Any) -> str:
        return key.type if isinstance(key, Operation) else ""

    def output_shapes(self, key: Any) -> Sequence[tuple[int | None, ...] | None]:
        return [t.shape.sizes for t in key.outputs] if isinstance(key, Operation) else ()

    @cached_property
    def _positions(self) -> dict[Operation, int]:
        return {op: i for i, op in enumerate(self.graph.get_operations())}

    def _read(self, key: Operation) -> SourceNode:
        inputs = tuple([(t.op, t.value_index) for t in key.inputs])
        controls = tuple([c for c in key.control_inputs if c not in self.done])
        return SourceNode(key.name, key.type, key.attrs, inputs, controls)


class CallSource(NodeSource):
    """Keys are names of the body's nodes; `ARGUMENT` is that of the arguments. `functions`: those
    of the graph, which a node of the body may call by its type."""

    def __init__(
        self,
        function: Function,
        prefix: str,
        attrs: Mapping[str, Any],
        functions: Mapping[str, Function],
    ) -> None:
        super().__init__(prefix, attrs)
        self.functions = functions
        self.function = function
        self.body_nodes: dict[str, BodyNode] = {n.name: n for n in function.body.nodes}
        self._position = {n.name: i for i, n in enumerate(function.body.nodes)}

    def _position_of(self, key: str) -> int:
        return self._position[key]

    def _type(self, key: Any) -> str:
        body = self.body_nodes.get(key)
        return "" if body is None else body.type

    def _read(self, key: str) -> SourceNode:
        body = self.body_nodes.get(key)
        if body is None:
            raise InvalidModelError(
                f"function {self.function.name!r} has no node {key!r}, which another reads",
                node=self.prefix + key,
            )
        inputs = tuple([self.resolve(r) for r in body.inputs])
        return SourceNode(body.name, body.type, body.attrs, inputs, body.control_inputs)

    def output_shapes(self, key: Any) -> Sequence[tuple[int | None, ...] | None]:
        stated, node = super().output_shapes(key), self.body_nodes.get(key)
        signature = None if node is None else signature_of(node.type)
        if stated or node is None or signature is None:
            return stated
        count = sum(self._width(arg, signature, node.attrs) for arg in signature.outputs)
        return (None,) * count

    def resolve(self, ref: Any) -> Ref:
        if ref[0] == "arg":
            return (ARGUMENT, ref[1])
        _, name, output_arg, k = ref
        node = self.body_nodes.get(name)
        if node is None:
            raise InvalidModelError(
                f"function {self.function.name!r} has no node {name!r}, which another reads",
                node=self.prefix + name,
            )
        return (name, self._output_index(node, output_arg, k))

    def _output_index(self, node: BodyNode, output_arg: str, k: int) -> int:
        index = 0
        called = self.functions.get(node.type)
        signature = signature_of(node.type)
        if called is not None:
            for result in called.results:
                if result.name == output_arg:
                    return index + k
                index += len(result.types(node.attrs))
        elif signature is None:
            return k
        else:
            for arg in signature.outputs:
                if arg.name == output_arg:
                    return index + k
                index += self._width(arg, signature, node.attrs)
        raise InvalidModelError(
            f"{node.type} has no output {output_arg!r}", node=self.prefix + node.name
        )

    def _width(self, arg: Any, signature: OpSignature, attrs: Mapping[str, Any]) -> int:
        if arg.number_attr is not None:
            given = attrs.get(arg.number_attr, signature.attrs[arg.number_attr].default)
            return int(resolve_attr(given, self.attrs))
        if arg.is_list:
            return len(resolve_attr(attrs[arg.type_attr], self.attrs))
        return 1
