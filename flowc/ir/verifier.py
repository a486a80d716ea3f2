"""Checks a Computation: order, types re-inferred, sizes defined before use.

Bodies are checked as Computations that may use the sizes defined where their node stands, and
against it: parameters are the inputs, carried results are what the next iteration takes. Behind
`lower`, and in clusters, there are only core ops. Runs round every pass. Raises `InternalError`
with the fault and the nodes around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flowc.errors import FlowcError, InternalError
from flowc.ir.bodies import bind_varying, bodies_of, sizes_used
from flowc.ir.builder import Builder, Content
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.core_ops import is_core
from flowc.ir.dims import Symbol, symbols_of
from flowc.ir.op import Op
from flowc.ir.types import TensorType

Types = tuple[TensorType, ...]
# What inference gave for an op, attrs and types of inputs, where it looked at nothing else: most
# nodes of a pass's result have these from before the pass. The attrs are kept with it, as their
# identity stands for them.
Inferred = dict[tuple[Op, int, Types], tuple[Mapping[str, Any], Types]]


class _Replay(Builder):
    """Infers a node's types again, giving the sizes that the node already defines."""

    def __init__(self, inferred: Inferred) -> None:
        super().__init__()
        self.inferred = inferred
        self.looked = False  # at more than types and attrs

    def check(self, node: Node) -> Types:
        key = (node.op, id(node.attrs), tuple(v.type for v in node.inputs))
        if key in self.inferred:
            return self.inferred[key][1]
        given = [size for size, _ in node.sizes]
        self.looked = bool(node.sizes or bodies_of(node))
        types, _ = self.infer(node.op, node.inputs, node.attrs, node.origin, given)
        if node.op.name == "read_sizes":
            self.note_sizes(node)
        if not self.looked:
            self.inferred[key] = node.attrs, types
        return types

    def content(self, value: Value) -> Content:
        self.looked = True
        return super().content(value)

    def _read_sizes(self, value: Value, below: int = 0) -> Content:
        self.looked = True
        return super()._read_sizes(value, below)


def verify(
    c: Computation, where: str, lowered: bool = False, inferred: Inferred | None = None
) -> None:
    """Checks every invariant; `where` (a pass's name) goes into the message. `lowered`: all ops are
    core ops. `inferred`: what was inferred for the same program before, which is added to."""
    _verify(c, where, None, lowered, {} if inferred is None else inferred)


def _verify(
    c: Computation, where: str, outside: frozenset[Symbol] | None, lowered: bool, inferred: Inferred
) -> None:
    """`outside`: for a body the sizes that are defined where its node stands, and those of its
    parameters that iterations change; None for a Computation whose parameters define sizes."""
    scope = _Scope(where, outside, lowered, inferred)
    for position, node in enumerate(c.nodes):
        fault = _fault(node, scope)
        if fault:
            raise InternalError(f"{where}: {fault}\n{_neighbourhood(c, position)}", node=node.name)
        scope.seen.update(node.outputs)
        scope.seen.add(node)
    for parameter in c.parameters:
        if parameter not in scope.seen:
            raise InternalError(f"{where}: parameter {parameter.name} is not among the nodes")
    for value in c.results:
        if value not in scope.seen:
            raise InternalError(f"{where}: a result is not computed: {value!r}")


class _Scope:
    """What is defined so far in one Computation."""

    def __init__(
        self, where: str, outside: frozenset[Symbol] | None, lowered: bool, inferred: Inferred
    ) -> None:
        self.where = where
        self.outside = outside
        self.lowered = lowered
        self.seen: set[Value | Node] = set()
        self.defined: set[Symbol] = set(outside or ())
        self.replay = _Replay(inferred)


def _fault(node: Node, scope: _Scope) -> str | None:
    seen = scope.seen
    for i, value in enumerate(node.inputs):
        if value not in seen:
            return f"input {i} of {node!r} comes from no earlier node: {value!r}"
    for other in node.after:
        if other not in seen:
            return f"{node!r} is ordered after a node that is not earlier: {other!r}"
    if scope.lowered and not is_core(node.op):
        return f"{node!r} is no core op"
    if node.op.name == "parameter":
        return _parameter_fault(node, scope)
    missing = None if node.types_checked else _missing_attr(node)
    if missing:
        return f"{node!r} has no attr {missing}"
    used = sizes_used(node)
    unknown = sorted(used - scope.defined) if used else ()
    if unknown:
        return f"{node!r} uses the size {unknown[0]}, which nothing defines"
    if bodies_of(node):
        fault = _bodies_fault(node, scope)
        if fault:
            return fault
    for size, _ in node.sizes:
        if size in scope.defined:
            return f"{node!r} defines the size {size} again"
        scope.defined.add(size)
    return _type_fault(node, scope)


def _parameter_fault(node: Node, scope: _Scope) -> str | None:
    sizes = symbols_of(*node.output.dims)
    if scope.outside is None:
        scope.defined.update(sizes)
        return None
    unknown = sorted(sizes.keys() - scope.defined)
    return f"{node!r} uses the size {unknown[0]}, which nothing defines" if unknown else None


