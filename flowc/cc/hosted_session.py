"""A Session as C++ has it: made without a graph, given one as bytes, run by names, closed.

In: bytes of graphs, names, arrays. Out: arrays, each with the number of its dtype. Invariants: the
errors are those of `flowc.errors`, under TensorFlow's codes; any number of threads may run at once.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dataclass import dataclass
from flowc.dtypes import as_dtype, from_enum
from flowc.errors import (
    AlreadyExistsError,
    CancelledError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    did_you_mean,
)
from flowc.graph import Graph, Operation, Tensor
from flowc.importer.importing import extend_graph
from flowc.ir.capability import known_names
from flowc.run.session import Session

NO_GRAPH = "Session was not created with a graph before Run()!"
CLOSED = "Session has been closed."
KEPT = 1024  # forms of runs whose names are remembered


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """The options of one run."""

    timeout_in_ms: int


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run's names mean. `ends`: the outputs, then the targets."""

    feeds: list[Tensor]
    outputs: list[Tensor]
    ends: list[Tensor | Operation]


class HostedSession:
    """`target`: as for `Session`. `allow`: capabilities of the graphs. `threads`: of one run,
    None for one a core. Raises `NotFoundError` for a target, `UsageError` for an unknown
    capability."""

    def __init__(self, target: str, allow: Sequence[str], threads: int | None) -> None:
        self._allowed = known_names(frozenset(allow))
        self._threads = threads
        Session(target, Graph()).close()  # refuses targets
        self._session: Session | None = None
        self._is_closed = False
        self._resolved: dict[Any, Asked] = {}
        self._changing = threading.Lock()

    def create(self, graph_def: bytes) -> None:
        """Gives the session its graph. Raises `AlreadyExistsError` where it has one, and what
        `import_graph_def` raises."""
        with self._changing:
            if self._session is not None:
                raise AlreadyExistsError("A Graph has already been created for this session.")
            graph = Graph()
            graph.allow(*self._allowed)
            extend_graph(graph, graph_def)
            self._session = Session(graph=graph, threads=self._threads)
            self._is_closed = False

    def extend(self, graph_def: bytes) -> None:
        """Adds nodes to the graph. Raises `InvalidArgumentError` for names that it has, and what
        `import_graph_def` raises."""
        with self._changing:
            extend_graph(self._opened().graph, graph_def)

    def run(
        self,
        feeds: Sequence[tuple[str, int, np.ndarray]],
        outputs: Sequence[str],
        targets: Sequence[str],
        timeout_ms: int,
    ) -> list[tuple[int, np.ndarray]]:
        """The outputs, in their order, each with the number of its dtype. `feeds`: names, numbers
        of dtypes, values; of two for one tensor the last counts. Raises `InvalidArgumentError` for
        unknown tensors and values of another dtype, `OutOfRangeError` for an output that a node
        does not have, `NotFoundError` for unknown targets, and what `Session.run` raises."""
        session = self._opened()
        key = (tuple((name, dtype) for name, dtype, _ in feeds), *outputs, None, *targets)
        asked = self._resolved.get(key)
        if asked is None:
            asked = _resolved(session.graph, key[0], outputs, targets)
            if len(self._resolved) >= KEPT:
                self._resolved.clear()
            self._resolved[key] = asked
        options = TimeLimit(timeout_ms) if timeout_ms else None
        fed = dict(zip(asked.feeds, (value for _, _, value in feeds)))
        values = session.run(asked.ends, fed, options)
        return [(_number(t, value), np.asarray(value)) for t, value in zip(asked.outputs, values)]

    def close(self) -> None:
        """Frees the graph, its programs and its variables; `create` may give another graph."""
        with self._changing:
            session, self._session = self._session, None
            self._resolved = {}
            self._is_closed = True
        if session is not None:
            session.close()

    def _opened(self) -> Session:
        session = self._session
        if session is None:
            raise CancelledError(CLOSED) if self._is_closed else InvalidArgumentError(NO_GRAPH)
        return session


def _resolved(
    graph: Graph, feeds: Sequence[tuple[str, int]], outputs: Sequence[str], targets: Sequence[str]
) -> Asked:
    fed = [_tensor(graph, name) for name, _ in feeds]
    for tensor, (_, number) in zip(fed, feeds):
        _check_type(tensor, number)
    tensors = [_tensor(graph, name) for name in outputs]
    ends: list[Tensor | Operation] = [*tensors, *(_target(graph, name) for name in targets)]
    if not ends:
        raise InvalidArgumentError("Must specify at least one target to fetch or execute.")
    return Asked(fed, tensors, ends)


def _tensor(graph: Graph, name: str) -> Tensor:
    node, _, index = name.partition(":")
    if node not in graph or not (index or "0").isdigit():
        raise InvalidArgumentError(
            f"Tensor {name}, specified in either feed_devices or fetch_devices was not found in "
            "the Graph",
            hint=_near(graph, node),
        )
    op = graph.get_operation_by_name(node)
    if int(index or "0") >= len(op.outputs):
        raise OutOfRangeError(
            f"Node '{node}' (type: '{op.type}', num of outputs: {len(op.outputs)}) does not have "
            f"output {index or 0}",
            node=node,
        )
    return op.outputs[int(index or "0")]


def _target(graph: Graph, name: str) -> Operation:
    node = name.partition(":")[0]
    if node not in graph:
        raise NotFoundError(
            f"PruneForTargets: Some target nodes not found: {name}", hint=_near(graph, node)
        )
    return graph.get_operation_by_name(node)


def _near(graph: Graph, name: str) -> str | None:
    known = [op.name for op in graph.get_operations()]
    return did_you_mean(name, known) if len(known) <= 5000 else None


def _check_type(tensor: Tensor, number: int) -> None:
    """C++ says what type a value has: nothing is converted."""
    expected = tensor.dtype
    if expected is not None and expected.base_dtype.enum != number:
        raise InvalidArgumentError(
            f"{tensor.name} is fed a value of type {from_enum(number).name}, expected "
            f"{expected.name}",
            node=tensor.op.name,
        )


def _number(tensor: Tensor, value: np.ndarray) -> int:
    dtype = tensor.dtype
    return as_dtype(value.dtype).enum if dtype is None else dtype.base_dtype.enum
