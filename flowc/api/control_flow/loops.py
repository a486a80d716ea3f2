"""`while_loop`.

In: Python functions that build a loop's condition and body; each is called once. Out: tensors
behind nodes that are TensorFlow 1's, one for one. Invariant: a loop variable has one dtype, and in
every iteration the static shape that its invariant states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

from flowc.api.control_flow.tensor_array import (
    TensorArray,
    flow_or_tensor,
    with_flow_or_tensor,
    with_flows,
)
from flowc.api.framework import nest
from flowc.api.framework.basics import constant
from flowc.api.framework.scopes import name_scope
from flowc.api.math.elementwise import logical_and
from flowc.dtypes import name_of
from flowc.graph import Tensor, TensorShape, get_default_graph
from flowc.graph.building import control_nodes
from flowc.graph.building.contexts import WhileContext, at_least_as_specific
from flowc.graph.building.conversion import as_tensor


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeats `body` of the loop variables while `cond` of them holds; gives their last values.

    `loop_vars`: a list or tuple of tensors, TensorArrays, or nested structures of them; `cond` and
    `body` take one argument each of its items. `shape_invariants`: the same structure of
    `TensorShape`s, for variables whose shape changes. One variable alone is returned bare, unless
    `return_same_structure`. Raises `TypeError` and `ValueError` for functions, structures, dtypes
    and shapes that do not fit.
    """
    if not callable(cond):
        raise TypeError("'cond' must be callable.")
    if not callable(body):
        raise TypeError("'body' must be callable.")
    if not isinstance(parallel_iterations, int) or parallel_iterations < 1:
        wrong = "'parallel_iterations' must be a positive integer"
        if isinstance(parallel_iterations, Real) and parallel_iterations >= 1:
            raise ValueError(f"{wrong}: {parallel_iterations}")
        raise TypeError(f"{wrong}.")
    with name_scope(name, "while", nest.flatten(loop_vars, expand=True)):
        if not loop_vars:
            raise ValueError("'loop_vars' must be provided.")
        limit = None
        if maximum_iterations is not None:
            limit = as_tensor(maximum_iterations, name="maximum_iterations")
            bare = len(loop_vars) == 1 and not return_same_structure
            cond, body, loop_vars = _limited(cond, body, loop_vars, limit, bare)
            if shape_invariants is not None:
                invariant = shape_invariants[0] if bare else shape_invariants
                shape_invariants = (TensorShape([]), invariant)
        graph = get_default_graph()
        context = WhileContext(graph, parallel_iterations, back_prop, swap_memory, limit)
        if context.outer_context is None:
            graph.add_to_collection("while_context", context)
        loop = _Loop(context, loop_vars, shape_invariants)
        with context.entered():
            result, exits = loop.build(cond, body)
        packed = with_flows(result, exits)
        if limit is not None:
            return packed[1]
        if return_same_structure or len(exits) > 1:
            return packed
        return packed[0]


def _limited(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, limit: Tensor, bare: bool
) -> tuple[Callable[..., Any], Callable[..., Any], Any]:
    """The same loop with a counter of its iterations before the loop variables."""
    if limit.shape.ndims != 0:
        raise ValueError(f"'maximum_iterations' must be a scalar. Received shape: {limit.shape}")
    counter = constant(0, limit.dtype, name="iteration_counter")
    return (
        lambda i, values: logical_and(i < limit, cond(values) if bare else cond(*values)),
        lambda i, values: (i + 1, body(values) if bare else body(*values)),
        (counter, loop_vars[0] if bare else loop_vars),
    )


class _Loop:
    """A loop that is being built. `leaves`: what the caller's loop variables are made of; `given`:
    the tensors behind them; `invariants`: the static shapes that these keep."""

    def __init__(self, context: WhileContext, loop_vars: Any, shape_invariants: Any) -> None:
        self.context = context
        self.structure = nest.map_structure(_loop_variable, loop_vars)
        self.leaves = nest.flatten(self.structure, expand=True)
        self.given = [flow_or_tensor(leaf) for leaf in self.leaves]
        if shape_invariants is None:
            stated = nest.map_structure(lambda v: _invariant(v, None), self.structure)
        else:
            stated = nest.map_structure(_invariant, self.structure, shape_invariants)
        self.invariants = [s for shapes in nest.flatten(stated) for s in shapes.shapes]

    def build(self, cond: Callable[..., Any], body: Callable[..., Any]) -> tuple[Any, list[Tensor]]:
        """(what the body returned, the variables after the loop)"""
        context = self.context
        entered = context.enter_variables(self.given, self.invariants)
        merged = [control_nodes.merge([x, x]) for x in entered]
        context.pivot_for_pred = merged[0]
        condition = as_tensor(cond(*self._packed(merged)))
        pivot = context.pivot = control_nodes.loop_cond(condition)
        switched = [control_nodes.switch_beside(x, pivot) for x in merged]
        inside = [control_nodes.identity(taken) for _, taken in switched]
        context.pivot_for_body = inside[0]
        arguments = self._packed(inside)
        result = body(*arguments)
        if not nest.is_nested(result):
            result = [result]
        nest.assert_same_structure(list(arguments), list(result), expand=True)
        flat = [flow_or_tensor(leaf) for leaf in nest.flatten(result, expand=True)]
        for variable, value in zip(merged, flat, strict=True):
            _close_loop(variable, value)
        context.loop_exits = [control_nodes.exit(left) for left, _ in switched]
        context.leave_with(context.loop_exits)
        return result, context.loop_exits

    def _packed(self, tensors: Sequence[Tensor]) -> Any:
        values = [
            with_flow_or_tensor(leaf, t) for leaf, t in zip(self.leaves, tensors, strict=True)
        ]
        return nest.pack_sequence_as(self.structure, values, expand=True)


class _InvariantShapes:
    """The invariants of the tensors that one leaf is made of."""

    def __init__(self, shapes: Sequence[TensorShape]) -> None:
        self.shapes = list(shapes)


def _loop_variable(value: Any) -> Any:
    if isinstance(value, TensorArray | nest.Composite):
        return value
    return as_tensor(value)


def _invariant(value: Any, shape: Any) -> _InvariantShapes:
    if shape is not None and not isinstance(shape, TensorShape):
        raise TypeError(
            f"'shape' must be one of TypeSpec, TensorShape or None. Received: {type(shape)}"
        )
    if isinstance(value, nest.Composite):
        return _InvariantShapes(value.component_invariants(shape))
    return _InvariantShapes([flow_or_tensor(value).shape if shape is None else shape])


def _close_loop(merged: Tensor, value: Tensor) -> None:
    """Makes `value` what a loop variable is in the next iteration."""
    entered = merged.op.inputs[0].op.inputs[0]
    if value.base_dtype is not merged.base_dtype:
        before, after = (name_of(t.dtype) for t in (merged, value))
        raise TypeError(
            f"Input tensor '{entered.name}' enters the loop with dtype {before}, but has dtype "
            f"{after} after one iteration ('{value.name}')."
        )
    following = control_nodes.next_iteration(value)
    if not at_least_as_specific(following.shape, merged.shape):
        raise ValueError(
            f"Input tensor '{entered.name}' enters the loop with shape {entered.shape}, but has "
            f"shape {following.shape} after one iteration. To allow the shape to vary across "
            "iterations, use the `shape_invariants` argument of tf.while_loop to specify a "
            "less-specific shape."
        )
    merged.op.update_input(1, following)
