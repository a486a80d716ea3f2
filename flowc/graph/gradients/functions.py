"""Gradients of calls, and of branches that are functions.

In: an operation that calls functions of its graph, and the gradients of its outputs. Out: those of
its inputs, by an operation of the same type that calls the gradients of the functions: functions
which compute the forward values that they need again. Invariant: what is computed again has the
same value: a function that needs a random number or a variable's change again is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import UnimplementedError
from flowc.graph.attrs import Attrs, FunctionRef
from flowc.graph.building.conversion import as_tensor
from flowc.graph.control_types import FRAME_TYPES
from flowc.graph.function import BodyNode, Function, FunctionArg, FunctionBody, InputRef, NodeRef
from flowc.graph.gradients.operation import is_trainable
from flowc.graph.gradients.registry import GradientFunction, GradientRegistry
from flowc.graph.gradients.walk import Walk, WalkOptions
from flowc.graph.gradients.zeros import held_dtype, zeros_of
from flowc.graph.graph import Graph
from flowc.graph.op_info import has_trait, resolve_attr, signature_of
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.ir.traversal import inputs_first

_BRANCHES = frozenset({"Case", "If", "StatelessCase", "StatelessIf", "StatelessWhile", "While"})
# Stateful ops whose value is the same when it is computed again.
_STEADY = frozenset({"PlaceholderWithDefault", "ReadVariableOp", "VarHandleOp", "VariableShape"})


@dataclass(frozen=True)
class _Body:
    """A function's body as a graph: the tensors of its arguments and results."""

    graph: Graph
    args: list[Tensor]
    results: list[Tensor]


def _opened(function: Function, call: Operation, inputs: Sequence[Tensor]) -> _Body:
    """Raises `UnimplementedError` for a body with frames, whose loops no graph says."""
    graph = Graph()
    graph.functions = call.graph.functions
    types = [t for arg in function.args for t in arg.types(call.attrs)]
    args = [
        _argument(graph, f"arg{i}", dtype or given.dtype, given)
        for i, (dtype, given) in enumerate(zip(types, inputs, strict=True))
    ]
    nodes = {node.name: node for node in function.body.nodes}
    made: dict[str, Operation] = {}

    def tensor(reference: InputRef) -> Tensor:
        if reference[0] == "arg":
            return args[reference[1]]
        source = made[reference[1]]
        return source.output(_output_index(source, reference))

    def sources(name: str) -> list[str]:
        node = nodes[name]
        return [*(r[1] for r in node.inputs if r[0] == "node"), *node.control_inputs]

    for node in map(nodes.__getitem__, inputs_first(nodes, sources)):
        if node.type in FRAME_TYPES:
            raise UnimplementedError(
                f"the gradient of the function {function.name!r}, which is written with frames",
                node=call.name,
            )
        attrs = {name: resolve_attr(value, call.attrs) for name, value in node.attrs.items()}
        controls = [made[name] for name in node.control_inputs]
        made[node.name] = graph.create_op(
            node.type, [tensor(r) for r in node.inputs], attrs, node.name, controls
        )
    return _Body(graph, args, [tensor(r) for r in function.body.results])


def _argument(graph: Graph, name: str, dtype: DType | None, like: Tensor) -> Tensor:
    assert dtype is not None
    sizes = like.shape.sizes if dtype is not dtypes.resource else ()
    attrs = {"dtype": dtype, "shape": sizes}
    if dtype is dtypes.resource:  # what is behind the handle
        attrs = {"dtype": dtype, "shape": like.op.attrs.get("shape"), "_held": held_dtype(like)}
    op = graph.create_op("Placeholder", (), attrs, name, output_types=[(dtype, sizes)])
    return op.outputs[0]


def _output_index(op: Operation, reference: NodeRef) -> int:
    """Which output of an operation a reference by the name of its signature means."""
    _, _, wanted, k = reference
    function = op.graph.functions.get(op.type)
    if function is not None:
        names = [(r.name, len(r.types(op.attrs))) for r in function.results]
    else:
        signature = signature_of(op.type)
        assert signature is not None, op.type
        names = []
        for arg in signature.outputs:
            counted = arg.number_attr or (arg.type_attr if arg.is_list else None)
            count = 1 if counted is None else op.attrs[counted]
            names.append((arg.name, count if isinstance(count, int) else len(count)))
    at = 0
    for name, count in names:
        if name == wanted:
            return at + k
        at += count
    raise UnimplementedError(f"{op.type} has no output {wanted!r}", node=op.name)


@dataclass(frozen=True)
class _Differentiated:
    """A body with the gradients of its arguments (None where there is none)."""

    body: _Body
    flowing: list[Tensor]
    gradients: list[Tensor | None]


def _differentiated(
    registry: GradientRegistry, body: _Body, dys: Sequence[Tensor | None]
) -> _Differentiated:
    graph = body.graph
    with graph.as_default(), graph.name_scope("gradients"):
        pairs = [(y, dy) for y, dy in zip(body.results, dys, strict=True) if dy is not None]
        flowing = [_argument(graph, f"dy{i}", dy.dtype, dy) for i, (_, dy) in enumerate(pairs)]
        ys = [y for y, _ in pairs]
        walk = Walk(graph, ys, body.args, (), registry, WalkOptions())
        found = walk.run(list(flowing))
        return _Differentiated(body, flowing, [g if g is None else as_tensor(g) for g in found])


