"""A loaded graph that nobody has looked at yet.

In: the state of a model's files, and how to read them. Out: a Graph. Invariant: while it is an
`UntouchedGraph`, it is what the files say, for whoever looks at it or sets anything makes it a
plain Graph first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from flowc.graph.graph import Graph

_reading = threading.RLock()


class UntouchedGraph(Graph):
    """`state` says what was loaded, `state_now` the same of the files as they are now; `read` gives
    the graph, for which is `allowed` what is allowed here. No other attribute is there, so that
    Python asks `__getattr__` for it."""

    state: str
    state_now: Callable[[], str | None]
    read: Callable[[], Graph]

    def __init__(
        self,
        state: str,
        state_now: Callable[[], str | None],
        read: Callable[[], Graph],
        allowed: frozenset[str],
    ) -> None:
        self.__dict__.update(state=state, state_now=state_now, read=read, allowed=allowed)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by copy and pickle, of every object
            raise AttributeError(name)
        _touch(self)
        return getattr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        _touch(self)
        setattr(self, name, value)


def _touch(graph: UntouchedGraph) -> None:
    """Makes an untouched graph a plain one, with all that reading found."""
    with _reading:
        if type(graph) is not UntouchedGraph:
            return  # another thread was here
        found = graph.read()
        for op in found.get_operations():
            op.graph = graph
        graph.__dict__.update(found.__dict__)
        graph.__dict__["as_read"] = _content(graph)
        object.__setattr__(graph, "__class__", Graph)
        del graph.__dict__["read"]  # the rest stays for a thread that is about to ask for it


def comes_from_files(graph: Graph) -> bool:
    """Whether a graph was loaded from files, changed since or not."""
    return "state" in graph.__dict__


def files_of(graph: Graph) -> tuple[str, Callable[[], str | None]] | None:
    """The state of the files that a graph was loaded from, and what gives that of now: as long as
    the graph is what they say, whoever looked at it. None for any other graph. A graph that was
    read is looked through."""
    if not comes_from_files(graph):
        return None
    held = graph.__dict__
    as_read = type(graph) is UntouchedGraph or held["as_read"] == _content(graph)
    return (held["state"], held["state_now"]) if as_read else None


def _content(graph: Graph) -> object:
    """What stays equal as long as nobody changes anything that a run of the graph depends on."""
    ops = graph.get_operations()
    functions = tuple(graph.functions.values())
    bodies = [f.body for f in functions if "body" in f.__dict__]  # of those that were read
    attrs = [op.attrs for op in ops] + [f.attrs for f in functions]
    attrs += [node.attrs for body in bodies for node in body.nodes]
    names, types = tuple([op.name for op in ops]), tuple([op.type for op in ops])
    return hash((names, types)), graph.edits, sum([a.changes for a in attrs]), functions