def _type_fault(node: Node, scope: _Scope) -> str | None:
    """What is wrong with a node's types. Neither a node nor what it reads ever changes, so that
    types are inferred once; read_sizes nodes also say what is known to those behind them."""
    if node.types_checked and node.op.name != "read_sizes":
        return None
    before = len(scope.replay.nodes)
    try:
        types = scope.replay.check(node)
    except FlowcError as error:
        return f"types of {node!r} cannot be inferred: {error}"
    # A size that was read but is in no type (0 rows of n) needs no definition.
    if len(scope.replay.nodes) != before and types != node.types:
        return f"{node!r} needs sizes that no read_sizes node defines"
    if types != node.types:
        return f"{node!r} has types {_shown(node.types)}, inferred: {_shown(types)}"
    node.types_checked = True
    return None


def _bodies_fault(node: Node, scope: _Scope) -> str | None:
    """Checks the bodies of a loop, branch or cluster, and how they fit the node."""
    is_cluster = node.op.name == "cluster"
    varying = node.attrs.get("varying", ())
    for name, body in bodies_of(node).items():
        inside = frozenset(scope.defined.union(varying))
        where = f"{scope.where}: in the {name} of {node.name}"
        _verify(body, where, inside, scope.lowered or is_cluster, scope.replay.inferred)
    if is_cluster:
        return _cluster_fault(node)
    return _while_fault(node, scope) if "carried" in node.attrs else _if_fault(node)


def _while_fault(node: Node, scope: _Scope) -> str | None:
    condition, body = node.attrs["condition"], node.attrs["body"]
    carried, varying = node.attrs["carried"], node.attrs["varying"]
    inputs = [v.type for v in node.inputs]
    known = sorted(scope.defined.intersection(varying))
    if known:
        return f"{node!r}: its varying size {known[0]} is defined outside too"
    if not 0 <= carried <= len(inputs):
        return f"{node!r} carries {carried} of {len(inputs)} inputs"
    parameters = [p.output.type for p in body.parameters]
    if [p.output.type for p in condition.parameters] != parameters:
        return f"{node!r}: its condition and body have different parameters"
    if len(parameters) != len(inputs):
        return f"{node!r} has {len(inputs)} inputs, its bodies {len(parameters)} parameters"
    results = [v.type for v in body.results]
    if len(results) != carried:
        return f"{node!r} carries {carried} values, its body has {len(results)} results"
    if [str(v.type) for v in condition.results] != ["bool[]"]:
        return f"{node!r}: its condition gives {_shown(tuple(v.type for v in condition.results))}"
    if list(node.attrs["Tout"]) != [t.dtype for t in results]:
        return f"{node!r}: Tout is not the dtypes of its outputs"
    for what, given in (("initial value", inputs[:carried]), ("result", results)):
        try:
            bind_varying(parameters[:carried], given, varying)
        except ValueError as error:
            return f"{node!r}: an {what} does not fit: {error}".replace("an result", "a result")
    for have, wanted in zip(inputs[carried:], parameters[carried:]):
        if have != wanted:
            return f"{node!r}: its input {have} is the parameter {wanted} of its bodies"
    return None


def _if_fault(node: Node) -> str | None:
    then, otherwise = node.attrs["then"], node.attrs["otherwise"]
    if not node.inputs or str(node.inputs[0].type) != "bool[]":
        return f"{node!r}: its condition is no bool[]"
    wanted = [v.type for v in node.inputs[1:]]
    for name, body in (("then", then), ("otherwise", otherwise)):
        if [p.output.type for p in body.parameters] != wanted:
            return f"{node!r}: the parameters of {name} do not match its inputs"
        if [v.type.dtype for v in body.results] != list(node.attrs["Tout"]):
            return f"{node!r}: Tout is not the dtypes of the results of {name}"
    return None


def _missing_attr(node: Node) -> str | None:
    return next((n for n in node.op.signature.given_attrs if n not in node.attrs), None)


def _shown(types: tuple[TensorType, ...]) -> str:
    return " ".join(map(str, types)) or "none"


def _cluster_fault(node: Node) -> str | None:
    body = node.attrs["body"]
    if list(node.attrs["Tout"]) != [v.type.dtype for v in body.results]:
        return f"{node!r}: Tout is not the dtypes of its outputs"
    if [p.output.type for p in body.parameters] != [v.type for v in node.inputs]:
        return f"{node!r}: its body's parameters do not match its inputs"
    return None


def _neighbourhood(c: Computation, position: int) -> str:
    lines = str(c).split("\n")
    node = c.nodes[position]
    shown = f" {node.op.name}"
    near = [i for i, line in enumerate(lines) if shown in line]
    middle = near[0] if len(near) == 1 else min(position + 1, len(lines) - 1)
    return "\n".join(lines[max(0, middle - 4) : middle + 5])
