"""Sources and sinks of a graph: what it is fed, and what it computes for nobody but its caller.

In: a Graph of whose inputs and outputs nobody told. Out: operations that are fed, and tensors that
nothing takes or waits for. Invariant: none is inside of a loop, or was made by `tf.gradients` or a
Saver.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flowc.graph.control_types import ENTER, EXIT, PASSING, SWITCH
from flowc.graph.graph import Graph
from flowc.graph.op_info import has_trait
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.ir.traversal import reachable

# Nodes that save and restore, or hold state: never what a model is asked for.
_NO_RESULT = re.compile(
    r"Assign.*|Save.*|Restore.*|NoOp|Variable.*|VarHandleOp|Const|ReadVariableOp"
)
# What stands at the end of a branch or was left behind by shape arithmetic: taken only for want of
# others.
_ASIDE = SWITCH | {"Shape"}
# Where tf.gradients and a Saver put their nodes.
_AUXILIARY_SCOPE = re.compile(r"(.*/)?(gradients|save)(_\d+)?/.*")
LOOPS_LIMIT = 100  # loops in one another; more in what is malformed


def _is_fed(op: Operation) -> bool:
    return has_trait(op.type, "fed")


def sources(graph: Graph) -> list[Operation]:
    """The operations whose values are fed to a model."""
    fed = filter(_is_fed, graph.get_operations())
    return [op for op in fed if not _AUXILIARY_SCOPE.fullmatch(op.name)]


def sinks(graph: Graph, fed: set[Tensor]) -> list[Tensor]:
    """Tensors that nothing takes or waits for, of operations that depend on the elements of a feed
    or placeholder where any does; what trains and saves is left out."""
    starts = {t.op for t in fed} or set(filter(_is_fed, graph.get_operations()))
    reached = _reached_by_elements(starts)
    awaited = {c for op in graph.get_operations() for c in op.control_inputs}
    inside = inside_loops(graph)
    read_loops = _read_loops(graph)
    found: list[Tensor] = []
    spare: list[Tensor] = []
    for op in graph.get_operations():
        outputs = op.outputs
        if _NO_RESULT.fullmatch(op.type) or _is_fed(op) or not outputs:
            continue
        if _AUXILIARY_SCOPE.fullmatch(op.name) or any(t.is_ref for t in outputs):
            continue
        if op in awaited or op in inside or any(t.consumers() for t in outputs):
            continue
        is_left = (op.type in EXIT and _loop_of(op) in read_loops) or _is_left_of_call(op)
        holds_values = all(t.dtype is None or t.dtype.kind != "handle" for t in outputs)
        wanted = op in reached and holds_values and not is_left and not _is_pivot_or_shape(op)
        (found if wanted else spare).extend(outputs)
    return found or spare


def inside_loops(graph: Graph) -> set[Operation]:
    """Operations in loops of TensorFlow 1: they have a value for each iteration and cannot be
    fetched."""
    depths: dict[Operation, int] = {}
    stack = [op for op in graph.get_operations() if op.type in ENTER]
    while stack:
        op = stack.pop()
        depth = max((depths.get(t.op, 0) for t in op.inputs), default=0)
        depth += (op.type in ENTER) - (op.type in EXIT)
        if depth > depths.get(op, 0) and depth <= LOOPS_LIMIT:
            depths[op] = depth
            stack += [user for t in op.outputs for user in t.consumers()]
    return set(depths)


def _read_loops(graph: Graph) -> set[Operation | None]:
    """Loops some of whose results are read: their unread results, such as counters, are no outputs
    of a model."""
    exits = (op for op in graph.get_operations() if op.type in EXIT)
    return {_loop_of(op) for op in exits if any(t.consumers() for t in op.outputs)}


def _is_left_of_call(op: Operation) -> bool:
    """Whether an operation only passes on what a loop or branch that is a call of functions gives,
    in its scope, and another of its results is read."""
    if not has_trait(op.type, "identity") or not op.inputs:
        return False
    call = op.inputs[0].op
    if not op.name.startswith(f"{call.name}/"):
        return False
    return any(t.consumers() for r in call.outputs for user in r.consumers() for t in user.outputs)


def _loop_of(exit_: Operation) -> Operation | None:
    """What says whether the loop goes on of which an operation is a result."""
    switch = exit_.inputs[0].op if exit_.inputs else exit_
    return switch.inputs[1].op if switch.type in SWITCH and len(switch.inputs) > 1 else None


def _is_pivot_or_shape(op: Operation) -> bool:
    """Whether an operation is a branch's pivot (`cond/switch_t`) or an unread shape."""
    branch = op.type in PASSING and bool(op.inputs) and op.inputs[0].op.type in SWITCH
    return branch or op.type in _ASIDE


def _reached_by_elements(starts: Iterable[Operation]) -> set[Operation]:
    """What depends on more of `starts` than their sizes: zeros for a state that is never read, say,
    have the batch's."""

    def users(op: Operation) -> Iterator[Operation]:
        every = (user for t in op.outputs for user in t.consumers())
        return (user for user in every if not has_trait(user.type, "of_sizes"))

    return set(reachable(starts, users))
