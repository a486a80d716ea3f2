"""What the body of a loop or of a conditional's branch does to the operations made inside it.

In: operations that `Graph.add_operation` has just made while a context was entered. Out: the same
operations with inputs from outside brought in (`Enter`, `Switch`), and a control input from the
context's pivot where nothing else keeps them inside it. Invariant: an operation in a context has
inputs only from that context; contexts nest to any depth.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from flowc.graph.building import control_nodes
from flowc.graph.control_types import ENTER, MERGE, NEXT, SWITCH
from flowc.graph.operation import Operation
from flowc.graph.shape import TensorShape
from flowc.graph.tensor import Tensor

if TYPE_CHECKING:
    from flowc.graph.graph import Graph


class ControlFlowContext(ABC):
    """`known`: tensors that are inside, `captured`: tensors from outside -> what they are inside.
    `nested`: the contexts directly inside.

    `pivot`: a tensor that is alive in every iteration, or whenever the branch is taken.
    """

    pivot: Tensor | None

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.name = name
        self.outer_context: ControlFlowContext | None = graph.control_flow_context
        self.nested: list[ControlFlowContext] = []
        if self.outer_context is not None:
            self.outer_context.nested.append(self)
        self.known: set[Tensor] = set()
        self.captured: dict[Tensor, Tensor] = {}

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The context as a message, its names without `export_scope`; None for one outside of
        that scope."""
        from flowc.graph.building.context_defs import context_def

        return context_def(self, export_scope)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Operations made in this block belong to the context."""
        before = self.graph.control_flow_context
        self.graph.control_flow_context = self
        try:
            yield
        finally:
            self.graph.control_flow_context = before

    @abstractmethod
    def capture(self, tensor: Tensor) -> Tensor:
        """The tensor that operations inside read in place of `tensor`; the nodes that bring it into
        the context are made when first asked."""

    @abstractmethod
    def add_op(self, op: Operation) -> None:
        """Makes a new operation part of the context."""

    def control_pivot(self) -> Tensor | None:
        return self.pivot

    def while_context(self) -> WhileContext | None:
        """The innermost loop around operations of this context."""
        return None if self.outer_context is None else self.outer_context.while_context()

    def leave_with(self, results: Iterable[Tensor]) -> None:
        """`results` are tensors of the context around this one from now on."""
        if self.outer_context is not None:
            self.outer_context.known.update(results)

    def contains(self, op: Operation) -> bool:
        return any(context is self for context in around(op.control_flow_context))

    def _capture_inputs(self, op: Operation) -> None:
        inputs = list(op.inputs)
        for index, tensor in enumerate(inputs):
            closes_loop = op.type in MERGE and tensor.op.type in NEXT
            inputs[index] = tensor if closes_loop else self.capture(tensor)
        if any(a is not b for a, b in zip(inputs, op.inputs)):
            op.set_inputs(inputs)

    def _keep_inner_controls(self, op: Operation) -> list[Operation]:
        """Takes away the control inputs from outside the innermost loop, and returns them."""
        loop = self.while_context()
        if loop is None:
            return []
        outside = []
        for other in op.control_inputs:
            context = output_context(other)
            if context is None or context.while_context() is not loop:
                outside.append(other)
        if outside:
            op.set_control_inputs(c for c in op.control_inputs if c not in outside)
        return outside

    def _seal(self, op: Operation) -> None:
        """What is inside has no one value: it is neither fed nor fetched."""
        if self.outer_context is not None or not control_nodes.is_exit(op):
            self.graph.prevent_fetching(op)


class CondContext(ControlFlowContext):
    """One branch of a conditional: `branch` is 1 for the true one, 0 for the other."""

    def __init__(self, pred: Tensor, pivot: Tensor, branch: int, name: str = "") -> None:
        super().__init__(pred.graph, name or pred.graph.unique_name("cond_text"))
        self.pred = pred
        self.pivot: Tensor = pivot
        self.branch = branch
        self.known.update((pred, pivot))
        self.captured[pred] = pred
        pivot.op.control_flow_context = self

    def capture(self, tensor: Tensor) -> Tensor:
        if tensor in self.known:
            return self.captured.get(tensor, tensor)
        self.known.add(tensor)
        inside = self._from_outer(tensor)
        with self.graph.control_dependencies(None):
            inside = control_nodes.switch_beside(inside, self.pred)[self.branch]
        self.graph.prevent_fetching(inside.op)
        inside.op.control_flow_context = self
        for context in around(self):
            context.known.add(inside)
        self.captured[tensor] = inside
        return inside

    def result(self, tensor: Tensor) -> Tensor:
        """What the branch returns, brought in where it comes from outside."""
        if tensor in self.known:
            return self.captured.get(tensor, tensor)
        self.known.add(tensor)
        outer = self._from_outer(tensor)
        inside = control_nodes.switch_beside(outer, self.pred)[self.branch]
        self.captured[tensor] = inside
        return inside

    def _from_outer(self, tensor: Tensor) -> Tensor:
        if self.outer_context is None:
            return tensor
        outer = self.outer_context.capture(tensor)
        self.known.add(outer)
        self.captured[outer] = outer
        return outer

    def add_op(self, op: Operation) -> None:
        if op.inputs:
            self._capture_inputs(op)
            self._keep_inner_controls(op)
            if op.type in self.graph.functions:
                op.add_control_inputs([self.pivot.op])
        else:
            self._keep_inner_controls(op)
            if not any(self.contains(other) for other in op.control_inputs):
                op.add_control_inputs([self.pivot.op])
        for context in around(self):
            context.known.update(op.outputs)
        self._seal(op)


class WhileContext(ControlFlowContext):
    """A loop. Its name is that of its frame.

    `pivot`: the loop's condition. Operations are kept inside by `pivot_for_pred` while the
    condition is built, then by `pivot_for_body`.
    """

    def __init__(
        self,
        graph: Graph,
        parallel_iterations: int,
        back_prop: bool,
        swap_memory: bool,
        maximum_iterations: Tensor | None,
        name: str = "",
    ) -> None:
        super().__init__(graph, name or graph.unique_name("while_context"))
        self.parallel_iterations = parallel_iterations
        self.back_prop = back_prop
        self.swap_memory = swap_memory
        self.maximum_iterations = maximum_iterations
        self.pivot: Tensor | None = None
        self.pivot_for_pred: Tensor | None = None
        self.pivot_for_body: Tensor | None = None
        self.loop_enters: list[Tensor] = []
        self.loop_exits: list[Tensor] = []

    def while_context(self) -> WhileContext:
        return self

    def sees(self, loop: WhileContext) -> bool:
        """Whether operations inside may take what is inside `loop`."""
        return any(context is loop for context in around(self))

    def control_pivot(self) -> Tensor | None:
        return self.pivot_for_body if self.pivot_for_body is not None else self.pivot_for_pred

    def capture(self, tensor: Tensor) -> Tensor:
        if tensor in self.known or tensor.op.control_flow_context is self:
            return self.captured.get(tensor, tensor)
        self.known.add(tensor)
        outer = tensor
        if self.outer_context is not None:
            outer = self.outer_context.capture(tensor)
        with self.graph.control_dependencies(None):
            inside = self._enter(outer, True, outer.shape)
        self._settle([inside])
        self.known.add(inside)
        self.captured[tensor] = inside
        return inside

    def enter_variables(
        self, tensors: Iterable[Tensor], invariants: Iterable[TensorShape]
    ) -> list[Tensor]:
        """The loop variables inside, each of the static shape that holds in all iterations.

        Raises `ValueError` for one that does not have it when the loop starts."""
        outer = self.outer_context
        given = list(tensors)
        self.known = set(given)
        if outer is not None:
            given = [outer.capture(t) for t in given]
        with self.graph.control_dependencies(None):
            entered = [self._enter_variable(t, s) for t, s in zip(given, invariants, strict=True)]
        pivot = next((p for c in around(outer) if (p := c.control_pivot()) is not None), None)
        if pivot is not None:
            for tensor in entered:
                if control_nodes.is_constant_enter(tensor.op.inputs[0].op):
                    tensor.op.add_control_inputs([pivot.op])
        self._settle(entered)
        self.known = set(entered)
        self.loop_enters = entered
        return entered

    def _enter_variable(self, tensor: Tensor, invariant: TensorShape) -> Tensor:
        if not at_least_as_specific(tensor.shape, invariant):
            raise ValueError(
                f"The shape invariant specified for {tensor.name} is not compatible with the "
                "initial shape of the loop variable. It enters the loop with shape "
                f"{tensor.shape}, but the specified shape invariant is {invariant}."
            )
        return self._enter(tensor, False, invariant)

    def _enter(self, tensor: Tensor, is_constant: bool, shape: TensorShape) -> Tensor:
        inside = control_nodes.enter(
            tensor, self.name, is_constant, self.parallel_iterations, shape
        )
        self.graph.prevent_feeding(inside)
        return inside

    def _settle(self, entered: Iterable[Tensor]) -> None:
        """Puts `Enter` operations, made outside of every scope, into the loop. They wait for those
        control dependencies of the scopes that stand in a context around the loop."""
        scopes = self.graph.scopes
        for tensor in entered:
            op = tensor.op
            waits = [c for c in scopes.control_inputs(op.inputs) if self._stands_around(c)]
            op.control_flow_context = self
            op.add_control_inputs(waits)
            scopes.created(op)

    def _stands_around(self, op: Operation) -> bool:
        """Whether `op` is in a context around the loop, up to and without the next loop's."""
        wanted = output_context(op)
        outer = self.outer_context
        limit = None if outer is None else outer.while_context()
        while outer is not wanted:
            if outer is None or outer is limit:
                return False
            outer = outer.outer_context
        return True

    def add_op(self, op: Operation) -> None:
        from flowc.graph.op_info import has_trait  # late: most graphs have no loop

        if has_trait(op.type, "call"):
            self._wait_for_pivot(op)
        if op.inputs:
            self._capture_inputs(op)
            outside = self._keep_inner_controls(op)
            if self._is_free(op):
                self._wait_for_pivot(op)
        else:
            outside = self._keep_inner_controls(op)
            if not op.control_inputs:
                self._wait_for_pivot(op)
        self.known.update(op.outputs)
        if outside:
            op.add_control_inputs(self._brought_in(outside))
        self._seal(op)
        if self.outer_context is not None or not control_nodes.is_exit(op):
            for tensor in op.outputs:
                self.graph.prevent_feeding(tensor)

    def _wait_for_pivot(self, op: Operation) -> None:
        pivot = self.control_pivot()
        if pivot is None:
            raise ValueError(
                f"The counter of the loop '{self.name}' cannot wait for operations outside of it. "
                "Ask for the gradients of nested loops outside of tf.control_dependencies "
                "(compute_gradients), and apply them inside (apply_gradients)."
            )
        op.add_control_inputs([pivot.op])

    def _is_free(self, op: Operation) -> bool:
        """Whether nothing ties an operation with inputs to an iteration."""
        if op.control_inputs:
            return False
        if op.type in self.graph.functions or op.type == "SymbolicGradient":
            return True
        return all(control_nodes.is_constant_enter(t.op) for t in op.inputs)

    def _brought_in(self, outside: Iterable[Operation]) -> list[Operation]:
        """Operations inside that wait for those outside: control edges do not enter a frame."""
        with self.graph.control_dependencies(None), self.entered():
            return [control_nodes.value(c.outputs[0]).op for c in outside if c.outputs]


