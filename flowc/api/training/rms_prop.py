"""RMSProp, plain and centered.

In: a learning rate, a decay, a momentum. Out: gradients divided by the root of a running mean of
their squares, or with `centered` of their variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc.api.arrays.filling import ones_like
from flowc.api.training.slots import base_dtype
from flowc.api.training.step_optimizer import StepOptimizer, hyperparameter, zeros_slots
from flowc.api.variables.initializers import ones_initializer
from flowc.api.variables.variables import Variable


class RMSPropOptimizer(StepOptimizer):
    """RMSProp, by Hinton's lecture. Slots: `rms`, `momentum`, and `mg` where it is centered. Raises
    as `Optimizer`."""

    hyperparameters = {
        "lr": hyperparameter("learning_rate"),
        "rho": hyperparameter("decay"),
        "momentum": hyperparameter("momentum"),
        "epsilon": hyperparameter("epsilon"),
    }
    slot_inputs = {"ms": "rms", "mom": "momentum", "mg": "mg"}

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered

    def _step(self) -> str:
        return "CenteredRMSProp" if self._centered else "RMSProp"

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            if var.shape.is_fully_defined():
                dtype = base_dtype(var)
                self._get_or_make_slot_with_initializer(
                    var, ones_initializer(dtype=dtype), var.shape, dtype, "rms", self._name
                )
            else:
                self._get_or_make_slot(var, ones_like(var), "rms", self._name)
            zeros_slots(self, [var], *(["mg"] if self._centered else []), "momentum")
