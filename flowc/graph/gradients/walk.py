"""The walk from ys back to xs, which makes the operations of the gradients between them.

In: tensors of one graph, the gradients of the ys. Out: for each x its gradient, or None where no
path leads from it to a y. Invariant: an operation is visited when all its consumers on paths were,
so that what they give back is complete; the order of visits, and with it every name, is
TensorFlow's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from flowc import dtypes
from flowc.graph.gradients.aggregation import AggregationMethod, total
from flowc.graph.gradients.operation import Gradient, is_trainable, zeros_of
from flowc.graph.gradients.registry import GRADIENTS
from flowc.graph.graph import Graph
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor

Gate = Callable[[Sequence[Any]], list[Any]]


@dataclass(frozen=True)
class WalkOptions:
    """`colocate`: gradients stand beside their operations. `gate`: what makes the gradients of one
    operation's inputs available only together. `aggregation`: of `AggregationMethod`."""

    colocate: bool = False
    gate: Gate | None = None
    aggregation: int = AggregationMethod.DEFAULT


class Walk:
    """One call of `gradients`, in the scope that the graph is in."""

    def __init__(
        self,
        graph: Graph,
        ys: Sequence[Tensor],
        xs: Sequence[Tensor],
        stops: Sequence[Tensor],
        options: WalkOptions,
    ) -> None:
        self._graph = graph
        self._ys, self._xs = ys, xs
        self._options = options
        reached = _reached([x.op for x in xs])
        self._starts = [op for op in dict.fromkeys(y.op for y in ys) if op in reached]
        self._between = _between([y.op for y in ys], reached)
        self._pending = self._count_consumers()
        self._stops = self._ends(stops)
        self._received: dict[Tensor, list[Gradient | None]] = {}
        self._found: dict[Tensor, Gradient | None] = {}
        self._queue: deque[Operation] = deque()

    def _count_consumers(self) -> dict[Operation, int]:
        """For each operation on a path, how many inputs of others on paths it gives."""
        pending = dict.fromkeys(self._between, 0)
        for op in self._between:
            for tensor in op.inputs:
                if tensor.op in pending:
                    pending[tensor.op] += 1
        return pending

    def _ends(self, stops: Sequence[Tensor]) -> set[Operation]:
        """The operations that are not differentiated: xs that no other x leads to, and stops."""
        ends = {t.op for t in stops}
        for x in self._xs:
            if not any(self._pending.get(t.op, 0) > 0 for t in x.op.inputs):
                ends.add(x.op)
        return ends

    def run(self, grad_ys: Sequence[Gradient]) -> list[Gradient | None]:
        for y, dy in zip(self._ys, grad_ys, strict=True):
            self._give(y, dy)
        self._queue.extend(op for op in self._starts if not self._pending[op])
        while self._queue:
            op = self._queue.popleft()
            with self._beside(op):
                self._visit(op)
            self._count_down(op)
        return [self._found.get(x) for x in self._xs]

    def _visit(self, op: Operation) -> None:
        dys = self._totals(op)
        given = self._input_gradients(op, dys)
        for tensor, gradient in zip(op.inputs, given):
            if gradient is None:
                continue
            if isinstance(gradient, Tensor) and tensor.dtype is not dtypes.resource:
                _settle_shape(op, tensor, gradient)
            self._give(tensor, gradient)

    def _totals(self, op: Operation) -> list[Gradient | None]:
        """What flows into the outputs of an operation."""
        for tensor in op.outputs:
            if tensor in self._received:
                terms = self._received.pop(tensor)
                self._found[tensor] = total(op.name, terms, self._options.aggregation)
        return [self._found.get(tensor) for tensor in op.outputs]

    def _input_gradients(self, op: Operation, dys: list[Gradient | None]) -> Sequence[Any]:
        nothing = [None] * len(op.inputs)
        if op in self._stops or all(dy is None for dy in dys):
            return nothing
        function = GRADIENTS.find(op)
        if function is None:
            return nothing
        for k, tensor in enumerate(op.outputs):
            if dys[k] is None and is_trainable(tensor):
                dys[k] = zeros_of(tensor)
        with self._graph.name_scope(f"{op.name}_grad"):
            found = function(op, *dys)
            listed = list(found) if isinstance(found, list | tuple) else [found]
            if len(listed) != len(op.inputs):
                raise ValueError(
                    f"Num gradients {len(listed)} generated for op {op.node_def} do not match num "
                    f"inputs {len(op.inputs)}"
                )
            gate = self._options.gate
            if gate is None or sum(g is not None for g in listed) < 2:
                return listed
            with self._graph.device(None), self._graph.colocate_with(None, ignore_existing=True):
                return gate(listed)

    def _give(self, tensor: Tensor, gradient: Gradient) -> None:
        self._received.setdefault(tensor, []).append(gradient)

    def _count_down(self, op: Operation) -> None:
        for tensor in op.inputs:
            source = tensor.op
            if source not in self._pending:
                continue
            self._pending[source] -= 1
            if not self._pending[source]:
                self._queue.append(source)

    def _beside(self, op: Operation) -> AbstractContextManager[None]:
        return self._graph.colocate_with(op) if self._options.colocate else nullcontext()


def _reached(sources: Iterable[Operation]) -> set[Operation]:
    """The operations that gradients can flow to from `sources`."""
    found: set[Operation] = set()
    queue = deque(sources)
    while queue:
        op = queue.popleft()
        if op in found:
            continue
        found.add(op)
        for tensor in op.outputs:
            if is_trainable(tensor):
                queue.extend(tensor.consumers())
    return found


def _between(sinks: Iterable[Operation], reached: set[Operation]) -> list[Operation]:
    """Those of `reached` from which a path leads to `sinks`, in the order in which a search from
    the sinks meets them."""
    found: dict[Operation, None] = {}
    queue = deque(sinks)
    while queue:
        op = queue.popleft()
        if op in reached and op not in found:
            found[op] = None
            queue.extend(tensor.op for tensor in op.inputs)
    return list(found)


def _settle_shape(op: Operation, tensor: Tensor, gradient: Tensor) -> None:
    """A gradient has the static shape of what it is the gradient of."""
    try:
        gradient.set_shape(tensor.shape)
    except ValueError:
        raise ValueError(
            "Incompatible shapes between op input and calculated input gradient. Forward "
            f"operation: {op.name}. Input index: {op.inputs.index(tensor)}. Original input shape: "
            f"{tensor.shape}. Calculated input gradient shape: {gradient.shape}"
        ) from None
