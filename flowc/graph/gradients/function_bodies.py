"""Functions of a graph as graphs, differentiated, and graphs as functions.

In: a function and an operation that calls it. Out: its body as a graph with the gradients of its
arguments, and functions made of such graphs. Invariant: the gradient of a function computes the
forward values that it needs again, and what is computed again has the same value: a function that
needs a random number or a variable's change again is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.errors import InvalidModelError, UnimplementedError
from flowc.graph.attrs import Attrs, FunctionRef
from flowc.graph.building.conversion import as_tensor
from flowc.graph.control_types import FRAME_TYPES
from flowc.graph.function import BodyNode, Function, FunctionArg, FunctionBody, InputRef, NodeRef
from flowc.graph.gradients.handles import HELD, held_dtype
from flowc.graph.gradients.registry import GradientRegistry
from flowc.graph.gradients.walk import Walk, WalkOptions
from flowc.graph.gradients.zeros import zeros_of_value
from flowc.graph.graph import Graph
from flowc.graph.op_info import has_trait, resolve_attr, signature_of
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.ir.traversal import inputs_first

_BRANCHES = frozenset({"Case", "If", "StatelessCase", "StatelessIf", "StatelessWhile", "While"})
# Stateful ops whose value is the same when it is computed again.
_STEADY = frozenset({"PlaceholderWithDefault", "ReadVariableOp", "VarHandleOp", "VariableShape"})


@dataclass(frozen=True)
class Body:
    """A function's body as a graph: the tensors of its arguments and results."""

    graph: Graph
    args: list[Tensor]
    results: list[Tensor]


def opened(function: Function, call: Operation, inputs: Sequence[Tensor]) -> Body:
    """Raises `UnimplementedError` for a body with frames, whose loops no graph says."""
    graph = Graph()
    graph.functions = call.graph.functions
    types = [t for arg in function.args for t in arg.types(call.attrs)]
    args = [
        argument(graph, f"arg{i}", dtype or given.base_dtype, given)
        for i, (dtype, given) in enumerate(zip(types, inputs, strict=True))
    ]
    if any(node.type in FRAME_TYPES for node in function.body.nodes):
        raise UnimplementedError(
            f"the gradient of the function {function.name!r}, which is written with frames",
            node=call.name,
        )
    return Body(graph, args, open_body(graph, function, args, call.attrs)[0])


def open_body(
    graph: Graph,
    function: Function,
    args: Sequence[Tensor],
    attrs: Mapping[str, Any],
    prefix: str = "",
) -> tuple[list[Tensor], list[Operation]]:
    """The nodes of a body without frames as operations of a graph: the results, and what has to run
    besides. `attrs`: those of the call; `prefix`: stands before the names."""
    nodes = {node.name: node for node in function.body.nodes}
    made: dict[str, Operation] = {}

    def tensor(reference: InputRef) -> Tensor:
        if reference[0] == "arg":
            return args[reference[1]]
        source = made.get(reference[1])
        if source is None:
            text = f"the nodes of {function.name} wait for one another at {reference[1]}"
            raise InvalidModelError(text)
        return source.output(_output_index(source, reference))

    def sources(name: str) -> list[str]:
        node = nodes[name]
        return [*(r[1] for r in node.inputs if r[0] == "node"), *node.control_inputs]

    for node in map(nodes.__getitem__, inputs_first(nodes, sources)):
        given = {name: resolve_attr(value, attrs) for name, value in node.attrs.items()}
        controls = [made[name] for name in node.control_inputs]
        inputs = [tensor(r) for r in node.inputs]
        made[node.name] = graph.add_operation(
            node.type, inputs, given, prefix + node.name, controls
        )
    content = function.body
    return [tensor(r) for r in content.results], [made[name] for name in content.control_results]


def argument(graph: Graph, name: str, dtype: DType | None, like: Tensor) -> Tensor:
    assert dtype is not None
    sizes = like.shape.sizes if dtype is not dtypes.resource else ()
    attrs = {"dtype": dtype, "shape": sizes}
    if dtype is dtypes.resource:  # what is behind the handle
        attrs = {"dtype": dtype, "shape": like.op.attrs.get("shape"), HELD: held_dtype(like)}
    op = graph.add_operation("Placeholder", (), attrs, name, output_types=[(dtype, sizes)])
    return op.outputs[0]


def _output_args(op: Operation) -> list[tuple[str, int]]:
    """The outputs of an operation by the names of its signature: how many tensors each is."""
    function = op.graph.functions.get(op.type)
    if function is not None:
        return [(r.name, len(r.types(op.attrs))) for r in function.results]
    signature = signature_of(op.type)
    assert signature is not None, op.type
    found: list[tuple[str, int]] = []
    for arg in signature.outputs:
        counted = arg.number_attr or (arg.type_attr if arg.is_list else None)
        count = 1 if counted is None else op.attrs[counted]
        found.append((arg.name, count if isinstance(count, int) else len(count)))
    return found


