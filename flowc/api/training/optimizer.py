"""The protocol of optimizers: from a loss to operations that change variables.

In: a loss and variables, or gradients with their variables. Out: one operation that applies them.
Invariant: operations are made under the optimizer's name (`train/update_v/ApplyAdam`), slots beside
their variables (`v/Adam`), and every update is placed with its variable.

Whoever writes an optimizer derives from `Optimizer` and overrides `_create_slots`, `_prepare`, and
`_apply_dense`, `_apply_sparse` (reference variables), `_resource_apply_dense`,
`_resource_apply_sparse` (resource variables), perhaps `_finish`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from flowc import dtypes
from flowc.api.arrays.selection import unique
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.nest import flatten
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import control_dependencies, group, init_scope, name_scope, tuple_
from flowc.api.math.reductions import unsorted_segment_sum
from flowc.api.training.gradients import gradients
from flowc.api.training.slots import (
    Initializer,
    base_dtype,
    create_slot,
    create_slot_with_initializer,
    create_zeros_slot,
)
from flowc.api.variables.graph_keys import GraphKeys
from flowc.api.variables.resource_variables import ResourceVariable
from flowc.api.variables.scope_state import VariableScope
from flowc.api.variables.variable_ops import assign_add, trainable_variables
from flowc.api.variables.variable_scope import variable_scope
from flowc.api.variables.variables import Variable
from flowc.dtypes import DType
from flowc.graph import Graph, Operation, Tensor, TensorShape, get_default_graph
from flowc.graph.building.conversion import as_tensor
from flowc.graph.indexed_slices import IndexedSlices

Gradient = Tensor | IndexedSlices
GradsAndVars = list[tuple[Gradient | None, Any]]
_Key = tuple[Graph, str]

_TRAINED = (dtypes.f16, dtypes.bf16, dtypes.f32, dtypes.f64)


class Optimizer:
    """What all optimizers do. `use_locking`: written into the updates (every update of flowc is
    whole). `name`: prefix of the updates and last part of the slots' names. Raises `ValueError`
    without a name."""

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(
        self, use_locking: bool, name: str, use_own_namescope_for_non_slot_vars: bool = False
    ) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._non_slot_scope: VariableScope | None = None
        if use_own_namescope_for_non_slot_vars:
            with variable_scope(None, name) as scope:
                self._non_slot_scope = scope
        self._slots: dict[str, dict[_Key, Variable]] = {}
        self._non_slots: dict[tuple[str, Graph], Variable] = {}

    def get_name(self) -> str:
        return self._name

    # From a loss to an operation

    def minimize(
        self,
        loss: Tensor | Callable[[], Tensor],
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Tensor | None = None,
    ) -> Operation:
        """An operation that changes the variables (default: those that are trainable) so that
        `loss` falls, and counts `global_step` up by one. Raises `ValueError` where there are no
        variables or no gradient reaches them."""
        found = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(gradient is None for gradient, _ in found):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {[str(v) for _, v in found]} and loss "
                f"{loss}."
            )
        return self.apply_gradients(found, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Tensor | Callable[[], Tensor],
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Tensor | None = None,
    ) -> GradsAndVars:
        """(gradient, variable) for each variable; None for one that the loss does not depend on.
        `loss`: a tensor, or a function without arguments that makes one. Raises `ValueError` for
        no variables, and for losses and variables that are no floats."""
        if callable(loss):
            loss = loss()
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH.  Not {gate_gradients}"
            )
        self._assert_valid_dtypes([t for t in (loss, grad_loss) if t is not None])
        chosen = trainable_variables() if var_list is None else flatten(var_list)
        for item in chosen:
            _check_optimizable(item)
        if not chosen:
            raise ValueError("No variables to optimize.")
        grads = gradients(
            loss,
            chosen,
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == self.GATE_OP,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gate_gradients == self.GATE_GRAPH:
            grads = tuple_(grads)
        found: GradsAndVars = list(zip(grads, chosen, strict=True))
        self._assert_valid_dtypes([v for g, v in found if g is not None])
        return found

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
    ) -> Operation:
        """An operation that changes the variables by their gradients, and then counts `global_step`
        up by one; pairs without a gradient are left out. Raises `ValueError` where nothing is left,
        `TypeError` for what is no gradient, `NotImplementedError` for what is no variable."""
        given = [(_as_gradient(g), v) for g, v in grads_and_vars]
        if not given:
            raise ValueError("No variables provided.")
        for _, variable in given:
            _check_optimizable(variable)
        pairs = [(g, v) for g, v in given if g is not None]
        if not pairs:
            shown = [str(v) for _, v in given]
            raise ValueError(f"No gradients provided for any variable: {shown}.")
        with init_scope():
            self._create_slots([v for _, v in pairs])
        with name_scope(name, self._name) as scope:
            self._prepare()
            updates = [self._update_in_scope(g, v) for g, v in pairs]
            if global_step is None:
                applied = self._finish(updates, scope)
            else:
                applied = _counted(global_step, self._finish(updates, "update"), scope)
        train_ops = get_default_graph().get_collection_ref(GraphKeys.TRAIN_OP)
        if applied not in train_ops:
            train_ops.append(applied)
        return applied

    def _update_in_scope(self, gradient: Gradient, variable: Any) -> Any:
        graph = get_default_graph()
        op = variable.op
        with graph.name_scope(f"update_{op.name}"), graph.colocate_with(op):
            return self._update(gradient, variable)

    def _update(self, gradient: Gradient, variable: Any) -> Any:
        """One variable's update, by the method for its kind and the gradient's."""
        if not isinstance(variable, Variable):
            raise NotImplementedError("Trying to update a Tensor ", variable)
        constraint = variable.constraint
        if isinstance(gradient, IndexedSlices):
            if constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            if not isinstance(variable, ResourceVariable):
                return self._apply_sparse_duplicate_indices(gradient, variable)
            return self._resource_apply_sparse_duplicate_indices(
                gradient.values, variable, gradient.indices
            )
        if isinstance(variable, ResourceVariable):
            update = self._resource_apply_dense(gradient, variable)
        else:
            update = self._apply_dense(gradient, variable)
        if constraint is None:
            return update
        with control_dependencies([update]):
            return variable.assign(constraint(variable))

    def _assert_valid_dtypes(self, tensors: Sequence[Any]) -> None:
        valid = self._valid_dtypes()
        for tensor in tensors:
            if base_dtype(tensor) not in valid:
                raise ValueError(
                    f"Invalid type {base_dtype(tensor)!r} for {tensor.name}, expected: "
                    f"{list(valid)}."
                )

    # What an optimizer overrides

    def _valid_dtypes(self) -> Iterable[DType]:
        """The dtypes of losses, variables and gradients."""
        return _TRAINED

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        """Makes the slots of the variables, outside loops and branches."""

    def _prepare(self) -> None:
        """Makes tensors that all updates share."""

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        """The operation that changes a reference variable."""
        raise self._lacks("_apply_dense")

    def _resource_apply_dense(self, grad: Tensor, handle: ResourceVariable) -> Any:
        """The operation that changes a resource variable."""
        raise self._lacks("_resource_apply_dense")

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        """The operation that changes rows of a reference variable, each index once."""
        raise self._lacks("_apply_sparse")

    def _resource_apply_sparse(
        self, grad: Tensor, handle: ResourceVariable, indices: Tensor
    ) -> Any:
        """The operation that changes rows of a resource variable, each index once."""
        raise self._lacks("_resource_apply_sparse")

    def _lacks(self, method: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} does not override `{method}`")

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Variable) -> Any:
        """As `_apply_sparse`, of indices that may be there twice: their rows are summed first."""
        values, indices = _summed_by_index(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var)

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, handle: ResourceVariable, indices: Tensor
    ) -> Any:
        """As `_resource_apply_sparse`, of indices that may be there twice."""
        values, once = _summed_by_index(grad, indices)
        return self._resource_apply_sparse(values, handle, once)

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Operation:
        """The operation that is done when all updates are, of the name `name_scope`."""
        return group(*update_ops, name=name_scope)

    @staticmethod
    def _call_if_callable(param: Any) -> Any:
        return param() if callable(param) else param

    # Slots

    def get_slot(self, var: Any, name: str) -> Variable | None:
        """The slot of a variable, None where there is none."""
        return self._slots.get(name, {}).get(_key(var))

    def get_slot_names(self) -> list[str]:
        return sorted(self._slots)

    def variables(self) -> list[Variable]:
        """The slots and the other variables of this optimizer in the default graph, by name."""
        held = [v for slots in self._slots.values() for v in slots.values()]
        found = {id(v): v for v in (*self._non_slots.values(), *held)}
        graph = get_default_graph()
        return sorted((v for v in found.values() if v.graph is graph), key=lambda v: v.name)

    def _slot_dict(self, slot_name: str) -> dict[_Key, Variable]:
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var: Any, val: Tensor, slot_name: str, op_name: str) -> Variable:
        """A slot that starts with a tensor."""
        slots = self._slot_dict(slot_name)
        if _key(var) not in slots:
            slots[_key(var)] = create_slot(var, val, op_name)
        return slots[_key(var)]

    def _get_or_make_slot_with_initializer(
        self,
        var: Any,
        initializer: Initializer,
        shape: TensorShape,
        dtype: DType,
        slot_name: str,
        op_name: str,
    ) -> Variable:
        """A slot that starts with what an initializer makes."""
        slots = self._slot_dict(slot_name)
        if _key(var) not in slots:
            made = create_slot_with_initializer(var, initializer, shape, dtype, op_name)
            slots[_key(var)] = made
        return slots[_key(var)]

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Variable:
        """A slot of zeros."""
        slots = self._slot_dict(slot_name)
        if _key(var) not in slots:
            slots[_key(var)] = create_zeros_slot(var, op_name)
        return slots[_key(var)]

    # Variables that belong to no single variable

    def _create_non_slot_variable(
        self, initial_value: Any, name: str, colocate_with: Variable
    ) -> Variable:
        """One variable of this name a graph, placed with another."""
        graph = colocate_with.graph
        key = (name, graph)
        if key not in self._non_slots:
            scope = self._non_slot_scope
            full = name if scope is None else f"{scope.name}/{name}/"
            with graph.colocate_with(colocate_with.op):
                self._non_slots[key] = Variable(
                    initial_value,
                    name=full,
                    trainable=False,
                    use_resource=isinstance(colocate_with, ResourceVariable),
                )
        return self._non_slots[key]

    def _get_non_slot_variable(self, name: str, graph: Graph | None = None) -> Variable | None:
        return self._non_slots.get((name, get_default_graph() if graph is None else graph))

    def _non_slot_variables(self) -> list[Variable]:
        return list(self._non_slots.values())


def _key(var: Any) -> _Key:
    op = var.op
    return op.graph, op.name


def _check_optimizable(item: Any) -> None:
    if not isinstance(item, Variable | Tensor):
        raise NotImplementedError("Trying to optimize unsupported type ", item)


def _as_gradient(gradient: Any) -> Gradient | None:
    if gradient is None or isinstance(gradient, Tensor | IndexedSlices):
        return gradient
    try:
        return as_tensor(gradient)
    except (TypeError, ValueError):
        raise TypeError(
            f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {gradient}"
        ) from None


def _summed_by_index(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """(the sums of the rows of each index, the indices, each once)"""
    found, positions = unique(indices)
    return unsorted_segment_sum(values, positions, shape_of(found)[0]), found


def _counted(global_step: Any, updated: Operation, name: str) -> Operation:
    """An operation named `name` that counts up after the updates."""
    graph = get_default_graph()
    with graph.control_dependencies([updated]), graph.colocate_with(global_step.op):
        if isinstance(global_step, ResourceVariable):
            one = as_tensor(1, base_dtype(global_step))
            return call("AssignAddVariableOp", global_step.handle, one, name=name)
        return assign_add(global_step, 1, name=name).op
