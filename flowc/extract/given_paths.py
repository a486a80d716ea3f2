"""Which inputs of nodes come from the caller unchanged, not computed by the graph.

In: nodes, those of functions too, and which tensors the caller gives. Out: for a node's input,
whether it is one of these. Invariant: an argument of a function is given only where every
call of it is given it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from flowc.extract.called_functions import body_of, called_functions
from flowc.graph.capabilities import NamedNode
from flowc.graph.function import ArgRef, BodyNode, NodeRef
from flowc.graph.graph import Graph
from flowc.graph.op_info import has_trait
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.ir.cached_property import cached_property

VARIABLE, READ, ASSIGN = "VarHandleOp", "ReadVariableOp", "AssignVariableOp"
HARMLESS = frozenset({READ, ASSIGN, "VarIsInitializedOp"})
Node = Operation | BodyNode


def _count(node: Node) -> int:
    return len(node.inputs)


class GivenPaths:
    """`nodes`: all that may call functions. `is_given`: whether a tensor of the graph is."""

    def __init__(
        self, graph: Graph, nodes: Iterable[NamedNode], is_given: Callable[[Tensor], bool]
    ) -> None:
        self._graph = graph
        self._nodes = [node for _, node in nodes]
        self._is_given = is_given

    @cached_property
    def _calls(self) -> dict[str, list[Node]]:
        """The nodes that call each function."""
        found: dict[str, list[Node]] = {}
        for node in self._nodes:
            for function in called_functions(self._graph, node):
                found.setdefault(function, []).append(node)
        return found

    @cached_property
    def _functions(self) -> dict[int, str]:
        """The function that has a node in its body, by the node's identity."""
        return {id(n): f for f in self._calls for n in body_of(self._graph, f)}

    def is_given(self, node: Node, index: int) -> bool:
        """Whether input `index` of a node is a given tensor, seen through Identity, calls, and
        variables that hold such tensors alone."""
        return self._follow(node, index, frozenset())

    def begins_with_given(self, node: Node, index: int, left: int = 32) -> bool:
        """Whether input `index` of a node is such a tensor, or one with constants behind it that
        lead to no folder above: what a Saver makes of the name of a checkpoint for its parts."""
        if self.is_given(node, index):
            return True
        maker = self._maker(node, index)
        if maker is None or not left:
            return False
        if maker.type == "Pack":
            return all(self.begins_with_given(maker, i, left - 1) for i in range(_count(maker)))
        if maker.type == "StringJoin":
            rest = range(1, _count(maker))
            if not all(self._stays_below(maker, i) for i in rest):
                return False
        elif maker.type != "ShardedFilename" and not has_trait(maker.type, "identity"):
            return False
        return self.begins_with_given(maker, 0, left - 1)

    def _stays_below(self, node: Node, index: int) -> bool:
        """Whether an input is a constant, or one of two, without `..` in it."""
        maker = self._maker(node, index)
        if maker is not None and maker.type in ("Select", "SelectV2"):
            return all(self._stays_below(maker, i) for i in (1, 2))
        if maker is None or maker.type != "Const":
            return False
        value = maker.attrs.get("value")
        return isinstance(value, np.ndarray) and not any(b".." in text for text in value.flat)

    def _maker(self, node: Node, index: int) -> Node | None:
        """What makes an input: None for an argument of a function."""
        if isinstance(node, Operation):
            return node.inputs[index].op if index < _count(node) else None
        function = self._functions.get(id(node))
        if function is None or index >= _count(node) or node.inputs[index][0] != "node":
            return None
        named = {n.name: n for n in body_of(self._graph, function)}
        return named.get(str(node.inputs[index][1]))

    def _follow(self, node: Node, index: int, seen: frozenset[str]) -> bool:
        if index >= len(node.inputs):
            return False
        if isinstance(node, Operation):
            return self._is_tensor_given(node.inputs[index])
        function = self._functions.get(id(node))
        return function is not None and self._is_argument_given(function, node.inputs[index], seen)

    def _is_tensor_given(self, tensor: Tensor) -> bool:
        while not self._is_given(tensor):
            op = tensor.op
            if not op.inputs:
                return False
            if op.type == READ:
                return self._holds_given(op.inputs[0].op)
            if not has_trait(op.type, "identity"):
                return False
            tensor = op.inputs[0]
        return True

    def _holds_given(self, variable: Operation) -> bool:
        """Whether a variable has no value but those that are assigned to it, which are given."""
        operations = self._graph.get_operations()
        name = variable.attrs.get("shared_name")
        same = [op for op in operations if op.type == variable.type]
        if any(op.attrs.get("shared_name") == name and op is not variable for op in same):
            return False  # another handle of it
        if variable.type != VARIABLE or variable.name in self._graph.variable_values:
            return False
        users = [op for op in operations if any(t.op is variable for t in op.inputs)]
        assigning = [op for op in users if op.type == ASSIGN]
        others = [op for op in users if op.type not in HARMLESS]
        return not others and all(self._is_given(op.inputs[1]) for op in assigning)

    def _is_argument_given(
        self, function: str, ref: ArgRef | NodeRef, seen: frozenset[str]
    ) -> bool:
        named = {n.name: n for n in body_of(self._graph, function)}
        while ref[0] == "node":
            node = named.get(ref[1])
            if node is None or not has_trait(node.type, "identity") or not node.inputs:
                return False
            ref = node.inputs[0]
        calls = self._calls[function]
        if function in seen or not all(has_trait(call.type, "call") for call in calls):
            return False  # what loops and branches pass on is theirs
        return all(self._follow(call, ref[1], seen | {function}) for call in calls)
