"""A fetch set of a Graph as a Computation.

In: a Graph, the tensors to compute, the types of the tensors that are fed. Out: a Computation of
the nodes in between, inputs before users, types inferred. Feeding cuts the graph: what lies behind
a fed tensor is not looked at. Variables with values become constants; calls of functions are
extracted in place, so that constants and sizes flow through them. Nothing is recursive over the
depth of a graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import flowc.ops  # noqa: F401  (defines the records)
from flowc import dtypes
from flowc.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    InvalidModelError,
    UnsupportedError,
    did_you_mean,
)
from flowc.graph.attrs import AttrPlaceholder, FunctionRef
from flowc.graph.function import BodyNode, Function
from flowc.graph.graph import Graph
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Value
from flowc.ir.lowering import Structural
from flowc.ir.op import Op, op_named, tf_names, tf_op
from flowc.ir.signature import Signature
from flowc.ir.types import TensorType

CALL_DEPTH = 100
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2"})
VARIABLES = frozenset({"Variable", "VariableV2"})
NOTHING = frozenset({"NoOp", "ControlTrigger"})


@dataclass(frozen=True, slots=True)
class Handle:
    """A resource handle: the variable that it names."""

    variable: str


Bound = Value | Handle
Ref = tuple[Any, int]  # (node key, output index)


@dataclass(frozen=True, slots=True)
class _Node:
    """A node of a graph or of a function's body, alike. `inputs` and `controls` are keys."""

    name: str
    type: str
    attrs: Mapping[str, Any]
    inputs: tuple[Any, ...]
    controls: tuple[Any, ...]


class _Scope:
    """Where nodes come from: a graph, or one call of a function."""

    def __init__(self, prefix: str, attrs: Mapping[str, Any]) -> None:
        self.prefix = prefix
        self.attrs = attrs
        self.values: dict[Ref, Bound] = {}

    def node(self, key: Any) -> _Node:
        raise NotImplementedError

    def resolve(self, ref: Any) -> Ref:
        """The (node key, output index) behind an input."""
        raise NotImplementedError


class _GraphScope(_Scope):
    def node(self, key: Operation) -> _Node:
        return _Node(key.name, key.type, key.attrs, key.inputs, key.control_inputs)

    def resolve(self, ref: Tensor) -> Ref:
        return (ref.op, ref.value_index)


class _CallScope(_Scope):
    """One call: arguments are bound; inputs name outputs of nodes by their signatures."""

    def __init__(self, function: Function, prefix: str, attrs: Mapping[str, Any]) -> None:
        super().__init__(prefix, attrs)
        self.function = function
        self.nodes = {n.name: n for n in function.body.nodes}

    def node(self, key: str) -> _Node:
        body: BodyNode = self.nodes[key]
        return _Node(body.name, body.op_type, body.attrs, body.inputs, body.control_inputs)

    def resolve(self, ref: Any) -> Ref:
        if ref[0] == "arg":
            return ("@arg", ref[1])
        _, name, output_arg, k = ref
        return (name, self._output_index(self.nodes[name], output_arg, k))

    def _output_index(self, node: BodyNode, output_arg: str, k: int) -> int:
        record = tf_op(node.op_type)
        if record is None or node.op_type in CALLS:
            return k
        index = 0
        for arg in record.signature.outputs:
            if arg.name == output_arg:
                return index + k
            index += _width(arg, record.signature, node.attrs)
        raise InvalidModelError(
            f"{node.op_type} has no output {output_arg!r}", node=self.prefix + node.name
        )


def _width(arg: Any, signature: Signature, attrs: Mapping[str, Any]) -> int:
    if arg.number_attr is not None:
        return int(attrs.get(arg.number_attr, signature.attrs[arg.number_attr].default))
    if arg.is_list:
        return len(attrs[arg.type_attr])
    return 1


