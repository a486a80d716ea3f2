"""Exponential moving averages of variables and tensors.

In: what to average, and the decay. Out: an operation that updates the averages, which are slots
(`v/ExponentialMovingAverage`). Invariant: a variable's average starts with its initial value, a
tensor's with zeros.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flowc import dtypes
from flowc.api.framework.basics import cast
from flowc.api.framework.scopes import group, init_scope, name_scope
from flowc.api.math.elementwise import minimum
from flowc.api.math.elementwise import pow as power_of
from flowc.api.training.slots import base_dtype, create_slot, create_zeros_slot
from flowc.api.variables.graph_keys import GraphKeys
from flowc.api.variables.initializers import zeros_initializer
from flowc.api.variables.scope_state import get_variable_scope
from flowc.api.variables.variable_ops import (
    assign,
    assign_sub,
    global_variables,
    moving_average_variables,
    trainable_variables,
)
from flowc.api.variables.variable_scope import get_variable, variable_scope
from flowc.api.variables.variables import Variable
from flowc.graph import Operation, Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor

_AVERAGED = (dtypes.bf16, dtypes.f16, dtypes.f32, dtypes.f64)


def assign_moving_average(
    variable: Variable, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """Moves `variable` towards `value`: `variable -= (1 - decay) * (variable - value)`. With
    `zero_debias` as if it had not started at zero (Kingma and Ba, 2014)."""
    with name_scope(name, "AssignMovingAvg") as scope:
        rate = cast(as_tensor(1.0 - decay, name="decay"), base_dtype(variable))
        if zero_debias:
            return _without_bias(variable, value, rate, scope)
        return assign_sub(variable, (variable - value) * rate, name=scope)


def _without_bias(variable: Variable, value: Any, rate: Tensor, scope: str) -> Any:
    dtype = base_dtype(variable)
    graph = get_default_graph()
    with variable_scope(variable.op.name), graph.colocate_with(variable.op):
        biased = _unused_variable("biased", variable.shape, dtype)
        steps = _unused_variable("local_step", [], dtype)
    with graph.name_scope(scope):
        updated = assign_sub(biased, (biased - value) * rate)
        taken = steps.assign_add(1)
        factor = 1 - power_of(1.0 - rate, taken, name="Pow")
        return assign(variable, updated / factor, name=scope)


def _unused_variable(name: str, shape: Any, dtype: Any) -> Variable:
    """A variable of zeros in the current variable scope; `biased_1` where there is a `biased`."""
    prefix = get_variable_scope().name
    taken = {v.op.name for v in global_variables()}
    found, count = name, 0
    while f"{prefix}/{found}" in taken:
        count += 1
        found = f"{name}_{count}"
    return get_variable(
        found, shape=shape, dtype=dtype, initializer=zeros_initializer(), trainable=False
    )


class ExponentialMovingAverage:
    """Keeps averages: `average -= (1 - decay) * (average - value)` for each run of `apply`.

    `num_updates`: where given, the decay is at most `(1 + num_updates) / (10 + num_updates)`, so
    that first values count more. `zero_debias`: averages of tensors do not remember that they
    started at zero. `apply` raises `TypeError` for variables that are no floats, `ValueError` for
    one that it averages already.
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[int, tuple[Any, Variable]] = {}  # by identity, which lives as long

    @property
    def name(self) -> str:
        return self._name

    def apply(self, var_list: Iterable[Any] | None = None) -> Operation:
        """An operation that updates the averages of variables and tensors (default: of the
        trainable variables). Raises `TypeError` for what is no float."""
        averaged = trainable_variables() if var_list is None else list(var_list)
        debiased = set()
        for item in averaged:
            if base_dtype(item) not in _AVERAGED:
                raise TypeError(f"The variables must be half, float, or double: {item.name}")
            if id(item) not in self._averages:
                self._averages[id(item)] = (item, self._start(item))
                if self._zero_debias and not isinstance(item, Variable):
                    debiased.add(id(item))
        with name_scope(self._name, None) as scope:
            decay = as_tensor(self._decay, dtypes.f32, "decay")
            if self._num_updates is not None:
                updates = cast(self._num_updates, dtypes.f32, name="num_updates")
                decay = minimum(decay, (1.0 + updates) / (10.0 + updates))
            moved = [
                assign_moving_average(self._averages[id(i)][1], i, decay, id(i) in debiased)
                for i in averaged
            ]
            return group(*moved, name=scope)

    def _start(self, item: Any) -> Variable:
        graph = get_default_graph()
        with init_scope():
            if isinstance(item, Variable):
                with graph.device(item.device):
                    start = item.initialized_value()
                average = create_slot(item, start, self._name)
                graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, item)
                return average
            beside = item.op.type in ("Variable", "VariableV2", "VarHandleOp")
            return create_zeros_slot(item, self._name, colocate=beside)

    def average(self, var: Any) -> Variable | None:
        """The variable that holds an average, None where there is none."""
        found = self._averages.get(id(var))
        return None if found is None else found[1]

    def average_name(self, var: Any) -> str:
        """The name of the average of `var`, which need not exist yet."""
        average = self.average(var)
        if average is not None:
            return average.op.name
        full = f"{var.op.name}/{self._name}"
        return get_default_graph().unique_name(full, mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Variable]:
        """What a `Saver` restores for evaluation: by name, the variables to give a value; those
        that are averaged (default: trainable ones and those with an average) under the names of
        their averages."""
        if moving_avg_variables is None:
            moving_avg_variables = [*trainable_variables(), *moving_average_variables()]
        averaged = {v.name: v for v in moving_avg_variables}
        found = {self.average_name(v): v for v in averaged.values()}
        for variable in global_variables():
            if variable.name not in averaged:
                found.setdefault(variable.op.name, variable)
        return found
