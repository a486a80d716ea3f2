"""The error to raise for a run that failed: with its node, and, of several faults, the one that
TensorFlow meets first.

In: an error of a run. Out: the error to raise. Invariant: a run that does not fail asks nothing of
this module.
"""

from __future__ import annotations

from collections.abc import Callable

from flowc.errors import (
    FAILED_ASSERTION,
    FlowcError,
    InvalidArgumentError,
    OpError,
    ShapeError,
)
from flowc.graph import Graph, Operation


def explained_fault(
    error: FlowcError,
    graph: Graph,
    check_sizes: Callable[[], None],
    run: Callable[[list[Operation]], None],
) -> FlowcError:
    """The error to raise in place of one of a run. `check_sizes` has the rules of the nodes look at
    the sizes that were fed, `run` runs operations with the same feeds."""
    if error.node is None and isinstance(error, InvalidArgumentError):
        error = _with_node(error, check_sizes)
    if isinstance(error, ShapeError):
        error = _failed_before(error, graph, run) or error
    if error.node is not None:
        _tell_operation(error, graph, error.node)
    return error


def _with_node(error: OpError, check_sizes: Callable[[], None]) -> OpError:
    """The error of a node's type rule for sizes that do not match: the program itself, which serves
    several sizes, knows only which two differ."""
    try:
        check_sizes()
    except ShapeError as found:
        return found
    except FlowcError:
        pass
    return error


def _failed_before(
    error: FlowcError, graph: Graph, run: Callable[[list[Operation]], None]
) -> FlowcError | None:
    """What an assertion says that a node with a fault has to wait for: whether sizes fit is seen
    before anything runs, and TensorFlow sees it when it comes to the node."""
    from flowc.extract.interface import ancestors  # late: a run without a fault needs it not

    seen: set[str] = set()
    while isinstance(error, ShapeError):
        name = error.node
        if name is None or name in seen or name not in graph:
            return None
        seen.add(name)
        op = graph.get_operation_by_name(name)
        before = [
            other
            for other in {*op.control_inputs, *(t.op for t in op.inputs)}
            if graph.is_fetchable(other)
            and any(behind.type == "Assert" for behind in ancestors([other]))
        ]
        if not before:
            return None
        try:
            run(before)
            return None
        except FlowcError as found:
            error = found
    return error if error.args[0].startswith(FAILED_ASSERTION) else None


def _tell_operation(error: FlowcError, graph: Graph, node: str) -> None:
    """Has an error say which operation of the graph is at fault, and which line made it."""
    if node not in graph:
        return
    op = graph.get_operation_by_name(node)
    if isinstance(error, OpError) and error.op is None:
        error.op = op
    for frame in op.traceback:
        error.defined_at = f"{frame.filename}:{frame.lineno}"
