"""What is default in a thread: a graph (a stack, and below it the thread's own), and the session
that `Tensor.eval` asks."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor

if TYPE_CHECKING:
    from flowc.graph.graph import Graph


class _Stack(threading.local):
    """What a thread has made default. `own`: its graph below all others, made when it is first
    asked for."""

    def __init__(self) -> None:
        self.graphs: list[Graph] = []
        self.own: Graph | None = None
        self.sessions: list[Any] = []


class _VariableKind:
    """Which variables the programs of the process make."""

    resource = False


_stack = _Stack()
_variable_kind = _VariableKind()


def get_default_graph() -> Graph:
    """The innermost graph made default in this thread, else the thread's own. Raises nothing."""
    from flowc.graph.graph import Graph

    if _stack.graphs:
        return _stack.graphs[-1]
    if _stack.own is None:
        _stack.own = Graph()
    return _stack.own


def graph_beside(graph: Graph) -> Graph:
    """The graph in which operations on what `graph` has are made: that graph, unless the default
    one is that of a function, which takes from others what it needs."""
    current = get_default_graph()
    return graph if current.outer is None else current


def resource_variables_enabled() -> bool:
    """Whether variables stand behind handles unless they are asked for otherwise. A bool. Raises
    nothing."""
    return _variable_kind.resource


def enable_resource_variables() -> None:
    """From now on, variables stand behind handles unless they are asked for otherwise. Raises
    nothing."""
    _variable_kind.resource = True


def disable_resource_variables() -> None:
    """Variables are TensorFlow 1's again, as they are from the start. Raises nothing."""
    _variable_kind.resource = False


def reset_default_graph() -> None:
    """Forgets the thread's own graph. Raises `AssertionError` inside an `as_default` block."""
    if _stack.graphs:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared "
            "graph, exit the nesting and create a new graph."
        )
    _stack.own = None


@contextmanager
def default_graph(graph: Graph) -> Iterator[Graph]:
    """Makes `graph` this thread's default for a `with` block."""
    _stack.graphs.append(graph)
    try:
        yield graph
    finally:
        if not _stack.graphs or _stack.graphs.pop() is not graph:
            raise AssertionError("Nesting violated for default stack of Graph objects")


@contextmanager
def name_scope(
    name: str | None, default_name: str | None = None, values: Iterable[Any] | None = None
) -> Iterator[str]:
    """Prefixes the names of operations made inside; yields the prefix with its slash.

    Without a name, `default_name` is used. `values`: tensors whose graph becomes the default.
    Raises `ValueError` for an invalid name, and for `values` of several graphs.
    """
    graph = next((v.graph for v in values or () if isinstance(v, Tensor | Operation)), None)
    graph = get_default_graph() if graph is None else graph_beside(graph)
    with graph.as_default(), graph.name_scope(name if name is not None else default_name) as scope:
        yield scope


def get_default_session() -> Any:
    """The innermost session of this thread that was entered or made default, or None. Raises
    nothing."""
    return _stack.sessions[-1] if _stack.sessions else None


@contextmanager
def default_session(session: Any) -> Iterator[None]:
    """Makes `session` this thread's default; the default graph stays what it is."""
    _stack.sessions.append(session)
    try:
        yield
    finally:
        _stack.sessions.remove(session)


def evaluate(value: Any, feed_dict: Any, session: Any) -> Any:
    """What a session gives for a tensor, or for what is made of tensors of one graph. Raises as
    `session_for`."""
    how = "`eval(session=sess)`"
    return session_for(value, session, "evaluate tensor using `eval()`", how).run(value, feed_dict)


def session_for(element: Any, session: Any, what: str, how: str) -> Any:
    """The session that runs `element`: the one given, else the default one. Raises `ValueError`
    where there is none or it belongs to another graph; `what` and `how` are words for that."""
    does = what.partition(" using")[0]
    kind = "operation" if isinstance(element, Operation) else "tensor"
    if session is not None:
        if session.graph is not element.graph:
            raise ValueError(
                f"Cannot use the given session to {does}: the {kind}'s graph is different from "
                "the session's graph."
            )
        return session
    found = get_default_session()
    if found is None:
        raise ValueError(
            f"Cannot {what}: No default session is registered. Use `with sess.as_default()` or "
            f"pass an explicit session to {how}"
        )
    if found.graph is not element.graph:
        raise ValueError(
            f"Cannot use the default session to {does}: the {kind}'s graph is different from the "
            f"session's graph. Pass an explicit session to {how}."
        )
    return found