def around(context: ControlFlowContext | None) -> Iterator[ControlFlowContext]:
    """A context, then those around it, innermost first."""
    while context is not None:
        yield context
        context = context.outer_context


def output_context(op: Operation) -> ControlFlowContext | None:
    """The context that an operation's outputs are in: for an `Exit`, the one around its loop."""
    context = op.control_flow_context
    return context.outer_context if context is not None and control_nodes.is_exit(op) else context


def at_least_as_specific(shape: TensorShape, other: TensorShape) -> bool:
    """Whether every tensor of static shape `shape` also has the static shape `other`."""
    if other.sizes is None:
        return True
    if shape.sizes is None or len(shape.sizes) != len(other.sizes):
        return False
    return all(b is None or a == b for a, b in zip(shape.sizes, other.sizes))


def check_reachable(tensor: Tensor, op_type: str, name: str) -> None:
    """Raises `ValueError` where an operation that is made now cannot take `tensor`: it is inside a
    loop that the operation is not in."""
    context = output_context(tensor.op)
    loop = None if context is None else context.while_context()
    if loop is None:
        return  # in a conditional's branch, at most: dead where the branch is not taken
    mine = tensor.graph.control_flow_context
    inner = None if mine is None else mine.while_context()
    if inner is not None and inner.sees(loop):
        return
    if inner is None:
        if op_type in ENTER | SWITCH:
            return
        why = f"'{tensor.op.name}' is in a while loop. Return it from the loop's body"
    else:
        why = "they are in different while loops"
    taker = name.removesuffix("/")
    raise ValueError(f"Cannot use '{tensor.op.name}' as input to '{taker}' because {why}.")
