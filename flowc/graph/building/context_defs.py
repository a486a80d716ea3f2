"""Contexts of loops and branches as messages, in collections that TensorFlow reads and writes.

In: a context, or a message and the graph that has its operations. Out: the message; the context,
with those inside it, and the operations in them. Invariant: what is read is written alike.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from google.protobuf.message import DecodeError

from flowc.errors import InvalidModelError
from flowc.graph.building.contexts import CondContext, ControlFlowContext, WhileContext
from flowc.graph.control_types import ENTER
from flowc.graph.graph import Graph
from flowc.graph.tensor import Tensor
from flowc.proto.control_flow_pb2 import CondContextDef, WhileContextDef

log = logging.getLogger("flowc.graph")

ContextDef = CondContextDef | WhileContextDef
MAX_DEPTH = 100  # of contexts in one another
# Collection -> the message of its items, which are contexts that no other stands around.
CONTEXT_COLLECTIONS: dict[str, type[CondContextDef] | type[WhileContextDef]] = {
    "cond_context": CondContextDef,
    "while_context": WhileContextDef,
}


# -- contexts to messages


def context_def(context: ControlFlowContext, scope: str | None = None) -> ContextDef | None:
    """The message of a context, its names without `scope`; None for one outside of that scope, and
    for one whose building failed."""
    prefix = f"{scope}/" if scope else ""
    if not context.name.startswith(prefix):
        return None
    if isinstance(context, CondContext):
        return _cond_def(context, prefix)
    assert isinstance(context, WhileContext)
    return _while_def(context, prefix)


def _cond_def(context: CondContext, prefix: str) -> CondContextDef:
    found = CondContextDef(
        context_name=context.name.removeprefix(prefix),
        pred_name=context.pred.name.removeprefix(prefix),
        pivot_name=context.pivot.name.removeprefix(prefix),
        branch=context.branch,
    )
    _fill_inside(found, context, prefix)
    return found


def _while_def(context: WhileContext, prefix: str) -> WhileContextDef | None:
    pivots = context.pivot, context.pivot_for_pred, context.pivot_for_body
    if any(tensor is None for tensor in pivots):
        return None
    pivot, for_pred, for_body = _names((t for t in pivots if t is not None), prefix)
    found = WhileContextDef(
        context_name=context.name.removeprefix(prefix),
        parallel_iterations=context.parallel_iterations,
        back_prop=context.back_prop,
        swap_memory=context.swap_memory,
        pivot_name=pivot,
        pivot_for_pred_name=for_pred,
        pivot_for_body_name=for_body,
        loop_exit_names=_names(context.loop_exits, prefix),
        loop_enter_names=_names(context.loop_enters, prefix),
    )
    if context.maximum_iterations is not None:
        found.maximum_iterations_name = context.maximum_iterations.name.removeprefix(prefix)
    _fill_inside(found, context, prefix)
    return found


def _fill_inside(found: ContextDef, context: ControlFlowContext, prefix: str) -> None:
    values = found.values_def
    values.SetInParent()
    values.values.extend(_names(sorted(context.known, key=lambda t: t.name), prefix))
    for tensor, inside in context.captured.items():
        values.external_values[tensor.name.removeprefix(prefix)] = inside.name.removeprefix(prefix)
    for nested in context.nested:
        message = context_def(nested, prefix.removesuffix("/"))
        if isinstance(message, CondContextDef):
            found.nested_contexts.add(cond_ctxt=message)
        elif message is not None:
            found.nested_contexts.add(while_ctxt=message)


def _names(tensors: Iterable[Tensor], prefix: str) -> list[str]:
    return [tensor.name.removeprefix(prefix) for tensor in tensors]


# -- messages to contexts


def read_context(
    graph: Graph, collection: str, message: bytes, scope: str | None = None
) -> ControlFlowContext | None:
    """The context that an item of a collection describes: its operations, whose names in the graph
    begin with `scope`, are in it from now on. None where the graph has not all of them, as one that
    was cut to a part of itself, or the bytes are no such message."""
    prefix = f"{scope}/" if scope else ""
    try:
        definition = CONTEXT_COLLECTIONS[collection].FromString(message)
        _check_names(graph, definition, prefix)
    except (DecodeError, KeyError, ValueError, InvalidModelError) as error:
        log.warning("an item of %r does not fit the graph: %s", collection, error)
        return None
    return _made(graph, definition, prefix)


def read_kept_contexts(graph: Graph) -> None:
    """Makes contexts of the messages that collections of a graph hold since it was loaded."""
    for key in CONTEXT_COLLECTIONS:
        items = graph.collections.get(key, [])
        for index, item in enumerate(items):
            if isinstance(item, bytes):
                items[index] = read_context(graph, key, item) or item


def _check_names(graph: Graph, definition: ContextDef, prefix: str) -> None:
    """Raises before any operation is in a context."""
    level = [definition]
    for _ in range(MAX_DEPTH):
        for found in level:
            for name in _needed_names(found):
                graph.get_tensor_by_name(prefix + name)
        level = [d for found in level for d in _nested_defs(found)]
        if not level:
            return
    raise InvalidModelError(f"contexts are nested more than {MAX_DEPTH} deep")


def _needed_names(definition: ContextDef) -> list[str]:
    values = definition.values_def
    found = [name for name in values.values if name not in values.external_values]
    found += [definition.pivot_name, *values.external_values.values()]
    if isinstance(definition, CondContextDef):
        return [*found, definition.pred_name]
    found += [definition.pivot_for_pred_name, definition.pivot_for_body_name]
    found += [*definition.loop_exit_names, *definition.loop_enter_names]
    limit = definition.maximum_iterations_name
    return [*found, limit] if limit else found


def _nested_defs(definition: ContextDef) -> list[ContextDef]:
    return [
        nested.cond_ctxt if nested.HasField("cond_ctxt") else nested.while_ctxt
        for nested in definition.nested_contexts
    ]


def _made(graph: Graph, definition: ContextDef, prefix: str) -> ControlFlowContext:
    def tensor(name: str) -> Tensor:
        return graph.get_tensor_by_name(prefix + name)

    if isinstance(definition, CondContextDef):
        pred, pivot = tensor(definition.pred_name), tensor(definition.pivot_name)
        context = CondContext(pred, pivot, definition.branch, prefix + definition.context_name)
    else:
        context = _while_context(graph, definition, prefix, tensor)
    values = definition.values_def
    inside = [tensor(name) for name in values.values if name not in values.external_values]
    outside = [name for name in values.external_values if _has(graph, prefix + name)]
    context.captured = {tensor(k): tensor(values.external_values[k]) for k in outside}
    context.known = {*inside, *context.captured}
    for value in inside:
        value.op.control_flow_context = context
        if prefix and isinstance(context, WhileContext) and value.op.type in ENTER:
            value.op.attrs["frame_name"] = context.name.encode()
    with context.entered():
        for nested in _nested_defs(definition):
            _made(graph, nested, prefix)
    return context


def _while_context(
    graph: Graph, definition: WhileContextDef, prefix: str, tensor: Callable[[str], Tensor]
) -> WhileContext:
    limit = definition.maximum_iterations_name
    context = WhileContext(
        graph,
        definition.parallel_iterations,
        definition.back_prop,
        definition.swap_memory,
        tensor(limit) if limit else None,
        prefix + definition.context_name,
    )
    context.pivot = tensor(definition.pivot_name)
    context.pivot_for_pred = tensor(definition.pivot_for_pred_name)
    context.pivot_for_body = tensor(definition.pivot_for_body_name)
    context.loop_exits = [tensor(name) for name in definition.loop_exit_names]
    context.loop_enters = [tensor(name) for name in definition.loop_enter_names]
    return context


def _has(graph: Graph, name: str) -> bool:
    """Whether the graph has a tensor; what an exported scope takes from outside is not there."""
    return name.partition(":")[0] in graph
