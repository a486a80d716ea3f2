"""Checks a Computation: order, types re-inferred, sizes defined before use.

Runs round every pass. Raises `InternalError` with the fault and the nodes around it.
"""

from __future__ import annotations

from flowc.errors import FlowcError, InternalError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node
from flowc.ir.dims import Dim, symbols_of
from flowc.ir.op import output_dtypes
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
    seen: set[object] = set()
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


def _fault(node: Node, seen: set[object], defined: set[str], replay: _Replay) -> str | None:
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
    if node.op.name == "cluster":
        body = node.attrs["body"]
        types = tuple(v.type for v in body.results)
        if tuple(output_dtypes(node.op, [v.type for v in node.inputs], node.attrs)) != tuple(
            t.dtype for t in node.types
        ):
            return f"{node!r}: Tout is not the dtypes of its outputs"
        if [p.output.type for p in body.parameters] != [v.type for v in node.inputs]:
            return f"{node!r}: its body's parameters do not match its inputs"
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
        return f"{node!r} has types {node.types}, inferred: {types}"
    for type_ in types:
        unknown = _undefined(type_.dims, defined)
        if unknown:
            return f"{node!r} uses the size {unknown}, which nothing defines"
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