def _written(found: _Differentiated, wanted: Sequence[int], name: str, call: Operation) -> Function:
    """The function of a body's arguments and of what flows back that gives the gradients of the
    arguments `wanted`: zeros where there is none."""
    args = [*found.body.args, *found.flowing]
    results: list[Tensor] = []
    with found.body.graph.as_default():
        for i in wanted:
            gradient = found.gradients[i]
            results.append(zeros_of(args[i]) if gradient is None else gradient)  # type: ignore[arg-type]
    needed = list(inputs_first({t.op: None for t in results}, lambda op: [t.op for t in op.inputs]))
    places = {t.op: i for i, t in enumerate(args)}
    body = [op for op in needed if op not in places]
    for op in body:
        if _varies(op.type):
            raise UnimplementedError(
                f"the gradient needs {op.type} of the function again, which may give another value",
                node=call.name,
            )
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
        )
        for op in body
    )
    content = FunctionBody(nodes, tuple(reference(t) for t in results), ())
    return Function(
        name,
        tuple(FunctionArg(f"arg{i}", t.dtype) for i, t in enumerate(args)),
        tuple(FunctionArg(f"result{i}", t.dtype) for i, t in enumerate(results)),
        lambda: content,
        is_stateful=any(has_trait(op.type, "stateful") for op in body),
    )


def _varies(op_type: str) -> bool:
    """Whether an op may give another value when it is computed again."""
    is_call = has_trait(op_type, "call") or op_type in _BRANCHES
    return has_trait(op_type, "stateful") and not is_call and op_type not in _STEADY


def _output_name(tensor: Tensor) -> tuple[str, int]:
    """What a function's body calls an output."""
    op = tensor.op
    function = op.graph.functions.get(op.type)
    signature = None if function is not None else signature_of(op.type)
    found = function.results if function is not None else signature.outputs if signature else ()
    for arg in found:
        for k in range(len(op.outputs)):
            try:
                if _output_index(op, ("node", op.name, arg.name, k)) == tensor.value_index:
                    return arg.name, k
            except UnimplementedError:
                break
    raise AssertionError(f"{tensor.name} is no output of {op.type}")


def _back(
    registry: GradientRegistry,
    op: Operation,
    names: Sequence[str],
    first: int,
    dys: Sequence[Tensor | None],
    attrs: Callable[[list[FunctionRef], list[DType], list[DType]], Mapping[str, Any]],
) -> list[Tensor | None]:
    """The gradients of the inputs from `first` on, by an operation that calls the gradients of the
    functions `names`."""
    graph = op.graph
    given = op.inputs[first:]
    dense = [None if dy is None or not is_trainable(y) else as_tensor(dy)
             for y, dy in zip(op.outputs, dys)]  # fmt: skip
    found = [
        _differentiated(registry, _opened(graph.functions[name], op, given), dense)
        for name in names
    ]
    wanted = [i for i in range(len(given)) if any(f.gradients[i] is not None for f in found)]
    if not wanted:
        return [None] * len(op.inputs)
    references = []
    for name, one in zip(names, found):
        full = graph.unique_name(f"__backward_{name}").replace("/", "_")
        graph.functions[full] = _written(one, wanted, full, op)
        references.append(FunctionRef(full))
    flowing = [dy for dy in dense if dy is not None]
    inputs = [*given, *flowing]
    types = [t.dtype for t in inputs if t.dtype is not None]
    results = [(held_dtype(given[i]), _shape_of(given[i])) for i in wanted]
    stated = attrs(references, types, [t for t, _ in results])
    op_type = "StatefulPartitionedCall" if op.type in graph.functions else op.type
    made = graph.create_op(
        op_type, [*op.inputs[:first], *inputs], stated, op_type, output_types=results
    )
    gradients: list[Tensor | None] = [None] * len(op.inputs)
    for i, tensor in zip(wanted, made.outputs):
        gradients[first + i] = tensor
    return gradients


def _shape_of(tensor: Tensor) -> Any:
    return tensor.op.attrs.get("shape") if tensor.dtype is dtypes.resource else tensor.shape


def function_gradients(registry: Callable[[], GradientRegistry]) -> dict[str, GradientFunction]:
    """The gradients of ops that call functions; `registry`: where those of the functions' own
    operations are found."""

    def call(op: Operation, *dys: Any) -> list[Tensor | None]:
        name = op.type if op.type in op.graph.functions else op.attrs["f"].name

        def attrs(functions: list[FunctionRef], given: list[DType], found: list[DType]) -> Any:
            rest = {"config": b"", "config_proto": b"", "executor_type": b""}
            return {"f": functions[0], "Tin": given, "Tout": found, **rest}

        return _back(registry(), op, [name], 0, dys, attrs)

    def branch(op: Operation, *dys: Any) -> list[Tensor | None]:
        names = [op.attrs[a].name for a in ("then_branch", "else_branch")]

        def attrs(functions: list[FunctionRef], given: list[DType], found: list[DType]) -> Any:
            then, other = functions
            types = {"Tcond": op.inputs[0].dtype, "Tin": given, "Tout": found}
            return {"then_branch": then, "else_branch": other, "output_shapes": [], **types}

        return _back(registry(), op, names, 1, dys, attrs)

    def case(op: Operation, *dys: Any) -> list[Tensor | None]:
        def attrs(functions: list[FunctionRef], given: list[DType], found: list[DType]) -> Any:
            return {"branches": functions, "Tin": given, "Tout": found, "output_shapes": []}

        return _back(registry(), op, [f.name for f in op.attrs["branches"]], 1, dys, attrs)

    return {
        "Case": case,
        "If": branch,
        "PartitionedCall": call,
        "StatefulPartitionedCall": call,
        "StatelessCase": case,
        "StatelessIf": branch,
    }