class Extraction:
    """One extraction under way."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.b = Builder()

    def run(
        self,
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
        feeds: Mapping[Tensor, TensorType],
    ) -> Computation:
        scope = _GraphScope("", {})
        for tensor, type_ in feeds.items():
            scope.values[scope.resolve(tensor)] = self.b.parameter(tensor.name, type_)
        self.check_supported(fetches, targets, feeds)
        self.walk(scope, [*(scope.resolve(t)[0] for t in fetches), *targets], set(scope.values))
        results = [self._value(scope.values, scope.resolve(t), t.name) for t in fetches]
        return self.b.build(results)

    def _value(self, values: Mapping[Ref, Bound], ref: Ref, name: str) -> Value:
        found = values.get(ref)
        if not isinstance(found, Value):
            raise UnsupportedError(f"{name} is a handle and cannot be fetched", node=name)
        return found

    # -- walking

    def walk(self, scope: _Scope, roots: Iterable[Any], fed: set[Ref], depth: int = 0) -> None:
        """Emits the nodes that the roots need, inputs first."""
        done: set[Any] = set()
        active: set[Any] = set()
        stack: list[tuple[Any, bool]] = [(key, False) for key in reversed(list(roots))]
        while stack:
            key, ready = stack.pop()
            if ready:
                active.discard(key)
                done.add(key)
                self._emit(scope, key, fed, depth)
                continue
            if key in done or key == "@arg":
                continue
            if key in active:
                node = scope.node(key)
                raise UnsupportedError(
                    f"node '{scope.prefix}{node.name}' ({node.type}) is part of a loop",
                    node=scope.prefix + node.name,
                )
            if self._all_fed(scope, key, fed):
                done.add(key)
                continue
            active.add(key)
            stack.append((key, True))
            node = scope.node(key)
            needs = [scope.resolve(ref) for ref in node.inputs]
            keys = [k for k, i in needs if (k, i) not in fed] + list(node.controls)
            stack += [(k, False) for k in reversed(keys) if k not in done]

    def _all_fed(self, scope: _Scope, key: Any, fed: set[Ref]) -> bool:
        """Whether every output that anything could read of a node is fed."""
        if (key, 0) not in fed:
            return False
        record = tf_op(scope.node(key).type)
        return record is not None and len(record.signature.outputs) == 1

    def _emit(self, scope: _Scope, key: Any, fed: set[Ref], depth: int) -> None:
        node = scope.node(key)
        name = scope.prefix + node.name
        self.b.origin = (name,)
        if node.type in NOTHING:
            return
        if node.type in CALLS:
            self._call(scope, key, node, name, depth)
            return
        if node.type == "VarHandleOp":
            scope.values[(key, 0)] = Handle(node.name if not scope.prefix else name)
            return
        inputs = [scope.values.get(scope.resolve(ref)) for ref in node.inputs]
        if node.type in PLACEHOLDERS:
            raise self._unfed(node, name)
        special = self._state(node, name, inputs)
        if special is not None:
            outputs: Sequence[Bound] = [special]
        else:
            outputs = self._plain(scope, node, name, inputs)
        for i, value in enumerate(outputs):
            if (key, i) not in fed:
                scope.values[(key, i)] = value

    def _unfed(self, node: _Node, name: str) -> InvalidArgumentError:
        dtype = node.attrs["dtype"]
        return InvalidArgumentError(
            f"You must feed a value for placeholder tensor '{name}' with dtype "
            f"{'float' if dtype is dtypes.f32 else dtype.name}",
            node=name,
        )

    def _state(self, node: _Node, name: str, inputs: Sequence[Bound | None]) -> Bound | None:
        """Reads of variables, handles passed on, defaults of placeholders."""
        first = inputs[0] if inputs else None
        if node.type in VARIABLES:
            return self._variable(name, name)
        if isinstance(first, Handle):
            if node.type == "ReadVariableOp":
                return self._variable(first.variable, name)
            if node.type in ("Identity", "StopGradient"):
                return first
            if node.type == "ResourceGather":
                weights = self._variable(first.variable, name)
                assert isinstance(inputs[1], Value)
                return self.b.gather(
                    weights, inputs[1], np.int32(0), batch_dims=node.attrs.get("batch_dims", 0)
                )
            raise UnsupportedError(
                f"flowc cannot yet change variables: node '{name}' ({node.type})",
                node=name,
                problems=[(node.type, 1, (name,))],
            )
        if node.type == "PlaceholderWithDefault" and isinstance(first, Value):
            return first
        return None

    def _variable(self, variable: str, reader: str) -> Value:
        values = self.graph.variable_values
        if variable not in values:
            near = did_you_mean(variable, values.keys()) if values else None
            raise FailedPreconditionError(
                f"Attempting to use uninitialized value {variable}: the model gives the variable "
                f"'{variable}' no value",
                node=reader,
                hint=near or "name the checkpoint that holds it (checkpoint=..., --checkpoint P)",
            )
        array = values[variable]
        return self.b.const(array, dtypes.as_dtype(array.dtype))

    def _plain(
        self, scope: _Scope, node: _Node, name: str, inputs: Sequence[Bound | None]
    ) -> Sequence[Value]:
        record = tf_op(node.type)
        if record is None:
            raise _unsupported({node.type: [name]})
        attrs = node_attrs(record, node.attrs, scope.attrs)
        values = []
        for i, value in enumerate(inputs):
            if not isinstance(value, Value):
                raise UnsupportedError(
                    f"input {i} of node '{name}' ({node.type}) has no value that flowc can compute",
                    node=name,
                )
            values.append(value)
        if record.name == "const":
            return [self._constant(attrs, name)]
        return self.b.emit(record, values, attrs).outputs

    def _constant(self, attrs: Mapping[str, Any], name: str) -> Value:
        dtype = attrs["dtype"]
        if not dtype.size and dtype is not dtypes.string:
            raise UnsupportedError(
                f"node '{name}' is a constant of dtype {dtype}, which flowc cannot compute with",
                node=name,
                problems=[("Const", 1, (name,))],
            )
        return self.b.const(attrs["value"], dtype)

    # -- calls

    def _call(self, scope: _Scope, key: Any, node: _Node, name: str, depth: int) -> None:
        reference = resolve_attr(node.attrs["f"], scope.attrs)
        assert isinstance(reference, FunctionRef)
        function = self.graph.functions.get(reference.name)
        if function is None:
            near = did_you_mean(reference.name, self.graph.functions)
            raise InvalidModelError(
                f"node '{name}' calls the function {reference.name!r}, which the model lacks",
                node=name,
                hint=near,
            )
        if depth >= CALL_DEPTH:
            raise InvalidModelError(
                f"functions call one another more than {CALL_DEPTH} deep at '{name}' "
                f"({reference.name})",
                node=name,
            )
        body = function.body
        inner = _CallScope(function, f"{name}/", reference.attrs)
        for i, ref in enumerate(node.inputs):
            bound = scope.values.get(scope.resolve(ref))
            if bound is not None:
                inner.values[("@arg", i)] = bound
        roots = [inner.resolve(r)[0] for r in body.results] + list(body.control_results)
        self.walk(inner, [r for r in roots if r != "@arg"], set(), depth + 1)
        for i, result in enumerate(body.results):
            bound = inner.values.get(inner.resolve(result))
            if bound is not None:
                scope.values.setdefault((key, i), bound)

    # -- what cannot be compiled

    def check_supported(
        self,
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
        feeds: Mapping[Tensor, TensorType],
    ) -> None:
        """Raises one `UnsupportedError` for all op types without a record that would be needed."""
        found: dict[str, list[str]] = {}
        for name, op_type in needed_nodes(self.graph, fetches, targets, feeds):
            if not is_supported(op_type):
                found.setdefault(op_type, []).append(name)
        if found:
            raise _unsupported(found)


def is_supported(op_type: str) -> bool:
    """Whether extraction and code generation take an op type."""
    if op_type in CALLS | PLACEHOLDERS | VARIABLES | NOTHING:
        return True
    if op_type in ("VarHandleOp", "ReadVariableOp", "ResourceGather", "PlaceholderWithDefault"):
        return True
    record = tf_op(op_type)
    return record is not None and (
        record is op_named("const") or not isinstance(record.lowering, Structural)
    )


def needed_nodes(
    graph: Graph,
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    feeds: Iterable[Tensor],
) -> list[tuple[str, str]]:
    """(name, op type) of every node that a fetch set needs, those of called functions too."""
    found: list[tuple[str, str]] = []
    fed = {(t.op, t.value_index) for t in feeds}
    stack = [t.op for t in fetches if (t.op, t.value_index) not in fed] + list(targets)
    seen = set(stack)
    functions: dict[str, str] = {}
    while stack:
        op = stack.pop()
        found.append((op.name, op.type))
        _note_functions(op.attrs, op.type, op.name, functions)
        before = [t.op for t in op.inputs if (t.op, t.value_index) not in fed]
        for other in [*before, *op.control_inputs]:
            if other not in seen:
                seen.add(other)
                stack.append(other)
    done: set[str] = set()
    while len(done) < len(functions):
        name = next(n for n in functions if n not in done)
        done.add(name)
        function = graph.functions.get(name)
        if function is None:
            continue
        for node in function.body.nodes:
            where = f"{functions[name]}/{node.name}"
            found.append((where, node.op_type))
            _note_functions(node.attrs, node.op_type, where, functions)
    return found


def _note_functions(
    attrs: Mapping[str, Any], op_type: str, name: str, functions: dict[str, str]
) -> None:
    if op_type in CALLS and isinstance(attrs["f"], FunctionRef):
        functions.setdefault(attrs["f"].name, name)


def _unsupported(found: Mapping[str, Sequence[str]]) -> UnsupportedError:
    """One error for all op types that cannot be compiled, with counts and node names."""
    counts = Counter({t: len(names) for t, names in found.items()})
    lines = []
    for op_type, count in counts.most_common():
        shown = ", ".join(found[op_type][:3]) + (", ..." if count > 3 else "")
        # Most of these ops are TensorFlow's own, which no op that merely sounds alike replaces.
        near = did_you_mean(op_type, tf_names(), 1, 0.9) if tf_op(op_type) is None else None
        lines.append(f"  {op_type} ({count}): {shown}" + (f"  [{near}]" if near else ""))
    total = sum(counts.values())
    return UnsupportedError(
        f"flowc cannot compile {len(counts)} op type{'s' if len(counts) > 1 else ''} "
        f"at {total} node{'s' if total > 1 else ''}:\n" + "\n".join(lines),
        node=next(iter(found.values()))[0],
        hint="fetch tensors that do not need these nodes, or feed the tensors behind them; "
        "`flowc ops` lists what can be compiled",
        problems=[(t, len(n), tuple(n)) for t, n in found.items()],
    )


def resolve_attr(value: Any, outer: Mapping[str, Any]) -> Any:
    """An attr's value with the placeholders of a function replaced by the call's attrs."""
    if isinstance(value, AttrPlaceholder):
        return outer.get(value.name)
    return value


def node_attrs(record: Op, attrs: Mapping[str, Any], outer: Mapping[str, Any]) -> dict[str, Any]:
    """A node's attrs as its record has them: strings as text, lists as tuples, known names only."""
    found: dict[str, Any] = {}
    for name, definition in record.signature.attrs.items():
        if name not in attrs:
            continue
        value = resolve_attr(attrs[name], outer)
        kind = definition.kind
        if kind == "string" and isinstance(value, bytes):
            value = value.decode("utf-8", "surrogateescape")
        elif kind.startswith("list"):
            value = tuple(
                v.decode("utf-8", "surrogateescape") if isinstance(v, bytes) else v for v in value
            )
        elif kind == "float":
            value = float(value)
        found[name] = value
    # Attrs that follow from the inputs are not stored, so that equal nodes have equal attrs.
    inferred = record.signature.inferred_attrs
    return {n: v for n, v in found.items() if n not in inferred}


def extract(
    graph: Graph,
    fetches: Sequence[Tensor],
    feeds: Mapping[Tensor, TensorType],
    targets: Sequence[Operation] = (),
) -> Computation:
    """The Computation of a fetch set.

    Raises `UnsupportedError` with all op types that cannot be compiled, `InvalidArgumentError` for
    a placeholder that is needed and not fed, `ShapeError` with the node for types that do not fit,
    `FailedPreconditionError` for a variable without a value.
    """
    return Extraction(graph).run(fetches, targets, feeds)
