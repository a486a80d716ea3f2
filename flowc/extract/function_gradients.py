"""The gradient of a function, called where a `SymbolicGradient` stands.

In: a reference to a function, what it was given, and what flows back into its results. Out: a
reference to the function that gives the gradients of its arguments, and what that is given.
Invariant: the gradient that a graph names for a function is taken; others are made by the same
walk as those of a program, and compute the forward values that they need again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.errors import FlowcError, InvalidArgumentError
from flowc.extract.calls import called_function
from flowc.graph.attrs import FunctionRef
from flowc.graph.building.creation import output
from flowc.graph.function import Function
from flowc.graph.gradients.function_bodies import (
    Differentiated,
    differentiated,
    function_from,
    opened,
)
from flowc.graph.gradients.functions import function_gradients
from flowc.graph.gradients.handles import HELD
from flowc.graph.gradients.operation import is_trainable
from flowc.graph.gradients.registry import GradientRegistry
from flowc.graph.gradients.zeros import zeros_of
from flowc.graph.graph import Graph
from flowc.graph.tensor import Tensor
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, Resource
from flowc.ir.traversal import inputs_first


def gradient_call(
    functions: dict[str, Function],
    name: str,
    reference: Any,
    inputs: Sequence[Bound],
    callers: Sequence[str],
) -> tuple[FunctionRef, list[Bound]]:
    """What the node `name` calls for the gradients of a function, and with what. `inputs`: the
    function's arguments, then the gradients of its results. Raises as `called_function`, and
    `LookupError` for an op without a gradient."""
    function = called_function(functions, name, reference, None, callers)
    if function.gradient is not None:
        return FunctionRef(function.gradient, reference.attrs), list(inputs)
    scratch = Graph()
    scratch.functions = functions  # where gradients of what it calls are added
    tensors = [_placeholder(scratch, x) for x in inputs]
    attrs = {**reference.attrs, "f": reference}
    call = scratch.add_operation("SymbolicGradient", tensors, attrs, "call", output_types=())
    width = sum(len(arg.types(reference.attrs)) for arg in function.args)
    body = opened(function, call, tensors[:width])
    flows = [is_trainable(y) for y in body.results]
    dys = [dy if flow else None for dy, flow in zip(tensors[width:], flows, strict=True)]
    registry = GradientRegistry(function_gradients(lambda: registry))
    try:
        found = differentiated(registry, body, dys)
    except FlowcError:
        raise
    except (TypeError, ValueError) as error:  # as `tf.gradients` has it
        fault = f"the gradient of '{reference.name}' cannot be built: {error}"
        raise InvalidArgumentError(fault, node=name) from error
    results = _results(found)
    args = [*body.args, *found.flowing]
    needed = inputs_first(
        dict.fromkeys(t.op for t in results), lambda op: [t.op for t in op.inputs]
    )
    given = {t.op for t in args}
    made = f"{reference.name}/gradient of {name}"
    operations = [op for op in needed if op not in given]
    functions[made] = function_from(made, args, results, operations, ())
    used = [x for x, flow in zip(inputs[width:], flows) if flow]
    return FunctionRef(made, reference.attrs), [*inputs[:width], *used]


def _results(found: Differentiated) -> list[Tensor]:
    """The gradients of all arguments: zeros where nothing flows back, of integers too."""

    def zeros(x: Tensor) -> Tensor:
        made = zeros_of(x)
        return output("ZerosLike", x) if made is None else made

    pairs = zip(found.body.args, found.gradients, strict=True)
    with found.body.graph.as_default():
        return [zeros(x) if g is None else g for x, g in pairs]


def _placeholder(graph: Graph, bound: Bound) -> Tensor:
    """What stands for an input of the node in a graph: its dtype, and the sizes that are known."""
    dtype, sizes, held = dtypes.variant, None, None
    if isinstance(bound, Value):
        dtype = bound.type.dtype
        sizes = tuple(d if isinstance(d, int) else None for d in bound.type.dims)
    elif isinstance(bound, Resource):
        dtype, held = dtypes.resource, bound.info.get("dtype")
    attrs = {"dtype": dtype, "shape": sizes, HELD: held}
    op = graph.add_operation("Placeholder", (), attrs, "input", output_types=[(dtype, sizes)])
    return op.outputs[0]
