"""Gradients of calls, and of branches that are functions.

In: an operation that calls functions of its graph, and the gradients of its outputs. Out: those of
its inputs, by an operation of the same type that calls the gradients of the functions. Invariant:
all branches give the gradients of the same inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from flowc import dtypes
from flowc.dtypes import DType
from flowc.graph.attrs import FunctionRef
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output
from flowc.graph.gradients.function_bodies import (
    added_function,
    differentiated,
    function_of,
    given_back,
    opened,
)
from flowc.graph.gradients.function_loops import while_gradient
from flowc.graph.gradients.handles import gradient_dtype
from flowc.graph.gradients.operation import is_trainable
from flowc.graph.gradients.registry import GradientFunction, GradientRegistry
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor

_CALL = "StatefulPartitionedCall"
_UNCONFIGURED = {"config": b"", "config_proto": b"", "executor_type": b""}


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
        differentiated(registry, opened(graph.functions[name], op, given), dense) for name in names
    ]
    wanted = [i for i in range(len(given)) if any(f.gradients[i] is not None for f in found)]
    if not wanted:
        return [None] * len(op.inputs)
    references = []
    for name, one in zip(names, found):
        made = partial(
            function_of,
            args=[*one.body.args, *one.flowing],
            results=given_back(one, wanted),
            call=op,
        )
        references.append(added_function(op, f"backward_{name}", made))
    flowing = [dy for dy in dense if dy is not None]
    inputs = [*given, *flowing]
    types = [t.base_dtype for t in inputs if t.base_dtype is not None]
    results = [(gradient_dtype(given[i]), _shape_of(given[i])) for i in wanted]
    stated = attrs(references, types, [t for t, _ in results])
    op_type = _CALL if op.type in graph.functions else op.type
    back = graph.add_operation(
        op_type, [*op.inputs[:first], *inputs], stated, op_type, output_types=results
    )
    gradients: list[Tensor | None] = [None] * len(op.inputs)
    for i, tensor in zip(wanted, back.outputs):
        gradients[first + i] = tensor
    return gradients


def _given_back_by(op: Operation, function: str, dys: Sequence[Any]) -> list[Tensor | None]:
    """The gradients of a call whose function names the function that gives them."""
    dense = [output("ZerosLike", y) if dy is None else as_tensor(dy)
             for y, dy in zip(op.outputs, dys)]  # fmt: skip
    inputs = [*op.inputs, *dense]
    results = [(gradient_dtype(t), _shape_of(t)) for t in op.inputs]
    attrs = {
        "f": FunctionRef(function),
        "Tin": [t.base_dtype for t in inputs],
        "Tout": [dtype for dtype, _ in results],
        **_UNCONFIGURED,
    }
    back = op.graph.add_operation(_CALL, inputs, attrs, _CALL, output_types=results)
    return list(back.outputs)


def _shape_of(tensor: Tensor) -> Any:
    return tensor.op.attrs.get("shape") if tensor.base_dtype is dtypes.resource else tensor.shape


def function_gradients(registry: Callable[[], GradientRegistry]) -> dict[str, GradientFunction]:
    """The gradients of ops that call functions; `registry`: where those of the functions' own
    operations are found."""

    def call(op: Operation, *dys: Any) -> list[Tensor | None]:
        name = op.type if op.type in op.graph.functions else op.attrs["f"].name

        own = op.graph.functions[name].gradient
        if own is not None:
            return _given_back_by(op, own, dys)

        def attrs(functions: list[FunctionRef], given: list[DType], found: list[DType]) -> Any:
            return {"f": functions[0], "Tin": given, "Tout": found, **_UNCONFIGURED}

        return _back(registry(), op, [name], 0, dys, attrs)

    def branch(op: Operation, *dys: Any) -> list[Tensor | None]:
        names = [op.attrs[a].name for a in ("then_branch", "else_branch")]

        def attrs(functions: list[FunctionRef], given: list[DType], found: list[DType]) -> Any:
            then, other = functions
            types = {"Tcond": op.inputs[0].base_dtype, "Tin": given, "Tout": found}
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
        "StatelessWhile": lambda op, *dys: while_gradient(registry(), op, *dys),
        "While": lambda op, *dys: while_gradient(registry(), op, *dys),
    }
