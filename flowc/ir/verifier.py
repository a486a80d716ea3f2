"""Checks a Computation: order, types re-inferred, sizes defined before use.

Runs round every pass. Raises `InternalError` with the fault and the nodes around it.
"""

from __future__ import annotations

from flowc.errors import FlowcError, InternalError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, symbols_of
from flowc.ir.op import output_dtypes
from flowc.ir.signature import REQUIRED
from flowc.ir.types import TensorType


class _Replay(Builder):
    """Infers a node's types again, giving the sizes that the node already defines."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[str] = []

    def check(self, node: Node) -> tuple[TensorType, ...]:
        self.given = [name for name, _ in node.sizes]
        types, _ = self.infer(node.op, node.inputs, node.attrs, node.origin)
        if node.op.name == "read_sizes":
            self.note_sizes(node)
        return types

    def _fresh_name(self, hint: str) -> str:
        return self.given.pop(0) if self.given else hint


def verify(c: Computation, where: str) -> None:
    """Checks every invariant; `where` (a pass's name) goes into the message."""
    seen: set[Value | Node] = set()
    defined: set[str] = set()
    replay = _Replay()
    for position, node in enumerate(c.nodes):
        fault = _fault(node, seen, defined, replay)
        if fault:
            raise InternalError(f"{where}: {fault}\n{_neighbourhood(c, position)}", node=node.name)
        seen.update(node.outputs)
        seen.add(node)
    for parameter in c.parameters:
        if parameter not in seen:
            raise InternalError(f"{where}: parameter {parameter.name} is not among the nodes")
    for value in c.results:
        if value not in seen:
            raise InternalError(f"{where}: a result is not computed: {value!r}")


def _fault(node: Node, seen: set[Value | Node], defined: set[str], replay: _Replay) -> str | None:
    for i, value in enumerate(node.inputs):
        if value not in seen:
            return f"input {i} of {node!r} comes from no earlier node: {value!r}"
    for other in node.after:
        if other not in seen:
            return f"{node!r} is ordered after a node that is not earlier: {other!r}"
    if node.op.name == "parameter":
        for dim in node.output.dims:
            defined.update(symbols_of(dim))
        return None
    missing = _missing_attr(node)
    if missing:
        return f"{node!r} has no attr {missing}"
    again = [name for name, _ in node.sizes if name in defined]
    if again:
        return f"{node!r} defines the size {again[0]} again"
    if node.op.name == "cluster":
        fault = _cluster_fault(node)
        if fault:
            return fault
        types = tuple(v.type for v in node.attrs["body"].results)
        defined.update(name for name, _ in node.sizes)
    else:
        before = len(replay.nodes)
        try:
            types = replay.check(node)
        except FlowcError as error:
            return f"types of {node!r} cannot be inferred: {error}"
        # A size that was read but is in no type (0 rows of n) needs no definition.
        if len(replay.nodes) != before and types != node.types:
            return f"{node!r} needs sizes that no read_sizes node defines"
        defined.update(name for name, _ in node.sizes)
    if types != node.types:
        return f"{node!r} has types {_shown(node.types)}, inferred: {_shown(types)}"
    for type_ in types:
        unknown = _undefined(type_.dims, defined)
        if unknown:
            return f"{node!r} uses the size {unknown}, which nothing defines"
    return None


def _missing_attr(node: Node) -> str | None:
    signature = node.op.signature
    for name, definition in signature.attrs.items():
        stored = name in node.attrs or name in signature.inferred_attrs
        if definition.default is REQUIRED and not stored:
            return name
    return None


def _shown(types: tuple[TensorType, ...]) -> str:
    return " ".join(map(str, types)) or "none"


def _cluster_fault(node: Node) -> str | None:
    """What is wrong with a cluster's body. Types in it are those of the nodes before fusion: what
    inference looks up in constants is outside the body."""
    body = node.attrs["body"]
    dtypes = output_dtypes(node.op, [v.type for v in node.inputs], node.attrs)
    if dtypes != tuple(t.dtype for t in node.types):
        return f"{node!r}: Tout is not the dtypes of its outputs"
    if [p.output.type for p in body.parameters] != [v.type for v in node.inputs]:
        return f"{node!r}: its body's parameters do not match its inputs"
    seen: set[Value] = set()
    for inner in body.nodes:
        for i, value in enumerate(inner.inputs):
            if value not in seen:
                return f"{node!r}: input {i} of {inner!r} in its body comes from no earlier node"
        seen.update(inner.outputs)
    if any(v not in seen for v in (*body.results, *(p.output for p in body.parameters))):
        return f"{node!r}: a result or parameter of its body is not among the body's nodes"
    return None


def _undefined(dims: tuple[Dim, ...], defined: set[str]) -> str | None:
    for dim in dims:
        for name in symbols_of(dim):
            if name not in defined:
                return name
    return None


def _neighbourhood(c: Computation, position: int, around: int = 4) -> str:
    lines = str(c).split("\n")
    node = c.nodes[position]
    shown = f" {node.op.name}"
    near = [i for i, line in enumerate(lines) if shown in line]
    middle = near[0] if len(near) == 1 else min(position + 1, len(lines) - 1)
    return "\n".join(lines[max(0, middle - around) : middle + around + 1])
