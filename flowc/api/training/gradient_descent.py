"""Gradient descent, plain and with the proximal step of FOBOS.

In: a learning rate, and strengths of L1 and L2 regularization. Out: `var -= rate * gradient`, and
behind it the proximal step.
"""

from __future__ import annotations

from typing import Any

from flowc.api.framework.basics import cast
from flowc.api.framework.raw_ops import call
from flowc.api.training.slots import base_dtype
from flowc.api.training.step_optimizer import StepOptimizer, hyperparameter
from flowc.api.variables.resource_variables import ResourceVariable
from flowc.api.variables.variable_ops import scatter_sub
from flowc.api.variables.variables import Variable
from flowc.graph import Tensor
from flowc.graph.indexed_slices import IndexedSlices


class GradientDescentOptimizer(StepOptimizer):
    """`var -= learning_rate * gradient`. `learning_rate`: a number, a scalar tensor, or a function
    without arguments that gives one. Raises as `Optimizer`."""

    step = "GradientDescent"
    hyperparameters = {"alpha": hyperparameter("learning_rate")}

    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._learning_rate_tensor: Any = None

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Variable) -> Any:
        rows = grad.values * cast(self._learning_rate_tensor, base_dtype(var))
        return scatter_sub(var, grad.indices, rows, use_locking=self._use_locking)

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, handle: ResourceVariable, indices: Tensor
    ) -> Any:
        rows = -grad * cast(self._learning_rate_tensor, base_dtype(grad))
        return call("ResourceScatterAdd", handle.handle, indices, rows)


class ProximalGradientDescentOptimizer(StepOptimizer):
    """Gradient descent with a proximal step, by Duchi and Singer, 2009. Raises as `Optimizer`."""

    step = "ProximalGradientDescent"
    hyperparameters = {
        "alpha": hyperparameter("learning_rate"),
        "l1": hyperparameter("l1_regularization_strength"),
        "l2": hyperparameter("l2_regularization_strength"),
    }

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
