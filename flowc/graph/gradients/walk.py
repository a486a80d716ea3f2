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
from typing import Any

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.graph.building.contexts import WhileContext
from flowc.graph.control_types import EXIT, SWITCH
from flowc.graph.gradients.aggregation import AggregationMethod, total
from flowc.graph.gradients.loop_states import LoopStates
from flowc.graph.gradients.loops import is_loop_switch
from flowc.graph.gradients.operation import Gradient, is_trainable
from flowc.graph.gradients.registry import GradientFunction, GradientRegistry
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
        registry: GradientRegistry,
        options: WalkOptions,
    ) -> None:
        self._graph = graph
        self._registry = registry
        self._ys, self._xs = ys, xs
        self._options = options
        reached = _reached([x.op for x in xs])
        self._starts = [op for op in dict.fromkeys(y.op for y in ys) if op in reached]
        self._between = _between([y.op for y in ys], reached)
        self._loops = LoopStates(graph)
        self._add_loops()
        self._pending = self._count_consumers()
        self._stops = {t.op for t in stops}
        self._received: dict[Tensor, list[Gradient | None]] = {}
        self._found: dict[Tensor, Gradient | None] = {}
        self._queue: deque[Operation] = deque()

    def _add_loops(self) -> None:
        """Goes back through all loops on paths, by all of their exits."""
        found = dict.fromkeys(self._between)
        for op in self._between:  # which grows
            if op.type not in EXIT:
                continue
            with self._beside(op):
                others = self._loops.add(op)
            self._between += [other for other in others if other not in found]
            found.update(dict.fromkeys(others))

    def _count_consumers(self) -> dict[Operation, int]:
        """For each operation on a path, how many inputs of others on paths it gives."""
        pending = dict.fromkeys(self._between, 0)
        for op in self._between:
            for tensor in op.inputs:
                if tensor.op in pending:
                    pending[tensor.op] += 1
        return pending

    def _ends(self) -> set[Operation]:
        """The operations at which the walk ends: stops, and xs that depend on no other x."""
        ends = set(self._stops)
        for x in self._xs:
            if not any(self._pending.get(t.op, 0) > 0 for t in x.op.inputs):
                ends.add(x.op)
        return ends

    def run(self, grad_ys: Sequence[Gradient]) -> list[Gradient | None]:
        for y, dy in zip(self._ys, grad_ys, strict=True):
            self._give(y, dy)
        sinks = [op for op in self._starts if not self._pending[op]]
        self._queue.extend(sinks)
        for tensor in self._loops.unused_exits(self._pending, set(sinks)):
            self._visit_unused(tensor)
        self._stops = self._ends()
        while self._queue:
            op = self._queue.popleft()
            with self._beside(op):
                self._visit(op)
            self._count_down(op)
        self._loops.close()
        return [self._found.get(x) for x in self._xs]

    def _visit(self, op: Operation) -> None:
        with self._loops.entered(op, before=True):
            dys = self._totals(op)
        function = None
        if op not in self._stops and any(dy is not None for dy in dys):
            function = self._registry.find(op)
        with self._loops.entered(op):
            self._check_start_of_loop(op)
            given = self._input_gradients(op, function, dys)
            for tensor, gradient in zip(op.inputs, given):
                if gradient is None:
                    continue
                if isinstance(gradient, Tensor) and tensor.base_dtype is not dtypes.resource:
                    _settle_shape(op, tensor, gradient)
                self._give(tensor, gradient)

    def _check_start_of_loop(self, op: Operation) -> None:
        """Raises `ValueError` where gradients asked for inside a loop would go back to what its
        variables start with."""
        context = op.control_flow_context
        inside = isinstance(context, WhileContext) and context is self._graph.control_flow_context
        if op.type in SWITCH and inside:
            names = ", ".join(f"'{x.op.name}'" for x in self._xs)
            raise ValueError(
                f"Cannot compute gradient inside while loop with respect to op {names}. We do not "
                "support taking the gradient wrt or through the initial value of a loop variable. "
                "Gradients can be computed through loop invariants or wrt the input parameters to "
                "the loop body."
            )

    def _totals(self, op: Operation) -> list[Gradient | None]:
        """What flows into the outputs of an operation."""
        for tensor in op.outputs:
            if tensor in self._received:
                terms = self._received.pop(tensor)
                self._found[tensor] = total(op.name, terms, self._options.aggregation)
        return [self._found.get(tensor) for tensor in op.outputs]

    def _input_gradients(
        self, op: Operation, function: GradientFunction | None, dys: list[Gradient | None]
    ) -> Sequence[Any]:
        if function is None:
            return [None] * len(op.inputs)
        for k, tensor in enumerate(op.outputs):
            if dys[k] is None:
                dys[k] = self._loops.zeros_of(tensor)
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
            left = self._pending[source]
            if left and not (left > 0 and is_loop_switch(source)):
                continue
            if source.type in EXIT:
                self._visit_exits(tensor)
            else:
                self._queue.append(source)

    def _visit_exits(self, tensor: Tensor) -> None:
        """Visits the exits of a loop when all were met."""
        found = self._loops.met_exit(tensor, self._has_gradient)
        flows = any(self._has_gradient(t.op) for t in found)
        for exit_tensor in found:
            if flows and not self._has_gradient(exit_tensor.op):
                self._visit_unused(exit_tensor)
            else:
                self._queue.append(exit_tensor.op)

    def _visit_unused(self, tensor: Tensor) -> None:
        zeros = self._loops.zeros_of_exit(tensor)
        if zeros is not None:
            self._give(tensor, zeros)
        self._queue.append(tensor.op)

    def _has_gradient(self, op: Operation) -> bool:
        return any(g is not None for t in op.outputs for g in self._received.get(t, ()))

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
    """The operations of `reached` from which a path leads to `sinks`, in the order in which a
    search from the sinks meets them."""
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
