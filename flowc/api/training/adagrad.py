"""Optimizers that scale each element's rate by the gradients that it has seen: Adagrad, its
proximal and dual-averaging forms, Adadelta.

In: a learning rate, a start of the accumulators. Out: updates over slots of squared gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flowc.api.arrays.filling import fill
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.basics import cast, constant, identity
from flowc.api.training.slots import base_dtype
from flowc.api.training.step_optimizer import (
    Hyperparameter,
    StepOptimizer,
    check_positive,
    hyperparameter,
    zeros_slots,
)
from flowc.api.variables.initializers import constant_initializer
from flowc.api.variables.variables import Variable
from flowc.graph import Tensor, get_default_graph


class AdagradOptimizer(StepOptimizer):
    """Adagrad, by Duchi and others, 2011. Slot: `accumulator`. Raises `ValueError` for a start that
    is not positive."""

    step = "Adagrad"
    hyperparameters = {"lr": hyperparameter("learning_rate")}
    slot_inputs = {"accum": "accumulator"}

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        check_positive("initial_accumulator_value", initial_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            if var.shape.is_fully_defined():
                initializer = constant_initializer(self._initial_accumulator_value)
            else:
                initializer = self._filled(var)
            self._get_or_make_slot_with_initializer(
                var, initializer, var.shape, base_dtype(var), "accumulator", self._name
            )

    def _filled(self, var: Variable) -> Callable[..., Tensor]:
        def initializer(shape: Any, dtype: Any) -> Tensor:
            return cast(fill(shape_of(var), self._initial_accumulator_value), dtype)

        return initializer


class ProximalAdagradOptimizer(StepOptimizer):
    """Adagrad with a proximal step. Slot: `accumulator`. Raises `ValueError` for a start that is
    not positive."""

    step = "ProximalAdagrad"
    hyperparameters = {
        "lr": hyperparameter("learning_rate"),
        "l1": hyperparameter("l1_regularization_strength"),
        "l2": hyperparameter("l2_regularization_strength"),
    }
    slot_inputs = {"accum": "accumulator"}

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        check_positive("initial_accumulator_value", initial_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            start = _filled_like(var, self._initial_accumulator_value)
            self._get_or_make_slot(var, start, "accumulator", self._name)


class AdagradDAOptimizer(StepOptimizer):
    """Adagrad with dual averaging, for sparse linear models: updates use `global_step`, counted
    from 1. Slots: `gradient_accumulator`, `gradient_squared_accumulator`. Raises `ValueError` for a
    start that is not positive."""

    step = "AdagradDA"
    hyperparameters = {"lr": hyperparameter("learning_rate")}
    slot_inputs = {
        "gradient_accumulator": "gradient_accumulator",
        "gradient_squared_accumulator": "gradient_squared_accumulator",
    }

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        start = initial_gradient_squared_accumulator_value
        check_positive("initial_gradient_squared_accumulator_value", start)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_gradient_squared_accumulator_value = start
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._global_step = global_step
        self._learning_rate_tensor: Any = None
        self._global_step_on_worker: Any = None

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        starts = (0.0, self._initial_gradient_squared_accumulator_value)
        for var in var_list:
            made = [_filled_like(var, start) for start in starts]
            for value, name in zip(made, self.slot_inputs):
                self._get_or_make_slot(var, value, name, self._name)

    def _prepare(self) -> None:
        super()._prepare()
        with get_default_graph().colocate_with(self._learning_rate_tensor):
            self._global_step_on_worker = identity(self._global_step) + 1

    def _more_inputs(self, var: Variable) -> dict[str, Any]:
        with get_default_graph().device(var.device):
            step = identity(self._global_step_on_worker)
        dtype = base_dtype(var)
        rate = cast(self._learning_rate_tensor, dtype)
        l1 = cast(self._l1_regularization_strength, dtype)
        l2 = cast(self._l2_regularization_strength, dtype)
        return {"global_step": step, "lr": rate, "l1": l1, "l2": l2}


def _filled_like(var: Variable, value: float) -> Tensor:
    with get_default_graph().colocate_with(var.op):
        return constant(value, base_dtype(var), var.shape)


class AdadeltaOptimizer(StepOptimizer):
    """Adadelta, by Zeiler, 2012. Slots: `accum`, `accum_update`. Raises as `Optimizer`."""

    step = "Adadelta"
    hyperparameters = {
        name: Hyperparameter(f"_{name}", f"_{name}_t", name) for name in ("lr", "rho", "epsilon")
    }
    slot_inputs = {"accum": "accum", "accum_update": "accum_update"}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._rho = rho
        self._epsilon = epsilon

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        zeros_slots(self, var_list, "accum", "accum_update")
