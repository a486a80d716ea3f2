"""The loops that go back over the iterations of loops.

In: a `WhileContext` that gradients flow through. Out: a second loop with as many iterations, which
takes what the first one computed from stacks, last iteration first. Invariant: an operation made in
a gradient's loop that uses a value of the forward loop gets the one of the same iteration; pushes
and pops are ordered by counters of the iterations, as TensorFlow orders them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from flowc.graph.building import control_nodes
from flowc.graph.building.contexts import (
    CondContext,
    ControlFlowContext,
    WhileContext,
    around,
    output_context,
)
from flowc.graph.building.conversion import constant_tensor
from flowc.graph.building.creation import create, output
from flowc.graph.control_types import ENTER, PASSING, SWITCH
from flowc.graph.gradients.operation import Gradient
from flowc.graph.graph import Graph
from flowc.graph.op_info import has_trait
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor


class GradientContext(WhileContext):
    """The gradient's loop of `loop`."""

    def __init__(self, loop: GradientLoop) -> None:
        forward = loop.forward
        super().__init__(
            forward.graph,
            forward.parallel_iterations,
            forward.back_prop,
            forward.swap_memory,
            forward.maximum_iterations,
            forward.graph.unique_name(forward.name),
        )
        self.loop = loop

    def capture(self, tensor: Tensor) -> Tensor:
        if tensor not in self.known and loop_of(output_context(tensor.op)) is self.loop.forward:
            self.known.add(tensor)
            self.captured[tensor] = self.loop.value_again(tensor)
        return super().capture(tensor)

    def add_op(self, op: Operation) -> None:
        # What is computed from the sizes of a forward value goes into the forward loop: its results
        # are smaller than what they are computed from.
        if has_trait(op.type, "of_sizes") and len(op.inputs) == 1:
            source = op.inputs[0].op.control_flow_context
            if source is not None and source.while_context() is self.loop.forward:
                op.control_flow_context = source
                source.add_op(op)
                return
        super().add_op(op)

    def sees(self, loop: WhileContext) -> bool:
        forward = self.loop.forward
        return super().sees(loop) or forward.sees(loop) or any(c is forward for c in around(loop))


