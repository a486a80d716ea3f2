"""Optimizers whose update of a variable is one operation: `ApplyMomentum`, `SparseApplyFtrl`, ...

In: hyperparameters and slots, under the names that the operation's record gives its inputs
(`ops/state/optimizers.py`). Out: the update in its four forms, of references and of resources, of
whole gradients and of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from flowc.api.framework.basics import cast
from flowc.api.training.optimizer import Optimizer
from flowc.api.training.slots import base_dtype
from flowc.api.variables.resource_variables import ResourceVariable
from flowc.api.variables.variables import Variable
from flowc.dataclass import dataclass
from flowc.graph import Operation, Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import create, record_of
from flowc.graph.indexed_slices import IndexedSlices


@dataclass(frozen=True, slots=True)
class Hyperparameter:
    """A number, tensor or function that gives one. `given`: the attribute that holds it; `tensor`:
    the attribute that holds the tensor that the updates share; `node`: that tensor's name."""

    given: str
    tensor: str
    node: str


def hyperparameter(name: str, node: str | None = None) -> Hyperparameter:
    return Hyperparameter(f"_{name}", f"_{name}_tensor", node or name)


class StepOptimizer(Optimizer):
    """`step`: the kind of the operation (`Momentum` of `ApplyMomentum`); `hyperparameters`,
    `slot_inputs`: what its inputs are, by their names in its record; slots by their own names."""

    step: ClassVar[str]
    hyperparameters: ClassVar[Mapping[str, Hyperparameter]]
    slot_inputs: ClassVar[Mapping[str, str]] = {}

    def _prepare(self) -> None:
        for known in self.hyperparameters.values():
            value = self._call_if_callable(getattr(self, known.given))
            setattr(self, known.tensor, as_tensor(value, name=known.node))

    def _step(self) -> str:
        return self.step

    def _flags(self) -> dict[str, bool]:
        """Attrs of the operation, beside `use_locking`."""
        return {}

    def _more_inputs(self, var: Variable) -> dict[str, Any]:
        """Inputs that are neither slots nor hyperparameters."""
        return {}

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        return self._one_operation("Apply", var, {"grad": grad, "delta": grad})

    def _resource_apply_dense(self, grad: Tensor, handle: ResourceVariable) -> Any:
        return self._one_operation("ResourceApply", handle, {"grad": grad, "delta": grad})

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        given = {"grad": grad.values, "indices": grad.indices}
        return self._one_operation("SparseApply", var, given)

    def _resource_apply_sparse(
        self, grad: Tensor, handle: ResourceVariable, indices: Tensor
    ) -> Any:
        given = {"grad": grad, "indices": indices}
        return self._one_operation("ResourceSparseApply", handle, given)

    def _one_operation(self, form: str, var: Variable, gradient: Mapping[str, Tensor]) -> Operation:
        op_type = form + self._step()
        given: dict[str, Any] = {"var": _home(var), **gradient, **self._more_inputs(var)}
        inputs = []
        for argument in record_of(op_type).signature.inputs:
            name = argument.name
            if name not in given:
                given[name] = self._input(name, var)
            inputs.append(given[name])
        return create(op_type, inputs, {"use_locking": self._use_locking, **self._flags()})

    def _input(self, name: str, var: Variable) -> Any:
        if name in self.slot_inputs:
            slot = self.get_slot(var, self.slot_inputs[name])
            assert slot is not None, name
            return _home(slot)
        return cast(getattr(self, self.hyperparameters[name].tensor), base_dtype(var))


def _home(variable: Variable) -> Any:
    """What an operation takes that changes the variable: its handle, or itself as a reference."""
    return variable.handle if isinstance(variable, ResourceVariable) else variable


def check_positive(what: str, value: float) -> None:
    """Raises `ValueError` for a start of an accumulator that is not positive."""
    if value <= 0.0:
        raise ValueError(f"{what} must be positive: {value}")


def zeros_slots(optimizer: Optimizer, var_list: Sequence[Variable], *names: str) -> None:
    """Slots of zeros for each variable, in this order."""
    for variable in var_list:
        for name in names:
            optimizer._zeros_slot(variable, name, optimizer.get_name())
