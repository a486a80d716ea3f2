"""The loops that one backward walk crosses, and the gradient loop that is built for each.

In: the operations on paths from xs to ys. Out: for an operation, the gradient loop in which its
gradient is computed; zeros where only a loop needs a gradient. Invariant: the walk enters a loop
once it has met all exits of it that have gradients; the other exits have gradients of zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from flowc import dtypes
from flowc.graph.building import control_nodes
from flowc.graph.building.contexts import CondContext
from flowc.graph.control_types import EXIT, SWITCH
from flowc.graph.gradients.handles import gradient_dtype
from flowc.graph.gradients.loops import GradientLoop, in_context, is_loop_switch, loop_of
from flowc.graph.gradients.operation import is_trainable
from flowc.graph.gradients.zeros import constant_zeros, sizes_of, zeros, zeros_of
from flowc.graph.graph import Graph
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor


class LoopStates:
    """The gradient loops of a backward walk, by the context of the forward loop."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._loops: dict[object, GradientLoop] = {}

    def add(self, op: Operation) -> list[Operation]:
        """Begins the gradient loop of the loop that the Exit `op` leaves. Returns all exits of that
        loop; none where the walk entered it before."""
        forward = loop_of(op.control_flow_context)
        if forward is None:
            raise ValueError(
                f"The gradient of '{op.name}' cannot be built: the graph does not say which loop "
                "it leaves. Import it with its MetaGraph, whose collections say so."
            )
        if forward in self._loops:
            return []
        outer = self._loops.get(loop_of(forward.outer_context))
        loop = self._loops[forward] = GradientLoop(forward, outer)
        return [tensor.op for tensor in loop.exits]

    def loop_around(self, op: Operation, before: bool = False) -> GradientLoop | None:
        """The gradient loop in which the gradient of an operation is computed; with `before`, the
        one in which the gradients of its outputs are: for an Exit, that of the enclosing loop."""
        context = op.control_flow_context
        loop = loop_of(context)
        if before and loop is not None and op.type in EXIT:
            loop = loop_of(loop.outer_context)
        return self._loops.get(loop)

    @contextmanager
    def entered(self, op: Operation, before: bool = False) -> Iterator[None]:
        loop = self.loop_around(op, before)
        with nullcontext() if loop is None else in_context(self._graph, loop.context):
            yield

    def unused_exits(self, pending: dict[Operation, int], sinks: set[Operation]) -> list[Tensor]:
        """The exits that go back before anything else: of loops all of whose exits are ys or lead
        to none."""
        found: list[Tensor] = []
        for loop in self._loops.values():
            for tensor in loop.exits:
                if pending[tensor.op]:
                    continue
                loop.pending -= 1
                if tensor.op not in sinks:
                    loop.unused.append(tensor)
                if loop.pending == 0:
                    found.extend(loop.unused)
            for tensor in loop.forward.loop_enters:
                if not pending.get(tensor.op, 0):
                    pending[tensor.op] = 1
        return found

    def met_exit(self, tensor: Tensor, has_gradient: Callable[[Operation], bool]) -> list[Tensor]:
        """Takes note of an Exit whose consumers were visited; gives the exits to visit now.

        Those of `unused` among them need zeros where another has a gradient."""
        loop = self.loop_around(tensor.op)
        assert loop is not None
        loop.deferred.append(tensor)
        loop.pending -= 1
        if loop.pending:
            return []
        flowing = [t for t in loop.deferred if has_gradient(t.op)]
        loop.unused += [t for t in loop.deferred if not has_gradient(t.op)]
        return [*flowing, *loop.unused]

    def zeros_of_exit(self, tensor: Tensor) -> Tensor | None:
        """Zeros for an Exit that has no gradient; None where it is not trainable."""
        if not is_trainable(tensor):
            return None
        forward = loop_of(tensor.op.control_flow_context)
        assert forward is not None and tensor.base_dtype is not None
        around = forward.outer_context
        outer = self._loops.get(loop_of(around))
        known = tensor.shape.is_fully_defined()
        if outer is None:
            return zeros(tensor.shape, tensor.base_dtype) if known else zeros_of(tensor)
        if known:
            with in_context(self._graph, outer.context):
                return zeros(tensor.shape, tensor.base_dtype)
        with in_context(self._graph, around):
            sizes = sizes_of(tensor)
        stack = outer.push(sizes)
        with in_context(self._graph, outer.context):
            return zeros(outer.pop(stack, sizes), tensor.base_dtype)

    def zeros_of(self, tensor: Tensor) -> Tensor | None:
        """Zeros for an output without a gradient, in the gradient loop that is being built."""
        op = tensor.op
        if not is_trainable(tensor) or is_loop_switch(op):
            return None
        loop = self.loop_around(op)
        if loop is None:
            return zeros_of(tensor)
        context = op.control_flow_context
        guard = context if op.type in SWITCH and isinstance(context, CondContext) else None
        if not tensor.shape.is_fully_defined():
            return self._zeros_of_sizes(loop, tensor, guard)
        if tensor.base_dtype is dtypes.resource:
            found = zeros(sizes_of(tensor), gradient_dtype(tensor))
        else:
            found = constant_zeros(tensor.shape, gradient_dtype(tensor))
        if guard is None:
            return found
        pred = loop.history[guard.pred]
        return control_nodes.switch_beside(found, pred)[1 - guard.branch]

    def _zeros_of_sizes(
        self, loop: GradientLoop, tensor: Tensor, guard: CondContext | None
    ) -> Tensor:
        """Zeros of the sizes that the tensor had in the same iteration."""
        op = tensor.op
        if guard is None:
            with in_context(self._graph, op.control_flow_context):
                sizes = sizes_of(tensor)
        else:
            with in_context(self._graph, guard.outer_context):
                other = control_nodes.switch_beside(op.inputs[0], guard.pred)[1 - guard.branch]
                sizes = sizes_of(other)
            other.op.control_flow_context = sizes.op.control_flow_context = guard
        with in_context(self._graph, loop.base):
            stack = loop.push(sizes, guard is not None)
        return zeros(loop.pop(stack, sizes, guard is not None), gradient_dtype(tensor))

    def close(self) -> None:
        """Gives loop variables that do not depend on themselves zeros in further iterations."""
        for loop in self._loops.values():
            for merged in loop.merges.values():
                for part in [merged] if isinstance(merged, Tensor) else merged.components():
                    first, second = part.op.inputs
                    if first is second:
                        part.op.update_input(1, self._zeros_in(loop, first))

    def _zeros_in(self, loop: GradientLoop, entered: Tensor) -> Tensor:
        assert entered.base_dtype is not None
        context = loop.context
        if entered.shape.is_fully_defined():
            with in_context(self._graph, context):
                return control_nodes.next_iteration(
                    constant_zeros(entered.shape, entered.base_dtype)
                )
        with in_context(self._graph, context.outer_context):
            found = zeros(sizes_of(entered.op.inputs[0]), entered.base_dtype)
        with in_context(self._graph, context):
            return control_nodes.next_iteration(found)