class GradientLoop:
    """A loop and the one of its gradient.

    `outer`: the same for the loop around it. `base`: the context in which gradients were asked for.
    `merges`: loop variable (its Switch) -> the Merge of its gradient. `exits`: those of the forward
    loop; `unused` and `deferred`: those that wait until `pending` others were met.
    """

    def __init__(self, forward: WhileContext, outer: GradientLoop | None) -> None:
        self.forward = forward
        self.outer = outer
        self.graph = forward.graph
        self.base = forward.graph.control_flow_context
        self.history: dict[Tensor, Tensor] = {}
        self.merges: dict[Operation, Gradient] = {}
        self.exits = list(forward.loop_exits)
        self.unused: list[Tensor] = []
        self.deferred: list[Tensor] = []
        self.pending = len(self.exits)
        self._forward_sync: Operation | None = None
        self._gradient_sync: Operation | None = None
        around_forward = forward.outer_context
        with in_context(self.graph, around_forward):
            count, self.forward_index = self._count_forward()
        if outer is None:
            with in_context(self.graph, around_forward):
                self.context = GradientContext(self)
                self.index = self._count_back(count)
        else:
            assert around_forward is not None
            around_forward.known.add(count)
            counts = outer.push(count)
            with in_context(self.graph, outer.context):
                self.context = GradientContext(self)
                self.index = self._count_back(outer.pop(counts, count))

    # The iterations

    def _count_forward(self) -> tuple[Tensor, Tensor]:
        """(the number of iterations, the counter in the next one) of the forward loop"""
        forward = self.forward
        start = constant_tensor(_number(0), "f_count")
        if self.outer is not None:
            start.op.add_control_inputs([self.outer.forward_index.op.inputs[0].op])
        assert forward.pivot is not None
        with in_context(self.graph, forward):
            forward.known.add(start)
            entered = self._entered(forward, start, "f_count")
            merged = control_nodes.merge([entered, entered])
            left, taken = control_nodes.switch(merged, forward.pivot)
            following = control_nodes.next_iteration(output("AddV2", taken, 1, name="Add"))
            merged.op.update_input(1, following)
            count = control_nodes.exit(left, "f_count")
            forward.loop_exits.append(count)
            forward.leave_with([count])
        return count, following

    def _count_back(self, count: Tensor) -> Tensor:
        """The counter of the gradient's loop in its next iteration: it runs down to 0."""
        context = self.context
        one = constant_tensor(_number(1), "b_count")
        with in_context(self.graph, context):
            context.known.add(count)
            entered = self._entered(context, count, "b_count")
            merged = context.pivot_for_pred = control_nodes.merge([entered, entered])
            pred = output("GreaterEqual", merged, one)
            context.pivot = control_nodes.loop_cond(pred, "b_count")
            left, taken = control_nodes.switch(merged, context.pivot)
            index = context.pivot_for_body = output("Sub", taken, one)
            following = control_nodes.next_iteration(index)
            merged.op.update_input(1, following)
            zero = control_nodes.exit(left, "b_count")
            context.loop_exits.append(zero)
            if self.outer is not None:
                self.outer.gradient_sync.add_control_inputs([zero.op])
            context.leave_with([zero])
        return following

    @staticmethod
    def _entered(context: WhileContext, tensor: Tensor, name: str) -> Tensor:
        found = control_nodes.enter(
            tensor, context.name, False, context.parallel_iterations, tensor.shape, name
        )
        context.loop_enters.append(found)
        return found

    @property
    def forward_sync(self) -> Operation:
        """What an iteration of the forward loop waits for before the next one starts."""
        if self._forward_sync is None:
            self._forward_sync = self._trigger("f_sync", self.forward, self.forward_index)
        return self._forward_sync

    @property
    def gradient_sync(self) -> Operation:
        """What an iteration of the gradient loop waits for before the next one starts."""
        if self._gradient_sync is None:
            self._gradient_sync = self._trigger("b_sync", self.context, self.index)
        return self._gradient_sync

    def _trigger(self, name: str, context: WhileContext, following: Tensor) -> Operation:
        with self.graph.control_dependencies(None):
            trigger = create("ControlTrigger", name=name)
        trigger.control_flow_context = context
        following.op.add_control_inputs([trigger])
        return trigger

    # What iterations computed

    def value_again(self, tensor: Tensor) -> Tensor:
        """A value of the forward loop, in the same iteration of the gradient's."""
        found = self.history.get(tensor)
        if found is None:
            found = self.history[tensor] = self._value_again(tensor)
        return found

    def _value_again(self, tensor: Tensor) -> Tensor:
        loop, value = self, tensor
        while (entered := _constant_enter(value)) is not None:
            value = entered.inputs[0]
            if loop.outer is None:
                return self.context.capture(value)
            loop = loop.outer
        if value.op.type == "Const":
            with in_context(self.graph, self.context):
                return constant_tensor(value.op.attrs["value"], "Const", value.base_dtype)
        with in_context(self.graph, self.base):
            stack = loop.push(value)
        popped = loop.pop(stack, value)
        return popped if loop is self else self.context.capture(popped)

    def predicate_again(self, pred: Tensor) -> Tensor:
        """The predicate of a conditional in the forward loop, in the same iteration."""
        if pred not in self.history:
            with in_context(self.graph, self.base):
                stack = self.push(pred)
            self.history[pred] = self.pop(stack, pred)
        return self.history[pred]

    def push(self, value: Tensor, is_dead: bool = False) -> Tensor:
        """Keeps a value of each iteration of the forward loop; gives the stack.

        `is_dead`: the value is of the branch that a conditional does not take."""
        context = output_context(value.op)
        with self.graph.control_dependencies(None):
            with in_context(self.graph, self.base), self.graph.colocate_with(value):
                unlimited = constant_tensor(_number(-1), "Const")
                stack = output("StackV2", unlimited, elem_type=value.base_dtype, name="f_acc")
            inside = self.forward.capture(stack)
            taken = context
            if is_dead and context is not None:
                taken = context.outer_context
            with in_context(self.graph, taken):
                swaps = self.forward.swap_memory
                pushed = create("StackPushV2", [inside, value], {"swap_memory": swaps})
            pushed.control_flow_context = context
            waiting = self.forward_index.op if context is self.forward else self.forward_sync
            waiting.add_control_inputs([pushed])
            pushed.add_control_inputs([self.forward_index.op.inputs[0].op])
            return stack

    def pop(self, stack: Tensor, value: Tensor, is_dead: bool = False) -> Tensor:
        """In the gradient's loop, the value that the same iteration pushed."""
        home = stack.op.control_flow_context
        guard = None
        for context in around(value.op.control_flow_context):
            if context is home or guard is not None:
                break
            guard = context if isinstance(context, CondContext) else None
        with (
            self.graph.control_dependencies(None),
            in_context(self.graph, self.context),
        ):
            if guard is not None:
                branch = 1 - guard.branch if is_dead else guard.branch
                stack = control_nodes.switch_beside(stack, self._predicate(guard))[branch]
            popped = output("StackPopV2", stack, elem_type=value.base_dtype)
            popped.set_shape(value.shape)
        if self.context.parallel_iterations > 1:
            self.gradient_sync.add_control_inputs([popped.op])
        return popped

    def _predicate(self, guard: CondContext) -> Tensor:
        """The predicate of a conditional of the forward loop, in the gradient's."""
        loop: GradientLoop | None = self
        while loop is not None:
            if guard.pred in loop.history:
                return loop.history[guard.pred]
            loop = loop.outer
        return guard.pred


def _number(value: int) -> np.ndarray:
    return np.array(value, np.int32)


def loop_of(context: ControlFlowContext | None) -> WhileContext | None:
    """The innermost loop of a context."""
    return None if context is None else context.while_context()


@contextmanager
def in_context(graph: Graph, context: ControlFlowContext | None) -> Iterator[None]:
    """Operations made in this block belong to the context, or to none."""
    before = graph.control_flow_context
    graph.control_flow_context = context
    try:
        yield
    finally:
        graph.control_flow_context = before


def _constant_enter(tensor: Tensor) -> Operation | None:
    """The operation that brings an invariant into a loop, if the tensor is only that."""
    op = tensor.op
    while op.type in PASSING | SWITCH:
        op = op.inputs[0].op
    return op if control_nodes.is_constant_enter(op) else None


def is_loop_switch(op: Operation) -> bool:
    """Whether a Switch decides if a loop variable goes on."""
    if op.type not in SWITCH or not isinstance(op.control_flow_context, WhileContext):
        return False
    consumers = [c for t in op.outputs for c in t.consumers()]
    return not all(isinstance(_context_around(c), CondContext) for c in consumers)


def _context_around(op: Operation) -> ControlFlowContext | None:
    context = op.control_flow_context
    return context.outer_context if context is not None and op.type in ENTER else context
