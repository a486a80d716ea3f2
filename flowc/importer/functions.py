"""FunctionDef -> Function: signature at once, body when it is asked for.

In: a FunctionDef message. Out: a `Function` whose body names its inputs by reference.
Invariant: every reference in a body names an argument or a node of that body.
"""

from __future__ import annotations

from typing import Any

from flowc.encoding.tensor_proto import element_type
from flowc.errors import InvalidModelError
from flowc.graph.attrs import Attrs
from flowc.graph.building.attr_values import check_attr, decoder
from flowc.graph.function import BodyNode, Function, FunctionArg, FunctionBody, InputRef
from flowc.proto.graph_pb2 import FunctionDef


def read_function(definition: FunctionDef) -> Function:
    """A function from its definition. Raises `InvalidModelError` for an invalid signature."""
    signature = definition.signature
    name = signature.name
    if not name:
        raise InvalidModelError("the graph's library has a function without a name")
    args = tuple(_arg(a, definition, i) for i, a in enumerate(signature.input_arg))
    results = tuple(_arg(a, definition, None) for a in signature.output_arg)
    for kind, found in (("arguments", args), ("results", results)):
        if len({a.name for a in found}) != len(found) or not all(a.name for a in found):
            raise InvalidModelError(f"function {name!r}: two {kind} share a name, or one has none")
    return Function(
        name,
        args,
        results,
        lambda: _read_body(definition),
        Attrs(None, definition.attr, decoder(name)),
        is_stateful=signature.is_stateful,
        encoded=definition,
    )


def _arg(arg: Any, definition: FunctionDef, index: int | None) -> FunctionArg:
    name = definition.signature.name
    dtype = element_type(arg.type, f"function {name!r}, {arg.name!r}") if arg.type else None
    attrs = Attrs()
    if index is not None and index in definition.arg_attr:
        attrs = Attrs(None, definition.arg_attr[index].attr, decoder(name))
    return FunctionArg(
        arg.name,
        dtype,
        arg.type_attr,
        arg.is_ref or arg.type > 100,
        arg.number_attr,
        arg.type_list_attr,
        attrs,
    )


class _References:
    """Resolves the names that the nodes and results of one body use."""

    def __init__(self, definition: FunctionDef) -> None:
        self.function = definition.signature.name
        self.args = {a.name: i for i, a in enumerate(definition.signature.input_arg)}
        self.nodes = {node.name for node in definition.node_def}
        if len(self.nodes) != len(definition.node_def):
            raise InvalidModelError(f"function {self.function!r}: two nodes share a name")

    def resolve(self, text: str, user: str) -> InputRef:
        """`arg` or `node:output_arg:k`."""
        parts = text.split(":")
        if len(parts) == 1 and text in self.args:
            return ("arg", self.args[text])
        if len(parts) == 2 and parts[0] in self.args and parts[1] == "0":
            return ("arg", self.args[parts[0]])
        if len(parts) == 3 and parts[0] in self.nodes and parts[1] and parts[2].isdigit():
            return ("node", parts[0], parts[1], int(parts[2]))
        raise InvalidModelError(
            f"function {self.function!r}: {user} takes {text!r}, which is neither an argument nor "
            "`node:output:index` of a node of the function"
        )

    def control(self, name: str, user: str) -> str | None:
        if name in self.nodes:
            return name
        if name in self.args:
            return None
        raise InvalidModelError(
            f"function {self.function!r}: {user} waits for {name!r}, which the function has not"
        )


def _read_body(definition: FunctionDef) -> FunctionBody:
    references = _References(definition)
    nodes = tuple(_body_node(node, references) for node in definition.node_def)
    results: list[InputRef] = []
    for arg in definition.signature.output_arg:
        if arg.name not in definition.ret:
            raise InvalidModelError(
                f"function {references.function!r}: nothing computes its result {arg.name!r}"
            )
        results.append(references.resolve(definition.ret[arg.name], f"result {arg.name!r}"))
    controls: list[str] = []
    for name in definition.signature.control_output:
        if name not in definition.control_ret:
            raise InvalidModelError(
                f"function {references.function!r}: no node stands for control output {name!r}"
            )
        node = references.control(definition.control_ret[name], f"control output {name!r}")
        if node is not None:
            controls.append(node)
    return FunctionBody(nodes, tuple(results), tuple(controls))


def _body_node(node: Any, references: _References) -> BodyNode:
    inputs: list[InputRef] = []
    controls: list[str] = []
    user = f"node {node.name!r}"
    for text in node.input:
        if text.startswith("^"):
            name = references.control(text[1:], user)
            if name is not None:
                controls.append(name)
        else:
            inputs.append(references.resolve(text, user))
    for name, value in node.attr.items():
        check_attr(name, value, node.name)
    attrs = Attrs(None, node.attr, decoder(node.name))
    return BodyNode(node.name, node.op, tuple(inputs), tuple(controls), attrs, node.device)
