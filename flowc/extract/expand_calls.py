"""Calls of functions as operations of the graph, so that what is inside has names.

In: a Graph and a name that flowc printed, such as `StatefulPartitionedCall/dense/Relu:0`. Out: the
graph with the operations of that call, by the names that messages have for them. Invariant: the
graph computes the same; the call node stays and forwards the results of the expanded body.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from flowc.extract.behind_feeds import changes_nothing
from flowc.extract.called_functions import body_of, called_functions
from flowc.extract.calls import called_function
from flowc.extract.node_source import ARGUMENT, CallSource
from flowc.graph.attrs import Attrs, FunctionRef
from flowc.graph.function import BodyNode
from flowc.graph.graph import Graph
from flowc.graph.op_info import resolve_attr
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor

_PASSES = "IdentityN"
CALLS = ("PartitionedCall", "StatefulPartitionedCall")


def is_call(graph: Graph, op: Operation) -> bool:
    """Whether an operation does nothing but call a function."""
    return op.type in CALLS or op.type in graph.functions


def expand_calls_to(graph: Graph, item: Any) -> None:
    """Where `item` is the name of an operation or tensor in functions that the graph calls, in one
    another, expands these calls; does nothing for all else.

    Raises as `called_function`.
    """
    if not isinstance(item, str):
        return
    name = item.partition(":")[0]
    parts = name.split("/")
    for end in range(1, len(parts)):
        if name in graph:
            return
        path = "/".join(parts[:end])
        if path in graph and is_call(graph, graph.get_operation_by_name(path)):
            expand_call(graph, graph.get_operation_by_name(path))


def expand_call(graph: Graph, call: Operation) -> None:
    """Adds the operations of a call's function to the graph, `CALL/NODE` each, and has the call
    pass on what they give."""
    reference: Any = call.attrs.get("f") or FunctionRef(call.type, dict(call.attrs))
    function = called_function(graph.functions, call.name, reference, len(call.inputs), ())
    source = CallSource(function, f"{call.name}/", reference.attrs, graph.functions)
    made = {n.name: _operation(graph, call, n, reference) for n in function.body.nodes}

    def tensor(ref: tuple[Any, int]) -> Tensor:
        key, index = ref
        return call.inputs[index] if key == ARGUMENT else made[key].output(index)

    for node in function.body.nodes:
        op = made[node.name]
        inputs = source.node(node.name).inputs
        op.set_inputs(tensor(ref) for ref in inputs)
        waits: list[Operation] = [made[c] for c in node.control_inputs]
        if not waits and all(key == ARGUMENT for key, _ in inputs):
            waits = list(call.control_inputs)
        op.set_control_inputs(waits)
    results = [tensor(source.resolve(r)) for r in function.body.results]
    ends = [made[name] for name in function.body.control_results]
    waiting = [op for op in graph.get_operations() if call in op.control_inputs]
    _pass_on(call, results)
    if _has_effects(graph, function.body.nodes):
        call.set_control_inputs(ends)
        return
    for op in waiting:
        waits = [e for c in op.control_inputs for e in (ends if c is call else [c])]
        op.set_control_inputs(waits)
    for reader in {op for t in call.outputs for op in t.consumers()}:
        reader.set_inputs(map(passed_on, reader.inputs))


def passed_on(tensor: Tensor) -> Tensor:
    """The tensor that is given as this one, where nothing happens in between."""
    while tensor.op.type == _PASSES and not tensor.op.control_inputs:
        tensor = tensor.op.inputs[tensor.value_index]
    return tensor


def _has_effects(graph: Graph, nodes: Iterable[BodyNode]) -> bool:
    """Whether nodes of a function, or those of functions that they call, change anything."""
    waiting, seen = list(nodes), set[str]()
    for node in waiting:  # which grows meanwhile
        called = called_functions(graph, node)
        if not called and not changes_nothing(node.type):
            return True
        for name in called:
            if name not in seen:
                seen.add(name)
                waiting += body_of(graph, name)
    return False


def _operation(graph: Graph, call: Operation, node: BodyNode, reference: FunctionRef) -> Operation:
    attrs = Attrs({name: resolve_attr(v, reference.attrs) for name, v in node.attrs.items()})
    op = Operation(graph, node.type, f"{call.name}/{node.name}", attrs)
    op.device = node.device
    if call.encoded is not None:
        op.encoded = type(call.encoded)()  # imported as the call was, with nothing to write back
    graph.add_read_operation(op)
    return op


def _pass_on(call: Operation, results: Sequence[Tensor]) -> None:
    """Makes the call an operation that gives `results`."""
    outputs = call.outputs
    dtypes = [t.base_dtype for t in outputs]
    call.type = _PASSES if outputs else "NoOp"
    call.attrs = Attrs({"T": dtypes} if outputs and None not in dtypes else {})
    if call.encoded is not None:
        call.encoded = type(call.encoded)()
    call.set_inputs(results)
    call.set_control_inputs(())
