"""Gradients of the nodes that loops and conditionals are written with.

In: a Switch, Merge, Enter, Exit or NextIteration, and the gradients of its outputs. Out: those of
its inputs. Invariant: in a loop they are made in the context of the gradient's loop; what enters
the forward loop leaves the gradient's, and the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.graph.building import control_nodes
from flowc.graph.building.contexts import CondContext, WhileContext, output_context
from flowc.graph.building.conversion import constant_array, constant_tensor
from flowc.graph.building.creation import output
from flowc.graph.gradients.handles import gradient_dtype
from flowc.graph.gradients.loops import GradientContext, in_context
from flowc.graph.gradients.operation import Gradient
from flowc.graph.gradients.zeros import constant_zeros, sizes_of, zeros
from flowc.graph.indexed_slices import IndexedSlices
from flowc.graph.operation import Operation
from flowc.graph.shape import TensorShape
from flowc.graph.tensor import Tensor


def _gradient_context(op: Operation) -> GradientContext | None:
    context = op.graph.control_flow_context
    return context if isinstance(context, GradientContext) else None


def _each(gradient: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """A gradient of what `function` makes of each tensor of another one."""
    if isinstance(gradient, Tensor):
        return function(gradient)
    return IndexedSlices(*map(function, gradient.components()))


def _switched(gradient: Gradient, pred: Tensor, name: str = "Switch") -> list[Gradient]:
    def side(number: int) -> Callable[[Tensor], Tensor]:
        return lambda t: pairs[t][number]

    parts = [gradient] if isinstance(gradient, Tensor) else gradient.components()
    pairs: dict[Tensor, tuple[Tensor, Tensor]] = {}
    for part in parts:
        with part.graph.colocate_with(part, ignore_existing=True):
            pairs[part] = control_nodes.switch(part, pred, name)
    return [_each(gradient, side(0)), _each(gradient, side(1))]


def _merged(gradients: Sequence[Gradient], data: Tensor, name: str) -> Gradient:
    """The gradient of `data` that is alive."""
    tensors = [g for g in gradients if isinstance(g, Tensor)]
    if len(tensors) == len(gradients):
        return control_nodes.merge(tensors, name)
    slices = [_as_slices(g) for g in gradients]
    indices = [s.indices for s in slices]
    if any(i.dtype is not indices[0].dtype for i in indices):
        indices = [output("Cast", i, DstT=dtypes.i64) for i in indices]
    values = control_nodes.merge([s.values for s in slices], name)
    return IndexedSlices(values, control_nodes.merge(indices, "indices"), sizes_of(data))


def _as_slices(gradient: Gradient) -> IndexedSlices:
    if isinstance(gradient, IndexedSlices):
        return gradient
    sizes = sizes_of(gradient)
    return IndexedSlices(gradient, output("Range", 0, sizes[0], 1, name="range"), sizes)


def switch_gradient(op: Operation, *dys: Any) -> Sequence[Any]:
    """Merges the gradients of the two outputs, of which a run has one. The walk meets the Switch of
    a loop variable twice: after the gradient of the Exit, and after that of the body."""
    context = op.control_flow_context
    if isinstance(context, WhileContext):
        return _loop_switch_gradient(op, *dys)
    if isinstance(context, CondContext):
        taken = dys[context.branch]
        if dys[1 - context.branch] is not None:
            return _merged(dys, op.inputs[0], "cond_grad"), None
        if op.inputs[0].base_dtype is dtypes.resource:
            return _merged([taken, taken], op.inputs[0], "cond_resource_grad"), None
        return None, None
    pred = op.inputs[1]
    alive = [_switched(dy, pred)[side] for side, dy in enumerate(dys)]
    return _merged(alive, op.inputs[0], "Merge"), None


def _loop_switch_gradient(op: Operation, after: Any, again: Any) -> Sequence[Any]:
    context = _gradient_context(op)
    assert context is not None
    merges = context.loop.merges
    if op in merges:
        if again is not None:
            _close(merges[op], again)
    elif after is not None:
        merged = merges[op] = _each(after, lambda t: control_nodes.merge([t, t], "b_switch"))
        return merged, None
    return None, None


def _close(merged: Gradient, again: Gradient) -> None:
    """Closes the loop of a gradient: `again` is what the variable is in the next iteration."""
    if isinstance(merged, Tensor):
        dense = again if isinstance(again, Tensor) else again.dense()
        merged.op.update_input(1, control_nodes.next_iteration(dense))
        return
    for part, following in zip(merged.components(), _as_slices(again).components()):
        part.op.update_input(1, control_nodes.next_iteration(following))


def merge_gradient(op: Operation, dy: Any, _: Any) -> Sequence[Any]:
    """A Switch, by the loop's condition or the conditional's predicate."""
    context = output_context(op.inputs[0].op)
    current = _gradient_context(op)
    if isinstance(context, WhileContext):
        assert current is not None and current.pivot is not None
        return _switched(dy, current.pivot)
    if isinstance(context, CondContext):
        pred = context.pred if current is None else current.loop.predicate_again(context.pred)
        return _switched(dy, pred, "cond_grad")
    taken = [output("Equal", op.outputs[1], i) for i in range(len(op.inputs))]
    return [_switched(dy, pred)[1] for pred in taken]


def exit_gradient(op: Operation, dy: Any) -> Any:
    """What leaves the forward loop enters the gradient's. Raises `TypeError` for a loop that is the
    gradient of another."""
    context = _gradient_context(op)
    if context is None or not context.back_prop:
        return None
    if isinstance(op.control_flow_context, GradientContext):
        raise TypeError("Second-order gradient for while loops not supported.")
    context.known.update([dy] if isinstance(dy, Tensor) else dy.components())

    def enter(tensor: Tensor) -> Tensor:
        name, count = context.name, context.parallel_iterations
        found = control_nodes.enter(tensor, name, False, count, tensor.shape, "b_exit")
        context.loop_enters.append(found)
        return found

    with in_context(op.graph, context):
        return _each(dy, enter)


def enter_gradient(op: Operation, dy: Any) -> Any:
    """What enters the forward loop leaves the gradient's; for an invariant, summed over the
    iterations."""
    context = _gradient_context(op)
    if context is None or not context.back_prop:
        return dy
    if control_nodes.is_constant_enter(op):
        return _summed(context, op, dy)
    return _each(dy, lambda t: _left(context, t, None))


def _left(context: GradientContext, tensor: Tensor, name: str | None) -> Tensor:
    found = control_nodes.exit(tensor, name)
    context.loop_exits.append(found)
    context.leave_with([found])
    return found


def _summed(context: GradientContext, op: Operation, dy: Gradient) -> Gradient:
    """Sums what every iteration gives to an invariant."""
    if isinstance(dy, Tensor):
        start = _start_of_sum(context, op, dy)
        return _accumulated(
            context, start, start.shape, lambda t: output("AddV2", t, dy, name="Add")
        )
    start = _start_of_rows(context, op, dy)
    rows = TensorShape([None]).concatenate(start.values.shape[1:])

    def join(new: Tensor) -> Callable[[Tensor], Tensor]:
        return lambda t: output("ConcatV2", [t, new], 0, name="concat")

    indices = _accumulated(context, start.indices, TensorShape([None]), join(dy.indices))
    values = _accumulated(context, start.values, rows, join(dy.values))
    sizes = start.dense_shape
    if sizes is not None:
        sizes = _accumulated(
            context, sizes, sizes.shape, lambda t: output("Maximum", dy.dense_shape, t)
        )
    return IndexedSlices(values, indices, sizes)


def _accumulated(
    context: GradientContext, start: Tensor, shape: TensorShape, step: Callable[[Tensor], Tensor]
) -> Tensor:
    """A loop variable of the gradient's loop, after it."""
    assert context.pivot is not None
    context.known.add(start)
    entered = control_nodes.enter(
        start, context.name, False, context.parallel_iterations, shape, "b_acc"
    )
    context.loop_enters.append(entered)
    merged = control_nodes.merge([entered, entered], "b_acc")
    left, taken = control_nodes.switch(merged, context.pivot)
    merged.op.update_input(1, control_nodes.next_iteration(step(taken)))
    return _left(context, left, "b_acc")


