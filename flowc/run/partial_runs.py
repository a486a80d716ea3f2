"""One step of a graph, computed in several calls (`Session.partial_run`).

In: all that the step may fetch and feed, then fetches and feeds call by call. Out: their values.
Invariant: every operation of the step runs once: what a later call may need of those that ran is
computed with them, kept, and fed to it. Handles alone are made again, and mean the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.graph import Graph, Operation, Tensor
from flowc.graph.op_info import has_trait
from flowc.ir.traversal import inputs_first
from flowc.run.fetches import Fetches, check_feed_shapes, feed_array, feed_arrays, feed_key
from flowc.run.segments import HANDLES, Segment

Array = np.ndarray[Any, Any]


class PartialRuns:
    """The steps of a Session that are under way, by their handles. `run_segment` computes a segment
    of the graph from the values that it is given."""

    def __init__(
        self, graph: Graph, run_segment: Callable[[Segment, dict[Tensor, Array]], Sequence[Any]]
    ) -> None:
        self._graph, self._run_segment = graph, run_segment
        self._steps: dict[str, PartialRun] = {}
        self._numbers = count()

    def begin(self, fetches: Any, feeds: Any) -> str:
        """As `Session.partial_run_setup`."""
        wanted = Fetches(self._graph, fetches)
        keys = [feed_key(self._graph, key) for key in (feeds or ())]
        both = next((key for key in keys if key in wanted.tensors), None)
        if both is not None:
            raise InvalidArgumentError(f"{both.name} is both fed and fetched.")
        handle = f"partial_run_{next(self._numbers)}"
        self._steps[handle] = PartialRun([*wanted.tensors], [*wanted.operations], keys)
        return handle

    def run(self, handle: str, fetches: Any, feeds: Mapping[Any, Any]) -> Any:
        """As `Session.partial_run`."""
        step = self._steps.get(handle)
        if step is None:
            raise InvalidArgumentError("Must run 'setup' before performing partial runs!")
        wanted = Fetches(self._graph, fetches)
        asked = [*wanted.tensors], [*wanted.operations]
        fed = feed_arrays(self._graph, feeds)
        check_feed_shapes(fed)
        step.feed(fed)
        segment = step.segment(*asked)
        results = self._run_segment(segment, step.given(segment))
        step.finish(segment, results, [*asked[0], *asked[1]])
        if not step.pending:
            del self._steps[handle]
        return wanted.rebuild(step.values(asked[0]))


class PartialRun:
    """A step under way. `tensors` and `operations`: what it may fetch; `feeds`: what it may be
    fed."""

    def __init__(
        self,
        tensors: Sequence[Tensor],
        operations: Sequence[Operation],
        feeds: Sequence[Tensor],
    ) -> None:
        if not tensors and not operations:
            raise InvalidArgumentError("Must specify at least one target to fetch or execute.")
        self.pending: set[Tensor | Operation] = {*tensors, *operations}
        self._may_feed = set(feeds)
        self._known: dict[Tensor, Array] = {}
        self._done: frozenset[Operation] = frozenset()
        self._whole = self._needed([*(t.op for t in tensors), *operations], self._may_feed)

    def feed(self, fed: Mapping[Tensor, Array]) -> None:
        """Takes values. Raises `InvalidArgumentError` for a tensor that `partial_run_setup` was not
        told of, or that has a value."""
        for tensor, value in fed.items():
            if tensor not in self._may_feed:
                raise InvalidArgumentError(
                    f"The feed {tensor.name} was not specified in partial_run_setup."
                )
            if tensor in self._known:
                raise InvalidArgumentError(f"The feed {tensor.name} has already been fed.")
            self._known[tensor] = value

    def segment(self, tensors: Sequence[Tensor], operations: Sequence[Operation]) -> Segment:
        """What runs next. Raises `InvalidArgumentError` for what `partial_run_setup` was not told
        of, what was fetched before, and what needs a tensor that is not fed yet."""
        for wanted in (*tensors, *operations):
            if wanted not in self.pending:
                raise InvalidArgumentError(
                    f"The fetch {wanted.name} was not specified in partial_run_setup, or has "
                    "already been fetched."
                )
        new = [t for t in tensors if t not in self._known]
        inside = self._needed([*(t.op for t in new), *operations], self._known)
        missing = self._may_feed - self._known.keys()
        for op in inside:
            for tensor in op.inputs:
                if tensor in missing:
                    raise InvalidArgumentError(
                        f"Fetch {(*tensors, *operations)[0].name} can't be computed from the feeds "
                        f"that have been fed so far: it needs {tensor.name}."
                    )
        ran = set(inside)
        later = [op for op in self._whole if op not in ran and op not in self._done]
        crossing = [
            t
            for op in later
            for t in op.inputs
            if t.op in ran and t not in self._known and not _is_handle(t)
        ]
        given = tuple(dict.fromkeys([*new, *crossing]))
        feeds = dict.fromkeys(t for op in inside for t in op.inputs if t in self._known)
        return Segment(given, tuple(operations), tuple(feeds), self._done)

    def finish(
        self, segment: Segment, results: Sequence[Any], wanted: Sequence[Tensor | Operation]
    ) -> None:
        """Keeps what a segment computed. `wanted`: what the caller fetched with it."""
        ran = self._needed([*(t.op for t in segment.tensors), *segment.operations], self._known)
        self._known |= {t: feed_array(t, value) for t, value in zip(segment.tensors, results)}
        self._done |= {op for op in ran if not any(map(_is_handle, op.outputs))}
        self.pending -= set(wanted)

    def values(self, tensors: Sequence[Tensor]) -> list[Any]:
        found = [self._known[t] for t in tensors]
        return [value if value.ndim else value[()] for value in found]

    def given(self, segment: Segment) -> dict[Tensor, Array]:
        return {t: self._known[t] for t in segment.feeds}

    def _needed(self, ends: Sequence[Operation], fed: Any) -> list[Operation]:
        done = self._done
        return inputs_first(
            [op for op in ends if op not in done],
            lambda op: [
                *(t.op for t in op.inputs if t not in fed and t.op not in done),
                *(c for c in op.control_inputs if c not in done),
            ],
        )


def _is_handle(tensor: Tensor) -> bool:
    """Whether a tensor names a state of the Session; a queue's handle may be a reference, too."""
    if tensor.is_ref:
        return not tensor.op.inputs and not has_trait(tensor.op.type, "variable")
    return tensor.base_dtype in HANDLES
