"""FTRL-proximal, by McMahan and others, 2013, with the shrinkage of its online L2.

In: a learning rate, its power, strengths of L1 and L2 regularization. Out: updates over the slots
`accum` and `linear`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import ones
from flowc.api.math.elementwise import maximum
from flowc.api.training.slots import base_dtype
from flowc.api.training.step_optimizer import Hyperparameter, StepOptimizer, hyperparameter
from flowc.api.variables.variables import Variable
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor

_L2 = Hyperparameter(
    "_l2_regularization_strength",
    "_adjusted_l2_regularization_strength_tensor",
    "adjusted_l2_regularization_strength",
)


class FtrlOptimizer(StepOptimizer):
    """FTRL-proximal. `beta` adds `beta / (2 * learning_rate)` to the L2 strength. Raises
    `ValueError` for a positive `learning_rate_power` and negative starts or strengths."""

    hyperparameters = {
        "lr": hyperparameter("learning_rate"),
        "l1": hyperparameter("l1_regularization_strength"),
        "l2": _L2,
        "l2_shrinkage": hyperparameter("l2_shrinkage_regularization_strength"),
        "lr_power": hyperparameter("learning_rate_power"),
    }
    slot_inputs = {"accum": "accum", "linear": "linear"}

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float | None = None,
    ) -> None:
        super().__init__(use_locking, name)
        if learning_rate_power > 0.0:
            raise ValueError(
                f"learning_rate_power {learning_rate_power:f} needs to be negative or zero"
            )
        strengths = {
            "initial_accumulator_value": initial_accumulator_value,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
            "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength,
        }
        for what, value in strengths.items():
            if value < 0.0:
                raise ValueError(f"{what} {value:f} needs to be positive or zero")
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self._beta = 0.0 if beta is None else beta
        self._accum_name = accum_name
        self._linear_name = linear_name

    def _step(self) -> str:
        return "Ftrl" if self._l2_shrinkage_regularization_strength <= 0.0 else "FtrlV2"

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        def start(shape: Any, dtype: Any = dtypes.f32) -> Tensor:
            return ones(shape, dtype) * self._initial_accumulator_value

        for var in var_list:
            self._get_or_make_slot_with_initializer(
                var, start, var.shape, base_dtype(var), "accum", self._accum_name or self._name
            )
            self._zeros_slot(var, "linear", self._linear_name or self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = as_tensor(self._learning_rate, name="learning_rate")
        self._l1_regularization_strength_tensor = as_tensor(
            self._l1_regularization_strength, name="l1_regularization_strength"
        )
        added = self._beta / (2.0 * maximum(self._learning_rate, 1e-36))
        self._adjusted_l2_regularization_strength_tensor = as_tensor(
            self._l2_regularization_strength + added, name=_L2.node
        )
        self._beta_tensor = as_tensor(self._beta, name="beta")
        self._l2_shrinkage_regularization_strength_tensor = as_tensor(
            self._l2_shrinkage_regularization_strength, name="l2_shrinkage_regularization_strength"
        )
        self._learning_rate_power_tensor = as_tensor(
            self._learning_rate_power, name="learning_rate_power"
        )
