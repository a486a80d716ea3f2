"""The default graph: one stack per thread, and below it one graph for the whole process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowc.graph.graph import Graph


class _Stack(threading.local):
    def __init__(self) -> None:
        self.graphs: list[Graph] = []


_stack = _Stack()
_process_graph: Graph | None = None
_lock = threading.Lock()


def get_default_graph() -> Graph:
    """The innermost graph made default in this thread, else the process's own."""
    global _process_graph
    if _stack.graphs:
        return _stack.graphs[-1]
    from flowc.graph.graph import Graph

    with _lock:
        if _process_graph is None:
            _process_graph = Graph()
        return _process_graph


def reset_default_graph() -> None:
    """Forgets the process's graph. Raises `AssertionError` inside an `as_default` block."""
    global _process_graph
    if _stack.graphs:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared "
            "graph, exit the nesting and create a new graph."
        )
    with _lock:
        _process_graph = None


@contextmanager
def default_graph(graph: Graph) -> Iterator[Graph]:
    """Makes `graph` this thread's default for a `with` block."""
    _stack.graphs.append(graph)
    try:
        yield graph
    finally:
        if not _stack.graphs or _stack.graphs.pop() is not graph:
            raise AssertionError("Nesting violated for default stack of Graph objects")