def _output_index(op: Operation, reference: NodeRef) -> int:
    """Which output of an operation a reference by the name of its signature means."""
    at = 0
    for name, count in _output_args(op):
        if name == reference[2]:
            return at + reference[3]
        at += count
    raise UnimplementedError(f"{op.type} has no output {reference[2]!r}", node=op.name)


def _output_name(tensor: Tensor) -> tuple[str, int]:
    """What a function's body calls an output."""
    k = tensor.value_index
    for name, count in _output_args(tensor.op):
        if k < count:
            return name, k
        k -= count
    raise AssertionError(f"{tensor.name} is no output of {tensor.op.type}")


@dataclass(frozen=True)
class Differentiated:
    """A body with the gradients of its arguments (None where there is none)."""

    body: Body
    flowing: list[Tensor]
    gradients: list[Tensor | None]


def differentiated(
    registry: GradientRegistry, body: Body, dys: Sequence[Tensor | None]
) -> Differentiated:
    graph = body.graph
    with graph.as_default(), graph.name_scope("gradients"):
        pairs = [(y, dy) for y, dy in zip(body.results, dys, strict=True) if dy is not None]
        flowing = [argument(graph, f"dy{i}", dy.dtype, dy) for i, (_, dy) in enumerate(pairs)]
        ys = [y for y, _ in pairs]
        walk = Walk(graph, ys, body.args, (), registry, WalkOptions())
        found = walk.run(list(flowing))
        return Differentiated(body, flowing, [g if g is None else as_tensor(g) for g in found])


def given_back(found: Differentiated, wanted: Sequence[int]) -> list[Tensor]:
    """The gradients of the arguments `wanted`, zeros where there is none."""
    with found.body.graph.as_default():
        gradients = [(found.body.args[i], found.gradients[i]) for i in wanted]
        results = [zeros_of_value(arg) if g is None else g for arg, g in gradients]
    return [r for r in results if r is not None]


def function_of(
    name: str, args: Sequence[Tensor], results: Sequence[Tensor], call: Operation
) -> Function:
    """The function that computes `results` from placeholders. Raises `UnimplementedError` for what
    may not be computed again."""
    places = {t.op: i for i, t in enumerate(args)}
    needed = inputs_first({t.op: None for t in results}, lambda op: [t.op for t in op.inputs])
    body = [op for op in needed if op not in places]
    for op in body:
        if _varies(op.type):
            raise UnimplementedError(
                f"the gradient needs {op.type} of the function again, which may give another value",
                node=call.name,
            )
    return function_from(name, args, results, body, ())


def function_from(
    name: str,
    args: Sequence[Tensor],
    results: Sequence[Tensor],
    body: Sequence[Operation],
    controls: Sequence[Operation],
    arg_names: Sequence[str] = (),
    is_imported: bool = True,
) -> Function:
    """The function of operations that compute `results` from placeholders. `controls`: those that
    run even if no result needs them."""
    places = {t.op: i for i, t in enumerate(args)}
    kept = set(body)

    def reference(tensor: Tensor) -> InputRef:
        if tensor.op in places:
            return ("arg", places[tensor.op])
        return ("node", tensor.op.name, *_output_name(tensor))

    nodes = tuple(
        BodyNode(
            op.name,
            op.type,
            tuple(reference(t) for t in op.inputs),
            tuple(c.name for c in op.control_inputs if c in kept),
            Attrs(dict(op.attrs)),
            is_imported=is_imported,
        )
        for op in body
    )
    ran = tuple(op.name for op in controls)
    content = FunctionBody(nodes, tuple(reference(t) for t in results), ran)
    named = arg_names or [f"arg{i}" for i in range(len(args))]
    return Function(
        name,
        tuple(FunctionArg(n, t.base_dtype) for n, t in zip(named, args)),
        tuple(FunctionArg(f"result{i}", t.base_dtype) for i, t in enumerate(results)),
        lambda: content,
        is_stateful=any(has_trait(op.type, "stateful") for op in body),
    )


def added_function(call: Operation, base: str, made: Callable[[str], Function]) -> FunctionRef:
    """Adds a function under a new name to the graph of an operation. Graphs of functions share
    theirs with it, and have names of their own."""
    graph = call.graph
    name = graph.unique_name(f"__{base}").replace("/", "_")
    while name in graph.functions:
        name = graph.unique_name(f"__{base}").replace("/", "_")
    graph.functions[name] = made(name)
    return FunctionRef(name)


def _varies(op_type: str) -> bool:
    """Whether an op may give another value when it is computed again."""
    is_call = has_trait(op_type, "call") or op_type in _BRANCHES
    return has_trait(op_type, "stateful") and not is_call and op_type not in _STEADY