def _start_of_sum(context: GradientContext, op: Operation, dy: Tensor) -> Tensor:
    graph, value, outer = op.graph, op.inputs[0], context.loop.outer
    assert dy.dtype is not None
    if dy.shape.is_fully_defined():
        with in_context(graph, context.outer_context):
            return constant_zeros(dy.shape, dy.dtype, "b_acc")
    if outer is None:
        with in_context(graph, context.outer_context):
            return zeros(sizes_of(value), dy.dtype)
    with in_context(graph, context.loop.forward.outer_context):
        sizes = sizes_of(value)
    stack = outer.push(sizes)
    with in_context(graph, outer.context):
        return zeros(outer.pop(stack, sizes), dy.dtype)


def _start_of_rows(context: GradientContext, op: Operation, dy: IndexedSlices) -> IndexedSlices:
    """One row of zeros, at index 0."""
    value = op.inputs[0]
    dtype = gradient_dtype(value)
    with in_context(op.graph, context.outer_context):
        if dy.values.shape.is_fully_defined():
            shape = TensorShape([1]).concatenate(dy.values.shape[1:])
            values = constant_zeros(shape, dtype, "b_acc")
        else:
            sizes = output("ConcatV2", [[1], sizes_of(value)[1:]], 0, name="concat")
            values = zeros(sizes, dtype)
        indices = constant_tensor(
            constant_array(np.zeros(1), dy.indices.dtype), "Const", dy.indices.dtype
        )
        sizes = dy.dense_shape
        if sizes is not None:
            sizes = constant_zeros(sizes.shape, gradient_dtype(sizes))
        return IndexedSlices(values, indices, sizes)


def next_iteration_gradient(op: Operation, dy: Any) -> Any:
    """As it is: the NextIteration of the gradient's loop comes with the Switch."""
    return dy


CONTROL_FLOW_GRADIENTS: dict[str, Callable[..., Any]] = {
    "Enter": enter_gradient,
    "Exit": exit_gradient,
    "Merge": merge_gradient,
    "NextIteration": next_iteration_gradient,
    "RefEnter": enter_gradient,
    "RefExit": exit_gradient,
    "RefMerge": merge_gradient,
    "RefNextIteration": next_iteration_gradient,
    "RefSwitch": switch_gradient,
    "Switch": switch_gradient,
}
