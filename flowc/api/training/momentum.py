"""Gradient descent with momentum, and Nesterov's.

In: a learning rate and a momentum. Out: `accum = momentum * accum + gradient`,
`var -= rate * accum`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc.api.training.step_optimizer import StepOptimizer, hyperparameter, zeros_slots
from flowc.api.variables.variables import Variable


class MomentumOptimizer(StepOptimizer):
    """Momentum; with `use_nesterov` that of Sutskever and others, 2013. `learning_rate`,
    `momentum`: numbers, scalar tensors, or functions without arguments. Slot: `momentum`. Raises as
    `Optimizer`."""

    step = "Momentum"
    hyperparameters = {
        "lr": hyperparameter("learning_rate"),
        "momentum": hyperparameter("momentum"),
    }
    slot_inputs = {"accum": "momentum"}

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        zeros_slots(self, var_list, "momentum")

    def _flags(self) -> dict[str, bool]:
        return {"use_nesterov": self._use_nesterov}
