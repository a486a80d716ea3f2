"""Adam.

In: a learning rate and the decays of two moments. Out: updates over the slots `m` and `v`, and two
variables that hold the powers of the decays. Rows that a sparse gradient does not name decay, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flowc.api.framework.basics import cast
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import control_dependencies, group
from flowc.api.math.elementwise import sqrt
from flowc.api.training.slots import base_dtype
from flowc.api.training.step_optimizer import Hyperparameter, StepOptimizer, zeros_slots
from flowc.api.variables.resource_variables import ResourceVariable
from flowc.api.variables.variable_ops import assign, assign_sub, scatter_add
from flowc.api.variables.variables import Variable
from flowc.graph import Operation, Tensor, get_default_graph
from flowc.graph.indexed_slices import IndexedSlices

ScatterAdd = Callable[[Variable, Tensor, Tensor], Tensor]  # gives the variable's new contents


class AdamOptimizer(StepOptimizer):
    """Adam, by Kingma and Ba, 2014. All hyperparameters: numbers, scalar tensors, or functions
    without arguments. Slots: `m`, `v`; other variables: `beta1_power`, `beta2_power`. Raises as
    `Optimizer`."""

    step = "Adam"
    hyperparameters = {
        "lr": Hyperparameter("_lr", "_lr_t", "learning_rate"),
        "beta1": Hyperparameter("_beta1", "_beta1_t", "beta1"),
        "beta2": Hyperparameter("_beta2", "_beta2_t", "beta2"),
        "epsilon": Hyperparameter("_epsilon", "_epsilon_t", "epsilon"),
    }
    slot_inputs = {"m": "m", "v": "v"}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
        use_own_namescope_for_non_slot_vars: bool = False,
    ) -> None:
        super().__init__(use_locking, name, use_own_namescope_for_non_slot_vars)
        self._lr = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon
        self._lr_t: Any = None
        self._beta1_t: Any = None
        self._beta2_t: Any = None
        self._epsilon_t: Any = None

    def _get_beta_accumulators(self) -> tuple[Variable, Variable]:
        first = self._get_non_slot_variable("beta1_power")
        second = self._get_non_slot_variable("beta2_power")
        assert first is not None and second is not None
        return first, second

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(self._beta1, "beta1_power", first)
        self._create_non_slot_variable(self._beta2, "beta2_power", first)
        zeros_slots(self, var_list, "m", "v")

    def _more_inputs(self, var: Variable) -> dict[str, Any]:
        dtype = base_dtype(var)
        first, second = (
            power if base_dtype(power) is dtype else cast(power, dtype)
            for power in self._get_beta_accumulators()
        )
        return {"beta1_power": first, "beta2_power": second}

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        def add_rows(slot: Variable, indices: Tensor, rows: Tensor) -> Tensor:
            return scatter_add(slot, indices, rows, use_locking=self._use_locking)

        return self._apply_sparse_shared(grad.values, var, grad.indices, add_rows)

    def _resource_apply_sparse(
        self, grad: Tensor, handle: ResourceVariable, indices: Tensor
    ) -> Any:
        return self._apply_sparse_shared(grad, handle, indices, self._resource_scatter_add)

    @staticmethod
    def _resource_scatter_add(slot: Any, indices: Tensor, rows: Tensor) -> Tensor:
        with control_dependencies([call("ResourceScatterAdd", slot.handle, indices, rows)]):
            return slot.value()

    def _apply_sparse_shared(
        self, grad: Tensor, var: Variable, indices: Tensor, scatter_add: ScatterAdd
    ) -> Operation:
        """One step for a sparse gradient: all rows of the moments decay, those at `indices` grow by
        the gradient, and all rows of the variable change."""
        dtype = base_dtype(var)
        powers = self._more_inputs(var)
        rate, beta1, beta2, epsilon = (
            cast(t, dtype) for t in (self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t)
        )
        rate = rate * sqrt(1 - powers["beta2_power"]) / (1 - powers["beta1_power"])
        m = self._decayed("m", var, beta1, indices, grad * (1 - beta1), scatter_add)
        v = self._decayed("v", var, beta2, indices, grad * grad * (1 - beta2), scatter_add)
        root = sqrt(v)
        step = rate * m / (root + epsilon)
        changed = assign_sub(var, step, use_locking=self._use_locking)
        return group(changed, m, v)

    def _decayed(
        self,
        name: str,
        var: Variable,
        beta: Tensor,
        indices: Tensor,
        rows: Tensor,
        scatter_add: ScatterAdd,
    ) -> Tensor:
        slot = self.get_slot(var, name)
        assert slot is not None
        smaller = assign(slot, slot * beta, use_locking=self._use_locking)
        with control_dependencies([smaller]):
            return scatter_add(slot, indices, rows)

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Operation:
        graph = get_default_graph()
        first, second = self._get_beta_accumulators()
        with graph.control_dependencies(update_ops), graph.colocate_with(first.op):
            grown = [
                power.assign(power * beta, use_locking=self._use_locking)
                for power, beta in ((first, self._beta1_t), (second, self._beta2_t))
            ]
        return group(*update_ops, *grown, name=name_scope)
